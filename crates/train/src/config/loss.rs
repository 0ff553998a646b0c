//! The keys of `training.loss`.

use dsokr_core::Error;
use dsokr_core::loss::{self, DistanceLoss};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

dsokr_core::defaults!(temperature: f64 = 0.07);

/// The loss of a prediction z for a pair with target ψ̃(y), mean over the batch.
///
/// All but the last two see `u = ‖z − ψ̃(y)‖² + r(y)`, the squared distance in the kernel's
/// feature space: r is the part of ψ(y) outside of the basis, which no prediction reaches but
/// which counts where losses are cut off (thesis, section 5.2 and appendix C.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum LossConfig {
    #[default]
    Square(loss::Square),
    Huber(loss::Huber),
    EpsilonInsensitive(loss::EpsilonInsensitive),
    EpsilonInsensitiveSquare(loss::EpsilonInsensitiveSquare),
    /// The contrastive objective of CMAM (Edwards et al. 2021): with `s_ij = cos(z_i, ψ̃(y_j)) / τ` over a
    /// batch, the mean of the two cross-entropies of finding y_i by z_i and z_i by y_i. Pairs with the same output are no
    /// negatives of each other. With `micro_batch`, and with several processes, all pairs of the batch are compared: they are
    /// encoded once without gradients and once with them (Gao et al. 2021). τ is learned too, and stays above 0.01.
    Contrastive {
        /// τ at the start, 0.01 to 100.
        #[serde(default = "temperature")]
        temperature: f64,
    },
    /// The cross-entropy of finding y_i by z_i among all distinct outputs of training pairs, with the s and τ
    /// of the contrastive loss. Targets are frozen: all outputs cost one matrix product, and none is
    /// encoded.
    Softmax {
        /// τ at the start, 0.01 to 100.
        #[serde(default = "temperature")]
        temperature: f64,
    },
}

impl LossConfig {
    /// Returns τ at the start, where it is learned.
    pub fn temperature(&self) -> Option<f64> {
        match *self {
            Self::Square(_) | Self::Huber(_) => None,
            Self::EpsilonInsensitive(_) | Self::EpsilonInsensitiveSquare(_) => None,
            Self::Contrastive { temperature } | Self::Softmax { temperature } => Some(temperature),
        }
    }

    /// Returns whether the loss of a pair depends on the other pairs of its batch.
    pub(crate) fn compares_pairs(&self) -> bool {
        match self {
            Self::Square(_) | Self::Huber(_) => false,
            Self::EpsilonInsensitive(_) | Self::EpsilonInsensitiveSquare(_) => false,
            Self::Contrastive { .. } => true,
            Self::Softmax { .. } => false,
        }
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let checked = match self {
            Self::Square(loss) => loss.validate(),
            Self::Huber(loss) => loss.validate(),
            Self::EpsilonInsensitive(loss) => loss.validate(),
            Self::EpsilonInsensitiveSquare(loss) => loss.validate(),
            Self::Contrastive { temperature } | Self::Softmax { temperature } => {
                let holds = (0.01..=100.0).contains(temperature);
                Error::ensure(holds, "temperature", temperature, "0.01 to 100")
            }
        };
        checked.map_err(|error| error.of("training.loss."))
    }
}
