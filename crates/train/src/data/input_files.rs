//! Inputs that lie in files of their own, looked up by id.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dsokr_basis::{Features, RowSource};

use super::DataRoot;
use super::kernels::Kernels;
use super::outputs::feature_rows;
use super::table::{Table, unique_ids};
use crate::Error;
use crate::config::DataConfig;

/// The inputs that the pairs of a file name.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub ids: &'a [String],
    /// The file, and the line of each id in it.
    pub path: &'a Path,
    pub lines: &'a [usize],
}

/// Vectors, or kernels with the training inputs.
pub(super) enum InputFiles {
    Vectors { places: Places, rows: Box<dyn RowSource> },
    Kernels(Kernels),
}

impl InputFiles {
    /// Reads the files of a configuration, if it names any; `train` is asked for with kernels alone.
    pub(super) fn load<'a>(
        data: &DataConfig,
        root: &DataRoot,
        train: impl FnOnce() -> Result<Asked<'a>, Error>,
    ) -> Result<Option<Self>, Error> {
        if let Some(config) = &data.kernels {
            return Ok(Some(Self::Kernels(Kernels::load(config, root, train()?)?)));
        }
        let Some(inputs) = &data.inputs else { return Ok(None) };
        let (places, table) = Places::read(root.file(&inputs.table), &inputs.id)?;
        let rows = feature_rows(&inputs.features, root, &table)?;
        Ok(Some(Self::Vectors { places, rows }))
    }

    /// The rows of some inputs.
    pub(super) fn of(&self, inputs: Asked) -> Result<Features, Error> {
        match self {
            Self::Vectors { places, rows } => Ok(rows.select(&places.of(inputs)?)?),
            Self::Kernels(kernels) => kernels.of(inputs),
        }
    }
}

/// The row of each id in a table that feature files follow.
pub(super) struct Places {
    pub path: PathBuf,
    rows: HashMap<String, usize>,
}

impl Places {
    /// Reads the table, whose ids may not repeat.
    pub(super) fn read(path: PathBuf, id: &str) -> Result<(Self, Table), Error> {
        let table = Table::read(&path, &[id])?;
        let rows = unique_ids(&table, id)?;
        let rows = rows.into_iter().map(|(id, row)| (id.to_owned(), row)).collect();
        Ok((Self { path, rows }, table))
    }

    pub(super) fn of(&self, Asked { ids, path, lines }: Asked) -> Result<Vec<usize>, Error> {
        let place = |(id, &line): (&String, &usize)| {
            self.rows.get(id).copied().ok_or_else(|| Error::UnknownOutput {
                path: path.into(),
                line,
                id: id.clone(),
                outputs: self.path.display().to_string(),
            })
        };
        ids.iter().zip(lines).map(place).collect()
    }
}
