use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_basis::store::Stored;
use dsokr_basis::{Basis, RowSource};

use crate::{Error, LipschitzModel, RidgeModel, Summary};

/// The files of a model, in a folder.
const RIDGE: &str = "ridge.safetensors";
const LIPSCHITZ: &str = "machine.safetensors";

/// The basis of the inputs of a Lipschitz model.
const INPUTS: &str = "inputs.safetensors";

/// A fitted kernel machine: p numbers for each input row.
#[derive(Clone, Debug)]
pub enum KernelModel {
    /// Of kernel ridge regression.
    Ridge(RidgeModel),
    /// Of a Lipschitz loss.
    Lipschitz(LipschitzModel),
}

/// A model's file in a folder, opened to see what it belongs to before it is read.
pub struct StoredKernelModel {
    stored: Stored,
    /// The file of the basis of the inputs, for a Lipschitz model.
    inputs: Option<PathBuf>,
}

impl From<RidgeModel> for KernelModel {
    fn from(model: RidgeModel) -> Self {
        Self::Ridge(model)
    }
}

impl From<LipschitzModel> for KernelModel {
    fn from(model: LipschitzModel) -> Self {
        Self::Lipschitz(model)
    }
}

impl KernelModel {
    /// p, the numbers that it predicts for a row.
    pub fn width(&self) -> usize {
        match self {
            Self::Ridge(model) => model.width(),
            Self::Lipschitz(model) => model.width(),
        }
    }

    /// What was fitted, and how well.
    pub fn summary(&self) -> &Summary {
        match self {
            Self::Ridge(model) => model.summary(),
            Self::Lipschitz(model) => model.summary(),
        }
    }

    /// The predictions of input rows, q × p row-major.
    ///
    /// # Errors
    /// Rows of another kind or width, [`Error::NotFinite`] for a prediction that overflows `f32`, and
    /// errors from reading the rows.
    pub fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        match self {
            Self::Ridge(model) => model.predict(rows),
            Self::Lipschitz(model) => model.predict(rows),
        }
    }

    /// Writes the model into a folder: `ridge.safetensors`, or `machine.safetensors` beside
    /// `inputs.safetensors`. `belongs` is further metadata, what the model belongs to.
    ///
    /// # Errors
    /// `Io` of the crate `dsokr-basis`.
    pub fn save(&self, folder: &Path, belongs: &BTreeMap<String, String>) -> Result<(), Error> {
        match self {
            Self::Ridge(model) => model.save(&folder.join(RIDGE), belongs),
            Self::Lipschitz(model) => {
                model.basis().save(&folder.join(INPUTS))?;
                model.save(&folder.join(LIPSCHITZ), belongs)
            }
        }
    }

    /// Opens the model of a folder; none where none has been written.
    ///
    /// # Errors
    /// Those of a file that is damaged, or of another kind or version.
    pub fn open(folder: &Path) -> Result<Option<StoredKernelModel>, Error> {
        let (ridge, lipschitz) = (folder.join(RIDGE), folder.join(LIPSCHITZ));
        if ridge.exists() {
            return Ok(Some(StoredKernelModel { stored: RidgeModel::open(&ridge)?, inputs: None }));
        }
        if lipschitz.exists() {
            let (stored, inputs) = (LipschitzModel::open(&lipschitz)?, folder.join(INPUTS));
            return Ok(Some(StoredKernelModel { stored, inputs: Some(inputs) }));
        }
        Ok(None)
    }
}

impl StoredKernelModel {
    /// The opened file.
    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Reads the model.
    ///
    /// # Errors
    /// As [`RidgeModel::load`] and [`LipschitzModel::load`].
    pub fn read(&self) -> Result<KernelModel, Error> {
        match &self.inputs {
            None => Ok(RidgeModel::from_stored(&self.stored)?.into()),
            Some(inputs) => {
                Ok(LipschitzModel::from_stored(&self.stored, Basis::load(inputs)?)?.into())
            }
        }
    }
}
