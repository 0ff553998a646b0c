use super::SketchKind;
use crate::Error;

/// What [`Basis::fit`](crate::Basis::fit) and [`Sketch::fit`](super::Sketch::fit) draw, and what the
/// former keeps of it.
///
/// ```
/// use dsokr_basis::{SketchKind, SketchOptions};
///
/// let options = SketchOptions::new(SketchKind::CountSketch, 100).with_seed(7);
/// assert_eq!((options.size, options.seed, options.tolerance), (100, 7, 1e-10));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SketchOptions {
    /// The distribution of the sketch.
    pub kind: SketchKind,
    /// m, the number of rows of the sketch: 1 to the number of training outputs.
    pub size: usize,
    /// The seed that the sketch is drawn with (default: 0).
    pub seed: u64,
    /// The relative eigenvalue cut-off, 1e-12 to below 1 (default: 1e-10): a basis
    /// keeps `σ_j > σ_1 · tolerance`, so rescaling the kernel changes nothing.
    pub tolerance: f64,
}

impl SketchOptions {
    /// The default relative eigenvalue cut-off, 1e-10.
    pub const TOLERANCE: f64 = 1e-10;

    /// A sketch of `size` rows, with the default seed and tolerance.
    pub fn new(kind: impl Into<SketchKind>, size: usize) -> Self {
        Self { kind: kind.into(), size, seed: 0, tolerance: Self::TOLERANCE }
    }

    /// The same with a seed.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with a relative eigenvalue cut-off.
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Checks all of it for `rows` training outputs.
    ///
    /// # Errors
    /// As [`SketchKind::validate`]; [`Error::Value`] for a tolerance outside of its range.
    pub fn validate(&self, rows: usize) -> Result<(), Error> {
        self.kind.validate(self.size, rows)?;
        match (1e-12..1.0).contains(&self.tolerance) {
            true => Ok(()),
            false => Err(Error::value("sketch", "tolerance", self.tolerance, "1e-12 to below 1")),
        }
    }
}
