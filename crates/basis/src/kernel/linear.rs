use super::formula::{ANY, Formula};
use crate::features::RowKind;

pub(super) struct Linear;

impl Formula for Linear {
    fn rows(&self) -> &'static [RowKind] {
        ANY
    }

    fn evaluate(&self, ab: f64, _: f64, _: f64) -> f64 {
        ab
    }

    fn is_normalised(&self) -> bool {
        false
    }

    fn feature_scale(&self, _: f64) -> Option<f64> {
        Some(1.0)
    }
}
