//! The n-gram kernel: `k(a, b) = ⟨a, b⟩ / (‖a‖ ‖b‖)` on counts of n-grams, the normalised spectrum
//! kernel of Leslie et al. (2002) summed over the lengths that the featurizer counts.

use super::cosine;
use crate::Error;
use crate::features::{Block, RowKind};

pub(super) const ROWS: (&[RowKind], &str) = (&[RowKind::Sparse], "sparse");

pub(super) fn evaluate(ab: f64, aa: f64, bb: f64) -> f64 {
    cosine::evaluate(ab, aa, bb)
}

/// Counts are not negative.
pub(super) fn check(rows: &Block) -> Result<(), Error> {
    super::check_values("ngram", rows, "0 and more", |value| value >= 0.0)
}
