//! Scores that are sums over items and their ranks: the linear sum assignment problem.

use super::assignment;
use super::ranking::{MAX_ITEMS, Ranking, check_items, check_order, rounded};
use crate::Error;
use crate::error::check_len;

/// Weights of the ranks of K items: `score(σ) = Σ_i w_{i, rank of i}`.
///
/// ```
/// use dsokr_decode::permutations::PositionWeights;
///
/// // both items would rather be first, item 1 more so
/// let ranking = PositionWeights::new(2, &[1.0, 0.0, 2.0, 0.5])?.best();
/// assert_eq!((&ranking.order[..], ranking.score), (&[1, 0][..], 2.0));
/// # Ok::<(), dsokr_decode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PositionWeights {
    items: usize,
    /// K × K row-major: of rank r and item i at r · K + i, in units.
    weights: Vec<i64>,
    unit: f64,
}

impl PositionWeights {
    /// Weight of item i having rank r at `i · K + r`, as
    /// [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot) orders its columns.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for less than 1 or more than [`MAX_ITEMS`] items, [`Error::Length`] for a
    /// different number of weights, [`Error::NotFinite`] for a NaN or an infinity among them.
    pub fn new(items: usize, weights: &[f32]) -> Result<Self, Error> {
        check_items(items, MAX_ITEMS)?;
        check_len("position weights", weights.len(), items * items)?;
        let (whole, unit) = rounded(weights)?;
        let of = |at: usize| whole[at % items * items + at / items];
        Ok(Self { items, weights: (0..whole.len()).map(of).collect(), unit })
    }

    /// K.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The score of an order, first to last.
    ///
    /// # Errors
    /// [`Error::Length`] for a different number of items; [`Error::Inconsistent`] for an item that is
    /// unknown or ranked twice.
    pub fn score(&self, order: &[u32]) -> Result<f64, Error> {
        check_order(self.items, order)?;
        Ok(self.total(order) as f64 * self.unit)
    }

    /// The best of all orders, the lexicographically first of those that tie: by the Hungarian
    /// method, K³ steps.
    pub fn best(&self) -> Ranking {
        let order = assignment::first_best(self.items, &self.weights);
        let score = self.total(&order) as f64 * self.unit;
        Ranking { order, score }
    }

    fn weight(&self, rank: usize, item: u32) -> i64 {
        self.weights[rank * self.items + item as usize]
    }

    fn total(&self, order: &[u32]) -> i64 {
        order.iter().enumerate().map(|(rank, &item)| self.weight(rank, item)).sum()
    }
}
