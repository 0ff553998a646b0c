//! What an observer sees of a training at a step or an evaluation, and what it may ask for.

use std::any::Any;
use std::cell::Cell;
use std::fmt;

use dsokr_core::{Processes, message};
use dsokr_nn::parameters::{self, Parameters};
use dsokr_nn::{Encoder, Model};

use crate::error::Error;

/// A training at a step or an evaluation: an observer reads its model and its learning rate, and may ask it to stop, to go
/// on with a different rate, or to evaluate the model.
///
/// The rate that is asked for is part of checkpoints: a resumed training goes on with it. Of several ranks the observer
/// of rank 0 decides; requests of other observers have no effect.
///
/// ```
/// use dsokr_train::{Event, Observer};
///
/// /// Halves the rate where the loss of a step is large, and stops where it is small.
/// struct Watch;
///
/// impl Observer for Watch {
///     fn event(&mut self, event: &Event) {
///         match event {
///             Event::Step { loss, control, .. } if *loss > 10.0 => control.scale_learning_rate(0.5),
///             Event::Evaluation { loss, control, .. } if *loss < 0.01 => control.stop(),
///             _ => {}
///         }
///     }
/// }
/// ```
pub struct Control<'a> {
    model: &'a dyn AnyModel,
    /// The rate of the schedule at the next step.
    scheduled: f64,
    requests: Cell<Requests>,
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Control").field("scheduled", &self.scheduled).finish_non_exhaustive()
    }
}

impl<'a> Control<'a> {
    pub(crate) fn new<E: Encoder>(model: &'a Model<E>, scheduled: f64, rate: RateChange) -> Self {
        let requests = Requests { stop: false, evaluate: false, rate };
        Self { model, scheduled, requests: Cell::new(requests) }
    }

    /// Ends the training here, as an early stop does: the model is evaluated if it has not been since its last step, the
    /// state is stored, and the parameters of the best evaluation count.
    pub fn stop(&self) {
        self.requests.set(Requests { stop: true, ..self.requests.get() });
    }

    /// Asks for an evaluation after the step that has been done. It counts for the patience as any other.
    pub fn evaluate(&self) {
        self.requests.set(Requests { evaluate: true, ..self.requests.get() });
    }

    /// Sets the learning rate of all further steps, in the place of the schedule's. One that is not a finite number above
    /// 0 ends the training with an error.
    pub fn set_learning_rate(&self, rate: f64) {
        self.requests.set(Requests { rate: RateChange::Fixed(rate), ..self.requests.get() });
    }

    /// Multiplies the learning rate of all further steps: 0.5 twice makes it a quarter. A factor that is not a finite
    /// number above 0 ends the training with an error.
    pub fn scale_learning_rate(&self, factor: f64) {
        let requests = self.requests.get();
        self.requests.set(Requests { rate: requests.rate.times(factor), ..requests });
    }

    /// Returns the learning rate of the next step, as it has been asked for.
    pub fn learning_rate(&self) -> f64 {
        self.requests.get().rate.of(self.scheduled)
    }

    /// Returns the parameters of the model by their paths; at an evaluation those that were evaluated, which are averages
    /// where the training has them. On the CPU engine nothing is copied unless the training goes on meanwhile.
    pub fn parameters(&self) -> Parameters {
        self.model.parameters()
    }

    /// Returns the model whose parameters [`parameters`](Self::parameters) are, if its encoder is an `E`.
    pub fn model<E: Encoder>(&self) -> Option<&'a Model<E>> {
        self.model.as_any().downcast_ref()
    }

    pub(crate) fn requests(&self) -> Requests {
        self.requests.get()
    }
}

/// A model whose encoder is of any type.
trait AnyModel {
    fn parameters(&self) -> Parameters;
    fn as_any(&self) -> &dyn Any;
}

impl<E: Encoder> AnyModel for Model<E> {
    fn parameters(&self) -> Parameters {
        parameters::collect(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What observers have made of the learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateChange {
    /// The schedule's rate times this, which is 1 at the start.
    Factor(f64),
    /// This rate, whatever the schedule says.
    Fixed(f64),
}

impl RateChange {
    /// Returns the rate of a step whose rate by the schedule is `scheduled`.
    pub(crate) fn of(self, scheduled: f64) -> f64 {
        match self {
            Self::Factor(factor) => scheduled * factor,
            Self::Fixed(rate) => rate,
        }
    }

    /// Checks a change that an observer has asked for.
    fn validate(self) -> Result<(), Error> {
        let (Self::Factor(number) | Self::Fixed(number)) = self;
        let key = match self {
            Self::Factor(_) => "the factor of scale_learning_rate",
            Self::Fixed(_) => "the rate of set_learning_rate",
        };
        let is_rate = number > 0.0 && (number as f32).is_finite();
        let found = message::number(number);
        Ok(dsokr_core::Error::ensure(is_rate, key, found, "a finite 32-bit number above 0")?)
    }

    fn times(self, factor: f64) -> Self {
        match self {
            Self::Factor(before) => Self::Factor(before * factor),
            Self::Fixed(rate) => Self::Fixed(rate * factor),
        }
    }
}

/// What the observer has asked for at an event.
#[derive(Clone, Copy)]
pub(crate) struct Requests {
    pub stop: bool,
    pub evaluate: bool,
    pub rate: RateChange,
}

impl Requests {
    /// Returns what the observer of rank 0 has asked for.
    ///
    /// # Errors
    /// A learning rate or a factor that is not a finite number above 0; all ranks return this error.
    pub fn of_first(self, ranks: &Processes) -> Result<Self, Error> {
        let mut of_first = self;
        if ranks.size() > 1 {
            of_first = self.broadcast(ranks)?;
        }
        of_first.rate.validate()?;
        Ok(of_first)
    }

    fn broadcast(self, ranks: &Processes) -> Result<Self, Error> {
        let (is_fixed, rate) = match self.rate {
            RateChange::Factor(factor) => (false, factor),
            RateChange::Fixed(rate) => (true, rate),
        };
        let flags = [self.stop, self.evaluate, is_fixed].map(u64::from);
        let [stop, evaluate, is_fixed, rate] =
            ranks.broadcast_number([flags[0], flags[1], flags[2], rate.to_bits()])?;
        let rate = f64::from_bits(rate);
        let rate = if is_fixed == 1 { RateChange::Fixed(rate) } else { RateChange::Factor(rate) };
        Ok(Self { stop: stop == 1, evaluate: evaluate == 1, rate })
    }
}
