use dsokr_basis::Cancellation;
use dsokr_basis::random::{below, generator};
use rayon::prelude::*;

use crate::error::{check_least, check_queries};
use crate::{Error, Rank};

/// The fewest resamples of which 2.5 % are at least one on either side.
const LEAST: usize = 40;

/// The mean of a value of ranks, and its 95 % confidence interval, `[low, high]`.
///
/// Percentile bootstrap over queries (Efron 1979): n queries are drawn with replacement
/// `resamples` times (1,000 is usual), and the interval reaches from the 2.5th to the 97.5th
/// percentile of the means, interpolated linearly. `None` is rank ∞, of which the value is 0.
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
/// let (mrr, [low, high]) = bootstrap(&ranks, Rank::expected_reciprocal, 1000, 0)?;
/// assert_eq!(mrr, 0.75);
/// assert!(0.68 < low && low < 0.72 && 0.78 < high && high < 0.82);
/// let (hits_at_1, _) = bootstrap(&ranks, |rank| rank.expected_hit(1), 1000, 0)?;
/// assert_eq!(hits_at_1, 0.5);
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
pub fn bootstrap(
    ranks: &[Option<Rank>],
    value: impl Fn(&Rank) -> f64,
    resamples: usize,
    seed: u64,
) -> Result<(f64, [f64; 2]), Error> {
    let values: Vec<[f64; 1]> =
        ranks.iter().map(|rank| [rank.as_ref().map_or(0.0, &value)]).collect();
    let means = resampled_means(&values, resamples, seed)?;
    let mean = values.iter().map(|[value]| value).sum::<f64>() / values.len() as f64;
    Ok((mean, percentile_interval(means.into_iter().flatten().collect())))
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
    check_least(resamples, LEAST, format_args!("{resamples} bootstrap resamples"))?;
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
