use super::formula::{ANY, Formula, positive_gamma};
use crate::features::{RowKind, simd};

pub(super) struct Gaussian {
    pub(super) gamma: f64,
}

impl Formula for Gaussian {
    fn rows(&self) -> &'static [RowKind] {
        ANY
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        // Rounding can bring the distance of equal rows below 0, and the kernel above 1.
        simd::exp_negative(-self.gamma * (aa + bb - 2.0 * ab).max(0.0))
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

    fn column(&self, products: &mut [f64], aa: &[f64], bb: f64) {
        simd::gaussian(products, self.gamma, aa, bb);
    }
}
