use super::formula::{ANY, Formula};
use crate::features::RowKind;

pub(super) struct Cosine;

impl Formula for Cosine {
    fn rows(&self) -> &'static [RowKind] {
        ANY
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        let norms = (aa * bb).sqrt();
        if norms > 0.0 { ab / norms } else { 0.0 }
    }

    fn is_normalised(&self) -> bool {
        true
    }

    /// 1/‖y‖, 0 for a zero row.
    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        Some(if squared_norm > 0.0 { squared_norm.sqrt().recip() } else { 0.0 })
    }
}
