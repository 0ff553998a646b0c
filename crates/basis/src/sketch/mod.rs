//! Sketches: random matrices R (m × n) that mix n training outputs into m directions.
//!
//! `R = W S`: S picks the distinct rows that R touches, the *anchors*, and W (m × a) mixes them. A
//! sketch is read in blocks of columns, each drawn from its own generator when it is needed:
//! nothing of size m × n is ever held, and columns that hold only zeros are left out. Every kind is
//! scaled such that `E[RᵀR] = I` (thesis, remark 2.27). A kind is a variant of [`SketchKind`];
//! the compiler names what is asked of it.

mod draw;
mod mixing;

use faer::Mat;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use draw::COLUMNS;
pub use draw::Columns;
use dsokr_core::Error;
pub use mixing::Mixing;

use crate::features::check_width;
use draw::Picked;

/// The distribution of a sketch. `r` is a Rademacher variable, ±1 with probability ½ each.
///
/// In a configuration file, a table with the `kind` in kebab-case and its parameters:
///
/// ```
/// use dsokr_basis::SketchKind;
///
/// let kind: SketchKind = serde_json::from_str(r#"{"kind": "subsampling"}"#)?;
/// assert_eq!(kind, SketchKind::Subsampling { replacement: false });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum SketchKind {
    /// Each row of R picks one output, uniformly, with weight `√(n/m)` (thesis, definition 2.26).
    Subsampling {
        /// Whether an output may be picked twice (default: false).
        #[serde(default)]
        replacement: bool,
    },
    /// Each row of R picks output i with probability `p_i ∝ ℓ̃_i`, its approximate ridge leverage
    /// score, with replacement, with weight `1/√(m p_i)` (Alaoui and Mahoney 2015).
    Leverage {
        /// λ of the scores, above 0 (default: 0.001).
        #[serde(default = "lambda")]
        lambda: f64,
        /// Number of pilot columns of the approximation, 1 and more (default: 200); with n or more, scores are exact.
        #[serde(default = "pilot")]
        pilot: usize,
    },
    /// Independent entries from `N(0, 1/m)` (thesis, example 2.31).
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    Gaussian,
    /// Independent entries, `r/√(m·density)` with probability `density`, else 0: p-SR
    /// (thesis, chapter 3).
    SparsifiedRademacher {
        /// Probability of a non-zero, above 0, at most 1. Required; 20/n is a usual choice.
        density: f64,
    },
    /// Independent entries, `N(0, 1)/√(m·density)` with probability `density`, else 0: p-SG
    /// (thesis, chapter 3).
    SparsifiedGaussian {
        /// Probability of a non-zero, above 0, at most 1. Required; 20/n is a usual choice.
        density: f64,
    },
    /// Each row of R is the sum of `terms` outputs picked uniformly with replacement, each with
    /// weight `r·√(n/(m·terms))` (thesis, definition 2.33; Chen and Yang 2021).
    Accumulation {
        /// Number of outputs summed in a row, 1 to 10,000 (default: 10).
        #[serde(default = "terms")]
        terms: usize,
    },
    /// Each column of R has one entry, r, in a uniformly drawn row (thesis, definition 2.32).
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    CountSketch,
}

/// The most outputs that a row of an accumulation sums. A Gaussian sketch sums all of them, and takes less time.
const MOST_TERMS: usize = 10_000;

/// The largest density of a sketch that is held as its entries: a product takes about as long for each of them as a dense
/// one takes for eight numbers.
const FEW: f64 = 0.125;

dsokr_core::defaults! {
    lambda: f64 = 1e-3,
    pilot: usize = 200,
    terms: usize = 10,
}

impl SketchKind {
    /// Creates every kind, each with its usual parameters for n outputs: densities of 20/n (at most
    /// 1), pilots of 200 columns (at most n), and otherwise the defaults. Each is valid for every size m from 1.
    pub fn all(n: usize) -> Vec<Self> {
        let density = (20.0 / n as f64).min(1.0);
        vec![
            Self::Subsampling { replacement: false },
            Self::Leverage { lambda: lambda(), pilot: pilot().min(n) },
            Self::Gaussian,
            Self::SparsifiedRademacher { density },
            Self::SparsifiedGaussian { density },
            Self::Accumulation { terms: terms() },
            Self::CountSketch,
        ]
    }

    /// Returns the name in configuration files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Subsampling { .. } => "subsampling",
            Self::Leverage { .. } => "leverage",
            Self::Gaussian => "gaussian",
            Self::SparsifiedRademacher { .. } => "sparsified-rademacher",
            Self::SparsifiedGaussian { .. } => "sparsified-gaussian",
            Self::Accumulation { .. } => "accumulation",
            Self::CountSketch => "count-sketch",
        }
    }

    /// Returns whether R only picks outputs: each of its rows has one non-zero entry.
    pub fn picks_rows(&self) -> bool {
        matches!(self, Self::Subsampling { .. } | Self::Leverage { .. })
    }

    /// Returns whether few entries of R are not zero, at most one in eight of a sparsified sketch. Then R is held as its
    /// entries, and a product with it costs their number.
    pub fn has_few_entries(&self) -> bool {
        match *self {
            Self::Gaussian => false,
            Self::SparsifiedRademacher { density } | Self::SparsifiedGaussian { density } => {
                density <= FEW
            }
            Self::Subsampling { .. }
            | Self::Leverage { .. }
            | Self::Accumulation { .. }
            | Self::CountSketch => true,
        }
    }

    /// Returns the number of outputs, of n, that all are compared with for a sketch of m rows: its anchors, at most or on
    /// average, and those whose columns leverage scores are computed from.
    pub fn compared_outputs(&self, m: usize, n: usize) -> f64 {
        let [size, all] = [m, n].map(|count| count as f64);
        match *self {
            Self::Subsampling { .. } => size,
            Self::Leverage { pilot, .. } => size + all.min(pilot as f64),
            Self::Accumulation { terms } => all.min(size * terms as f64),
            Self::SparsifiedRademacher { density } | Self::SparsifiedGaussian { density } => {
                all * (1.0 - (1.0 - density).powf(size))
            }
            Self::Gaussian | Self::CountSketch => all,
        }
    }

    /// Returns the number of entries of R that are held for each of the [`compared_outputs`](Self::compared_outputs).
    pub fn held_entries(&self, m: usize, n: usize) -> f64 {
        let [size, all] = [m, n].map(|count| count as f64);
        match *self {
            Self::Subsampling { .. } | Self::Leverage { .. } | Self::CountSketch => 1.0,
            Self::Accumulation { terms } => size * terms as f64 / self.compared_outputs(m, n),
            Self::SparsifiedRademacher { density } | Self::SparsifiedGaussian { density } => {
                if self.has_few_entries() {
                    all * size * density / self.compared_outputs(m, n)
                } else {
                    size
                }
            }
            Self::Gaussian => size,
        }
    }

    /// Checks the parameters and the sizes m (rows of the sketch) and n (training outputs).
    ///
    /// # Errors
    /// [`Error::Shape`] for n = 0; [`Error::Value`] unless 1 ≤ m ≤ n, and for a parameter outside of
    /// its range.
    pub fn validate(&self, m: usize, n: usize) -> Result<(), Error> {
        if n == 0 {
            return Err(Error::no_rows());
        }
        let all = format_args!("1..={n}, the number of rows");
        Error::ensure((1..=n).contains(&m), "sketch: size", m, all)?;
        check_width(m)?;
        let checked = self.validate_parameters();
        checked.map_err(|error| error.of(format_args!("sketch {}: ", self.name())))
    }

    /// Checks the parameters, which depend on no size.
    ///
    /// # Errors
    /// [`Error::Value`] for a parameter outside of its range, by its name.
    pub fn validate_parameters(&self) -> Result<(), Error> {
        match *self {
            Self::Leverage { lambda, pilot } => {
                let holds = lambda > 0.0 && lambda.is_finite();
                Error::ensure(holds, "lambda", lambda, "finite numbers above 0")
                    .and_then(|()| Error::ensure(pilot > 0, "pilot", pilot, "1 and more"))
            }
            Self::SparsifiedRademacher { density } | Self::SparsifiedGaussian { density } => {
                let holds = density > 0.0 && density <= 1.0;
                Error::ensure(holds, "density", density, "above 0, at most 1")
            }
            Self::Accumulation { terms } => Error::check_range("terms", terms, 1..=MOST_TERMS),
            Self::Subsampling { .. } | Self::Gaussian | Self::CountSketch => Ok(()),
        }
    }
}

/// Options of [`Basis::fit`](crate::Basis::fit) and [`Sketch::fit`](super::Sketch::fit): the sketch, and what the
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

    /// Creates a sketch of `size` rows, with the default seed and tolerance.
    pub fn new(kind: SketchKind, size: usize) -> Self {
        Self { kind, size, seed: 0, tolerance: Self::TOLERANCE }
    }

    /// Returns the same with a seed.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Returns the same with a relative eigenvalue cut-off.
    pub fn with_tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// Checks all of it for `rows` training outputs.
    ///
    /// # Errors
    /// The errors of [`SketchKind::validate`]; [`Error::Value`] for a tolerance outside of its range.
    pub(crate) fn validate(&self, rows: usize) -> Result<(), Error> {
        self.kind.validate(self.size, rows)?;
        let holds = (1e-12..1.0).contains(&self.tolerance);
        Error::ensure(holds, "sketch: tolerance", self.tolerance, "1e-12 to below 1")
    }
}

/// A drawn sketch R = W S.
///
/// ```
/// use dsokr_basis::{Sketch, SketchKind};
///
/// let sketch = Sketch::draw(&SketchKind::Subsampling { replacement: false }, 2, 8, 0)?;
/// assert_eq!(sketch.anchors().len(), 2);
/// let dense = sketch.dense();
/// assert_eq!((dense.nrows(), dense.ncols()), (2, 8));
/// assert_eq!(dense[(0, sketch.anchors()[0])], 2.0); // √(n/m)
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    pub(crate) kind: SketchKind,
    pub(crate) seed: u64,
    m: usize,
    n: usize,
    /// The entries, where they are few; else columns are drawn block by block when they are needed.
    picked: Option<Picked>,
}

impl Sketch {
    /// Draws a sketch of m rows for n outputs, of any kind that does not depend on the data.
    ///
    /// # Errors
    /// The errors of [`SketchKind::validate`]; [`Error::Unsupported`] when a sparsified sketch has no
    /// non-zero, and for [`SketchKind::Leverage`], which is drawn by [`fit`](Self::fit).
    pub fn draw(kind: &SketchKind, m: usize, n: usize, seed: u64) -> Result<Self, Error> {
        kind.validate(m, n)?;
        let sketch = Self { kind: kind.clone(), seed, m, n, picked: None };
        let picked = sketch.pick()?;
        Ok(Self { picked, ..sketch })
    }

    /// Draws a leverage-score sketch: m outputs with replacement, output i with probability
    /// `p_i = scores[i] / Σ scores` and weight `1/√(m p_i)`.
    ///
    /// `E[RᵀR]` is the identity on the outputs whose score is not zero.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `kind` is [`SketchKind::Leverage`]; the errors of [`SketchKind::validate`];
    /// [`Error::Row`] for scores that are negative, not finite, or all zero.
    pub fn by_scores(
        kind: &SketchKind,
        m: usize,
        scores: &[f64],
        seed: u64,
    ) -> Result<Self, Error> {
        if !matches!(kind, SketchKind::Leverage { .. }) {
            return Err(Error::Unsupported(format!(
                "a {} sketch is not drawn from scores, only a leverage-score sketch is",
                kind.name()
            )));
        }
        kind.validate(m, scores.len())?;
        let sketch = Self { kind: kind.clone(), seed, m, n: scores.len(), picked: None };
        let picked = Some(sketch.pick_by(scores)?);
        Ok(Self { picked, ..sketch })
    }

    /// Returns m, the number of rows of R.
    pub(crate) fn m(&self) -> usize {
        self.m
    }

    /// Returns n, the number of columns of R.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of blocks of columns that [`columns`](Self::columns) can draw.
    pub fn blocks(&self) -> usize {
        let columns = self.picked.as_ref().map_or(self.n(), |picked| picked.anchors.len());
        columns.div_ceil(COLUMNS)
    }

    /// Returns the columns of R in one block that are not zero; always the same ones. Empty for a block
    /// beyond [`blocks`](Self::blocks).
    pub fn columns(&self, block: usize) -> Columns {
        match &self.picked {
            Some(picked) => picked.columns(self.m(), block),
            None => self.drawn_columns(block),
        }
    }

    /// Returns the outputs that R touches, increasing.
    pub fn anchors(&self) -> Vec<usize> {
        match &self.picked {
            Some(picked) => picked.anchors.clone(),
            None => self.mixed_anchors().0,
        }
    }

    /// Returns W, m × a: the columns of R that are not zero, in the order of the anchors.
    pub fn mixing(&self) -> Mixing {
        self.mixed_anchors().1
    }

    /// Returns the [anchors](Self::anchors) with [W](Self::mixing), which are drawn together.
    pub fn mixed_anchors(&self) -> (Vec<usize>, Mixing) {
        let blocks: Vec<Columns> =
            (0..self.blocks()).into_par_iter().map(|block| self.columns(block)).collect();
        let mut anchors = Vec::new();
        let mut parts = Vec::new();
        for Columns { rows, values } in blocks {
            anchors.extend(rows);
            parts.push(values);
        }
        (anchors, Mixing::joined(self.m, self.kind.has_few_entries(), &parts))
    }

    /// Returns R itself, m × n, for small sizes and comparisons.
    pub fn dense(&self) -> Mat<f64> {
        let mut dense = Mat::zeros(self.m(), self.n());
        let (anchors, mixing) = self.mixed_anchors();
        for (column, anchor) in anchors.into_iter().enumerate() {
            let values = mixing.columns().dense_row(column).into_iter();
            values.enumerate().for_each(|(row, value)| dense[(row, anchor)] = value.into());
        }
        dense
    }
}
