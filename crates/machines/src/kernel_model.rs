use std::collections::BTreeMap;
use std::path::Path;

use dsokr_basis::store::Stored;
use dsokr_basis::{Basis, RowSource};

use crate::{Error, LipschitzModel, RidgeModel, Scaling, Summary};

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

impl KernelModel {
    /// What was fitted, and how well.
    pub fn summary(&self) -> &Summary {
        match self {
            Self::Ridge(model) => model.summary(),
            Self::Lipschitz(model) => &model.summary,
        }
    }

    /// The model of raw input rows, whose rows were standardised by `scaling` before the fit.
    ///
    /// # Errors
    /// As [`RidgeModel::with_scaling`]; [`Error::Value`] for a Lipschitz loss.
    pub fn with_scaling(self, scaling: Scaling) -> Result<Self, Error> {
        match self {
            Self::Ridge(model) => Ok(Self::Ridge(model.with_scaling(scaling)?)),
            Self::Lipschitz(_) => {
                Err(Error::value("the scaling", "given", "absent, of a Lipschitz loss"))
            }
        }
    }

    /// The predictions of input rows, q × p row-major.
    ///
    /// # Errors
    /// As [`RidgeModel::predict`] and [`LipschitzModel::predict`].
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
                model.basis.save(&folder.join(INPUTS))?;
                model.save(&folder.join(LIPSCHITZ), belongs)
            }
        }
    }

    /// Opens the file of a folder's model, to see what it belongs to before it is [read](Self::read);
    /// none where none has been written.
    ///
    /// # Errors
    /// Those of a file that is damaged, or of another kind or version.
    pub fn open(folder: &Path) -> Result<Option<Stored>, Error> {
        let (ridge, lipschitz) = (folder.join(RIDGE), folder.join(LIPSCHITZ));
        if ridge.exists() {
            return RidgeModel::open(&ridge).map(Some);
        }
        lipschitz.exists().then(|| LipschitzModel::open(&lipschitz)).transpose()
    }

    /// Reads the model of an opened file.
    ///
    /// # Errors
    /// As [`RidgeModel::load`] and [`LipschitzModel::load`].
    pub fn read(stored: &Stored) -> Result<Self, Error> {
        let path = stored.path();
        if path.ends_with(LIPSCHITZ) {
            let basis = Basis::load(&path.with_file_name(INPUTS))?;
            return Ok(Self::Lipschitz(LipschitzModel::from_stored(stored, basis)?));
        }
        Ok(Self::Ridge(RidgeModel::from_stored(stored)?))
    }
}
