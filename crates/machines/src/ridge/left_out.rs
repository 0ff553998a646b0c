//! What a fit leaves of rows that it has seen, without them: systems of as many unknowns as rows are left out together.

use dsokr_basis::RowSource;
use dsokr_basis::eigenbasis::{cholesky, multiply};
use dsokr_basis::features::Selected;
use dsokr_core::{Cancellation, Error};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatMut, MatRef, Par};

use crate::row_groups::{places_of, runs_of_groups};
use crate::targets::Targets;

/// The rows of whole groups, one group behind the other, each of which is left out together.
#[derive(Clone, Copy)]
pub(super) struct GroupRun<'a> {
    /// The numbers of the rows among all of the fit.
    pub numbers: &'a [usize],
    /// The inputs.
    pub rows: &'a dyn RowSource,
    /// The targets.
    pub targets: &'a Targets,
    /// The groups, as places among these rows.
    pub groups: &'a [Vec<usize>],
}

/// Replaces predictions for the rows of groups by predictions of models without the group. Predictions and groups are of a
/// part of the rows that begins at row `first`. `predict` returns the predictions for a run of groups, row-major; a run has
/// at most `most` rows, or is a single group.
pub(super) fn replace_by_group(
    predictions: &mut [f32],
    rows: &dyn RowSource,
    targets: &Targets,
    first: usize,
    groups: &[Vec<usize>],
    most: usize,
    predict: impl Fn(GroupRun<'_>) -> Result<Vec<f32>, Error>,
) -> Result<(), Error> {
    let width = targets.width();
    for run in runs_of_groups(groups, most) {
        Cancellation::current().check()?;
        let places: Vec<usize> = run.iter().flatten().copied().collect();
        let numbers: Vec<usize> = places.iter().map(|place| first + place).collect();
        let group_predictions = predict(GroupRun {
            numbers: &numbers,
            rows: &Selected::new(rows, &numbers),
            targets: &targets.select(&numbers)?,
            groups: &places_of(run),
        })?;
        for (place, values) in places.iter().zip(group_predictions.chunks_exact(width)) {
            predictions[place * width..][..width].copy_from_slice(values);
        }
    }
    Ok(())
}

/// Replaces B by `A⁻¹ B` for a positive definite matrix A. Returns false where A is not positive definite, or
/// has a squared pivot below `least`.
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
