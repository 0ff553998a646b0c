use crate::Error;
use crate::features::{RowKind, simd};

/// What a built-in kernel is, beside its name: a function of three products, and what it is defined on.
pub(super) trait Formula: Send + Sync {
    /// The kinds of rows that it is defined on; the default is every kind.
    fn rows(&self) -> &'static [RowKind] {
        &[RowKind::Dense, RowKind::Bits, RowKind::Sparse]
    }

    /// `f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`.
    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64;

    /// As [`OutputKernel::is_normalised`](super::OutputKernel::is_normalised); most kernels are.
    fn is_normalised(&self) -> bool {
        true
    }

    /// As [`OutputKernel::feature_scale`](super::OutputKernel::feature_scale).
    fn feature_scale(&self, _squared_norm: f64) -> Option<f64> {
        None
    }

    /// Checks the parameters.
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The values that rows may hold, in words and as a test; none where any finite number is allowed.
    fn values(&self) -> Option<Values> {
        None
    }

    /// The kernel of every row a_i with one row b, in the place of their products.
    fn column(&self, products: &mut [f64], aa: &[f64], bb: f64) {
        for (product, &aa) in products.iter_mut().zip(aa) {
            *product = self.evaluate(*product, aa, bb);
        }
    }
}

/// Values in words, and as a test.
pub(super) type Values = (&'static str, fn(f32) -> bool);

/// Checks a γ.
fn positive_gamma(gamma: f64) -> Result<(), Error> {
    let holds = gamma > 0.0 && gamma.is_finite();
    Error::ensure(holds, "gamma", gamma, "finite numbers above 0")
}

pub(super) struct Linear;

impl Formula for Linear {
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

pub(super) struct Gaussian {
    pub(super) gamma: f64,
}

impl Formula for Gaussian {
    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        // Rounding can bring the distance of equal rows below 0, and the kernel above 1.
        simd::exp_negative(-self.gamma * (aa + bb - 2.0 * ab).max(0.0))
    }

    fn validate(&self) -> Result<(), Error> {
        positive_gamma(self.gamma)
    }

    fn column(&self, products: &mut [f64], aa: &[f64], bb: f64) {
        simd::gaussian(products, self.gamma, aa, bb);
    }
}

pub(super) struct Tanimoto;

impl Formula for Tanimoto {
    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        // 0 of two zero rows only
        let union = aa + bb - ab;
        if union > 0.0 { ab / union } else { 1.0 }
    }
}

pub(super) struct GaussianTanimoto {
    pub(super) gamma: f64,
}

impl Formula for GaussianTanimoto {
    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        let squared_distance = 2.0 - 2.0 * Tanimoto.evaluate(ab, aa, bb);
        (-self.gamma * squared_distance.max(0.0)).exp()
    }

    fn validate(&self) -> Result<(), Error> {
        positive_gamma(self.gamma)
    }
}

/// The cosine of rows, on rows of some kinds and values.
trait CosineOf: Send + Sync {
    /// As [`Formula::rows`].
    const ROWS: &'static [RowKind] = &[RowKind::Dense, RowKind::Bits, RowKind::Sparse];

    /// As [`Formula::values`].
    const VALUES: Option<Values> = None;
}

impl<K: CosineOf> Formula for K {
    fn rows(&self) -> &'static [RowKind] {
        K::ROWS
    }

    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        let norms = (aa * bb).sqrt();
        if norms > 0.0 { ab / norms } else { f64::from(u8::from(aa == bb)) }
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

impl CosineOf for Cosine {}

pub(super) struct NGram;

impl CosineOf for NGram {
    const ROWS: &'static [RowKind] = &[RowKind::Sparse];
    const VALUES: Option<Values> = Some(("0 and more", |value| value >= 0.0));
}

pub(super) struct Kemeny;

impl CosineOf for Kemeny {
    const ROWS: &'static [RowKind] = &[RowKind::Dense, RowKind::Sparse];
    const VALUES: Option<Values> = Some(("-1, 0, 1", |value| value == 0.0 || value.abs() == 1.0));
}

pub(super) struct Hamming;

impl CosineOf for Hamming {
    const ROWS: &'static [RowKind] = &[RowKind::Bits, RowKind::Sparse];
    const VALUES: Option<Values> = Some(("0, 1", |value| value == 0.0 || value == 1.0));
}
