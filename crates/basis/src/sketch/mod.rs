//! Sketches: random matrices R (m × n) that mix n training outputs into m directions.
//!
//! `R = W S`: S picks the distinct rows that R touches, the *anchors*, and W (m × a) mixes them. A
//! sketch is read in blocks of columns, each drawn from its own generator when it is needed:
//! nothing of size m × n is ever held, and columns that hold only zeros are left out. Every kind is
//! scaled such that `E[RᵀR] = I` (thesis, remark 2.27). A kind is one file and one entry in the list
//! below.

mod accumulation;
mod columns;
mod count_sketch;
mod draw;
mod gaussian;
mod leverage;
mod matrix;
mod options;
mod picked;
mod sparsified;
mod subsampling;

pub(crate) use columns::COLUMNS;
pub use columns::Columns;
use draw::Draw;
pub use matrix::Sketch;
pub use options::SketchOptions;

use crate::Error;
use crate::tagged::tagged;

/// [`SketchKind`] and [`SketchKind::all`], from the list of the kinds.
macro_rules! sketches {
    ($(
        $(#[$doc:meta])*
        $kind:ident $({ $( $(#[$attribute:meta])* $field:ident: $type:ty ),* })?
        in $module:ident = $name:literal;
    )*) => {
        tagged! {
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
            pub enum SketchKind by "kind", distribution: Draw;

            $(
                $(#[$doc])*
                $kind $({ $( $(#[$attribute])* $field: $type ),* })? in $module = $name;
            )*
        }

        impl SketchKind {
            /// Every kind, each with its usual parameters for n outputs: densities of 20/n (at most
            /// 1), pilots of 200 columns (at most n), and otherwise the defaults.
            pub fn all(n: usize) -> Vec<Self> {
                vec![$({
                    let $module::$kind { $($( $field ),*)? } = $module::$kind::usual(n);
                    Self::$kind { $($( $field ),*)? }
                }),*]
            }
        }
    };
}

sketches! {
    /// Each row of R picks one output, uniformly, with weight `√(n/m)` (thesis, definition 2.26).
    Subsampling {
        /// Whether an output may be picked twice (default: false).
        #[serde(default)]
        replacement: bool
    } in subsampling = "subsampling";
    /// Each row of R picks output i with probability `p_i ∝ ℓ̃_i`, its approximate ridge leverage
    /// score, with replacement, with weight `1/√(m p_i)` (Alaoui and Mahoney 2015).
    Leverage {
        /// λ of the scores, above 0 (default: 0.001).
        #[serde(default = "leverage::default_lambda")]
        lambda: f64,
        /// Number of pilot columns of the approximation, 1 to n (default: 200; give n if smaller).
        #[serde(default = "leverage::default_pilot")]
        pilot: usize
    } in leverage = "leverage";
    /// Independent entries from `N(0, 1/m)` (thesis, example 2.31).
    Gaussian in gaussian = "gaussian";
    /// Independent entries, `r/√(m·density)` with probability `density`, else 0: p-SR
    /// (thesis, chapter 3).
    SparsifiedRademacher {
        /// Probability of a non-zero, above 0, at most 1. Required; 20/n is a usual choice.
        density: f64
    } in sparsified = "sparsified-rademacher";
    /// Independent entries, `N(0, 1)/√(m·density)` with probability `density`, else 0: p-SG
    /// (thesis, chapter 3).
    SparsifiedGaussian {
        /// Probability of a non-zero, above 0, at most 1. Required; 20/n is a usual choice.
        density: f64
    } in sparsified = "sparsified-gaussian";
    /// Each row of R is the sum of `terms` outputs picked uniformly with replacement, each with
    /// weight `r·√(n/(m·terms))` (thesis, definition 2.33; Chen and Yang 2021).
    Accumulation {
        /// Number of outputs summed in a row, at least 1 (default: 10).
        #[serde(default = "accumulation::default_terms")]
        terms: usize
    } in accumulation = "accumulation";
    /// Each column of R has one entry, r, in a uniformly drawn row (thesis, definition 2.32).
    CountSketch in count_sketch = "count-sketch";
}

impl From<&SketchKind> for SketchKind {
    fn from(kind: &SketchKind) -> Self {
        kind.clone()
    }
}

impl SketchKind {
    /// Whether R only picks outputs: each of its rows has one non-zero entry.
    pub fn picks_rows(&self) -> bool {
        self.distribution(|kind| kind.picks_rows())
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
        if m == 0 || m > n {
            return Err(Error::value("sketch", "size", m, format!("1..={n}, the number of rows")));
        }
        self.distribution(|kind| kind.validate(n)).map_err(|(parameter, value, allowed)| {
            Error::value(format!("sketch {}", self.name()), parameter, value, allowed)
        })
    }
}
