//! Sketches: random matrices R (m × n) that mix n training outputs into m directions.
//!
//! `R = W S`: S picks the distinct rows that R touches, the *anchors*, and W (m × a) mixes them. A
//! sketch is read in blocks of columns, each drawn from its own generator when it is needed:
//! nothing of size m × n is ever held, and columns that hold only zeros are left out. Every kind is
//! scaled such that `E[RᵀR] = I` (thesis, remark 2.27).

mod columns;
mod draw;
mod options;

use faer::Mat;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use columns::Columns;
pub use options::SketchOptions;

use crate::Error;

/// Rows of the training outputs in one block of columns of a sketch.
pub(crate) const COLUMNS: usize = 512;

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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
        #[serde(default = "default_lambda")]
        lambda: f64,
        /// Number of pilot columns of the approximation, 1 to n (default: 200; give n if smaller).
        #[serde(default = "default_pilot")]
        pilot: usize,
    },
    /// Independent entries from `N(0, 1/m)` (thesis, example 2.31).
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
        /// Number of outputs summed in a row, at least 1 (default: 10).
        #[serde(default = "default_terms")]
        terms: usize,
    },
    /// Each column of R has one entry, r, in a uniformly drawn row (thesis, definition 2.32).
    CountSketch,
}

fn default_lambda() -> f64 {
    1e-3
}

fn default_pilot() -> usize {
    200
}

fn default_terms() -> usize {
    10
}

impl<'de> Deserialize<'de> for SketchKind {
    /// Reads through variants with braces: serde ignores unknown keys beside a unit variant.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        enum Strict {
            Subsampling {
                #[serde(default)]
                replacement: bool,
            },
            Leverage {
                #[serde(default = "default_lambda")]
                lambda: f64,
                #[serde(default = "default_pilot")]
                pilot: usize,
            },
            Gaussian {},
            SparsifiedRademacher {
                density: f64,
            },
            SparsifiedGaussian {
                density: f64,
            },
            Accumulation {
                #[serde(default = "default_terms")]
                terms: usize,
            },
            CountSketch {},
        }
        Ok(match Strict::deserialize(deserializer)? {
            Strict::Subsampling { replacement } => Self::Subsampling { replacement },
            Strict::Leverage { lambda, pilot } => Self::Leverage { lambda, pilot },
            Strict::Gaussian {} => Self::Gaussian,
            Strict::SparsifiedRademacher { density } => Self::SparsifiedRademacher { density },
            Strict::SparsifiedGaussian { density } => Self::SparsifiedGaussian { density },
            Strict::Accumulation { terms } => Self::Accumulation { terms },
            Strict::CountSketch {} => Self::CountSketch,
        })
    }
}

impl From<&SketchKind> for SketchKind {
    fn from(kind: &SketchKind) -> Self {
        kind.clone()
    }
}

impl SketchKind {
    /// The name in configuration files.
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

    /// Checks the parameters and the sizes m (rows of the sketch) and n (training outputs).
    ///
    /// # Errors
    /// [`Error::Shape`] for n = 0, [`Error::Value`] unless 1 ≤ m ≤ n, and for a
    /// parameter outside of its range.
    pub fn validate(&self, m: usize, n: usize) -> Result<(), Error> {
        if n == 0 {
            return Err(Error::no_rows());
        }
        if m == 0 || m > n {
            return Err(Error::value("sketch", "size", m, format!("1..={n}, the number of rows")));
        }
        let bad = |parameter, value: f64, allowed: &str| {
            Err(Error::value(format!("sketch {}", self.name()), parameter, value, allowed))
        };
        match *self {
            Self::Leverage { lambda, .. } if !(lambda > 0.0 && lambda.is_finite()) => {
                bad("lambda", lambda, "finite numbers above 0")
            }
            Self::Leverage { pilot, .. } if pilot == 0 || pilot > n => {
                bad("pilot", pilot as f64, &format!("1..={n}, the number of rows"))
            }
            Self::SparsifiedRademacher { density } | Self::SparsifiedGaussian { density }
                if !(density > 0.0 && density <= 1.0) =>
            {
                bad("density", density, "above 0, at most 1")
            }
            Self::Accumulation { terms: 0 } => bad("terms", 0.0, "1 and more"),
            _ => Ok(()),
        }
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
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sketch {
    kind: SketchKind,
    m: usize,
    n: usize,
    seed: u64,
    /// The few non-zeros of the kinds that pick outputs; none for those drawn block by block.
    picked: Option<draw::Picked>,
}

impl Sketch {
    /// Draws a sketch of m rows for n outputs; any kind but the leverage-score one.
    ///
    /// # Errors
    /// Those of [`SketchKind::validate`]; [`Error::Unsupported`] when a sparsified sketch has no
    /// non-zero, and for [`SketchKind::Leverage`].
    pub fn draw(kind: &SketchKind, m: usize, n: usize, seed: u64) -> Result<Self, Error> {
        kind.validate(m, n)?;
        let picked = match *kind {
            SketchKind::Subsampling { replacement } => {
                Some(draw::subsampling(m, n, replacement, seed))
            }
            SketchKind::Accumulation { terms } => Some(draw::accumulation(m, n, terms, seed)),
            SketchKind::Leverage { .. } => {
                let message =
                    "a leverage-score sketch depends on the data: draw it with Sketch::fit";
                return Err(Error::Unsupported(message.into()));
            }
            _ => None,
        };
        let sketch = Self { kind: kind.clone(), m, n, seed, picked };
        if let SketchKind::SparsifiedRademacher { density }
        | SketchKind::SparsifiedGaussian { density } = *kind
            && (0..sketch.blocks()).all(|block| sketch.columns(block).is_empty())
        {
            let name = kind.name();
            return Err(Error::Unsupported(format!(
                "sketch {name}: no non-zero among {m} x {n} entries drawn at density {density}; \
                 raise it"
            )));
        }
        Ok(sketch)
    }

    /// Draws a leverage-score sketch: m outputs with replacement, output i with probability
    /// `p_i = scores[i] / Σ scores` and weight `1/√(m p_i)`.
    ///
    /// `E[RᵀR]` is the identity on the outputs whose score is not zero.
    ///
    /// # Errors
    /// [`Error::Unsupported`] unless `kind` is [`SketchKind::Leverage`]; those of
    /// [`SketchKind::validate`]; [`Error::Row`] for scores that are negative, not finite,
    /// or all zero.
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
        let picked = Some(draw::by_scores(m, scores, seed)?);
        Ok(Self { kind: kind.clone(), m, n: scores.len(), seed, picked })
    }

    /// m, the number of rows of R.
    pub fn m(&self) -> usize {
        self.m
    }

    /// n, the number of columns of R.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The seed that it was drawn with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The kind it was drawn from.
    pub fn kind(&self) -> &SketchKind {
        &self.kind
    }

    /// Number of blocks of columns that [`columns`](Self::columns) can draw.
    pub fn blocks(&self) -> usize {
        match &self.picked {
            Some(picked) => picked.anchors.len().div_ceil(COLUMNS),
            None => self.n.div_ceil(COLUMNS),
        }
    }

    /// The columns of R in one block that are not zero; always the same ones. Empty for a block
    /// beyond [`blocks`](Self::blocks).
    pub fn columns(&self, block: usize) -> Columns {
        match &self.picked {
            Some(picked) => picked.columns(self.m, block),
            None => draw::block(&self.kind, self.m, self.n, self.seed, block),
        }
    }

    /// The outputs that R touches, increasing.
    pub fn anchors(&self) -> Vec<usize> {
        match &self.picked {
            Some(picked) => picked.anchors.clone(),
            None => {
                let rows = (0..self.blocks()).into_par_iter().map(|at| self.columns(at).rows);
                rows.collect::<Vec<_>>().concat()
            }
        }
    }

    /// W, m × a: the columns of R that are not zero, in the order of the anchors. For small
    /// sketches; the fit reads [`columns`](Self::columns).
    pub fn mixing(&self) -> Mat<f64> {
        let blocks: Vec<Columns> = (0..self.blocks()).map(|block| self.columns(block)).collect();
        let values: Vec<f32> = blocks.into_iter().flat_map(|columns| columns.values).collect();
        Mat::from_fn(self.m, values.len() / self.m, |i, j| values[j * self.m + i].into())
    }

    /// R itself, m × n, for small sizes and comparisons.
    pub fn dense(&self) -> Mat<f64> {
        let mut dense = Mat::zeros(self.m, self.n);
        let mixing = self.mixing();
        for (column, anchor) in self.anchors().into_iter().enumerate() {
            dense.col_mut(anchor).copy_from(mixing.col(column));
        }
        dense
    }
}
