//! Output kernels, each a scalar function of three products: `k(a, b) = f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`; or
//! any other function of two rows, by the trait [`OutputKernel`].
//!
//! The products come from [`features`](crate::features); a kernel adds its function, the kinds of
//! rows and the values it is defined on, and whether it is linear in scaled rows. One file a
//! kernel; everything is evaluated in `f64`.

pub mod contract;

mod cosine;
mod gaussian;
mod gaussian_tanimoto;
mod hamming;
mod kemeny;
mod linear;
mod ngram;
mod output;
mod tanimoto;

use faer::Mat;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::features::{Block, RowKind, product, simd};

pub use output::OutputKernel;

/// A positive semi-definite kernel on feature rows.
///
/// In a configuration file, a table with the kernel's `name` in kebab-case and its parameters:
///
/// ```
/// use dsokr_basis::Kernel;
///
/// let kernel: Kernel = serde_json::from_str(r#"{"name": "gaussian", "gamma": 0.5}"#)?;
/// assert_eq!(kernel, Kernel::Gaussian { gamma: 0.5 });
/// assert_eq!(kernel.evaluate(1.0, 1.0, 3.0), (-0.5f64 * 2.0).exp());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Kernel {
    /// `⟨a, b⟩`, on rows of any kind.
    Linear,
    /// `⟨a, b⟩ / (‖a‖ ‖b‖)`, on rows of any kind; 0 when a or b is zero.
    Cosine,
    /// `exp(−γ ‖a − b‖²)`, on rows of any kind.
    Gaussian {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64,
    },
    /// `⟨a, b⟩ / (‖a‖² + ‖b‖² − ⟨a, b⟩)`, on rows of any kind; 0 when a or b is zero.
    Tanimoto,
    /// `exp(−γ d²)`, d the distance of a and b in the feature space of the Tanimoto kernel.
    GaussianTanimoto {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64,
    },
    /// Share of common n-grams: the cosine of two rows of counts (sparse).
    #[serde(rename = "ngram")]
    NGram,
    /// Kendall's τ of two rankings, on rows of pair signs (dense or sparse).
    Kemeny,
    /// Share of positions that agree, on one-hot rows (bits or sparse).
    Hamming,
}

impl<'de> Deserialize<'de> for Kernel {
    /// Reads through variants with braces: serde ignores unknown keys beside a unit variant.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
        enum Strict {
            Linear {},
            Cosine {},
            Gaussian { gamma: f64 },
            Tanimoto {},
            GaussianTanimoto { gamma: f64 },
            Ngram {},
            Kemeny {},
            Hamming {},
        }
        Ok(match Strict::deserialize(deserializer)? {
            Strict::Linear {} => Self::Linear,
            Strict::Cosine {} => Self::Cosine,
            Strict::Gaussian { gamma } => Self::Gaussian { gamma },
            Strict::Tanimoto {} => Self::Tanimoto,
            Strict::GaussianTanimoto { gamma } => Self::GaussianTanimoto { gamma },
            Strict::Ngram {} => Self::NGram,
            Strict::Kemeny {} => Self::Kemeny,
            Strict::Hamming {} => Self::Hamming,
        })
    }
}

impl Kernel {
    /// The name in configuration files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Cosine => "cosine",
            Self::Gaussian { .. } => "gaussian",
            Self::Tanimoto => "tanimoto",
            Self::GaussianTanimoto { .. } => "gaussian-tanimoto",
            Self::NGram => "ngram",
            Self::Kemeny => "kemeny",
            Self::Hamming => "hamming",
        }
    }

    /// `f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`.
    #[inline]
    pub fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        match *self {
            Self::Linear => linear::evaluate(ab),
            Self::Cosine => cosine::evaluate(ab, aa, bb),
            Self::Gaussian { gamma } => gaussian::evaluate(gamma, ab, aa, bb),
            Self::Tanimoto => tanimoto::evaluate(ab, aa, bb),
            Self::GaussianTanimoto { gamma } => gaussian_tanimoto::evaluate(gamma, ab, aa, bb),
            Self::NGram => ngram::evaluate(ab, aa, bb),
            Self::Kemeny => kemeny::evaluate(ab, aa, bb),
            Self::Hamming => hamming::evaluate(ab, aa, bb),
        }
    }
}

impl OutputKernel for Kernel {
    fn name(&self) -> String {
        Self::name(self).into()
    }

    fn built_in(&self) -> Option<&Kernel> {
        Some(self)
    }

    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        match *self {
            Self::Gaussian { gamma } | Self::GaussianTanimoto { gamma }
                if !(gamma > 0.0 && gamma.is_finite()) =>
            {
                let what = format!("kernel {}", self.name());
                return Err(Error::value(what, "gamma", gamma, "finite numbers above 0"));
            }
            _ => {}
        }
        let (allowed, names): (&[RowKind], _) = match self {
            Self::NGram => ngram::ROWS,
            Self::Kemeny => kemeny::ROWS,
            Self::Hamming => hamming::ROWS,
            _ => return Ok(()),
        };
        if !allowed.contains(&rows) {
            let name = self.name();
            return Err(Error::Shape(format!(
                "kernel {name} is not defined on {rows} rows, allowed: {names}"
            )));
        }
        Ok(())
    }

    /// N-gram counts are not negative, Kemeny rows hold −1, 0 and 1, Hamming rows 0 and 1; the
    /// other kernels take any finite numbers.
    fn check(&self, rows: &Block) -> Result<(), Error> {
        match self {
            Self::NGram => ngram::check(rows),
            Self::Kemeny => kemeny::check(rows),
            Self::Hamming => hamming::check(rows),
            _ => Ok(()),
        }
    }

    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        match self {
            Self::Linear => Some(1.0),
            Self::Cosine | Self::NGram | Self::Kemeny | Self::Hamming => {
                Some(cosine::scale(squared_norm))
            }
            Self::Gaussian { .. } | Self::Tanimoto | Self::GaussianTanimoto { .. } => None,
        }
    }

    /// All but the linear kernel are.
    ///
    /// A zero row has `k(y, ·) = 0` under cosine, Tanimoto, n-gram, Kemeny and Hamming kernels, so
    /// `k(y, y) = 0`; Gaussian kernels give it 1 too.
    fn is_normalised(&self) -> bool {
        !matches!(self, Self::Linear)
    }

    /// Computed in parallel.
    ///
    /// ```
    /// use dsokr_basis::kernel::OutputKernel;
    /// use dsokr_basis::{Features, Kernel, features::BitRows};
    ///
    /// let rows = Features::Bits(BitRows::from_indices(4, [vec![0, 1, 2], vec![1, 2, 3], vec![]])?);
    /// let gram = Kernel::Tanimoto.block(&rows.all(), &rows.all())?;
    /// assert_eq!((gram[(0, 0)], gram[(0, 1)], gram[(0, 2)]), (1.0, 0.5, 0.0));
    /// # Ok::<(), dsokr_basis::Error>(())
    /// ```
    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        self.validate(a.kind())?;
        let (aa, bb) = (a.squared_norms(), b.squared_norms());
        if let Self::Gaussian { gamma } = *self {
            return product::inner_columns(a, b, |column, j| {
                simd::gaussian(column, gamma, &aa, bb[j]);
            });
        }
        product::inner_map(a, b, |ab, i, j| self.evaluate(ab, aa[i], bb[j]))
    }

    fn diagonal(&self, rows: &Block) -> Vec<f64> {
        rows.squared_norms().into_iter().map(|yy| self.evaluate(yy, yy, yy)).collect()
    }
}

/// Checks every stored value of dense or sparse rows.
fn check_values(
    kernel: &'static str,
    rows: &Block,
    allowed: &'static str,
    holds: impl Fn(f32) -> bool,
) -> Result<(), Error> {
    let bad = |row, column: usize, value: f32| {
        let message = format!("column {column} holds {value}, kernel {kernel} allows: {allowed}");
        Error::row(row, message)
    };
    match rows {
        Block::Dense(block) => {
            let (values, width) = (block.values(), block.width());
            match values.iter().position(|&value| !holds(value)) {
                Some(at) => Err(bad(at / width, at % width, values[at])),
                None => Ok(()),
            }
        }
        Block::Bits(_) => Ok(()),
        Block::Sparse(block) => (0..block.len()).try_for_each(|row| {
            let (columns, values) = block.row(row);
            match values.iter().position(|&value| !holds(value)) {
                Some(at) => Err(bad(row, columns[at] as usize, values[at])),
                None => Ok(()),
            }
        }),
    }
}
