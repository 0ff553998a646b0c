use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::check;
use crate::{Error, LossConfig};

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

/// Optimisation of the mean loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingConfig {
    /// The loss of a pair; the square loss, if left out.
    pub loss: LossConfig,
    /// Passes over the training pairs.
    pub epochs: usize,
    /// Pairs a step.
    pub batch: usize,
    /// Pairs encoded at once: gradients of parts of a batch are added up, so that a batch needs the
    /// memory of a part; 0 for the whole batch at once.
    pub micro_batch: usize,
    /// The optimiser.
    pub optimizer: OptimizerName,
    /// Largest learning rate, reached after the warm-up.
    pub learning_rate: f64,
    /// Decay of the first moment, in `[0, 1)`.
    pub beta1: f32,
    /// Decay of the second moment, in `[0, 1)`.
    pub beta2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Decoupled weight decay; `adamw` only.
    pub weight_decay: f32,
    /// Steps over which the learning rate rises from zero.
    pub warmup: usize,
    /// How it falls afterwards.
    pub decay: Decay,
    /// Gradients longer than this (over all parameters) are shortened to it; 0 leaves them.
    pub clip: f32,
    /// Epochs between two evaluations on the validation split.
    pub evaluate_every: usize,
    /// Evaluations without improvement after which training stops; 0 never stops early.
    pub patience: usize,
    /// Seconds between two checkpoints for `--resume`; the first is taken after the first evaluation.
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

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            loss: LossConfig::default(),
            epochs: 20,
            batch: 32,
            micro_batch: 0,
            optimizer: OptimizerName::AdamW,
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            warmup: 100,
            decay: Decay::Linear,
            clip: 1.0,
            evaluate_every: 1,
            patience: 0,
            checkpoint_seconds: 60,
            groups: Vec::new(),
        }
    }
}

const POSITIVE: &str = "a positive number";
const NOT_NEGATIVE: &str = "zero or a positive number";

impl TrainingConfig {
    /// Whether every parameter is optimised by gradient descent without momentum, which leaves a parameter
    /// without gradient as it is.
    pub(crate) fn is_plain_descent(&self) -> bool {
        let mut optimizers = self.groups.iter().map(|group| group.optimizer);
        self.optimizer == OptimizerName::Sgd && optimizers.all(|name| name == OptimizerName::Sgd)
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range.
    pub fn validate(&self) -> Result<(), Error> {
        self.loss.validate()?;
        if let LossConfig::Contrastive(_) = self.loss {
            let allowed = "0: the contrastive loss compares the pairs of a whole batch";
            check(self.micro_batch == 0, "training.micro_batch", self.micro_batch, allowed)?;
            check(self.batch > 1, "training.batch", self.batch, "at least 2, for this loss")?;
        }
        check(self.epochs > 0, "training.epochs", self.epochs, "at least 1")?;
        check(self.batch > 0, "training.batch", self.batch, "at least 1")?;
        let positive = |v: f64| v.is_finite() && v > 0.0;
        let rate = self.learning_rate;
        let single = |rate: f64| (rate as f32).is_finite();
        let holds = positive(rate) && single(rate);
        check(holds, "training.learning_rate", rate, POSITIVE)?;
        for (key, beta) in [("training.beta1", self.beta1), ("training.beta2", self.beta2)] {
            check((0.0..1.0).contains(&beta), key, beta, "a number in [0, 1)")?;
        }
        check(positive(self.epsilon.into()), "training.epsilon", self.epsilon, POSITIVE)?;
        let (decay, clip) = (self.weight_decay, self.clip);
        for (key, v) in [("training.weight_decay", decay), ("training.clip", clip)] {
            check(v.is_finite() && v >= 0.0, key, v, NOT_NEGATIVE)?;
        }
        let groups = self.groups.iter().map(|group| group.optimizer);
        let decays = groups.chain([self.optimizer]).any(|name| name == OptimizerName::AdamW);
        let allowed = "0, unless an optimizer is \"adamw\"";
        check(decays || decay == 0.0, "training.weight_decay", decay, allowed)?;
        for group in &self.groups {
            let (name, rate) = (&group.parameters, group.learning_rate);
            let allowed = "a part of a parameter's path";
            check(!name.is_empty(), "training.groups.parameters", "\"\"", allowed)?;
            let holds = single(rate) && rate >= 0.0;
            check(holds, "training.groups.learning_rate", rate, NOT_NEGATIVE)?;
        }
        let (every, allowed) = (self.evaluate_every, "1 to training.epochs");
        check(every > 0 && every <= self.epochs, "training.evaluate_every", every, allowed)
    }
}
