//! The right and the predicted outputs of queries, as what they are.

use dsokr_data::config::OutputFeatures;
use dsokr_data::{Split, Truth};
use dsokr_decode::{Candidates, Decoded, Ensemble, Pool};

use crate::config::Search;
use crate::decoding::decoder::Decoder;
use crate::error::Error;
use crate::metrics::quantiles::medians;

/// The predicted output of each query; none where outputs are not compared, and of quantiles of several models or without
/// the median.
pub(super) fn predicted_outputs(
    decoder: Decoder,
    ensemble: &Ensemble,
    (pool, predictions): (Pool, &[Vec<f32>]),
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

/// The right outputs that count, `golds` by id, as what they are; none where they are not known, or
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
