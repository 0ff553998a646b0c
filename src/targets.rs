//! The targets of learners: points in the sketched eigenbasis, in an output space, or numbers.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dsokr_basis::features::{Block, DenseRows, PartRows, distinct};
use dsokr_basis::{
    Basis, Features, Kernel, Projection, RowKind, RowSource, SketchKind, SketchOptions,
};
use dsokr_decode::{CandidateParts, Candidates};
use dsokr_machines::{OutputSpace, Points, Targets};
use tracing::warn;

use crate::config::{Checked, Search, SummandConfig};
use crate::exact::AnswerSpace;
use crate::run::BASIS;
use crate::scores::Origin;
use crate::{Error, quantiles};
use dsokr_data::{Dataset, Outputs, Selected};

/// The coordinates of a kernel machine's answers.
const OUTPUTS: &str = "outputs.safetensors";

/// The outputs of the training pairs, from which targets are made.
pub struct TrainingOutputs<'a> {
    config: &'a Checked,
    dataset: &'a Dataset,
    /// As indices, one for each training pair.
    indices: Vec<usize>,
    /// Outputs that belong to no pair, as indices; few learners need them.
    unlabelled: OnceLock<Vec<usize>>,
    /// Where the basis of a resumed run is.
    stored: Option<PathBuf>,
    /// A basis that has been fitted already.
    ready: Option<Basis>,
    kernel: OnceLock<Kernel>,
}

impl<'a> TrainingOutputs<'a> {
    /// Those of a data set; `resumed` is the directory of a resumed run.
    pub(crate) fn new(config: &'a Checked, dataset: &'a Dataset, resumed: Option<&Path>) -> Self {
        Self {
            config,
            dataset,
            indices: dataset.train.outputs.iter().flatten().copied().collect(),
            unlabelled: OnceLock::new(),
            stored: resumed.map(|path| path.join(BASIS)),
            ready: None,
            kernel: OnceLock::new(),
        }
    }

    /// The same outputs with a basis that has been fitted.
    pub(crate) fn with_basis(&self, basis: Basis) -> Self {
        let (indices, unlabelled) = (self.indices.clone(), self.unlabelled.clone());
        let (Self { config, dataset, .. }, kernel) = (self, self.kernel.clone());
        Self { config, dataset, indices, unlabelled, stored: None, ready: Some(basis), kernel }
    }

    /// The configuration.
    pub fn config(&self) -> &Checked {
        self.config
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

    /// The feature rows of outputs that belong to no pair.
    ///
    /// # Errors
    /// [`Error::Value`] where there are none.
    pub fn unlabelled(&self) -> Result<Selected<'_>, Error> {
        Ok(self.selected(self.without_pair()?))
    }

    fn without_pair(&self) -> Result<&[usize], Error> {
        let indices = self.unlabelled.get_or_init(|| self.dataset.unlabelled());
        if indices.is_empty() {
            let allowed = "[1]: every output belongs to a pair, none is left over";
            return Err(Error::value("encoder.answers.supervised", "a number below 1", allowed));
        }
        Ok(indices)
    }

    fn selected<'s>(&'s self, indices: &'s [usize]) -> Selected<'s> {
        Selected::new(self.dataset.outputs.rows.as_ref(), indices)
    }

    /// The one kernel, with γ from these outputs where the configuration says so.
    ///
    /// # Errors
    /// As [`KernelConfig::fit`](crate::config::KernelConfig::fit); [`Error::Value`] where there are several
    /// kernels.
    pub fn kernel(&self) -> Result<&Kernel, Error> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(kernel);
        }
        let kernel = self.config.output.single_kernel()?;
        let kernel = kernel.fit("output.kernel", &self.rows(), self.config.seed)?;
        Ok(self.kernel.get_or_init(|| kernel))
    }

    /// The data.
    pub(crate) fn dataset(&self) -> &'a Dataset {
        self.dataset
    }

    /// Whether the configuration's kernels have weights that are to be fitted.
    pub(crate) fn lacks_weights(&self) -> bool {
        let made = self.ready.is_some() || self.stored.is_some();
        self.config.output.weights.is_some() && !made
    }

    /// The bases of the configuration's kernels, of those that are summed.
    pub(crate) fn summands(&self) -> Result<Vec<Basis>, Error> {
        summands(self.config, &self.rows(), self.config.seed)
    }

    /// The basis of the weighted sum of the kernels of bases.
    pub(crate) fn sum(&self, bases: Vec<Basis>, weights: &[f64]) -> Result<Basis, Error> {
        sum(self.config, bases, weights, self.config.sketch.size, &self.rows())
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
        if let Some(path) = &self.stored {
            return Ok(Basis::load(path)?);
        }
        let all = match unlabelled {
            true => &[&self.indices, self.without_pair()?].concat(),
            false => &self.indices,
        };
        let (size, seed) = (self.config.sketch.size, self.config.seed);
        let several = self.config.output.kernel.is_none();
        let kernel = if several { None } else { Some(self.kernel()?) };
        let fitted = fit_basis(self.config, kernel, &self.selected(all), size, seed)?;
        let (rank, size) = (fitted.rank(), fitted.options().size);
        if rank < size && self.config.output.kernels.is_empty() {
            warn!(
                rank,
                size,
                "the Gram matrix of the sketch has a smaller rank than the sketch has rows: the extra \
                 dimensions are dropped"
            );
        }
        Ok(fitted)
    }
}

/// The basis of a kernel, tempered as the configuration says, with a sketch of a size and a seed, or without
/// a kernel the leading coordinates of the sum of the configuration's kernels; without a sketch the unit
/// vectors of the feature space, in which targets are the feature rows.
pub(crate) fn fit_basis(
    config: &Checked,
    kernel: Option<&Kernel>,
    outputs: &Selected,
    size: usize,
    seed: u64,
) -> Result<Basis, Error> {
    let sketch = &config.sketch;
    let options = |kind: &SketchKind, size| {
        SketchOptions::new(kind, size).with_seed(seed).with_tolerance(sketch.tolerance)
    };
    let Some(kernel) = kernel.cloned() else {
        let weights: Vec<f64> = config.output.summands().map(|summand| summand.weight).collect();
        return sum(config, summands(config, outputs, seed)?, &weights, size, outputs);
    };
    if sketch.full {
        let width = outputs.width();
        if outputs.kind() != RowKind::Dense {
            let allowed = "false, or dense rows: an encoder learns them as they are";
            let found = format!("true, with {} rows", outputs.kind());
            return Err(Error::value("sketch.full", found, allowed));
        }
        let mut units = vec![0.0; width * width];
        (0..width).for_each(|j| units[j * (width + 1)] = 1.0);
        let units = Features::Dense(DenseRows::new(width, units)?);
        let all = SketchKind::Subsampling { replacement: false };
        return Ok(Basis::fit(kernel, &units, &options(&all, width))?);
    }
    let basis = Basis::fit(kernel, outputs, &options(&sketch.method, size))?;
    Ok(basis.tempered(&config.output.tempering(), outputs)?)
}

/// The bases of the configuration's kernels, tempered, each of its part of the outputs' rows.
fn summands(config: &Checked, outputs: &Selected, seed: u64) -> Result<Vec<Basis>, Error> {
    let sketch = &config.sketch;
    let part = |(summand, rows): (&SummandConfig, PartRows)| {
        let options = SketchOptions::new(&sketch.method, summand.size).with_seed(seed);
        let options = options.with_tolerance(sketch.tolerance);
        let kernel = summand.kernel.fit("output.kernels.kernel", &rows, config.seed)?;
        let basis = Basis::fit(kernel, &rows, &options)?;
        Ok(basis.tempered(&summand.tempering(), &rows)?)
    };
    config.output.summands().zip(PartRows::all(outputs)).map(part).collect()
}

/// The leading coordinates of the weighted sum of the kernels of bases.
fn sum(
    config: &Checked,
    bases: Vec<Basis>,
    weights: &[f64],
    size: usize,
    outputs: &Selected,
) -> Result<Basis, Error> {
    let parts = weights.iter().copied().zip(bases).collect();
    let basis = Basis::sum(parts, size, outputs)?;
    Ok(basis.tempered(&config.output.tempering(), outputs)?)
}

/// The targets of a learner, which determine the coordinates of its predictions.
pub enum OutputTargets {
    /// Points of the sketched eigenbasis, with origin zero.
    Basis {
        /// The basis.
        basis: Basis,
        /// The training outputs in it, with their parts outside.
        projection: Projection,
    },
    /// Points of an output space of a kernel machine, with the mean of the training outputs as
    /// origin.
    Points {
        /// The space.
        space: OutputSpace,
        /// The training outputs in it.
        targets: Targets,
    },
    /// Numbers, whose quantiles are predicted.
    Quantiles {
        /// The levels τ.
        levels: Vec<f64>,
        /// The number of each training pair.
        observed: Vec<f32>,
    },
}

impl OutputTargets {
    /// The training outputs in the sketched eigenbasis.
    ///
    /// # Errors
    /// As [`TrainingOutputs::basis`].
    pub fn in_basis(outputs: &TrainingOutputs) -> Result<Self, Error> {
        let basis = outputs.basis(false)?;
        let projection = basis.project(&outputs.rows())?;
        Ok(Self::Basis { basis, projection })
    }

    /// The numbers of the training pairs, for quantiles of some levels.
    ///
    /// # Errors
    /// [`Error::Value`] for outputs that are not one number each.
    pub fn numbers(levels: &[f64], outputs: &TrainingOutputs) -> Result<Self, Error> {
        Ok(Self::Quantiles { levels: levels.to_vec(), observed: numbers(&outputs.rows())? })
    }

    /// The basis, and the training outputs in it.
    ///
    /// # Errors
    /// [`Error::Value`] for targets of a different kind.
    pub fn basis(&self) -> Result<(&Basis, &Projection), Error> {
        match self {
            Self::Basis { basis, projection } => Ok((basis, projection)),
            Self::Points { .. } | Self::Quantiles { .. } => Err(self.unexpected()),
        }
    }

    /// The error of a learner that gets targets of the wrong kind.
    pub(crate) fn unexpected(&self) -> Error {
        let found = match self {
            Self::Basis { .. } => "targets in a basis",
            Self::Points { .. } => "points of an output space",
            Self::Quantiles { .. } => "numbers",
        };
        Error::value("Learner::targets", found, "the kind of targets that Learner::fit reads")
    }

    /// Number of coordinates of a prediction.
    pub fn width(&self) -> usize {
        match self {
            Self::Basis { basis, .. } => basis.rank(),
            Self::Points { space, .. } => space.rank(),
            Self::Quantiles { levels, .. } => levels.len(),
        }
    }

    /// The basis; none if outputs are not sketched.
    pub fn as_basis(&self) -> Option<&Basis> {
        match self {
            Self::Basis { basis, .. } => Some(basis),
            Self::Points { space, .. } => space.as_basis(),
            Self::Quantiles { .. } => None,
        }
    }

    /// What answers are coordinates of; none of quantiles.
    pub(crate) fn answer_space(&self) -> Option<AnswerSpace<'_>> {
        match self {
            Self::Basis { basis, .. } => Some(AnswerSpace::Basis(basis)),
            Self::Points { space, .. } => Some(AnswerSpace::Outputs(space)),
            Self::Quantiles { .. } => None,
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::Basis { .. } => Origin::Zero,
            Self::Points { space, .. } => origin(space),
            Self::Quantiles { .. } => Origin::Unknown,
        }
    }

    /// The candidates in the coordinates of predictions.
    ///
    /// # Errors
    /// Rows that the basis does not project; outputs without a candidate.
    pub fn candidates(&self, outputs: &Outputs) -> Result<Candidates, Error> {
        match self {
            Self::Basis { basis, .. } => candidates(basis, outputs),
            Self::Points { space, .. } => candidates_at(outputs, |rows| {
                let Points { rank, coordinates, constants } = space.points(rows)?;
                Ok((rank, coordinates, constants))
            }),
            Self::Quantiles { levels, .. } => candidates_at(outputs, |rows| {
                let (coordinates, constants) = quantiles::candidates(levels, &numbers(rows)?);
                Ok((levels.len(), coordinates, constants))
            }),
        }
    }

    /// Targets of training pairs that identify the data they were made of; empty where the candidates
    /// do.
    pub(crate) fn coordinates(&self) -> &[f32] {
        match self {
            Self::Basis { projection, .. } => &projection.coordinates,
            Self::Points { .. } | Self::Quantiles { .. } => &[],
        }
    }

    /// The fingerprint of the coordinates, which files name.
    pub(crate) fn fingerprint(&self) -> String {
        match self {
            Self::Basis { basis, .. } => basis.fingerprint(),
            Self::Points { space, .. } => space.fingerprint(),
            Self::Quantiles { levels, .. } => format!("quantiles {levels:?}"),
        }
    }

    /// Writes the coordinates into a run directory.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Error> {
        if let Self::Points { space, .. } = self {
            space.save(&path.join(OUTPUTS))?;
        }
        match self.as_basis() {
            Some(basis) => Ok(basis.save(&path.join(BASIS))?),
            None => Ok(()),
        }
    }
}

/// The coordinates of a run directory.
pub(crate) struct StoredTargets {
    /// The basis; none where outputs are not sketched.
    pub basis: Option<Basis>,
    /// The space of a kernel machine. Without a basis it is read only for exact search.
    pub space: Option<OutputSpace>,
    /// From where the candidates' coordinates count.
    pub origin: Origin,
}

/// Reads the coordinates of a run directory.
pub(crate) fn load(path: &Path, search: Search) -> Result<StoredTargets, Error> {
    let (basis, outputs) = (path.join(BASIS), path.join(OUTPUTS));
    let basis = if basis.exists() { Some(Basis::load(&basis)?) } else { None };
    let needed = basis.is_some() || search == Search::Exact;
    let space = match needed && outputs.exists() {
        true => Some(OutputSpace::load(&outputs, basis.clone())?),
        false => None,
    };
    let origin = match (&space, &basis) {
        (Some(space), _) => origin(space),
        (None, Some(_)) => Origin::Zero,
        (None, None) => Origin::Unknown,
    };
    Ok(StoredTargets { basis, space, origin })
}

/// The origin of the candidates of a space.
fn origin(space: &OutputSpace) -> Origin {
    match space.as_basis() {
        Some(_) => Origin::At(space.centre().to_vec()),
        None => Origin::Unknown,
    }
}

/// Projects each distinct candidate once, with the constants `b(c) = −½ k(c, c)` of decoding,
/// shifted by ½ for normalised kernels, where they then vanish (except for a zero row, which has
/// k(c, c) = 0).
///
/// # Errors
/// Rows that the basis does not project; outputs without a candidate.
pub fn candidates(basis: &Basis, outputs: &Outputs) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| {
        let projected = basis.project(rows)?;
        let shift = if basis.is_normalised() { 0.5 } else { 0.0 };
        let constants = projected.squared_norms.iter().map(|k| (shift - 0.5 * k) as f32).collect();
        Ok((basis.rank(), projected.coordinates, constants))
    })
}

/// The candidates in the coordinates of one of several kernels, without constants.
pub(crate) fn summand_candidates(
    basis: &Basis,
    place: usize,
    outputs: &Outputs,
) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| {
        let parts = PartRows::all(rows);
        let projected = basis.project(&parts[place])?;
        Ok((basis.rank(), projected.coordinates, vec![0.0; projected.squared_norms.len()]))
    })
}

/// Candidates where `place` puts their distinct rows: the number of coordinates, the coordinates of
/// each row, and their constants.
fn candidates_at(
    outputs: &Outputs,
    place: impl FnOnce(&dyn RowSource) -> Result<(usize, Vec<f32>, Vec<f32>), Error>,
) -> Result<Candidates, Error> {
    let pool = Selected::new(outputs.rows.as_ref(), &outputs.candidates);
    let groups = distinct(&pool)?;
    let chosen: Vec<usize> = groups.representative.iter().map(|&i| outputs.candidates[i]).collect();
    let (rank, coordinates, constants) = place(&Selected::new(outputs.rows.as_ref(), &chosen))?;
    let pick = |all: &[String]| outputs.candidates.iter().map(|&i| all[i].clone()).collect();
    let (ids, labels) = (pick(&outputs.ids), pick(&outputs.labels));
    let class = groups.class;
    let parts = CandidateParts { ids, labels, class, dim: rank, coordinates, constants };
    Ok(Candidates::new(parts)?)
}

/// Outputs that are one number each.
fn numbers(rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
    match (rows.width(), rows.block(0..rows.len())?) {
        (1, Block::Dense(block)) => Ok(block.values().to_vec()),
        _ => Err(Error::value(
            "encoder.solver.loss.name",
            format!("\"pinball\", with {} rows of width {}", rows.kind(), rows.width()),
            "a loss of distances, or outputs that are one number each",
        )),
    }
}
