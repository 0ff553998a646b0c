//! A configuration as the training pairs permit it: sizes of at most their number.

use dsokr_basis::SketchKind;
use dsokr_machines::Solver;

use super::answers::EmbeddingConfig;
use super::encoder::EncoderTable;
use super::kernel_machine::KernelMachineConfig;
use super::{Checked, Config};
use crate::error::Error;

/// A size that is more than the number of training pairs permits.
pub(crate) struct Lowered {
    /// The key.
    pub key: String,
    /// Its value.
    pub from: usize,
    /// The value that takes its place.
    pub to: usize,
}

impl Checked {
    /// The configuration for so many training pairs, and the sizes that are lowered: of sketches of outputs and inputs,
    /// and of samples.
    ///
    /// # Errors
    /// Settings that cannot be written as TOML.
    pub(crate) fn for_pairs(&self, pairs: usize) -> Result<(Self, Vec<Lowered>), Error> {
        let mut adapted = self.clone();
        let mut lowered = Vec::new();
        adapted.config.lower_output_sizes(pairs, &mut lowered);
        let machine = adapted.config.encoder.get::<KernelMachineConfig>();
        let outputs_lowered = lowered.len();
        if let Some(mut machine) = machine.cloned() {
            lower_solver_sizes(&mut machine.solver, pairs, &mut lowered);
            if lowered.len() > outputs_lowered {
                adapted.config.encoder = EncoderTable::with_kind(machine)?;
            }
        }
        Ok((adapted, lowered))
    }

    /// Leaves out the output kernels at these positions: their weights become 0.
    pub(crate) fn without_kernels(&self, positions: &[usize]) -> Self {
        let mut reduced = self.clone();
        for &position in positions {
            reduced.config.output.kernels[position].weight = 0.0;
        }
        reduced
    }
}

impl Config {
    fn lower_output_sizes(&mut self, pairs: usize, lowered: &mut Vec<Lowered>) {
        let machine = self.encoder.get::<KernelMachineConfig>();
        // a mixed embedding also sketches outputs without a pair
        let embedding = machine.and_then(KernelMachineConfig::embedding);
        let is_mixed = embedding.is_some_and(EmbeddingConfig::is_mixed);
        if self.sketch.full || is_mixed {
            return;
        }
        if self.output.kernel.is_some() {
            lower("sketch.size", &mut self.sketch.size, pairs, lowered);
        }
        for (place, kernel) in self.output.kernels.iter_mut().enumerate() {
            lower(&format!("output.kernels[{place}].size"), &mut kernel.size, pairs, lowered);
        }
        if let Some(SketchKind::Leverage { pilot, .. }) = &mut self.sketch.method {
            lower("sketch.method.pilot", pilot, pairs, lowered);
        }
    }
}

/// Lowers the sizes of a solver that depend on the number of training pairs.
fn lower_solver_sizes(solver: &mut Solver, pairs: usize, lowered: &mut Vec<Lowered>) {
    let (sketch, most) = match solver {
        Solver::ClosedForm(_) => return,
        Solver::Sketched(sketched) => (&mut sketched.sketch, pairs),
        Solver::Averaged(averaged) => (&mut averaged.sketch, pairs / averaged.parts.max(1)),
        Solver::ConjugateGradients(iterated) => {
            if let Some(sample) = &mut iterated.sample {
                lower("encoder.solver.sample", sample, pairs, lowered);
            }
            (&mut iterated.sketch, pairs)
        }
        Solver::Lipschitz(lipschitz) => (&mut lipschitz.sketch, pairs),
    };
    lower("encoder.solver.sketch.size", &mut sketch.size, most, lowered);
}

/// Lowers a size to `most`, where that is at least 1.
fn lower(key: &str, size: &mut usize, most: usize, lowered: &mut Vec<Lowered>) {
    if *size > most && most > 0 {
        lowered.push(Lowered { key: key.to_owned(), from: *size, to: most });
        *size = most;
    }
}
