use burn::tensor::Device;
use dsokr_nn::parameters::Parameters;
use dsokr_nn::{Encoder, Model};

use crate::{Error, TrainingConfig};

/// A training problem: inputs, targets, and a function that evaluates the model.
pub struct Task<'a, E: Encoder, M> {
    /// The optimisation's settings.
    pub config: &'a TrainingConfig,
    /// Batches and dropout are drawn from (seed, step).
    pub seed: u64,
    /// The device of the model's parameters, with autodiff.
    pub device: &'a Device,
    /// The n training inputs.
    pub inputs: &'a [E::Input],
    /// Their targets ψ̃(y), `[n × p]` row-major.
    pub targets: &'a [f32],
    /// Their residuals r(y), the part of ψ(y) outside the basis.
    pub residuals: &'a [f64],
    /// Evaluates the model on the validation split.
    #[allow(clippy::type_complexity)]
    pub validate: &'a dyn Fn(&Model<E>) -> Result<Validation<M>, Error>,
}

/// An evaluation on the validation split.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation<M> {
    /// All metrics, for the log.
    pub metrics: M,
    /// The figure that chooses the best checkpoint; larger is better.
    pub score: f64,
}

/// A finished training.
pub struct Outcome<E: Encoder> {
    /// The model after the last step.
    pub model: Model<E>,
    /// The parameters of the best evaluation.
    pub best: Best,
    /// Steps done.
    pub steps: u64,
}

/// Where the parameters of the best evaluation are.
pub enum Best {
    /// In the model: the last evaluation of this training is the best.
    Last,
    /// Here.
    Given(Parameters),
    /// Where the sink stored them, in this training or before it was resumed.
    Stored,
}
