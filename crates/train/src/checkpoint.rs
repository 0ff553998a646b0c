use std::collections::BTreeMap;
use std::path::Path;

use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::tensor::Bytes;
use dsokr_basis::store::{self, Stored, Tensor};
use dsokr_nn::parameters::{Parameter, Parameters};

use crate::Error;

const KIND: &str = "checkpoint";
const VERSION: u32 = 1;
const OPTIMIZER: &str = "optimizer";
const PREFIX: &str = "parameter.";

/// The complete state of a training: a resumed training continues as if it had never stopped.
/// Everything random is derived from (seed, step), so the step replaces the state of every
/// generator.
#[derive(Clone, Debug, Default)]
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
    /// The model's parameters.
    pub parameters: Parameters,
    /// The optimiser's state in Burn's own format; empty before the first step.
    pub optimizer: Vec<u8>,
}

impl Checkpoint {
    /// Copies an optimiser's state.
    pub(super) fn optimizer_bytes(optimizer: &ModuleOptimizer) -> Result<Vec<u8>, Error> {
        let bytes = optimizer.into_bytes().map_err(|e| Error::Optimizer(e.to_string()))?;
        Ok(bytes.to_vec())
    }

    /// Puts the state into a fresh optimiser.
    pub(super) fn restore_optimizer(
        &self,
        optimizer: ModuleOptimizer,
    ) -> Result<ModuleOptimizer, Error> {
        if self.optimizer.is_empty() {
            return Ok(optimizer);
        }
        let record = OptimizerRecord::from_bytes(Bytes::from_bytes_vec(self.optimizer.clone()));
        let record = record.map_err(|e| Error::Optimizer(e.to_string()))?;
        Ok(optimizer.load_record(record))
    }

    /// Writes one file, atomically. `basis` is the fingerprint of the basis it belongs to.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn save(&self, path: &Path, basis: &str) -> Result<(), Error> {
        let mut metadata = BTreeMap::new();
        let mut put = |key: &str, value: String| metadata.insert(key.to_owned(), value);
        put("basis", basis.to_string());
        put("step", self.step.to_string());
        // `{:?}` of an f64 reads back as the same bits
        put("loss_sum", format!("{:?}", self.loss_sum));
        put("loss_steps", self.loss_steps.to_string());
        put("stale", self.stale.to_string());
        if let Some(best) = self.best {
            put("best", format!("{best:?}"));
        }
        let mut tensors = vec![Tensor::u8(OPTIMIZER, &[self.optimizer.len()], &self.optimizer)];
        for (name, parameter) in &self.parameters {
            let stored = format!("{PREFIX}{name}");
            tensors.push(Tensor::f32(&stored, &parameter.shape, &parameter.values));
            if let Some(id) = parameter.id {
                metadata.insert(format!("id.{name}"), id.to_string());
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
        let best = stored.metadata("best").is_ok();
        let best = best.then(|| stored.parsed("best", "a number")).transpose()?;
        let (_, optimizer) = stored.u8(OPTIMIZER, 1)?;
        Ok(Self {
            step: stored.parsed("step", "a number of steps")?,
            loss_sum: stored.parsed("loss_sum", "a number")?,
            loss_steps: stored.parsed("loss_steps", "a number of steps")?,
            stale: stored.parsed("stale", "a number of evaluations")?,
            best,
            parameters: read_parameters(&stored, PREFIX)?,
            optimizer: optimizer.into_owned(),
        })
    }
}

/// The checksum of all names and values.
pub(super) fn checksum(parameters: &Parameters) -> String {
    let tensors = parameters.iter().map(|(name, p)| Tensor::f32(name, &p.shape, &p.values));
    let tensors: Vec<Tensor> = tensors.collect();
    store::Contents::new(KIND, VERSION, &BTreeMap::new(), &tensors).checksum()
}

/// Refuses a file that belongs to a different basis.
///
/// # Errors
/// [`Error::File`] with both fingerprints.
pub fn check_basis(stored: &Stored, basis: &str) -> Result<(), Error> {
    let own = stored.metadata("basis")?;
    if own == basis {
        return Ok(());
    }
    let message = format!("it belongs to the basis {own}, the run's basis is {basis}");
    Err(Error::File { path: stored.path().to_path_buf(), message })
}

/// The parameters among a file's tensors, with their identities if the file has them.
///
/// # Errors
/// Tensors that are not parameters.
pub fn read_parameters(stored: &Stored, prefix: &str) -> Result<Parameters, Error> {
    let names: Vec<String> =
        stored.names().filter_map(|name| name.strip_prefix(prefix)).map(String::from).collect();
    let mut parameters = Parameters::new();
    for name in names {
        let full = format!("{prefix}{name}");
        let rank = stored.describe(&full)?.1.len();
        let (shape, values) = stored.f32(&full, rank)?;
        let key = format!("id.{name}");
        let id = stored.metadata(&key).is_ok();
        let id = id.then(|| stored.parsed(&key, "a parameter's number")).transpose()?;
        let values = values.into_owned().into();
        parameters.insert(name, Parameter { id, shape, values });
    }
    Ok(parameters)
}
