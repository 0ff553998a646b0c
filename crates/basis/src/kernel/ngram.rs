use super::cosine::Cosine;
use super::formula::{Formula, Values};
use crate::features::RowKind;

pub(super) struct NGram;

impl Formula for NGram {
    fn rows(&self) -> &'static [RowKind] {
        &[RowKind::Sparse]
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        Cosine.evaluate(ab, aa, bb)
    }

    fn is_normalised(&self) -> bool {
        true
    }

    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        Cosine.feature_scale(squared_norm)
    }

    fn values(&self) -> Option<Values> {
        Some(("0 and more", |value| value >= 0.0))
    }
}
