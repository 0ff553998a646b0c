use std::time::{Duration, Instant};

use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};
use dsokr_basis::random::generator;
use dsokr_decode::Metrics;
use dsokr_nn::parameters::{self, Parameters};
use dsokr_nn::{Encoder, Model, Pass};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::batches::training;
use super::clip::clip;
use super::{Checkpoint, Event, Observer, Update, learning_rate};
use crate::Error;
use crate::config::TrainingConfig;

/// What is to be learnt: inputs, targets, and how a model is judged.
pub struct Task<'a, E: Encoder> {
    /// The optimisation's settings.
    pub config: &'a TrainingConfig,
    /// Batches and dropout are drawn from (seed, step).
    pub seed: u64,
    /// Where the model's parameters are; with autodiff.
    pub device: &'a Device,
    /// The n training inputs.
    pub inputs: &'a [E::Input],
    /// Their targets ψ̃(y), `[n × p]` row-major.
    pub targets: &'a [f32],
    /// Their residuals r(y), the part of ψ(y) outside the basis: constant in the square loss.
    pub residuals: &'a [f64],
    /// Ranks the validation split.
    #[allow(clippy::type_complexity)]
    pub validate: &'a dyn Fn(&Model<E>) -> Result<Metrics, Error>,
}

/// One line of `log.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Steps done.
    pub step: u64,
    /// Epochs done.
    pub epoch: u64,
    /// Mean of `‖z − ψ̃(y)‖² + r(y)` over the steps since the last evaluation.
    pub loss: f64,
    /// Mean of r(y) over the training outputs: the loss that no model can go below.
    pub residual: f64,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Whether this evaluation is the best so far.
    pub best: bool,
    /// Seconds since training started or was resumed.
    pub seconds: f64,
    /// Metrics of the validation split.
    pub metrics: Metrics,
}

/// Where a training's state is kept. `()` keeps nothing.
pub trait Keeper {
    /// Takes the result of an evaluation.
    ///
    /// # Errors
    /// What the file system reports.
    fn log(&mut self, line: &LogLine) -> Result<(), Error>;

    /// Takes a state to resume from, after the best parameters if they are new.
    ///
    /// # Errors
    /// What the file system reports.
    fn keep(&mut self, checkpoint: &Checkpoint, best: Option<&Parameters>) -> Result<(), Error>;
}

impl Keeper for () {
    fn log(&mut self, _: &LogLine) -> Result<(), Error> {
        Ok(())
    }

    fn keep(&mut self, _: &Checkpoint, _: Option<&Parameters>) -> Result<(), Error> {
        Ok(())
    }
}

/// A finished training.
pub struct Outcome<E: Encoder> {
    /// The model after the last step.
    pub model: Model<E>,
    /// Parameters of the best evaluation, unless it was before the checkpoint that training was
    /// resumed from.
    pub best: Option<Parameters<'static>>,
    /// Steps done.
    pub steps: u64,
}

/// Minimises the square loss `mean ‖z − ψ̃(y)‖²`, from `start` if it is a resumed training.
///
/// Whatever is random in step s is derived from (seed, s): a training that is resumed from any of
/// its checkpoints ends with the same parameters bit for bit, on the same machine with the same
/// number of threads.
///
/// # Errors
/// [`Error::Diverged`] for a loss that is not finite; [`Error::Interrupted`] when the observer asks
/// to stop, after the state has been kept; whatever `validate` and the keeper report.
pub fn train<E: Encoder>(
    task: &Task<E>,
    mut model: Model<E>,
    start: Option<Checkpoint>,
    keeper: &mut dyn Keeper,
    observer: &mut dyn Observer,
) -> Result<Outcome<E>, Error> {
    let config = task.config;
    let mut state = start.unwrap_or_default();
    let mut optimizer = Update::of(config);
    if state.step > 0 {
        model = parameters::restore(model, &state.parameters)?;
        optimizer = state.restore_optimizer(optimizer)?;
    }
    state.parameters.clear();
    state.optimizer.clear();
    let lengths: Vec<usize> = task.inputs.iter().map(|input| model.encoder.length(input)).collect();
    let per_epoch = lengths.len().div_ceil(config.batch) as u64;
    let total = per_epoch * config.epochs as u64;
    let residual = task.residuals.iter().sum::<f64>() / task.residuals.len().max(1) as f64;
    let (begun, first) = (Instant::now(), state.step);
    let mut kept_at = Instant::now();
    let mut kept_step = state.step;
    let mut new_best: Option<Parameters<'static>> = None;
    let mut best: Option<Parameters<'static>> = None;
    observer.event(&Event::Start { step: state.step, total });
    let exhausted = |state: &Checkpoint| config.patience > 0 && state.stale >= config.patience;

    while state.step < total && !exhausted(&state) {
        let epoch = state.step / per_epoch;
        let batches = training(task.seed, epoch, &lengths, config.batch);
        for batch in &batches[(state.step % per_epoch) as usize..] {
            let rate = learning_rate(config, state.step, total);
            let key = generator(task.seed, "dropout", state.step).next_u64();
            let (loss, gradients) = gradients(task, &model, batch, Pass::Train { key })?;
            if !loss.is_finite() {
                let (step, learning_rate) = (state.step + 1, rate);
                return Err(Error::Diverged { step, loss, learning_rate, kept: kept_step });
            }
            model = optimizer.step(rate, model, gradients);
            state.step += 1;
            state.loss_sum += loss;
            state.loss_steps += 1;
            let epochs = state.step as f64 / per_epoch as f64;
            observer.event(&Event::Step { step: state.step, epoch: epochs, loss });
            let inside_epoch = !state.step.is_multiple_of(per_epoch);
            if inside_epoch && observer.stop() {
                keep(&mut state, &model, &optimizer, keeper, observer, new_best.as_ref())?;
                return Err(Error::Interrupted { step: state.step });
            }
        }
        let epochs = epoch + 1;
        if epochs.is_multiple_of(config.evaluate_every as u64) || state.step == total {
            let metrics = (task.validate)(&model)?;
            let score = config.metric.score(&metrics);
            let improved = state.best.is_none_or(|best| score > best);
            if improved {
                (state.best, state.stale) = (Some(score), 0);
                new_best = Some(parameters::collect(&model));
            } else {
                state.stale += 1;
            }
            let loss = state.loss_sum / state.loss_steps.max(1) as f64;
            (state.loss_sum, state.loss_steps) = (0.0, 0);
            let seconds = begun.elapsed().as_secs_f64();
            let each = seconds / (state.step - first) as f64;
            let left = Duration::from_secs_f64(each * (total - state.step) as f64);
            let learning_rate = learning_rate(config, state.step - 1, total);
            let step = state.step;
            keeper.log(&LogLine {
                step,
                epoch: epochs,
                loss,
                residual,
                learning_rate,
                best: improved,
                seconds,
                metrics: metrics.clone(),
            })?;
            let metrics = &metrics;
            observer.event(&Event::Evaluation {
                step,
                epoch: epochs,
                loss,
                metrics,
                best: improved,
                left,
            });
            if exhausted(&state) {
                observer.event(&Event::EarlyStop { step, evaluations: state.stale });
            }
        }
        let stop = observer.stop() && state.step < total;
        let due = kept_at.elapsed() >= Duration::from_secs(config.checkpoint_seconds);
        if stop || due || exhausted(&state) || state.step == total {
            keep(&mut state, &model, &optimizer, keeper, observer, new_best.as_ref())?;
            best = new_best.take().or(best);
            (kept_at, kept_step) = (Instant::now(), state.step);
        }
        if stop && !exhausted(&state) {
            return Err(Error::Interrupted { step: state.step });
        }
    }
    Ok(Outcome { model, best, steps: state.step })
}

/// The batch's loss (residual included) and its gradients, clipped.
fn gradients<E: Encoder>(
    task: &Task<E>,
    model: &Model<E>,
    batch: &[usize],
    pass: Pass,
) -> Result<(f64, GradientsParams), Error> {
    let p = model.encoder.dimension();
    let inputs: Vec<&E::Input> = batch.iter().map(|&i| &task.inputs[i]).collect();
    let rows: Vec<f32> =
        batch.iter().flat_map(|&i| task.targets[i * p..(i + 1) * p].iter().copied()).collect();
    let residual = batch.iter().map(|&i| task.residuals[i]).sum::<f64>() / batch.len() as f64;
    let targets = Tensor::<2>::from_data(TensorData::new(rows, [batch.len(), p]), task.device);
    let z = model.coordinates(&inputs, pass);
    let loss = (z - targets).square().sum() / batch.len() as f32;
    let value = f64::from(loss.clone().into_scalar::<f32>()) + residual;
    if !value.is_finite() {
        return Ok((value, GradientsParams::new()));
    }
    let mut gradients = GradientsParams::from_grads(loss.backward(), model);
    if task.config.clip > 0.0 {
        clip(model, &mut gradients, task.config.clip);
    }
    Ok((value, gradients))
}

fn keep<E: Encoder>(
    state: &mut Checkpoint,
    model: &Model<E>,
    optimizer: &ModuleOptimizer,
    keeper: &mut dyn Keeper,
    observer: &mut dyn Observer,
    best: Option<&Parameters>,
) -> Result<(), Error> {
    state.parameters = parameters::collect(model);
    state.optimizer = Checkpoint::optimizer_bytes(optimizer)?;
    keeper.keep(state, best)?;
    state.parameters.clear();
    state.optimizer = Vec::new();
    observer.event(&Event::Checkpoint { step: state.step });
    Ok(())
}
