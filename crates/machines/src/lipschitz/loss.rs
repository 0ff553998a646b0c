//! Losses of a vector: what the machines minimise on average.

use serde::{Deserialize, Serialize};

use crate::Error;

/// A convex loss `ℓ(f, y)` of a prediction f and a target y, both of d numbers.
///
/// All but the pinball loss depend on `u = ‖f − y‖² + r` alone, r ≥ 0 being the part of the target that
/// no prediction reaches: `r(y) = k(y, y) − ‖ψ̃(y)‖²` for coordinates in an output basis, 0 for plain
/// numbers (thesis, section 2.5 and appendix C.1). They take the norm of the whole vector, so a row is an
/// outlier as a whole.
///
/// In a configuration file, a table with the loss's `name` in kebab-case and its parameters:
///
/// ```
/// use dsokr_machines::Loss;
///
/// let loss: Loss = serde_json::from_str(r#"{"name": "huber", "kappa": 0.5}"#)?;
/// assert_eq!(loss, Loss::Huber { kappa: 0.5 });
/// assert_eq!(loss.value(&[3.0], &[1.0], 0.0), 0.5 * (2.0 - 0.25));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Loss {
    /// `u / 2`: kernel ridge regression.
    Square,
    /// `u / 2` if `√u ≤ κ`, else `κ (√u − κ/2)`; κ-Lipschitz (Huber 1964).
    Huber {
        /// κ, above 0.
        kappa: f64,
    },
    /// ε-insensitive ℓ1, `max(√u − ε, 0)`; 1-Lipschitz. With d = 1, support vector regression.
    EpsilonInsensitive {
        /// ε, 0 and above.
        epsilon: f64,
    },
    /// ε-insensitive ℓ2, `max(√u − ε, 0)²`.
    EpsilonInsensitiveSquare {
        /// ε, 0 and above.
        epsilon: f64,
    },
    /// `Σ_j τ_j max(y_j − f_j, 0) + (1 − τ_j) max(f_j − y_j, 0)`: f_j estimates the τ_j-quantile
    /// (Koenker and Bassett 1978). The thesis's equation 2.128 has τ and 1 − τ exchanged.
    Pinball {
        /// τ_1 < … < τ_d, within (0, 1).
        levels: Vec<f64>,
    },
}

impl<'de> Deserialize<'de> for Loss {
    /// Reads through variants with braces: serde ignores unknown keys beside a unit variant.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
        enum Strict {
            Square {},
            Huber { kappa: f64 },
            EpsilonInsensitive { epsilon: f64 },
            EpsilonInsensitiveSquare { epsilon: f64 },
            Pinball { levels: Vec<f64> },
        }
        Ok(match Strict::deserialize(deserializer)? {
            Strict::Square {} => Self::Square,
            Strict::Huber { kappa } => Self::Huber { kappa },
            Strict::EpsilonInsensitive { epsilon } => Self::EpsilonInsensitive { epsilon },
            Strict::EpsilonInsensitiveSquare { epsilon } => {
                Self::EpsilonInsensitiveSquare { epsilon }
            }
            Strict::Pinball { levels } => Self::Pinball { levels },
        })
    }
}

impl Loss {
    /// The name in configuration files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Square => "square",
            Self::Huber { .. } => "huber",
            Self::EpsilonInsensitive { .. } => "epsilon-insensitive",
            Self::EpsilonInsensitiveSquare { .. } => "epsilon-insensitive-square",
            Self::Pinball { .. } => "pinball",
        }
    }

    /// The levels of the pinball loss, if it is that one.
    pub fn levels(&self) -> Option<&[f64]> {
        match self {
            Self::Pinball { levels } => Some(levels),
            Self::Square
            | Self::Huber { .. }
            | Self::EpsilonInsensitive { .. }
            | Self::EpsilonInsensitiveSquare { .. } => None,
        }
    }

    /// Checks the parameters, and that the loss is defined on d = `width` outputs.
    ///
    /// # Errors
    /// [`Error::Value`]; [`Error::Length`] unless there is a level for each output.
    pub fn validate(&self, width: usize) -> Result<(), Error> {
        let bad = |parameter, value, allowed| {
            Err(Error::value(
                format_args!("{parameter} of the {} loss", self.name()),
                value,
                allowed,
            ))
        };
        match self {
            Self::Square => Ok(()),
            Self::Huber { kappa } if !(*kappa > 0.0 && kappa.is_finite()) => {
                bad("kappa", *kappa, "finite numbers above 0")
            }
            Self::EpsilonInsensitive { epsilon } | Self::EpsilonInsensitiveSquare { epsilon }
                if !(*epsilon >= 0.0 && epsilon.is_finite()) =>
            {
                bad("epsilon", *epsilon, "finite numbers, 0 and above")
            }
            Self::Pinball { levels } => {
                check_levels(levels)?;
                Error::check_length("quantile levels", levels.len(), width)
            }
            _ => Ok(()),
        }
    }

    /// `ℓ(f, y)` with r = `residual` (not read by the pinball loss); in the units above.
    pub fn value(&self, prediction: &[f64], target: &[f64], residual: f64) -> f64 {
        if let Self::Pinball { levels } = self {
            let errors = prediction.iter().zip(target).map(|(f, y)| y - f);
            return errors.zip(levels).map(|(e, tau)| (tau * e).max((tau - 1.0) * e)).sum();
        }
        let root = distance(prediction, target, residual);
        match *self {
            Self::Huber { kappa } if root > kappa => kappa * (root - 0.5 * kappa),
            Self::EpsilonInsensitive { epsilon } => (root - epsilon).max(0.0),
            Self::EpsilonInsensitiveSquare { epsilon } => (root - epsilon).max(0.0).powi(2),
            _ => 0.5 * root * root,
        }
    }
}

/// `√(‖f − y‖² + r)`.
pub(crate) fn distance(prediction: &[f64], target: &[f64], residual: f64) -> f64 {
    let squares = prediction.iter().zip(target).map(|(f, y)| (f - y) * (f - y));
    (squares.sum::<f64>() + residual).sqrt()
}

/// Checks that levels increase strictly within (0, 1).
pub(crate) fn check_levels(levels: &[f64]) -> Result<(), Error> {
    let mut low = 0.0;
    for (position, &value) in levels.iter().enumerate() {
        if !(value > low && value < 1.0) {
            let what = format_args!("quantile level {position}");
            return Err(Error::value(what, value, format_args!("above {low}, below 1")));
        }
        low = value;
    }
    Ok(())
}
