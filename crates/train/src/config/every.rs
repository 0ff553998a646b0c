use dsokr_core::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often something is done: after so many epochs, or after so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "expected a number of epochs, or { steps = NUMBER }"
)]
pub enum Every {
    /// After so many epochs.
    Epochs(usize),
    /// After so many steps, written as `{ steps = 500 }`.
    Steps {
        /// The number of steps.
        steps: usize,
    },
}

impl Every {
    /// Whether it is due when `step` steps have been done, in epochs of `per_epoch` steps.
    pub(crate) fn is_due(self, step: u64, per_epoch: u64) -> bool {
        let period = match self {
            Self::Epochs(epochs) => epochs as u64 * per_epoch,
            Self::Steps { steps } => steps as u64,
        };
        step.is_multiple_of(period)
    }

    /// How many times it is done in a training of so many epochs, of `per_epoch` steps each.
    pub fn times(self, epochs: usize, per_epoch: usize) -> f64 {
        match self {
            Self::Epochs(every) => epochs as f64 / every.max(1) as f64,
            Self::Steps { steps } => (epochs * per_epoch) as f64 / steps.max(1) as f64,
        }
    }

    /// Checks a value of a training of so many epochs.
    pub(super) fn validate(self, key: &str, epochs: usize) -> Result<(), Error> {
        match self {
            Self::Epochs(every) => {
                Error::ensure((1..=epochs).contains(&every), key, every, "1 to training.epochs")
            }
            Self::Steps { steps } => {
                Error::ensure(steps > 0, format_args!("{key}.steps"), steps, "at least 1")
            }
        }
    }
}
