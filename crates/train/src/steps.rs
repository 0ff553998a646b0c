//! The training loop: a batch, its gradients, a step of the optimiser, and the hooks that are told of it.

use std::fmt::Display;
use std::time::Instant;

use burn::tensor::Tensor;
use dsokr_core::Cancellation;
use dsokr_core::random::generator;
use dsokr_nn::{Encoder, Gradients, Model, RowGradients, in_pool, parameters};

use crate::batches::Batches;
use crate::checkpoint::{Checkpoint, CheckpointSink};
use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::gradients::gradients;
use crate::hooks::{Callback, Estimate, Hook, Keeper};
use crate::loss::{Objective, StepNumber, bounded, check_temperature};
use crate::optimizer::Update;
use crate::progress::{GRADIENT, LOSS, Progress, Stepped};
use crate::sums::{BatchGradients, Sums};
use crate::task::{Event, Observer, Outcome, Task};

/// Minimises the mean loss that the configuration names, from `start` if it is a resumed training.
///
/// Everything random in step s is derived from (seed, s): a training that is resumed from any of
/// its checkpoints ends with the same parameters bit for bit, on the same machine.
///
/// The [ranks](Task::ranks) share it: all call this function with the same task. Each encodes its share of
/// every batch, the gradients are added up in the order of ranks, and every rank makes the same step. The
/// parameters differ from those of one rank only by rounding. The same number of ranks gives the same bits. Only
/// rank 0 validates, calls `sink` and returns the best parameters. A training over several ranks has
/// no gradients by rows.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for a configuration that is not [valid](crate::TrainingConfig::validate), for a loss
/// with a temperature and a model without, and for a device without autodiff; [`Error::Pairs`] for targets of another width
/// than the encoder's predictions; [`Error::Encoder`] for an encoder whose predictions do not have the shape that it promises; [`Error::Optimizer`] for a
/// checkpoint of a different model; [`Error::Diverged`] for a
/// loss, a parameter or a prediction that is not finite; [`Error::Interrupted`] when the training has
/// been [cancelled](Cancellation), after the step at hand, once the state has been stored, or when a pass of the encoder
/// has [cancelled](Cancellation::cancel_because) its step, of which nothing is stored; errors of
/// `validate` and of the sink; [`dsokr_core::Error::Process`] for a rank that cannot be reached or differs in
/// its parameters. The best parameters so far are stored before an error returns.
pub fn train<E: Encoder, M: Display + 'static>(
    task: &Task<E, M>,
    model: Model<E>,
    start: Option<Checkpoint>,
    sink: &mut dyn CheckpointSink<M>,
    observer: &mut dyn Observer,
) -> Result<Outcome<E>, Error> {
    check(task, &model)?;
    let lengths = task.pairs.inputs().iter().map(|input| model.encoder.length(input));
    let lengths: Vec<usize> = lengths.collect();
    let objective = Objective::from_task(task, model.encoder.dimension())?;

    let kept = start.as_ref().map(|checkpoint| checkpoint.step);
    let (mut model, state, optimizer) = restored(task, model, start)?;
    check_trained(&model)?;
    task.ranks.check_same("step at the start", &state.step.to_string())?;

    let alone = task.ranks.size() == 1;
    let row_gradients = RowGradients::default();
    if alone && task.config.by_rows() {
        model.encoder = model.encoder.with_row_gradients(&row_gradients);
    }
    let sums = if alone { None } else { Some(Sums::new(task.ranks, &model, lengths.clone())) };
    let batches = Batches::new(task.seed, lengths, task.config.batch);
    check_steps(task, state.step, &batches)?;

    let progress = Progress::new(task, &batches, state, kept, optimizer, sink, observer);
    let cancellation = Cancellation::current();
    // a cancelled training finishes its step and its evaluation
    let finishing = cancellation.for_part();
    let mut keeper = Keeper::new(task.config, cancellation.clone());
    let mut hooks: [&mut dyn Hook<E, M>; 4] =
        [&mut Callback, &mut Estimate::default(), &mut Evaluation, &mut keeper];
    let mut training = Training {
        progress,
        batches,
        objective,
        row_gradients,
        sums,
        cancellation,
        finishing: finishing.clone(),
    };

    let trained = finishing.scope(|| training.run(model, &mut hooks));
    if trained.is_err() {
        training.progress.store_best()?;
    }
    Ok(training.progress.outcome(trained?))
}

/// Returns the model, the state and the optimiser as a checkpoint has them, or as a new training begins. What the optimiser and
/// the model hold is no longer in the state.
fn restored<E: Encoder, M>(
    task: &Task<E, M>,
    mut model: Model<E>,
    start: Option<Checkpoint>,
) -> Result<(Model<E>, Checkpoint, Update), Error> {
    let mut state = start.unwrap_or_default();
    if task.config.plateau().is_none() {
        // what plateaus have reduced does not hold for another decay
        state.reduced = 1.0;
    }
    if state.step > 0 {
        model = parameters::restore(model, std::mem::take(&mut state.parameters))?;
    }
    let moments = std::mem::take(&mut state.moments);
    let average = std::mem::take(&mut state.average);
    let optimizer = Update::new(task.config, &model).with_state(moments, average, &model)?;
    let model = optimizer.freeze(model);
    Ok((model, state, optimizer))
}

/// Refuses settings that do not fit each other, the pairs or the model.
fn check<E: Encoder, M>(task: &Task<E, M>, model: &Model<E>) -> Result<(), Error> {
    let config = task.config;
    config.validate()?;
    task.pairs.check_width(model.encoder.dimension())?;
    check_temperature(&config.loss, model)?;
    check_autodiff("the device of a training", task.device.is_autodiff())?;
    check_autodiff("the device of the model's parameters", parameters::have_autodiff(model))
}

/// Refuses a device without autodiff.
fn check_autodiff(device: &str, has_autodiff: bool) -> Result<(), Error> {
    let allowed = "one with autodiff, such as `device.autodiff()`: no gradient is known elsewhere";
    Ok(dsokr_core::Error::ensure(has_autodiff, device, "one without autodiff", allowed)?)
}

/// Refuses a training of fewer steps than a checkpoint has done.
fn check_steps<E: Encoder, M>(
    task: &Task<E, M>,
    done: u64,
    batches: &Batches,
) -> Result<(), Error> {
    let epochs = task.config.epochs;
    let least = done.div_ceil(batches.per_epoch().max(1));
    let allowed = format!("at least {least}: {done} steps are done");
    Ok(dsokr_core::Error::ensure(epochs as u64 >= least, "training.epochs", epochs, allowed)?)
}

/// Refuses a model of which all parameters are frozen.
fn check_trained<E: Encoder>(model: &Model<E>) -> Result<(), Error> {
    let mut is_trained = false;
    parameters::visit(model, |_, parameter| is_trained |= parameter.is_trained());
    let allowed = "above 0 for a parameter: with these groups none is trained";
    Ok(dsokr_core::Error::ensure(is_trained, "training.groups.learning_rate", 0, allowed)?)
}

/// A running training.
struct Training<'a, E: Encoder, M> {
    progress: Progress<'a, E, M>,
    batches: Batches,
    objective: Objective<'a>,
    /// What takes gradients of tables by rows.
    row_gradients: RowGradients,
    /// The sums of gradients over several ranks.
    sums: Option<Sums>,
    cancellation: Cancellation,
    /// The cancellation of a step or an evaluation that has begun: it ends where the encoder cannot go on, and not before.
    finishing: Cancellation,
}

/// The gradients of a batch, and the loss that they are of.
struct Descent {
    loss: StepNumber,
    /// The norm of the gradients before they were clipped, where it is known.
    norm: Option<StepNumber>,
    gradients: Gradients,
    /// The factor by which the step scales the gradients, on devices other than the CPU engine.
    factor: Option<Tensor<1>>,
}

impl<E: Encoder, M: Display + 'static> Training<'_, E, M> {
    /// Makes the steps of the training, each with what the hooks do after it, and returns the trained model.
    fn run(
        &mut self,
        mut model: Model<E>,
        hooks: &mut [&mut dyn Hook<E, M>],
    ) -> Result<Model<E>, Error> {
        let device = self.progress.task.device;
        self.progress.tell(|step, total| Event::Start { step, total });
        while !self.progress.is_over() {
            let batch = self.batches.of_step(self.progress.state.step);
            let started = Instant::now();
            let Descent { loss, norm, gradients, factor } = self.descent(&model, &batch)?;
            let learning_rate = self.progress.learning_rate();
            let optimizer = &mut self.progress.optimizer;
            model = in_pool(device, || {
                bounded(optimizer.step(learning_rate, model, gradients, factor))
            });
            self.progress.state.step += 1;
            let mut reads = false;
            for hook in hooks.iter_mut() {
                reads |= hook.reads_loss(&self.progress);
            }
            let stepped = Stepped { loss, norm, learning_rate };
            self.progress.stepped(stepped, batch.len(), started, reads)?;
            for hook in hooks.iter_mut() {
                hook.after_step(&mut self.progress, &model)?;
            }
        }
        self.progress.tell(|step, _| Event::End { step });
        Ok(model)
    }

    /// Returns the gradients of a batch, clipped.
    fn descent(&mut self, model: &Model<E>, batch: &[usize]) -> Result<Descent, Error> {
        let task = self.progress.task;
        let step = self.progress.state.step;
        let mut keys = generator(task.seed, "dropout", step);
        let cancelled = self.cancellation.is_cancelled();
        let shared = self.sums.as_ref().map(|sums| sums.begin(cancelled));
        let mut result =
            gradients(task, model, batch, &self.objective, &self.row_gradients, &mut keys, shared)?;
        self.progress.stop = result.stop;
        if self.finishing.is_cancelled() {
            return Err(self.progress.broken(model));
        }
        let Some(gradients) = result.gradients.take() else {
            // a loss that is not finite has no gradients
            let what = if result.loss.read.is_finite() { GRADIENT } else { LOSS };
            return Err(self.progress.diverged(step, what));
        };
        let BatchGradients { loss, norm, factor, .. } = result;
        Ok(Descent { loss, norm, gradients, factor })
    }
}
