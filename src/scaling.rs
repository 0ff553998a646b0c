//! Standardised features of outputs.

use std::path::Path;

use dsokr_basis::RowKind;
use dsokr_data::{DataRoot, Dataset, Selected};
use dsokr_machines::Scaling;

use crate::Error;
use crate::config::{ColumnScaling, Config};
use crate::run_dir::SCALING as FILE;

impl Config {
    /// Reads the data, with the features of outputs standardised as `output.scaling` says. Means and
    /// standard deviations are those of the training pairs' outputs.
    ///
    /// # Errors
    /// As [`Source::load`](dsokr_data::Source::load); [`Error::Value`] for features that are not
    /// dense rows.
    pub fn load_data(&self, root: &DataRoot) -> Result<Dataset, Error> {
        let mut dataset = self.read_data(root)?;
        standardise(self, &mut dataset, None)?;
        Ok(dataset)
    }
}

/// Standardises the features of outputs as the configuration says, by `known` figures, else by those of the
/// training pairs' outputs, which are returned.
pub(crate) fn standardise(
    config: &Config,
    dataset: &mut Dataset,
    known: Option<&Scaling>,
) -> Result<Option<Scaling>, Error> {
    let kind = config.output.scaling;
    let centred = match kind {
        ColumnScaling::None => return Ok(None),
        ColumnScaling::Deviation => false,
        ColumnScaling::Standard => true,
    };
    let rows = dataset.outputs.rows.as_ref();
    if rows.kind() != RowKind::Dense {
        let found = format!("{:?}, with {} rows", kind.name(), rows.kind());
        return Err(Error::value("output.scaling", found, "\"none\", or dense rows"));
    }
    let scaling = match known {
        Some(known) => known.clone(),
        None => {
            let trained: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
            Scaling::fit(&Selected::new(rows, &trained), centred)?
        }
    };
    dataset.outputs.rows = Box::new(scaling.rows(rows)?);
    Ok(Some(scaling))
}

/// Writes the figures into a run directory.
pub(crate) fn save(scaling: Option<&Scaling>, folder: &Path) -> Result<(), Error> {
    scaling.map_or(Ok(()), |scaling| Ok(scaling.save(&folder.join(FILE))?))
}

/// The figures in a run directory, if it has some.
pub(crate) fn load(folder: &Path) -> Result<Option<Scaling>, Error> {
    let file = folder.join(FILE);
    match file.exists() {
        true => Ok(Some(Scaling::load(&file)?)),
        false => Ok(None),
    }
}
