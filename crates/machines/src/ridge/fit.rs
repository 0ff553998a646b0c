//! Fitting with every training input as an anchor: IOKR, ISOKR, Kernel Dependency Estimation.

use std::sync::Arc;

use dsokr_basis::RowSource;
use dsokr_basis::kernel::IntoKernel;
use faer::MatRef;

use super::system::{Fitted, RidgeSystem};
use super::training_inputs::TrainingInputs;
use crate::summary::Arithmetic;
use crate::targets::check;
use crate::{Error, Targets};

/// Fits `ĥ(x) = Σ_i α_i(x) ψ(y_i)`, `α(x) = (K + nλI)⁻¹ k^x`, on all training rows.
///
/// With the targets of [`OutputSpace::training`](crate::OutputSpace::training) it is IOKR, with
/// those of a sketched basis ISOKR, with the leading coordinates of a basis of every output Kernel
/// Dependency Estimation (thesis, sections 2.2 and 4.2).
///
/// Memory: half the Gram matrix, n²/2 numbers of the precision, and n × p targets. Time: n²/2
/// evaluations of the kernel in `f64`, n³/3 multiplications for the Cholesky factor and 2n² for
/// each coordinate. The numbers do not depend on the number of threads.
///
/// ```
/// use dsokr_basis::{Features, Kernel, features::{BitRows, DenseRows}};
/// use dsokr_machines::{OutputSpace, Arithmetic, fit};
///
/// let x = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 2.0, 3.0])?);
/// let y = Features::Bits(BitRows::from_indices(2, [vec![0], vec![0], vec![1], vec![1]])?);
/// let (space, targets) = OutputSpace::training(Kernel::Linear, &y)?;
/// let fitted = fit(Kernel::Gaussian { gamma: 0.5 }, &x, &targets, 1e-3, Arithmetic::Double)?;
/// let z = fitted.model.predict(&Features::Dense(DenseRows::new(1, vec![0.5])?))?;
/// assert!(z[0] > 0.9 && z[1] < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Value`] for a λ that is not above 0; [`Error::Length`] unless there is a row of targets
/// for each input; the kernel's checks; [`Error::NotFinite`] for kernel values that overflow;
/// [`Error::Basis`] for a λ too small for the precision.
pub fn fit(
    kernel: impl IntoKernel,
    rows: &dyn RowSource,
    targets: &Targets,
    lambda: f64,
    precision: Arithmetic,
) -> Result<Fitted, Error> {
    check(rows.len(), targets, lambda)?;
    Arc::new(RidgeSystem::new(&TrainingInputs::rows(kernel, rows), lambda, precision)?).fit(targets)
}

/// Fits on the Gram matrix of a precomputed kernel, n × n. The model predicts by
/// [`predict_gram`](crate::RidgeModel::predict_gram).
///
/// # Errors
/// As [`fit`]; [`Error::Basis`] for a matrix of zeros; [`Error::NotSymmetric`] beyond 1e-8 of the
/// largest value; [`Error::NotSemidefinite`] for an eigenvalue below −1e-8 of the trace.
pub fn fit_gram(
    gram: MatRef<f64>,
    targets: &Targets,
    lambda: f64,
    precision: Arithmetic,
) -> Result<Fitted, Error> {
    check(gram.nrows(), targets, lambda)?;
    Arc::new(RidgeSystem::new(&TrainingInputs::Gram(gram), lambda, precision)?).fit(targets)
}
