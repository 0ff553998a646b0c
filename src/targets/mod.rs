//! The targets of learners: points in the sketched eigenbasis, in an output space, or numbers.

mod constant;
mod output_space;

use std::path::Path;
use std::sync::OnceLock;

use dsokr_basis::features::{DenseRows, Distinct, PartRows, Selected, distinct};
use dsokr_basis::{
    Basis, Features, Kernel, OutputKernel, Projection, RowKind, RowSource, SketchKind,
    SketchOptions,
};
use dsokr_core::RowWeights;
use dsokr_core::store::Tensor;
use dsokr_data::{DataRoot, Dataset, Inputs};
use dsokr_decode::Candidates;
use dsokr_machines::{LastSystem, OutputSpace as MachineSpace, Targets};
use tracing::info;

use crate::config::{Checked, SketchConfig, SummandConfig};
use crate::error::{Error, ensure};
use crate::run_dir::{BASIS, fingerprint_of};
use output_space::numbers;

pub(crate) use constant::constant_kernels;
pub use output_space::{OutputSpace, candidates};
pub(crate) use output_space::{
    load_scaling, save_scaling, standardise, summand_candidates, unknown_shares,
};

/// The targets of a learner, and the space that they and its predictions are points of.
pub struct OutputTargets {
    /// The space.
    pub space: OutputSpace,
    /// The training outputs in it.
    pub values: TargetValues,
}

/// The training outputs as targets.
pub enum TargetValues {
    /// Coordinates in the sketched eigenbasis, with the outputs' parts outside.
    Projection(Projection),
    /// Points of the output space of a kernel machine.
    Points(Targets),
    /// Numbers, whose quantiles are predicted, one for each training pair.
    Numbers(Vec<f32>),
}

impl OutputTargets {
    /// The training outputs in the sketched eigenbasis.
    ///
    /// # Errors
    /// As [`TrainingOutputs::basis`].
    pub fn in_basis(outputs: &TrainingOutputs) -> Result<Self, Error> {
        let basis = outputs.basis(false)?;
        let projection = basis.project_shared(&outputs.rows())?;
        let space = OutputSpace::Basis(basis);
        let values = TargetValues::Projection(projection);
        Ok(Self { space, values })
    }

    /// The training outputs in the output space of a kernel machine.
    pub(crate) fn points((space, targets): (MachineSpace, Targets)) -> Self {
        Self { space: OutputSpace::Machine(space), values: TargetValues::Points(targets) }
    }

    /// The numbers of the training pairs, for quantiles of some levels.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for outputs that are not one number each.
    pub fn numbers(levels: &[f64], outputs: &TrainingOutputs) -> Result<Self, Error> {
        let space = OutputSpace::Quantiles(levels.to_vec());
        Ok(Self { space, values: TargetValues::Numbers(numbers(&outputs.rows())?) })
    }

    /// The basis, and the training outputs in it.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for targets of a different kind.
    pub fn basis(&self) -> Result<(&Basis, &Projection), Error> {
        match (&self.space, &self.values) {
            (OutputSpace::Basis(basis), TargetValues::Projection(values)) => Ok((basis, values)),
            _ => Err(self.unexpected()),
        }
    }

    /// The error of a learner that gets targets of the wrong kind.
    pub(crate) fn unexpected(&self) -> Error {
        let found = match self.values {
            TargetValues::Projection(_) => "targets in a basis",
            TargetValues::Points(_) => "points of an output space",
            TargetValues::Numbers(_) => "numbers",
        };
        Error::value("Fit::targets", found, "the kind of targets that Fit::fit reads")
    }

    /// The fingerprint of the data, with the lexicon of a second look: a run is resumed only with the data that it was
    /// started with.
    pub(crate) fn fingerprint(
        &self,
        dataset: &Dataset,
        candidates: &Candidates,
        lexicon: Option<&str>,
    ) -> Result<String, Error> {
        // where there are none, the candidates identify the data
        let targets = match &self.values {
            TargetValues::Projection(projection) => projection.coordinates.as_slice(),
            TargetValues::Points(_) | TargetValues::Numbers(_) => &[],
        };
        let splits = [&dataset.train, &dataset.validation];
        let texts = splits.map(|split| {
            let texts = split.inputs.texts().map(|texts| texts.join("\0")).unwrap_or_default();
            [split.ids.join("\0"), texts].join("\0")
        });
        let kernels = splits.map(|split| match &split.inputs {
            Inputs::Kernels(rows) => rows.values(),
            Inputs::Texts(_) | Inputs::Vectors(_) => Vec::new(),
        });
        let ids = candidates.ids().collect::<Vec<_>>().join("\0");
        let coordinates = candidates.coordinates()?;
        let mut tensors = vec![
            Tensor::u8("train texts", &[texts[0].len()], texts[0].as_bytes()),
            Tensor::u8("validation texts", &[texts[1].len()], texts[1].as_bytes()),
            Tensor::u8("ids", &[ids.len()], ids.as_bytes()),
            Tensor::f32("targets", &[targets.len()], targets),
            Tensor::f32("candidates", &[coordinates.len()], &coordinates),
        ];
        for ((split, values), name) in splits.iter().zip(&kernels).zip(["train", "validation"]) {
            if let Inputs::Vectors(rows) = &split.inputs {
                tensors.extend(rows.tensors(&format!("{name} vectors")));
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
        Ok(fingerprint_of("data", &tensors))
    }
}

/// Rows that are read at once.
const BLOCK: usize = 4096;

/// The outputs of the training pairs, from which targets are made.
#[derive(Clone)]
pub struct TrainingOutputs<'a> {
    /// The configuration.
    pub config: &'a Checked,
    /// The data.
    pub dataset: &'a Dataset,
    /// Their folder.
    pub root: &'a DataRoot,
    /// As indices, one for each training pair.
    indices: Vec<usize>,
    /// Outputs that belong to no pair, as indices; few learners need them.
    unlabelled: OnceLock<Vec<usize>>,
    /// The directory of a resumed run, which holds the files of the preparation already.
    pub resumed: Option<&'a Path>,
    /// A basis that has been fitted already.
    ready: Option<Basis>,
    kernel: OnceLock<Kernel>,
    /// The factored system of kernel machines with the same inputs.
    pub(crate) systems: LastSystem,
}

impl<'a> TrainingOutputs<'a> {
    /// Those of a data set and its folder; `resumed` is the directory of a resumed run.
    pub(crate) fn new(
        config: &'a Checked,
        (dataset, root): (&'a Dataset, &'a DataRoot),
        resumed: Option<&'a Path>,
        systems: LastSystem,
    ) -> Self {
        Self {
            config,
            dataset,
            root,
            indices: dataset.train.outputs.iter().flatten().copied().collect(),
            unlabelled: OnceLock::new(),
            resumed,
            ready: None,
            kernel: OnceLock::new(),
            systems,
        }
    }

    /// The same outputs with a basis that has been fitted.
    pub(crate) fn with_basis(&self, basis: Basis) -> Self {
        Self { resumed: None, ready: Some(basis), ..self.clone() }
    }

    /// Number of training pairs.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Their feature rows, one for each training pair.
    pub fn rows(&self) -> Selected<'_> {
        self.selected(&self.indices)
    }

    /// Their feature rows with the weights of their pairs.
    pub(crate) fn weighted_rows(&self) -> WeightedRows<'_> {
        WeightedRows { rows: self.rows(), weights: self.dataset.train.weights.clone() }
    }

    /// The feature rows of outputs that belong to no pair.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where there are none.
    pub fn unlabelled(&self) -> Result<Selected<'_>, Error> {
        Ok(self.selected(self.without_pair()?))
    }

    fn without_pair(&self) -> Result<&[usize], Error> {
        let indices = self.unlabelled.get_or_init(|| self.dataset.unlabelled());
        let key = "encoder.answers.supervised";
        let found = "a number below 1";
        let allowed = "[1]: every output belongs to a pair, none is left over";
        ensure(!indices.is_empty(), key, found, allowed)?;
        Ok(indices)
    }

    fn selected<'s>(&'s self, indices: &'s [usize]) -> Selected<'s> {
        Selected::new(self.dataset.outputs.rows.as_ref(), indices)
    }

    /// The one kernel, with γ from these outputs where the configuration says so.
    ///
    /// # Errors
    /// As [`KernelConfig::fit`](crate::config::KernelConfig::fit); [`dsokr_core::Error::Value`] where there are several
    /// kernels.
    pub fn kernel(&self) -> Result<&Kernel, Error> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(kernel);
        }
        let kernel = self.config.output.single_kernel()?;
        let kernel = kernel.fit("output.kernel", &self.rows(), self.config.seed)?;
        Ok(self.kernel.get_or_init(|| kernel))
    }

    /// Whether the configuration's kernels have weights that are to be fitted.
    pub(crate) fn lacks_weights(&self) -> bool {
        let made = self.ready.is_some() || self.resumed.is_some();
        self.config.output.weights.is_some() && !made
    }

    /// The bases of the configuration's kernels, of those that are summed, tempered, each of its part of the rows of
    /// outputs.
    pub(crate) fn summands(&self, outputs: &WeightedRows) -> Result<Vec<Basis>, Error> {
        use dsokr_core::Error::{Numeric, ZeroKernel};
        let sketch = &self.config.sketch;
        let seed = self.config.seed;
        let part = |((at, summand), rows): ((usize, &SummandConfig), PartRows)| {
            let key = format!("output.kernels[{at}].kernel");
            let kernel = summand.kernel.fit(&key, &rows, seed)?;
            let basis = sketched_basis(sketch, &kernel, &rows, summand.size, seed);
            let tempering = summand.tempering();
            let basis = basis
                .and_then(|basis| basis.tempered_weighted(&tempering, &rows, &outputs.weights));
            basis.map_err(|error| match error {
                ZeroKernel { .. } | Numeric(_) => {
                    let found = format!("{:?} ({error})", summand.kernel.name());
                    Error::value(key, found, "a kernel of outputs that are not zero and vary")
                }
                other => other.into(),
            })
        };
        let kernels = self.config.output.kernels.iter().enumerate();
        let summands = kernels.filter(|(_, kernel)| kernel.weight > 0.0);
        summands.zip(PartRows::all(&outputs.rows)).map(part).collect()
    }

    /// The leading coordinates of the weighted sum of the kernels of bases, of the rows of outputs.
    pub(crate) fn sum(
        &self,
        bases: Vec<Basis>,
        weights: &[f64],
        outputs: &WeightedRows,
    ) -> Result<Basis, Error> {
        let parts = weights.iter().copied().zip(bases).collect();
        let WeightedRows { rows, weights } = outputs;
        let basis = Basis::sum_weighted(parts, self.config.sketch.size, rows, weights)?;
        Ok(basis.tempered_weighted(&self.config.output.tempering(), rows, weights)?)
    }

    /// The configuration's basis, fitted on these outputs and, if `unlabelled`, on those without a pair
    /// too; that of a resumed run is read.
    ///
    /// # Errors
    /// Outputs that the kernel or the sketch does not accept.
    pub fn basis(&self, unlabelled: bool) -> Result<Basis, Error> {
        if let Some(basis) = &self.ready {
            return Ok(basis.clone());
        }
        if let Some(path) = &self.resumed {
            return Ok(Basis::load(&path.join(BASIS))?);
        }
        let (pairs, without_pair) = if unlabelled {
            (&self.indices, self.without_pair()?)
        } else {
            (&self.indices, [].as_slice())
        };
        let all = [pairs, without_pair].concat();
        let each = (&self.dataset.train.weights, pairs.len());
        let weights = RowWeights::joined(each, (&RowWeights::equal(), without_pair.len()));
        let config = self.config;
        let outputs = WeightedRows { rows: self.selected(&all), weights };
        let fitted = match config.output.kernel {
            Some(_) => {
                fit_basis(config, self.kernel()?, &outputs, config.sketch.size, config.seed)?
            }
            None => {
                let weights = config.output.summands().map(|summand| summand.weight);
                self.sum(self.summands(&outputs)?, &weights.collect::<Vec<f64>>(), &outputs)?
            }
        };
        let rank = fitted.dimension();
        let size = fitted.options.size;
        if rank < size && self.config.output.kernels.is_empty() {
            info!(
                rank,
                size,
                "the Gram matrix of the sketch has a smaller rank than the sketch has rows: the extra \
                 dimensions are dropped"
            );
        }
        Ok(fitted)
    }
}

/// Feature rows of outputs with their weights in means and covariances.
pub(crate) struct WeightedRows<'a> {
    pub rows: Selected<'a>,
    pub weights: RowWeights,
}

/// The basis of a kernel, tempered as the configuration says, with a sketch of a size and a seed; without a
/// sketch the unit vectors of the feature space, in which targets are the feature rows.
pub(crate) fn fit_basis(
    config: &Checked,
    kernel: &Kernel,
    WeightedRows { rows: outputs, weights }: &WeightedRows,
    size: usize,
    seed: u64,
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
        return Ok(Basis::fit(kernel.clone(), &units, &options.with_tolerance(sketch.tolerance))?);
    }
    let basis = sketched_basis(sketch, kernel, outputs, size, seed)?;
    Ok(basis.tempered_weighted(&config.output.tempering(), outputs, weights)?)
}

/// The basis of a kernel by a sketch of outputs, of which equal ones are one row where the settings say so.
fn sketched_basis(
    sketch: &SketchConfig,
    kernel: &Kernel,
    outputs: &dyn RowSource,
    size: usize,
    seed: u64,
) -> Result<Basis, dsokr_core::Error> {
    let options = |outputs: usize, size: usize| {
        let options = SketchOptions::new(sketch.method_for(kernel, outputs), size);
        options.with_seed(seed).with_tolerance(sketch.tolerance)
    };
    if !sketch.is_of_distinct(outputs.len()) {
        return Basis::fit(kernel.clone(), outputs, &options(outputs.len(), size));
    }
    let Distinct { representative, .. } = distinct(outputs)?;
    let count = representative.len();
    let rows = Selected::new(outputs, &representative);
    Basis::fit(kernel.clone(), &rows, &options(count, size.min(count)))
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
