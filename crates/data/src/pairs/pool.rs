//! Pairs that are drawn from one table or text file, and those that a program holds in memory.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::PairedRows;
use super::splits::SplitsConfig;
use super::{InputsConfig, PairFacts, Pairs, RowOrder, SplitSize, TextConfig, Wanted};
use crate::dataset::{Dataset, Split, SplitName};
use crate::error::{Error, check, extension_of};
use crate::groups::{GroupColumns, GroupRule};
use crate::input_columns::{InputColumns, NamedColumns};
use crate::output_features::OutputFeatures;
use crate::root::DataRoot;
use crate::table::{OnBadRow, Table, TableOptions, TextFormat};

/// A file whose rows are pairs and outputs at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `./` is in the folder of the configuration; one that starts with `datasets/` is next to
    /// that folder, or in the current one.
    pub folder: String,
    /// A table, or a file with one text a line and nothing else (.txt, .smi), whose
    /// ids are the numbers of the lines, from 1.
    pub file: String,
    /// Column of the ids.
    #[serde(default = "super::id")]
    pub id: String,
    /// Whether ids are the numbers of the lines in the place of a column, for tables without ids.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbered: bool,
    /// Number of rows of `file` that are known to be bad, where `data.on_bad_row` is `"skip"`: skipped rows are no warning
    /// unless there are more, and fewer are one. `dsokr init` writes it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bad_rows: usize,
    /// Whether the first line of a .csv or .tsv file has the names of the columns. Else it is a row, and columns are
    /// `column_1`, `column_2` and so on.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub header: bool,
    /// A file of validation pairs with the same columns, in the place of `splits.validation`. Its rows are outputs too;
    /// without ids, they are called `FILE row LINE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<String>,
    /// A file of test pairs, likewise in the place of `splits.test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The inputs of the rows: texts of a column, or a vector for each id.
    #[serde(default, deserialize_with = "InputsConfig::read")]
    pub inputs: InputsConfig,
    /// The rows of each split.
    pub splits: SplitsConfig,
}

dsokr_core::defaults!(yes: bool = true);

fn is_true(value: &bool) -> bool {
    *value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl PoolConfig {
    /// Reads ids, texts and the given columns of outputs; `splits` are the columns that say which rows belong to which
    /// split.
    fn read<'a>(
        &'a self,
        path: &Path,
        outputs: impl IntoIterator<Item = &'a str>,
        splits: impl IntoIterator<Item = &'a str>,
        wanted: &Wanted<'a>,
    ) -> Result<PairedRows<'a>, Error> {
        let Self { id, inputs, .. } = self;
        let column = inputs.column(id);
        let mut columns = vec![id.as_str(), column];
        columns.extend(outputs);
        columns.extend(wanted.group);
        columns.extend(splits);
        let lines = has_lines(path);
        let numbered = self.has_numbers(path);
        let read = |on_bad_row| {
            if lines {
                // with vectors the lines are outputs
                let output_column = wanted.outputs.features.column().filter(|_| column == id);
                let table =
                    Table::read_lines(path, id, output_column.unwrap_or(column), on_bad_row)?;
                columns.iter().try_for_each(|column| table.column(column).map(|_| ()))?;
                Ok(table)
            } else {
                let numbers = numbered.then_some(id.as_str());
                let headless = !self.header;
                let options = wanted.outputs.table_options(on_bad_row);
                Table::read_with(path, &columns, TableOptions { numbers, headless, ..options })
            }
        };
        let table = wanted.outputs.good_rows(id, wanted.on_bad_row, read)?;
        if !lines && let Some(training) = wanted.input_columns.and_then(InputColumns::named) {
            self.named_columns(path, wanted)?.check(path, training)?;
        }
        let table = inputs.good_rows(table)?;
        table.log_skipped(if wanted.is_own(path, &self.file) { self.bad_rows } else { 0 });
        let kernels = |_: &_| Err(Self::no_kernels());
        let mut together = GroupColumns::of_outputs(wanted.outputs);
        if !numbered {
            together.ids.push(id);
        }
        match inputs {
            InputsConfig::Text(text) if !text.numbers => together.input = Some(column),
            InputsConfig::Graphs(_) => together.ids.push(column),
            InputsConfig::Text(_) | InputsConfig::Features(_) => together.has_vectors = true,
            InputsConfig::Kernels(_) => {}
        }
        let inputs = inputs.reader(column, wanted, kernels)?;
        let group = wanted.group;
        let splits = &self.splits;
        Ok(PairedRows { table, id, inputs, splits, group, together, numbered })
    }
}

impl PoolConfig {
    /// Returns the options by which the header of a table is read.
    fn header_options(&self, wanted: &Wanted) -> TableOptions<'static> {
        let on_bad_row = wanted.on_bad_row;
        TableOptions { on_bad_row, headless: !self.header, ..TableOptions::default() }
    }

    /// Returns the columns of a table that `FIRST..LAST` names.
    fn named_columns(&self, path: &Path, wanted: &Wanted) -> Result<NamedColumns, Error> {
        let columns = [self.inputs.column_of_numbers(), wanted.outputs.features.truth()];
        NamedColumns::of_table(path, self.header_options(wanted), columns)
    }

    /// Returns what a run keeps of the columns of the training pairs: those that `FIRST..LAST` names, or the names of the numbers in
    /// lists.
    fn kept_columns(&self, path: &Path, wanted: &Wanted) -> Result<Option<InputColumns>, Error> {
        if has_lines(path) {
            return Ok(None);
        }
        if let Some(columns) = self.named_columns(path, wanted)?.kept() {
            return Ok(Some(columns));
        }
        let has_lists = self.inputs.column_of_numbers().is_some()
            && TextFormat::from_path(path) == TextFormat::JsonLines;
        if has_lists { InputColumns::beside_lists(path) } else { Ok(None) }
    }

    /// Returns the column whose values are the groups that splits do not divide, where a further file has it.
    fn group_column(&self, path: &Path, wanted: &Wanted) -> Result<Option<&str>, Error> {
        let column = self.splits.rule().and_then(GroupRule::column);
        let Some(column) = column.filter(|_| !has_lines(path)) else { return Ok(None) };
        let has_column = Table::header(path, self.header_options(wanted))?.has(column);
        Ok(has_column.then_some(column))
    }

    /// Warns that fewer rows of the table that splits divide are skipped than are known to be bad.
    fn warn_of_further_rows(&self, table: &Table, wanted: &Wanted) {
        let skipped = table.skipped();
        let stated = self.bad_rows;
        if wanted.on_bad_row != OnBadRow::Stop && skipped < stated {
            tracing::warn!(
                "{}: {skipped} rows are skipped, but data.bad_rows is {stated}: the table has changed, or its cells are read \
                 otherwise than they were; splits that are drawn have other rows then, so train again",
                table.path().display()
            );
        }
    }

    /// Returns the error for kernels, whose matrices follow a table of all inputs.
    fn no_kernels() -> Error {
        let allowed = "\"text\", \"features\" or \"graphs\" in a pool";
        Error::value("data.inputs.kind", "\"kernels\"", allowed)
    }

    /// Returns the files of the pairs, by their keys.
    fn files(&self) -> Vec<(&'static str, &str)> {
        let outputs = [("data.file", self.file.as_str())].into_iter();
        let validation = self.validation.iter().map(|file| ("data.validation", file.as_str()));
        let test = self.test.iter().map(|file| ("data.test", file.as_str()));
        outputs.chain(validation).chain(test).collect()
    }

    /// Returns whether the ids of a file's rows are the numbers of its lines.
    fn has_numbers(&self, path: &Path) -> bool {
        self.numbered || has_lines(path)
    }
}

impl Pairs for PoolConfig {
    fn facts(&self) -> PairFacts<'_> {
        self.inputs.facts(PairFacts {
            folder: &self.folder,
            files: self.files(),
            splits: Some(&self.splits),
            has_test: self.test.is_some() || self.splits.may_have_test(),
            numbered: self.has_numbers(self.file.as_ref()),
            skips_rows: true,
            id: Some(&self.id),
            row_names: Some(self.id.as_str()).filter(|_| !self.numbered),
            ..PairFacts::default()
        })
    }

    fn validate(&self) -> Result<(), Error> {
        if let InputsConfig::Kernels(_) = self.inputs {
            return Err(Self::no_kernels());
        }
        let validation = self.splits.validation.unwrap_or_default();
        let given = [
            ("data.splits.validation", self.validation.is_some(), validation),
            ("data.splits.test", self.test.is_some(), self.splits.test),
        ];
        for (key, has_file, size) in given {
            check(!has_file || size.is_zero(), key, size, "0, with a file of these pairs")?;
        }
        let has_files = self.validation.is_some() || self.test.is_some();
        let column = self.splits.column.as_ref().filter(|_| has_files);
        let found = column.map(|column| format!("{column:?}")).unwrap_or_default();
        let allowed = "absent, with a file of validation or test pairs";
        check(column.is_none(), "data.splits.column", found, allowed)?;
        self.inputs.validate()
    }

    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        let files = self.files().into_iter().map(|(key, file)| (key, root.size(file)));
        files.chain(self.inputs.memory(root)).collect()
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let path = wanted.root()?.file(&self.file);
        let pairs = self.read(&path, wanted.outputs.columns(), self.splits.columns(), wanted)?;
        self.warn_of_further_rows(&pairs.table, wanted);
        self.inputs.check_rounding(&[&pairs.table])?;
        let columns = self.kept_columns(&path, wanted)?;
        let wanted = &Wanted { input_columns: columns.as_ref(), ..*wanted };
        let further = |file: &Option<String>| {
            let Some(file) = file else { return Ok(None) };
            let path = wanted.root()?.file(file);
            let group = self.group_column(&path, wanted)?;
            let rows = self.read(&path, wanted.outputs.columns(), group, wanted)?;
            let table = if rows.numbered { rows.table.with_row_ids(&self.id)? } else { rows.table };
            Ok::<_, Error>(Some(table))
        };
        let files = [further(&self.validation)?, further(&self.test)?];
        let dataset = pairs.dataset(wanted, files)?;
        Ok(Dataset { input_columns: columns, ..dataset })
    }

    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        // rows are skipped, and belong together, for the columns that the training read, so that the splits are the same
        let skips = wanted.on_bad_row != OnBadRow::Stop;
        let columns: Vec<&str> = if skips || self.splits.group.is_some() {
            wanted.outputs.columns().collect()
        } else {
            wanted.outputs.features.truth().into_iter().collect()
        };
        let file = match name {
            SplitName::Train => None,
            SplitName::Validation => self.validation.as_ref(),
            SplitName::Test => self.test.as_ref(),
        };
        if let Some(file) = file {
            let path = wanted.root()?.file(file);
            let group = self.group_column(&path, wanted)?;
            let rows = self.read(&path, columns, group, wanted)?;
            let queries = rows.grouped_queries(wanted, false)?;
            return Ok(Some(Split { foreign: false, labels: Vec::new(), ..queries }));
        }
        let path = wanted.root()?.file(&self.file);
        let pairs = self.read(&path, columns, self.splits.columns(), wanted)?;
        self.warn_of_further_rows(&pairs.table, wanted);
        pairs.split(name, wanted)
    }

    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        let is_pool_file = wanted.is_own(path, &self.file);
        let columns = wanted.outputs.features.truth().into_iter();
        // what a row's output is called tells which candidate it is: without ids, and where ids are those of other rows
        let label = if is_pool_file { None } else { wanted.outputs.label };
        let options = self.header_options(wanted);
        let has_column =
            |label: &str| -> Result<bool, Error> { Ok(Table::header(path, options)?.has(label)) };
        let label = match label {
            Some(label) if !has_lines(path) && has_column(label)? => Some(label),
            Some(_) | None => None,
        };
        let group = self.group_column(path, wanted)?;
        let rows = self.read(path, columns.chain(label), group, wanted)?;
        rows.grouped_queries(wanted, is_pool_file)
    }

    fn inputs(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        // vectors of a features file, and graphs, are found by the ids
        let are_in_columns = matches!(self.inputs, InputsConfig::Text(_));
        if are_in_columns && !self.has_numbers(path) {
            let has_ids = Table::header(path, self.header_options(wanted))?.has(&self.id);
            if !has_ids {
                let numbered = Self { numbered: true, ..self.clone() };
                return numbered.read(path, [], [], wanted)?.inputs_alone();
            }
        }
        self.read(path, [], [], wanted)?.inputs_alone()
    }
}

/// Returns whether a file has a text a line and nothing else.
fn has_lines(path: &Path) -> bool {
    ["txt", "smi"].contains(&&*extension_of(path))
}

/// Texts and outputs that a program holds in memory. A run keeps these keys and not the pairs: it answers
/// texts, and is evaluated on files of queries.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    /// The texts, in files of queries.
    #[serde(default)]
    pub inputs: TextConfig,
    /// The pairs of each split.
    pub splits: SplitsConfig,
    #[serde(skip)]
    rows: Option<Arc<Table>>,
}

/// Two are equal if their keys are.
impl PartialEq for MemoryConfig {
    fn eq(&self, other: &Self) -> bool {
        (&self.inputs, &self.splits) == (&other.inputs, &other.splits)
    }
}

impl MemoryConfig {
    /// The column of the ids, in files of queries too; the pairs have their numbers, from 1.
    pub const ID: &'static str = "id";

    /// Creates texts and outputs; `features` name the column of the outputs. One pair in ten, drawn by the seed, is for
    /// validation.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for lists of different lengths, less than two pairs, and features that are not of a
    /// column.
    pub fn new(
        texts: Vec<String>,
        outputs: Vec<String>,
        features: &OutputFeatures,
    ) -> Result<Self, Error> {
        let n = texts.len();
        if outputs.len() != n || n < 2 {
            let found = format!("{n} texts and {} outputs", outputs.len());
            return Err(Error::value("data", found, "as many texts as outputs, at least two"));
        }
        let Some(column) = features.column() else {
            let allowed = "features of a column, which the outputs are";
            return Err(Error::value("output.features.kind", features.name(), allowed));
        };
        let inputs = TextConfig::default();
        let columns = [(&*inputs.column, texts), (column, outputs)];
        let rows = Some(Arc::new(Table::numbered(Path::new("memory"), Self::ID, columns)));
        let splits = SplitsConfig {
            order: RowOrder::Drawn,
            validation: Some(SplitSize::Rows((n / 10).max(1))),
            test: SplitSize::Rows(0),
            train: None,
            seed: None,
            group: Some("repeats".into()),
            column: None,
            unpaired: false,
        };
        Ok(Self { inputs, splits, rows })
    }

    fn paired<'a>(&'a self, table: Table, wanted: &Wanted<'a>) -> PairedRows<'a> {
        let inputs = self.inputs.reader(wanted.seed);
        let splits = &self.splits;
        let mut together = GroupColumns::of_outputs(wanted.outputs);
        together.input = Some(&self.inputs.column).filter(|_| !self.inputs.numbers).map(|x| &**x);
        together.has_vectors = self.inputs.numbers;
        PairedRows { table, id: Self::ID, inputs, splits, group: None, together, numbered: false }
    }

    fn rows<'a>(&'a self, wanted: &Wanted<'a>) -> Result<PairedRows<'a>, Error> {
        let allowed =
            "a file of queries: the pairs were in the memory of the program that trained the run";
        let absent = || Error::value("data.source", "\"memory\"", allowed);
        let table = self.rows.as_deref().ok_or_else(absent)?.clone();
        Ok(self.paired(wanted.outputs.with_plain_smiles(table)?, wanted))
    }
}

impl Pairs for MemoryConfig {
    fn facts(&self) -> PairFacts<'_> {
        PairFacts {
            splits: Some(&self.splits),
            has_test: self.splits.may_have_test(),
            id: Some(Self::ID),
            texts: Some(&self.inputs),
            inputs: self.inputs.kind(),
            ..PairFacts::default()
        }
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        self.rows(wanted)?.dataset(wanted, [None, None])
    }

    fn split(&self, name: SplitName, wanted: &Wanted) -> Result<Option<Split>, Error> {
        self.rows(wanted)?.split(name, wanted)
    }

    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        let columns =
            [Self::ID, &self.inputs.column].into_iter().chain(wanted.outputs.features.truth());
        let options = wanted.outputs.table_options(wanted.on_bad_row);
        let table = Table::read_with(path, &columns.collect::<Vec<_>>(), options)?;
        self.paired(wanted.outputs.with_plain_smiles(table)?, wanted).grouped_queries(wanted, false)
    }

    fn inputs(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        let options = wanted.outputs.table_options(wanted.on_bad_row);
        let table = Table::read_with(path, &[Self::ID, &self.inputs.column], options)?;
        self.paired(table, wanted).inputs_alone()
    }
}
