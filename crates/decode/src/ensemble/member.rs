use crate::{Candidates, Error, Queries};

/// One model of an ensemble: what it predicts for the queries, and the candidates as it sees them.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// How errors call it, such as the folder of its run; an empty name is not mentioned.
    pub name: &'a str,
    /// Its predictions, of its own dimension.
    pub queries: Queries<'a>,
    /// Its candidates, with coordinates, constants and classes of its own.
    pub candidates: &'a Candidates,
    /// Whether its kernel is normalised, `k(c, c) = 1` for all candidates, so that its scores are
    /// comparable with those of other normalised kernels.
    pub normalised: bool,
}

/// An error that says whose it is.
pub(super) fn member_error(member: &Member, error: Error) -> Error {
    match member.name {
        "" => error,
        name => error.at(format!("ensemble member {name:?}")),
    }
}

/// Refuses members that predict for different queries.
pub(super) fn same_queries(first: &Member, member: &Member) -> Result<(), Error> {
    let (ours, theirs) = (&first.queries, &member.queries);
    let (count, found) = (ours.len(), theirs.len());
    let named = ours.names().zip(theirs.names());
    let at = match named.and_then(|(a, b)| a.iter().zip(b).position(|(a, b)| a != b)) {
        None if count == found => return Ok(()),
        at => at.unwrap_or(count.min(found)),
    };
    let name = |queries: &Queries| match at < queries.len() {
        true => queries.name(at).into_owned(),
        false => "missing".to_owned(),
    };
    Err(Error::Inconsistent(format!(
        "query {at} is {} for ensemble member {:?} and {} for {:?}",
        name(ours),
        first.name,
        name(theirs),
        member.name
    )))
}
