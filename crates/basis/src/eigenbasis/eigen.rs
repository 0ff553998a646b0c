use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par};

use crate::Error;

/// The leading eigenpairs of a symmetric matrix.
pub struct Eigen {
    /// Eigenvalues, descending, those above the cut-off.
    pub values: Vec<f64>,
    /// One eigenvector a column, in the same order.
    pub vectors: Mat<f64>,
}

/// Eigenvalues above `tolerance` times the largest one, and their eigenvectors.
///
/// On one thread, so that the result does not depend on their number.
///
/// # Errors
/// [`Error::ZeroKernel`] when the largest eigenvalue is not above 0; [`Error::Overflow`] for a
/// matrix that is not finite; [`Error::Eigen`].
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
        return Err(Error::Overflow { row: None, value });
    }
    let mut values = Diag::zeros(size);
    let mut vectors = Mat::zeros(size, size);
    let scratch = self_adjoint_evd_scratch::<f64>(
        size,
        ComputeEigenvectors::Yes,
        Par::Seq,
        Default::default(),
    );
    self_adjoint_evd(
        matrix.as_ref(),
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| Error::Eigen { size })?;
    let ascending: Vec<f64> = values.column_vector().iter().copied().collect();
    let largest = ascending.last().copied().unwrap_or(0.0);
    if largest.is_nan() || largest <= 0.0 {
        return Err(Error::ZeroKernel { largest });
    }
    let kept = ascending.iter().rev().take_while(|&&value| value > largest * tolerance).count();
    Ok(Eigen {
        values: ascending.into_iter().rev().take(kept).collect(),
        vectors: vectors.subcols(size - kept, kept).reverse_cols().to_owned(),
    })
}
