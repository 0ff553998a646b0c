//! Pairs and outputs from files of the official ChEBI-20 layout.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PairFacts, Pairs, SplitFiles, Wanted};
use crate::outputs::OutputSource;
use crate::table::{Official, read_official};
use crate::{DataRoot, Dataset, Error, FittedFeatures, Inputs, Outputs, Split};

/// A file of the official ChEBI-20 layout (.txt) for each split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfficialConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `datasets/` is beside the folder of the configuration, or in the current one.
    pub folder: String,
    /// File of training pairs.
    #[serde(default = "train")]
    pub train: String,
    /// File of validation pairs, which choose the best checkpoint.
    #[serde(default = "validation")]
    pub validation: String,
    /// File of test pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

fn train() -> String {
    "training.txt".into()
}

fn validation() -> String {
    "val.txt".into()
}

impl OfficialConfig {
    fn files(&self) -> SplitFiles<'_> {
        let Self { train, validation, test, .. } = self;
        SplitFiles { train, validation, test: test.as_deref() }
    }
}

impl Pairs for OfficialConfig {
    fn facts(&self) -> PairFacts<'_> {
        let (files, has_test) = (Some(self.files()), self.test.is_some());
        PairFacts { folder: &self.folder, files, has_test, ..PairFacts::default() }
    }

    fn validate(&self) -> Result<(), Error> {
        self.files().validate(&self.folder)
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_own()
    }

    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        self.files().memory(root)
    }

    /// The outputs are all rows of all files, each id once.
    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let root = wanted.root()?;
        let read = |file: &String| read_official(&root.file(file));
        let (train, validation) = (read(&self.train)?, read(&self.validation)?);
        let test = self.test.as_ref().map(read).transpose()?;
        let mut ids = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let (width, mut values) = (train.features.width(), Vec::new());
        for file in [Some(&train), Some(&validation), test.as_ref()].into_iter().flatten() {
            if file.features.width() != width {
                let found = file.features.width();
                return Err(dsokr_basis::Error::width(found, width).into());
            }
            for (row, id) in file.ids.iter().enumerate() {
                if !index.contains_key(id) {
                    index.insert(id.clone(), ids.len());
                    ids.push(id.clone());
                    values.extend(&file.features.values()[row * width..(row + 1) * width]);
                }
            }
        }
        let split = |official: Official| {
            let outputs = official.ids.iter().map(|id| index.get(id).copied()).collect();
            Split { outputs, ..without_outputs(official) }
        };
        Ok(Dataset {
            train: split(train),
            validation: split(validation),
            test: test.map(split),
            outputs: Outputs {
                labels: vec![String::new(); ids.len()],
                candidates: (0..ids.len()).collect(),
                ids,
                rows: Box::new(Features::Dense(DenseRows::new(width, values)?)),
                truth: None,
                features: FittedFeatures::fixed(width),
            },
            skipped: BTreeMap::new(),
        })
    }

    fn queries(&self, path: &Path, _: &Wanted) -> Result<Split, Error> {
        Ok(without_outputs(read_official(path)?))
    }
}

/// The pairs of a file without their outputs.
fn without_outputs(official: Official) -> Split {
    let Official { ids, descriptions, features: _ } = official;
    let outputs = vec![None; ids.len()];
    Split::new(ids, Inputs::Texts(descriptions), outputs)
}
