//! Fitted kernel machines.

use std::sync::Arc;

use dsokr_data::Split;
use dsokr_machines::KernelModel;

use super::inputs::MachineInputs;
use crate::error::Error;
use crate::learners::learner::Predictor;
use crate::run_dir::{EmbeddingCurve, PreparationFile, RunDir};

/// A fitted kernel machine with what prepares its inputs.
pub(super) struct KernelMachine {
    pub inputs: Arc<MachineInputs>,
    pub model: Arc<KernelModel>,
    /// The figure of each rank of a learned embedding.
    pub curve: Option<EmbeddingCurve>,
}

impl Predictor for KernelMachine {
    fn predict(&self, split: &Split) -> Result<Vec<f32>, Error> {
        self.inputs.rows(split)?.predictions(&self.model)
    }

    fn knows(&self, split: &Split) -> Result<Vec<bool>, Error> {
        self.inputs.knows(split)
    }

    fn vector_width(&self) -> Option<usize> {
        self.inputs.vector_width()
    }

    fn preparation(&self) -> Result<Vec<PreparationFile>, Error> {
        self.inputs.files()
    }

    fn save(&self, run: &mut RunDir) -> Result<(), Error> {
        let path = run.path();
        if let Some(curve) = &self.curve {
            curve.save(path)?;
        }
        Ok(self.model.save(path, &run.belongs())?)
    }
}
