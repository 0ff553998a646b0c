use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::tagged::Table;
use crate::error::check;
use crate::{Error, check_inside};

/// What the inputs of the rows of tables are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InputsConfig {
    /// A column of texts; the default.
    Text(TextConfig),
    /// Feature vectors, for encoders that read no text.
    Features(FeatureInputsConfig),
    /// Kernels that were computed elsewhere, for kernel machines.
    Kernels(KernelInputsConfig),
}

impl InputsConfig {
    /// Reads a table; without a `kind`, texts are meant.
    pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Table::read(deserializer)?.tagged("kind", "text", &[])
    }
}

impl Default for InputsConfig {
    fn default() -> Self {
        Self::Text(TextConfig::default())
    }
}

/// A column of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TextConfig {
    /// The column.
    pub column: String,
    /// Where texts are SMILES, how many more of the same molecule, in other orders of its atoms, are put
    /// behind each, with a space between; drawn from the seed and the text. What an n-gram cannot see
    /// in one of them, it sees in another.
    pub more_smiles: usize,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self { column: "description".into(), more_smiles: 0 }
    }
}

/// A feature vector for each id: dense rows of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureInputsConfig {
    /// Table whose rows the matrix follows.
    pub table: String,
    /// Column of the ids there.
    #[serde(default = "id")]
    pub id: String,
    /// The matrix, a .safetensors or .npy file.
    pub file: String,
    /// Name of the tensor; may be left out if the file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Kernel matrices of the inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelInputsConfig {
    /// Table whose rows the matrices follow, in rows and columns: all inputs, of all splits.
    pub table: String,
    /// Column of the inputs' ids there.
    #[serde(default = "id")]
    pub id: String,
    /// Column of the tables of pairs that names the input, by such an id.
    pub column: String,
    /// The matrices, .npy files of numbers: symmetric and positive semi-definite.
    pub files: Vec<String>,
}

fn id() -> String {
    "id".into()
}

impl InputsConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        match self {
            Self::Text(text) => text.validate(),
            Self::Features(FeatureInputsConfig { table, file, .. }) => {
                check_inside("data.inputs.table", table)?;
                check_inside("data.inputs.file", file)
            }
            Self::Kernels(KernelInputsConfig { table, files, .. }) => {
                check_inside("data.inputs.table", table)?;
                check(!files.is_empty(), "data.inputs.files", "[]", "at least one file")?;
                files.iter().try_for_each(|file| check_inside("data.inputs.files", file))
            }
        }
    }
}

impl TextConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        let holds = self.more_smiles <= 64;
        check(holds, "data.inputs.more_smiles", self.more_smiles, "0 to 64")
    }
}
