//! Scores of labels and classes, for areas under curves.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_data::config::{LabelFeatures, OutputFeatures};
use dsokr_decode::{Combination, Ensemble, Pool};

use super::Models;
use crate::config::ExpectedF1Config;
use crate::decoding::answer::{DistinctHits, distinct_hits};
use crate::error::Error;
use crate::metrics::areas::ScoredLabels;

/// Returns the scores of labels or classes of each query, which has those in `right`; none of other outputs.
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
    let config = models.decoder().config;
    let features = &config.output.features;
    let right: Vec<Vec<&str>> =
        right.iter().map(|labels| labels.iter().map(String::as_str).collect()).collect();
    if let OutputFeatures::Classes(features) = features {
        let count = ensemble.candidates().len();
        let scores = first_sets(ensemble, &models.rule, pool, count)?;
        let scores = scores.iter().map(|sets| centred(sets));
        return Ok(Some(ScoredLabels::new(&right, scores, features.positive.as_deref())));
    }
    let OutputFeatures::Labels(features) = features else { return Ok(None) };
    let shares = label_shares(models, ensemble, pool, features)?;
    let scores = shares.iter().map(|query| {
        query.iter().map(|(label, share)| (label.as_str(), *share)).collect::<Vec<_>>()
    });
    Ok(Some(ScoredLabels::new(&right, scores, None)))
}

/// Returns the share of the likely label sets of each query that holds each label; of several models the mean of their shares,
/// weighted as the ensemble weighs them. The temperature is that of the scores of a model: combined ones have the scale of
/// their rule.
fn label_shares(
    models: &Models,
    ensemble: &Ensemble,
    pool: Pool,
    features: &LabelFeatures,
) -> Result<Vec<BTreeMap<String, f64>>, Error> {
    let settings = models.decoder().config.decoding.expected_f1.clone().unwrap_or_default();
    let members = ensemble.members();
    if let [_] = members {
        return shares_of_model(ensemble, pool, features, &settings);
    }
    let equal = || vec![1.0 / members.len() as f64; members.len()];
    let weights = models.rule.weights().map_or_else(equal, <[f64]>::to_vec);
    let mut combined: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new(); ensemble.queries()];
    let decoders = models.each.iter().map(|(_, decoder)| decoder);
    for ((member, decoder), weight) in members.iter().zip(decoders).zip(weights) {
        if weight == 0.0 {
            continue;
        }
        // lists are of the candidates in the order of the first member
        let lists = match pool {
            Pool::Shared => None,
            Pool::PerQuery(lists) => Some(lists.moved(members[0].candidates, member.candidates)?),
        };
        let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
        let alone = Ensemble::new(vec![*member])?.with_rerankers(vec![decoder.reranker])?;
        let alone = alone.shared_by(ensemble.processes());
        let shares_of_member = shares_of_model(&alone, pool, features, &settings)?;
        for (all, shares) in combined.iter_mut().zip(shares_of_member) {
            for (label, share) in shares {
                *all.entry(label).or_default() += weight * share;
            }
        }
    }
    Ok(combined)
}

/// Returns the shares of the likely label sets of each query of one model.
fn shares_of_model(
    model: &Ensemble,
    pool: Pool,
    features: &LabelFeatures,
    settings: &ExpectedF1Config,
) -> Result<Vec<BTreeMap<String, f64>>, Error> {
    let count = settings.candidates.min(model.candidates().len());
    let sets = first_sets(model, &Combination::default(), pool, count)?;
    Ok(sets.iter().map(|sets| shares(sets, features, settings)).collect())
}

/// The first distinct candidates of a query, by their labels, with their scores.
type ScoredSets = Vec<(String, f64)>;

fn first_sets(
    ensemble: &Ensemble,
    rule: &Combination,
    pool: Pool,
    count: usize,
) -> Result<Vec<ScoredSets>, Error> {
    let DistinctHits { queries, named } = distinct_hits(ensemble, rule, pool, 0..count, None)?;
    let sets = queries.into_iter().map(|ranked| {
        let set = |hit: dsokr_decode::RankedHit| {
            let place = named.place(hit.candidates[0] as usize)?;
            Ok((named.candidates.label(place).to_owned(), f64::from(hit.score)))
        };
        ranked.hits.into_iter().map(set).collect::<Result<_, Error>>()
    });
    sets.collect()
}

/// Returns scores less their mean.
fn centred(sets: &ScoredSets) -> Vec<(&str, f64)> {
    let mean = sets.iter().map(|(_, score)| score).sum::<f64>() / sets.len().max(1) as f64;
    sets.iter().map(|(label, score)| (label.as_str(), score - mean)).collect()
}

/// Returns the share of label sets that holds each label: the first distinct ones of a query, which count `exp(score / T)`
/// each, with their number and the temperature T of `decoding.expected_f1` or its defaults.
fn shares(
    sets: &ScoredSets,
    features: &LabelFeatures,
    settings: &ExpectedF1Config,
) -> BTreeMap<String, f64> {
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
    shares.values_mut().for_each(|weight| *weight /= total);
    shares
}
