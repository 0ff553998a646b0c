//! The rows of features of a table of outputs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use dsokr_basis::features::{
    JoinedRows, LabelVocabulary, NgramOptions, NgramVocabulary, SparseRows,
};
use dsokr_basis::{Features, RowSource};
use dsokr_molecule::graph::Graph;
use dsokr_molecule::kernels::{GraphKernel, GraphVocabulary};
use dsokr_molecule::{Molecule, MoleculeFeatures};

use super::feature_file::{FeatureFile, read_features, read_packed};
use super::fitted::{FittedColumns, FittedFeatures};
use super::table::Table;
use super::truth::labels;
use super::{DataRoot, structure};
use crate::Error;
use crate::config::{FeatureFileConfig, OutputFeatures, OutputSource};

/// Where the files lie that hold what a table of outputs does not: rows of features, and graphs.
#[derive(Clone, Copy)]
pub(crate) enum OutputFiles<'a> {
    /// Where the configuration says, under the data root.
    Configured(&'a DataRoot),
    /// Each where the user says, in the order of the configuration's kernels.
    Given(&'a [PathBuf]),
}

impl OutputFiles<'_> {
    const ALLOWED: &'static str =
        "a file for each kernel whose features or graphs are no column of the table";

    /// Refuses files that were given and not read.
    pub fn check_read(self) -> Result<(), Error> {
        match self {
            Self::Given([file, ..]) => {
                Err(Error::value("--features", file.display(), Self::ALLOWED))
            }
            Self::Given([]) | Self::Configured(_) => Ok(()),
        }
    }

    /// The file that stands for a configured one.
    pub fn take(&mut self, configured: &str) -> Result<PathBuf, Error> {
        match self {
            Self::Configured(root) => Ok(root.file(configured)),
            Self::Given(files) => {
                let (first, rest) = files
                    .split_first()
                    .ok_or_else(|| Error::value("--features", "too few files", Self::ALLOWED))?;
                *files = rest;
                Ok(first.clone())
            }
        }
    }
}

/// The rows of a feature file that must follow a table.
pub(crate) fn feature_rows(
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
pub(crate) fn rows_of(
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
pub(crate) fn joined(
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
pub(crate) fn graph_rows(
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
pub(crate) fn label_rows(
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
