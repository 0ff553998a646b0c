//! The targets of learners: points in the sketched eigenbasis, in an output space, or numbers.

mod adapted;
mod constant;
pub mod memory;
mod output_space;
mod problem;

use dsokr_basis::features::Selected;
use dsokr_basis::features::{DenseRows, Distinct, distinct};
use dsokr_basis::{
    Basis, Features, Kernel, OutputKernel, Projection, RowKind, RowSource, SketchKind,
    SketchOptions,
};
use dsokr_core::store::Tensor;
use dsokr_core::{Processes, RowWeights};
use dsokr_data::{Dataset, Inputs};
use dsokr_decode::{CandidateBlocks, Candidates};
use dsokr_machines::{OutputSpace as MachineSpace, Targets};
use output_space::numbers;

use crate::config::{Checked, SketchConfig};
use crate::error::{Error, ensure};
use crate::run_dir::fingerprint_of;

pub(crate) use constant::constant_kernels;
pub use output_space::{OutputSpace, candidates};
pub(crate) use output_space::{summand_candidates, unknown_shares};
pub use problem::Problem;

/// The targets of a learner, and the space that they and its predictions are points of.
#[derive(Clone, Debug)]
pub struct OutputTargets {
    /// The space.
    pub space: OutputSpace,
    /// The training outputs in it.
    pub values: TargetValues,
}

/// The training outputs as targets.
#[derive(Clone, derive_more::Debug)]
pub enum TargetValues {
    /// Coordinates in the sketched eigenbasis, with the outputs' parts outside.
    #[debug("Projection({} × {})", _0.len(), _0.dimension())]
    Projection(Projection),
    /// Points of the output space of a kernel machine.
    #[debug("Points({} × {})", _0.len(), _0.width())]
    Points(Targets),
    /// Numbers, whose quantiles are predicted, one for each training pair.
    #[debug("Numbers({})", _0.len())]
    Numbers(Vec<f32>),
}

impl OutputTargets {
    /// Returns the training outputs in the sketched eigenbasis.
    ///
    /// # Errors
    /// As [`Problem::basis`].
    pub fn in_basis(problem: &Problem) -> Result<Self, Error> {
        let basis = problem.basis(false)?;
        let projection = basis.project_shared(&problem.ranks, &problem.rows())?;
        let space = OutputSpace::Basis(basis);
        let values = TargetValues::Projection(projection);
        Ok(Self { space, values })
    }

    /// Creates targets of training outputs that are points of the output space of a kernel machine.
    pub(crate) fn in_machine_space(space: MachineSpace, targets: Targets) -> Self {
        Self { space: OutputSpace::Machine(space), values: TargetValues::Points(targets) }
    }

    /// Returns the numbers of the training pairs, for quantiles of some levels.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for outputs that are not one number each.
    pub fn numbers(levels: &[f64], problem: &Problem) -> Result<Self, Error> {
        let space = OutputSpace::Quantiles(levels.to_vec());
        Ok(Self { space, values: TargetValues::Numbers(numbers(&problem.rows())?) })
    }

    /// Returns the basis, and the training outputs in it.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for targets of a different kind.
    pub fn basis(&self) -> Result<(&Basis, &Projection), Error> {
        match (&self.space, &self.values) {
            (OutputSpace::Basis(basis), TargetValues::Projection(values)) => Ok((basis, values)),
            _ => Err(self.unexpected()),
        }
    }

    /// Returns the coordinates of the training outputs, `[pairs × p]` row-major.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for targets that are numbers.
    pub fn coordinates(&self) -> Result<Vec<f32>, Error> {
        match &self.values {
            TargetValues::Projection(projection) => Ok(projection.coordinates().to_vec()),
            TargetValues::Points(targets) => {
                Ok(targets.values()?.iter().map(|&value| value as f32).collect())
            }
            TargetValues::Numbers(_) => Err(self.unexpected()),
        }
    }

    /// Returns the targets of some of the training pairs, in the same space.
    ///
    /// # Errors
    /// A pair out of range.
    pub fn select(&self, pairs: &[usize]) -> Result<Self, Error> {
        let values = match &self.values {
            TargetValues::Projection(projection) => {
                TargetValues::Projection(projection.select(pairs))
            }
            TargetValues::Points(targets) => TargetValues::Points(targets.select(pairs)?),
            TargetValues::Numbers(numbers) => {
                TargetValues::Numbers(pairs.iter().map(|&pair| numbers[pair]).collect())
            }
        };
        Ok(Self { space: self.space.clone(), values })
    }

    /// Returns the error of a learner that gets targets of the wrong kind.
    pub(crate) fn unexpected(&self) -> Error {
        let found = match self.values {
            TargetValues::Projection(_) => "targets in a basis",
            TargetValues::Points(_) => "points of an output space",
            TargetValues::Numbers(_) => "numbers",
        };
        Error::value("Fit::targets", found, "the kind of targets that Fit::fit reads")
    }

    /// Returns the fingerprint of the training and validation data, with the lexicon of a reranker and the number that tells the
    /// `lists` of candidates of validation queries from others: a run is resumed only with those that it was started with.
    /// A test split is measured as it is found. Of candidates that are divided among `ranks` each reads those that it holds.
    pub(crate) fn fingerprint(
        &self,
        dataset: &Dataset,
        candidates: &Candidates,
        lexicon: Option<&str>,
        lists: Option<u64>,
        ranks: &Processes,
    ) -> Result<String, Error> {
        // where there are none, the candidates identify the data
        let targets = match &self.values {
            TargetValues::Projection(projection) => projection.coordinates(),
            TargetValues::Points(_) | TargetValues::Numbers(_) => &[],
        };
        let splits = [&dataset.train, &dataset.validation];
        let texts = splits.map(|split| {
            let texts = split.inputs.texts().map(|texts| texts.join("\0")).unwrap_or_default();
            [split.ids.join("\0"), texts].join("\0")
        });
        let kernels = splits.map(|split| split.inputs.kernel_values());
        let lists = lists.map(|lists| [lists]);
        let ids = candidates.ids().collect::<Vec<_>>().join("\0");
        let numbers = candidates.distinct() * candidates.dim();
        let coordinates = candidates.coordinates_sum(ranks)?;
        let mut tensors = vec![
            Tensor::u8("train texts", &[texts[0].len()], texts[0].as_bytes()),
            Tensor::u8("validation texts", &[texts[1].len()], texts[1].as_bytes()),
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
            Tensor::f32("targets", &[targets.len()], targets),
            Tensor::summed::<f32>("candidates", &[numbers], coordinates),
        ];
        for ((split, values), name) in splits.iter().zip(&kernels).zip(["train", "validation"]) {
            if let Inputs::Vectors(rows) = &split.inputs {
                tensors.extend(rows.tensors(&format!("{name} vectors"))?);
            }
            if !values.is_empty() {
                tensors.push(Tensor::f64(&format!("{name} kernels"), &[values.len()], values));
            }
        }
        let weights = dataset.train.weights.as_slice();
        if !weights.is_empty() {
            tensors.push(Tensor::f64("train weights", &[weights.len()], weights));
        }
        tensors.extend(lexicon.map(|text| Tensor::u8("lexicon", &[text.len()], text.as_bytes())));
        tensors.extend(lists.iter().map(|lists| Tensor::u64("validation lists", &[1], lists)));
        Ok(fingerprint_of("data", &tensors))
    }
}

/// Rows that are read at once.
const BLOCK: usize = 4096;

/// Feature rows of outputs with their weights in means and covariances.
pub(crate) struct WeightedRows<'a> {
    pub rows: Selected<'a>,
    pub weights: RowWeights,
}

/// Returns the basis of a kernel, tempered as the configuration says, with a sketch of a size and a seed; without a
/// sketch the unit vectors of the feature space, in which targets are the feature rows.
pub(crate) fn fit_basis(
    config: &Checked,
    kernel: &Kernel,
    WeightedRows { rows: outputs, weights }: &WeightedRows,
    size: usize,
    seed: u64,
    ranks: &Processes,
) -> Result<Basis, Error> {
    let sketch = &config.sketch;
    if sketch.full {
        let width = outputs.width();
        let found = format_args!("true, with {} rows", outputs.kind());
        let allowed = "false, or dense rows: an encoder learns them as they are";
        ensure(outputs.kind() == RowKind::Dense, "sketch.full", found, allowed)?;
        // under a normalised kernel the zero row has a feature of its own
        let count = width + usize::from(kernel.is_normalised() && has_zero_row(outputs)?);
        let mut units = vec![0.0; count * width];
        (0..width).for_each(|j| units[j * (width + 1)] = 1.0);
        let units = Features::Dense(DenseRows::new(width, units)?);
        let all = SketchKind::Subsampling { replacement: false };
        let options = SketchOptions::new(all, count).with_seed(seed);
        return Ok(Basis::fit_shared(
            ranks,
            kernel.clone(),
            &units,
            &options.with_tolerance(sketch.tolerance),
        )?);
    }
    let basis = sketched_basis(sketch, kernel, outputs, size, seed, ranks)?;
    Ok(basis.tempered_weighted(&config.output.tempering(), outputs, weights, ranks)?)
}

/// Returns the basis of a kernel by a sketch of outputs, of which equal ones are one row where the settings say so.
fn sketched_basis(
    sketch: &SketchConfig,
    kernel: &Kernel,
    outputs: &dyn RowSource,
    size: usize,
    seed: u64,
    ranks: &Processes,
) -> Result<Basis, dsokr_core::Error> {
    let options = |outputs: usize, size: usize| {
        let options = SketchOptions::new(sketch.method_for(kernel, outputs), size);
        options.with_seed(seed).with_tolerance(sketch.tolerance)
    };
    if !sketch.is_of_distinct(outputs.len()) {
        return Basis::fit_shared(ranks, kernel.clone(), outputs, &options(outputs.len(), size));
    }
    let Distinct { representative, .. } = distinct(outputs)?;
    let count = representative.len();
    let rows = Selected::new(outputs, &representative);
    Basis::fit_shared(ranks, kernel.clone(), &rows, &options(count, size.min(count)))
}

fn has_zero_row(rows: &dyn RowSource) -> Result<bool, Error> {
    for start in (0..rows.len()).step_by(BLOCK) {
        let block = rows.block(start..rows.len().min(start + BLOCK))?;
        if block.squared_norms().contains(&0.0) {
            return Ok(true);
        }
    }
    Ok(false)
}
