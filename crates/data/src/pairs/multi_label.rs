//! Pairs of a vector and a set of labels or a row of numbers, from one file.

use std::path::Path;

use dsokr_basis::RowSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::PairedRows;
use super::splits::SplitsConfig;
use super::{PairFacts, Pairs, Wanted};
use crate::dataset::{Dataset, Split, SplitName};
use crate::error::{Error, check, extension_of};
use crate::groups::GroupColumns;
use crate::input_columns::{InputColumns, Numbering};
use crate::inputs::{InputKind, Inputs};
use crate::multi_label::arff::{Columns, arff_labels, arff_numbers};
use crate::multi_label::libsvm::{read_libsvm_like, read_libsvm_training};
use crate::multi_label::{BadRows, MultiLabel, check_rows};
use crate::output_features::OutputFeatures;
use crate::outputs::OutputSource;
use crate::root::{A_BYTE_OF_NUMBERS, DataRoot};
use crate::table::{OnBadRow, Table};

/// A file with a vector and a set of labels, or numbers to predict, in each row; ids are the numbers of the rows, from
/// 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiLabelConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `./` is in the folder of the configuration; one that starts with `datasets/` is next to
    /// that folder, or in the current one.
    pub folder: String,
    /// A multi-label file (.arff, .libsvm, .svm, or .txt as in the Extreme Classification Repository), or a multi-target file (.arff).
    pub file: String,
    /// Number of labels, or of numbers to predict: of an .arff file the last attributes, unless its relation says
    /// `-C n`, as files of MEKA do; of other files as many labels as occur, if left out.
    pub labels: Option<usize>,
    /// Whether the features of a .libsvm file count from 0. If left out, they do where one is 0, or where the file of
    /// the training pairs begins with the header of the Extreme Classification Repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_based: Option<bool>,
    /// The rows of each split.
    pub splits: SplitsConfig,
    /// A file of test rows, in the place of `splits.test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

const OUTPUTS: &str = "\"labels\" or, of an .arff file, \"numbers\": what the rows of the file are";

impl MultiLabelConfig {
    /// Reads a column of ids, one of labels or numbers, and the vectors, whose columns are those of `training` where these
    /// are known, and returns what the columns are.
    fn read(
        &self,
        path: &Path,
        wanted: &Wanted,
        columns: Columns,
        training: Option<&InputColumns>,
    ) -> Result<(PairedRows<'_>, InputColumns), Error> {
        let (inputs, column, cells, bad, input_columns) = match wanted.outputs.features {
            OutputFeatures::Labels(labels) => {
                let (read, bad, input_columns) = self.labels(path, columns, training)?;
                let cells = labels.cells(&read.names, &read.labels);
                (read.inputs, labels.column.as_str(), cells, bad, input_columns)
            }
            OutputFeatures::Numbers(numbers) if extension_of(path) == "arff" => {
                let named = training.and_then(InputColumns::named);
                let (inputs, rows, bad, named) = arff_numbers(path, self.labels, columns, named)?;
                let cells = rows.iter().map(|row| numbers.cell(row)).collect();
                let input_columns = InputColumns::Named(named);
                (inputs, numbers.column.as_str(), cells, bad, input_columns)
            }
            features => {
                return Err(Error::value("output.features.kind", features.name(), OUTPUTS));
            }
        };
        let mut table = Table::numbered(path, "id", [(column, cells)]);
        match wanted.on_bad_row {
            OnBadRow::Stop | OnBadRow::SkipSpectra => check_rows(bad)?,
            OnBadRow::Skip => table = table.skipping(bad)?,
        }
        table.log_skipped(0);
        let inputs = Box::new(move |table: &mut Table| {
            let rows: Vec<usize> = (0..table.len()).map(|row| table.line(row) - 1).collect();
            Ok(Inputs::Vectors(inputs.select(&rows)?.into()))
        });
        let rows = PairedRows {
            table,
            id: "id",
            inputs,
            splits: &self.splits,
            group: None,
            together: GroupColumns::default(),
            numbered: true,
        };
        Ok((rows, input_columns))
    }

    fn labels(
        &self,
        path: &Path,
        columns: Columns,
        training: Option<&InputColumns>,
    ) -> Result<(MultiLabel, BadRows, InputColumns), Error> {
        match extension_of(path).as_str() {
            "arff" => {
                let named = training.and_then(InputColumns::named);
                let (read, bad, named) = arff_labels(path, self.labels, columns, named)?;
                Ok((read, bad, InputColumns::Named(named)))
            }
            "libsvm" | "svm" | "txt" => {
                let (read, numbering) = match training {
                    Some(InputColumns::Numbered(training)) => {
                        (read_libsvm_like(path, self.labels, *training)?, *training)
                    }
                    Some(InputColumns::Named(_)) | None => {
                        let numbering = Numbering::of_file(path, self.zero_based)?;
                        (read_libsvm_training(path, self.labels, numbering)?, numbering)
                    }
                };
                Ok((read, Vec::new(), InputColumns::Numbered(numbering)))
            }
            _ => Err(Error::extension(path, ".arff, .libsvm, .svm, .txt")),
        }
    }
}

impl Pairs for MultiLabelConfig {
    fn facts(&self) -> PairFacts<'_> {
        let test = self.test.iter().map(|file| ("data.test", file.as_str()));
        PairFacts {
            folder: &self.folder,
            files: [("data.file", &*self.file)].into_iter().chain(test).collect(),
            splits: Some(&self.splits),
            has_test: self.test.is_some() || !self.splits.test.is_zero(),
            inputs: InputKind::Vectors,
            skips_rows: extension_of(self.file.as_ref()) == "arff",
            id: Some("id"),
            numbered: true,
            ..PairFacts::default()
        }
    }

    fn validate(&self) -> Result<(), Error> {
        let group = self.splits.group.as_ref().map(|group| format!("{group:?}"));
        let allowed = "absent: rows are vectors, which have no molecules, texts or columns";
        check(group.is_none(), "data.splits.group", group.unwrap_or_default(), allowed)?;
        let column = self.splits.column.as_ref().map(|column| format!("{column:?}"));
        check(column.is_none(), "data.splits.column", column.unwrap_or_default(), allowed)?;
        let holds = self.test.is_none() || self.splits.test.is_zero();
        check(holds, "data.splits.test", self.splits.test, "0, with a file in data.test")
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_one_kernel()?;
        let features = outputs.features;
        let arff = extension_of(self.file.as_ref()) == "arff";
        let holds = features.are_labels() || (features.are_numbers() && arff);
        check(holds, "output.features.kind", features.name(), OUTPUTS)?;
        outputs.check_no_table()
    }

    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        let need = |(key, file)| (key, A_BYTE_OF_NUMBERS * root.size(file));
        self.facts().files.into_iter().map(need).collect()
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let path = wanted.root()?.file(&self.file);
        let (rows, columns) = self.read(&path, wanted, Columns::ToldApart, None)?;
        let mut dataset = rows.dataset(wanted, [None, None])?;
        if let Some(file) = &self.test {
            let wanted = Wanted { input_columns: Some(&columns), ..*wanted };
            dataset.test = Some(self.queries(&wanted.root()?.file(file), &wanted)?);
        }
        Ok(Dataset { input_columns: Some(columns), ..dataset })
    }

    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        if let SplitName::Test = name
            && let Some(file) = &self.test
        {
            return self.queries(&wanted.root()?.file(file), wanted).map(Some);
        }
        let path = wanted.root()?.file(&self.file);
        let (rows, _) = self.read(&path, wanted, Columns::Any, None)?;
        rows.split(name, wanted)
    }

    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        let absent = || {
            let allowed = "those of the training pairs, by which files of queries are read";
            Error::value("the columns of the inputs", "absent", allowed)
        };
        let columns = wanted.input_columns.ok_or_else(absent)?;
        let (rows, _) = self.read(path, wanted, Columns::Any, Some(columns))?;
        rows.grouped_queries(wanted, wanted.is_own(path, &self.file))
    }
}
