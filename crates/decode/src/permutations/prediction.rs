//! The weights of predictions.

use dsokr_basis::{Basis, OutputKernel};

use super::pairs::PairWeights;
use super::positions::PositionWeights;
use crate::Error;
use crate::direction::{direction, scale};

/// The weights of a direction in feature space, for rows of permutations, whose scale is `1/‖φ‖` or
/// 1: `⟨weights, φ(σ)⟩ = ⟨z, ψ̃(σ)⟩`.
fn weights(
    kernel: &dyn OutputKernel,
    direction: &[f32],
    squared_norm: usize,
) -> Result<Vec<f32>, Error> {
    let scale = scale(kernel, squared_norm as f64)?;
    Ok(direction.iter().map(|&w| (f64::from(w) * scale) as f32).collect())
}

fn not_a_width(width: usize, expected: &str) -> Error {
    Error::Unsupported(format!(
        "rows of width {width}; rankings of K items have rows of {expected}"
    ))
}

impl PairWeights {
    /// The weights under which `⟨w, φ(σ)⟩ = ⟨z, ψ̃(σ)⟩`, for a basis on pair signs of rankings and a
    /// prediction z of as many numbers as the basis has coordinates.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a basis that holds anchors or is tempered and for rows that are not
    /// K(K−1)/2 wide, [`Error::Basis`] for a z of a different length; else as [`PairWeights::new`].
    pub fn of_prediction(basis: &Basis, z: &[f32]) -> Result<Self, Error> {
        Self::items_of(basis.row_width())?;
        Self::of_direction(basis.kernel(), &direction(basis, z)?.weights)
    }

    /// The number of items in rows of a width.
    fn items_of(width: usize) -> Result<usize, Error> {
        let items = (1 + 8 * width).isqrt().div_ceil(2);
        match items * (items - 1) / 2 == width {
            true => Ok(items),
            false => Err(not_a_width(width, "K(K-1)/2 pair signs")),
        }
    }

    /// The weights of a direction in feature space.
    pub(crate) fn of_direction(
        kernel: &dyn OutputKernel,
        direction: &[f32],
    ) -> Result<Self, Error> {
        let items = Self::items_of(direction.len())?;
        Self::new(items, &weights(kernel, direction, direction.len())?)
    }
}

impl PositionWeights {
    /// The weights under which `⟨w, φ(σ)⟩ = ⟨z, ψ̃(σ)⟩`, for a basis on one-hot rows of rankings and
    /// a prediction z of as many numbers as the basis has coordinates.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a basis that holds anchors or is tempered and for rows that are not
    /// K² wide, [`Error::Basis`] for a z of a different length; else as [`PositionWeights::new`].
    pub fn of_prediction(basis: &Basis, z: &[f32]) -> Result<Self, Error> {
        Self::items_of(basis.row_width())?;
        Self::of_direction(basis.kernel(), &direction(basis, z)?.weights)
    }

    /// The number of items in rows of a width.
    fn items_of(width: usize) -> Result<usize, Error> {
        let items = width.isqrt();
        match items * items == width {
            true => Ok(items),
            false => Err(not_a_width(width, "K*K bits")),
        }
    }

    /// The weights of a direction in feature space.
    pub(crate) fn of_direction(
        kernel: &dyn OutputKernel,
        direction: &[f32],
    ) -> Result<Self, Error> {
        let items = Self::items_of(direction.len())?;
        Self::new(items, &weights(kernel, direction, items)?)
    }
}
