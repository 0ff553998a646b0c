use serde::{Deserialize, Serialize};

use crate::bootstrap::{percentile_interval, resampled_means};
use crate::error::check_len;
use crate::{Error, Rank};

/// Two models on the same queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of queries.
    pub queries: usize,
    /// Mean reciprocal rank.
    pub mrr: Difference,
    /// Hits@1.
    #[serde(rename = "hits@1")]
    pub hits_1: Difference,
    /// Hits@10.
    #[serde(rename = "hits@10")]
    pub hits_10: Difference,
}

/// How a metric of two models differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The metric of the first model.
    pub first: f64,
    /// That of the second.
    pub second: f64,
    /// First less second.
    pub difference: f64,
    /// 95 % interval of the difference, low and high.
    pub ci95: [f64; 2],
    /// Share of the resamples in which the first is better; those in which both are the same count
    /// one half.
    pub first_better: f64,
}

/// Paired bootstrap: resamples of the queries, on each of which both models are compared.
///
/// Percentile intervals over the resamples of [`bootstrap`](crate::bootstrap). Both models profit
/// from the easy queries of a resample, so the interval of the difference is narrower than those of
/// the metrics suggest. Ties are averaged; `None` is rank ∞.
///
/// # Errors
/// [`Error::Length`] unless there are as many ranks of each; [`Error::TooFew`] for no queries and
/// less than 40 resamples.
pub fn compare(
    first: &[Option<Rank>],
    second: &[Option<Rank>],
    resamples: usize,
    seed: u64,
) -> Result<Comparison, Error> {
    check_len("ranks of the second model", second.len(), first.len())?;
    let of = |rank: &Option<Rank>| {
        rank.map_or([0.0; 3], |rank| {
            [rank.expected_reciprocal(), rank.expected_hit(1), rank.expected_hit(10)]
        })
    };
    let less = |(first, second)| {
        let (first, second): ([f64; 3], [f64; 3]) = (of(first), of(second));
        std::array::from_fn(|metric| first[metric] - second[metric])
    };
    let differences: Vec<[f64; 3]> = first.iter().zip(second).map(less).collect();
    let drawn = resampled_means(&differences, resamples, seed)?;
    let mean = |ranks: &[Option<Rank>], metric: usize| {
        // an empty sum of f64 is −0
        (0.0 + ranks.iter().map(|rank| of(rank)[metric]).sum::<f64>()) / ranks.len() as f64
    };
    let [mrr, hits_1, hits_10] = [0, 1, 2].map(|metric| {
        let drawn: Vec<f64> = drawn.iter().map(|means| means[metric]).collect();
        let better = drawn.iter().filter(|&&mean| mean > 0.0).count() as f64;
        let same = drawn.iter().filter(|&&mean| mean == 0.0).count() as f64;
        let first_better = (better + same / 2.0) / resamples as f64;
        let (first, second) = (mean(first, metric), mean(second, metric));
        let ci95 = percentile_interval(drawn);
        Difference { first, second, difference: first - second, ci95, first_better }
    });
    Ok(Comparison { queries: first.len(), mrr, hits_1, hits_10 })
}
