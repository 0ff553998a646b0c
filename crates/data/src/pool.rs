//! Pairs from one file, whose rows are inputs and outputs at once.

use std::ops::Range;
use std::path::Path;

use dsokr_basis::random::generator;
use dsokr_basis::{Features, RowSource};
use rand::seq::SliceRandom;

use super::structure::inputs;
use super::table::Table;
use super::{DataRoot, Dataset, Outputs, Split, Truth};
use crate::config::outputs::not_labels;
use crate::config::{OutputFeatures, OutputSource, PoolConfig, PoolOrder, SplitName};
use crate::error::extension_of;
use crate::multi_label::{ArffLabels, LibsvmOptions, read_arff, read_libsvm};
use crate::{Error, Source};

/// The file, and the vectors of its rows where inputs are vectors.
pub(super) struct PoolFile {
    pub table: Table,
    pub vectors: Option<Features>,
}

/// Rows of the file, and which of them, in this order, belong to which split.
struct Drawn {
    rows: Vec<usize>,
    validation: Range<usize>,
    test: Range<usize>,
    train: Range<usize>,
}

/// Reads and draws all pairs of a configuration.
pub(super) fn load(pool: &PoolConfig, source: &Source, root: &DataRoot) -> Result<Dataset, Error> {
    let output = &source.outputs;
    let file = PoolFile::read(&root.file(&pool.file), source, output.columns())?;
    let drawn = draw(pool, source.seed, &file.table)?;
    let file = file.select(&drawn.rows)?;
    let all = Outputs::from_table(&file.table, &source.data.id, output, root)?;
    let split = |rows: Range<usize>| {
        let outputs: Vec<Option<usize>> = rows.clone().map(Some).collect();
        Ok::<_, Error>(Split { outputs, ..file.split(source, rows)? })
    };
    let held = |rows: Range<usize>| {
        let split = split(rows)?;
        Ok::<_, Error>(Split { truth: all.truth_of(&split.outputs), ..split })
    };
    Ok(Dataset {
        train: split(drawn.train)?,
        validation: held(drawn.validation)?,
        test: if pool.test > 0 { Some(held(drawn.test)?) } else { None },
        outputs: all,
    })
}

/// The pairs of one split alone; none if there is no such split.
pub(super) fn read_split(
    pool: &PoolConfig,
    source: &Source,
    name: SplitName,
    root: &DataRoot,
) -> Result<Option<Split>, Error> {
    let features = source.outputs.features;
    let file = PoolFile::read(&root.file(&pool.file), source, features.truth())?;
    let drawn = draw(pool, source.seed, &file.table)?;
    let rows = match name {
        SplitName::Validation => drawn.validation,
        SplitName::Test if pool.test > 0 => drawn.test,
        SplitName::Test => return Ok(None),
    };
    let file = file.select(&drawn.rows[rows.clone()])?;
    let truth = Truth::column(&file.table, features)?;
    Ok(Some(Split { truth, ..file.split(source, 0..rows.len())? }))
}

impl PoolFile {
    /// Reads ids, inputs and the given columns of outputs.
    pub(super) fn read<'a>(
        path: &Path,
        source: &'a Source,
        outputs: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Error> {
        let data = source.data;
        if data.has_vectors() {
            return multi_label(path, &data.id, data.pool.as_ref(), &source.outputs);
        }
        let mut columns = vec![data.id.as_str(), data.text.as_str()];
        columns.extend(outputs);
        let table = match extension_of(path).as_str() {
            "txt" | "smi" => {
                let table = Table::read_lines(path, &data.id, &data.text)?;
                columns.iter().try_for_each(|column| table.column(column).map(|_| ()))?;
                table
            }
            _ => Table::read(path, &columns)?,
        };
        Ok(Self { table, vectors: None })
    }

    fn select(self, rows: &[usize]) -> Result<Self, Error> {
        let vectors = self.vectors.map(|vectors| vectors.select(rows)).transpose()?;
        Ok(Self { table: self.table.select(rows), vectors })
    }

    /// Ids and inputs of some rows.
    fn split(&self, source: &Source, rows: Range<usize>) -> Result<Split, Error> {
        let all: Vec<usize> = rows.collect();
        let table = self.table.select(&all);
        let vectors = self.vectors.as_ref().map(|vectors| vectors.select(&all)).transpose()?;
        let texts = match vectors {
            Some(_) => vec![String::new(); all.len()],
            None => inputs(&table, source)?,
        };
        let ids = table.column(&source.data.id)?.to_vec();
        Ok(Split { ids, texts, vectors, outputs: vec![None; all.len()], truth: None })
    }
}

/// A multi-label file: a column of ids, one of labels, and the vectors.
fn multi_label(
    path: &Path,
    id: &str,
    pool: Option<&PoolConfig>,
    output: &OutputSource,
) -> Result<PoolFile, Error> {
    let read = match extension_of(path).as_str() {
        "arff" => {
            let labels = pool.and_then(|pool| pool.labels).unwrap_or_default();
            read_arff(path, &ArffLabels::Last(labels))?
        }
        _ => read_libsvm(path, LibsvmOptions::default())?,
    };
    let OutputFeatures::Labels { column, separator } = output.features else {
        return Err(not_labels());
    };
    if let Some(name) = read.names.iter().find(|name| name.contains(*separator)) {
        let allowed = format!("a character that is not in a label's name, as in {name:?}");
        return Err(Error::value("output.features.separator", format!("{separator:?}"), allowed));
    }
    let rows = 0..read.len();
    let ids = rows.clone().map(|row| (row + 1).to_string()).collect();
    let separator = separator.to_string();
    let sets = read.labels.all();
    let set = |row| {
        let names = sets.ones(row).map(|label| read.names[label].as_str());
        names.collect::<Vec<_>>().join(&separator)
    };
    let columns = vec![(id.to_owned(), ids), (column.clone(), rows.map(set).collect())];
    Ok(PoolFile { table: Table::of(path, columns), vectors: Some(read.inputs) })
}

/// Which rows are whose.
fn draw(pool: &PoolConfig, seed: u64, table: &Table) -> Result<Drawn, Error> {
    let held = pool.validation.saturating_add(pool.test);
    let left = table.len().saturating_sub(held);
    let train = pool.train.unwrap_or(left);
    if train == 0 || train > left {
        let given = pool.train.map_or("the rest".into(), |train| train.to_string());
        let found = format!("{} + {} + {given}", pool.validation, pool.test);
        let allowed = format!("at most {}, the rows of {}", table.len(), table.path().display());
        return Err(Error::value("data.pool", found, allowed));
    }
    let mut rows: Vec<usize> = (0..table.len()).collect();
    Ok(match pool.order {
        PoolOrder::Drawn => {
            rows.shuffle(&mut generator(seed, "split", 0));
            rows.truncate(held + train);
            Drawn {
                rows,
                validation: 0..pool.validation,
                test: pool.validation..held,
                train: held..held + train,
            }
        }
        PoolOrder::File => {
            rows.truncate(train + held);
            let test = train + pool.validation;
            Drawn { rows, train: 0..train, validation: train..test, test: test..train + held }
        }
    })
}
