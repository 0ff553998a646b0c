//! The Gaussian kernel, `k(a, b) = exp(−γ ‖a − b‖²)`, `‖a − b‖² = ⟨a,a⟩ + ⟨b,b⟩ − 2⟨a,b⟩`.

use crate::features::simd;

pub(super) fn evaluate(gamma: f64, ab: f64, aa: f64, bb: f64) -> f64 {
    // Rounding can bring the distance of equal rows below 0, and the kernel above 1.
    simd::exp_negative(-gamma * (aa + bb - 2.0 * ab).max(0.0))
}
