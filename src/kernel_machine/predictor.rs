//! A fitted kernel machine, and its files.

use std::path::Path;
use std::sync::Arc;

use dsokr_basis::{Basis, RowSource};
use dsokr_machines::Machine;
use dsokr_machines::ridge::Model;

use super::inputs::MachineInputs;
use crate::Error;
use crate::config::RidgeConfig;
use crate::learner::{Predictor, StoredRun};
use crate::run::{EmbeddingCurve, Folder, PreparationFiles, check_preparation};
use dsokr_data::Split;
use dsokr_train::check_basis;

/// The fitted model: in closed form, or under a Lipschitz loss.
const RIDGE: &str = "ridge.safetensors";
const LIPSCHITZ: &str = "machine.safetensors";

/// The basis of the inputs, of a machine under a Lipschitz loss.
const INPUTS: &str = "inputs.safetensors";

/// A fitted kernel machine with what prepares its inputs.
pub(super) struct KernelMachine {
    pub inputs: Arc<MachineInputs>,
    pub model: KernelModel,
    /// What each rank of a learned embedding is worth.
    pub curve: Option<EmbeddingCurve>,
}

/// A fitted model.
pub(super) enum KernelModel {
    /// In closed form.
    Ridge(Model),
    /// Under a Lipschitz loss.
    Lipschitz(Machine),
}

impl KernelModel {
    /// Coordinates `z` of input rows, `[rows × p]` row-major.
    fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        match self {
            Self::Ridge(model) => Ok(model.predict(rows)?),
            Self::Lipschitz(machine) => Ok(machine.predict(rows)?),
        }
    }

    /// What was fitted, and how well.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::Ridge(model) => model.summary().to_string(),
            Self::Lipschitz(machine) => machine.summary().to_string(),
        }
    }
}

impl KernelMachine {
    pub(super) fn load(settings: &RidgeConfig, run: &StoredRun) -> Result<Self, Error> {
        let lipschitz = settings.loss.is_some();
        let file = run.path.join(if lipschitz { LIPSCHITZ } else { RIDGE });
        if !file.exists() {
            let message = "no model has been fitted yet: fit it with --resume";
            return Err(Error::Run { path: file, message: message.into() });
        }
        let inputs = MachineInputs::load(settings, run.path)?;
        let stored = match lipschitz {
            true => Machine::open(&file)?,
            false => Model::open(&file)?,
        };
        check_basis(&stored, run.space)?;
        check_preparation(&stored, &PreparationFiles::new(inputs.files()?)?.fingerprint())?;
        let model = match lipschitz {
            true => {
                let basis = Basis::load(&run.path.join(INPUTS))?;
                KernelModel::Lipschitz(Machine::from_stored(&stored, basis)?)
            }
            false => KernelModel::Ridge(Model::from_stored(&stored)?),
        };
        Ok(Self { inputs: Arc::new(inputs), model, curve: EmbeddingCurve::read(run.path)? })
    }
}

impl Predictor for KernelMachine {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self.model.predict(self.inputs.rows(split)?.as_ref())
    }

    fn preparation(&self) -> Result<Vec<(&'static str, String)>, Error> {
        self.inputs.files()
    }

    fn save(&self, folder: &mut Folder) -> Result<(), Error> {
        let path: &Path = folder.path();
        if let Some(curve) = &self.curve {
            curve.save(path)?;
        }
        match &self.model {
            KernelModel::Ridge(model) => Ok(model.save(&path.join(RIDGE), &folder.belongs())?),
            KernelModel::Lipschitz(machine) => {
                machine.basis().save(&path.join(INPUTS))?;
                Ok(machine.save(&path.join(LIPSCHITZ), &folder.belongs())?)
            }
        }
    }
}
