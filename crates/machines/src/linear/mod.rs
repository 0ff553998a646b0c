//! Symmetric positive definite systems in blocks.
//!
//! Every task is a product or a solve on one thread whose sums run in an order that the sizes fix,
//! so the numbers do not depend on how many threads there are.

mod factor;

use dsokr_core::Error;
use faer::linalg::matmul::matmul;
use faer::traits::RealField;
use faer::traits::math_utils::from_f64;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::summary::Arithmetic;

pub(crate) use factor::{Factor, Panels, not_positive, row_major};

/// Features are linearly dependent where eigenvalues of their penalty are up to this share of the largest one.
pub(crate) const DEPENDENT: f64 = 1e-12;

/// Rows of a panel.
pub(crate) const PANEL: usize = 256;

/// Right-hand sides that one task solves for.
pub(crate) const SIDES: usize = 128;

/// Computes `out = a b` or `out += a b`, so many rows of it in a task.
pub(crate) fn product(
    mut out: MatMut<f64>,
    accum: Accum,
    a: MatRef<f64>,
    b: MatRef<f64>,
    rows: usize,
) {
    out.as_mut().par_row_chunks_mut(rows).enumerate().for_each(|(task, out)| {
        let task_rows = a.subrows(task * rows, out.nrows());
        matmul(out, accum, task_rows, b, 1.0, Par::Seq);
    });
}

/// Returns the sum of `parts` matrices of a size, in their order, as many at a time as there are threads.
pub(crate) fn sum_of_parts(
    size: usize,
    parts: usize,
    part: impl Fn(usize) -> Mat<f64> + Sync,
) -> Mat<f64> {
    let mut total = Mat::<f64>::zeros(size, size);
    let parts: Vec<usize> = (0..parts).collect();
    for wave in parts.chunks(rayon::current_num_threads().max(1)) {
        let sums: Vec<Mat<f64>> = wave.par_iter().map(|&at| part(at)).collect();
        sums.into_iter().for_each(|sum| total += sum);
    }
    total
}

/// Refuses a matrix unless all elements are finite; `place` gives the row and column that the message names.
pub(crate) fn check_finite<T: Scalar>(
    what: &'static str,
    matrix: MatRef<T>,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Result<(), Error> {
    for (j, values) in matrix.col_iter().enumerate() {
        if let Some(i) = values.iter().position(|value| !value.wide().is_finite()) {
            let (row, column) = place(i, j);
            let value = values[i].wide();
            return Err(Error::NotFinite { what, row, column, value });
        }
    }
    Ok(())
}

/// `f32` or `f64`.
pub(crate) trait Scalar:
    RealField + Copy + Into<f64> + Send + Sync + std::iter::Sum + 'static
{
    /// The precision of arithmetic with such numbers.
    const PRECISION: Arithmetic;

    /// Creates the nearest number of this type.
    fn from_f64(value: f64) -> Self {
        from_f64(value)
    }

    /// Returns the number in `f64`.
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Scalar for f32 {
    const PRECISION: Arithmetic = Arithmetic::Single;
}

impl Scalar for f64 {
    const PRECISION: Arithmetic = Arithmetic::Double;
}
