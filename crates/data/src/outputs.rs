use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dsokr_basis::features::{DenseRows, hamming_one_hot, kemeny_signs};
use dsokr_basis::{Features, RowSource};
use dsokr_molecule::graph::{Graph, NamedGraph};

use super::fitted::{FittedColumns, FittedFeatures};
use super::output_rows::{OutputFiles, feature_rows, graph_rows, joined, label_rows, rows_of};
use super::table::{Table, bad_ids, unique_ids};
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

/// The largest error of rounding to 32 bits, as a share of the range of the numbers.
const ROUNDING: f64 = 1e-3;

/// The numbers of a column, of 32 and of 64 bits; [`Error::Line`] for a cell that holds no finite number.
fn numbers<'t>(
    table: &'t Table,
    column: &'t str,
) -> Result<impl Iterator<Item = Result<(f32, f64), Error>> + 't, Error> {
    let number = move |(row, cell): (usize, &String)| {
        let cell = cell.trim();
        let number = cell.parse::<f32>().ok().filter(|number| number.is_finite());
        number.zip(cell.parse::<f64>().ok()).ok_or_else(|| {
            let message = format!("{cell:?} in the column {column:?}: allowed is a finite number");
            Error::line(table.path(), table.line(row), message)
        })
    };
    Ok(table.column(column)?.iter().enumerate().map(number))
}

/// The numbers of a column in 32 bits.
///
/// # Errors
/// [`Error::Line`] for a cell that holds no finite number; [`Error::File`] for numbers that 32 bits do not tell
/// apart.
fn numbers_of_32_bits(table: &Table, column: &str) -> Result<Vec<f32>, Error> {
    let (narrow, wide): (Vec<f32>, Vec<f64>) =
        numbers(table, column)?.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let least = wide.iter().copied().fold(f64::INFINITY, f64::min);
    let most = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let errors = narrow.iter().zip(&wide).map(|(&narrow, wide)| (f64::from(narrow) - wide).abs());
    let error = errors.fold(0.0, f64::max);
    if most > least && error > ROUNDING * (most - least) {
        let message = format!(
            "the numbers in the column {column:?} lie between {least} and {most}, and rounding to 32 bits changes \
             them by up to {error}: subtract a constant from all of them"
        );
        return Err(Error::file(table.path(), message));
    }
    Ok(narrow)
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
                let values = numbers_of_32_bits(table, column)?;
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
        files.check_read()?;
        Ok(self)
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
