//! Output kernels, each a scalar function of three products: `k(a, b) = f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`; or
//! any other function of two rows, by the trait [`OutputKernel`].
//!
//! The products come from [`features`](crate::features); a kernel adds its function, the kinds of
//! rows and the values it is defined on, and whether it is linear in scaled rows. A kernel is a variant of [`Kernel`];
//! the compiler names what is asked of it. Everything is evaluated in `f64`.

pub mod contract;
pub mod named;

mod checked;
mod constant;
mod mixture;
mod output;
mod sum;

use dsokr_core::random::{below, generator};
use dsokr_core::{Error, Misfit};
use faer::Mat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::{Block, RowKind, RowSource, product, simd};

pub use checked::{diagonal, gram};
pub use constant::{candidate_constant, squared_norm_of_constant};
pub use mixture::ProbabilityProduct;
pub use output::{IntoKernel, OutputKernel, zero_rows};
pub use sum::SumKernel;
pub(crate) use sum::Summand;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Kernel {
    /// `⟨a, b⟩`, on rows of any kind.
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    Linear,
    /// `⟨a, b⟩ / (‖a‖ ‖b‖)`, on rows of any kind; 0 when one of a and b is zero, 1 when both are.
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    Cosine,
    /// `exp(−γ ‖a − b‖²)`, on rows of any kind.
    Gaussian {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64,
    },
    /// `⟨a, b⟩ / (‖a‖² + ‖b‖² − ⟨a, b⟩)`, on rows of any kind; 1 when both are zero.
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    Tanimoto,
    /// `exp(−γ d²)`, d the distance of a and b in the feature space of the Tanimoto kernel.
    GaussianTanimoto {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64,
    },
    /// Share of common n-grams: the cosine of two rows of counts (sparse).
    #[serde(rename = "ngram", deserialize_with = "crate::parameters::no_parameters")]
    NGram,
    /// Kendall's τ-b of two rankings over all pairs of items, on rows of pair signs (dense or sparse): a pair with an item that
    /// is not ranked counts as a tie.
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    Kemeny,
    /// Share of positions that agree, on one-hot rows (bits or sparse), which have the same number of ones each: label sets
    /// are refused.
    #[serde(deserialize_with = "crate::parameters::no_parameters")]
    Hamming,
}

/// Values in words, and as a test.
type Values = (&'static str, fn(f32) -> bool);

fn tanimoto(ab: f64, aa: f64, bb: f64) -> f64 {
    // 0 of two zero rows only
    let union = aa + bb - ab;
    if union > 0.0 { ab / union } else { 1.0 }
}

fn cosine(ab: f64, aa: f64, bb: f64) -> f64 {
    let norms = (aa * bb).sqrt();
    if norms > 0.0 { ab / norms } else { f64::from(u8::from(aa == bb)) }
}

impl Kernel {
    /// Returns the name in configuration files.
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

    /// Computes `f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`.
    pub fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        match *self {
            Self::Linear => ab,
            // Rounding can bring the distance of equal rows below 0, and the kernel above 1.
            Self::Gaussian { gamma } => simd::exp_negative(-gamma * (aa + bb - 2.0 * ab).max(0.0)),
            Self::Tanimoto => tanimoto(ab, aa, bb),
            Self::GaussianTanimoto { gamma } => {
                let squared_distance = 2.0 - 2.0 * tanimoto(ab, aa, bb);
                (-gamma * squared_distance.max(0.0)).exp()
            }
            Self::Cosine | Self::NGram | Self::Kemeny | Self::Hamming => cosine(ab, aa, bb),
        }
    }

    /// Returns γ, and the kernel in whose feature space γ multiplies a squared distance; none of a kernel without γ.
    fn scaled_distance(&self) -> Option<(f64, Self)> {
        match *self {
            Self::Gaussian { gamma } => Some((gamma, Self::Linear)),
            Self::GaussianTanimoto { gamma } => Some((gamma, Self::Tanimoto)),
            Self::Linear
            | Self::Cosine
            | Self::Tanimoto
            | Self::NGram
            | Self::Kemeny
            | Self::Hamming => None,
        }
    }

    /// Returns γ; none of a kernel without it.
    pub fn gamma(&self) -> Option<f64> {
        self.scaled_distance().map(|(gamma, _)| gamma)
    }

    /// Returns the kernel in whose feature space γ multiplies a squared distance; none of a kernel without γ.
    pub fn distance_space(&self) -> Option<Self> {
        self.scaled_distance().map(|(_, space)| space)
    }

    /// Returns the kernel with a γ, which one without it does not need.
    pub fn with_gamma(&self, gamma: f64) -> Self {
        match self {
            Self::Gaussian { .. } => Self::Gaussian { gamma },
            Self::GaussianTanimoto { .. } => Self::GaussianTanimoto { gamma },
            Self::Linear
            | Self::Cosine
            | Self::Tanimoto
            | Self::NGram
            | Self::Kemeny
            | Self::Hamming => self.clone(),
        }
    }

    /// Checks that each parameter is in its range.
    fn validate_parameters(&self) -> Result<(), Error> {
        match *self {
            Self::Gaussian { gamma } | Self::GaussianTanimoto { gamma } => {
                let key = format_args!("kernel {}: gamma", self.name());
                let holds = gamma > 0.0 && gamma.is_finite();
                Error::ensure(holds, key, gamma, "finite numbers above 0")
            }
            Self::Linear
            | Self::Cosine
            | Self::Tanimoto
            | Self::NGram
            | Self::Kemeny
            | Self::Hamming => Ok(()),
        }
    }

    /// Returns the kinds of rows that the kernel is defined on, and the values that they may hold; none where any
    /// finite number is allowed.
    fn domain(&self) -> (&'static [RowKind], Option<Values>) {
        use RowKind::{Bits, Dense, Sparse};
        match self {
            Self::NGram => (&[Sparse], Some(("0 and more", |value| value >= 0.0))),
            Self::Kemeny => {
                let holds = |value: f32| value == 0.0 || value.abs() == 1.0;
                (&[Dense, Sparse], Some(("-1, 0, 1", holds)))
            }
            Self::Hamming => {
                (&[Bits, Sparse], Some(("0, 1", |value| value == 0.0 || value == 1.0)))
            }
            Self::Linear | Self::Cosine | Self::Tanimoto => (&[Dense, Bits, Sparse], None),
            Self::Gaussian { .. } | Self::GaussianTanimoto { .. } => (&[Dense, Bits, Sparse], None),
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
        self.validate_parameters()?;
        let (defined, _) = self.domain();
        if defined.contains(&rows) {
            return Ok(());
        }
        Err(Error::Shape(Misfit::Kernel {
            kernel: self.name().to_owned(),
            found: rows.to_string(),
            allowed: defined.iter().map(RowKind::to_string).collect(),
        }))
    }

    /// Checks that n-gram counts are not negative, Kemeny rows hold −1, 0 and 1, Hamming rows 0 and 1, as many ones as the other
    /// rows of the block; the other kernels take any finite numbers.
    fn check(&self, rows: &Block) -> Result<(), Error> {
        let (_, Some((allowed, holds))) = self.domain() else { return Ok(()) };
        let mut first_ones = None;
        for row in 0..rows.len() {
            let mut bad = None;
            let mut ones = 0;
            rows.entries(row, 0..rows.width(), |column, value| {
                if !holds(value) {
                    bad.get_or_insert((column, value));
                }
                ones += usize::from(value != 0.0);
            });
            if let Some((column, value)) = bad {
                let kernel = self.name();
                let message =
                    format!("column {column} holds {value}, kernel {kernel} allows: {allowed}");
                return Err(Error::row(row, message));
            }
            let first = *first_ones.get_or_insert(ones);
            // the cosine of other rows, such as label sets, is no share of positions
            if *self == Self::Hamming && ones != first {
                let message = format!(
                    "{ones} ones where another row has {first}; kernel hamming needs one-hot rows, the same number of \
                     ones in each; for label sets take tanimoto or cosine"
                );
                return Err(Error::row(row, message));
            }
        }
        Ok(())
    }

    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        match self {
            Self::Linear => Some(1.0),
            Self::Cosine | Self::NGram | Self::Kemeny | Self::Hamming => {
                Some(if squared_norm > 0.0 { squared_norm.sqrt().recip() } else { 0.0 })
            }
            Self::Gaussian { .. } | Self::Tanimoto | Self::GaussianTanimoto { .. } => None,
        }
    }

    /// Returns whether the kernel is normalised: all but the linear one are.
    ///
    /// Two zero rows are equal: k = 1. Under cosine, Tanimoto, n-gram, Kemeny and Hamming kernels a zero row
    /// has `k(y, ·) = 0` with every other row.
    fn is_normalised(&self) -> bool {
        match self {
            Self::Linear => false,
            Self::Cosine
            | Self::Gaussian { .. }
            | Self::Tanimoto
            | Self::GaussianTanimoto { .. }
            | Self::NGram
            | Self::Kemeny
            | Self::Hamming => true,
        }
    }

    /// Computes the matrix in parallel.
    ///
    /// ```
    /// use dsokr_basis::kernel::OutputKernel;
    /// use dsokr_basis::{Features, Kernel, features::BitRows};
    ///
    /// let rows = Features::Bits(BitRows::from_indices(4, [vec![0, 1, 2], vec![1, 2, 3], vec![]])?);
    /// let gram = Kernel::Tanimoto.block(&rows, &rows)?;
    /// assert_eq!((gram[(0, 0)], gram[(0, 1)], gram[(0, 2)]), (1.0, 0.5, 0.0));
    /// assert_eq!(gram[(2, 2)], 1.0);
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        self.validate(a.kind())?;
        let aa = a.squared_norms();
        let bb = b.squared_norms();
        product::inner_columns(a, b, |products, j| {
            let bb = bb[j];
            // what is asked of the kernel is asked outside of the loop over a column
            match *self {
                Self::Linear => {}
                Self::Gaussian { gamma } => simd::gaussian(products, gamma, &aa, bb),
                Self::Tanimoto => each(products, &aa, |ab, aa| tanimoto(ab, aa, bb)),
                Self::GaussianTanimoto { .. } => {
                    each(products, &aa, |ab, aa| self.evaluate(ab, aa, bb));
                }
                Self::Cosine | Self::NGram | Self::Kemeny | Self::Hamming => {
                    each(products, &aa, |ab, aa| cosine(ab, aa, bb));
                }
            }
        })
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(rows.squared_norms().into_iter().map(|yy| self.evaluate(yy, yy, yy)).collect())
    }
}

/// Replaces each product by a function of it and of the squared norm of its row.
fn each(products: &mut [f64], aa: &[f64], value: impl Fn(f64, f64) -> f64) {
    products.iter_mut().zip(aa).for_each(|(product, &aa)| *product = value(*product, aa));
}

/// Rows whose pairs the median heuristic compares.
const ROWS: u64 = 1000;

/// Squared distances below this share of the squared norms are rounding.
const ROUNDING: f64 = 1e-13;

/// Returns the median of `k(a, a) + k(b, b) − 2 k(a, b)`, the squared distances of a and b in the feature space of a
/// kernel, over all pairs of 1000 rows that `seed` draws, or of all rows where there are no more. For an even number of
/// pairs it is the mean of the two in the middle. The number of threads changes nothing.
///
/// The median heuristic (Garreau, Jitkrittum and Kanagawa 2017) takes `γ = 1/median` for
/// `exp(−γ d²)`, so that half of the pairs have a kernel above 1/e.
///
/// ```
/// use dsokr_basis::kernel::median_squared_distance;
/// use dsokr_basis::{Features, Kernel, features::DenseRows};
///
/// let rows = Features::Dense(DenseRows::new(1, vec![0.0, 1.0, 3.0])?);
/// assert_eq!(median_squared_distance(&Kernel::Linear, &rows, 0)?, 4.0);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
///
/// # Errors
/// Rows that the kernel is not defined on; fewer than two rows.
pub fn median_squared_distance(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    seed: u64,
) -> Result<f64, Error> {
    if rows.len() < 2 {
        return Err(Error::Shape(Misfit::Rows { found: rows.len(), least: 2 }));
    }
    let n = rows.len() as u64;
    let mut random = generator(seed, "median distance", 0);
    let mut chosen: Vec<usize> = (0..rows.len()).collect();
    for at in 0..ROWS.min(n) {
        chosen.swap(at as usize, (at + below(&mut random, n - at)) as usize);
    }
    chosen.truncate(ROWS as usize);
    let block = rows.select(&chosen)?;
    kernel.validate(block.kind())?;
    kernel.check(&block)?;
    let gram = gram(kernel, &block, &block)?;
    let norms = diagonal(kernel, &block)?;
    let distance = |(i, j): (usize, usize)| {
        let distance = norms[i] + norms[j] - 2.0 * gram[(i, j)];
        if distance < ROUNDING * (norms[i] + norms[j]) { 0.0 } else { distance }
    };
    let pairs = (0..chosen.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
    let mut distances: Vec<f64> = pairs.map(distance).collect();
    let middle = distances.len() / 2;
    let even = distances.len().is_multiple_of(2);
    let (below, &mut median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| even);
    Ok(lower.map_or(median, |lower| 0.5 * (lower + median)))
}
