//! Label sets with the largest expected F1, where the scores of candidates are log probabilities.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_basis::Cancellation;
use dsokr_data::config::OutputFeatures;
use dsokr_decode::{Candidates, Pool, Queries, RowHit, best_expected_f1, top_rows};
use rayon::prelude::*;

use crate::Error;
use crate::config::ExpectedF1Config;
use crate::exact::PredictedOutput;

/// For each query the label set with the largest expected F1, with that F1 as its score.
///
/// # Errors
/// Lists of candidates of the queries' own; scores that are not finite.
pub(crate) fn best(
    settings: &ExpectedF1Config,
    features: &OutputFeatures,
    queries: &Queries,
    candidates: &Candidates,
    pool: Pool,
) -> Result<Vec<PredictedOutput>, Error> {
    if let Pool::PerQuery(_) = pool {
        let allowed = "absent: with decoding.expected_f1 queries share the candidates";
        return Err(Error::value("evaluation.candidates", "given", allowed));
    }
    let hits = top_rows(queries, candidates, settings.candidates.min(candidates.distinct()))?;
    let rows: BTreeSet<usize> = hits.iter().flatten().map(|hit| hit.row).collect();
    let label = |&row: &usize| {
        let first = candidates.members(row as u32).first().copied();
        first.map_or("", |candidate| candidates.label(candidate as usize))
    };
    let OutputFeatures::Labels(features) = features else {
        let allowed = "\"labels\", with decoding.expected_f1";
        return Err(Error::value("output.features.kind", "of no label sets", allowed));
    };
    let sets: Vec<Vec<String>> = rows.iter().map(|row| features.set(label(row))).collect();
    let names: BTreeSet<&str> = sets.iter().flatten().map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let columns: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let columns_of = |set: &Vec<String>| -> Vec<u32> {
        let own: BTreeSet<u32> = set.iter().map(|label| columns[label.as_str()]).collect();
        own.into_iter().collect()
    };
    let sets: BTreeMap<usize, Vec<u32>> =
        rows.iter().copied().zip(sets.iter().map(columns_of)).collect();
    let cancellation = Cancellation::current();
    let one = |hits: &Vec<RowHit>| {
        cancellation.check()?;
        let most = hits.first().map_or(0.0, |hit| f64::from(hit.score));
        let weight = |score: f32| ((f64::from(score) - most) / settings.temperature).exp();
        let outcomes: Vec<(f64, &[u32])> =
            hits.iter().map(|hit| (weight(hit.score), &sets[&hit.row][..])).collect();
        let found = best_expected_f1(&outcomes)?;
        let names: Vec<&str> = found.labels.iter().map(|&label| names[label as usize]).collect();
        Ok(PredictedOutput {
            label: names.join(&features.separator.to_string()),
            score: found.score,
        })
    };
    hits.par_iter().map(one).collect()
}
