use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use crate::Error;

/// Eigenpairs of a symmetric matrix.
pub struct Eigen {
    /// Eigenvalues, descending; of [`leading`] those above the cut-off.
    pub values: Vec<f64>,
    /// One eigenvector a column, in the same order.
    pub vectors: Mat<f64>,
}

/// Eigenvalues above `tolerance` times the largest one, and their eigenvectors.
///
/// On one thread, so that the result does not depend on their number.
///
/// # Errors
/// [`Error::ZeroKernel`] when the largest eigenvalue is not above 0; [`Error::Numeric`] for a
/// matrix that is not finite, and without convergence.
pub fn leading(mut matrix: Mat<f64>, tolerance: f64) -> Result<Eigen, Error> {
    let size = matrix.nrows();
    for j in 0..size {
        for i in 0..j {
            let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
            (matrix[(i, j)], matrix[(j, i)]) = (mean, mean);
        }
    }
    let elements = matrix.col_iter().flat_map(|column| column.iter());
    if let Some(&value) = elements.into_iter().find(|value| !value.is_finite()) {
        return Err(Error::overflow("", value));
    }
    let Eigen { mut values, vectors } = symmetric_eigen(matrix.as_ref())?;
    let largest = values.first().copied().unwrap_or(0.0);
    if largest.is_nan() || largest <= 0.0 {
        return Err(Error::ZeroKernel { largest });
    }
    let kept = values.iter().take_while(|&&value| value > largest * tolerance).count();
    values.truncate(kept);
    Ok(Eigen { values, vectors: vectors.as_ref().subcols(0, kept).to_owned() })
}

/// All eigenvalues, descending, and eigenvectors of a symmetric matrix of finite numbers; its lower half
/// is read.
///
/// On one thread, so that the result does not depend on their number.
///
/// # Errors
/// [`Error::Numeric`] when the decomposition does not converge.
pub fn symmetric_eigen(matrix: MatRef<f64>) -> Result<Eigen, Error> {
    let size = matrix.nrows();
    let (mut values, mut vectors) = (Diag::zeros(size), Mat::zeros(size, size));
    let yes = ComputeEigenvectors::Yes;
    let scratch = self_adjoint_evd_scratch::<f64>(size, yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let (value, vector) = (values.as_mut(), Some(vectors.as_mut()));
    self_adjoint_evd(matrix, value, vector, Par::Seq, stack, Default::default()).map_err(|_| {
        let what = format!("a {size} x {size} matrix");
        Error::Numeric(format!("the eigendecomposition of {what} did not converge"))
    })?;
    Ok(Eigen {
        values: values.column_vector().iter().rev().copied().collect(),
        vectors: vectors.as_ref().reverse_cols().to_owned(),
    })
}

/// `a b`, on one thread: sums must not depend on the number of threads.
pub fn multiply(a: MatRef<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}
