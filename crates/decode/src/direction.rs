//! Predictions as directions in feature space, which is what is searched without candidates.

use dsokr_basis::{Basis, OutputKernel};

use crate::Error;

/// A prediction in feature space: `⟨h, ψ(y)⟩ = s(y) ⟨w, y⟩` for every row y but the zero row.
pub(crate) struct Direction {
    /// w, a number for each column.
    pub weights: Vec<f32>,
    /// `⟨h, ψ(0)⟩`: 0 unless the kernel is normalised, whose zero row has a feature of its own.
    pub zero: f64,
}

/// The direction of a prediction in the coordinates of a basis.
pub(crate) fn direction(basis: &Basis, z: &[f32]) -> Result<Direction, Error> {
    let weights = basis.feature_direction(z)?.ok_or_else(|| {
        Error::Unsupported(format!(
            "the basis of the kernel {:?} holds anchors or is tempered; without candidates only \
             kernels that are linear in features are decoded",
            basis.kernel().name()
        ))
    })?;
    let terms = z.iter().zip(basis.zero_row().unwrap_or_default());
    let zero = terms.map(|(&z, &zero)| f64::from(z) * f64::from(zero)).sum();
    Ok(Direction { weights, zero })
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
