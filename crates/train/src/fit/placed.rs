//! Where the answers of kernel machines live.

use std::path::Path;

use dsokr_basis::features::Block;
use dsokr_basis::{Basis, RowSource};
use dsokr_decode::Candidates;
use dsokr_machines::ridge::{OutputSpace, Targets};

use super::{candidates_at, solver};
use crate::run::{BASIS, machine};
use crate::scores::Origin;
use crate::{Error, quantiles};
use dsokr_data::Outputs;

/// Outputs as answers reach them, beside the training pairs'.
pub(super) enum Placed {
    /// Points of the output kernel's feature space.
    Points { space: OutputSpace, targets: Targets },
    /// Numbers, of which answers are quantiles.
    Numbers { levels: Vec<f64>, observed: Vec<f32> },
}

impl Placed {
    /// The numbers of the training pairs.
    pub(super) fn numbers(levels: &[f64], training: &dyn RowSource) -> Result<Self, Error> {
        Ok(Self::Numbers { levels: levels.to_vec(), observed: numbers(training)? })
    }

    /// Number of an answer's coordinates.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Points { space, .. } => space.rank(),
            Self::Numbers { levels, .. } => levels.len(),
        }
    }

    pub(super) fn as_basis(&self) -> Option<&Basis> {
        match self {
            Self::Points { space, .. } => space.as_basis(),
            Self::Numbers { .. } => None,
        }
    }

    pub(super) fn origin(&self) -> Origin {
        match self {
            Self::Points { space, .. } => machine::origin(space),
            Self::Numbers { .. } => Origin::Unknown,
        }
    }

    pub(super) fn candidates(&self, outputs: &Outputs) -> Result<Candidates, Error> {
        match self {
            Self::Points { space, .. } => solver::candidates(space, outputs),
            Self::Numbers { levels, .. } => candidates_at(outputs, |rows| {
                let (coordinates, constants) = quantiles::candidates(levels, &numbers(rows)?);
                Ok((levels.len(), coordinates, constants))
            }),
        }
    }

    /// What files that belong to it say.
    pub(super) fn fingerprint(&self) -> String {
        match self {
            Self::Points { space, .. } => space.fingerprint(),
            Self::Numbers { levels, .. } => format!("quantiles {levels:?}"),
        }
    }

    /// Writes what answers are read with.
    pub(super) fn save(&self, path: &Path) -> Result<(), Error> {
        let Self::Points { space, .. } = self else { return Ok(()) };
        space.save(&path.join(machine::OUTPUTS))?;
        match space.as_basis() {
            Some(basis) => Ok(basis.save(&path.join(BASIS))?),
            None => Ok(()),
        }
    }
}

/// Outputs that are one number each.
fn numbers(rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
    let wrong = || Error::Value {
        key: "encoder.loss.name".into(),
        found: format!("\"pinball\", with {} rows of width {}", rows.kind(), rows.width()),
        allowed: "a loss of distances, or outputs that are one number each".into(),
    };
    match (rows.width(), rows.block(0..rows.len())?) {
        (1, Block::Dense(block)) => Ok(block.values().to_vec()),
        _ => Err(wrong()),
    }
}
