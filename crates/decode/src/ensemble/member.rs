//! A member of an ensemble.

use dsokr_core::Error;

use crate::candidates::Candidates;
use crate::queries::Queries;

/// A model of an ensemble: its predictions for the queries, and its candidates.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// How errors call it, such as the folder of its run; an empty name is not mentioned.
    pub name: &'a str,
    /// The predictions, in the member's dimension.
    pub queries: Queries<'a>,
    /// The candidates, with the member's coordinates, constants and classes.
    pub candidates: &'a Candidates,
    /// Whether the kernel is normalised, `k(c, c) = 1` for all candidates, so that scores are comparable with those of
    /// other normalised kernels.
    pub normalised: bool,
}

/// Returns an error that says whose it is.
pub(super) fn member_error(member: &Member, error: Error) -> Error {
    match member.name {
        "" => error,
        name => error.at(format!("ensemble member {name:?}")),
    }
}
