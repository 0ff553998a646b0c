//! What a training is given, and what it gives: the task with its pairs, events for an observer, and the outcome.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use burn::tensor::Device;
use dsokr_core::Processes;
use dsokr_nn::parameters::Parameters;
use dsokr_nn::{Encoder, Model};

use crate::config::TrainingConfig;
use crate::control::Control;
use crate::error::Error;

/// A training problem: pairs, and a function that evaluates the model.
pub struct Task<'a, E: Encoder, M> {
    /// The optimisation's settings.
    pub config: &'a TrainingConfig,
    /// Batches and dropout are drawn from (seed, step).
    pub seed: u64,
    /// The device of the model's parameters, with autodiff.
    pub device: &'a Device,
    /// The training pairs.
    pub pairs: Pairs<'a, E::Input>,
    /// The ranks that share the training, on this thread: by [default](Processes::default) only this process.
    pub ranks: &'a Processes,
    /// Evaluates the model on the validation split.
    #[allow(clippy::type_complexity)]
    pub validate: &'a dyn Fn(&Model<E>) -> Result<Validation<M>, Error>,
}

impl<E: Encoder, M> fmt::Debug for Task<'_, E, M> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Task")
            .field("config", &self.config)
            .field("seed", &self.seed)
            .field("pairs", &self.pairs.inputs.len())
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}

/// n ≥ 1 training pairs: inputs, and the targets of their outputs.
///
/// ```
/// use dsokr_train::Pairs;
///
/// let inputs = ["a", "b"];
/// let pairs = Pairs::new(&inputs, &[0.1, 0.2, 0.3, 0.4], &[0.0, 0.5])?;
/// assert_eq!(pairs.target(1), [0.3, 0.4]);
/// assert!(Pairs::new(&inputs, &[0.1, 0.2, 0.3], &[0.0, 0.5]).is_err());
/// assert!(pairs.weighted(&[1.0, -1.0]).is_err());
/// # Ok::<(), dsokr_train::Error>(())
/// ```
#[derive(Debug)]
pub struct Pairs<'a, I> {
    inputs: &'a [I],
    targets: &'a [f32],
    residuals: &'a [f64],
    weights: &'a [f64],
}

impl<I> Clone for Pairs<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Pairs<'_, I> {}

impl<'a, I> Pairs<'a, I> {
    /// Creates pairs of n inputs, their targets ψ̃(y), `[n × p]` row-major, and their residuals r(y), the part of ψ(y) outside
    /// the basis. All have the same weight.
    ///
    /// # Errors
    /// [`Error::Pairs`] for no inputs, numbers of targets that are no multiple of n, and residuals that are not n, or not
    /// finite numbers from 0; an [`Error::Core`] for a target that is not finite.
    pub fn new(inputs: &'a [I], targets: &'a [f32], residuals: &'a [f64]) -> Result<Self, Error> {
        let n = inputs.len();
        if n == 0 {
            return Err(Error::Pairs("there are none".into()));
        }
        if targets.is_empty() || !targets.len().is_multiple_of(n) {
            let message = format!("{} numbers in the targets of {n} inputs", targets.len());
            return Err(Error::Pairs(message));
        }
        if residuals.len() != n {
            return Err(Error::Pairs(format!("{} residuals for {n} inputs", residuals.len())));
        }
        dsokr_core::Error::check_finite("targets", targets.len() / n, targets)?;
        let refused = |residual: &f64| !(residual.is_finite() && *residual >= 0.0);
        if let Some(pair) = residuals.iter().position(refused) {
            let residual = residuals[pair];
            let message = format!(
                "pair {pair} has a residual of {residual}, expected a finite number from 0"
            );
            return Err(Error::Pairs(message));
        }
        Ok(Self { inputs, targets, residuals, weights: &[] })
    }

    /// Returns the pairs with a weight w each, or with the same one where none are given. The loss of a batch of b pairs is
    /// `Σ_i w_i ℓ_i / (b w̄)`, w̄ being the mean weight of all training pairs, so that a weight has its effect in batches of
    /// any size.
    ///
    /// # Errors
    /// [`Error::Pairs`] for weights that are not n finite numbers above 0.
    pub fn weighted(self, weights: &'a [f64]) -> Result<Self, Error> {
        let n = self.inputs.len();
        if !weights.is_empty() && weights.len() != n {
            return Err(Error::Pairs(format!("{} weights for {n} inputs", weights.len())));
        }
        let refused = |weight: &&f64| !(weight.is_finite() && **weight > 0.0);
        if let Some(weight) = weights.iter().find(refused) {
            return Err(Error::Pairs(format!("a weight of {weight}, which must be above 0")));
        }
        Ok(Self { weights, ..self })
    }

    /// Returns the inputs.
    pub fn inputs(&self) -> &'a [I] {
        self.inputs
    }

    /// Returns the targets ψ̃(y), `[n × p]` row-major.
    pub fn targets(&self) -> &'a [f32] {
        self.targets
    }

    /// Returns the target of a pair.
    pub fn target(&self, pair: usize) -> &'a [f32] {
        let p = self.width();
        &self.targets[pair * p..(pair + 1) * p]
    }

    /// Returns the residuals r(y).
    pub fn residuals(&self) -> &'a [f64] {
        self.residuals
    }

    /// Returns the mean of the residuals, weighted as the loss is: no mean square loss is below it.
    pub(crate) fn mean_residual(&self) -> f64 {
        let residuals = self.residuals.iter();
        match self.weights {
            [] => residuals.sum::<f64>() / self.residuals.len() as f64,
            weights => {
                let weighted = weights.iter().zip(residuals).map(|(weight, r)| weight * r);
                weighted.sum::<f64>() / weights.iter().sum::<f64>()
            }
        }
    }

    /// Returns the weights; empty where all are 1.
    pub fn weights(&self) -> &'a [f64] {
        self.weights
    }

    /// Returns the number p of coordinates of a target.
    pub fn width(&self) -> usize {
        self.targets.len() / self.inputs.len()
    }

    /// Refuses targets that an encoder with p coordinates does not predict.
    pub(crate) fn check_width(&self, p: usize) -> Result<(), Error> {
        let width = self.width();
        if width == p {
            return Ok(());
        }
        let message = format!("targets of {width} coordinates, and the encoder predicts {p}");
        Err(Error::Pairs(message))
    }
}

/// An evaluation on the validation split.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation<M> {
    /// All metrics, for the log.
    pub metrics: M,
    /// The figure that chooses the best checkpoint; larger is better.
    pub score: f64,
    /// The mean loss of the validation pairs, for the log, such as [`mean_loss`](crate::mean_loss) gives.
    pub loss: Option<f64>,
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

impl<E: Encoder> fmt::Debug for Outcome<E> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Outcome").field("steps", &self.steps).finish_non_exhaustive()
    }
}

/// Where the parameters of the best evaluation are.
#[derive(Debug)]
pub enum Best {
    /// The model has them: the last evaluation of this training is the best.
    Last,
    /// These are they.
    Given(Parameters),
    /// The checkpoint has them that the sink wrote, in this training or before it was resumed.
    Checkpoint,
}

/// An event of a training.
#[derive(Clone)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Training starts or continues at `step` of `total`.
    Start {
        /// Steps done before.
        step: u64,
        /// Steps in all.
        total: u64,
    },
    /// A step is done.
    Step {
        /// Steps done.
        step: u64,
        /// Epochs done, a fraction.
        epoch: f64,
        /// Its loss; on a GPU the last one that was [read](TrainingConfig::read_every).
        loss: f64,
        /// The training, which may be asked to go on differently.
        control: &'a Control<'a>,
    },
    /// The first steps have been timed.
    Estimate {
        /// Estimated time to the last step, evaluations not counted.
        left: Duration,
    },
    /// The validation split has been ranked.
    Evaluation {
        /// Steps done.
        step: u64,
        /// Epochs done; a fraction within an epoch.
        epoch: f64,
        /// Mean loss since the last evaluation.
        loss: f64,
        /// The metrics.
        metrics: &'a dyn fmt::Display,
        /// The line of the log, a [`LogLine`](crate::LogLine) of the metrics that the training's
        /// [`Validation`](crate::Validation) holds: in a training of the crate `dsokr` a `LogLine<dsokr::Scores>`, which
        /// `line.downcast_ref` gives.
        line: &'a dyn Any,
        /// Whether they are the best so far.
        best: bool,
        /// Estimated time to the last step.
        left: Duration,
        /// The training, which may be asked to go on differently.
        control: &'a Control<'a>,
    },
    /// A model without steps is about to be fitted.
    Solving {
        /// Training pairs n.
        pairs: usize,
        /// Unknowns for each coordinate: n, or the size of the sketch of the inputs.
        unknowns: usize,
        /// Coordinates p.
        coordinates: usize,
    },
    /// A model without steps has been fitted, and the validation split has been ranked.
    Solved {
        /// A summary of the system and its condition number.
        summary: &'a str,
        /// The metrics.
        metrics: &'a dyn fmt::Display,
        /// The scores as a value of the type that the log's lines of other learners hold.
        scores: &'a dyn Any,
        /// The time of the fit.
        took: Duration,
    },
    /// The training has ended with all its steps, or early. Its last state is kept.
    End {
        /// Steps done.
        step: u64,
    },
    /// A checkpoint has been written, from which the training can be resumed.
    Checkpoint {
        /// Its step.
        step: u64,
    },
    /// Training stops before its last step, because evaluations no longer improve.
    EarlyStop {
        /// Steps done.
        step: u64,
        /// Evaluations without improvement.
        evaluations: usize,
    },
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Start { step: 0, total } => write!(out, "training for {total} steps"),
            Self::Start { step, total } => write!(out, "going on at step {step} of {total}"),
            Self::Step { step, epoch, loss, .. } => {
                write!(out, "step {step}, epoch {epoch:.1}: loss {loss:.4}")
            }
            Self::Estimate { left } => {
                write!(out, "about {} s of training, evaluations not counted", left.as_secs())
            }
            Self::Evaluation { epoch, loss, metrics, best, .. } => {
                let epoch = (epoch * 100.0).round() / 100.0;
                let best = if *best { " (best)" } else { "" };
                write!(out, "epoch {epoch}: loss {loss:.4}, validation {metrics}{best}")
            }
            Self::Solving { pairs, unknowns, coordinates } => {
                write!(
                    out,
                    "solving for {unknowns} unknowns in {coordinates} coordinates on {pairs} pairs"
                )
            }
            Self::Solved { summary, metrics, took, .. } => {
                let took = took.as_secs_f64();
                write!(out, "fitted in {took:.1} s: {summary}; validation {metrics}")
            }
            Self::End { step } => write!(out, "trained for {step} steps"),
            Self::Checkpoint { step } => write!(out, "step {step}: the state is kept"),
            Self::EarlyStop { evaluations, .. } => {
                write!(out, "stopped: no improvement in {evaluations} evaluations")
            }
        }
    }
}

/// Observes a training, and [asks](Control) it to stop, to change its learning rate or to evaluate its model. A
/// [`Cancellation`](dsokr_core::Cancellation) interrupts it.
pub trait Observer: Send {
    /// Handles an event; called for each.
    fn event(&mut self, event: &Event);
}

/// Writes a line to standard error for each event except steps, checkpoints and the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines;

impl Observer for Lines {
    fn event(&mut self, event: &Event) {
        if !matches!(event, Event::Step { .. } | Event::Checkpoint { .. } | Event::End { .. }) {
            eprintln!("{event}");
        }
    }
}

/// Ignores all events.
impl Observer for () {
    fn event(&mut self, _: &Event) {}
}
