//! The state of a training that a checkpoint holds, its file, and what keeps it.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use dsokr_core::store::{self, Stored, Tensor};
use dsokr_nn::Values;
use dsokr_nn::parameters::{Parameter, Parameters};
use serde::{Deserialize, Serialize, Serializer};

use crate::control::RateChange;
use crate::error::Error;

const KIND: &str = "checkpoint";
const VERSION: u32 = 4;

/// What precedes a parameter's path in the names of its tensors: its values, their average, and the two moments.
const PREFIX: &str = "parameter.";
const AVERAGE: &str = "average.";
const FIRST: &str = "moment1.";
const SECOND: &str = "moment2.";

/// The keys in the metadata of what an observer has made of the learning rate, of which there is one.
const RATE_FACTOR: &str = "rate_factor";
const FIXED_RATE: &str = "fixed_rate";

/// What precedes a parameter's path in the metadata, for the number of the optimiser's steps.
const STEPS: &str = "steps.";

/// The complete state of a training: a resumed training continues as if it had never stopped.
/// Everything random is derived from (seed, step), so the step replaces the state of every
/// generator.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Steps done.
    pub step: u64,
    /// Sum of the losses of the steps since the last evaluation.
    pub loss_sum: f64,
    /// Number of those steps.
    pub loss_steps: u64,
    /// Score of the best evaluation so far.
    pub best: Option<f64>,
    /// Evaluations since then.
    pub stale: usize,
    /// What multiplies the learning rate: the product of the factors by which plateaus have reduced it.
    pub reduced: f64,
    /// Evaluations without improvement since the last reduction.
    pub waited: usize,
    /// What the observer has made of the learning rate.
    pub rate: RateChange,
    /// The steps in all of the training that the observer has stopped. One of more steps goes on.
    pub stopped: Option<u64>,
    /// The model's parameters.
    pub parameters: Parameters,
    /// The moving average of each parameter, by its path, where the training has one.
    pub average: BTreeMap<String, Values>,
    /// The optimiser's state of each parameter that it has changed, by the parameter's path.
    pub moments: BTreeMap<String, Moments>,
}

/// The state of a training before its first step.
impl Default for Checkpoint {
    fn default() -> Self {
        Self {
            step: 0,
            loss_sum: 0.0,
            loss_steps: 0,
            best: None,
            stale: 0,
            reduced: 1.0,
            waited: 0,
            rate: RateChange::Factor(1.0),
            stopped: None,
            parameters: Parameters::new(),
            average: BTreeMap::new(),
            moments: BTreeMap::new(),
        }
    }
}

/// The state of a parameter's optimiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Steps that have changed the parameter.
    pub steps: u64,
    /// The mean of its gradients m, row-major; under momentum their sum.
    pub first: Values,
    /// Adam's mean of their squares v.
    pub second: Option<Values>,
}

impl Checkpoint {
    /// Writes one file, atomically. `basis` is the fingerprint of the basis it belongs to.
    ///
    /// # Errors
    /// The file system's errors.
    pub fn save(&self, path: &Path, basis: &str) -> Result<(), Error> {
        let numbers = [
            ("basis", basis.to_string()),
            ("step", self.step.to_string()),
            // `{:?}` of an f64 reads back as the same bits
            ("loss_sum", format!("{:?}", self.loss_sum)),
            ("loss_steps", self.loss_steps.to_string()),
            ("stale", self.stale.to_string()),
            ("reduced", format!("{:?}", self.reduced)),
            ("waited", self.waited.to_string()),
        ];
        let optional = [
            Some(match self.rate {
                RateChange::Factor(factor) => (RATE_FACTOR, format!("{factor:?}")),
                RateChange::Fixed(rate) => (FIXED_RATE, format!("{rate:?}")),
            }),
            self.best.map(|best| ("best", format!("{best:?}"))),
            self.stopped.map(|total| ("stopped", total.to_string())),
        ];
        let numbers = numbers.into_iter().chain(optional.into_iter().flatten());
        let mut metadata: BTreeMap<String, String> =
            numbers.map(|(key, value)| (key.to_owned(), value)).collect();
        let mut tensors = Vec::new();
        for (name, Parameter { shape, values }) in &self.parameters {
            tensors.push(Tensor::f32(&format!("{PREFIX}{name}"), shape, values));
            if let Some(average) = self.average.get(name) {
                tensors.push(Tensor::f32(&format!("{AVERAGE}{name}"), shape, average));
            }
            if let Some(Moments { steps, first, second }) = self.moments.get(name) {
                tensors.push(Tensor::f32(&format!("{FIRST}{name}"), shape, first));
                if let Some(second) = second {
                    tensors.push(Tensor::f32(&format!("{SECOND}{name}"), shape, second));
                }
                metadata.insert(format!("{STEPS}{name}"), steps.to_string());
            }
        }
        Ok(store::Contents::new(KIND, VERSION, &metadata, &tensors).write(path)?)
    }

    /// Reads what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// A file that is missing, damaged, of a different version, or of a different basis.
    pub fn load(path: &Path, basis: &str) -> Result<Self, Error> {
        let stored = Stored::open(path, KIND, VERSION)?;
        check_basis(&stored, basis)?;
        Ok(Self {
            step: stored.parsed("step", "a number of steps")?,
            loss_sum: stored.parsed("loss_sum", "a number")?,
            loss_steps: stored.parsed("loss_steps", "a number of steps")?,
            stale: stored.parsed("stale", "a number of evaluations")?,
            best: optional(&stored, "best", "a number")?,
            reduced: stored.parsed("reduced", "a number")?,
            waited: stored.parsed("waited", "a number of evaluations")?,
            rate: read_rate(&stored)?,
            stopped: optional(&stored, "stopped", "a number of steps")?,
            average: read_average(&stored)?,
            parameters: read_parameters(&stored, PREFIX)?,
            moments: read_moments(&stored)?,
        })
    }
}

/// Returns the value of a metadata key that a file may lack.
fn optional<T: FromStr>(stored: &Stored, key: &str, allowed: &str) -> Result<Option<T>, Error> {
    let exists = stored.metadata(key).is_ok();
    Ok(exists.then(|| stored.parsed(key, allowed)).transpose()?)
}

/// Returns what the observer has made of the learning rate.
fn read_rate(stored: &Stored) -> Result<RateChange, Error> {
    Ok(match optional(stored, FIXED_RATE, "a number")? {
        Some(rate) => RateChange::Fixed(rate),
        None => RateChange::Factor(stored.parsed(RATE_FACTOR, "a number")?),
    })
}

/// Returns the checksum of all names and values.
pub(super) fn checksum(parameters: &Parameters) -> String {
    let tensors = parameters.iter().map(|(name, p)| Tensor::f32(name, &p.shape, &p.values));
    let tensors: Vec<Tensor> = tensors.collect();
    store::Contents::new(KIND, VERSION, &BTreeMap::new(), &tensors).checksum()
}

/// Refuses a file that belongs to a different basis.
///
/// # Errors
/// [`dsokr_core::Error::File`] with both fingerprints.
pub fn check_basis(stored: &Stored, basis: &str) -> Result<(), dsokr_core::Error> {
    let stored_basis = stored.metadata("basis")?;
    let message =
        format_args!("it belongs to the basis {stored_basis}, the run's basis is {basis}");
    if stored_basis == basis {
        Ok(())
    } else {
        Err(dsokr_core::Error::file(stored.path(), message))
    }
}

/// Returns the moving average in a checkpoint.
fn read_average(stored: &Stored) -> Result<BTreeMap<String, Values>, Error> {
    let names = stored.names().filter_map(|name| name.strip_prefix(AVERAGE));
    let average = names.map(|name| {
        let (_, average) = values(stored, &format!("{AVERAGE}{name}"))?;
        Ok((name.to_owned(), average))
    });
    average.collect()
}

/// Returns the optimiser's state in a checkpoint.
fn read_moments(stored: &Stored) -> Result<BTreeMap<String, Moments>, Error> {
    let mut moments = BTreeMap::new();
    for name in stored.names().filter_map(|name| name.strip_prefix(FIRST)) {
        let steps = stored.parsed(&format!("{STEPS}{name}"), "a number of steps")?;
        let (_, first) = values(stored, &format!("{FIRST}{name}"))?;
        let second_name = format!("{SECOND}{name}");
        let has_second = stored.names().any(|other| other == second_name);
        let second = has_second.then(|| values(stored, &second_name)).transpose()?;
        let second = second.map(|(_, values)| values);
        moments.insert(name.to_owned(), Moments { steps, first, second });
    }
    Ok(moments)
}

/// Reads the shape and values of a tensor.
fn values(stored: &Stored, name: &str) -> Result<(Vec<usize>, Values), Error> {
    let rank = stored.describe(name)?.1.len();
    let (shape, values) = stored.read::<f32>(name, rank)?;
    Ok((shape, values.to_vec().into()))
}

/// Returns the parameters among a file's tensors.
///
/// # Errors
/// Tensors that are not parameters.
pub fn read_parameters(stored: &Stored, prefix: &str) -> Result<Parameters, Error> {
    let mut parameters = Parameters::new();
    for full in stored.names() {
        let Some(name) = full.strip_prefix(prefix) else { continue };
        let (shape, values) = values(stored, full)?;
        parameters.insert(name.to_owned(), Parameter { shape, values });
    }
    Ok(parameters)
}

/// One line of `log.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine<M> {
    /// Steps done.
    pub step: u64,
    /// Epochs done; a fraction within an epoch. Whole numbers are written without a point.
    #[serde(serialize_with = "whole_or_fraction")]
    pub epoch: f64,
    /// Mean of the loss over the steps since the last evaluation.
    pub loss: f64,
    /// Mean of r(y) over the training outputs, weighted where pairs are: the lower bound of the square loss.
    pub residual: f64,
    /// Mean loss of the validation pairs in evaluation mode, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Norm of the gradient of the last step over all parameters, before it is shortened. None on a GPU without `clip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_norm: Option<f64>,
    /// Whether this evaluation is the best so far.
    pub best: bool,
    /// Seconds since training started or was resumed.
    pub seconds: f64,
    /// Training pairs a second since the last evaluation, evaluations not counted.
    pub pairs_per_second: f64,
    /// Bytes that the engine holds on a GPU: the peak, since it keeps what it has taken. None on the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_bytes: Option<u64>,
    /// Metrics of the validation split.
    pub metrics: M,
}

fn whole_or_fraction<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 {
        serializer.serialize_u64(*number as u64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// The numbers of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepNumbers {
    /// Steps done, this one counted.
    pub step: u64,
    /// The mean loss of its batch.
    pub loss: f64,
    /// Its learning rate.
    pub learning_rate: f64,
    /// Norm of its gradient over all parameters, before it is shortened. None on a GPU without `clip`.
    pub gradient_norm: Option<f64>,
}

/// The store of a training's state. By default, and by `()`, nothing is stored.
#[expect(unused_variables)]
pub trait CheckpointSink<M> {
    /// Stores the numbers of a step; called for every step, in long trainings for at most 2,000 evenly spaced ones, when
    /// the loss has been read.
    ///
    /// # Errors
    /// Errors of the file system.
    fn step(&mut self, numbers: StepNumbers) -> Result<(), Error> {
        Ok(())
    }

    /// Stores the result of an evaluation.
    ///
    /// # Errors
    /// Errors of the file system.
    fn log(&mut self, line: &LogLine<M>) -> Result<(), Error> {
        Ok(())
    }

    /// Takes the parameters of the best evaluation so far, which came after `step` steps, and gives them back if it does not
    /// store them.
    ///
    /// # Errors
    /// Errors of the file system.
    fn best(&mut self, step: u64, parameters: Parameters) -> Result<Option<Parameters>, Error> {
        Ok(Some(parameters))
    }

    /// Stores a state to resume from. The best parameters before it have been stored already.
    ///
    /// # Errors
    /// Errors of the file system.
    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        Ok(())
    }

    /// Stores the state of a training that is interrupted at a step at which no checkpoint is asked for, as
    /// [`checkpoint`](Self::checkpoint) does.
    ///
    /// # Errors
    /// Errors of the file system.
    fn interrupted(&mut self, checkpoint: &Checkpoint) -> Result<(), Error> {
        self.checkpoint(checkpoint)
    }
}

impl<M> CheckpointSink<M> for () {}
