use super::formula::{ANY, Formula, Values};
use crate::features::RowKind;

/// The cosine of rows, on some rows alone.
pub(super) trait CosineOf: Send + Sync {
    /// As [`Formula::rows`].
    const ROWS: &'static [RowKind];

    /// As [`Formula::values`].
    const VALUES: Option<Values>;
}

impl<K: CosineOf> Formula for K {
    fn rows(&self) -> &'static [RowKind] {
        K::ROWS
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        let norms = (aa * bb).sqrt();
        match norms > 0.0 {
            true => ab / norms,
            false => f64::from(u8::from(aa == bb)),
        }
    }

    fn is_normalised(&self) -> bool {
        true
    }

    /// 1/‖y‖, 0 for a zero row.
    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        Some(if squared_norm > 0.0 { squared_norm.sqrt().recip() } else { 0.0 })
    }

    fn values(&self) -> Option<Values> {
        K::VALUES
    }
}

pub(super) struct Cosine;

impl CosineOf for Cosine {
    const ROWS: &'static [RowKind] = ANY;
    const VALUES: Option<Values> = None;
}
