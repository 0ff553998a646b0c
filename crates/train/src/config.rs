use std::fmt::Display;

use dsokr_core::Error;
use dsokr_core::loss::{self, DistanceLoss};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

/// The optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerName {
    /// Stochastic gradient descent without momentum.
    Sgd,
    /// Adam (Kingma and Ba 2015); takes no weight decay.
    Adam,
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
    AdamW,
}

/// How the learning rate falls after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// Not at all.
    None,
    /// Linearly, so that it would reach zero one step after the last.
    Linear,
    /// Along half a cosine, so that it would reach zero one step after the last.
    Cosine,
}

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
    fn validate(self, key: &str, epochs: usize) -> Result<(), Error> {
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

/// Optimisation of the mean loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingConfig {
    /// The loss of a pair; the square loss, if left out.
    pub loss: LossConfig,
    /// Passes over the training pairs.
    #[default(20)]
    pub epochs: usize,
    /// Pairs a step.
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
    /// Decay of the second moment, in `[0, 1)`.
    #[default(0.999)]
    pub beta2: f32,
    /// Added to the root of the second moment.
    #[default(1e-8)]
    pub epsilon: f32,
    /// Decoupled weight decay; `adamw` only.
    #[default(0.01)]
    pub weight_decay: f32,
    /// Steps over which the learning rate rises from zero.
    #[default(100)]
    pub warmup: usize,
    /// How it falls afterwards.
    #[default(Decay::Linear)]
    pub decay: Decay,
    /// Gradients longer than this (over all parameters) are shortened to it; 0 leaves them.
    #[default(1.0)]
    pub clip: f32,
    /// Epochs between two evaluations on the validation split; or steps, as `{ steps = 500 }`. The last step is always
    /// followed by one.
    #[default(Every::Epochs(1))]
    pub evaluate_every: Every,
    /// Evaluations without improvement after which training stops; 0 never stops early.
    pub patience: usize,
    /// Seconds between two checkpoints for `--resume`; the first is taken after the first evaluation.
    #[default(60)]
    pub checkpoint_seconds: u64,
    /// Parameters with an optimiser of their own; where several groups match, the last one counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupConfig>,
}

/// Parameters that are optimised in their own way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupConfig {
    /// The group holds every parameter whose path contains this, e.g. `table`.
    pub parameters: String,
    /// Their optimiser; constants such as beta1 are those of the whole training.
    pub optimizer: OptimizerName,
    /// Their largest learning rate, under the same warm-up and decay; 0 freezes them.
    pub learning_rate: f64,
}

const POSITIVE: &str = "a positive number";
const NOT_NEGATIVE: &str = "zero or a positive number";

impl TrainingConfig {
    /// Whether the gradient of a table has only the rows that a batch reads, on one process: gradients of parts of a
    /// batch, which are added up, have all.
    pub fn by_rows(&self) -> bool {
        self.micro_batch == 0
    }

    /// The most pairs that are encoded at once.
    pub fn at_once(&self) -> usize {
        if self.micro_batch == 0 { self.batch } else { self.micro_batch }
    }

    /// The learning rate of step `step` (from 0) of `total`: `(step + 1) / warmup` of the largest during
    /// the warm-up, then the decay, which would reach zero at step `total`.
    pub(crate) fn rate(&self, step: u64, total: u64) -> f64 {
        let warmup = self.warmup as u64;
        if step < warmup {
            return self.learning_rate * (step + 1) as f64 / warmup as f64;
        }
        let done = (step - warmup) as f64 / total.saturating_sub(warmup).max(1) as f64;
        let share = match self.decay {
            Decay::None => 1.0,
            Decay::Linear => 1.0 - done,
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
        };
        self.learning_rate * share
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range.
    pub fn validate(&self) -> Result<(), Error> {
        self.loss.validate()?;
        if let LossConfig::Contrastive { .. } = self.loss {
            let allowed = "0: the contrastive loss compares the pairs of a whole batch";
            Error::ensure(
                self.micro_batch == 0,
                "training.micro_batch",
                self.micro_batch,
                allowed,
            )?;
            Error::ensure(
                self.batch > 1,
                "training.batch",
                self.batch,
                "at least 2, for this loss",
            )?;
        }
        let single = |rate: f64| (rate as f32).is_finite();
        let rate = self.learning_rate;
        let decay = self.weight_decay;
        let share = 0.0..1.0;
        let from_zero = |value: f32| value.is_finite() && value >= 0.0;
        let groups = self.groups.iter().map(|group| group.optimizer);
        let decays = groups.chain([self.optimizer]).any(|name| name == OptimizerName::AdamW);
        let checks: [(bool, &str, &dyn Display, &str); 10] = [
            (self.epochs > 0, "epochs", &self.epochs, "at least 1"),
            (self.batch > 0, "batch", &self.batch, "at least 1"),
            (self.read_every > 0, "read_every", &self.read_every, "at least 1"),
            (rate > 0.0 && single(rate), "learning_rate", &rate, POSITIVE),
            (share.contains(&self.beta1), "beta1", &self.beta1, "a number in [0, 1)"),
            (share.contains(&self.beta2), "beta2", &self.beta2, "a number in [0, 1)"),
            (from_zero(self.epsilon) && self.epsilon > 0.0, "epsilon", &self.epsilon, POSITIVE),
            (from_zero(decay), "weight_decay", &decay, NOT_NEGATIVE),
            (from_zero(self.clip), "clip", &self.clip, NOT_NEGATIVE),
            (decays || decay == 0.0, "weight_decay", &decay, "0, unless an optimizer is \"adamw\""),
        ];
        for (holds, key, found, allowed) in checks {
            Error::ensure(holds, format_args!("training.{key}"), found, allowed)?;
        }
        for group in &self.groups {
            let name = &group.parameters;
            let rate = group.learning_rate;
            let allowed = "a part of a parameter's path";
            Error::ensure(!name.is_empty(), "training.groups.parameters", "\"\"", allowed)?;
            let holds = single(rate) && rate >= 0.0;
            Error::ensure(holds, "training.groups.learning_rate", rate, NOT_NEGATIVE)?;
        }
        self.evaluate_every.validate("training.evaluate_every", self.epochs)
    }
}

dsokr_core::defaults!(temperature: f64 = 0.07);

/// The loss of a prediction z for a pair with target ψ̃(y), mean over the batch.
///
/// All but the last two see `u = ‖z − ψ̃(y)‖² + r(y)`, the squared distance in the kernel's
/// feature space: r is the part of ψ(y) outside of the basis, which no prediction reaches but
/// which counts where losses are cut off (thesis, section 5.2 and appendix C.1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum LossConfig {
    #[default]
    Square(loss::Square),
    Huber(loss::Huber),
    EpsilonInsensitive(loss::EpsilonInsensitive),
    EpsilonInsensitiveSquare(loss::EpsilonInsensitiveSquare),
    /// The contrastive objective of CMAM (Edwards et al. 2021): with `s_ij = cos(z_i, ψ̃(y_j)) / τ` over a
    /// batch, the mean of the two cross-entropies of finding y_i by z_i and z_i by y_i. τ is learned
    /// too, and stays above 0.01.
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
    /// The loss of the distance of a prediction to its target, if it is one.
    pub(crate) fn distance(&self) -> Option<&dyn DistanceLoss> {
        match self {
            Self::Square(loss) => Some(loss),
            Self::Huber(loss) => Some(loss),
            Self::EpsilonInsensitive(loss) => Some(loss),
            Self::EpsilonInsensitiveSquare(loss) => Some(loss),
            Self::Contrastive { .. } | Self::Softmax { .. } => None,
        }
    }

    /// τ at the start, where it is learned.
    pub fn temperature(&self) -> Option<f64> {
        match *self {
            Self::Square(_) | Self::Huber(_) => None,
            Self::EpsilonInsensitive(_) | Self::EpsilonInsensitiveSquare(_) => None,
            Self::Contrastive { temperature } | Self::Softmax { temperature } => Some(temperature),
        }
    }
}

impl LossConfig {
    fn validate(&self) -> Result<(), Error> {
        if let Some(loss) = self.distance() {
            loss.validate().map_err(|error| error.of("training.loss."))?;
        }
        let temperature = self.temperature().unwrap_or(1.0);
        let holds = (0.01..=100.0).contains(&temperature);
        Error::ensure(holds, "training.loss.temperature", temperature, "0.01 to 100")
    }
}
