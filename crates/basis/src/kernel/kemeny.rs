//! The Kemeny kernel on the pair signs of rankings, `k(a, b) = ⟨a, b⟩ / (‖a‖ ‖b‖)`.
//!
//! Of K items without ties `‖a‖² = K(K−1)/2`, and k is Kendall's τ (Korba et al. 2018); with ties it
//! is τ-b. A ranking that ties everything is a zero row: k = 0.

use super::cosine;
use crate::Error;
use crate::features::{Block, RowKind};

pub(super) const ROWS: (&[RowKind], &str) = (&[RowKind::Dense, RowKind::Sparse], "dense or sparse");

pub(super) fn evaluate(ab: f64, aa: f64, bb: f64) -> f64 {
    cosine::evaluate(ab, aa, bb)
}

/// Pair signs are −1, 0 or 1.
pub(super) fn check(rows: &Block) -> Result<(), Error> {
    super::check_values("kemeny", rows, "-1, 0, 1", |value| value == 0.0 || value.abs() == 1.0)
}
