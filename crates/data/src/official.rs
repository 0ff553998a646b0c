//! Pairs and outputs from files of the official ChEBI-20 layout.

use std::collections::{BTreeMap, HashMap};

use dsokr_basis::Features;
use dsokr_basis::features::DenseRows;

use crate::config::{OfficialConfig, SplitName};
use crate::table::{Official, read_official};
use crate::{DataRoot, Dataset, Error, FittedFeatures, Inputs, Outputs, Split};

/// Reads all pairs; the outputs are all rows of all files, each id once.
pub(crate) fn load(config: &OfficialConfig, root: &DataRoot) -> Result<Dataset, Error> {
    let read = |file: &String| read_official(&root.file(file));
    let (train, validation) = (read(&config.train)?, read(&config.validation)?);
    let test = config.test.as_ref().map(read).transpose()?;
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

/// The file of a split; none if there is no such split.
pub(crate) fn file(config: &OfficialConfig, name: SplitName) -> Option<&String> {
    match name {
        SplitName::Validation => Some(&config.validation),
        SplitName::Test => config.test.as_ref(),
    }
}

/// The pairs of a file without their outputs.
pub(crate) fn without_outputs(official: Official) -> Split {
    let Official { ids, descriptions, features: _ } = official;
    let outputs = vec![None; ids.len()];
    Split::new(ids, Inputs::Texts(descriptions), outputs)
}
