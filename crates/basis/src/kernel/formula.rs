use crate::features::RowKind;

/// What a built-in kernel is, beside its name: a function of three products, and what it is defined on.
///
/// Where a default would be wrong for some kernels there is none.
pub(super) trait Formula: Send + Sync {
    /// The kinds of rows that it is defined on.
    fn rows(&self) -> &'static [RowKind];

    /// `f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`.
    fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64;

    /// As [`OutputKernel::is_normalised`](super::OutputKernel::is_normalised).
    fn is_normalised(&self) -> bool;

    /// As [`OutputKernel::feature_scale`](super::OutputKernel::feature_scale).
    fn feature_scale(&self, squared_norm: f64) -> Option<f64>;

    /// A parameter outside of its range, its value and what is allowed.
    fn validate(&self) -> Result<(), (&'static str, f64, &'static str)> {
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

/// Every kind of rows.
pub(super) const ANY: &[RowKind] = &[RowKind::Dense, RowKind::Bits, RowKind::Sparse];

/// Checks a γ.
pub(super) fn positive_gamma(gamma: f64) -> Result<(), (&'static str, f64, &'static str)> {
    match gamma > 0.0 && gamma.is_finite() {
        true => Ok(()),
        false => Err(("gamma", gamma, "finite numbers above 0")),
    }
}
