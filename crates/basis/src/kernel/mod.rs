//! Output kernels, each a scalar function of three products: `k(a, b) = f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`; or
//! any other function of two rows, by the trait [`OutputKernel`].
//!
//! The products come from [`features`](crate::features); a kernel adds its function, the kinds of
//! rows and the values it is defined on, and whether it is linear in scaled rows. A kernel is one file
//! and one entry in the list below; everything is evaluated in `f64`.

pub mod contract;
pub mod named;

mod cosine;
mod formula;
mod gaussian;
mod gaussian_tanimoto;
mod hamming;
mod kemeny;
mod linear;
mod median;
mod ngram;
mod output;
mod tanimoto;

use faer::Mat;

use crate::Error;
use crate::features::{Block, RowKind, RowSource, product};
use crate::tagged::tagged;

use formula::Formula;
pub use median::median_squared_distance;
pub use output::{IntoKernel, OutputKernel, zero_rows};

tagged! {
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
    pub enum Kernel by "name", formula: Formula;

    /// `⟨a, b⟩`, on rows of any kind.
    Linear in linear = "linear";
    /// `⟨a, b⟩ / (‖a‖ ‖b‖)`, on rows of any kind; 0 when one of a and b is zero, 1 when both are.
    Cosine in cosine = "cosine";
    /// `exp(−γ ‖a − b‖²)`, on rows of any kind.
    Gaussian {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64
    } in gaussian = "gaussian";
    /// `⟨a, b⟩ / (‖a‖² + ‖b‖² − ⟨a, b⟩)`, on rows of any kind; 1 when both are zero.
    Tanimoto in tanimoto = "tanimoto";
    /// `exp(−γ d²)`, d the distance of a and b in the feature space of the Tanimoto kernel.
    GaussianTanimoto {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64
    } in gaussian_tanimoto = "gaussian-tanimoto";
    /// Share of common n-grams: the cosine of two rows of counts (sparse).
    NGram in ngram = "ngram";
    /// Kendall's τ of two rankings, on rows of pair signs (dense or sparse).
    Kemeny in kemeny = "kemeny";
    /// Share of positions that agree, on one-hot rows (bits or sparse).
    Hamming in hamming = "hamming";
}

impl Kernel {
    /// `f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`.
    pub fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
        self.formula(|formula| formula.evaluate(ab, aa, bb))
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
        let name = self.name();
        self.formula(|formula| formula.validate()).map_err(|(parameter, value, allowed)| {
            Error::value(format!("kernel {name}"), parameter, value, allowed)
        })?;
        let defined = self.formula(|formula| formula.rows());
        if defined.contains(&rows) {
            return Ok(());
        }
        let allowed = defined.iter().map(RowKind::to_string).collect::<Vec<_>>().join(" or ");
        Err(Error::Shape(format!(
            "kernel {name} is not defined on {rows} rows, allowed: {allowed}"
        )))
    }

    /// N-gram counts are not negative, Kemeny rows hold −1, 0 and 1, Hamming rows 0 and 1; the
    /// other kernels take any finite numbers.
    fn check(&self, rows: &Block) -> Result<(), Error> {
        match self.formula(|formula| formula.values()) {
            Some((allowed, holds)) => check_values(self.name(), rows, allowed, holds),
            None => Ok(()),
        }
    }

    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        self.formula(|formula| formula.feature_scale(squared_norm))
    }

    /// All but the linear kernel are.
    ///
    /// Two zero rows are equal: k = 1. Under cosine, Tanimoto, n-gram, Kemeny and Hamming kernels a zero row
    /// has `k(y, ·) = 0` with every other row.
    fn is_normalised(&self) -> bool {
        self.formula(|formula| formula.is_normalised())
    }

    /// Computed in parallel.
    ///
    /// ```
    /// use dsokr_basis::kernel::OutputKernel;
    /// use dsokr_basis::{Features, Kernel, features::BitRows};
    ///
    /// let rows = Features::Bits(BitRows::from_indices(4, [vec![0, 1, 2], vec![1, 2, 3], vec![]])?);
    /// let gram = Kernel::Tanimoto.block(&rows, &rows)?;
    /// assert_eq!((gram[(0, 0)], gram[(0, 1)], gram[(0, 2)]), (1.0, 0.5, 0.0));
    /// assert_eq!(gram[(2, 2)], 1.0);
    /// # Ok::<(), dsokr_basis::Error>(())
    /// ```
    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        self.validate(a.kind())?;
        let (aa, bb) = (a.squared_norms(), b.squared_norms());
        self.formula(|formula| {
            product::inner_columns(a, b, |products, j| formula.column(products, &aa, bb[j]))
        })
    }

    fn diagonal(&self, rows: &Block) -> Vec<f64> {
        let squared_norms = rows.squared_norms().into_iter();
        self.formula(|formula| squared_norms.map(|yy| formula.evaluate(yy, yy, yy)).collect())
    }
}

/// Checks every stored value of dense or sparse rows.
fn check_values(
    kernel: &'static str,
    rows: &Block,
    allowed: &'static str,
    holds: impl Fn(f32) -> bool,
) -> Result<(), Error> {
    let bad = |row: usize, at: usize, columns: Option<&[u32]>, values: &[f32]| {
        let (column, value) = (columns.map_or(at, |columns| columns[at] as usize), values[at]);
        let message = format!("column {column} holds {value}, kernel {kernel} allows: {allowed}");
        Error::row(row, message)
    };
    (0..rows.len()).try_for_each(|row| {
        let (columns, values) = match rows {
            Block::Dense(rows) => (None, rows.row(row)),
            Block::Bits(_) => return Ok(()),
            Block::Sparse(rows) => (Some(rows.row(row).0), rows.row(row).1),
        };
        match values.iter().position(|&value| !holds(value)) {
            Some(at) => Err(bad(row, at, columns, values)),
            None => Ok(()),
        }
    })
}
