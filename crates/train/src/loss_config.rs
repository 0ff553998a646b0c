use dsokr_basis::distance_losses;
use dsokr_basis::loss::{self, DistanceLoss};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::check;

/// The contrastive objective of CMAM (Edwards et al. 2021): with `s_ij = cos(z_i, ψ̃(y_j)) / τ` over a
/// batch, the mean of the two cross-entropies of finding y_i by z_i and z_i by y_i. τ is learned
/// too, and stays above 0.01.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contrastive {
    /// τ at the start, 0.01 to 100.
    #[serde(default = "temperature")]
    pub temperature: f64,
}

/// The cross-entropy of finding y_i by z_i among all distinct outputs of training pairs, with the s and τ
/// of the contrastive loss. Targets are frozen: all outputs cost one matrix product, and none is
/// encoded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Softmax {
    /// τ at the start, 0.01 to 100.
    #[serde(default = "temperature")]
    pub temperature: f64,
}

fn temperature() -> f64 {
    0.07
}

macro_rules! loss_config {
    ($($name:ident),*) => {
        /// The loss of a prediction z for a pair with target ψ̃(y), mean over the batch.
        ///
        /// All but the last two see `u = ‖z − ψ̃(y)‖² + r(y)`, the squared distance in the kernel's
        /// feature space: r is the part of ψ(y) outside of the basis, which no prediction reaches but
        /// which counts where losses are cut off (thesis, section 5.2 and appendix C.1).
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum LossConfig {
            $(#[allow(missing_docs)]
            $name(loss::$name),)*
            #[allow(missing_docs)]
            Contrastive(Contrastive),
            #[allow(missing_docs)]
            Softmax(Softmax),
        }

        impl LossConfig {
            /// What it compares.
            pub(crate) fn kind(&self) -> Kind<'_> {
                match self {
                    $(Self::$name(loss) => Kind::Distance(loss),)*
                    Self::Contrastive(loss) => Kind::Contrastive(loss.temperature),
                    Self::Softmax(loss) => Kind::Softmax(loss.temperature),
                }
            }
        }
    };
}

distance_losses!(loss_config);

/// What a loss compares.
pub(crate) enum Kind<'a> {
    /// Each prediction with its own target.
    Distance(&'a dyn DistanceLoss),
    /// The pairs of a batch, with τ at the start.
    Contrastive(f64),
    /// Predictions with all outputs of the training pairs, with τ at the start.
    Softmax(f64),
}

impl Default for LossConfig {
    fn default() -> Self {
        Self::Square(loss::Square {})
    }
}

impl LossConfig {
    /// τ at the start, where it is learned.
    pub fn temperature(&self) -> Option<f64> {
        match self.kind() {
            Kind::Distance(_) => None,
            Kind::Contrastive(temperature) | Kind::Softmax(temperature) => Some(temperature),
        }
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        match self.kind() {
            Kind::Distance(loss) => loss.validate().map_err(|bad| {
                let key = format!("training.loss.{}", bad.parameter);
                Error::value(&key, bad.value, bad.allowed)
            }),
            Kind::Contrastive(temperature) | Kind::Softmax(temperature) => {
                let holds = (0.01..=100.0).contains(&temperature);
                check(holds, "training.loss.temperature", temperature, "0.01 to 100")
            }
        }
    }
}
