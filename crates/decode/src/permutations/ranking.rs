use crate::Error;
use crate::error::check_len;

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
pub(super) fn check_order(items: usize, order: &[u32]) -> Result<(), Error> {
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

/// Checks the number of items to rank.
pub(super) fn check_items(items: usize, most: usize) -> Result<(), Error> {
    match (1..=most).contains(&items) {
        true => Ok(()),
        false => Err(Error::out_of_range(format!("{items} items"), format!("1..={most}"))),
    }
}

/// Bits of the largest weight.
const BITS: i32 = 40;

/// Weights as whole multiples of a small unit, so that sums are exact, and that unit.
pub(super) fn rounded(weights: &[f32]) -> Result<(Vec<i64>, f64), Error> {
    let mut largest = 0.0f64;
    for (at, &value) in weights.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NotFinite { place: format!("weight {at}"), value });
        }
        largest = largest.max(f64::from(value).abs());
    }
    // least power of two that is not below the largest weight; of zeros any will do
    let exponent = if largest == 0.0 { 0 } else { largest.log2().ceil() as i32 };
    let scale = 2f64.powi(BITS - exponent);
    let whole = weights.iter().map(|&weight| (f64::from(weight) * scale).round() as i64);
    Ok((whole.collect(), scale.recip()))
}
