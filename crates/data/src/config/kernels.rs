use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::check;
use crate::{Error, check_inside};

/// Kernels of the inputs that were computed elsewhere, for `encoder.kernels`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelsConfig {
    /// Table whose rows the matrices follow, in rows and columns: all inputs, of all splits.
    pub table: String,
    /// Column of the inputs' ids there.
    #[serde(default = "id")]
    pub id: String,
    /// Column of the tables of pairs that names the input, by such an id.
    pub column: String,
    /// The matrices, .npy files of 32- or 64-bit numbers: symmetric and positive semi-definite.
    pub files: Vec<String>,
}

fn id() -> String {
    "id".into()
}

impl KernelsConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check_inside("data.kernels.table", &self.table)?;
        check(!self.files.is_empty(), "data.kernels.files", "[]", "at least one file")?;
        self.files.iter().try_for_each(|file| check_inside("data.kernels.files", file))
    }
}
