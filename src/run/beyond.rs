//! Searches beyond the candidates of runs.

use std::path::Path;

use super::Member;
use crate::config::BeyondConfig;
use crate::decoding::beyond::{BeyondSearch, Placer};
use crate::error::Error;
use crate::targets::OutputSpace;

impl Member {
    /// Returns the folder that it was read from.
    pub(super) fn stored(&self) -> Result<&Path, Error> {
        let wrong = || {
            Error::value(
                "the run",
                "without a folder, in which it would keep its features",
                "a trained run",
            )
        };
        self.folder.as_deref().ok_or_else(wrong)
    }
}

/// Returns a search for molecules beyond the candidates of runs, which read their spaces where they have not yet.
pub(super) fn search_of(
    runs: &mut [Member],
    settings: BeyondConfig,
) -> Result<BeyondSearch, Error> {
    for run in runs.iter_mut() {
        run.config.output.source().check_made()?;
        if run.space.is_none() {
            run.space = OutputSpace::load(run.stored()?, &run.config, true)?;
        }
    }
    search_by(runs, settings)
}

/// Returns a search for molecules beyond the candidates of runs that have read their spaces, and whose outputs have moves.
pub(crate) fn search_by(runs: &[Member], settings: BeyondConfig) -> Result<BeyondSearch, Error> {
    let placers = runs.iter().map(|run| Placer::open(run.stored()?, &run.candidates));
    let placers = placers.collect::<Result<_, Error>>()?;
    let models = runs.iter().map(|run| (&run.config, &run.candidates)).collect::<Vec<_>>();
    BeyondSearch::new(settings, &models, placers)
}
