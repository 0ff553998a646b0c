/// Returns b(c), the constant that decoding adds to the score of a candidate c, from `squared_norm`, which is k(c, c):
/// `−½ k(c, c)`, shifted by ½ under a normalised kernel, where it then vanishes.
///
/// ```
/// use dsokr_basis::kernel::{candidate_constant, squared_norm_of_constant};
///
/// assert_eq!(candidate_constant(3.0, false), -1.5);
/// assert_eq!(candidate_constant(1.0, true), 0.0);
/// assert_eq!(squared_norm_of_constant(-1.5, false), 3.0);
/// ```
pub fn candidate_constant(squared_norm: f64, is_normalised: bool) -> f64 {
    let shift = if is_normalised { 0.5 } else { 0.0 };
    shift - 0.5 * squared_norm
}

/// Returns k(c, c) of a candidate from its [constant](candidate_constant).
pub fn squared_norm_of_constant(constant: f64, is_normalised: bool) -> f64 {
    let shift = if is_normalised { 1.0 } else { 0.0 };
    shift - 2.0 * constant
}
