//! Reports of an evaluation: a row a query, the worst queries, curves and comparisons of ranks.
//!
//! All are numbers. Who calls writes them as tables and draws them.
//!
//! ```
//! use dsokr_decode::{Rank, report};
//!
//! let at = |above| Rank::new(above, 1, 100).ok();
//! let one = [at(0), at(1), at(40)];
//! let two = [at(0), at(3), None];
//! let curve = report::hits_curve(&one, 50, &[], 200, 0)?;
//! assert_eq!((curve[0].k, curve[0].hits), (1, 1.0 / 3.0));
//! assert_eq!(curve[49].hits, 1.0);
//! let bins = report::rank_histogram(&one, 1)?.bins;
//! assert_eq!((bins[0].first, bins[0].last, bins[0].queries), (1, 9, 2.0));
//! let comparison = report::compare(&one, &two, &[], 1000, 0)?;
//! let mrr = &comparison.metrics["mrr"];
//! assert!(mrr.difference > 0.0 && mrr.first_better.is_some_and(|share| share > 0.9));
//! assert_eq!(report::worst(&two, 2), [2, 1]);
//! # Ok::<(), dsokr_core::Error>(())
//! ```

mod rows;

use std::collections::BTreeMap;

use dsokr_core::Error;
use serde::{Deserialize, Serialize};

use crate::error::{check_queries, ensure_allowed};
use crate::intervals::{IndependentQueries, percentile_interval, resampled};
use crate::rank::Rank;
use crate::rank_metrics::{RANK_METRICS, RankMetric, RankSummary};

pub use rows::{QueryRow, ReliabilityBin, query_rows, reliability, worst};

/// The most bins a decade.
const MOST: u32 = 100;

/// A point of the curve of hits among the first k.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitsPoint {
    /// k, from 1.
    pub k: usize,
    /// Hits@k, `(1/n) Σ E[rank ≤ k]`.
    pub hits: f64,
    /// Its 95 % bootstrap interval, low and high; none where the queries [have none](IndependentQueries::have_intervals).
    pub ci95: Option<[f64; 2]>,
}

/// Computes hits@k for k = 1, …, `most`, each with a 95 % bootstrap interval over queries; `groups` are those of
/// [`resampled`].
///
/// Without groups the resamples equal those of [`bootstrap`](crate::bootstrap), so the points at 1, 5 and 10 agree with
/// it. Missing gold candidates are never hit. The computation holds resamples × most numbers.
///
/// # Errors
/// [`Error::OutOfRange`] for `most` = 0; [`Error::TooFew`] for no queries and less than 40 resamples.
pub fn hits_curve(
    ranks: &[Option<Rank>],
    most: usize,
    groups: &[String],
    resamples: usize,
    seed: u64,
) -> Result<Vec<HitsPoint>, Error> {
    ensure_allowed(most > 0, "a curve to hits@0", "hits@1 and above")?;
    let curve = |queries: &mut dyn Iterator<Item = usize>| {
        let mut sums = vec![0.0; most];
        let mut count: usize = 0;
        for query in queries {
            count += 1;
            let Some(rank) = ranks[query] else { continue };
            // Nothing is hit before the first rank that the gold candidate can have.
            let start = usize::try_from(rank.above()).unwrap_or(most).min(most);
            for (k, sum) in (start as u64 + 1..).zip(&mut sums[start..]) {
                *sum += rank.expected_hit(k);
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= count as f64);
        sums
    };
    let have_intervals = IndependentQueries::new(ranks.len(), groups)?.have_intervals();
    let drawn = resampled(ranks.len(), groups, resamples, seed, curve)?;
    let hits = curve(&mut (0..ranks.len()));
    let interval = |at: usize| percentile_interval(drawn.iter().map(|curve| curve[at]).collect());
    let point = |(at, hits): (usize, f64)| {
        let ci95 = have_intervals.then(|| interval(at));
        HitsPoint { k: at + 1, hits, ci95 }
    };
    Ok(hits.into_iter().enumerate().map(point).collect())
}

/// How many queries have their gold candidate at which ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankHistogram {
    /// Bins without gaps, from rank 1 to the bin of the last rank that occurs.
    pub bins: Vec<RankBin>,
    /// Queries whose gold candidate is missing.
    pub missing: usize,
}

/// Ranks `first..=last`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankBin {
    /// First rank.
    pub first: u64,
    /// Last rank.
    pub last: u64,
    /// Expected number of queries: one of a query whose gold candidate is tied counts in parts, for
    /// its rank is as likely each of those that the tie spans.
    pub queries: f64,
}

/// Returns the histogram of ranks with `per_decade` bins between a power of ten and the next.
///
/// Bin i starts at `⌈10^(i / per_decade)⌉`; bins that hold no whole number are left out. 4 gives
/// 1, 2–3, 4–5, 6–9, 10–17, …
///
/// # Errors
/// [`Error::TooFew`] for no queries; [`Error::OutOfRange`] unless `per_decade` is within 1..=100.
pub fn rank_histogram(ranks: &[Option<Rank>], per_decade: u32) -> Result<RankHistogram, Error> {
    check_queries(ranks.len())?;
    let found = format_args!("{per_decade} bins a decade of ranks");
    ensure_allowed((1..=MOST).contains(&per_decade), found, format_args!("1..={MOST}"))?;
    let present = || ranks.iter().flatten();
    let end = present().map(|rank| rank.above() + rank.tied()).max().unwrap_or(0);
    let mut bins: Vec<RankBin> = Vec::new();
    for step in 1.. {
        let reached = bins.last().map_or(0, |bin| bin.last);
        if reached >= end {
            break;
        }
        let last = start(step, per_decade).map_or(u64::MAX, |next| next - 1);
        if last > reached {
            bins.push(RankBin { first: reached + 1, last, queries: 0.0 });
        }
    }
    for rank in present() {
        let from = rank.above() + 1;
        let to = rank.above() + rank.tied();
        let at = bins.partition_point(|bin| bin.last < from);
        for bin in bins[at..].iter_mut().take_while(|bin| bin.first <= to) {
            let shared = bin.last.min(to) - bin.first.max(from) + 1;
            bin.queries += shared as f64 / rank.tied() as f64;
        }
    }
    let missing = ranks.len() - present().count();
    Ok(RankHistogram { bins, missing })
}

/// Computes `⌈10^(step / per_decade)⌉`, exact for whole decades; none beyond the largest integer.
fn start(step: u32, per_decade: u32) -> Option<u64> {
    let decade = 10u64.checked_pow(step / per_decade)?;
    if step.is_multiple_of(per_decade) {
        return Some(decade);
    }
    let part = 10f64.powf(f64::from(step % per_decade) / f64::from(per_decade));
    let start = (part * decade as f64).ceil();
    (start < u64::MAX as f64).then_some(start as u64)
}

/// Two models on the same queries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Number of queries.
    pub queries: usize,
    /// Number of their groups, which are drawn whole; none where each query is by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// How each of [`RANK_METRICS`] differs, by its name, but for medians and those that are infinite where a gold
    /// candidate is missing.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Difference>,
}

/// How a metric of two models differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The metric of the first model.
    pub first: f64,
    /// The value of the second model.
    pub second: f64,
    /// First less second.
    pub difference: f64,
    /// 95 % interval of the difference, low and high; none where the queries
    /// [have none](IndependentQueries::have_intervals).
    pub ci95: Option<[f64; 2]>,
    /// Share of the resamples in which the first is better; those in which both are the same count
    /// one half. None where the queries have no intervals.
    pub first_better: Option<f64>,
}

/// Compares both models on each resample of the queries (paired bootstrap).
///
/// The intervals are percentiles over the resamples of [`resampled`], whose `groups` these are. Both models profit from the
/// easy queries of a resample, so the interval of the difference is narrower than those of the metrics suggest. Ties
/// are averaged; `None` is rank ∞.
///
/// # Errors
/// [`Error::Shape`] unless there are as many ranks of each; [`Error::TooFew`] for no queries and less than 40 resamples.
pub fn compare(
    first: &[Option<Rank>],
    second: &[Option<Rank>],
    groups: &[String],
    resamples: usize,
    seed: u64,
) -> Result<Comparison, Error> {
    Error::check_length("ranks of the second model", second.len(), first.len())?;
    // the means over a resample are compared
    let is_compared =
        |metric: &&RankMetric| metric.missing.is_finite() && metric.summary == RankSummary::Mean;
    let compared: Vec<&RankMetric> = RANK_METRICS.iter().filter(is_compared).collect();
    let less = |(first, second): (&Option<Rank>, &Option<Rank>)| -> Vec<f64> {
        let value = |metric: &&RankMetric| metric.of(first.as_ref()) - metric.of(second.as_ref());
        compared.iter().map(value).collect()
    };
    let differences: Vec<Vec<f64>> = first.iter().zip(second).map(less).collect();
    let units = IndependentQueries::new(first.len(), groups)?;
    let have_intervals = units.have_intervals();
    let drawn = resampled(first.len(), groups, resamples, seed, |queries| {
        let mut sums = vec![0.0; compared.len()];
        let mut count: usize = 0;
        for query in queries {
            count += 1;
            for (sum, difference) in sums.iter_mut().zip(&differences[query]) {
                *sum += difference;
            }
        }
        sums.iter().map(|sum| sum / count as f64).collect::<Vec<f64>>()
    })?;
    let mean = |metric: &RankMetric, ranks: &[Option<Rank>]| {
        metric.summarise(ranks.iter().map(|rank| metric.of(rank.as_ref())).collect())
    };
    let difference = |(at, metric): (usize, &&RankMetric)| {
        let drawn: Vec<f64> = drawn.iter().map(|means| means[at]).collect();
        let is_better =
            |mean: &&f64| if metric.larger_is_better { **mean > 0.0 } else { **mean < 0.0 };
        let better = drawn.iter().filter(is_better).count() as f64;
        let same = drawn.iter().filter(|&&mean| mean == 0.0).count() as f64;
        let first_better = have_intervals.then(|| (better + same / 2.0) / resamples as f64);
        let first = mean(metric, first);
        let second = mean(metric, second);
        let ci95 = have_intervals.then(|| percentile_interval(drawn));
        let difference = first - second;
        (metric.name.to_owned(), Difference { first, second, difference, ci95, first_better })
    };
    let metrics = compared.iter().enumerate().map(difference).collect();
    Ok(Comparison { queries: first.len(), groups: units.group_count(), metrics })
}
