//! What happens after each step: the hooks are called in their order. An error of a hook ends the training.

use std::fmt::Display;
use std::time::{Duration, Instant};

use dsokr_core::Cancellation;
use dsokr_nn::{Encoder, Model};

use crate::config::TrainingConfig;
use crate::error::Error;
use crate::progress::Progress;
use crate::task::Event;

/// What is done after each step of a training.
pub(crate) trait Hook<E: Encoder, M> {
    /// Returns whether the hook looks at the loss of the step that has been done, which is then read from the device.
    fn reads_loss(&mut self, progress: &Progress<E, M>) -> bool {
        let _ = progress;
        false
    }

    /// Does what the hook does after a step.
    ///
    /// # Errors
    /// An error ends the training.
    fn after_step(&mut self, progress: &mut Progress<E, M>, model: &Model<E>) -> Result<(), Error>;
}

/// Tells the observer, the caller's callback, of each step, and does what it asks for.
pub(crate) struct Callback;

impl<E: Encoder, M: Display + 'static> Hook<E, M> for Callback {
    fn after_step(&mut self, progress: &mut Progress<E, M>, model: &Model<E>) -> Result<(), Error> {
        let epoch = progress.state.step as f64 / progress.per_epoch as f64;
        let loss = progress.loss;
        let control = &progress.control(model);
        progress.tell(|step, _| Event::Step { step, epoch, loss, control });
        progress.follow(control.requests())
    }
}

/// The time that is left is estimated after so many steps, or after so much time where steps are slow.
const TIMED_STEPS: u64 = 20;
const TIMED: Duration = Duration::from_secs(4);

/// Estimates once the time that the training takes. The first step does not count: a GPU compiles its kernels then.
#[derive(Default)]
pub(crate) struct Estimate {
    /// When the second step began, until the estimate has been made.
    second: Option<Instant>,
    /// Whether the estimate is made after this step.
    is_due: bool,
}

impl<E: Encoder, M: Display + 'static> Hook<E, M> for Estimate {
    fn reads_loss(&mut self, progress: &Progress<E, M>) -> bool {
        let is_timed =
            |second: Instant| progress.steps() >= TIMED_STEPS || second.elapsed() >= TIMED;
        self.is_due = self.second.is_some_and(is_timed);
        self.is_due
    }

    fn after_step(&mut self, progress: &mut Progress<E, M>, _: &Model<E>) -> Result<(), Error> {
        if progress.steps() == 1 {
            self.second = Some(Instant::now());
        }
        if !self.is_due {
            return Ok(());
        }
        let Some(second) = self.second.take() else { return Ok(()) };
        let each = second.elapsed().div_f64((progress.steps() - 1) as f64);
        let left = each.mul_f64(progress.left() as f64);
        progress.tell(|_, _| Event::Estimate { left });
        Ok(())
    }
}

/// Stores the state: at the end, when the training is cancelled, after the first evaluation, after the epochs or steps that
/// the configuration names, and when the last checkpoint is old enough.
pub(crate) struct Keeper {
    pause: Duration,
    cancellation: Cancellation,
}

impl Keeper {
    /// Creates the keeper of a training that `cancellation` cancels.
    pub fn new(config: &TrainingConfig, cancellation: Cancellation) -> Self {
        Self { pause: Duration::from_secs(config.checkpoint_seconds), cancellation }
    }
}

impl<E: Encoder, M: Display + 'static> Hook<E, M> for Keeper {
    fn after_step(&mut self, progress: &mut Progress<E, M>, model: &Model<E>) -> Result<(), Error> {
        let ranks = progress.task.ranks;
        let is_last = progress.is_over();
        let is_cancelled =
            if ranks.size() == 1 { self.cancellation.is_cancelled() } else { progress.stop };
        let is_stopped = is_cancelled && !is_last;
        let is_first_evaluation = progress.kept.is_none() && progress.state.best.is_some();
        let is_old = progress.kept_at.elapsed() >= self.pause;
        let every = progress.task.config.checkpoint_every;
        let is_due =
            every.is_some_and(|every| every.is_due(progress.state.step, progress.per_epoch));
        let is_asked_for = is_last || is_first_evaluation || is_due || is_old;
        if ranks.is_first() && (is_asked_for || is_stopped) {
            progress.keep(model, is_asked_for)?;
        }
        if is_stopped {
            // the other ranks end once rank 0 has stored the state
            ranks.gather(&[])?;
            return Err(Error::Interrupted { step: progress.state.step });
        }
        Ok(())
    }
}
