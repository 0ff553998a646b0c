//! Features of outputs, of texts that are inputs.

use std::collections::HashMap;
use std::path::Path;

use dsokr_basis::Features;
use serde::{Deserialize, Serialize};

use super::{FittedColumns, OutputFeatures, OutputFiles, OutputTable};
use crate::Error;
use crate::error::check;
use crate::table::Table;

/// Features that outputs can have too, of texts: what their columns are, as the training texts gave them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TextFeatures {
    features: OutputFeatures,
    columns: FittedColumns,
}

impl TextFeatures {
    /// Checks that features are computed from a column, and their values.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::Value`] with the key.
    pub fn validate(features: &OutputFeatures, key: &str) -> Result<(), Error> {
        let allowed = "features of a column: \"substructures\", \"molecules\", \"ngrams\", \"labels\", \"rankings\" or \
                       \"numbers\"";
        check(features.column().is_some(), &format!("{key}.kind"), features.name(), allowed)?;
        features.kind().validate(key)
    }

    /// Finds the columns in the training texts.
    ///
    /// # Errors
    /// A text that cannot be read, such as one that is not a SMILES; features that are not of a column.
    pub fn fit(features: &OutputFeatures, texts: &[String]) -> Result<Self, Error> {
        let (columns, _) = read(features, texts, None)?;
        Ok(Self { features: features.clone(), columns })
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.width
    }

    /// The rows of texts, with the columns of the training.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn rows(&self, texts: &[String]) -> Result<Features, Error> {
        let (found, rows) = read(&self.features, texts, Some(&self.columns))?;
        match (found.width, self.width()) {
            (found, expected) if found != expected => {
                Err(dsokr_basis::Error::width(found, expected).into())
            }
            _ => Ok(rows),
        }
    }
}

/// The columns and rows of texts, of which the only column of a table is made.
fn read(
    features: &OutputFeatures,
    texts: &[String],
    fitted: Option<&FittedColumns>,
) -> Result<(FittedColumns, Features), Error> {
    let column = features.column().unwrap_or_default();
    let table = Table::numbered(Path::new("the inputs"), "", [(column, texts.to_vec())]);
    let (truth, labels, molecules) = (None, Vec::new(), HashMap::new());
    let files = OutputFiles::Given(&[]);
    let mut from = OutputTable { table: &table, id: "", files, fitted, truth, labels, molecules };
    let (columns, rows) = features.kind().read(&mut from)?;
    Ok((columns, rows.select(&(0..rows.len()).collect::<Vec<_>>())?))
}
