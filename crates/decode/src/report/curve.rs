use serde::{Deserialize, Serialize};

use crate::bootstrap::{percentile_interval, resampled};
use crate::{Error, Rank};

/// A point of the curve of hits among the first k.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitsPoint {
    /// k, from 1.
    pub k: usize,
    /// Hits@k, `(1/n) Σ E[rank ≤ k]`.
    pub hits: f64,
    /// Lower end of its 95 % bootstrap interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Hits@k for k = 1, …, `most`, each with a 95 % bootstrap interval over queries.
///
/// The resamples are those of [`bootstrap`](crate::bootstrap), so that the points at 1, 5 and 10
/// agree with it. Missing gold candidates are never hit. Holds resamples × most numbers.
///
/// # Errors
/// [`Error::OutOfRange`] for `most` = 0; [`Error::TooFew`] for no queries and less than 40 resamples.
pub fn hits_curve(
    ranks: &[Option<Rank>],
    most: usize,
    resamples: usize,
    seed: u64,
) -> Result<Vec<HitsPoint>, Error> {
    if most == 0 {
        return Err(Error::out_of_range("a curve to hits@0", "hits@1 and above"));
    }
    let curve = |queries: &mut dyn Iterator<Item = usize>| {
        let mut sums = vec![0.0; most];
        for rank in queries.filter_map(|query| ranks[query]) {
            // Nothing is hit before the first rank that the gold candidate can have.
            let start = usize::try_from(rank.above()).unwrap_or(most).min(most);
            for (k, sum) in (start as u64 + 1..).zip(&mut sums[start..]) {
                *sum += rank.expected_hit(k);
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= ranks.len() as f64);
        sums
    };
    let drawn = resampled(ranks.len(), resamples, seed, curve)?;
    let hits = curve(&mut (0..ranks.len()));
    let point = |(at, hits)| {
        let [low, high] = percentile_interval(drawn.iter().map(|curve| curve[at]).collect());
        HitsPoint { k: at + 1, hits, low, high }
    };
    Ok(hits.into_iter().enumerate().map(point).collect())
}
