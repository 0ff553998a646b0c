//! Pairs of a vector and a set of labels, from one multi-label file.

use std::path::Path;

use dsokr_basis::RowSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{PairedRows, SplitsConfig};
use super::{PairFacts, Pairs, Wanted};
use crate::error::{check, extension_of};
use crate::multi_label::{read_arff, read_libsvm};
use crate::output_features::OutputFeatures;
use crate::outputs::OutputSource;
use crate::root::A_BYTE_OF_NUMBERS;
use crate::table::Table;
use crate::{DataRoot, Dataset, Error, InputKind, Inputs, Split, SplitName};

/// A file with a vector and a set of labels in each row; ids are the numbers of the rows, from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiLabelConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `./` is in the folder of the configuration; one that starts with `datasets/` is beside
    /// that folder, or in the current one.
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

const LABELS: &str = "\"labels\", which the rows of a multi-label file are";

impl MultiLabelConfig {
    /// Reads a column of ids, one of labels, and the vectors.
    fn read(&self, path: &Path, wanted: &Wanted) -> Result<PairedRows<'_>, Error> {
        let read = match extension_of(path).as_str() {
            "arff" => read_arff(path, self.labels.unwrap_or_default())?,
            "libsvm" | "svm" => read_libsvm(path, self.labels)?,
            _ => return Err(Error::extension(path, ".arff, .libsvm, .svm")),
        };
        let features = wanted.outputs.features;
        let OutputFeatures::Labels(labels) = features else {
            return Err(Error::value("output.features.kind", features.name(), LABELS));
        };
        let separator = labels.separator;
        if let Some(name) = read.names.iter().find(|name| name.contains(separator)) {
            let allowed = format!("a character that is not in a label's name, as in {name:?}");
            let found = format!("{separator:?}");
            return Err(Error::value("output.features.separator", found, allowed));
        }
        let separator = separator.to_string();
        let set = |row| {
            let names = read.labels.ones(row).map(|label| read.names[label].as_str());
            names.collect::<Vec<_>>().join(&separator)
        };
        let sets = (0..read.labels.len()).map(set).collect();
        let table = Table::numbered(path, "id", [(&*labels.column, sets)]);
        let inputs = Box::new(move |table: &Table| {
            let rows: Vec<usize> = (0..table.len()).map(|row| table.line(row) - 1).collect();
            Ok(Inputs::Vectors(read.inputs.select(&rows)?))
        });
        let splits = &self.splits;
        Ok(PairedRows { table, id: "id", inputs, splits, group: None, numbered: true })
    }
}

impl Pairs for MultiLabelConfig {
    fn facts(&self) -> PairFacts<'_> {
        PairFacts {
            folder: &self.folder,
            files: vec![("data.file", &self.file)],
            splits: Some(&self.splits),
            has_test: !self.splits.test.is_zero(),
            inputs: InputKind::Vectors,
            id: Some("id"),
            ..PairFacts::default()
        }
    }

    fn validate(&self) -> Result<(), Error> {
        let allowed = "the number of labels, the last attributes of an .arff file";
        let holds = self.labels.is_some() || extension_of(self.file.as_ref()) != "arff";
        check(holds, "data.labels", "absent", allowed)
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_one_kernel()?;
        let features = outputs.features;
        check(features.are_labels(), "output.features.kind", features.name(), LABELS)?;
        outputs.check_no_table()
    }

    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        vec![("data.file", A_BYTE_OF_NUMBERS * root.size(&self.file))]
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        self.read(&wanted.root()?.file(&self.file), wanted)?.dataset(wanted)
    }

    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        self.read(&wanted.root()?.file(&self.file), wanted)?.split(name, wanted)
    }

    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        self.read(path, wanted)?.queries(wanted, wanted.is_own(path, &self.file))
    }
}
