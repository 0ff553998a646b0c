//! 95 % intervals of metrics.

use std::collections::BTreeMap;

use dsokr_decode::{percentile_interval, resampled};

use super::{Metric, Samples};
use crate::{Error, Evaluation};

/// Resamples of the bootstrap in reports.
pub const RESAMPLES: usize = 10_000;

/// 95 % confidence intervals, `[low, high]`, of every metric that is known, by its name.
///
/// Percentile bootstrap over queries: of the values that a metric takes on `resamples` draws of as
/// many queries, with replacement, the interval reaches from the 2.5th to the 97.5th percentile.
/// All metrics are computed on the same draws, which depend on `seed` and the number of queries
/// alone. The macro F1 of a resample leaves out labels that are in none of its sets. An interval that reaches
/// infinity is left out.
///
/// # Errors
/// [`dsokr_decode::Error::TooFew`] for no queries and for less than 40 resamples.
pub fn intervals(
    evaluation: &Evaluation,
    resamples: usize,
    seed: u64,
) -> Result<BTreeMap<String, [f64; 2]>, Error> {
    let known: Vec<(Metric, Samples)> =
        Metric::all().filter_map(|metric| Some((metric, metric.samples(evaluation)?))).collect();
    let drawn = resampled(evaluation.ranks.len(), resamples, seed, |queries| {
        let queries: Vec<usize> = queries.collect();
        known.iter().map(|(_, samples)| samples.value(&queries)).collect::<Vec<f64>>()
    })?;
    let interval = |(at, (metric, _)): (usize, &(Metric, Samples))| {
        let values = drawn.iter().map(|values| values[at]).collect();
        (metric.name().to_owned(), percentile_interval(values))
    };
    let finite = |(_, ends): &(String, [f64; 2])| ends.iter().all(|end| end.is_finite());
    Ok(known.iter().enumerate().map(interval).filter(finite).collect())
}
