use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check;

/// The loss of an answer z to a pair with target ψ̃(y), mean over the batch.
///
/// All but the last two see `u = ‖z − ψ̃(y)‖² + r(y)`, the squared distance in the kernel's feature space: r is
/// the part of ψ(y) outside of the basis, which no answer reaches but which counts where losses are
/// cut off (thesis, section 5.2 and appendix C.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossConfig {
    /// `u`.
    // with braces: serde ignores unknown keys beside a unit variant
    Square {},
    /// `u/2` where `√u ≤ κ`, else `κ (√u − κ/2)`: outputs that are far off, wrong ones perhaps, pull no
    /// harder than others.
    Huber {
        /// κ, above 0.
        kappa: f64,
    },
    /// ε-insensitive ℓ1, `max(√u − ε, 0)`.
    EpsilonInsensitive {
        /// ε, 0 and above.
        epsilon: f64,
    },
    /// ε-insensitive ℓ2, `max(√u − ε, 0)²`.
    EpsilonInsensitiveSquare {
        /// ε, 0 and above.
        epsilon: f64,
    },
    /// The contrastive objective of CMAM (Edwards et al. 2021): with `s_ij = cos(z_i, ψ̃(y_j)) / τ` over a
    /// batch, the mean of the two cross-entropies of finding y_i by z_i and z_i by y_i. τ is learned
    /// too, and stays above 0.01.
    Contrastive {
        /// τ at the start, 0.01 to 100.
        #[serde(default = "temperature")]
        temperature: f64,
    },
    /// The cross-entropy of finding y_i by z_i among all distinct outputs of training pairs, with the same
    /// s and τ. Targets are frozen: all outputs cost one matrix product, and none is encoded.
    Softmax {
        /// τ at the start, 0.01 to 100.
        #[serde(default = "temperature")]
        temperature: f64,
    },
}

fn temperature() -> f64 {
    0.07
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::Square {}
    }
}

impl LossConfig {
    /// τ at the start, where it is learned.
    pub fn temperature(&self) -> Option<f64> {
        match self {
            Self::Contrastive { temperature } | Self::Softmax { temperature } => Some(*temperature),
            _ => None,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), Error> {
        match *self {
            Self::Square {} => Ok(()),
            Self::Huber { kappa } => {
                let holds = kappa.is_finite() && kappa > 0.0;
                check(holds, "training.loss.kappa", kappa, "a positive number")
            }
            Self::EpsilonInsensitive { epsilon } | Self::EpsilonInsensitiveSquare { epsilon } => {
                let holds = epsilon.is_finite() && epsilon >= 0.0;
                check(holds, "training.loss.epsilon", epsilon, "zero or a positive number")
            }
            Self::Contrastive { temperature } | Self::Softmax { temperature } => {
                let holds = (0.01..=100.0).contains(&temperature);
                check(holds, "training.loss.temperature", temperature, "0.01 to 100")
            }
        }
    }
}
