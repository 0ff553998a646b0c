//! Weights as whole multiples of a small unit, so that sums are exact.

use crate::Error;

/// Bits of the largest weight.
const BITS: i32 = 40;

/// Rounded weights and their unit.
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
