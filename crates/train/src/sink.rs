use dsokr_nn::parameters::Parameters;
use serde::{Deserialize, Serialize};

use crate::{Checkpoint, Error};

/// One line of `log.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine<M> {
    /// Steps done.
    pub step: u64,
    /// Epochs done.
    pub epoch: u64,
    /// Mean of the loss over the steps since the last evaluation.
    pub loss: f64,
    /// Mean of r(y) over the training outputs: the lower bound of the square loss.
    pub residual: f64,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Whether this evaluation is the best so far.
    pub best: bool,
    /// Seconds since training started or was resumed.
    pub seconds: f64,
    /// Training pairs a second since the last evaluation, evaluations not counted.
    #[serde(default)]
    pub pairs_per_second: f64,
    /// Metrics of the validation split.
    pub metrics: M,
}

/// The store of a training's state. `()` stores nothing.
pub trait CheckpointSink<M> {
    /// Stores the loss and the learning rate of a step; called for every step, in long trainings for at
    /// most 2,000 evenly spaced ones. By default nothing is stored.
    ///
    /// # Errors
    /// Errors of the file system.
    fn step(&mut self, _step: u64, _loss: f64, _learning_rate: f64) -> Result<(), Error> {
        Ok(())
    }

    /// Stores the result of an evaluation.
    ///
    /// # Errors
    /// Errors of the file system.
    fn log(&mut self, line: &LogLine<M>) -> Result<(), Error>;

    /// Takes the parameters of the best evaluation so far, and gives them back if it does not store them.
    ///
    /// # Errors
    /// Errors of the file system.
    fn best(&mut self, parameters: Parameters) -> Result<Option<Parameters>, Error>;

    /// Stores a state to resume from. The best parameters before it have been stored already.
    ///
    /// # Errors
    /// Errors of the file system.
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Error>;
}

impl<M> CheckpointSink<M> for () {
    fn log(&mut self, _: &LogLine<M>) -> Result<(), Error> {
        Ok(())
    }

    fn best(&mut self, parameters: Parameters) -> Result<Option<Parameters>, Error> {
        Ok(Some(parameters))
    }

    fn checkpoint(&mut self, _: &Checkpoint) -> Result<(), Error> {
        Ok(())
    }
}
