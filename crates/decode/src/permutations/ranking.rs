use dsokr_basis::OutputKernel;

use crate::Error;
use crate::direction::scale;

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

/// Refuses rows that are not `width` wide, as those of so many items are, and too many items.
pub(super) fn check_items(
    items: usize,
    width: usize,
    found: usize,
    kind: &str,
    most: usize,
) -> Result<(), Error> {
    if width != found {
        return Err(Error::Unsupported(format!(
            "rows of width {found}; rankings of K items have rows of {kind}"
        )));
    }
    match (1..=most).contains(&items) {
        true => Ok(()),
        false => Err(Error::out_of_range(format!("{items} items"), format!("1..={most}"))),
    }
}

/// Bits of the largest weight.
const BITS: i32 = 40;

/// The weights of a direction in feature space, for rows of permutations of this squared norm, under which
/// `⟨w, φ(σ)⟩ = ⟨z, ψ̃(σ)⟩`: as whole multiples of a small unit, so that sums are exact, and that unit.
pub(super) fn whole_weights(
    kernel: &dyn OutputKernel,
    direction: &[f32],
    squared_norm: usize,
) -> Result<(Vec<i64>, f64), Error> {
    let scale = scale(kernel, squared_norm as f64)?;
    let weights: Vec<f32> = direction.iter().map(|&w| (f64::from(w) * scale) as f32).collect();
    if let Some(at) = weights.iter().position(|weight| !weight.is_finite()) {
        return Err(Error::NotFinite { place: format!("weight {at}"), value: weights[at] });
    }
    let largest = weights.iter().fold(0.0f64, |largest, &weight| largest.max(weight.abs().into()));
    // least power of two that is not below the largest weight; of zeros any will do
    let exponent = if largest == 0.0 { 0 } else { largest.log2().ceil() as i32 };
    let scale = 2f64.powi(BITS - exponent);
    let whole = weights.iter().map(|&weight| (f64::from(weight) * scale).round() as i64);
    Ok((whole.collect(), scale.recip()))
}
