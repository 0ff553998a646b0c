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

/// Returns a search for molecules beyond the candidates of members, which read their spaces where they have not yet.
pub(super) fn search_of(
    members: &mut [Member],
    settings: BeyondConfig,
) -> Result<BeyondSearch, Error> {
    for member in members.iter_mut() {
        member.config.output.source().check_made()?;
        if member.space.is_none() {
            member.space = OutputSpace::load(member.stored()?, &member.config)?;
        }
    }
    search_by(members, settings)
}

/// Returns a search for molecules beyond the candidates of members that have read their spaces, and whose outputs have moves.
pub(crate) fn search_by(members: &[Member], settings: BeyondConfig) -> Result<BeyondSearch, Error> {
    let placers = members.iter().map(|member| Placer::open(member.stored()?, &member.candidates));
    let placers = placers.collect::<Result<_, Error>>()?;
    let models =
        members.iter().map(|member| (&member.config, &member.candidates)).collect::<Vec<_>>();
    BeyondSearch::new(settings, &models, placers)
}
