//! The cosine kernel, `k(a, b) = ⟨a, b⟩ / (‖a‖ ‖b‖)`; 0 when a or b is zero.

pub(super) fn evaluate(ab: f64, aa: f64, bb: f64) -> f64 {
    let norms = (aa * bb).sqrt();
    if norms > 0.0 { ab / norms } else { 0.0 }
}

/// The scale that makes it linear: 1/‖y‖, 0 for a zero row.
pub(super) fn scale(squared_norm: f64) -> f64 {
    if squared_norm > 0.0 { squared_norm.sqrt().recip() } else { 0.0 }
}
