use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use dsokr_basis::features::{
    DenseRows, JoinedRows, LabelVocabulary, NgramOptions, NgramVocabulary, SparseRows,
    hamming_one_hot, kemeny_signs,
};
use dsokr_basis::{Features, RowSource};
use dsokr_molecule::graph::{Graph, NamedGraph};
use dsokr_molecule::kernels::{GraphKernel, GraphVocabulary};
use dsokr_molecule::{Molecule, MoleculeFeatures};

use super::feature_file::{FeatureFile, read_features, read_packed};
use super::fitted::{FittedColumns, FittedFeatures};
use super::table::{Table, bad_ids, unique_ids};
use super::truth::labels;
use super::{DataRoot, Source, Truth, graphs, rankings, structure};
use crate::Error;
use crate::config::{
    CandidateConfig, DataSource, FeatureFileConfig, OnBadRow, OutputFeatures, OutputSource,
    RankingEmbedding,
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
    /// What the columns of the rows are.
    pub features: FittedFeatures,
}

/// Where the files lie that hold what a table of outputs does not: rows of features, and graphs.
#[derive(Clone, Copy)]
pub(crate) enum OutputFiles<'a> {
    /// Where the configuration says, under the data root.
    Configured(&'a DataRoot),
    /// Each where the user says, in the order of the configuration's kernels.
    Given(&'a [PathBuf]),
}

impl OutputFiles<'_> {
    /// The file that stands for a configured one.
    fn take(&mut self, configured: &str) -> Result<PathBuf, Error> {
        match self {
            Self::Configured(root) => Ok(root.file(configured)),
            Self::Given(files) => {
                let (first, rest) = files.split_first().ok_or_else(|| {
                    let allowed = "a file for each kernel whose features or graphs are no column of the table";
                    Error::value("--features", "too few files", allowed)
                })?;
                *files = rest;
                Ok(first.clone())
            }
        }
    }
}

/// The rows of a feature file that must follow a table.
fn feature_rows(
    config: &FeatureFileConfig,
    files: &mut OutputFiles,
    table: &Table,
) -> Result<Box<dyn RowSource>, Error> {
    let path = files.take(&config.file)?;
    let key = match files {
        OutputFiles::Configured(_) => config.key.as_deref(),
        OutputFiles::Given(_) => None,
    };
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

/// Rows of features, and what their columns are.
type FittedRows = (FittedColumns, Box<dyn RowSource>);

/// Sparse rows with what their columns are.
fn sparse((columns, rows): (FittedColumns, SparseRows)) -> FittedRows {
    (columns, Box::new(Features::Sparse(rows)))
}

/// The rows of features that need no more than the table and files of their own, with the columns of an
/// earlier training if some are given.
fn rows_of(
    features: &OutputFeatures,
    files: &mut OutputFiles,
    table: &Table,
    fitted: Option<&FittedColumns>,
    known: &mut HashMap<String, Vec<Molecule>>,
) -> Result<FittedRows, Error> {
    match features {
        OutputFeatures::File(file) => {
            let rows = feature_rows(file, files, table)?;
            Ok((FittedColumns::fixed(rows.width()), rows))
        }
        OutputFeatures::Ngrams { column, min, max, log, min_outputs } => {
            let texts = table.column(column)?;
            let options = NgramOptions { min: *min, max: *max, boundaries: false };
            let vocabulary = match fitted {
                Some(fitted) => NgramVocabulary::of(options, fitted.terms.clone())?,
                None => NgramVocabulary::fit(options, texts)?,
            };
            let terms = vocabulary.ngrams().map(str::to_owned).collect();
            let columns = FittedColumns { terms, ..FittedColumns::default() };
            let how = (*log, false, *min_outputs);
            columns.counts(vocabulary.rows(texts)?, how, fitted).map(sparse)
        }
        OutputFeatures::Substructures { column, of, log, exact, min_outputs } => {
            let molecules = match known.entry(column.clone()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(structure::column(table, column, Molecule::parse)?)
                }
            };
            let (features, rows) = match fitted {
                Some(FittedColumns { features, .. }) => {
                    (features.clone(), of.counts_in(features, molecules)?)
                }
                None => of.fit(molecules)?,
            };
            let columns = FittedColumns { features, ..FittedColumns::default() };
            columns.counts(rows, (*log, *exact, *min_outputs), fitted).map(sparse)
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
fn joined(
    config: &OutputSource,
    files: &mut OutputFiles,
    table: &Table,
    fitted: Option<&FittedFeatures>,
) -> Result<(FittedFeatures, Box<dyn RowSource>), Error> {
    let mut known = HashMap::new();
    let rows = |(at, features): (usize, &&OutputFeatures)| {
        let fitted = fitted.and_then(|fitted| fitted.parts.get(at));
        rows_of(features, files, table, fitted, &mut known)
    };
    let all = config.summands.iter().enumerate().map(rows).collect::<Result<Vec<_>, _>>()?;
    let (parts, rows) = all.into_iter().unzip();
    Ok((FittedFeatures { parts }, Box::new(JoinedRows::new(rows)?)))
}

/// The rows of graphs.
fn graph_rows(
    kernel: &GraphKernel,
    graphs: &[&Graph],
    fitted: Option<&FittedColumns>,
) -> Result<FittedRows, Error> {
    let (vocabulary, rows) = match fitted {
        Some(fitted) => {
            let vocabulary =
                GraphVocabulary::from_features(kernel.clone(), fitted.features.clone())?;
            let rows = vocabulary.rows(graphs)?;
            (vocabulary, rows)
        }
        None => GraphVocabulary::fit_rows(kernel.clone(), graphs)?,
    };
    let features = vocabulary.features().to_vec();
    Ok(sparse((FittedColumns { width: rows.width(), features, ..FittedColumns::default() }, rows)))
}

/// The bits of sets of labels.
fn label_rows(
    table: &Table,
    column: &str,
    separator: char,
    fitted: Option<&FittedColumns>,
) -> Result<FittedRows, Error> {
    let cells = table.column(column)?.iter();
    let sets: Vec<Vec<String>> = cells.map(|cell| labels(cell, separator).collect()).collect();
    let vocabulary = match fitted {
        Some(fitted) => {
            for (row, set) in sets.iter().enumerate() {
                let known = |label: &&String| fitted.terms.binary_search(label).is_ok();
                if let Some(label) = set.iter().find(|label| !known(label)) {
                    let message = format!(
                        "the label {label:?} in the column {column:?}: allowed are the {} labels that the \
                         run was trained with",
                        fitted.terms.len()
                    );
                    return Err(Error::line(table.path(), table.line(row), message));
                }
            }
            LabelVocabulary::fit(std::slice::from_ref(&fitted.terms))?
        }
        None => LabelVocabulary::fit(&sets)?,
    };
    let rows = vocabulary.rows(&sets)?;
    let terms = vocabulary.names().map(str::to_owned).collect();
    let columns = FittedColumns { width: rows.width(), terms, ..FittedColumns::default() };
    Ok((columns, Box::new(Features::Bits(rows))))
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
        Self::read_rows(config, on_bad_row, &root.file(file))
    }

    fn read_rows(config: &OutputSource, on_bad_row: OnBadRow, path: &Path) -> Result<Table, Error> {
        let mut columns = vec![config.id];
        columns.extend(config.columns());
        let summands = &config.summands;
        let following = summands.iter().find(|features| features.follow_rows());
        let features = following.or(summands.first()).copied().unwrap_or(config.features);
        let table = good_rows(features, config.id, on_bad_row, |on_bad_row| {
            Table::read_rows(path, &columns, on_bad_row)
        })?;
        table.log_skipped();
        Ok(table)
    }

    /// From a table with the columns of [`OutputSource::columns`] and ids in the column `id`.
    pub(super) fn from_table(
        table: &Table,
        id: &str,
        config: &OutputSource,
        mut files: OutputFiles,
        fitted: Option<&FittedFeatures>,
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
        let before = fitted.and_then(|fitted| fitted.parts.first());
        let own = |rows: Box<dyn RowSource>| (FittedColumns::fixed(rows.width()), rows);
        let (columns, rows) = match config.features {
            OutputFeatures::File(_)
            | OutputFeatures::Ngrams { .. }
            | OutputFeatures::Substructures { .. } => {
                rows_of(config.features, &mut files, table, before, &mut HashMap::new())?
            }
            OutputFeatures::Labels { column, separator } => {
                label_rows(table, column, *separator, before)?
            }
            OutputFeatures::Rankings { embedding, .. } => {
                let ranks: &[Vec<u32>] = match &truth {
                    Some(Truth::Rankings(ranks)) => ranks,
                    _ => &[],
                };
                own(Box::new(match embedding {
                    RankingEmbedding::Kemeny => Features::Dense(kemeny_signs(ranks)?),
                    RankingEmbedding::Hamming => Features::Bits(hamming_one_hot(ranks)?),
                }))
            }
            OutputFeatures::Numbers { column } => {
                let values = numbers(table, column)?.collect::<Result<Vec<f32>, _>>()?;
                own(Box::new(Features::from(DenseRows::new(1, values)?)))
            }
            OutputFeatures::Molecules { graph, .. } => {
                let graphs: Vec<&Graph> = match &truth {
                    Some(Truth::Molecules(read)) => read.iter().map(|read| &read.graph).collect(),
                    _ => Vec::new(),
                };
                graph_rows(graph, &graphs, before)?
            }
            OutputFeatures::Graphs { file, graph } => {
                let graphs = graphs::read(&files.take(file)?, table, id)?;
                shown = graphs.iter().map(NamedGraph::json_line).collect();
                let own: Vec<&Graph> = graphs.iter().map(|named| &named.graph).collect();
                let rows = graph_rows(graph, &own, before)?;
                truth = Some(Truth::Graphs(graphs));
                rows
            }
            OutputFeatures::Source {} if !config.summands.is_empty() => {
                let (features, rows) = joined(config, &mut files, table, fitted)?;
                let fitted = fitted.map(|fitted| fitted.width());
                return Self { ids, labels: shown, rows, candidates, truth, features }
                    .checked(path, fitted, files);
            }
            OutputFeatures::Source {} => match files {
                OutputFiles::Configured(_) => {
                    let found = format!("{:?}", path.display());
                    let allowed = "no table beside such features";
                    return Err(Error::value("output.table", found, allowed));
                }
                OutputFiles::Given(_) => {
                    let config =
                        FeatureFileConfig { file: String::new(), key: None, packed: false };
                    own(feature_rows(&config, &mut files, table)?)
                }
            },
        };
        let features = FittedFeatures { parts: vec![columns] };
        Self { ids, labels: shown, rows, candidates, truth, features }.checked(
            path,
            fitted.map(FittedFeatures::width),
            files,
        )
    }

    /// Refuses rows of a width that differs from an earlier training's, and files that were given and not
    /// read.
    fn checked(
        self,
        path: &Path,
        fitted: Option<usize>,
        files: OutputFiles,
    ) -> Result<Self, Error> {
        let found = self.rows.width();
        if let Some(expected) = fitted.filter(|&expected| expected != found) {
            let message = format!("outputs of {found} features; those of the run have {expected}");
            return Err(Error::file(path, message));
        }
        match files {
            OutputFiles::Given([file, ..]) => {
                let allowed =
                    "a file for each kernel whose features or graphs are no column of the table";
                Err(Error::value("--features", file.display(), allowed))
            }
            OutputFiles::Given([]) | OutputFiles::Configured(_) => Ok(self),
        }
    }

    /// What some outputs are; none if one of them is unknown.
    pub(super) fn truth_of(&self, outputs: &[Option<usize>]) -> Option<Truth> {
        self.truth.as_ref()?.select(outputs)
    }
}

impl Source<'_> {
    /// Reads further outputs: a table with the columns of the outputs that a training read (but for the
    /// one that says which are candidates), and in `files` the rows of features, or the graphs, that are no
    /// column of it. All are candidates. Returns the table too, for messages about its rows.
    ///
    /// # Errors
    /// As [`Source::load`]; a label that the training did not know; rows of a different width.
    pub fn read_further(
        &self,
        path: &Path,
        files: &[PathBuf],
        fitted: &FittedFeatures,
    ) -> Result<(Outputs, Table), Error> {
        let config = OutputSource { candidate: None, ..self.outputs.clone() };
        let id = match &self.data.source {
            DataSource::Pool(pool) => &pool.id,
            DataSource::MultiLabel(_) => "id",
            DataSource::Tables(_) | DataSource::Official(_) | DataSource::Synthetic(_) => config.id,
        };
        let config = OutputSource { id, ..config };
        let table = Outputs::read_rows(&config, self.data.on_bad_row, path)?;
        let files = OutputFiles::Given(files);
        let outputs = Outputs::from_table(&table, id, &config, files, Some(fitted))?;
        Ok((outputs, table))
    }
}
