//! The Gaussian–Tanimoto kernel, `k(a, b) = exp(−γ (T(a,a) + T(b,b) − 2 T(a,b)))`, T the Tanimoto
//! kernel: a Gaussian kernel on the distance in its feature space (Brouard et al. 2016).
//!
//! `T(a, a) = 1` unless a is zero, when it is 0: a zero row has distance 1 to the others.

use super::tanimoto;

pub(super) fn evaluate(gamma: f64, ab: f64, aa: f64, bb: f64) -> f64 {
    let own = |squared: f64| if squared > 0.0 { 1.0 } else { 0.0 };
    let squared_distance = own(aa) + own(bb) - 2.0 * tanimoto::evaluate(ab, aa, bb);
    (-gamma * squared_distance.max(0.0)).exp()
}
