//! How often something is done in a training: a number of epochs or of steps.

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
    /// Returns whether it is due when `step` steps have been done, in epochs of `per_epoch` steps.
    pub(crate) fn is_due(self, step: u64, per_epoch: u64) -> bool {
        let period = match self {
            Self::Epochs(epochs) => (epochs as u64).saturating_mul(per_epoch),
            Self::Steps { steps } => steps as u64,
        };
        step.is_multiple_of(period)
    }

    /// Returns how many times it is done in a training of so many epochs, of `per_epoch` steps each: at least once, after
    /// the last step.
    pub fn times(self, epochs: usize, per_epoch: usize) -> f64 {
        let times = match self {
            Self::Epochs(every) => epochs as f64 / every.max(1) as f64,
            Self::Steps { steps } => epochs as f64 * per_epoch as f64 / steps.max(1) as f64,
        };
        times.max(1.0)
    }

    /// Checks the number. It may be larger than the training, which ends with what is done now and then.
    pub(super) fn validate(self, key: &str) -> Result<(), Error> {
        match self {
            Self::Epochs(every) => Error::ensure(every > 0, key, every, "at least 1"),
            Self::Steps { steps } => {
                Error::ensure(steps > 0, format_args!("{key}.steps"), steps, "at least 1")
            }
        }
    }
}
