//! What a fit leaves of rows that it has seen, without them: systems of as many unknowns as rows are left out together.

use dsokr_basis::eigenbasis::{cholesky, multiply};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatMut, MatRef, Par};

/// Replaces B by `A⁻¹ B` for a positive definite matrix A. Returns false where A is none, or has a squared pivot below
/// `least`.
#[must_use]
pub(super) fn solve_positive(mut matrix: Mat<f64>, mut sides: MatMut<f64>, least: f64) -> bool {
    if cholesky(matrix.as_mut()).is_err() {
        return false;
    }
    let is_lost = |pivot: f64| pivot.is_nan() || pivot * pivot < least;
    if (0..matrix.nrows()).any(|at| is_lost(matrix[(at, at)])) {
        return false;
    }
    let lower = matrix.as_ref();
    solve_lower_triangular_in_place(lower, sides.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(lower.transpose(), sides, Par::Seq);
    true
}

/// Replaces the residuals R of a fit that has seen these rows by the residuals of a fit without them, `(I − V Vᵀ)⁻¹ R`,
/// where `V Vᵀ` is their block of the hat matrix. There are as many unknowns as V has rows or columns, whichever are
/// fewer: `(I − V Vᵀ)⁻¹ = I + V (I − Vᵀ V)⁻¹ Vᵀ`. Returns false where the other rows say nothing about one of them.
#[must_use]
pub(super) fn leave_out(vectors: MatRef<f64>, mut residuals: MatMut<f64>, least: f64) -> bool {
    if vectors.nrows() <= vectors.ncols() {
        return solve_positive(rest(vectors), residuals, least);
    }
    let mut inner = multiply(vectors.transpose(), residuals.as_ref());
    if !solve_positive(rest(vectors.transpose()), inner.as_mut(), least) {
        return false;
    }
    residuals += multiply(vectors, inner.as_ref());
    true
}

/// Computes `I − V Vᵀ`.
fn rest(vectors: MatRef<f64>) -> Mat<f64> {
    let mut rest = multiply(vectors, vectors.transpose());
    for (j, column) in rest.col_iter_mut().enumerate() {
        for (i, value) in column.iter_mut().enumerate() {
            *value = if i == j { 1.0 - *value } else { -*value };
        }
    }
    rest
}
