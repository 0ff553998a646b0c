//! The targets of learners: points in the sketched eigenbasis, in an output space, or numbers.

mod output_space;
mod training_outputs;

pub(crate) use output_space::summand_candidates;
pub use output_space::{OutputSpace, candidates};
pub use training_outputs::TrainingOutputs;
pub(crate) use training_outputs::fit_basis;

use dsokr_basis::{Basis, Projection};
use dsokr_machines::{OutputSpace as MachineSpace, Targets};

use crate::Error;
use output_space::numbers;

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
        let (space, values) = (OutputSpace::Basis(basis), TargetValues::Projection(projection));
        Ok(Self { space, values })
    }

    /// The training outputs in the output space of a kernel machine.
    pub(crate) fn points((space, targets): (MachineSpace, Targets)) -> Self {
        Self { space: OutputSpace::Machine(space), values: TargetValues::Points(targets) }
    }

    /// The numbers of the training pairs, for quantiles of some levels.
    ///
    /// # Errors
    /// [`Error::Value`] for outputs that are not one number each.
    pub fn numbers(levels: &[f64], outputs: &TrainingOutputs) -> Result<Self, Error> {
        let space = OutputSpace::Quantiles(levels.to_vec());
        Ok(Self { space, values: TargetValues::Numbers(numbers(&outputs.rows())?) })
    }

    /// The basis, and the training outputs in it.
    ///
    /// # Errors
    /// [`Error::Value`] for targets of a different kind.
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

    /// Targets of training pairs that identify the data they were made of; empty where the candidates
    /// do.
    pub(crate) fn coordinates(&self) -> &[f32] {
        match &self.values {
            TargetValues::Projection(projection) => &projection.coordinates,
            TargetValues::Points(_) | TargetValues::Numbers(_) => &[],
        }
    }
}
