//! A fitted kernel machine, and its files.

use std::path::Path;
use std::sync::Arc;

use dsokr_machines::KernelModel;

use super::inputs::MachineInputs;
use crate::Error;
use crate::config::KernelMachineConfig;
use crate::learner::{Predictor, StoredRun};
use crate::run_dir::{EmbeddingCurve, Folder, PreparationFiles, check_preparation};
use dsokr_data::Split;
use dsokr_train::check_basis;

/// A fitted kernel machine with what prepares its inputs.
pub(super) struct KernelMachine {
    pub inputs: Arc<MachineInputs>,
    pub model: KernelModel,
    /// The figure of each rank of a learned embedding.
    pub curve: Option<EmbeddingCurve>,
}

impl KernelMachine {
    pub(super) fn load(settings: &KernelMachineConfig, run: &StoredRun) -> Result<Self, Error> {
        let Some(file) = KernelModel::open(run.path)? else {
            let lipschitz = settings.is_lipschitz();
            let name = if lipschitz { "machine.safetensors" } else { "ridge.safetensors" };
            let message = "no model has been fitted yet: fit it with the argument resume";
            return Err(Error::Run { path: run.path.join(name), message: message.into() });
        };
        let inputs = MachineInputs::load(settings, run.path)?;
        check_basis(&file, run.space)?;
        check_preparation(&file, &PreparationFiles::new(inputs.files()?)?.fingerprint())?;
        let model = KernelModel::read(&file)?;
        Ok(Self { inputs: Arc::new(inputs), model, curve: EmbeddingCurve::read(run.path)? })
    }
}

impl Predictor for KernelMachine {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self.inputs.rows(split)?.predictions_of(&self.model)
    }

    fn preparation(&self) -> Result<Vec<(&'static str, String)>, Error> {
        self.inputs.files()
    }

    fn save(&self, folder: &mut Folder) -> Result<(), Error> {
        let path: &Path = folder.path();
        if let Some(curve) = &self.curve {
            curve.save(path)?;
        }
        Ok(self.model.save(path, &folder.belongs())?)
    }
}
