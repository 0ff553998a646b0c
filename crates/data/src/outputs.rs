use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use dsokr_basis::features::{
    DenseRows, JoinedRows, LabelVocabulary, NgramOptions, NgramVocabulary, SparseRows,
    hamming_one_hot, kemeny_signs,
};
use dsokr_basis::{Features, RowSource};
use dsokr_molecule::graph::{Graph, NamedGraph};
use dsokr_molecule::kernels::GraphVocabulary;
use dsokr_molecule::{Molecule, MoleculeFeatures};

use super::feature_file::{FeatureFile, read_features, read_packed};
use super::table::{Table, bad_ids, unique_ids};
use super::truth::labels;
use super::{DataRoot, Truth, graphs, rankings, structure};
use crate::Error;
use crate::config::{
    CandidateConfig, FeatureFileConfig, OnBadRow, OutputFeatures, OutputSource, RankingEmbedding,
};

/// The outputs y: ids, labels to show, feature rows, and which of them are candidates.
pub struct Outputs {
    /// Unique ids.
    pub ids: Vec<String>,
    /// What `search` shows; empty strings where no column is named.
    pub labels: Vec<String>,
    /// One feature row an output.
    pub rows: Box<dyn RowSource>,
    /// Indices of the candidates, ascending.
    pub candidates: Vec<usize>,
    /// What they are, where figures say more than ranks do.
    pub truth: Option<Truth>,
}

/// The rows of a feature file that must follow a table.
fn feature_rows(
    config: &FeatureFileConfig,
    root: &DataRoot,
    table: &Table,
) -> Result<Box<dyn RowSource>, Error> {
    let path = root.file(&config.file);
    let key = config.key.as_deref();
    let rows = if config.packed { read_packed(&path, key)? } else { read_features(&path, key)? };
    checked_rows(rows, &path, table)
}

/// The rows of the file `path`, if there are as many as in the table.
pub(crate) fn checked_rows(
    rows: FeatureFile,
    path: &Path,
    table: &Table,
) -> Result<Box<dyn RowSource>, Error> {
    if rows.len() != table.len() {
        return Err(Error::row_count(path, rows.len(), table.path(), table.len()));
    }
    Ok(Box::new(rows))
}

/// The rows of features that need no more than the table and files of their own.
fn rows_of(
    features: &OutputFeatures,
    root: &DataRoot,
    table: &Table,
    known: &mut HashMap<String, Vec<Molecule>>,
) -> Result<Box<dyn RowSource>, Error> {
    match features {
        OutputFeatures::File(file) => feature_rows(file, root, table),
        OutputFeatures::Ngrams { column, min, max, log, min_outputs } => {
            let texts = table.column(column)?;
            let options = NgramOptions { min: *min, max: *max, boundaries: false };
            let vocabulary = NgramVocabulary::fit(options, texts)?;
            counts(vocabulary.rows(texts)?, *log, *min_outputs)
        }
        OutputFeatures::Substructures { column, of, log, exact, min_outputs } => {
            let molecules = match known.entry(column.clone()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(structure::column(table, column, Molecule::parse)?)
                }
            };
            let rows = of.counts(molecules)?;
            let rows = if *exact { rows.levels()? } else { rows };
            counts(rows, *log, *min_outputs)
        }
        OutputFeatures::Labels { .. }
        | OutputFeatures::Rankings { .. }
        | OutputFeatures::Numbers { .. }
        | OutputFeatures::Molecules { .. }
        | OutputFeatures::Graphs { .. }
        | OutputFeatures::Source {} => {
            let allowed = "\"file\", \"ngrams\" or \"substructures\", for several kernels";
            Err(Error::value("output.kernels", features.kind(), allowed))
        }
    }
}

/// The rows of several kernels side by side; the molecules of a column are read once.
fn joined(config: &OutputSource, root: &DataRoot, table: &Table) -> Result<JoinedRows, Error> {
    let mut known = HashMap::new();
    let rows = |features: &&OutputFeatures| rows_of(features, root, table, &mut known);
    Ok(JoinedRows::new(config.summands.iter().map(rows).collect::<Result<_, _>>()?)?)
}

/// Counts without rare columns, as they are or their logarithms.
fn counts(rows: SparseRows, log: bool, min_outputs: usize) -> Result<Box<dyn RowSource>, Error> {
    let rows = if min_outputs > 1 { rows.common(min_outputs)? } else { rows };
    let rows = if log { rows.log_counts()? } else { rows };
    Ok(Box::new(Features::Sparse(rows)))
}

/// The numbers of a column; [`Error::Line`] for a cell that holds no finite number.
fn numbers<'t>(
    table: &'t Table,
    column: &'t str,
) -> Result<impl Iterator<Item = Result<f32, Error>> + 't, Error> {
    let number = move |(row, cell): (usize, &String)| {
        let number = cell.trim().parse::<f32>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            let message = format!("{cell:?} in the column {column:?}: allowed is a finite number");
            Error::line(table.path(), table.line(row), message)
        })
    };
    Ok(table.column(column)?.iter().enumerate().map(number))
}

/// The table that `read` reads, without the rows whose id or output cannot be read where such rows are
/// skipped. Columns that were not read are not checked.
pub(crate) fn good_rows(
    features: &OutputFeatures,
    id: &str,
    on_bad_row: OnBadRow,
    read: impl FnOnce(OnBadRow) -> Result<Table, Error>,
) -> Result<Table, Error> {
    fn bad<T>(cells: impl Iterator<Item = Result<T, Error>>) -> Vec<(usize, Error)> {
        cells.enumerate().filter_map(|(row, cell)| Some((row, cell.err()?))).collect()
    }
    if features.follow_rows() {
        return read(OnBadRow::Stop).map_err(|error| on_bad_row.refusal(error));
    }
    let table = read(on_bad_row)?;
    if on_bad_row == OnBadRow::Stop {
        return Ok(table);
    }
    let column = features.column().filter(|column| table.has(column)).unwrap_or_default();
    let outputs = match features {
        _ if column.is_empty() => Vec::new(),
        OutputFeatures::Molecules { .. } | OutputFeatures::Substructures { .. } => {
            structure::bad_rows(&table, column)?
        }
        OutputFeatures::Rankings { embedding, .. } => {
            bad(rankings::column(&table, column, *embedding)?)
        }
        OutputFeatures::Numbers { .. } => bad(numbers(&table, column)?),
        OutputFeatures::Ngrams { .. }
        | OutputFeatures::Labels { .. }
        | OutputFeatures::Graphs { .. }
        | OutputFeatures::File(_)
        | OutputFeatures::Source {} => Vec::new(),
    };
    let ids = bad_ids(&table, id)?;
    table.without(ids.into_iter().chain(outputs))
}

impl Outputs {
    /// Reads the table of outputs.
    pub(super) fn read_table(
        config: &OutputSource,
        on_bad_row: OnBadRow,
        root: &DataRoot,
    ) -> Result<Table, Error> {
        let file = config
            .table
            .ok_or_else(|| Error::value("output.table", "absent", "the table of outputs"))?;
        let mut columns = vec![config.id];
        columns.extend(config.columns());
        let summands = &config.summands;
        let following = summands.iter().find(|features| features.follow_rows());
        let features = following.or(summands.first()).copied().unwrap_or(config.features);
        let table = good_rows(features, config.id, on_bad_row, |on_bad_row| {
            Table::read_rows(&root.file(file), &columns, on_bad_row)
        })?;
        table.log_skipped();
        Ok(table)
    }

    /// From a table with the columns of [`OutputSource::columns`] and ids in the column `id`.
    pub(super) fn from_table(
        table: &Table,
        id: &str,
        config: &OutputSource,
        root: &DataRoot,
    ) -> Result<Self, Error> {
        let path = table.path();
        unique_ids(table, id)?;
        let ids = table.column(id)?.to_vec();
        let mut shown = match config.label {
            Some(column) => table.column(column)?.to_vec(),
            None => vec![String::new(); ids.len()],
        };
        let candidates = match config.candidate {
            None => (0..ids.len()).collect(),
            Some(rule) => {
                let values = table.column(&rule.column)?.iter().enumerate();
                let chosen: Vec<usize> =
                    values.filter(|(_, v)| **v == rule.value).map(|(i, _)| i).collect();
                if chosen.is_empty() {
                    let CandidateConfig { column, value } = rule;
                    let message =
                        format!("no row has {column} = {value:?}, so there is no candidate");
                    return Err(Error::file(path, message));
                }
                chosen
            }
        };
        let mut truth = Truth::column(table, config.features)?;
        let rows: Box<dyn RowSource> = match config.features {
            OutputFeatures::File(_)
            | OutputFeatures::Ngrams { .. }
            | OutputFeatures::Substructures { .. } => {
                rows_of(config.features, root, table, &mut HashMap::new())?
            }
            OutputFeatures::Labels { column, separator } => {
                let cells = table.column(column)?.iter();
                let sets: Vec<Vec<String>> =
                    cells.map(|cell| labels(cell, *separator).collect()).collect();
                Box::new(Features::Bits(LabelVocabulary::fit(&sets)?.rows(&sets)?))
            }
            OutputFeatures::Rankings { embedding, .. } => {
                let ranks: &[Vec<u32>] = match &truth {
                    Some(Truth::Rankings(ranks)) => ranks,
                    _ => &[],
                };
                Box::new(match embedding {
                    RankingEmbedding::Kemeny => Features::Dense(kemeny_signs(ranks)?),
                    RankingEmbedding::Hamming => Features::Bits(hamming_one_hot(ranks)?),
                })
            }
            OutputFeatures::Numbers { column } => {
                let values = numbers(table, column)?.collect::<Result<Vec<f32>, _>>()?;
                Box::new(Features::from(DenseRows::new(1, values)?))
            }
            OutputFeatures::Molecules { graph, .. } => {
                let graphs: Vec<&Graph> = match &truth {
                    Some(Truth::Molecules(read)) => read.iter().map(|read| &read.graph).collect(),
                    _ => Vec::new(),
                };
                let (_, rows) = GraphVocabulary::fit_rows(graph.clone(), &graphs)?;
                Box::new(Features::Sparse(rows))
            }
            OutputFeatures::Graphs { file, graph } => {
                let graphs = graphs::read(&root.file(file), table, id)?;
                shown = graphs.iter().map(NamedGraph::json_line).collect();
                let own: Vec<&Graph> = graphs.iter().map(|named| &named.graph).collect();
                let (_, rows) = GraphVocabulary::fit_rows(graph.clone(), &own)?;
                truth = Some(Truth::Graphs(graphs));
                Box::new(Features::Sparse(rows))
            }
            OutputFeatures::Source {} if !config.summands.is_empty() => {
                Box::new(joined(config, root, table)?)
            }
            OutputFeatures::Source {} => {
                let found = format!("{:?}", path.display());
                return Err(Error::value("output.table", found, "no table beside such features"));
            }
        };
        Ok(Self { ids, labels: shown, rows, candidates, truth })
    }

    /// What some outputs are; none if one of them is unknown.
    pub(super) fn truth_of(&self, outputs: &[Option<usize>]) -> Option<Truth> {
        self.truth.as_ref()?.select(outputs)
    }
}
