//! Pairs from a table for each split, whose rows name outputs and hold or name inputs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use dsokr_basis::RowSource;

use crate::config::{InputsConfig, SplitName, TablesConfig};
use crate::feature_file::read_features;
use crate::kernels::Kernels;
use crate::outputs::checked_rows;
use crate::row_index::{InputIds, RowIndex};
use crate::structure::texts;
use crate::table::Table;
use crate::{DataRoot, Dataset, Error, Inputs, Outputs, Source, Split};

/// Reads all pairs and outputs.
pub(crate) fn load(
    tables: &TablesConfig,
    source: &Source,
    root: &DataRoot,
) -> Result<Dataset, Error> {
    let read = |file: &String| Pairs::read(&root.file(file), tables, source.seed);
    let (train, validation) = (read(&tables.train)?, read(&tables.validation)?);
    let test = tables.test.as_ref().map(read).transpose()?;
    let outputs = Outputs::read(&source.outputs, root)?;
    let files = InputFiles::load(&tables.inputs, root, || Ok(train.input_ids()))?;
    let index: HashMap<&str, usize> =
        outputs.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let held_out = |pairs: Pairs| {
        let mut split = pairs.queries(&index, files.as_ref())?;
        // the outputs' own, so that it need not stand in the table of pairs too
        split.truth = outputs.truth_of(&split.outputs);
        Ok::<_, Error>(split)
    };
    train.check_outputs(&index)?;
    Ok(Dataset {
        validation: held_out(validation)?,
        test: test.map(held_out).transpose()?,
        train: train.join(&index, files.as_ref())?,
        outputs,
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
    seed: u64,
    root: Option<&DataRoot>,
) -> Result<Split, Error> {
    let pairs = Pairs::read(path, tables, seed)?;
    let mut train = None;
    let files = match (&tables.inputs, root) {
        (InputsConfig::Text(_), _) => None,
        (inputs, Some(root)) => InputFiles::load(inputs, root, || {
            let read = Pairs::read(&root.file(&tables.train), tables, seed)?;
            Ok(train.insert(read).input_ids())
        })?,
        (_, None) => {
            let message = "the inputs lie in files under the data root, which is not given";
            return Err(Error::file(path, message));
        }
    };
    pairs.queries(&HashMap::new(), files.as_ref())
}

/// A table of pairs as it was read.
struct Pairs {
    path: PathBuf,
    /// The outputs' ids; one may occur twice, for two inputs with the same output.
    ids: Vec<String>,
    lines: Vec<usize>,
    texts: Vec<String>,
    /// Ids of the inputs, where they lie in files of their own.
    inputs: Vec<String>,
    /// Ids of the queries, where there is a column of them.
    queries: Option<Vec<String>>,
}

impl Pairs {
    fn read(path: &Path, tables: &TablesConfig, seed: u64) -> Result<Self, Error> {
        let column = match &tables.inputs {
            InputsConfig::Text(text) => &text.column,
            InputsConfig::Features(_) => &tables.id,
            InputsConfig::Kernels(kernels) => &kernels.column,
        };
        let mut columns = vec![tables.id.as_str(), column];
        columns.extend(tables.query.as_deref());
        let table = Table::read(path, &columns)?;
        let (texts, inputs) = match &tables.inputs {
            InputsConfig::Text(text) => (texts(&table, text, seed)?, Vec::new()),
            InputsConfig::Features(_) | InputsConfig::Kernels(_) => {
                (Vec::new(), table.column(column)?.to_vec())
            }
        };
        let ids = table.column(&tables.id)?.to_vec();
        let queries = tables.query.as_ref().map(|column| table.column(column).map(<[_]>::to_vec));
        let queries = queries.transpose()?;
        let lines = (0..ids.len()).map(|row| table.line(row)).collect();
        Ok(Self { path: path.into(), ids, lines, texts, inputs, queries })
    }

    fn input_ids(&self) -> InputIds<'_> {
        InputIds { ids: &self.inputs, path: &self.path, lines: &self.lines }
    }

    /// Refuses an output that is not in the index.
    fn check_outputs(&self, index: &HashMap<&str, usize>) -> Result<(), Error> {
        let unknown = self.ids.iter().position(|id| !index.contains_key(id.as_str()));
        unknown.map_or(Ok(()), |row| {
            let id = &self.ids[row];
            let message =
                format!("id {id:?} is not among the outputs of the configuration's output.table");
            Err(Error::line(&self.path, self.lines[row], message))
        })
    }

    fn join(
        self,
        index: &HashMap<&str, usize>,
        files: Option<&InputFiles>,
    ) -> Result<Split, Error> {
        let outputs = self.ids.iter().map(|id| index.get(id.as_str()).copied()).collect();
        let inputs = match files {
            Some(files) => files.of(self.input_ids())?,
            None => Inputs::Texts(self.texts),
        };
        Ok(Split { queries: self.queries, ..Split::new(self.ids, inputs, outputs) })
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
        let Some(queries) = &self.queries else { return Ok(None) };
        let mut places: HashMap<&str, usize> = HashMap::with_capacity(queries.len());
        let mut all: Vec<Vec<usize>> = Vec::new();
        for (row, query) in queries.iter().enumerate() {
            if query.trim().is_empty() {
                let message = "an empty query id; a value is needed";
                return Err(Error::line(&self.path, self.lines[row], message));
            }
            match places.entry(query) {
                Entry::Vacant(place) => {
                    place.insert(all.len());
                    all.push(vec![row]);
                }
                Entry::Occupied(place) => {
                    let rows = &mut all[*place.get()];
                    let inputs = if self.inputs.is_empty() { &self.texts } else { &self.inputs };
                    if inputs[row] != inputs[rows[0]] {
                        let message = format!(
                            "query {query:?} has another input than on line {}; rows of one query have \
                             the same input",
                            self.lines[rows[0]]
                        );
                        return Err(Error::line(&self.path, self.lines[row], message));
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
    /// Reads the files that inputs name, if there are any; `train` is asked for with kernels alone.
    fn load<'a>(
        inputs: &InputsConfig,
        root: &DataRoot,
        train: impl FnOnce() -> Result<InputIds<'a>, Error>,
    ) -> Result<Option<Self>, Error> {
        Ok(match inputs {
            InputsConfig::Text(_) => None,
            InputsConfig::Features(config) => {
                let (index, table) = RowIndex::read(root.file(&config.table), &config.id)?;
                let path = root.file(&config.file);
                let rows = read_features(&path, config.key.as_deref())?;
                Some(Self::Vectors { index, rows: checked_rows(rows, &path, &table)? })
            }
            InputsConfig::Kernels(config) => {
                Some(Self::Kernels(Kernels::load(config, root, train()?)?))
            }
        })
    }

    fn of(&self, inputs: InputIds) -> Result<Inputs, Error> {
        match self {
            Self::Vectors { index, rows } => Ok(Inputs::Vectors(rows.select(&index.of(inputs)?)?)),
            Self::Kernels(kernels) => Ok(Inputs::Kernels(kernels.of(inputs)?)),
        }
    }
}
