//! How sure means over queries are: the bootstrap, and Wilson's interval of a share.

use dsokr_core::random::{below, generator};
use dsokr_core::{Cancellation, Error, grouped};
use rayon::prelude::*;

use crate::error::{check_least, check_queries};
use crate::rank::Rank;

/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// The distance from 0 or 1 at which a share is rounded.
const ROUNDING: f64 = 1e-9;

/// The fewest resamples that have at least one in 2.5 % on either side.
const LEAST: usize = 40;

/// Returns the mean of a value of ranks, and its 95 % confidence interval, `[low, high]`.
///
/// Percentile bootstrap over queries (Efron 1979): n queries are drawn with replacement
/// `resamples` times (1,000 is usual), and the interval reaches from the 2.5th to the 97.5th
/// percentile of the means, interpolated linearly. `None` is rank ∞, whose value is 0.
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
/// # Ok::<(), dsokr_core::Error>(())
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

/// Returns the means of several values a query over each resample.
fn resampled_means<const N: usize>(
    values: &[[f64; N]],
    resamples: usize,
    seed: u64,
) -> Result<Vec<[f64; N]>, Error> {
    resampled(values.len(), &[], resamples, seed, |drawn| {
        let mut sums = [0.0; N];
        for query in drawn {
            sums.iter_mut().zip(values[query]).for_each(|(sum, value)| *sum += value);
        }
        sums.map(|sum| sum / values.len() as f64)
    })
}

/// Returns the value of `statistic` for each of `resamples` resamples, in order: it is called with the positions of the
/// queries, drawn with replacement, of one of them.
///
/// `groups` names the group of each query, where queries are not independent of one another: groups are then drawn whole,
/// as many as there are (a cluster bootstrap; Cameron, Gelbach and Miller 2008), so that resamples may differ in their number
/// of queries. The queries are drawn one by one where `groups` is empty, or each query is its own group.
///
/// Resample b draws from the generator of (`seed`, "bootstrap", b), as in [`bootstrap`], so statistics
/// of the same queries are paired.
///
/// # Errors
/// [`Error::TooFew`] for no queries and for less than 40 resamples; [`Error::Shape`] for another number of groups than of
/// queries.
///
/// ```
/// use dsokr_decode::{percentile_interval, resampled};
///
/// let values = [0.0, 1.0, 1.0, 1.0];
/// let means = resampled(values.len(), &[], 1000, 0, |drawn| drawn.map(|at| values[at]).sum::<f64>() / 4.0)?;
/// let [low, high] = percentile_interval(means);
/// assert!(low < 0.75 && 0.75 < high);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn resampled<T: Send>(
    queries: usize,
    groups: &[String],
    resamples: usize,
    seed: u64,
    statistic: impl Fn(&mut dyn Iterator<Item = usize>) -> T + Sync,
) -> Result<Vec<T>, Error> {
    check_queries(queries)?;
    let units = IndependentQueries::new(queries, groups)?;
    check_least(resamples, LEAST, format_args!("{resamples} bootstrap resamples"))?;
    let stage = Cancellation::current().stage("bootstrap resamples", resamples);
    let resample = |resample| {
        stage.advance(1)?;
        let mut random = generator(seed, "bootstrap", resample);
        let count = units.count();
        let mut drawn_units = (0..count).map(|_| below(&mut random, count as u64) as usize);
        Ok(match &units {
            IndependentQueries::Alone(_) => statistic(&mut drawn_units),
            IndependentQueries::Groups(groups) => {
                statistic(&mut drawn_units.flat_map(|group| groups[group].iter().copied()))
            }
        })
    };
    (0..resamples as u64).into_par_iter().map(resample).collect()
}

/// The fewest groups of queries whose metrics have intervals: percentile intervals of two hold the mean in half of all cases.
pub const LEAST_GROUPS: usize = 3;

/// What is independent among queries.
///
/// ```
/// use dsokr_decode::IndependentQueries;
///
/// let groups = ["a", "b", "a"].map(str::to_owned);
/// let units = IndependentQueries::new(3, &groups)?;
/// assert_eq!(units, IndependentQueries::Groups(vec![vec![0, 2], vec![1]]));
/// assert_eq!(IndependentQueries::new(3, &[])?.count(), 3);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndependentQueries {
    /// So many queries, each by itself.
    Alone(usize),
    /// The queries of each group, in the order of the first ones.
    Groups(Vec<Vec<usize>>),
}

impl IndependentQueries {
    /// Finds what is independent among so many queries: the queries of each group, or each query by itself where `groups` is
    /// empty.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of groups than of queries.
    pub fn new(queries: usize, groups: &[String]) -> Result<Self, Error> {
        if groups.is_empty() {
            return Ok(Self::Alone(queries));
        }
        Error::check_length("groups of queries", groups.len(), queries)?;
        Ok(Self::Groups(grouped(groups)))
    }

    /// Returns the number of queries that are alone, or of groups.
    pub fn count(&self) -> usize {
        match self {
            Self::Alone(queries) => *queries,
            Self::Groups(groups) => groups.len(),
        }
    }

    /// Returns whether resamples of the queries give intervals: those of a single group are all equal, and those of two say nearly
    /// nothing, so that groups of several queries have intervals from [`LEAST_GROUPS`] on.
    pub fn have_intervals(&self) -> bool {
        match self {
            Self::Alone(_) => true,
            Self::Groups(groups) => {
                groups.len() >= LEAST_GROUPS || groups.iter().all(|group| group.len() == 1)
            }
        }
    }

    /// Returns the number of groups; none where each query is by itself.
    pub fn group_count(&self) -> Option<usize> {
        match self {
            Self::Alone(_) => None,
            Self::Groups(groups) => {
                groups.iter().any(|group| group.len() > 1).then_some(groups.len())
            }
        }
    }
}

/// Returns the 2.5th and the 97.5th percentile of at least one value, linear between values.
///
/// # Panics
/// For no values.
pub fn percentile_interval(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_unstable_by(f64::total_cmp);
    [quantile(&values, 0.025), quantile(&values, 0.975)]
}

/// Returns the 95 % interval, low and high, of a share of `count` things, at least one (Wilson 1927). It has a length where the
/// share is 0 or 1 too. A share that rounding has moved out of `[0, 1]`, by up to 1e-9, is 0 or 1.
///
/// # Panics
/// For no things, and for a share that is not within `[0, 1]`.
///
/// ```
/// let [low, high] = dsokr_decode::wilson_interval(1.0, 200);
/// assert!((low - 0.981).abs() < 5e-4 && high == 1.0);
/// ```
pub fn wilson_interval(share: f64, count: usize) -> [f64; 2] {
    assert!(count > 0, "the interval of a share of no things");
    assert!((-ROUNDING..=1.0 + ROUNDING).contains(&share), "a share of {share}, not within 0..=1");
    let share = share.clamp(0.0, 1.0);
    let n = count as f64;
    let square = NORMAL * NORMAL / n;
    let middle = (share + square / 2.0) / (1.0 + square);
    let half = NORMAL * ((share * (1.0 - share) + square / 4.0) / n).sqrt() / (1.0 + square);
    // rounding does not move the interval off the share
    [(middle - half).clamp(0.0, share), (middle + half).clamp(share, 1.0)]
}

/// Returns the q-quantile of sorted values, linear between them.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = q * (sorted.len() - 1) as f64;
    let low = sorted[at.floor() as usize];
    let high = sorted[at.ceil() as usize];
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_rounding_moved_is_within_its_range() {
        assert_eq!(wilson_interval(1.0 + f64::EPSILON, 20), wilson_interval(1.0, 20));
        assert_eq!(wilson_interval(-f64::EPSILON, 20), wilson_interval(0.0, 20));
    }

    #[test]
    #[should_panic(expected = "a share of 1.2, not within 0..=1")]
    fn a_share_above_one_has_no_interval() {
        wilson_interval(1.2, 20);
    }

    #[test]
    #[should_panic(expected = "the interval of a share of no things")]
    fn no_things_have_no_interval() {
        wilson_interval(0.5, 0);
    }
}
