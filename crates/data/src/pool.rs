//! Pairs from one file, whose rows are inputs and outputs at once.

use std::ops::Range;
use std::path::Path;

use dsokr_basis::random::generator;
use dsokr_basis::{Features, RowSource};
use rand::seq::SliceRandom;

use crate::config::{
    MultiLabelConfig, OutputFeatures, PoolConfig, RowOrder, SplitName, SplitsConfig, TextConfig,
};
use crate::error::extension_of;
use crate::multi_label::{read_arff, read_libsvm};
use crate::output_rows::OutputFiles;
use crate::outputs::good_rows;
use crate::structure::{readable_texts, texts};
use crate::table::{Table, skipped_rows};
use crate::{DataRoot, Dataset, Error, Inputs, Outputs, Source, Split, Truth};

/// The file: ids and outputs in a table, and the inputs of its rows.
pub(crate) struct PoolFile<'a> {
    table: Table,
    id: &'a str,
    inputs: RowInputs<'a>,
    splits: &'a SplitsConfig,
    /// Whether ids are the numbers of the rows.
    numbered: bool,
}

/// The inputs of rows.
enum RowInputs<'a> {
    /// A column of the table.
    Texts(&'a TextConfig),
    Vectors(Features),
}

/// Rows of the file, and which of them, in this order, belong to which split; the others to none.
struct Drawn {
    rows: Vec<usize>,
    validation: Range<usize>,
    test: Range<usize>,
    train: Range<usize>,
}

impl<'a> PoolFile<'a> {
    /// Reads ids, texts and the given columns of outputs.
    pub(crate) fn read(
        path: &Path,
        pool: &'a PoolConfig,
        outputs: impl IntoIterator<Item = &'a str>,
        source: &Source,
    ) -> Result<Self, Error> {
        let PoolConfig { id, inputs, splits, .. } = pool;
        let mut columns = vec![id.as_str(), inputs.column.as_str()];
        columns.extend(outputs);
        let numbered = ["txt", "smi"].contains(&&*extension_of(path));
        let on_bad_row = source.data.on_bad_row;
        let read = |on_bad_row| match numbered {
            true => {
                let table = Table::read_lines(path, id, &inputs.column, on_bad_row)?;
                columns.iter().try_for_each(|column| table.column(column).map(|_| ()))?;
                Ok(table)
            }
            false => Table::read_rows(path, &columns, on_bad_row),
        };
        let table = good_rows(source.outputs.features, id, on_bad_row, read)?;
        let table = readable_texts(table, inputs, on_bad_row)?;
        table.log_skipped();
        Ok(Self { table, id, inputs: RowInputs::Texts(inputs), splits, numbered })
    }

    /// Reads a multi-label file: a column of ids, one of labels, and the vectors.
    pub(crate) fn read_multi_label(
        path: &Path,
        config: &'a MultiLabelConfig,
        features: &OutputFeatures,
    ) -> Result<Self, Error> {
        let read = match extension_of(path).as_str() {
            "arff" => read_arff(path, config.labels.unwrap_or_default())?,
            "libsvm" | "svm" => read_libsvm(path, config.labels)?,
            _ => return Err(Error::extension(path, ".arff, .libsvm, .svm")),
        };
        let OutputFeatures::Labels { column, separator } = features else {
            let allowed = "\"labels\", which the rows of a multi-label file are";
            return Err(Error::value("output.features.kind", features.kind(), allowed));
        };
        if let Some(name) = read.names.iter().find(|name| name.contains(*separator)) {
            let allowed = format!("a character that is not in a label's name, as in {name:?}");
            let found = format!("{separator:?}");
            return Err(Error::value("output.features.separator", found, allowed));
        }
        let separator = separator.to_string();
        let set = |row| {
            let names = read.labels.ones(row).map(|label| read.names[label].as_str());
            names.collect::<Vec<_>>().join(&separator)
        };
        let table = Table::numbered(path, "id", column, (0..read.len()).map(set).collect());
        let inputs = RowInputs::Vectors(read.inputs);
        Ok(Self { table, id: "id", inputs, splits: &config.splits, numbered: true })
    }

    /// Draws the splits, whose rows are the outputs.
    pub(crate) fn dataset(self, source: &Source, root: &DataRoot) -> Result<Dataset, Error> {
        let drawn = draw(self.splits, source.seed, &self.table)?;
        let file = self.select(&drawn.rows)?;
        let all = Outputs::from_table(
            &file.table,
            file.id,
            &source.outputs,
            OutputFiles::Configured(root),
            None,
        )?;
        let split = |rows: Range<usize>| {
            let outputs: Vec<Option<usize>> = rows.clone().map(Some).collect();
            Ok::<_, Error>(Split { outputs, ..file.pairs(rows, source.seed)? })
        };
        let held_out = |rows: Range<usize>| {
            let split = split(rows)?;
            Ok::<_, Error>(Split { truth: all.truth_of(&split.outputs), ..split })
        };
        Ok(Dataset {
            train: split(drawn.train)?,
            validation: held_out(drawn.validation)?,
            test: if drawn.test.is_empty() { None } else { Some(held_out(drawn.test)?) },
            skipped: skipped_rows([&file.table], root),
            outputs: all,
        })
    }

    /// The pairs of one split alone, without outputs; none if there is no such split.
    pub(crate) fn split(self, name: SplitName, source: &Source) -> Result<Option<Split>, Error> {
        let drawn = draw(self.splits, source.seed, &self.table)?;
        let rows = match name {
            SplitName::Validation => drawn.validation,
            SplitName::Test if !drawn.test.is_empty() => drawn.test,
            SplitName::Test => return Ok(None),
        };
        self.select(&drawn.rows[rows])?.queries(source, true).map(Some)
    }

    /// All rows as pairs without outputs. Where ids are numbers of rows, the rows of a file that is not
    /// the run's `own` are queries with these ids, and their outputs are others than the run's.
    pub(crate) fn queries(self, source: &Source, own: bool) -> Result<Split, Error> {
        let truth = Truth::column(&self.table, source.outputs.features)?;
        let split = Split { truth, ..self.pairs(0..self.table.len(), source.seed)? };
        if own || !self.numbered {
            return Ok(split);
        }
        let file = self.table.path().file_name().unwrap_or_default().to_string_lossy();
        let ids = split.ids.iter().map(|row| format!("{file} row {row}")).collect();
        Ok(Split { queries: Some(split.ids), ids, foreign: true, ..split })
    }

    fn select(self, rows: &[usize]) -> Result<Self, Error> {
        let inputs = match self.inputs {
            RowInputs::Texts(config) => RowInputs::Texts(config),
            RowInputs::Vectors(vectors) => RowInputs::Vectors(vectors.select(rows)?),
        };
        Ok(Self { table: self.table.select(rows), inputs, ..self })
    }

    /// Ids and inputs of some rows.
    fn pairs(&self, rows: Range<usize>, seed: u64) -> Result<Split, Error> {
        let rows: Vec<usize> = rows.collect();
        let table = self.table.select(&rows);
        let inputs = match &self.inputs {
            RowInputs::Texts(config) => Inputs::Texts(texts(&table, config, seed)?),
            RowInputs::Vectors(vectors) => Inputs::Vectors(vectors.select(&rows)?),
        };
        let ids = table.column(self.id)?.to_vec();
        Ok(Split::new(ids, inputs, vec![None; rows.len()]))
    }
}

/// Which rows are whose.
fn draw(splits: &SplitsConfig, seed: u64, table: &Table) -> Result<Drawn, Error> {
    let held = splits.validation.saturating_add(splits.test);
    let left = table.len().saturating_sub(held);
    let train = splits.train.unwrap_or(left);
    if train == 0 || train > left {
        let given = splits.train.map_or("the rest".into(), |train| train.to_string());
        let found = format!("{} + {} + {given}", splits.validation, splits.test);
        let allowed = format!("at most {}, the rows of {}", table.len(), table.path().display());
        return Err(Error::value("data.splits", found, allowed));
    }
    let mut rows: Vec<usize> = (0..table.len()).collect();
    let (validation, test, train) = match splits.order {
        RowOrder::Drawn => {
            rows.shuffle(&mut generator(seed, "split", 0));
            (0..splits.validation, splits.validation..held, held..held + train)
        }
        RowOrder::File => {
            let test = train + splits.validation;
            (train..test, test..train + held, 0..train)
        }
    };
    if !splits.unpaired {
        rows.truncate(train.len() + held);
    }
    Ok(Drawn { rows, validation, test, train })
}
