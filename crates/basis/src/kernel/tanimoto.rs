use super::formula::{ANY, Formula};
use crate::features::RowKind;

pub(super) struct Tanimoto;

impl Formula for Tanimoto {
    fn rows(&self) -> &'static [RowKind] {
        ANY
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        // 0 of two zero rows only
        let union = aa + bb - ab;
        if union > 0.0 { ab / union } else { 1.0 }
    }

    fn is_normalised(&self) -> bool {
        true
    }

    fn feature_scale(&self, _: f64) -> Option<f64> {
        None
    }
}
