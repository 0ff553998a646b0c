use std::fmt::Display;
use std::time::{Duration, Instant};

use dsokr_core::random::generator;
use dsokr_core::{Cancellation, Processes};
use dsokr_nn::parameters::{self, Parameters};
use dsokr_nn::{Encoder, Model, RowGradients, in_pool};

use crate::batches::training;
use crate::checkpoint::{Checkpoint, CheckpointSink, LogLine, checksum};
use crate::config::LossConfig;
use crate::error::Error;
use crate::gradients::gradients;
use crate::loss::{Objective, StepLoss, bounded};
use crate::optimizer::Update;
use crate::sums::{BatchGradients, Sums};
use crate::task::{Best, Event, Observer, Outcome, Task, Validation};

/// The time that is left is estimated after so many steps, or after so much time where steps are slow. The first one
/// does not count: a GPU compiles its kernels then.
const TIMED: (u64, Duration) = (20, Duration::from_secs(4));

/// Best parameters above this size are stored at once. Smaller ones wait for the next checkpoint, and the model's
/// next step copies them.
const HELD_BYTES: usize = 256 << 20;

/// The most steps whose loss is logged, evenly spaced.
const LOGGED: u64 = 2_000;

/// The message for a loss, or a norm of its gradient, that is infinite or NaN.
const LOSS: &str = "the loss or its gradient is not finite";

/// Minimises the mean loss that the configuration names, from `start` if it is a resumed training.
///
/// Everything random in step s is derived from (seed, s): a training that is resumed from any of
/// its checkpoints ends with the same parameters bit for bit, on the same machine.
///
/// The [ranks](Task::ranks) share it: all call this function with the same task. Each encodes its share of
/// every batch, the gradients are added up in the order of ranks, and every rank makes the same step. The
/// parameters differ from those of one rank only by rounding. The same number of ranks gives the same bits. Only
/// rank 0 validates, calls `sink` and returns the best parameters. A training over several ranks has
/// no contrastive loss, and no gradients by rows.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for a configuration that is not [valid](crate::TrainingConfig::validate), and for a loss
/// with a temperature and a model without; [`Error::Pairs`] for targets of another width than the encoder's predictions;
/// [`Error::Encoder`] for an encoder whose predictions do not have the shape that it promises; [`Error::Optimizer`] for a
/// checkpoint of a different model; [`Error::Diverged`] for a
/// loss, a parameter or a prediction that is not finite; [`Error::Interrupted`] when the training has
/// been [cancelled](Cancellation), after the step at hand, once the state has been stored, or when a pass of the encoder
/// has [cancelled](Cancellation::cancel_because) its step, of which nothing is stored; errors of
/// `validate` and of the sink; [`dsokr_core::Error::Process`] for a rank that cannot be reached or differs in
/// its parameters. The best parameters so far are stored before an error returns.
pub fn train<E: Encoder, M: Display + 'static>(
    task: &Task<E, M>,
    mut model: Model<E>,
    start: Option<Checkpoint>,
    sink: &mut dyn CheckpointSink<M>,
    observer: &mut dyn Observer,
) -> Result<Outcome<E>, Error> {
    let config = task.config;
    config.validate()?;
    task.pairs.check_width(model.encoder.dimension())?;
    let inputs = task.pairs.inputs();
    let lengths: Vec<usize> = inputs.iter().map(|input| model.encoder.length(input)).collect();
    let per_epoch = lengths.len().div_ceil(config.batch) as u64;
    let total = per_epoch * config.epochs as u64;
    let warmup = config.warmup;
    if warmup as u64 >= total {
        tracing::warn!(warmup, steps = total, "training ends before the warm-up does");
    }
    let ranks = task.ranks;
    let check = |holds, found, allowed| {
        dsokr_core::Error::ensure(holds, "training.loss.name", found, allowed)
    };
    let holds = config.loss.temperature().is_none() || model.scale.is_some();
    let allowed = "a loss without a temperature, or a model with one";
    check(holds, "a loss with a temperature", allowed)?;
    let holds = ranks.size() == 1 || !matches!(config.loss, LossConfig::Contrastive { .. });
    let allowed = "a loss that compares no pairs of a batch, with several processes";
    check(holds, "contrastive", allowed)?;
    let objective = Objective::from_task(task, model.encoder.dimension())?;
    let mut optimizer = Update::from_config(config);
    let kept = start.as_ref().map(|checkpoint| checkpoint.step);
    let mut state = start.unwrap_or_default();
    if state.step > 0 {
        model = parameters::restore(model, std::mem::take(&mut state.parameters))?;
    }
    optimizer = optimizer.with_moments(std::mem::take(&mut state.moments), &model)?;
    ranks.check_same("step at the start", &state.step.to_string())?;
    let row_gradients = RowGradients::default();
    if config.by_rows() && ranks.size() == 1 {
        model.encoder = model.encoder.with_row_gradients(&row_gradients);
    }
    let begun = Instant::now();
    let cancellation = Cancellation::current();
    let mut training = Training {
        task,
        objective,
        optimizer,
        row_gradients,
        first: state.step,
        state,
        losses: Vec::new(),
        loss: f64::NAN,
        begun,
        total,
        second: None,
        kept,
        kept_at: begun,
        pairs: 0,
        stepping: Duration::ZERO,
        last_is_best: false,
        new_best: None,
        best: None,
        sink,
        observer,
        finishing: cancellation.for_part(),
        cancellation,
        sums: (ranks.size() > 1).then(|| Sums::new(ranks, &model, lengths.clone())),
        ranks,
        stopped: false,
    };
    // a cancelled training finishes its step and its evaluation
    let finishing = training.finishing.clone();
    let done = finishing.scope(|| training.run(model, &lengths, per_epoch));
    if done.is_err() {
        training.store_best()?;
    }
    let model = done?;
    let steps = training.state.step;
    let best = match training.best {
        _ if training.last_is_best => Best::Last,
        Some(best) => Best::Given(best),
        None => Best::Stored,
    };
    Ok(Outcome { model, best, steps })
}

/// The state of a running training.
struct Training<'a, E: Encoder, M> {
    task: &'a Task<'a, E, M>,
    objective: Objective<'a>,
    optimizer: Update,
    /// What takes gradients of tables by rows.
    row_gradients: RowGradients,
    state: Checkpoint,
    /// The losses of the last steps, which have not been read, and the last one that has.
    losses: Vec<StepLoss>,
    loss: f64,
    begun: Instant,
    /// Steps done before.
    first: u64,
    total: u64,
    /// When the second step began, until the time that is left is estimated.
    second: Option<Instant>,
    /// Step and time of the last checkpoint.
    kept: Option<u64>,
    kept_at: Instant,
    /// Pairs since the last evaluation, and the time that their steps took.
    pairs: usize,
    stepping: Duration,
    /// Whether the last evaluation of this call is the best.
    last_is_best: bool,
    /// The best parameters, until the sink takes them, and what it gives back.
    new_best: Option<Parameters>,
    best: Option<Parameters>,
    sink: &'a mut dyn CheckpointSink<M>,
    observer: &'a mut dyn Observer,
    cancellation: Cancellation,
    /// That of a step or an evaluation that has begun: it ends where the encoder cannot go on, and not before.
    finishing: Cancellation,
    ranks: &'a Processes,
    /// The sums of gradients over several ranks.
    sums: Option<Sums>,
    /// Whether a rank of several has been cancelled, as all of them know since the last step.
    stopped: bool,
}

impl<E: Encoder, M: Display + 'static> Training<'_, E, M> {
    fn run(
        &mut self,
        mut model: Model<E>,
        lengths: &[usize],
        per_epoch: u64,
    ) -> Result<Model<E>, Error> {
        let config = self.task.config;
        let task = self.task;
        self.observer.event(&Event::Start { step: self.state.step, total: self.total });
        while self.state.step < self.total && !self.exhausted() {
            let epoch = self.state.step / per_epoch;
            let batches = training(task.seed, epoch, lengths, config.batch);
            for batch in &batches[(self.state.step % per_epoch) as usize..] {
                let started = Instant::now();
                let mut keys = generator(task.seed, "dropout", self.state.step);
                let cancelled = self.cancellation.is_cancelled();
                let step = self.sums.as_ref().map(|sums| sums.begin(cancelled));
                let objective = &self.objective;
                let rows = &self.row_gradients;
                let BatchGradients { loss, gradients, factor, stop } =
                    gradients(task, &model, batch, objective, rows, &mut keys, step)?;
                self.stopped = stop;
                if self.finishing.is_cancelled() {
                    return Err(self.broken(&model));
                }
                let Some(gradients) = gradients else {
                    return Err(self.diverged(self.state.step, LOSS));
                };
                let rate = config.rate(self.state.step, self.total);
                let optimizer = &mut self.optimizer;
                model = in_pool(task.device, || {
                    bounded(optimizer.step(rate, model, gradients, factor))
                });
                self.state.step += 1;
                let epoch = self.state.step as f64 / per_epoch as f64;
                let step = self.state.step;
                let timed = step - self.first;
                let enough = |at: &mut Instant| timed >= TIMED.0 || at.elapsed() >= TIMED.1;
                let estimate = self.second.take_if(enough);
                // the first step, for the observer, every few of them, and what is timed and evaluated
                let due = (timed - 1).is_multiple_of(config.read_every as u64)
                    || estimate.is_some()
                    || step.is_multiple_of(per_epoch)
                    || loss.pending.is_none();
                self.losses.push(loss);
                if due {
                    self.read_losses()?;
                }
                self.pairs += batch.len();
                self.stepping += started.elapsed();
                if timed == 1 {
                    self.second = Some(Instant::now());
                }
                self.observer.event(&Event::Step { step, epoch, loss: self.loss });
                if let Some(second) = estimate {
                    let each = second.elapsed().div_f64((timed - 1) as f64);
                    let left = each.mul_f64((self.total - step) as f64);
                    self.observer.event(&Event::Estimate { left });
                }
                // an epoch's last step is checked after its evaluation
                if !step.is_multiple_of(per_epoch) {
                    self.keep_if_due(&model, false)?;
                }
            }
            let epochs = epoch + 1;
            if epochs.is_multiple_of(config.evaluate_every as u64) || self.state.step == self.total
            {
                self.evaluate(&model, epochs)?;
            }
            let last = self.state.step == self.total || self.exhausted();
            self.keep_if_due(&model, last)?;
        }
        self.observer.event(&Event::End { step: self.state.step });
        Ok(model)
    }

    /// Whether the patience is exhausted.
    fn exhausted(&self) -> bool {
        let patience = self.task.config.patience;
        patience > 0 && self.state.stale >= patience
    }

    /// Reads the losses of the last steps.
    fn read_losses(&mut self) -> Result<(), Error> {
        let losses = StepLoss::read(&std::mem::take(&mut self.losses));
        for (step, loss) in (self.state.step + 1 - losses.len() as u64..).zip(losses) {
            if !loss.is_finite() {
                return Err(self.diverged(step - 1, LOSS));
            }
            self.state.loss_sum += loss;
            self.state.loss_steps += 1;
            self.loss = loss;
            if self.ranks.is_first() && step.is_multiple_of(self.total.div_ceil(LOGGED)) {
                self.sink.step(step, loss, self.task.config.rate(step - 1, self.total))?;
            }
        }
        Ok(())
    }

    fn diverged(&self, step: u64, what: &str) -> Error {
        let learning_rate = self.task.config.rate(step.saturating_sub(1), self.total);
        Error::Diverged { what: what.into(), step, learning_rate, kept: self.kept }
    }

    fn evaluate(&mut self, model: &Model<E>, epoch: u64) -> Result<(), Error> {
        let config = self.task.config;
        if self.ranks.size() > 1 {
            let parameters = checksum(&parameters::collect(model));
            self.ranks.check_same("parameters' checksum", &parameters)?;
        }
        if !self.ranks.is_first() {
            self.state.stale = self.ranks.broadcast_number(0u64)? as usize;
            return Ok(());
        }
        let validated = Processes::default().scope(|| (self.task.validate)(model));
        let Validation { metrics, score } = validated.map_err(|error| match error {
            Error::NotFinite => self.diverged(self.state.step, "a prediction is not finite"),
            other => other,
        })?;
        // a score that is not a number is below all others
        let better = |best: f64| score > best || (best.is_nan() && !score.is_nan());
        let best = self.state.best.is_none_or(better);
        self.last_is_best = best;
        if best {
            (self.state.best, self.state.stale) = (Some(score), 0);
            // frees the memory of the best before
            (self.new_best, self.best) = (None, None);
            let parameters = parameters::collect(model);
            let bytes: usize = parameters.values().map(|p| size_of_val(&*p.values)).sum();
            self.new_best = Some(parameters);
            if bytes > HELD_BYTES {
                self.store_best()?;
            }
        } else {
            self.state.stale += 1;
        }
        let state = &mut self.state;
        let step = state.step;
        let loss = state.loss_sum / state.loss_steps.max(1) as f64;
        (state.loss_sum, state.loss_steps) = (0.0, 0);
        let seconds = self.begun.elapsed().as_secs_f64();
        let each = seconds / (step - self.first).max(1) as f64;
        let left = Duration::from_secs_f64(each * (self.total - step) as f64);
        let pairs_per_second = self.pairs as f64 / self.stepping.as_secs_f64().max(1e-9);
        (self.pairs, self.stepping) = (0, Duration::ZERO);
        let residuals = self.task.pairs.residuals();
        let line = LogLine {
            step,
            epoch,
            loss,
            residual: residuals.iter().sum::<f64>() / residuals.len().max(1) as f64,
            learning_rate: config.rate(step - 1, self.total),
            best,
            seconds,
            pairs_per_second,
            device_bytes: self.task.device.memory_pool_usage().map(|usage| usage.bytes_reserved),
            metrics,
        };
        self.sink.log(&line)?;
        let metrics = &line.metrics;
        let line = &line;
        self.observer.event(&Event::Evaluation { step, epoch, loss, metrics, line, best, left });
        self.ranks.broadcast_number(self.state.stale as u64)?;
        if self.exhausted() && step < self.total {
            let evaluations = self.state.stale;
            self.observer.event(&Event::EarlyStop { step, evaluations });
        }
        Ok(())
    }

    fn store_best(&mut self) -> Result<(), Error> {
        if let Some(best) = self.new_best.take() {
            self.best = self.sink.best(best)?;
        }
        Ok(())
    }

    /// Stores the state at the end, when the training is cancelled, after the first evaluation,
    /// and when the last checkpoint is old enough.
    fn keep_if_due(&mut self, model: &Model<E>, last: bool) -> Result<(), Error> {
        let pause = Duration::from_secs(self.task.config.checkpoint_seconds);
        let alone = self.ranks.size() == 1;
        let stop = !last && if alone { self.cancellation.is_cancelled() } else { self.stopped };
        if !self.ranks.is_first() {
            return if stop { self.interrupted() } else { Ok(()) };
        }
        let first = self.kept.is_none() && self.state.best.is_some();
        if !(last || stop || first || self.kept_at.elapsed() >= pause) {
            return Ok(());
        }
        self.keep(model)?;
        if stop { self.interrupted() } else { Ok(()) }
    }

    /// The error of a step whose passes did not come to their end. The state is that of the step before, and is stored.
    fn broken(&mut self, model: &Model<E>) -> Error {
        let step = self.state.step;
        if self.kept == Some(step) {
            return Error::Interrupted { step };
        }
        if step == 0 || !self.ranks.is_first() {
            return dsokr_core::Error::Cancelled.into();
        }
        match self.keep(model) {
            Ok(()) => Error::Interrupted { step },
            Err(error) => error,
        }
    }

    /// Stores the state.
    fn keep(&mut self, model: &Model<E>) -> Result<(), Error> {
        self.read_losses()?;
        self.state.parameters = parameters::collect(model);
        if let Some((name, _)) = parameters::not_finite(&self.state.parameters) {
            let what = format!("parameter {name} is not finite");
            return Err(self.diverged(self.state.step, &what));
        }
        self.state.moments = self.optimizer.moments();
        self.store_best()?;
        self.sink.checkpoint(&self.state)?;
        self.state.parameters.clear();
        self.state.moments.clear();
        let step = self.state.step;
        (self.kept, self.kept_at) = (Some(step), Instant::now());
        self.observer.event(&Event::Checkpoint { step });
        Ok(())
    }

    /// Ends a cancelled training, on all ranks once rank 0 has stored the state.
    fn interrupted(&self) -> Result<(), Error> {
        self.ranks.gather(&[])?;
        Err(Error::Interrupted { step: self.state.step })
    }
}
