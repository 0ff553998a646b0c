use dsokr_basis::Cancellation;
use dsokr_basis::random::{below, generator};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::check_queries;
use crate::{Error, Rank};

/// The fewest resamples of which 2.5 % are at least one on either side.
const LEAST: usize = 40;

/// The 95 % confidence interval, `[low, high]`, of the mean reciprocal rank.
///
/// Percentile bootstrap over queries (Efron 1979): n queries are drawn with replacement
/// `resamples` times (1,000 is usual), and the interval reaches from the 2.5th to the 97.5th
/// percentile of the means, interpolated linearly. Ties are averaged; `None` is rank ∞.
///
/// Resample b draws from the generator of (`seed`, "bootstrap", b), so the result does not depend
/// on the number of threads.
///
/// # Errors
/// [`Error::TooFew`] for no queries and for less than 40 resamples.
///
/// ```
/// use dsokr_decode::{Rank, bootstrap};
///
/// let ranks: Vec<_> = (0..100).map(|q| Rank::new(q % 2, 1, 10).ok()).collect(); // mrr 0.75
/// let [low, high] = bootstrap(&ranks, 1000, 0)?;
/// assert!(0.68 < low && low < 0.72 && 0.78 < high && high < 0.82);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
pub fn bootstrap(ranks: &[Option<Rank>], resamples: usize, seed: u64) -> Result<[f64; 2], Error> {
    let value = |rank: &Option<Rank>| [rank.map_or(0.0, |rank| rank.expected_reciprocal())];
    interval(&ranks.iter().map(value).collect::<Vec<_>>(), resamples, seed)
}

/// hits@K for any K: what protocols ask for that look at other depths than
/// [`Metrics`](crate::Metrics), MassSpecGym's at 1, 5 and 20.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitsAt {
    /// K.
    pub k: u64,
    /// `(1/n) Σ E[rank ≤ K]` over n queries; `None` counts as rank ∞.
    pub mean: f64,
    /// 95 % confidence interval of the mean, low and high, as [`bootstrap`] gives it.
    pub ci95: [f64; 2],
}

impl HitsAt {
    /// The share of queries whose gold candidate is among the first `k`, ties averaged, with its interval
    /// from `resamples` draws of as many queries.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for `k` = 0; else as [`bootstrap`].
    ///
    /// ```
    /// use dsokr_decode::{HitsAt, Rank};
    ///
    /// let ranks: Vec<_> = (0..40).map(|q| Rank::new(q, 1, 256).ok()).collect(); // 1, 2, …, 40
    /// let hits = HitsAt::of(&ranks, 20, 1000, 0)?;
    /// assert_eq!(hits.mean, 0.5);
    /// assert!(hits.ci95[0] > 0.3 && hits.ci95[1] < 0.7);
    /// # Ok::<(), dsokr_decode::Error>(())
    /// ```
    pub fn of(ranks: &[Option<Rank>], k: u64, resamples: usize, seed: u64) -> Result<Self, Error> {
        if k == 0 {
            return Err(Error::out_of_range("hits@0", "hits@1 and above"));
        }
        let values: Vec<[f64; 1]> =
            ranks.iter().map(|rank| [rank.map_or(0.0, |rank| rank.expected_hit(k))]).collect();
        let ci95 = interval(&values, resamples, seed)?;
        let mean = values.iter().map(|[value]| value).sum::<f64>() / values.len() as f64;
        Ok(Self { k, mean, ci95 })
    }
}

/// The interval of the mean of a value a query.
fn interval(values: &[[f64; 1]], resamples: usize, seed: u64) -> Result<[f64; 2], Error> {
    let means = resampled_means(values, resamples, seed)?;
    Ok(percentile_interval(means.into_iter().flatten().collect()))
}

/// Means of several values a query over each resample.
pub(crate) fn resampled_means<const N: usize>(
    values: &[[f64; N]],
    resamples: usize,
    seed: u64,
) -> Result<Vec<[f64; N]>, Error> {
    resampled(values.len(), resamples, seed, |drawn| {
        let mut sums = [0.0; N];
        for query in drawn {
            sums.iter_mut().zip(values[query]).for_each(|(sum, value)| *sum += value);
        }
        sums.map(|sum| sum / values.len() as f64)
    })
}

/// The value of `of` for each of `resamples` resamples, in order: it is called with the `queries`
/// positions, drawn with replacement, of one of them.
///
/// Resample b draws from the generator of (`seed`, "bootstrap", b), as in [`bootstrap`], so statistics
/// of the same queries are paired.
///
/// # Errors
/// [`Error::TooFew`] for no queries and for less than 40 resamples.
///
/// ```
/// use dsokr_decode::{percentile_interval, resampled};
///
/// let values = [0.0, 1.0, 1.0, 1.0];
/// let means = resampled(values.len(), 1000, 0, |drawn| drawn.map(|at| values[at]).sum::<f64>() / 4.0)?;
/// let [low, high] = percentile_interval(means);
/// assert!(low < 0.75 && 0.75 < high);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
pub fn resampled<T: Send>(
    queries: usize,
    resamples: usize,
    seed: u64,
    of: impl Fn(&mut dyn Iterator<Item = usize>) -> T + Sync,
) -> Result<Vec<T>, Error> {
    check_queries(queries)?;
    if resamples < LEAST {
        return Err(Error::too_few(format!("{resamples} bootstrap resamples"), LEAST));
    }
    let cancellation = Cancellation::current();
    let resample = |resample| {
        cancellation.check()?;
        let mut random = generator(seed, "bootstrap", resample);
        Ok(of(&mut (0..queries).map(|_| below(&mut random, queries as u64) as usize)))
    };
    (0..resamples as u64).into_par_iter().map(resample).collect()
}

/// From the 2.5th to the 97.5th percentile of at least one value, linear between values.
///
/// # Panics
/// For no values.
pub fn percentile_interval(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_unstable_by(f64::total_cmp);
    [quantile(&values, 0.025), quantile(&values, 0.975)]
}

/// The q-quantile of sorted values, linear between them.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}
