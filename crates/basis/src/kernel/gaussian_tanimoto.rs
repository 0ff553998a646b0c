use super::formula::{ANY, Formula, positive_gamma};
use super::tanimoto::Tanimoto;
use crate::features::RowKind;

pub(super) struct GaussianTanimoto {
    pub(super) gamma: f64,
}

impl Formula for GaussianTanimoto {
    fn rows(&self) -> &'static [RowKind] {
        ANY
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        let squared_distance = 2.0 - 2.0 * Tanimoto.evaluate(ab, aa, bb);
        (-self.gamma * squared_distance.max(0.0)).exp()
    }

    fn is_normalised(&self) -> bool {
        true
    }

    fn feature_scale(&self, _: f64) -> Option<f64> {
        None
    }

    fn validate(&self) -> Result<(), (&'static str, f64, &'static str)> {
        positive_gamma(self.gamma)
    }
}
