//! The leading eigenvectors of a matrix by subspace iteration, and orthonormal columns.

use dsokr_core::Error;
use dsokr_core::random::{generator, unit};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::{
    qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Conj, Mat, MatRef, Par};
use rayon::prelude::*;

use super::algebra::{Eigen, TILE, cholesky, leading, multiply, multiply_wide};

/// Vectors of a subspace iteration beyond those that are wanted, at least.
const SPARE: usize = 16;

/// The most steps of a subspace iteration, and what a step must add of the sum of the eigenvalues.
const STEPS: usize = 30;
const GROWTH: f64 = 1e-4;

/// The most that an element of `YᵀY` may differ from the identity's.
const DEPARTURE: f64 = 1e-12;

/// Returns the `count` largest of the eigenvalues above `tolerance` times the largest one, and their eigenvectors.
///
/// Where they are fewer than half of all, subspace iteration finds them on a quarter more vectors. It ends when a step
/// adds less than 10⁻⁴ of their sum. The vectors are orthonormal, and the values are those of the matrix along them.
/// The result does not depend on the number of threads.
///
/// # Errors
/// The errors of [`leading`].
pub(super) fn leading_few(matrix: Mat<f64>, count: usize, tolerance: f64) -> Result<Eigen, Error> {
    let size = matrix.nrows();
    let count = count.min(size);
    let width = count + (count / 4).max(SPARE);
    if 2 * width < size
        && let Some(axes) = subspace(matrix.as_ref(), width)
    {
        let turned = multiply_wide(matrix.as_ref(), axes.as_ref());
        let Eigen { values, vectors } =
            leading(multiply(axes.transpose(), turned.as_ref()), tolerance)?.first(count);
        return Ok(Eigen { values, vectors: multiply(axes.as_ref(), vectors.as_ref()) });
    }
    Ok(leading(matrix, tolerance)?.first(count))
}

/// Returns an orthonormal basis of nearly the space of the `width` leading eigenvectors of a positive semi-definite
/// matrix, a vector a column; none where its rank is smaller.
fn subspace(matrix: MatRef<f64>, width: usize) -> Option<Mat<f64>> {
    let mut random = generator(0, "subspace", 0);
    let start = Mat::from_fn(matrix.nrows(), width, |_, _| unit(&mut random) - 0.5);
    let mut axes = orthonormal(start)?;
    let mut last_sum = 0.0;
    for _ in 0..STEPS {
        let next = multiply_wide(matrix, axes.as_ref());
        let columns = axes.col_iter().zip(next.col_iter());
        let sum: f64 =
            columns.map(|(a, b)| a.iter().zip(b.iter()).map(|(a, b)| a * b).sum::<f64>()).sum();
        axes = orthonormal(next)?;
        // not so for a sum that is not finite, which `leading` reports
        if sum - last_sum <= GROWTH * sum {
            break;
        }
        last_sum = sum;
    }
    Some(axes)
}

/// Returns the columns of a matrix of full rank made orthonormal; none where its rank is smaller.
///
/// By the Cholesky factor, `Y L⁻ᵀ` with `YᵀY = L Lᵀ`, twice, since once leaves an error of the squared condition number
/// (CholeskyQR2). Where that is beyond 10⁸ the columns are not orthonormal then, or there is no factor: they are found
/// by Householder reflections.
fn orthonormal(columns: Mat<f64>) -> Option<Mat<f64>> {
    match cholesky_twice(columns.clone()) {
        Some(orthonormal) if departure(orthonormal.as_ref()) <= DEPARTURE => Some(orthonormal),
        Some(_) | None => reflected(columns),
    }
}

/// Returns what [`orthonormal`] does, by CholeskyQR2; the result may not be orthonormal.
fn cholesky_twice(mut columns: Mat<f64>) -> Option<Mat<f64>> {
    for _ in 0..2 {
        let mut gram = multiply_wide(columns.transpose(), columns.as_ref());
        cholesky(gram.as_mut()).ok()?;
        let mut rows = columns.transpose().to_owned();
        rows.par_col_chunks_mut(TILE).for_each(|rows| {
            solve_lower_triangular_in_place(gram.as_ref(), rows, Par::Seq);
        });
        columns = rows.transpose().to_owned();
    }
    Some(columns)
}

/// Returns what [`orthonormal`] does, by Householder reflections, on one thread.
fn reflected(mut columns: Mat<f64>) -> Option<Mat<f64>> {
    let rows = columns.nrows();
    let width = columns.ncols();
    let block = recommended_block_size::<f64>(rows, width);
    let of_qr = qr_in_place_scratch::<f64>(rows, width, block, Par::Seq, Default::default());
    let of_product =
        apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(rows, block, width);
    let mut memory = MemBuffer::new(of_qr.or(of_product));
    let stack = MemStack::new(&mut memory);
    let mut factors = Mat::zeros(block, width);
    qr_in_place(columns.as_mut(), factors.as_mut(), Par::Seq, stack, Default::default());
    let diagonal = || (0..width).map(|j| columns[(j, j)].abs());
    let largest = diagonal().fold(0.0, f64::max);
    if !diagonal().all(|value| value > rows as f64 * f64::EPSILON * largest) {
        return None;
    }
    let mut orthonormal = Mat::identity(rows, width);
    apply_block_householder_sequence_on_the_left_in_place_with_conj(
        columns.as_ref(),
        factors.as_ref(),
        Conj::No,
        orthonormal.as_mut(),
        Par::Seq,
        stack,
    );
    Some(orthonormal)
}

/// Returns the largest element of `YᵀY − I`; NaN where one is.
fn departure(columns: MatRef<f64>) -> f64 {
    let gram = multiply_wide(columns.transpose(), columns);
    let mut largest = 0.0f64;
    for (j, column) in gram.col_iter().enumerate() {
        for (i, &value) in column.iter().enumerate() {
            let difference = (value - f64::from(u8::from(i == j))).abs();
            if difference.is_nan() {
                return f64::NAN;
            }
            largest = largest.max(difference);
        }
    }
    largest
}
