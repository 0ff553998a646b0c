use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use crate::Error;

/// Eigenvalues, descending, and one eigenvector a column, of a symmetric matrix; its lower half is
/// read. On one thread, so that the result does not depend on their number.
pub(crate) fn symmetric_eigen(matrix: Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let size = matrix.nrows();
    let (mut values, mut vectors) = (Diag::zeros(size), Mat::zeros(size, size));
    let yes = ComputeEigenvectors::Yes;
    let scratch = self_adjoint_evd_scratch::<f64>(size, yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    let (value, vector) = (values.as_mut(), Some(vectors.as_mut()));
    self_adjoint_evd(matrix.as_ref(), value, vector, Par::Seq, stack, Default::default())
        .map_err(|_| Error::Eigen { size })?;
    let ascending: Vec<f64> = values.column_vector().iter().copied().collect();
    Ok((ascending.into_iter().rev().collect(), vectors.as_ref().reverse_cols().to_owned()))
}

/// `a b` on one thread.
pub(crate) fn multiply(a: MatRef<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// `Σ a_ij²`.
pub(crate) fn squared_norm(a: &Mat<f64>) -> f64 {
    a.col_iter().map(|column| column.iter().map(|value| value * value).sum::<f64>()).sum()
}
