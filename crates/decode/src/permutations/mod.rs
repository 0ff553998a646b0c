//! Rankings as outputs, without candidates: the best of all permutations of K items.
//!
//! Under a kernel that is linear in scaled features a prediction z is a direction w in feature space
//! ([`Basis::feature_direction`](dsokr_basis::Basis::feature_direction)), and the pre-image is
//! `argmax_σ ⟨w, φ(σ)⟩`. All permutations have the same norm, so that neither the kernel's scale nor
//! the constant `−½k(σ, σ)` of decoding changes which is best. With
//! [`kemeny_signs`](dsokr_basis::features::kemeny_signs) that is a linear ordering problem
//! ([`PairWeights`]), with [`hamming_one_hot`](dsokr_basis::features::hamming_one_hot) a linear sum
//! assignment problem ([`PositionWeights`]) (Korba, Garcia and d'Alché-Buc 2018).
//!
//! Weights are rounded to multiples of 2⁻⁴⁰ of the power of two above the largest, and then summed
//! exactly: equal scores are equal whatever the order of the sums. `f32` weights within 2⁻¹⁶ of the
//! largest are not rounded at all.

mod assignment;
mod fixed;
mod local;
mod pairs;
mod positions;

use dsokr_basis::{Basis, OutputKernel};

use crate::Error;
use crate::direction::{direction, scale};
use crate::error::check_len;

pub use pairs::PairWeights;
pub use positions::PositionWeights;

/// Most items of a ranking, 2,048: sums of their weights fit 64 bits.
pub const MAX_ITEMS: usize = 2048;

/// A permutation of items and its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The items, first to last.
    pub order: Vec<u32>,
    /// `⟨w, φ(σ)⟩`.
    pub score: f64,
}

impl Ranking {
    /// The rank of every item, from 0: what featurizers take.
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.order.len()];
        (0..).zip(&self.order).for_each(|(rank, &item)| ranks[item as usize] = rank);
        ranks
    }
}

/// Checks the order of `items` items.
fn check_order(items: usize, order: &[u32]) -> Result<(), Error> {
    check_len("ranked items", order.len(), items)?;
    let mut seen = vec![false; items];
    for (position, &item) in order.iter().enumerate() {
        match seen.get_mut(item as usize) {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err(Error::Inconsistent(format!(
                    "position {position}: item {item} of {items}, numbered from 0, is unknown or \
                     ranked already"
                )));
            }
        }
    }
    Ok(())
}

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

/// Checks the number of items to rank.
fn check_items(items: usize, most: usize) -> Result<(), Error> {
    match (1..=most).contains(&items) {
        true => Ok(()),
        false => Err(Error::out_of_range(format!("{items} items"), format!("1..={most}"))),
    }
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
        Self::of_direction(basis.kernel(), &direction(basis, z)?)
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
        Self::of_direction(basis.kernel(), &direction(basis, z)?)
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
