//! Output kernels, each a scalar function of three products: `k(a, b) = f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`; or
//! any other function of two rows, by the trait [`OutputKernel`].
//!
//! The products come from [`features`](crate::features); a kernel adds its function, the kinds of
//! rows and the values it is defined on, and whether it is linear in scaled rows. A kernel is one file
//! and one entry in the list below; everything is evaluated in `f64`.

pub mod contract;

mod cosine;
mod formula;
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
use crate::features::{Block, RowKind, product};

use formula::Formula;
pub use output::OutputKernel;

/// The enum of the built-in kernels, their names, and their way to the formula in each one's file.
macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $kernel:ident $({ $( $(#[$attribute:meta])* $field:ident: $type:ty ),* })?
        in $module:ident = $name:literal;
    )*) => {
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
        #[serde(tag = "name", deny_unknown_fields)]
        #[non_exhaustive]
        pub enum Kernel {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $kernel $({ $( $(#[$attribute])* $field: $type ),* })?,
            )*
        }

        impl<'de> Deserialize<'de> for Kernel {
            /// Reads through variants with braces: serde ignores unknown keys beside a unit variant.
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                #[serde(tag = "name", deny_unknown_fields)]
                enum Strict {
                    $(
                        #[serde(rename = $name)]
                        $kernel { $($( $(#[$attribute])* $field: $type ),*)? },
                    )*
                }
                Ok(match Strict::deserialize(deserializer)? {
                    $( Strict::$kernel { $($( $field ),*)? } => Self::$kernel $({ $( $field ),* })?, )*
                })
            }
        }

        impl Kernel {
            /// The name in configuration files.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Self::$kernel { .. } => $name, )*
                }
            }

            /// `f(⟨a,b⟩, ⟨a,a⟩, ⟨b,b⟩)`.
            #[inline]
            pub fn evaluate(&self, ab: f64, aa: f64, bb: f64) -> f64 {
                match *self {
                    $( Self::$kernel $({ $( $field ),* })? => {
                        $module::$kernel $({ $( $field ),* })?.evaluate(ab, aa, bb)
                    } )*
                }
            }

            fn formula(&self) -> Box<dyn Formula> {
                match *self {
                    $( Self::$kernel $({ $( $field ),* })? => {
                        Box::new($module::$kernel $({ $( $field ),* })?)
                    } )*
                }
            }
        }
    };
}

kernels! {
    /// `⟨a, b⟩`, on rows of any kind.
    Linear in linear = "linear";
    /// `⟨a, b⟩ / (‖a‖ ‖b‖)`, on rows of any kind; 0 when a or b is zero.
    Cosine in cosine = "cosine";
    /// `exp(−γ ‖a − b‖²)`, on rows of any kind.
    Gaussian {
        /// γ, above 0; `1/(2 width²)`.
        gamma: f64
    } in gaussian = "gaussian";
    /// `⟨a, b⟩ / (‖a‖² + ‖b‖² − ⟨a, b⟩)`, on rows of any kind; 0 when a or b is zero.
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

impl OutputKernel for Kernel {
    fn name(&self) -> String {
        Self::name(self).into()
    }

    fn built_in(&self) -> Option<&Kernel> {
        Some(self)
    }

    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        let (name, formula) = (self.name(), self.formula());
        formula.validate().map_err(|(parameter, value, allowed)| {
            Error::value(format!("kernel {name}"), parameter, value, allowed)
        })?;
        if formula.rows().contains(&rows) {
            return Ok(());
        }
        let kinds: Vec<String> = formula.rows().iter().map(RowKind::to_string).collect();
        let allowed = kinds.join(" or ");
        Err(Error::Shape(format!(
            "kernel {name} is not defined on {rows} rows, allowed: {allowed}"
        )))
    }

    /// N-gram counts are not negative, Kemeny rows hold −1, 0 and 1, Hamming rows 0 and 1; the
    /// other kernels take any finite numbers.
    fn check(&self, rows: &Block) -> Result<(), Error> {
        match self.formula().values() {
            Some((allowed, holds)) => check_values(self.name(), rows, allowed, holds),
            None => Ok(()),
        }
    }

    fn feature_scale(&self, squared_norm: f64) -> Option<f64> {
        self.formula().feature_scale(squared_norm)
    }

    /// All but the linear kernel are.
    ///
    /// A zero row has `k(y, ·) = 0` under cosine, Tanimoto, n-gram, Kemeny and Hamming kernels, so
    /// `k(y, y) = 0`; Gaussian kernels give it 1 too.
    fn is_normalised(&self) -> bool {
        self.formula().is_normalised()
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
        let formula = self.formula();
        product::inner_columns(a, b, |products, j| formula.column(products, &aa, bb[j]))
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
