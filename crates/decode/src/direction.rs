//! Predictions as directions in feature space, which is what is searched without candidates.

use dsokr_basis::{Basis, OutputKernel};

use crate::Error;

/// The direction of a prediction in the coordinates of a basis.
pub(crate) fn direction(basis: &Basis, z: &[f32]) -> Result<Vec<f32>, Error> {
    basis.feature_direction(z)?.ok_or_else(|| {
        Error::Unsupported(format!(
            "the basis of the kernel {:?} holds anchors or is tempered; without candidates only \
             kernels that are linear in features are decoded",
            basis.kernel().name()
        ))
    })
}

/// The scale of rows of a squared norm, under a kernel that is linear in scaled features.
pub(crate) fn scale(kernel: &dyn OutputKernel, squared_norm: f64) -> Result<f64, Error> {
    kernel.feature_scale(squared_norm).ok_or_else(|| {
        Error::Unsupported(format!(
            "the kernel {:?} is not linear in features; without candidates only such kernels are \
             decoded",
            kernel.name()
        ))
    })
}
