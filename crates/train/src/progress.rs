//! How far a training has come: what its hooks see and change.

use std::fmt::Display;
use std::time::{Duration, Instant};

use dsokr_nn::parameters::{self, Parameters};
use dsokr_nn::{Encoder, Model};

use crate::batches::Batches;
use crate::checkpoint::{Checkpoint, CheckpointSink, StepNumbers};
use crate::control::{Control, Requests};
use crate::error::Error;
use crate::loss::{StepNumber, bounded};
use crate::optimizer::Update;
use crate::task::{Best, Event, Observer, Outcome, Task};

/// The message for a loss that is infinite or NaN.
pub(crate) const LOSS: &str = "the loss is not finite";
/// The message for a gradient whose norm is infinite or NaN, of a loss that is finite.
pub(crate) const GRADIENT: &str = "the gradient of the loss is not finite";

/// The most steps whose loss is logged, evenly spaced.
const LOGGED: u64 = 2_000;

/// Best parameters above this size are stored at once. Smaller ones wait for the next checkpoint, and the model's
/// next step copies them.
const HELD_BYTES: usize = 256 << 20;

/// How far a training has come.
pub(crate) struct Progress<'a, E: Encoder, M> {
    pub task: &'a Task<'a, E, M>,
    /// The state that checkpoints hold. Parameters and moments are filled in where one is written.
    pub state: Checkpoint,
    pub optimizer: Update,
    /// Steps of an epoch.
    pub per_epoch: u64,
    /// Steps in all.
    pub total: u64,
    /// Steps done before this call.
    first: u64,
    /// When the training began or was resumed.
    pub begun: Instant,
    /// Pairs since the last evaluation, and the time that their steps took.
    pub pairs: usize,
    pub stepping: Duration,
    /// The last steps, whose losses have not been read.
    unread: Vec<Stepped>,
    /// The last loss that has been read.
    pub loss: f64,
    /// The norm of the gradient of the same step, where it is known.
    pub norm: Option<f64>,
    /// The step of the last checkpoint, and when it was written.
    pub kept: Option<u64>,
    pub kept_at: Instant,
    /// The learning rate of the last step.
    pub rate: f64,
    /// Whether the observer has asked for an evaluation after the last step.
    pub evaluate: bool,
    /// Whether a rank of several has been cancelled, as all of them know since the last step.
    pub stop: bool,
    best: BestParameters,
    pub sink: &'a mut dyn CheckpointSink<M>,
    pub observer: &'a mut dyn Observer,
}

/// What is known of a step that has been done.
pub(crate) struct Stepped {
    pub loss: StepNumber,
    /// The norm of its gradient, where it is known.
    pub norm: Option<StepNumber>,
    pub learning_rate: f64,
}

/// The parameters of the best evaluation.
#[derive(Default)]
struct BestParameters {
    /// Whether the last evaluation of this call is the best.
    is_last: bool,
    /// The step of that evaluation and the parameters, until the sink takes them.
    new: Option<(u64, Parameters)>,
    /// The parameters that the sink has given back.
    given_back: Option<Parameters>,
}

impl<'a, E: Encoder, M: Display + 'static> Progress<'a, E, M> {
    /// Creates the progress of a training that begins with `state`, of which `kept` is on disk.
    pub fn new(
        task: &'a Task<'a, E, M>,
        batches: &Batches,
        state: Checkpoint,
        kept: Option<u64>,
        optimizer: Update,
        sink: &'a mut dyn CheckpointSink<M>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let per_epoch = batches.per_epoch();
        let total = per_epoch * task.config.epochs as u64;
        let warmup = task.config.warmup;
        if warmup as u64 >= total {
            tracing::warn!(warmup, steps = total, "training ends before the warm-up does");
        }
        let last = task.config.rate(state.step.saturating_sub(1), total, state.reduced);
        let rate = state.rate.of(last);
        let begun = Instant::now();
        Self {
            task,
            first: state.step,
            state,
            optimizer,
            per_epoch,
            total,
            begun,
            pairs: 0,
            stepping: Duration::ZERO,
            unread: Vec::new(),
            loss: f64::NAN,
            norm: None,
            kept,
            kept_at: begun,
            rate,
            evaluate: false,
            stop: false,
            best: BestParameters::default(),
            sink,
            observer,
        }
    }

    /// Returns whether all steps are done, the patience is exhausted, or the observer has stopped the training.
    pub fn is_over(&self) -> bool {
        self.state.step >= self.total || self.is_exhausted() || self.is_stopped()
    }

    /// Returns whether the observer has stopped a training of as many steps.
    pub fn is_stopped(&self) -> bool {
        self.state.stopped.is_some_and(|total| self.total <= total)
    }

    /// Returns whether the patience is exhausted.
    pub fn is_exhausted(&self) -> bool {
        let patience = self.task.config.patience;
        patience > 0 && self.state.stale >= patience
    }

    /// Returns the number of steps that this call has done.
    pub fn steps(&self) -> u64 {
        self.state.step - self.first
    }

    /// Returns the number of steps that are left.
    pub fn left(&self) -> u64 {
        self.total - self.state.step
    }

    /// Returns whether the last step was the last one of its epoch.
    pub fn is_end_of_epoch(&self) -> bool {
        self.state.step.is_multiple_of(self.per_epoch)
    }

    /// Returns the learning rate of the next step.
    pub fn learning_rate(&self) -> f64 {
        self.state.rate.of(self.scheduled())
    }

    /// Returns the learning rate of the next step by the schedule.
    fn scheduled(&self) -> f64 {
        self.task.config.rate(self.state.step, self.total, self.state.reduced)
    }

    /// Tells the observer of an event, made from the number of steps done and of all.
    pub fn tell<'e>(&mut self, event: impl FnOnce(u64, u64) -> Event<'e>) {
        self.observer.event(&event(self.state.step, self.total));
    }

    /// Returns the training after the last step, for the observer.
    pub fn control<'m>(&self, model: &'m Model<E>) -> Control<'m> {
        Control::new(model, self.scheduled(), self.state.rate)
    }

    /// Does what the observer of rank 0 has asked for, on all ranks.
    pub fn follow(&mut self, requests: Requests) -> Result<(), Error> {
        let Requests { stop, evaluate, rate } = requests.of_first(self.task.ranks)?;
        self.state.rate = rate;
        self.evaluate |= evaluate;
        if stop && self.left() > 0 {
            self.state.stopped = Some(self.total);
        }
        Ok(())
    }

    /// Notes a step over so many pairs, and reads its loss where that is known, or a hook looks at it, or every few
    /// steps for the observer.
    pub fn stepped(
        &mut self,
        step: Stepped,
        pairs: usize,
        started: Instant,
        hook_reads: bool,
    ) -> Result<(), Error> {
        let every = self.task.config.read_every as u64;
        let is_known = step.loss.pending.is_none();
        let read = hook_reads || is_known || (self.steps() - 1).is_multiple_of(every);
        self.rate = step.learning_rate;
        self.unread.push(step);
        if read {
            self.read_losses()?;
        }
        self.pairs += pairs;
        self.stepping += started.elapsed();
        Ok(())
    }

    /// Reads losses and norms of the last steps.
    pub fn read_losses(&mut self) -> Result<(), Error> {
        let unread = std::mem::take(&mut self.unread);
        let first = self.state.step + 1 - unread.len() as u64;
        let mut steps = Vec::new();
        let mut losses = Vec::new();
        let mut norms = Vec::new();
        for Stepped { loss, norm, learning_rate } in unread {
            steps.push((norm.is_some(), learning_rate));
            losses.push(loss);
            norms.extend(norm);
        }
        losses.append(&mut norms);
        let mut read = StepNumber::read(&losses);
        let mut norms = read.split_off(steps.len()).into_iter();
        for ((step, loss), (has_norm, learning_rate)) in (first..).zip(read).zip(steps) {
            let norm = if has_norm { norms.next() } else { None };
            if !loss.is_finite() {
                return Err(self.diverged(step - 1, LOSS));
            }
            self.state.loss_sum += loss;
            self.state.loss_steps += 1;
            self.loss = loss;
            self.norm = norm;
            let is_logged = step.is_multiple_of(self.total.div_ceil(LOGGED));
            if is_logged && self.task.ranks.is_first() {
                self.sink.step(StepNumbers { step, loss, learning_rate, gradient_norm: norm })?;
            }
        }
        Ok(())
    }

    /// Returns the error for a value that is not finite, after a step at the last rate.
    pub fn diverged(&self, step: u64, what: &str) -> Error {
        let learning_rate = self.rate;
        let is_clipped = self.task.config.clip > 0.0;
        Error::Diverged { what: what.into(), step, learning_rate, is_clipped, kept: self.kept }
    }

    /// Notes whether an evaluation is the best so far; enough that are not reduce the rate of the decay `plateau`.
    pub fn evaluated(&mut self, is_best: bool) {
        if is_best {
            self.state.stale = 0;
            self.state.waited = 0;
            return;
        }
        self.state.stale += 1;
        let Some((patience, factor)) = self.task.config.plateau() else { return };
        self.state.waited += 1;
        if self.state.waited > patience {
            self.state.waited = 0;
            self.state.reduced *= factor;
        }
    }

    /// Takes the parameters of an evaluation that is the best so far.
    pub fn take_best(&mut self, model: &Model<E>) -> Result<(), Error> {
        // frees the memory of the best before
        self.best = BestParameters::default();
        let parameters = parameters::collect(model);
        let bytes: usize = parameters.values().map(|p| size_of_val(&*p.values)).sum();
        let new = Some((self.state.step, parameters));
        self.best = BestParameters { is_last: true, new, given_back: None };
        if bytes > HELD_BYTES {
            self.store_best()?;
        }
        Ok(())
    }

    /// Notes an evaluation that is not the best.
    pub fn keep_best(&mut self) {
        self.best.is_last = false;
    }

    /// Gives the best parameters to the sink, unless it has them.
    pub fn store_best(&mut self) -> Result<(), Error> {
        if let Some((step, parameters)) = self.best.new.take() {
            self.best.given_back = self.sink.best(step, parameters)?;
        }
        Ok(())
    }

    /// Stores the state, as a checkpoint that is asked for, or only because the training is interrupted.
    pub fn keep(&mut self, model: &Model<E>, is_asked_for: bool) -> Result<(), Error> {
        self.read_losses()?;
        self.state.parameters = parameters::collect(model);
        if let Some((name, _)) = parameters::not_finite(&self.state.parameters) {
            let what = format!("parameter {name} is not finite");
            return Err(self.diverged(self.state.step, &what));
        }
        self.state.average = self.optimizer.average(model);
        self.state.moments = self.optimizer.moments();
        self.store_best()?;
        if is_asked_for {
            self.sink.checkpoint(&self.state)?;
        } else {
            self.sink.interrupted(&self.state)?;
        }
        self.state.parameters.clear();
        self.state.average.clear();
        self.state.moments.clear();
        self.kept = Some(self.state.step);
        self.kept_at = Instant::now();
        self.tell(|step, _| Event::Checkpoint { step });
        Ok(())
    }

    /// Returns the error of a step whose passes did not come to their end. The state is that of the step before, and is stored.
    pub fn broken(&mut self, model: &Model<E>) -> Error {
        let step = self.state.step;
        if self.kept == Some(step) {
            return Error::Interrupted { step };
        }
        if step == 0 || !self.task.ranks.is_first() {
            return dsokr_core::Error::Cancelled.into();
        }
        match self.keep(model, false) {
            Ok(()) => Error::Interrupted { step },
            Err(error) => error,
        }
    }

    /// Returns the finished training.
    pub fn outcome(self, model: Model<E>) -> Outcome<E> {
        let best = match self.best {
            BestParameters { is_last: true, .. } => Best::Last,
            BestParameters { given_back: Some(best), .. } => Best::Given(best),
            BestParameters { given_back: None, .. } => Best::Checkpoint,
        };
        let model = self.optimizer.averaged(&model).map_or(model, bounded);
        Outcome { model, best, steps: self.state.step }
    }
}
