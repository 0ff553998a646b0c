use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InputsConfig, TextConfig};
use crate::error::{check, extension_of};
use crate::{Error, check_inside};

/// A table for each split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TablesConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `datasets/` is beside the folder of the configuration, or in the current one.
    pub folder: String,
    /// Table of training pairs (.csv, .tsv, .jsonl).
    #[serde(default = "train")]
    pub train: String,
    /// Table of validation pairs, which choose the best checkpoint.
    #[serde(default = "validation")]
    pub validation: String,
    /// Table of test pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Column that names the output of each row.
    #[serde(default = "id")]
    pub id: String,
    /// Column that names the query of each row. Evaluated rows with the same one are one query with
    /// several right outputs: the best-ranked counts, and the others do not push it down. Left out,
    /// every row is a query with one right output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The inputs; texts of the column `description`, if left out.
    #[serde(default, deserialize_with = "InputsConfig::read")]
    pub inputs: InputsConfig,
}

/// A file of the official ChEBI-20 layout (.txt) for each split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfficialConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `datasets/` is beside the folder of the configuration, or in the current one.
    pub folder: String,
    /// File of training pairs.
    #[serde(default = "official_train")]
    pub train: String,
    /// File of validation pairs, which choose the best checkpoint.
    #[serde(default = "official_validation")]
    pub validation: String,
    /// File of test pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

/// A file whose rows are pairs and outputs at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `datasets/` is beside the folder of the configuration, or in the current one.
    pub folder: String,
    /// A table (.csv, .tsv, .jsonl), or a file with one text a line and nothing else (.txt, .smi), whose
    /// ids are the numbers of the lines, from 1.
    pub file: String,
    /// Column of the ids.
    #[serde(default = "id")]
    pub id: String,
    /// The texts of the rows.
    #[serde(default)]
    pub inputs: TextConfig,
    /// Which rows belong to which split.
    pub splits: SplitsConfig,
}

/// A file with a vector and a set of labels in each row; ids are the numbers of the rows, from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiLabelConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `datasets/` is beside the folder of the configuration, or in the current one.
    pub folder: String,
    /// A multi-label file (.arff, .libsvm, .svm).
    pub file: String,
    /// Number of labels: of an .arff file the last attributes; of other files as many as occur, if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<usize>,
    /// Which rows belong to which split.
    pub splits: SplitsConfig,
}

/// Which rows of a file belong to which split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitsConfig {
    /// The order in which rows are taken.
    #[serde(default)]
    pub order: RowOrder,
    /// Number of validation pairs.
    pub validation: usize,
    /// Number of test pairs.
    #[serde(default)]
    pub test: usize,
    /// Number of training pairs; all that are left, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<usize>,
    /// Whether the rows of no split are outputs without a pair: candidates, also under
    /// `output.only_training`.
    #[serde(default)]
    pub unpaired: bool,
}

/// The order in which rows of a file are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// The seed draws them.
    #[default]
    Drawn,
    /// As in the file: training pairs first, then validation, then test pairs.
    File,
}

fn train() -> String {
    "train.tsv".into()
}

fn validation() -> String {
    "validation.tsv".into()
}

fn official_train() -> String {
    "training.txt".into()
}

fn official_validation() -> String {
    "val.txt".into()
}

fn id() -> String {
    "id".into()
}

/// Files of splits stay inside the folder, and the folder inside the data root.
fn check_files(
    folder: &str,
    train: &str,
    validation: &str,
    test: Option<&str>,
) -> Result<(), Error> {
    check_inside("data.folder", folder)?;
    check_inside("data.train", train)?;
    check_inside("data.validation", validation)?;
    test.map_or(Ok(()), |test| check_inside("data.test", test))
}

impl TablesConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check_files(&self.folder, &self.train, &self.validation, self.test.as_deref())?;
        self.inputs.validate()
    }
}

impl OfficialConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check_files(&self.folder, &self.train, &self.validation, self.test.as_deref())
    }
}

impl PoolConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check_inside("data.folder", &self.folder)?;
        check_inside("data.file", &self.file)?;
        self.inputs.validate()?;
        self.splits.validate()
    }
}

impl MultiLabelConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check_inside("data.folder", &self.folder)?;
        check_inside("data.file", &self.file)?;
        let allowed = "the number of labels, the last attributes of an .arff file";
        check(!self.is_arff() || self.labels.is_some(), "data.labels", "absent", allowed)?;
        self.splits.validate()
    }

    pub(crate) fn is_arff(&self) -> bool {
        extension_of(self.file.as_ref()) == "arff"
    }
}

impl SplitsConfig {
    fn validate(&self) -> Result<(), Error> {
        for (key, count) in
            [("data.splits.validation", Some(self.validation)), ("data.splits.train", self.train)]
        {
            check(count != Some(0), key, 0, "at least 1")?;
        }
        Ok(())
    }
}
