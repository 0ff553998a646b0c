//! Searches beyond the candidates of runs.

use std::path::Path;

use super::{Member, PredictedQueries, Run, Wanted};
use crate::config::BeyondConfig;
use crate::decoding::beyond::{BeyondSearch, Placer, Restrictions};
use crate::error::Error;
use crate::targets::OutputSpace;

impl Member {
    /// The folder that it was read from.
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

impl Run {
    /// What the molecules have that a `search`, if there is one, finds for queries: what the rule for each query's candidates
    /// leaves, and where candidates are `wanted` by a filter what it asks of molecules.
    ///
    /// # Errors
    /// Queries that the rule does not read.
    pub(super) fn restrictions(
        &self,
        search: Option<&BeyondSearch>,
        queries: &PredictedQueries,
        wanted: Option<&Wanted>,
    ) -> Result<Restrictions, Error> {
        if search.is_none() {
            return Ok(Restrictions::default());
        }
        let first = &self.members()[0];
        let rules = match &queries.rule {
            Some(rule) => rule.molecules(queries.split(), first.polarities.assumed())?,
            None => Vec::new(),
        };
        let columns = first.candidates.columns();
        let filter = wanted.map(|wanted| wanted.filter().of_found(columns, wanted.each()));
        Ok(Restrictions { rules, filter: filter.transpose()? })
    }
}

/// A search for molecules beyond the candidates of runs, which read their spaces where they have not yet.
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

/// A search for molecules beyond the candidates of runs that have read their spaces, and whose outputs have moves.
pub(crate) fn search_by(runs: &[Member], settings: BeyondConfig) -> Result<BeyondSearch, Error> {
    let placers = runs.iter().map(|run| Placer::open(run.stored()?, &run.candidates));
    let placers = placers.collect::<Result<_, Error>>()?;
    let models = runs.iter().map(|run| (&run.config, &run.candidates)).collect::<Vec<_>>();
    BeyondSearch::new(settings, &models, placers)
}
