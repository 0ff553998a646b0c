//! Molecules that are placed among the outputs of a model, as its candidates are.

use std::path::Path;

use dsokr_core::Processes;
use dsokr_data::{FittedFeatures, Outputs};
use dsokr_decode::{CandidateBlocks, Candidates, Queries};
use dsokr_molecule::Molecule;

use crate::config::Checked;
use crate::error::{Error, ensure_run};
use crate::run_dir::{FEATURES, held_out};
use crate::targets::OutputSpace;

/// A model that molecules are scored by.
#[derive(Clone, Copy)]
pub(crate) struct SearchedModel<'a> {
    pub candidates: &'a Candidates,
    pub space: &'a OutputSpace,
    pub config: &'a Checked,
}

/// The parts of a model that place new molecules, without its space.
pub(crate) struct Placer {
    fitted: FittedFeatures,
    /// Held-out predictions of unit length, where candidates are corrected for hubs.
    held_out: Option<Vec<f32>>,
}

impl Placer {
    /// Creates the placer of a model with the features that it was trained with. `held_out` are predictions for training
    /// inputs by models that were not trained on that pair, which candidates that are corrected for hubs need.
    ///
    /// # Errors
    /// Predictions whose dimension differs from that of the candidates.
    pub(crate) fn new(
        candidates: &Candidates,
        fitted: FittedFeatures,
        held_out: Option<&[f32]>,
    ) -> Result<Self, Error> {
        let unit =
            |predictions| Ok::<_, Error>(Queries::new(candidates.dim(), predictions)?.normalised());
        let held_out = held_out.filter(|_| candidates.hubs().is_some()).map(unit).transpose()?;
        Ok(Self { fitted, held_out })
    }

    /// Places molecules: their features, coordinates and constants are those of candidates that are added to the run.
    ///
    /// # Errors
    /// Features that cannot be computed.
    pub(crate) fn place(
        &self,
        model: &SearchedModel,
        labels: Vec<String>,
        molecules: Vec<Molecule>,
    ) -> Result<(Candidates, Outputs), Error> {
        let SearchedModel { candidates, space, config } = *model;
        let outputs = config.source().made(labels, molecules, &self.fitted)?;
        let placed = space.candidates(&outputs, &Processes::default())?;
        let placed = match &self.held_out {
            Some(unit) => placed.with_hubs_like(candidates, unit)?,
            None => placed,
        };
        Ok((placed, outputs))
    }

    /// Opens the placer of a trained run in a folder.
    ///
    /// # Errors
    /// As [`new`](Self::new); a run whose model was made from its parts, without features.
    pub(crate) fn open(run: &Path, candidates: &Candidates) -> Result<Self, Error> {
        let features = run.join(FEATURES);
        let message =
            format_args!("no {FEATURES}, by which new molecules are placed: train it again");
        ensure_run(features.exists(), run, message)?;
        let fitted = FittedFeatures::load(&features)?;
        Ok(Self { fitted, held_out: held_out::load_for_hubs(run, candidates)? })
    }
}
