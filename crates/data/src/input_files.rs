//! Inputs that lie in files of their own, looked up by id.

use dsokr_basis::{Features, RowSource};

use super::DataRoot;
use super::kernels::Kernels;
use super::outputs::feature_rows;
use super::row_index::{InputIds, RowIndex};
use crate::Error;
use crate::config::DataConfig;

/// Vectors, or kernels with the training inputs.
pub(super) enum InputFiles {
    Vectors { index: RowIndex, rows: Box<dyn RowSource> },
    Kernels(Kernels),
}

impl InputFiles {
    /// Reads the files of a configuration, if it names any; `train` is asked for with kernels alone.
    pub(super) fn load<'a>(
        data: &DataConfig,
        root: &DataRoot,
        train: impl FnOnce() -> Result<InputIds<'a>, Error>,
    ) -> Result<Option<Self>, Error> {
        if let Some(config) = &data.kernels {
            return Ok(Some(Self::Kernels(Kernels::load(config, root, train()?)?)));
        }
        let Some(inputs) = &data.inputs else { return Ok(None) };
        let (index, table) = RowIndex::read(root.file(&inputs.table), &inputs.id)?;
        let rows = feature_rows(&inputs.features, root, &table)?;
        Ok(Some(Self::Vectors { index, rows }))
    }

    /// The rows of some inputs.
    pub(super) fn of(&self, inputs: InputIds) -> Result<Features, Error> {
        match self {
            Self::Vectors { index, rows } => Ok(rows.select(&index.of(inputs)?)?),
            Self::Kernels(kernels) => kernels.of(inputs),
        }
    }
}
