//! The rank of a gold candidate, exact under ties. Metrics are functions of it.

use dsokr_core::Error;
use serde::{Deserialize, Serialize};

use crate::error::check_consistent;

/// The rank of the gold candidate of a query among its candidates, ties included.
///
/// With b candidates above the gold one and k tied with it (itself included), the rank in a
/// random order of the ties is uniform on b + 1, …, b + k.
///
/// ```
/// use dsokr_decode::Rank;
///
/// let rank = Rank::new(1, 2, 10)?; // second or third of ten
/// assert_eq!(rank.expected_rank(), 2.5);
/// assert_eq!(rank.expected_reciprocal(), (1.0 / 2.0 + 1.0 / 3.0) / 2.0);
/// assert_eq!(rank.expected_hit(2), 0.5);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct Rank {
    above: u64,
    tied: u64,
    pool: u64,
}

/// Candidates above, tied ones and all of them, as a rank is stored.
impl From<Rank> for (u64, u64, u64) {
    fn from(Rank { above, tied, pool }: Rank) -> Self {
        (above, tied, pool)
    }
}

impl TryFrom<(u64, u64, u64)> for Rank {
    type Error = Error;

    fn try_from((above, tied, pool): (u64, u64, u64)) -> Result<Self, Error> {
        Self::new(above, tied, pool)
    }
}

impl Rank {
    /// Creates the rank of a candidate of `pool`, `above` of which score higher and `tied` the same (itself included).
    ///
    /// # Errors
    /// [`Error::Inconsistent`] unless `1 <= tied` and `above + tied <= pool`.
    pub fn new(above: u64, tied: u64, pool: u64) -> Result<Self, Error> {
        let holds = tied >= 1 && above.checked_add(tied).is_some_and(|reached| reached <= pool);
        let needs = "needs 1 <= tied and above + tied <= pool";
        let message = format_args!("rank with {above} above and {tied} tied of {pool}: {needs}");
        check_consistent(holds, message).map(|()| Self { above, tied, pool })
    }

    /// Creates the rank of a candidate with score `bar` among scores that several candidates share, its own
    /// included.
    pub(crate) fn among(
        scores: impl Iterator<Item = (f64, u32)>,
        bar: f64,
        pool: u64,
    ) -> Result<Self, Error> {
        let mut above = 0;
        let mut tied = 0;
        for (score, count) in scores {
            above += if score > bar { u64::from(count) } else { 0 };
            tied += if score == bar { u64::from(count) } else { 0 };
        }
        Self::new(above, tied, pool)
    }

    /// Returns the rank among fewer candidates: without `above` of the candidates above the gold one and `tied` of
    /// those tied with it, and with `pool` in all.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for more than there are.
    pub fn without(&self, above: u64, tied: u64, pool: u64) -> Result<Self, Error> {
        let left = |all: u64, less: u64| {
            all.checked_sub(less).ok_or_else(|| {
                Error::inconsistent(format_args!("{less} candidates are left out of {all}"))
            })
        };
        Self::new(left(self.above, above)?, left(self.tied, tied)?, left(self.pool, pool)?)
    }

    /// Returns the number of candidates with a higher score than the gold one, b.
    pub fn above(&self) -> u64 {
        self.above
    }

    /// Returns the number of candidates with the score of the gold one, itself included, k ≥ 1.
    pub fn tied(&self) -> u64 {
        self.tied
    }

    /// Returns the number of candidates of the query, duplicates counted.
    pub fn pool(&self) -> u64 {
        self.pool
    }

    /// Computes `E[rank] = b + (k + 1) / 2`.
    pub fn expected_rank(&self) -> f64 {
        self.above as f64 + (self.tied as f64 + 1.0) / 2.0
    }

    /// Computes `E[1/rank] = (1/k) Σ_{i=1..k} 1/(b + i)`.
    ///
    /// The value is exact but for rounding errors. The time does not depend on the number of ties.
    pub fn expected_reciprocal(&self) -> f64 {
        reciprocals(self.above, self.tied) / self.tied as f64
    }

    /// Computes `E[hit@K] = clip((K − b) / k, 0, 1)`, the probability that the rank is at most K.
    pub fn expected_hit(&self, k: u64) -> f64 {
        (k.saturating_sub(self.above) as f64 / self.tied as f64).min(1.0)
    }
}

/// Computes `Σ_{i=1..k} 1/(b + i) = H(b + k) − H(b)`: small terms one by one, the rest by the
/// Euler–Maclaurin expansion of the harmonic numbers, `ln n + γ + 1/2n − 1/12n² + 1/120n⁴`, which is
/// off by less than `1/252n⁶`.
fn reciprocals(b: u64, k: u64) -> f64 {
    const EXPAND_FROM: u64 = 256;
    let end = b + k;
    let start = b.max(EXPAND_FROM).min(end);
    let listed: f64 = (b + 1..=start).rev().map(|rank| 1.0 / rank as f64).sum();
    if start == end {
        return listed;
    }
    let from = start as f64;
    let to = end as f64;
    let tail = |n: f64| (0.5 - (1.0 / 12.0 - 1.0 / (120.0 * n * n)) / n) / n;
    listed + (((to - from) / from).ln_1p() + (tail(to) - tail(from)))
}
