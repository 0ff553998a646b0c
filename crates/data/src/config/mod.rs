//! What `[data]` and the outputs of a configuration say.

mod kernels;
pub(crate) mod outputs;
mod synthetic;

pub use kernels::KernelsConfig;
pub use outputs::{CandidateConfig, OutputFeatures, OutputSource, RankingEmbedding};
pub use synthetic::{NoiseConfig, SyntheticConfig, SyntheticMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{check, extension_of};
use crate::{Error, check_inside};

/// The pairs to learn from. Files are named inside `folder`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Folder under the data root (`--data`, else the variable `DSOKR_DATA`, else `data`); one that
    /// starts with `datasets/` is the project's own and lies beside the folder of the config file.
    /// Left out beside `synthetic`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Table of training pairs (.csv, .tsv, .jsonl), or a file of the official ChEBI-20 layout (.txt).
    #[serde(default = "train")]
    pub train: String,
    /// Table of validation pairs, which choose the best checkpoint.
    #[serde(default = "validation")]
    pub validation: String,
    /// Table of test pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// One file that all pairs are drawn from, in place of `train`, `validation` and `test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolConfig>,
    /// Column that names the output of each row.
    #[serde(default = "id")]
    pub id: String,
    /// Column with the text of each row.
    #[serde(default = "text")]
    pub text: String,
    /// Where texts are SMILES, how many more of the same molecule, in other orders of its atoms, are put
    /// behind each, with a space between; drawn from the seed and the text. What an n-gram cannot see
    /// in one of them, it sees in another.
    #[serde(default)]
    pub more_smiles: usize,
    /// Feature vectors as inputs, for encoders that read no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputsConfig>,
    /// Kernels as inputs, for kernel machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<KernelsConfig>,
    /// Share of the training pairs, 0 to 1, whose outputs are exchanged among themselves, drawn by the
    /// seed: for experiments with wrong outputs. Validation and test pairs stay as they are.
    #[serde(default)]
    pub corrupted: f64,
    /// Vectors that are drawn, in place of all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<SyntheticConfig>,
}

/// A split of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SplitName {
    /// The split that chooses the best checkpoint.
    Validation,
    /// The split that nothing was chosen on.
    Test,
}

impl std::fmt::Display for SplitName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Validation => "validation",
            Self::Test => "test",
        })
    }
}

/// Which rows of a pool belong to which split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolOrder {
    /// The seed draws them.
    #[default]
    Drawn,
    /// As they stand in the file: training pairs first, then validation, then test pairs.
    File,
}

/// A file whose rows are pairs and outputs at once: the output is the row itself, and the input is the
/// text of column `data.text`, or of a multi-label file the row's vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// A table (.csv, .tsv, .jsonl); or a file with one text a line and nothing else (.txt, .smi); or
    /// a multi-label file (.arff, .libsvm, .svm) with a vector and a set of labels in each row. Without
    /// a column for them, ids are the numbers of the rows, from 1.
    pub file: String,
    /// How many of the last attributes of an .arff file are labels; for such files only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<usize>,
    /// Which rows belong to which split.
    #[serde(default)]
    pub order: PoolOrder,
    /// Number of validation pairs.
    pub validation: usize,
    /// Number of test pairs.
    #[serde(default)]
    pub test: usize,
    /// Number of training pairs; all that are left, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<usize>,
}

/// A feature vector for each id, in place of a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputsConfig {
    /// Table whose rows the feature file follows.
    pub table: String,
    /// Column of the ids.
    #[serde(default = "id")]
    pub id: String,
    /// The vectors: dense rows.
    pub features: FeatureFileConfig,
}

/// A matrix in a file, one row an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureFileConfig {
    /// A .safetensors or .npy file.
    pub file: String,
    /// Name of the tensor; may be left out if the file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether the rows are packed bits, eight a byte, the most significant first.
    #[serde(default)]
    pub packed: bool,
}

fn train() -> String {
    "train.tsv".into()
}

fn validation() -> String {
    "validation.tsv".into()
}

fn id() -> String {
    "id".into()
}

fn text() -> String {
    "description".into()
}

impl DataConfig {
    /// Whether inputs are vectors, not texts.
    pub fn has_vectors(&self) -> bool {
        self.inputs.is_some()
            || self.kernels.is_some()
            || self.synthetic.is_some()
            || self.pool.as_ref().is_some_and(PoolConfig::is_multi_label)
    }

    /// Whether inputs are looked up in files of their own, beside those of pairs.
    pub fn has_input_files(&self) -> bool {
        self.inputs.is_some() || self.kernels.is_some()
    }

    /// Whether there is a test split.
    pub fn has_test(&self) -> bool {
        self.test.is_some()
            || self.pool.as_ref().is_some_and(|pool| pool.test > 0)
            || self.synthetic.as_ref().is_some_and(|drawn| drawn.test > 0)
    }

    /// Checks every value that the types leave open.
    ///
    /// # Errors
    /// [`Error::Value`] with the first key that is out of range, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Error> {
        let holds = (0.0..=1.0).contains(&self.corrupted);
        check(holds, "data.corrupted", self.corrupted, "a number in [0, 1]")?;
        if let Some(drawn) = &self.synthetic {
            let files = [&self.train, &self.validation] != [&train(), &validation()];
            for (key, given) in [
                ("data.folder", !self.folder.is_empty()),
                ("data.train, data.validation", files),
                ("data.test", self.test.is_some()),
                ("data.pool", self.pool.is_some()),
                ("data.inputs", self.inputs.is_some()),
                ("data.kernels", self.kernels.is_some()),
            ] {
                check(!given, key, "given", "absent beside data.synthetic")?;
            }
            return drawn.validate();
        }
        let folder = format!("{:?}", self.folder);
        check(!self.folder.is_empty(), "data.folder", folder, "a folder, or data.synthetic")?;
        check_inside("data.folder", &self.folder)?;
        check_inside("data.train", &self.train)?;
        check_inside("data.validation", &self.validation)?;
        if let Some(test) = &self.test {
            check_inside("data.test", test)?;
        }
        let most = 64;
        let allowed = format!("0 to {most}");
        check(self.more_smiles <= most, "data.more_smiles", self.more_smiles, &allowed)?;
        if let Some(pool) = &self.pool {
            check_inside("data.pool.file", &pool.file)?;
            for (key, count) in
                [("data.pool.validation", Some(pool.validation)), ("data.pool.train", pool.train)]
            {
                check(count != Some(0), key, 0, "at least 1")?;
            }
            let files = [&self.train, &self.validation];
            let given = files != [&train(), &validation()] || self.test.is_some();
            let allowed = "no data.train, data.validation and data.test beside it";
            check(!given, "data.pool", "given", allowed)?;
            let arff = pool.extension() == "arff";
            match pool.labels {
                Some(count) if !arff => {
                    let allowed = "absent: only .arff files need it";
                    return Err(Error::value("data.pool.labels", count, allowed));
                }
                None if arff => {
                    let allowed = "the number of labels, the file's last attributes";
                    return Err(Error::value("data.pool.labels", "absent", allowed));
                }
                _ => {}
            }
            let allowed = "absent: inputs are those of data.pool";
            check(self.inputs.is_none(), "data.inputs", "given", allowed)?;
            check(self.kernels.is_none(), "data.kernels", "given", allowed)?;
        }
        if let Some(kernels) = &self.kernels {
            kernels.validate()?;
            let allowed = "absent beside data.kernels";
            check(self.inputs.is_none(), "data.inputs", "given", allowed)?;
        }
        if let Some(inputs) = &self.inputs {
            check_inside("data.inputs.table", &inputs.table)?;
            inputs.features.validate("data.inputs.features.file")?;
            check(
                !inputs.features.packed,
                "data.inputs.features.packed",
                true,
                "false: vectors are dense",
            )?;
        }
        Ok(())
    }
}

impl PoolConfig {
    /// Whether rows hold a vector and a set of labels each.
    pub(crate) fn is_multi_label(&self) -> bool {
        ["arff", "libsvm", "svm"].contains(&self.extension().as_str())
    }

    /// The file's extension in lower case.
    pub(crate) fn extension(&self) -> String {
        extension_of(std::path::Path::new(&self.file))
    }
}

impl FeatureFileConfig {
    pub(crate) fn validate(&self, key: &str) -> Result<(), Error> {
        check_inside(key, &self.file)
    }
}
