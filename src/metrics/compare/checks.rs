//! Refusals of runs that cannot be compared.

use dsokr_core::{Argument, Place};
use dsokr_decode::PoolSizes;

use super::EvaluatedRun;
use crate::error::{Error, ensure};
use crate::metrics::scores::Scores;

/// Refuses a run with other queries than the first one's, and one whose queries were ranked among other candidates.
/// `place` names what asked for the comparison.
pub(crate) fn check_compared(
    place: impl Into<Place>,
    first: &EvaluatedRun,
    other: &EvaluatedRun,
) -> Result<(), Error> {
    let place = place.into();
    same_queries(&place, (&first.name, first.queries), (&other.name, other.queries))?;
    same_pool(&place, first, other)?;
    same_candidates(place, first, other)
}

fn same_queries(
    place: &Place,
    (first, expected): (&str, &[String]),
    (other, queries): (&str, &[String]),
) -> Result<(), Error> {
    let same = |holds: bool, show: &dyn Fn(&[String]) -> String| {
        let mismatch = format_args!("{other}, with {}", show(queries));
        let allowed = format_args!("runs with the queries of {first}: {}", show(expected));
        ensure(holds, place.clone(), mismatch, allowed)
    };
    same(queries.len() == expected.len(), &|queries| format!("{} queries", queries.len()))?;
    match queries.iter().zip(expected).position(|(query, expected)| query != expected) {
        None => Ok(()),
        Some(at) => same(false, &|queries| format!("query {:?} in row {at}", queries[at])),
    }
}

/// Refuses queries that were ranked among the candidates of two rules, unless both give each query the same ones.
fn same_pool(place: &Place, first: &EvaluatedRun, other: &EvaluatedRun) -> Result<(), Error> {
    let (Some(pool), Some(expected)) = (&other.evaluation.pool, &first.evaluation.pool) else {
        return Ok(());
    };
    let found = format_args!("{}, ranked among the candidates {:?}", other.name, pool.rule);
    let allowed = format_args!(
        "runs ranked among the candidates of {}, {:?}: evaluate both with the same candidates",
        first.name, expected.rule
    );
    let holds = pool.rule == expected.rule || pool.fingerprint == expected.fingerprint;
    ensure(holds, place.clone(), found, allowed)
}

/// Refuses runs with other candidates, where ranks are compared and queries do not have the same lists.
fn same_candidates(place: Place, first: &EvaluatedRun, other: &EvaluatedRun) -> Result<(), Error> {
    let listed = |run: &EvaluatedRun| run.evaluation.pool.as_ref()?.fingerprint;
    let same_lists = listed(first).is_some() && listed(first) == listed(other);
    let scores = &other.evaluation.scores;
    let expected = &first.evaluation.scores;
    if same_lists || !scores.has_ranks() || !expected.has_ranks() {
        return Ok(());
    }
    let as_many = scores.ranks.candidates == expected.ranks.candidates
        && scores.ranks.candidates_per_query == expected.ranks.candidates_per_query;
    let shared = |run: &EvaluatedRun| run.evaluation.pool.as_ref()?.shared.clone();
    // where runs do not say which candidates they have, only the numbers are known
    let differ = shared(first).zip(shared(other)).is_some_and(|(a, b)| a.differ(&b));
    let others = if as_many { ", of other ids or labels" } else { "" };
    let found = format_args!("{}, with {}{others}", other.name, counts(scores));
    let allowed = format_args!(
        "runs with the candidates of {}, {}: add the same candidates to both, or give each query its list by {}",
        first.name,
        counts(expected),
        Argument::new("candidates")
    );
    ensure(as_many && !differ, place, found, allowed)
}

/// Returns how many candidates there are, and how many of them each query has.
fn counts(scores: &Scores) -> String {
    let all = format!("{} candidates", scores.ranks.candidates);
    match scores.ranks.candidates_per_query {
        None => all,
        Some(PoolSizes { least, median, most }) => {
            format!("{all}, {least} to {most} of each query (median {median})")
        }
    }
}
