//! Pairs and outputs from files of the official ChEBI-20 layout.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use dsokr_basis::features::DenseRows;
use dsokr_core::message::shorten;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PairFacts, Pairs, Wanted, split_files};
use crate::dataset::{Dataset, Split};
use crate::error::{Error, open};
use crate::inputs::Inputs;
use crate::outputs::{OutputSource, Outputs};
use crate::table::{Header, OnBadRow, RowOptions, Rows, TextFormat, index_ids};

/// A file of the official ChEBI-20 layout (.txt) for each split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfficialConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `./` is in the folder of the configuration; one that starts with `datasets/` is next to
    /// that folder, or in the current one.
    pub folder: String,
    /// File of training pairs.
    #[serde(default = "train")]
    pub train: String,
    /// File of validation pairs, which choose the best checkpoint.
    #[serde(default = "validation")]
    pub validation: String,
    /// File of test pairs.
    pub test: Option<String>,
}

dsokr_core::defaults! {
    train: String = "training.txt".into(),
    validation: String = "val.txt".into(),
}

impl Pairs for OfficialConfig {
    fn facts(&self) -> PairFacts<'_> {
        let Self { folder, train, validation, test } = self;
        split_files(folder, std::iter::once(train.as_str()), validation, test.as_deref())
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_own()
    }

    /// Loads the data. The outputs are all rows of all files, each id once.
    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let read = |file: &String| read_official(&wanted.root()?.file(file));
        let train = read(&self.train)?;
        let validation = read(&self.validation)?;
        let test = self.test.as_ref().map(read).transpose()?;
        let mut ids = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let width = train.features.width();
        let mut values = Vec::new();
        for file in [Some(&train), Some(&validation), test.as_ref()].into_iter().flatten() {
            if file.features.width() != width {
                return Err(dsokr_core::Error::width(file.features.width(), width).into());
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
        let train = split(train);
        let validation = split(validation);
        let test = test.map(split);
        let candidates = (0..ids.len()).collect();
        let outputs = Outputs::from_vectors(ids, candidates, width, values)?;
        let outputs = Arc::new(outputs);
        let skipped = BTreeMap::new();
        Ok(Dataset { train, validation, test, outputs, skipped, input_columns: None })
    }

    fn queries(&self, path: &Path, _: &Wanted) -> Result<Split, Error> {
        Ok(without_outputs(read_official(path)?))
    }
}

/// Returns the pairs of a file without their outputs.
fn without_outputs(official: Official) -> Split {
    let Official { ids, descriptions, features: _ } = official;
    let outputs = vec![None; ids.len()];
    Split::new(ids, Inputs::Texts(descriptions), outputs)
}

const COLUMNS: [&str; 3] = ["cid", "mol2vec", "description"];

/// The columns of an official ChEBI-20 file; the three have the same length and order.
#[derive(Debug, Clone)]
pub struct Official {
    /// PubChem compound identifiers; unique.
    pub ids: Vec<String>,
    /// The descriptions: the queries.
    pub descriptions: Vec<String>,
    /// The Mol2vec embeddings, one row each (300 wide in the release).
    pub features: DenseRows,
}

/// Reads a file of the official ChEBI-20 release (Edwards, Zhai and Ji, *Text2Mol*, 2021).
///
/// Each line is `cid ⇥ mol2vec ⇥ description`: no header, tabs between the three, white space
/// between the numbers of the embedding, no quoting. The first row sets the width. The lines are
/// streamed: only what is returned is held in memory.
///
/// # Errors
/// A line without exactly three fields; a component that is not a finite 32-bit number; an embedding
/// whose width differs from the first; an empty field; an id that occurs twice; and the errors of
/// opening and reading a text file. A compressed file is refused.
pub fn read_official(path: &Path) -> Result<Official, Error> {
    if let Some(error) = Error::compressed(path) {
        return Err(error);
    }
    let columns = COLUMNS.map(str::to_owned).into();
    let options = RowOptions {
        on_bad_row: OnBadRow::Stop,
        header: Header::Columns,
        optional_keys: false,
        optional_column: None,
        sets: None,
    };
    let mut rows = Rows::new(path, open(path)?, TextFormat::Tabs, columns, options)?;
    let mut ids = Vec::new();
    let mut descriptions = Vec::new();
    let mut places = Vec::new();
    let mut values: Vec<f32> = Vec::new();
    let mut width: usize = 0;
    while let Some((line, fields)) = rows.next()? {
        if let Some(empty) = fields.iter().position(|field| field.trim().is_empty()) {
            return Err(Error::empty_value(path, line, COLUMNS[empty]));
        }
        let [id, vector, description] = fields.try_into().unwrap_or_default();
        let before = values.len();
        for (component, text) in vector.split_ascii_whitespace().enumerate() {
            let number = text.parse::<f32>().ok().filter(|value| value.is_finite());
            values.push(number.ok_or_else(|| {
                let column = COLUMNS[1];
                let value = shorten(text);
                let found = format!("component {component} of column {column:?} is {value:?}");
                Error::line(path, line, found + "; a finite 32-bit number is needed")
            })?);
        }
        let count = values.len() - before;
        if ids.is_empty() {
            width = count;
        } else if count != width {
            let column = COLUMNS[1];
            let first = places[0];
            let message = format!(
                "{count} numbers in column {column:?}; expected {width}, as on line {first}"
            );
            return Err(Error::line(path, line, message));
        }
        ids.push(id);
        descriptions.push(description);
        places.push(line);
    }
    if ids.is_empty() {
        return Err(Error::empty(path));
    }
    if let Some((_, error)) = index_ids(path, COLUMNS[0], &ids, &places).1.into_iter().next() {
        return Err(error);
    }
    let features = DenseRows::new(width, values).map_err(|reason| Error::rows(path, reason))?;
    Ok(Official { ids, descriptions, features })
}
