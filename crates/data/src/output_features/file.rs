//! Rows of a matrix: of a file, or of the source of the pairs itself.

use dsokr_core::store::check_inside;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedColumns, FittedRows, OutputFiles, OutputKind, OutputTable};
use crate::error::Error;
use crate::feature_file::{check_row_count, read_features, read_training_features};
use crate::root::DataRoot;

/// A matrix in a file, one row an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureFileConfig {
    /// A .safetensors or .npy file, or a .npz file of a sparse matrix.
    pub file: String,
    /// Name of the tensor; may be left out if the file has one.
    pub key: Option<String>,
    /// Whether the rows are packed bits, eight a byte, the most significant first.
    #[serde(default)]
    pub packed: bool,
}

impl OutputKind for FeatureFileConfig {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { follow_rows: true, can_be_summed: true, ..Default::default() }
    }

    fn validate(&self, key: &str) -> Result<(), Error> {
        Ok(check_inside(&format!("{key}.file"), &self.file)?)
    }

    fn memory(&self, root: &DataRoot) -> f64 {
        root.features(&self.file, self.packed)
    }

    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let path = from.files.take(&self.file)?;
        let rows = match from.files {
            OutputFiles::Configured(_) => {
                read_training_features(&path, self.key.as_deref(), self.packed)?
            }
            OutputFiles::Given(_) => read_features(&path, None, self.packed)?,
        };
        check_row_count(&rows, &path, from.table)?;
        Ok((FittedColumns::fixed(rows.width()), rows))
    }
}

/// The vectors of the source itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnVectors {}

impl OutputKind for OwnVectors {
    /// Reads the rows. Features of further outputs lie in a file of their own.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        match from.files {
            OutputFiles::Configured(_) => {
                let found = format!("{:?}", from.table.path().display());
                Err(Error::value("output.table", found, "no table together with such features"))
            }
            OutputFiles::Given(_) => {
                FeatureFileConfig { file: String::new(), key: None, packed: false }.read(from)
            }
        }
    }
}
