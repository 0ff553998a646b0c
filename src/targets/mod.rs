//! The targets of learners: points in the sketched eigenbasis, in an output space, or numbers.

mod training_outputs;

pub use training_outputs::TrainingOutputs;
pub(crate) use training_outputs::fit_basis;

use std::path::Path;

use dsokr_basis::features::{Block, PartRows, distinct};
use dsokr_basis::{Basis, Projection, RowSource};
use dsokr_decode::{CandidateParts, Candidates};
use dsokr_machines::{OutputSpace, Points, Targets};

use crate::config::Search;
use crate::exact::AnswerSpace;
use crate::run_files::{BASIS, OUTPUTS};
use crate::{Error, quantiles};
use dsokr_data::{Outputs, Selected};

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
        let projection = basis.project_shared(&outputs.rows())?;
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
        Error::value("Fit::targets", found, "the kind of targets that Fit::fit reads")
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
        self.place().candidates(outputs)
    }

    fn place(&self) -> OutputPlace<'_> {
        match self {
            Self::Basis { basis, .. } => OutputPlace::Basis(basis),
            Self::Points { space, .. } => OutputPlace::Points(space),
            Self::Quantiles { levels, .. } => OutputPlace::Quantiles(levels),
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

/// The origin of the candidates' coordinates.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Zero, the origin of predictions.
    Zero,
    /// A point of the basis, p numbers.
    At(Vec<f64>),
    /// None: candidates are not points of a basis.
    Unknown,
}

/// Where outputs lie as candidates.
#[derive(Clone, Copy)]
pub(crate) enum OutputPlace<'a> {
    /// In the sketched eigenbasis.
    Basis(&'a Basis),
    /// In the output space of a kernel machine.
    Points(&'a OutputSpace),
    /// At numbers, for quantiles of these levels.
    Quantiles(&'a [f64]),
}

impl OutputPlace<'_> {
    /// The candidates among outputs, each distinct one placed once.
    pub(crate) fn candidates(self, outputs: &Outputs) -> Result<Candidates, Error> {
        candidates_at(outputs, |rows| {
            Ok(match self {
                Self::Basis(basis) => CandidateParts::in_basis(basis, rows)?,
                Self::Points(space) => {
                    let Points { rank: dim, coordinates, constants } = space.points(rows)?;
                    CandidateParts { dim, coordinates, constants, ..CandidateParts::default() }
                }
                Self::Quantiles(levels) => {
                    let (coordinates, constants) = quantiles::candidates(levels, &numbers(rows)?);
                    let dim = levels.len();
                    CandidateParts { dim, coordinates, constants, ..CandidateParts::default() }
                }
            })
        })
    }

    /// The basis; none if outputs are not sketched.
    pub(crate) fn basis(&self) -> Option<&Basis> {
        match self {
            Self::Basis(basis) => Some(basis),
            Self::Points(space) => space.as_basis(),
            Self::Quantiles(_) => None,
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

impl StoredTargets {
    /// Where the candidates lie; `levels` are those of a model of quantiles.
    pub(crate) fn place<'a>(&'a self, levels: Option<&'a [f64]>) -> Option<OutputPlace<'a>> {
        match (levels, &self.space, &self.basis) {
            (Some(levels), _, _) => Some(OutputPlace::Quantiles(levels)),
            (None, Some(space), _) => Some(OutputPlace::Points(space)),
            (None, None, Some(basis)) => Some(OutputPlace::Basis(basis)),
            (None, None, None) => None,
        }
    }
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

/// Projects each distinct candidate once, with the constants of [`CandidateParts::in_basis`].
///
/// # Errors
/// Rows that the basis does not project; outputs without a candidate.
pub fn candidates(basis: &Basis, outputs: &Outputs) -> Result<Candidates, Error> {
    OutputPlace::Basis(basis).candidates(outputs)
}

/// The candidates in the coordinates of one of several kernels, without constants.
pub(crate) fn summand_candidates(
    basis: &Basis,
    place: usize,
    outputs: &Outputs,
) -> Result<Candidates, Error> {
    candidates_at(outputs, |rows| {
        let parts = PartRows::all(rows);
        let Projection { rank, coordinates, .. } = basis.project_shared(&parts[place])?;
        Ok(CandidateParts { dim: rank, coordinates, ..CandidateParts::default() })
    })
}

/// Candidates where `place` puts their distinct rows.
fn candidates_at(
    outputs: &Outputs,
    place: impl FnOnce(&dyn RowSource) -> Result<CandidateParts, Error>,
) -> Result<Candidates, Error> {
    let pool = Selected::new(outputs.rows.as_ref(), &outputs.candidates);
    let pick = |all: &[String]| outputs.candidates.iter().map(|&i| all[i].clone()).collect();
    Candidates::placed(distinct(&pool)?, pick(&outputs.ids), pick(&outputs.labels), |first| {
        let chosen: Vec<usize> = first.iter().map(|&i| outputs.candidates[i]).collect();
        place(&Selected::new(outputs.rows.as_ref(), &chosen))
    })
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
