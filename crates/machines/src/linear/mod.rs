//! Symmetric positive definite systems in blocks, and small ones under `v ≥ 0`.
//!
//! Every task is a product or a solve on one thread whose sums run in an order that the sizes fix,
//! so the numbers do not depend on how many threads there are.

mod cholesky;
mod condition;
mod nonnegative;
mod panels;
mod scalar;
mod solve;

pub(crate) use cholesky::Factor;
pub(crate) use nonnegative::nonnegative;
pub(crate) use panels::{Panels, row_major};
pub(crate) use scalar::Scalar;

/// Rows of a panel.
pub(crate) const PANEL: usize = 256;

/// Right-hand sides that one task solves for.
pub(crate) const SIDES: usize = 128;
