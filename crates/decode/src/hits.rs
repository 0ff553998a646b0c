use serde::{Deserialize, Serialize};

use crate::bootstrap::intervals;
use crate::{Error, Rank};

/// hits@K for any K: what protocols ask for that look at other depths than
/// [`Metrics`](crate::Metrics), MassSpecGym's at 1, 5 and 20.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitsAt {
    /// K.
    pub k: u64,
    /// `(1/n) Σ E[rank ≤ K]` over n queries; `None` counts as rank ∞.
    pub mean: f64,
    /// 95 % confidence interval of the mean, low and high, as [`bootstrap`](crate::bootstrap) gives it.
    pub ci95: [f64; 2],
}

impl HitsAt {
    /// The share of queries whose gold candidate is among the first `k`, ties averaged, with its interval
    /// from `resamples` draws of as many queries.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for `k` = 0; else as [`bootstrap`](crate::bootstrap).
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
        let [ci95] = intervals(&values, resamples, seed)?;
        let mean = values.iter().map(|[value]| value).sum::<f64>() / values.len() as f64;
        Ok(Self { k, mean, ci95 })
    }
}
