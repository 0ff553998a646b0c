//! Scores of labels and classes, for areas under curves.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_data::config::{LabelFeatures, OutputFeatures};
use dsokr_decode::{Ensemble, Pool};

use super::Models;
use crate::config::ExpectedF1Config;
use crate::decoding::answer::distinct;
use crate::error::Error;
use crate::metrics::areas::ScoredLabels;

/// The scores of labels or classes of each query, which has those in `right`; none of other outputs.
///
/// A class has the score of its candidate, less the mean of all classes: only differences between candidates of one query
/// have a meaning. A label has the share of the likely label sets that hold it.
///
/// # Errors
/// Scores that are not finite.
pub(super) fn scored_labels(
    models: &Models,
    ensemble: &Ensemble,
    pool: Pool,
    right: &[BTreeSet<String>],
) -> Result<Option<ScoredLabels>, Error> {
    let features = &models.decoder().config.output.features;
    let right: Vec<Vec<&str>> =
        right.iter().map(|labels| labels.iter().map(String::as_str).collect()).collect();
    if let OutputFeatures::Classes(features) = features {
        let count = ensemble.candidates().len();
        let scores = first_sets(models, ensemble, pool, count)?;
        let scores = scores.iter().map(|sets| centred(sets));
        return Ok(Some(ScoredLabels::new(&right, scores, features.positive.as_deref())));
    }
    let OutputFeatures::Labels(features) = features else { return Ok(None) };
    let settings = models.decoder().config.decoding.expected_f1.clone().unwrap_or_default();
    let count = settings.candidates.min(ensemble.candidates().len());
    let sets = first_sets(models, ensemble, pool, count)?;
    let shares: Vec<Vec<(String, f64)>> =
        sets.iter().map(|sets| shares(sets, features, &settings)).collect();
    let scores = shares.iter().map(|query| {
        query.iter().map(|(label, share)| (label.as_str(), *share)).collect::<Vec<_>>()
    });
    Ok(Some(ScoredLabels::new(&right, scores, None)))
}

/// The first distinct candidates of a query, by their labels, with their scores.
type ScoredSets = Vec<(String, f64)>;

fn first_sets(
    models: &Models,
    ensemble: &Ensemble,
    pool: Pool,
    count: usize,
) -> Result<Vec<ScoredSets>, Error> {
    let (ranked, names) = distinct(ensemble, &models.rule, pool, 0..count, None)?;
    let sets = ranked.into_iter().map(|ranked| {
        let set = |hit: dsokr_decode::RankedHit| {
            let place = names.place(hit.candidates[0] as usize)?;
            Ok((names.candidates.label(place).to_owned(), f64::from(hit.score)))
        };
        ranked.hits.into_iter().map(set).collect::<Result<_, Error>>()
    });
    sets.collect()
}

/// Scores less their mean.
fn centred(sets: &ScoredSets) -> Vec<(&str, f64)> {
    let mean = sets.iter().map(|(_, score)| score).sum::<f64>() / sets.len().max(1) as f64;
    sets.iter().map(|(label, score)| (label.as_str(), score - mean)).collect()
}

/// The share of label sets that holds each label.
fn shares(
    sets: &ScoredSets,
    features: &LabelFeatures,
    settings: &ExpectedF1Config,
) -> Vec<(String, f64)> {
    let most = sets.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    let mut shares: BTreeMap<String, f64> = BTreeMap::new();
    let mut total = 0.0;
    for (set, score) in sets {
        let weight = ((score - most) / settings.temperature).exp();
        total += weight;
        let mut labels = features.set(set);
        labels.sort_unstable();
        labels.dedup();
        for label in labels {
            *shares.entry(label).or_default() += weight;
        }
    }
    shares.into_iter().map(|(label, weight)| (label, weight / total)).collect()
}
