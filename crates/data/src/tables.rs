//! Pairs from a table for each split, whose rows name outputs and hold or name inputs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use dsokr_basis::RowSource;

use crate::config::{InputsConfig, OnBadRow, SplitName, TablesConfig, TextConfig};
use crate::feature_file::read_features;
use crate::kernels::Kernels;
use crate::output_rows::{OutputFiles, checked_rows};
use crate::row_index::RowIndex;
use crate::structure::{readable_texts, texts};
use crate::table::{Table, skipped_rows};
use crate::{DataRoot, Dataset, Error, Inputs, Outputs, Source, Split};

/// Reads all pairs and outputs.
pub(crate) fn load(
    tables: &TablesConfig,
    source: &Source,
    root: &DataRoot,
) -> Result<Dataset, Error> {
    let on_bad_row = source.data.on_bad_row;
    let read = |file: &String| Pairs::read(&root.file(file), tables, source);
    let (train, validation) = (read(&tables.train)?, read(&tables.validation)?);
    let test = tables.test.as_ref().map(read).transpose()?;
    let table = Outputs::read_table(&source.outputs, on_bad_row, root)?;
    let outputs = Outputs::from_table(
        &table,
        source.outputs.id,
        &source.outputs,
        OutputFiles::Configured(root),
        None,
    )?;
    let index: HashMap<&str, usize> =
        outputs.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let train = train.with_outputs(&index)?;
    let files = InputFiles::load(&tables.inputs, root, on_bad_row, |index| train.rows(index))?;
    let read = [&table, &train.table, &validation.table].into_iter();
    let skipped = skipped_rows(read.chain(test.as_ref().map(|test| &test.table)), root);
    let held_out = |pairs: Pairs| {
        let mut split = pairs.queries(&index, files.as_ref())?;
        // the outputs' own, so that it need not stand in the table of pairs too
        split.truth = outputs.truth_of(&split.outputs);
        Ok::<_, Error>(split)
    };
    Ok(Dataset {
        validation: held_out(validation)?,
        test: test.map(held_out).transpose()?,
        train: train.join(&index, files.as_ref())?,
        outputs,
        skipped,
    })
}

/// The file of a split; none if there is no such split.
pub(crate) fn file(tables: &TablesConfig, name: SplitName) -> Option<&String> {
    match name {
        SplitName::Validation => Some(&tables.validation),
        SplitName::Test => tables.test.as_ref(),
    }
}

/// Reads a table of pairs without their outputs.
pub(crate) fn read_queries(
    path: &Path,
    tables: &TablesConfig,
    source: &Source,
    root: Option<&DataRoot>,
) -> Result<Split, Error> {
    let pairs = Pairs::read(path, tables, source)?;
    let files = match (&tables.inputs, root) {
        (InputsConfig::Text(_), _) => None,
        (inputs, Some(root)) => InputFiles::load(inputs, root, source.data.on_bad_row, |index| {
            Pairs::read(&root.file(&tables.train), tables, source)?.rows(index)
        })?,
        (_, None) => {
            let message = "the inputs lie in files under the data root, which is not given";
            return Err(Error::file(path, message));
        }
    };
    pairs.queries(&HashMap::new(), files.as_ref())
}

/// A table of pairs as it was read.
struct Pairs<'a> {
    table: Table,
    /// Column of the outputs' ids; one may occur twice, for two inputs with the same output.
    id: &'a str,
    /// Column of the texts, or of the ids of inputs that lie in files of their own.
    input: &'a str,
    /// How the texts are read; none if inputs lie in files of their own.
    texts: Option<&'a TextConfig>,
    seed: u64,
    /// Column of the queries' ids, where there is one.
    query: Option<&'a str>,
}

impl<'a> Pairs<'a> {
    fn read(path: &Path, tables: &'a TablesConfig, source: &Source) -> Result<Self, Error> {
        let id = tables.id.as_str();
        let (input, texts) = match &tables.inputs {
            InputsConfig::Text(text) => (text.column.as_str(), Some(text)),
            InputsConfig::Features(_) => (id, None),
            InputsConfig::Kernels(kernels) => (kernels.column.as_str(), None),
        };
        let query = tables.query.as_deref();
        let mut columns = vec![id, input];
        columns.extend(query);
        let on_bad_row = source.data.on_bad_row;
        let mut table = Table::read_rows(path, &columns, on_bad_row)?;
        if let Some(texts) = texts {
            table = readable_texts(table, texts, on_bad_row)?;
        }
        Ok(Self { table, id, input, query, texts, seed: source.seed })
    }

    /// The rows of the inputs in the files that hold them.
    fn rows(&self, index: &RowIndex) -> Result<Vec<usize>, Error> {
        index.of(&self.table, self.input)
    }

    /// The pairs whose outputs are in the index; all others are bad rows.
    fn with_outputs(self, index: &HashMap<&str, usize>) -> Result<Self, Error> {
        let ids = self.table.column(self.id)?.iter().enumerate();
        let unknown = ids.filter(|(_, id)| !index.contains_key(id.as_str())).map(|(row, id)| {
            let message =
                format!("id {id:?} is not among the outputs of the configuration's output.table");
            (row, Error::line(self.table.path(), self.table.line(row), message))
        });
        let unknown: Vec<(usize, Error)> = unknown.collect();
        Ok(Self { table: self.table.without(unknown)?, ..self })
    }

    fn join(
        self,
        index: &HashMap<&str, usize>,
        files: Option<&InputFiles>,
    ) -> Result<Split, Error> {
        self.table.log_skipped();
        let ids = self.table.column(self.id)?.to_vec();
        let outputs = ids.iter().map(|id| index.get(id.as_str()).copied()).collect();
        let inputs = match (files, self.texts) {
            (Some(InputFiles::Vectors { index, rows }), _) => {
                Inputs::Vectors(rows.select(&self.rows(index)?)?)
            }
            (Some(InputFiles::Kernels(kernels)), _) => {
                Inputs::Kernels(kernels.of(&self.table, self.input)?)
            }
            (None, Some(config)) => Inputs::Texts(texts(&self.table, config, self.seed)?),
            (None, None) => Inputs::Texts(Vec::new()),
        };
        let queries = self.query.map(|column| self.table.column(column).map(<[_]>::to_vec));
        Ok(Split { queries: queries.transpose()?, ..Split::new(ids, inputs, outputs) })
    }

    /// The pairs as queries: rows with the same query id are one, with several right outputs.
    fn queries(
        self,
        index: &HashMap<&str, usize>,
        files: Option<&InputFiles>,
    ) -> Result<Split, Error> {
        let Some(rows) = self.rows_of_queries()? else { return self.join(index, files) };
        let split = self.join(index, files)?;
        let firsts: Vec<usize> = rows.iter().map(|rows| rows[0]).collect();
        let golds =
            |rows: &Vec<usize>| rows[1..].iter().map(|&row| split.ids[row].clone()).collect();
        let further = match rows.iter().any(|rows| rows.len() > 1) {
            true => rows.iter().map(golds).collect(),
            false => Vec::new(),
        };
        Ok(Split { further, ..split.select(&firsts)? })
    }

    /// The rows of each query, in the order of the first ones; none without query ids.
    fn rows_of_queries(&self) -> Result<Option<Vec<Vec<usize>>>, Error> {
        let Some(query) = self.query else { return Ok(None) };
        let (queries, inputs) = (self.table.column(query)?, self.table.column(self.input)?);
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(queries.len());
        let mut all: Vec<Vec<usize>> = Vec::new();
        let wrong = |row: usize, message: String| {
            Err(Error::line(self.table.path(), self.table.line(row), message))
        };
        for (row, query) in queries.iter().enumerate() {
            if query.trim().is_empty() {
                return wrong(row, "an empty query id; a value is needed".into());
            }
            match places.entry(query) {
                Entry::Vacant(place) => {
                    place.insert(all.len());
                    all.push(vec![row]);
                }
                Entry::Occupied(place) => {
                    let rows = &mut all[*place.get()];
                    if inputs[row] != inputs[rows[0]] {
                        let message = format!(
                            "query {query:?} has another input than on line {}; rows of one query have \
                             the same input",
                            self.table.line(rows[0])
                        );
                        return wrong(row, message);
                    }
                    rows.push(row);
                }
            }
        }
        Ok(Some(all))
    }
}

/// Inputs that lie in files of their own: vectors, or kernels with the training inputs.
enum InputFiles {
    Vectors { index: RowIndex, rows: Box<dyn RowSource> },
    Kernels(Kernels),
}

impl InputFiles {
    /// Reads the files that inputs name, if there are any; `training` finds the rows of the training
    /// inputs, for kernels alone.
    fn load(
        inputs: &InputsConfig,
        root: &DataRoot,
        on_bad_row: OnBadRow,
        training: impl FnOnce(&RowIndex) -> Result<Vec<usize>, Error>,
    ) -> Result<Option<Self>, Error> {
        Ok(match inputs {
            InputsConfig::Text(_) => None,
            InputsConfig::Features(config) => {
                let (index, table) =
                    RowIndex::read(root.file(&config.table), &config.id, on_bad_row)?;
                let path = root.file(&config.file);
                let rows = read_features(&path, config.key.as_deref())?;
                Some(Self::Vectors { index, rows: checked_rows(rows, &path, &table)? })
            }
            InputsConfig::Kernels(config) => {
                Some(Self::Kernels(Kernels::load(config, root, on_bad_row, training)?))
            }
        })
    }
}
