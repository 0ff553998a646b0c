//! Linear algebra of coordinates: eigenvectors and products in `f64`, and projections in `f32` or `f64`. No result depends
//! on the number of threads.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::{Mul, MulAssign, SubAssign};

use dsokr_core::{Cancellation, Error, Processes};
use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::traits::math_utils::from_f64;
use faer::traits::{ComplexField, RealField};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::features::{Block, RowSource, product, simd};
use crate::kernel::OutputKernel;

/// The most rows of a matrix whose eigenvectors take well below a second.
const QUICK: usize = 512;

/// Parts into which the eigendecomposition of a larger matrix is divided, however many threads there are: its rounding
/// depends on their number.
const PARTS: usize = 16;

/// Columns of a product in one task.
pub(super) const TILE: usize = 128;

/// Rows of a product in one task.
const ROWS: usize = 512;

/// Eigenpairs of a symmetric matrix.
#[derive(derive_more::Debug)]
#[debug("Eigen({} pairs of {} rows)", values.len(), vectors.nrows())]
pub struct Eigen {
    /// Eigenvalues, descending; of [`leading`] those above the cut-off.
    pub values: Vec<f64>,
    /// The eigenvectors, one a column, in the same order.
    pub vectors: Mat<f64>,
}

impl Eigen {
    /// Returns the first `count` pairs, or all where they are fewer.
    pub(super) fn first(mut self, count: usize) -> Self {
        self.values.truncate(count);
        let vectors = self.vectors.as_ref().subcols(0, self.values.len()).to_owned();
        Self { vectors, ..self }
    }

    /// Returns each column of a matrix over the root of its eigenvalue.
    pub fn over_roots(values: &[f64], mut columns: Mat<f64>) -> Mat<f64> {
        for (column, value) in columns.col_iter_mut().zip(values) {
            column.iter_mut().for_each(|element| *element /= value.sqrt());
        }
        columns
    }
}

/// Returns eigenvalues above `tolerance` times the largest one, and their eigenvectors.
///
/// The result does not depend on the number of threads.
///
/// # Errors
/// [`Error::ZeroMatrix`] when the largest eigenvalue is not above 0; [`Error::Numeric`] for a
/// matrix that is not finite, and without convergence.
pub fn leading(mut matrix: Mat<f64>, tolerance: f64) -> Result<Eigen, Error> {
    let size = matrix.nrows();
    for j in 0..size {
        for i in 0..j {
            let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
            matrix[(i, j)] = mean;
            matrix[(j, i)] = mean;
        }
    }
    let elements = matrix.col_iter().flat_map(|column| column.iter());
    if let Some(&value) = elements.into_iter().find(|value| !value.is_finite()) {
        return Err(overflow("", value));
    }
    let eigen = if size <= QUICK {
        symmetric_eigen(matrix.as_ref())?
    } else {
        let name = format!("eigenvectors of {size} unknowns");
        let _stage = Cancellation::current().stage(name, 0);
        let threads = rayon::current_num_threads();
        Cancellation::wait_for(move || {
            // a pool of its own: a process that forks has no threads of the pool that all share, which it would wait for
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|error| {
                Error::Unsupported(format!("no thread could be started: {error}"))
            })?;
            pool.install(|| symmetric_eigen(matrix.as_ref()))
        })??
    };
    let largest = eigen.values.first().copied().unwrap_or(0.0);
    if largest.is_nan() || largest <= 0.0 {
        return Err(Error::ZeroMatrix { what: "the kernel matrix", largest });
    }
    let kept = eigen.values.iter().take_while(|&&value| value > largest * tolerance).count();
    Ok(eigen.first(kept))
}

/// Replaces the lower half of a symmetric matrix by its factor L, `A = L Lᵀ`, on one thread.
///
/// # Errors
/// The row at which it was found not to be positive definite.
pub fn cholesky<T: RealField>(matrix: MatMut<T>) -> Result<(), usize> {
    let scratch = cholesky_in_place_scratch::<T>(matrix.nrows(), Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let regularise = LltRegularization::default();
    let stack = MemStack::new(&mut memory);
    let factored = cholesky_in_place(matrix, regularise, Par::Seq, stack, Default::default());
    factored.map(|_| ()).map_err(|LltError::NonPositivePivot { index }| index)
}

/// Returns `a b`, a tile of columns and [`ROWS`] rows a task.
pub(super) fn multiply_wide(a: MatRef<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    out.par_col_chunks_mut(TILE).enumerate().for_each(|(tile, out)| {
        let b = b.subcols(tile * TILE, out.ncols());
        out.par_row_chunks_mut(ROWS).enumerate().for_each(|(part, out)| {
            let a = a.subrows(part * ROWS, out.nrows());
            matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
        });
    });
    out
}

/// Adds the lower half of `A Aᵀ`, a tile of columns and as many rows a task, of the tiles of columns that `computes`
/// names. Each element is summed in the order of the columns of A.
pub(super) fn add_gram_of_rows(
    out: &mut Mat<f64>,
    a: MatRef<f64>,
    computes: impl Fn(usize) -> bool + Sync,
) {
    let size = a.nrows();
    let tiles = out.par_col_chunks_mut(TILE).enumerate();
    tiles.filter(|(tile, _)| computes(*tile)).for_each(|(tile, out)| {
        let first = tile * TILE;
        let right = a.subrows(first, out.ncols()).transpose();
        let lower = out.subrows_mut(first, size - first);
        lower.par_row_chunks_mut(TILE).enumerate().for_each(|(part, out)| {
            let left = a.subrows(first + part * TILE, out.nrows());
            matmul(out, Accum::Add, left, right, 1.0, Par::Seq);
        });
    });
}

/// Returns `A Aᵀ`, in parallel.
pub(super) fn gram_of_rows(a: MatRef<f64>) -> Mat<f64> {
    let size = a.nrows();
    let mut out = Mat::zeros(size, size);
    add_gram_of_rows(&mut out, a, |_| true);
    for j in 0..size {
        for i in j + 1..size {
            out[(j, i)] = out[(i, j)];
        }
    }
    out
}

/// Returns all eigenvalues, descending, and eigenvectors of a symmetric matrix of finite numbers; its lower half
/// is read.
///
/// A matrix of more than 512 rows is decomposed in 16 parts by as many threads as there are, so that the result does not
/// depend on their number.
///
/// # Errors
/// [`Error::Numeric`] when the decomposition does not converge.
///
/// # Panics
/// If the matrix is not square.
pub fn symmetric_eigen(matrix: MatRef<f64>) -> Result<Eigen, Error> {
    let size = matrix.nrows();
    let mut values = Diag::zeros(size);
    let mut vectors = Mat::zeros(size, size);
    let compute_vectors = ComputeEigenvectors::Yes;
    let parts = if size > QUICK { Par::rayon(PARTS) } else { Par::Seq };
    let scratch = self_adjoint_evd_scratch::<f64>(size, compute_vectors, parts, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let values_out = values.as_mut();
    let vectors_out = Some(vectors.as_mut());
    self_adjoint_evd(matrix, values_out, vectors_out, parts, stack, Default::default()).map_err(
        |_| {
            let what = format!("a {size} x {size} matrix");
            Error::Numeric(format!("the eigendecomposition of {what} did not converge"))
        },
    )?;
    Ok(Eigen {
        values: values.column_vector().iter().rev().copied().collect(),
        vectors: vectors.as_ref().reverse_cols().to_owned(),
    })
}

/// Returns `a b`, on one thread: sums must not depend on the number of threads.
pub fn multiply(a: MatRef<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// The numbers that coordinates are computed in: `f32` or `f64`.
pub(super) trait Number:
    ComplexField + Copy + Default + Mul<Output = Self> + MulAssign + SubAssign
{
    /// Creates the nearest number of this type.
    fn from_f64(value: f64) -> Self {
        from_f64(value)
    }

    /// Creates the same numbers in this type.
    fn numbers(values: &[f32]) -> Cow<'_, [Self]>;

    /// Computes `out += factor · values`.
    fn add_scaled(out: &mut [Self], factor: f32, values: &[f32]);

    /// Returns a scale `s(⟨y,y⟩)` for each row and the rows to multiply by them; the rows come back scaled where the type
    /// cannot hold the scales.
    fn scales_and_rows<'a>(kernel: &dyn OutputKernel, rows: Block<'a>) -> (Vec<Self>, Block<'a>);

    /// Computes `Σ v²` in `f64`, in eight sums so that it vectorises.
    fn squared_length(values: &[Self]) -> f64;

    /// Divides all values.
    fn divide(values: &mut [Self], length: f64);
}

impl Number for f32 {
    fn numbers(values: &[f32]) -> Cow<'_, [Self]> {
        Cow::Borrowed(values)
    }

    fn add_scaled(out: &mut [Self], factor: f32, values: &[f32]) {
        simd::add_scaled(out, factor, values);
    }

    /// Scales the rows themselves, and returns scales of 1, where a scale is so large or so small that sums of unscaled
    /// numbers could overflow or lose digits.
    fn scales_and_rows<'a>(kernel: &dyn OutputKernel, rows: Block<'a>) -> (Vec<Self>, Block<'a>) {
        let (scales, rows) = f64::scales_and_rows(kernel, rows);
        if scales.iter().all(|&scale| scale == 0.0 || (1e-12..=1e12).contains(&scale)) {
            (scales.into_iter().map(|scale| scale as f32).collect(), rows)
        } else {
            (vec![1.0; scales.len()], rows.scaled(&scales))
        }
    }

    fn squared_length(values: &[Self]) -> f64 {
        simd::squared_norm(values)
    }

    fn divide(values: &mut [Self], length: f64) {
        let scale = length.recip() as f32;
        if scale.is_normal() {
            values.iter_mut().for_each(|value| *value *= scale);
        } else {
            values.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
    }
}

impl Number for f64 {
    fn numbers(values: &[f32]) -> Cow<'_, [Self]> {
        Cow::Owned(product::widen(values))
    }

    fn add_scaled(out: &mut [Self], factor: f32, values: &[f32]) {
        simd::add_scaled_f64(out, factor.into(), values);
    }

    fn scales_and_rows<'a>(kernel: &dyn OutputKernel, rows: Block<'a>) -> (Vec<Self>, Block<'a>) {
        let scale = |squared| kernel.feature_scale(squared).unwrap_or(1.0);
        (rows.squared_norms().into_iter().map(scale).collect(), rows)
    }

    fn squared_length(values: &[Self]) -> f64 {
        let (groups, rest) = values.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for group in groups {
            sums.iter_mut().zip(group).for_each(|(sum, value)| *sum += value * value);
        }
        sums.iter().sum::<f64>() + rest.iter().map(|value| value * value).sum::<f64>()
    }

    fn divide(values: &mut [Self], length: f64) {
        values.iter_mut().for_each(|value| *value /= length);
    }
}

/// Computes `out = Y Mᵀ`: the coordinates of rows, n × p row-major. `matrix` is M, p × d row-major, and
/// `transposed` is Mᵀ, which bits and sparse rows are multiplied with.
pub(super) fn project<T: Number>(matrix: &[f32], transposed: &[f32], rows: &Block, out: &mut [T]) {
    let width = rows.width();
    let dimension = matrix.len() / width;
    if let Block::Dense(rows) = rows {
        return turn(matrix, width, &T::numbers(rows.values()), out);
    }
    out.fill(T::default());
    for (row, out) in out.chunks_exact_mut(dimension).enumerate() {
        rows.entries(row, 0..width, |column, value| {
            T::add_scaled(out, value, &transposed[column * dimension..(column + 1) * dimension]);
        });
    }
}

/// Computes `out = X Mᵀ` for rows of `width` numbers, p numbers a row; `matrix` is M, p × width row-major.
pub(super) fn turn<T: Number>(matrix: &[f32], width: usize, rows: &[T], out: &mut [T]) {
    let dimension = matrix.len() / width;
    let len = rows.len() / width;
    let matrix = T::numbers(matrix);
    let out = MatMut::from_column_major_slice_mut(out, dimension, len);
    let matrix = MatRef::from_row_major_slice(&matrix, dimension, width);
    let rows = MatRef::from_column_major_slice(rows, width, len);
    matmul(out, Accum::Replace, matrix, rows, T::from_f64(1.0), Par::Seq);
}

/// Replaces a matrix by its sum over all ranks, as [`Processes::sum`].
///
/// # Errors
/// The errors of [`Processes::sum`].
pub fn sum_over_ranks(processes: &Processes, matrix: &mut Mat<f64>) -> Result<(), Error> {
    if processes.size() == 1 {
        return Ok(());
    }
    let columns = matrix.col_iter().flat_map(|column| column.iter().copied());
    let mut values: Vec<f64> = columns.collect();
    processes.sum(&mut values)?;
    let rows = matrix.nrows();
    *matrix = Mat::from_fn(rows, matrix.ncols(), |i, j| values[j * rows + i]);
    Ok(())
}

/// Refuses values of a kernel of a program's own that are not finite. Those of the built-in kernels are finite, unless
/// products of features overflow, which [`leading`] notices.
pub(super) fn check_finite(kernel: &dyn OutputKernel, values: MatRef<f64>) -> Result<(), Error> {
    if kernel.built_in().is_some() {
        return Ok(());
    }
    let mut elements = values.col_iter().flat_map(|column| column.iter());
    match elements.find(|value| !value.is_finite()) {
        Some(value) => Err(not_finite(kernel, "", value)),
        None => Ok(()),
    }
}

/// Returns the error for coordinates or values of a kernel that are not finite. A kernel of a program's own may give such
/// values itself.
pub(super) fn not_finite(
    kernel: &dyn OutputKernel,
    place: impl Display,
    value: impl Display,
) -> Error {
    if kernel.built_in().is_some() {
        return overflow(place, value);
    }
    Error::Numeric(format!(
        "the kernel {} gives values that are not finite{place}: {value}; correct the kernel, or scale features down whose \
         products overflow",
        kernel.name()
    ))
}

/// Returns the error for features whose products overflow.
fn overflow(place: impl Display, value: impl Display) -> Error {
    Error::Numeric(format!(
        "features so large that their products overflow{place}: {value}; scale them down"
    ))
}
