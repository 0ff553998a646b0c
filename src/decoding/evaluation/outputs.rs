//! The right and the predicted outputs of queries, as what they are.

use std::collections::BTreeSet;

use dsokr_data::config::OutputFeatures;
use dsokr_data::{Split, Truth};
use dsokr_decode::{Candidates, Decoded, Ensemble, Pool};

use crate::config::Search;
use crate::decoding::decoder::Decoder;
use crate::error::Error;
use crate::metrics::quantiles::medians;

/// Returns the predicted output of each query; none where outputs are not compared, and of quantiles of several models or without
/// the median.
pub(super) fn predicted_outputs(
    decoder: Decoder,
    ensemble: &Ensemble,
    pool: Pool,
    predictions: &[Vec<f32>],
    decoded: &[Decoded],
) -> Result<Option<Truth>, Error> {
    let config = decoder.config;
    let features = &config.output.features;
    if let Some(levels) = config.encoder.abilities().levels {
        let [z] = predictions else { return Ok(None) };
        return Ok(medians(levels, z).map(Truth::Numbers));
    }
    if features.are_numbers() && config.decoding.search == Search::Candidates {
        // the number of the nearest candidate is no prediction
        return Ok(None);
    }
    let first = decoded.iter().flat_map(|query| &query.hits).map(|hit| hit.candidate);
    let predicted =
        decoder.predicted(ensemble.processes(), &ensemble.members()[0].queries, pool, first)?;
    Ok(features.truth_of_labels(predicted.iter().map(String::as_str))?)
}

/// The share of numbers that must be thousands, as a divisor of what may be others.
const OTHERS: usize = 10;

/// How many times as large as any predicted number most right ones are that are wrongly read as thousands.
const TIMES: f64 = 100.0;

/// Warns where outputs of a table that is not of the run's data look as if they were written in another way: labels or classes
/// that no candidate has, where `candidates` are all, and numbers that are read as thousands.
pub(super) fn warn_of_foreign_outputs(
    truth: &Truth,
    predicted: Option<&Truth>,
    candidates: Option<&Candidates>,
    features: &OutputFeatures,
) -> Result<(), Error> {
    if let Some(candidates) = candidates
        && let Some((count, first)) = unknown_labels(truth, candidates, features)?
    {
        let (what, remedy) = if features.are_classes() {
            ("classes", "")
        } else {
            ("labels", ", and with the same separator")
        };
        tracing::warn!(
            "{count} of {} queries have {what} that the run does not know, the first {first:?}, and so never predicts: write them \
             as the training data do{remedy}",
            truth.len()
        );
    }
    if predicted.is_some_and(|predicted| are_read_as_thousands(truth, predicted)) {
        tracing::warn!(
            "the right numbers are whole and most of them 100 times as large as any predicted one: decimals of the table of \
             queries are read as thousands if the sign before them, as in 1,234, is the one that groups thousands in the \
             training (output.features.decimal); write them with the same sign"
        );
    }
    Ok(())
}

/// Returns whether numbers of a table may be wrongly read as thousands: nearly all are whole and at least 1,000, and most are far
/// larger than any predicted one, as decimals such as `1,234` are where the run has points before them.
fn are_read_as_thousands(truth: &Truth, predicted: &Truth) -> bool {
    let (Truth::Numbers(truth), Truth::Numbers(predicted)) = (truth, predicted) else {
        return false;
    };
    let sizes: Vec<f64> = truth.iter().flatten().map(|number| number.abs()).collect();
    let largest = predicted.iter().flatten().fold(0.0, |most: f64, number| most.max(number.abs()));
    let others = sizes.iter().filter(|&&size| size < 1000.0 || size.fract() != 0.0).count();
    let far = sizes.iter().filter(|&&size| size >= TIMES * largest).count();
    OTHERS * others <= sizes.len() && 2 * far > sizes.len()
}

/// Returns the number of queries with a class, or a label of a set, that no candidate has, and the first of these; none where
/// all are known, and of other outputs.
fn unknown_labels(
    truth: &Truth,
    candidates: &Candidates,
    features: &OutputFeatures,
) -> Result<Option<(usize, String)>, Error> {
    let Some(right) = labels_of(truth) else { return Ok(None) };
    let labels = (0..candidates.len()).map(|candidate| candidates.label(candidate));
    let sets = features.truth_of_labels(labels)?.as_ref().and_then(labels_of);
    let of_candidates: BTreeSet<String> = sets.into_iter().flatten().flatten().collect();
    let unknown: Vec<&String> = right
        .iter()
        .filter_map(|labels| labels.iter().find(|label| !of_candidates.contains(*label)))
        .collect();
    Ok(unknown.first().map(|&first| (unknown.len(), first.clone())))
}

/// Returns the right outputs that count, `golds` by id, as what they are; none where they are not known, or
/// predictions are not compared with them.
pub(super) fn truth_of(
    split: &Split,
    golds: &[String],
    candidates: &Candidates,
    features: &OutputFeatures,
) -> Result<Option<Truth>, Error> {
    let labels = |queries: &[usize]| -> Option<Vec<&str>> {
        let label = |&query: &usize| candidates.find(&golds[query]).map(|c| candidates.label(c));
        queries.iter().map(label).collect()
    };
    let Some(truth) = &split.truth else {
        let Some(labels) = labels(&(0..golds.len()).collect::<Vec<_>>()) else { return Ok(None) };
        return Ok(features.truth_of_labels(labels)?);
    };
    let mut truth = truth.clone();
    let others: Vec<usize> = (0..golds.len()).filter(|&q| golds[q] != split.ids[q]).collect();
    if !others.is_empty()
        && let Some(labels) = labels(&others)
        && let Some(counted) = features.truth_of_labels(labels)?
    {
        truth.replace(&others, counted)?;
    }
    Ok(Some(truth))
}

/// Returns the labels that are right for each query: its classes, or the labels of all its right sets. None of other outputs.
///
/// `counted` are the outputs that [`truth_of`] gives. Of the further right outputs those that are candidates are known.
pub(super) fn right_labels(
    split: &Split,
    counted: &Truth,
    ensemble: &Ensemble,
    features: &OutputFeatures,
) -> Result<Option<Vec<BTreeSet<String>>>, Error> {
    let Some(mut right) = labels_of(counted) else { return Ok(None) };
    if split.further.is_empty() {
        return Ok(Some(right));
    }
    // the first right output need not be a candidate, and another one may have been counted
    let firsts = split.truth.as_ref().and_then(labels_of).unwrap_or_default();
    for (all, first) in right.iter_mut().zip(firsts) {
        all.extend(first);
    }
    let golds = split.golds();
    let all = ensemble.candidates();
    let processes = ensemble.processes();
    let places = all.find(processes, &golds.concat())?;
    let some = all.some(processes, places.iter().flatten().map(|place| place.candidate))?;
    let mut queries = Vec::new();
    let mut labels = Vec::new();
    let repeated = golds.iter().enumerate();
    let repeated = repeated.flat_map(|(query, golds)| std::iter::repeat_n(query, golds.len()));
    for (query, place) in repeated.zip(&places) {
        let Some(place) = place else { continue };
        queries.push(query);
        labels.push(some.candidates.label(some.place(place.candidate)?));
    }
    let further = features.truth_of_labels(labels)?.as_ref().and_then(labels_of);
    for (query, labels) in queries.into_iter().zip(further.unwrap_or_default()) {
        right[query].extend(labels);
    }
    Ok(Some(right))
}

/// Returns the labels of each set, or each class as a set of its own; none of other outputs.
fn labels_of(truth: &Truth) -> Option<Vec<BTreeSet<String>>> {
    match truth {
        Truth::Labels(sets) => Some(sets.iter().map(|set| set.iter().cloned().collect()).collect()),
        Truth::Classes(classes) => {
            Some(classes.iter().map(|class| BTreeSet::from([class.clone()])).collect())
        }
        Truth::Molecules(_) | Truth::Graphs(_) | Truth::Rankings(_) | Truth::Numbers(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(all: &[f64]) -> Truth {
        Truth::Numbers(all.iter().map(|&number| vec![number]).collect())
    }

    #[test]
    fn whole_numbers_far_above_predicted_ones_may_be_decimals() {
        let predicted = numbers(&[1.25, 4.5, 2.0]);
        assert!(are_read_as_thousands(&numbers(&[1250.0, 4500.0, 2001.0]), &predicted));
        for other in [[1250.5, 4500.5, 2001.5], [1.25, 4.5, 2001.0], [250.0, 450.0, 201.0]] {
            assert!(!are_read_as_thousands(&numbers(&other), &predicted), "{other:?}");
        }
        let prices = numbers(&[12_500.0, 9000.0, 20_000.0]);
        assert!(!are_read_as_thousands(&prices, &numbers(&[11_000.0, 9500.0, 18_000.0])));
        assert!(!are_read_as_thousands(&Truth::Classes(Vec::new()), &predicted));
    }
}
