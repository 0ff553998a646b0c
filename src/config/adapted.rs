//! A configuration as the training pairs permit it: sizes of at most their number.

use dsokr_basis::SketchKind;

use super::lowered::{Lowered, lower};
use super::{Checked, Config};
use crate::error::Error;

impl Checked {
    /// Returns the configuration for so many training pairs, and the sizes that are lowered: of sketches of outputs and inputs,
    /// and of samples.
    ///
    /// # Errors
    /// Settings that need more pairs, or that cannot be written as TOML.
    pub(crate) fn for_pairs(&self, pairs: usize) -> Result<(Self, Vec<Lowered>), Error> {
        let mut adapted = self.clone();
        let mut lowered = Vec::new();
        adapted.config.lower_output_sizes(pairs, &mut lowered);
        if let Some((encoder, sizes)) = self.encoder.settings.for_pairs(pairs)? {
            adapted.config.encoder = encoder;
            lowered.extend(sizes);
        }
        Ok((adapted, lowered))
    }

    /// Returns the configuration with no correction of predictions, which have the same length as before; `held_out` says whether
    /// held-out predictions are kept.
    pub(crate) fn without_corrections(&self, held_out: bool) -> Self {
        let mut plain = self.clone();
        let decoding = &mut plain.config.decoding;
        decoding.normalise = decoding.unit_length();
        decoding.hubs = None;
        decoding.reranker = None;
        decoding.held_out = held_out;
        plain
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
        if self.sketch.full || self.encoder.abilities().sketches_unlabelled {
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
