//! The Hamming kernel on one-hot rows, `k(a, b) = ⟨a, b⟩ / (‖a‖ ‖b‖)`.
//!
//! Rows hold zeros and ones. With K positions and one column set for each, as
//! [`hamming_one_hot`](crate::features::hamming_one_hot) makes them, `‖a‖² = K` and k is the share of
//! the positions in which a and b agree; `1 − k` is the normalised Hamming distance. Rows with
//! different numbers of ones have their cosine.

use super::cosine;
use crate::Error;
use crate::features::{Block, RowKind};

pub(super) const ROWS: (&[RowKind], &str) = (&[RowKind::Bits, RowKind::Sparse], "bit or sparse");

pub(super) fn evaluate(ab: f64, aa: f64, bb: f64) -> f64 {
    cosine::evaluate(ab, aa, bb)
}

/// Zeros and ones only.
pub(super) fn check(rows: &Block) -> Result<(), Error> {
    super::check_values("hamming", rows, "0, 1", |value| value == 0.0 || value == 1.0)
}
