//! The evaluations of a training on the validation split.

use std::fmt::Display;
use std::time::Duration;

use dsokr_nn::{Encoder, Model, parameters};

use crate::checkpoint::{LogLine, checksum};
use crate::control::Requests;
use crate::error::Error;
use crate::hooks::Hook;
use crate::loss::bounded;
use crate::progress::Progress;
use crate::task::{Event, Validation};

/// Evaluates the model after the epochs or steps that the configuration names, where the observer asks for it, and after
/// the last step, and notes which evaluation is the best.
pub(crate) struct Evaluation;

impl<E: Encoder, M: Display + 'static> Hook<E, M> for Evaluation {
    fn reads_loss(&mut self, progress: &Progress<E, M>) -> bool {
        progress.is_end_of_epoch() || is_due(progress)
    }

    fn after_step(&mut self, progress: &mut Progress<E, M>, model: &Model<E>) -> Result<(), Error> {
        if is_due(progress) || progress.evaluate || progress.is_over() {
            evaluate(progress, model)?;
        }
        // what is asked for at an evaluation is that evaluation
        progress.evaluate = false;
        Ok(())
    }
}

/// Returns whether the configuration asks for an evaluation after the step that has been done.
fn is_due<E: Encoder, M>(progress: &Progress<E, M>) -> bool {
    progress.task.config.evaluate_every.is_due(progress.state.step, progress.per_epoch)
}

/// Evaluates the model, on rank 0 of several.
fn evaluate<E: Encoder, M: Display + 'static>(
    progress: &mut Progress<E, M>,
    model: &Model<E>,
) -> Result<(), Error> {
    progress.read_losses()?;
    let ranks = progress.task.ranks;
    let averaged = progress.optimizer.averaged(model).map(bounded);
    let model = averaged.as_ref().unwrap_or(model);
    if ranks.size() > 1 {
        ranks.check_same("parameters' checksum", &checksum(&parameters::collect(model)))?;
    }
    if !ranks.is_first() {
        progress.state.stale = ranks.broadcast_number(0u64)? as usize;
        progress.state.reduced = f64::from_bits(ranks.broadcast_number(0u64)?);
        let requests = progress.control(model).requests();
        return progress.follow(requests);
    }
    let validated = (progress.task.validate)(model);
    let Validation { metrics, score, loss } = validated.map_err(|error| match error {
        Error::NotFinite => progress.diverged(progress.state.step, "a prediction is not finite"),
        other => other,
    })?;
    // a score that is not a number is below all others
    let is_better = |best: f64| score > best || (best.is_nan() && !score.is_nan());
    let is_best = progress.state.best.is_none_or(is_better);
    if is_best {
        progress.state.best = Some(score);
        progress.take_best(model)?;
    } else {
        progress.keep_best();
    }
    // The observer may ask for the rate of the next step, which a plateau reduces.
    progress.evaluated(is_best);
    let requests = log(progress, model, Validation { metrics, score, loss }, is_best)?;
    ranks.broadcast_number(progress.state.stale as u64)?;
    ranks.broadcast_number(progress.state.reduced.to_bits())?;
    progress.follow(requests)?;
    if progress.is_exhausted() && progress.left() > 0 {
        let evaluations = progress.state.stale;
        progress.tell(|step, _| Event::EarlyStop { step, evaluations });
    }
    Ok(())
}

/// Gives an evaluation to the sink and the observer, and begins the sums of the next one. Returns what the observer asks
/// for.
fn log<E: Encoder, M: Display + 'static>(
    progress: &mut Progress<E, M>,
    model: &Model<E>,
    validation: Validation<M>,
    best: bool,
) -> Result<Requests, Error> {
    let task = progress.task;
    let step = progress.state.step;
    let epoch = step as f64 / progress.per_epoch as f64;
    let loss = progress.state.loss_sum / progress.state.loss_steps.max(1) as f64;
    let seconds = progress.begun.elapsed().as_secs_f64();
    let each = seconds / progress.steps().max(1) as f64;
    // longer than a duration can be, of a training of very many steps
    let left = each * progress.left() as f64;
    let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
    let line = LogLine {
        step,
        epoch,
        loss,
        residual: task.pairs.mean_residual(),
        validation_loss: validation.loss,
        learning_rate: progress.rate,
        gradient_norm: progress.norm,
        best,
        seconds,
        pairs_per_second: progress.pairs as f64 / progress.stepping.as_secs_f64().max(1e-9),
        device_bytes: task.device.memory_pool_usage().map(|usage| usage.bytes_reserved),
        metrics: validation.metrics,
    };
    progress.state.loss_sum = 0.0;
    progress.state.loss_steps = 0;
    progress.pairs = 0;
    progress.stepping = Duration::ZERO;
    progress.sink.log(&line)?;
    let metrics = &line.metrics;
    let line = &line;
    let control = &progress.control(model);
    let event = Event::Evaluation { step, epoch, loss, metrics, line, best, left, control };
    progress.observer.event(&event);
    Ok(control.requests())
}
