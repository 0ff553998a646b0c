//! The Hamming kernel on one-hot rows, `k(a, b) = ⟨a, b⟩ / (‖a‖ ‖b‖)`.
//!
//! With K positions, one of them set in each group of columns, `‖a‖² = K` and k is the share of the
//! positions in which a and b agree; `1 − k` is the normalised Hamming distance.

use super::cosine;
use crate::Error;
use crate::features::{Block, RowKind};

pub(super) const ROWS: (&[RowKind], &str) = (&[RowKind::Bits, RowKind::Sparse], "bit or sparse");

pub(super) fn evaluate(ab: f64, aa: f64, bb: f64) -> f64 {
    cosine::evaluate(ab, aa, bb)
}

/// Ones only, and as many in every row.
pub(super) fn check(rows: &Block) -> Result<(), Error> {
    super::check_values("hamming", rows, "0, 1", |value| value == 0.0 || value == 1.0)?;
    let ones = rows.squared_norms();
    match ones.iter().position(|&count| count != ones[0]) {
        Some(row) => {
            Err(Error::RowLength { row, found: ones[row] as usize, expected: ones[0] as usize })
        }
        None => Ok(()),
    }
}
