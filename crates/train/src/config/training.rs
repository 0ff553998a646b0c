//! The table `[training]`.

use std::fmt::Display;

use dsokr_core::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::decay::Decay;
use super::every::Every;
use super::groups::{GroupConfig, OptimizerName};
use super::loss::LossConfig;
use crate::batches;

/// Optimisation of the mean loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingConfig {
    /// The loss of a pair; the square loss, if left out.
    pub loss: LossConfig,
    /// Passes over the training pairs, 1 to 1,000,000,000.
    #[default(20)]
    pub epochs: usize,
    /// Pairs a step. The last step of an epoch has what is left, and one pair that would be left alone is in the step before.
    #[default(32)]
    pub batch: usize,
    /// Pairs encoded at once: gradients of parts of a batch are added up, so that a batch needs the
    /// memory of a part; 0 for the whole batch at once.
    pub micro_batch: usize,
    /// Steps after which a GPU is asked for their losses, so that it need not wait in each; a loss that is not
    /// finite ends the training then. Without effect on the CPU.
    #[default(10)]
    pub read_every: usize,
    /// The optimiser.
    #[default(OptimizerName::AdamW)]
    pub optimizer: OptimizerName,
    /// Largest learning rate, reached after the warm-up.
    #[default(1e-3)]
    pub learning_rate: f64,
    /// Decay of the first moment, in `[0, 1)`.
    #[default(0.9)]
    pub beta1: f32,
    /// Decay of the second moment, in `[0, 1)`; of the only one of `lion`, which is usually given 0.99.
    #[default(0.999)]
    pub beta2: f32,
    /// Added to the root of the second moment.
    #[default(1e-8)]
    pub epsilon: f32,
    /// Momentum of `sgd` and `muon`, in `[0, 1)`; by default none, and 0.95 for `muon`. That of `muon` is Nesterov's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub momentum: Option<f32>,
    /// Decoupled weight decay of `adamw`, `lion` and `muon`; by default 0.01. Vectors, which are biases, weights of
    /// normalisation and the temperature, have none unless a group names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f32>,
    /// Factor of the learning rate from a layer to the one below: the last of L numbered layers has this share of the
    /// rate, the first its L-th power, and embeddings one power more. The last layer of an MLP is its head; of a bag beside a
    /// transformer no layer counts. 1 gives all layers one rate.
    #[default(1.0)]
    pub layer_decay: f64,
    /// Decay of an exponential moving average of the parameters, such as 0.999: after each step the average a of w becomes
    /// decay · a + (1 − decay) · w. It is what is evaluated and kept. 0 for none.
    pub ema: f32,
    /// Steps over which the learning rate rises from zero.
    #[default(100)]
    pub warmup: usize,
    /// How it falls afterwards.
    #[default(Decay::Linear)]
    pub decay: Decay,
    /// The smallest learning rate after the warm-up, as a share of the largest.
    pub floor: f64,
    /// The part of the steps after the warm-up in which the decay `wsd` falls; by default 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<f64>,
    /// Evaluations without improvement that the decay `plateau` lets pass before it reduces the rate; by default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau_patience: Option<usize>,
    /// What the decay `plateau` multiplies the rate by; by default 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau_factor: Option<f64>,
    /// Gradients longer than this (over all parameters) are shortened to it; 0 leaves them.
    #[default(1.0)]
    pub clip: f32,
    /// Epochs between two evaluations on the validation split; or steps, as `{ steps = 500 }`. The last step is always
    /// followed by one.
    #[default(Every::Epochs(1))]
    pub evaluate_every: Every,
    /// Evaluations without improvement after which training stops; 0 never stops early.
    pub patience: usize,
    /// Seconds between two checkpoints for `--resume`. One is also taken after the first evaluation, unless there is one
    /// before.
    #[default(60)]
    pub checkpoint_seconds: u64,
    /// Epochs between two checkpoints, or steps, as `{ steps = 500 }`, beside those that `checkpoint_seconds` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_every: Option<Every>,
    /// How many checkpoints are kept. Above 1 each is a file `checkpoint/step-N.safetensors` too.
    #[default(1)]
    pub checkpoints: usize,
    /// Parameters with an optimiser of their own; where several groups match, the last one counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupConfig>,
}

/// The most epochs: the number of their steps is counted in 64 bits.
const MOST_EPOCHS: usize = 1_000_000_000;

const POSITIVE: &str = "a positive number";
pub(super) const NOT_NEGATIVE: &str = "zero or a positive number";

impl TrainingConfig {
    /// Returns whether the gradient of a table has only the rows that a batch reads, on one process: gradients of parts of a
    /// batch, which are added up, have all.
    pub fn by_rows(&self) -> bool {
        self.micro_batch == 0
    }

    /// Returns the number of steps of an epoch over so many pairs.
    pub fn steps_per_epoch(&self, pairs: usize) -> usize {
        batches::number(pairs, self.batch.max(1))
    }

    /// Returns the most pairs that are encoded at once, apart from a pair that would be a batch by itself.
    pub fn at_once(&self) -> usize {
        if self.micro_batch == 0 { self.batch } else { self.micro_batch }
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range.
    pub fn validate(&self) -> Result<(), Error> {
        self.loss.validate()?;
        if self.loss.compares_pairs() {
            let allowed = "at least 2, for this loss";
            Error::ensure(self.batch > 1, "training.batch", self.batch, allowed)?;
        }
        let rate = self.learning_rate;
        let rate_holds = rate > 0.0 && (rate as f32).is_finite();
        let from_zero = |value: f32| value.is_finite() && value >= 0.0;
        let share = 0.0..1.0;
        let epsilon_holds = from_zero(self.epsilon) && self.epsilon > 0.0;
        let most_epochs = format!("1 to {MOST_EPOCHS}");
        let checks: [(bool, &str, &dyn Display, &str); 10] = [
            ((1..=MOST_EPOCHS).contains(&self.epochs), "epochs", &self.epochs, &most_epochs),
            (self.batch > 0, "batch", &self.batch, "at least 1"),
            (self.read_every > 0, "read_every", &self.read_every, "at least 1"),
            (rate_holds, "learning_rate", &rate, POSITIVE),
            (share.contains(&self.beta1), "beta1", &self.beta1, "a number in [0, 1)"),
            (share.contains(&self.beta2), "beta2", &self.beta2, "a number in [0, 1)"),
            (epsilon_holds, "epsilon", &self.epsilon, POSITIVE),
            (from_zero(self.clip), "clip", &self.clip, NOT_NEGATIVE),
            (share.contains(&self.ema), "ema", &self.ema, "a number in [0, 1)"),
            (self.checkpoints > 0, "checkpoints", &self.checkpoints, "at least 1"),
        ];
        for (holds, key, found, allowed) in checks {
            Error::ensure(holds, format_args!("training.{key}"), found, allowed)?;
        }
        self.validate_groups()?;
        self.validate_schedule()?;
        if let Some(every) = self.checkpoint_every {
            every.validate("training.checkpoint_every")?;
        }
        self.evaluate_every.validate("training.evaluate_every")
    }
}
