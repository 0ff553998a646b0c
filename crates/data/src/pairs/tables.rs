//! Pairs from a table for each split, whose rows name outputs and hold or name inputs.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::{RowWeights, grouped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{InputReader, InputsConfig};
use super::training::{TrainingFiles, joined, report_repeated};
use super::{PairFacts, Pairs, Wanted, split_files};
use crate::dataset::{Dataset, Split};
use crate::error::Error;
use crate::input_columns::{InputColumns, NamedColumns};
use crate::output_features::OutputFiles;
use crate::outputs::{Known, OutputSource, Outputs};
use crate::root::DataRoot;
use crate::table::{Table, TableOptions, skipped_rows};
use crate::truth::bad;

/// A table for each split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TablesConfig {
    /// The folder of the files: in the data root, which is `--data`, else the variable `DSOKR_DATA`, else `data`.
    /// One that starts with `./` is in the folder of the configuration; one that starts with `datasets/` is next to
    /// that folder, or in the current one.
    pub folder: String,
    /// Table of training pairs, or a list of tables, whose pairs are taken table by
    /// table. An entry `{ path = "more.tsv", weight = 0.5 }` gives the weight of each of its pairs (default: 1): a pair
    /// of weight 2 counts as two equal pairs. A pair that is in two of the tables counts twice; the log says how many
    /// are, and how many inputs have different outputs.
    #[serde(default = "train")]
    pub train: TrainingFiles,
    /// Table of validation pairs, which choose the best checkpoint.
    #[serde(default = "validation")]
    pub validation: String,
    /// Table of test pairs.
    pub test: Option<String>,
    /// Column that names the output of each row.
    #[serde(default = "super::id")]
    pub id: String,
    /// Column that names the query of each row. Evaluated rows with the same one are one query with
    /// several right outputs: the best-ranked counts, and the others do not push it down. Left out,
    /// every row is a query with one right output.
    pub query: Option<String>,
    /// The inputs; texts of the column `description`, if left out.
    #[serde(default, deserialize_with = "InputsConfig::read")]
    pub inputs: InputsConfig,
}

dsokr_core::defaults! {
    train: TrainingFiles = TrainingFiles::One("train.tsv".into()),
    validation: String = "validation.tsv".into(),
}

impl TablesConfig {
    /// Returns the column of the texts, or of the ids of inputs that lie in files of their own.
    fn input(&self) -> &str {
        self.inputs.column(&self.id)
    }
}

impl Pairs for TablesConfig {
    fn facts(&self) -> PairFacts<'_> {
        let Self { folder, train, validation, test, .. } = self;
        let facts = PairFacts {
            skips_rows: true,
            weighted: train.is_weighted(),
            // the column of ids names outputs, which lie in a table of their own
            row_names: self.query.as_deref(),
            ..split_files(folder, train.each().map(|(file, _)| file), validation, test.as_deref())
        };
        self.inputs.facts(facts)
    }

    fn validate(&self) -> Result<(), Error> {
        self.train.validate()?;
        self.inputs.validate()
    }

    fn validate_outputs(&self, outputs: &OutputSource) -> Result<(), Error> {
        outputs.check_features()?;
        outputs.table.map(|_| ()).ok_or_else(OutputSource::no_table)
    }

    fn memory(&self, root: &DataRoot) -> Vec<(&'static str, f64)> {
        let pairs = self.facts().files.into_iter().map(|(key, file)| (key, root.size(file)));
        pairs.chain(self.inputs.memory(root)).collect()
    }

    fn load(&self, wanted: &Wanted) -> Result<Dataset, Error> {
        let root = wanted.root()?;
        let first = self.train.each().next().map(|(file, _)| root.file(file));
        let columns = first.map(|file| self.named_columns(&file, wanted)).transpose()?;
        let columns = columns.and_then(NamedColumns::kept);
        let wanted = &Wanted { input_columns: columns.as_ref(), ..*wanted };
        let read = |file: &String| self.read(&root.file(file), wanted);
        let train = self.read_training(wanted)?;
        let validation = read(&self.validation)?;
        let test = self.test.as_ref().map(read).transpose()?;
        let name = wanted.outputs.table.ok_or_else(OutputSource::no_table)?;
        let table = wanted.outputs.read(&root.file(name), wanted.on_bad_row)?;
        let files = OutputFiles::Configured(root);
        let outputs = Outputs::from_table(
            &table,
            wanted.outputs.id,
            wanted.outputs,
            files,
            Known::default(),
        )?;
        let index: Index = outputs.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        let with_outputs = |train: Table| {
            let where_known = "the outputs of the configuration's output.table".to_owned();
            let unknown = bad(train.places(&self.id, &index, where_known)?);
            train.without(unknown)
        };
        let train = train.into_iter().map(with_outputs).collect::<Result<Vec<_>, Error>>()?;
        let column = self.input();
        report_repeated(&train, column, &self.id)?;
        self.inputs.check_rounding(&train.iter().collect::<Vec<_>>())?;
        let inputs = self.inputs.reader(column, wanted, |index| index.of_all(&train, column))?;
        let skipped =
            skipped_rows([&table, &validation].into_iter().chain(&train).chain(&test), root);
        let held_out = |pairs: Table| {
            let mut split = self.queries_of(pairs, &index, &inputs, wanted)?;
            // the outputs' own, so that it need not stand in the table of pairs too
            split.truth = outputs.truth_of(&split.outputs);
            split.labels = outputs.labels_of(&split.outputs);
            Ok::<_, Error>(split)
        };
        Ok(Dataset {
            validation: held_out(validation)?,
            test: test.map(held_out).transpose()?,
            train: self.training(train, &index, &inputs, wanted)?,
            outputs: Arc::new(outputs),
            skipped,
            input_columns: columns.clone(),
        })
    }

    fn queries(&self, path: &Path, wanted: &Wanted) -> Result<Split, Error> {
        let pairs = self.read(path, wanted)?;
        let inputs = self.inputs.reader(self.input(), wanted, |index| {
            index.of_all(&self.read_training(wanted)?, self.input())
        })?;
        self.queries_of(pairs, &HashMap::new(), &inputs, wanted)
    }
}

/// The place of each output, by id.
type Index<'o> = HashMap<&'o str, usize>;

impl TablesConfig {
    /// Reads a table of pairs. An output's id may occur twice, for two inputs with the same output.
    fn read(&self, path: &Path, wanted: &Wanted) -> Result<Table, Error> {
        let columns = [self.id.as_str(), self.input()].into_iter();
        let columns: Vec<&str> = columns.chain(self.query.as_deref()).chain(wanted.group).collect();
        let table = Table::read_rows(path, &columns, wanted.on_bad_row)?;
        if let Some(training) = wanted.input_columns.and_then(InputColumns::named) {
            self.named_columns(path, wanted)?.check(path, training)?;
        }
        self.inputs.good_rows(table)
    }

    /// Returns the columns of a table of pairs that `FIRST..LAST` names; outputs are in a table of their own.
    fn named_columns(&self, path: &Path, wanted: &Wanted) -> Result<NamedColumns, Error> {
        let options = TableOptions { on_bad_row: wanted.on_bad_row, ..TableOptions::default() };
        NamedColumns::of_table(path, options, [self.inputs.column_of_numbers(), None])
    }

    /// Reads the tables of training pairs.
    fn read_training(&self, wanted: &Wanted) -> Result<Vec<Table>, Error> {
        let root = wanted.root()?;
        self.train.each().map(|(file, _)| self.read(&root.file(file), wanted)).collect()
    }

    /// Returns the training pairs of their tables, with their weights.
    fn training(
        &self,
        tables: Vec<Table>,
        index: &Index,
        inputs: &InputReader,
        wanted: &Wanted,
    ) -> Result<Split, Error> {
        let weighted = self.train.is_weighted();
        let part = |(table, (_, weight)): (Table, (&str, f64))| {
            let split = self.join(table, index, inputs, wanted)?;
            let each = if weighted { vec![weight; split.ids.len()] } else { Vec::new() };
            Ok(Split { weights: RowWeights::new(&each)?, ..split })
        };
        let parts = tables.into_iter().zip(self.train.each()).map(part);
        let parts = parts.collect::<Result<Vec<_>, Error>>()?;
        joined(parts)?.ok_or_else(|| Error::value("data.train", "[]", "at least one file"))
    }

    fn join(
        &self,
        mut table: Table,
        index: &Index,
        inputs: &InputReader,
        wanted: &Wanted,
    ) -> Result<Split, Error> {
        table.log_skipped(0);
        let column = |name: &str| table.column(name).map(<[_]>::to_vec);
        let ids = column(&self.id)?;
        let outputs = ids.iter().map(|id| index.get(id.as_str()).copied()).collect();
        let queries = self.query.as_deref().map(column).transpose()?;
        let fold_groups = wanted.group.map(column).transpose()?.unwrap_or_default();
        Ok(Split { queries, fold_groups, ..Split::new(ids, inputs(&mut table)?, outputs) })
    }

    /// Returns the pairs as queries: rows with the same query id are one, with several right outputs.
    fn queries_of(
        &self,
        table: Table,
        index: &Index,
        inputs: &InputReader,
        wanted: &Wanted,
    ) -> Result<Split, Error> {
        let Some(rows) = self.rows_of_queries(&table)? else {
            return self.join(table, index, inputs, wanted);
        };
        self.join(table, index, inputs, wanted)?.into_queries(&rows)
    }

    /// Returns the rows of each query, in the order of the first ones; none without query ids.
    fn rows_of_queries(&self, table: &Table) -> Result<Option<Vec<Vec<usize>>>, Error> {
        let Some(query) = &self.query else { return Ok(None) };
        let queries = table.column(query)?;
        let inputs = table.column(self.input())?;
        let all = grouped(queries);
        let mut firsts = vec![0; queries.len()];
        for rows in &all {
            rows.iter().for_each(|&row| firsts[row] = rows[0]);
        }
        let wrong = |row: usize, message: String| Err(table.error(row, message));
        for (row, (query, first)) in queries.iter().zip(firsts).enumerate() {
            if query.trim().is_empty() {
                return wrong(row, "an empty query id; a value is needed".into());
            }
            if inputs[row] != inputs[first] {
                let first = table.line(first);
                let rule = "rows of one query have the same input";
                let message =
                    format!("query {query:?} has a different input than on line {first}; {rule}");
                return wrong(row, message);
            }
        }
        Ok(Some(all))
    }
}
