//! The Tanimoto kernel, `k(a, b) = ⟨a, b⟩ / (‖a‖² + ‖b‖² − ⟨a, b⟩)` (Ralaivola et al. 2005).
//!
//! On bits it is the share of common ones among all ones, and induces the F1-loss of label sets.
//! It is positive semi-definite on any real rows, signed ones too: with `u = ⟨a,b⟩` and
//! `v = ‖a‖² + ‖b‖² ≥ 2|u|` it is `Σ_{t≥1} uᵗ / vᵗ`, `1/v = ∫ exp(−τ‖a‖²) exp(−τ‖b‖²) dτ` is
//! positive semi-definite, and so are products and sums. On signed rows it lies in [−1/3, 1].
//! A zero row has k = 0 with every row, itself included.

pub(super) fn evaluate(ab: f64, aa: f64, bb: f64) -> f64 {
    let union = aa + bb - ab;
    if union > 0.0 { ab / union } else { 0.0 }
}
