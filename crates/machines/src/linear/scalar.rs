use faer::traits::RealField;

/// `f32` or `f64`.
pub(crate) trait Scalar:
    RealField + Copy + Into<f64> + Send + Sync + std::iter::Sum + 'static
{
    /// The nearest number of this type.
    fn of(value: f64) -> Self;

    /// The number in `f64`.
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Scalar for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Scalar for f64 {
    fn of(value: f64) -> Self {
        value
    }
}
