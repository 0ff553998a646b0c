//! What outputs are, as rows of features.

mod columns;
mod counts;
mod file;
mod graphs;

use std::collections::HashMap;
use std::path::PathBuf;

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Features, RowSource};
use dsokr_molecule::Molecule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use columns::{LabelFeatures, NumberFeatures, RankingEmbedding, RankingFeatures};
pub use counts::{NgramFeatures, SubstructureFeatures};
pub use file::{FeatureFileConfig, OwnVectors};
pub use graphs::{GraphFeatures, MoleculeGraphFeatures};

use crate::fitted::FittedColumns;
use crate::kinds::kinds;
use crate::table::{OnBadRow, Table, bad_ids};
use crate::{DataRoot, Error, Truth};

kinds! {
    /// Where the outputs' features come from.
    OutputFeatures by "kind": OutputKind {
        /// A matrix whose rows follow the table's.
        File(FeatureFileConfig) = "file",
        /// Counts of the character n-grams of a column.
        Ngrams(NgramFeatures) = "ngrams",
        /// Counts of what the molecules whose SMILES a column holds are made of.
        Substructures(SubstructureFeatures) = "substructures",
        /// Sets of labels: one bit for each label that occurs. A column holds the labels of each output with
        /// a separator between; an empty cell is the empty set.
        Labels(LabelFeatures) = "labels",
        /// Rankings of items. A column holds the rank of each item, from 1, the best, with spaces between.
        /// Predictions are compared with the true rankings by Kendall's τ.
        Rankings(RankingFeatures) = "rankings",
        /// Numbers of a column, one for each output: with the linear kernel, for squared errors and quantiles.
        Numbers(NumberFeatures) = "numbers",
        /// Counts of what a graph kernel compares, of the molecules whose SMILES a column holds. With the
        /// linear kernel on them it is that graph kernel, with the cosine kernel the normalised one.
        /// Predictions are evaluated by graph edit distance.
        Molecules(MoleculeGraphFeatures) = "molecules",
        /// Counts of what a graph kernel compares, of graphs of any kind, which a file holds. With the linear
        /// kernel on them it is that graph kernel, with the cosine kernel the normalised one. Predictions are
        /// evaluated by graph edit distance, and shown as the graphs themselves.
        Graphs(GraphFeatures) = "graphs",
        /// The vectors of the source itself, which official files hold and a synthetic source draws; the
        /// default.
        Source(OwnVectors) = "source",
    }
}

/// A kind of features: what its keys say, and how rows and outputs are read.
pub(crate) trait OutputKind {
    /// What its keys say.
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts::default()
    }

    /// Checks the values under a key.
    fn validate(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Bytes that files beside the table take once they are read.
    fn memory(&self, _: &DataRoot) -> f64 {
        0.0
    }

    /// The rows whose cells in the column cannot be read, with what is wrong with them.
    fn bad_rows(&self, _: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(Vec::new())
    }

    /// What the outputs of a table are, where predictions are compared by the column.
    fn truth(&self, _: &Table) -> Result<Option<Truth>, Error> {
        Ok(None)
    }

    /// What candidates with these labels are, where predictions are compared.
    fn truth_of_labels(&self, _: &[&str]) -> Result<Option<Truth>, Error> {
        Ok(None)
    }

    /// Reads the rows.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error>;
}

/// What keys of every kind of features say.
#[derive(Default)]
pub(crate) struct FeatureFacts<'a> {
    /// The column that features are computed from.
    pub column: Option<&'a str>,
    /// Whether predictions are compared by the column, since figures say more than ranks do.
    pub is_compared: bool,
    /// Whether they are the rows of a matrix that follows the table of outputs.
    pub follow_rows: bool,
    /// Whether they can be those of one of several kernels.
    pub can_be_summed: bool,
}

/// Rows of features, and what their columns are.
pub(crate) type FittedRows = (FittedColumns, Box<dyn RowSource>);

/// A table of outputs, and what kinds of features have read of it.
pub(crate) struct OutputTable<'a> {
    pub table: &'a Table,
    /// The column of ids.
    pub id: &'a str,
    pub files: OutputFiles<'a>,
    /// The columns of an earlier training, if rows of further outputs are read.
    pub fitted: Option<&'a FittedColumns>,
    /// What the outputs are, where figures say more than ranks do.
    pub truth: Option<Truth>,
    /// What the outputs are shown as.
    pub labels: Vec<String>,
    /// The molecules of columns.
    pub molecules: HashMap<String, Vec<Molecule>>,
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

/// The number of outputs that a feature that is not rare has by default.
fn one() -> usize {
    1
}

impl Default for OutputFeatures {
    fn default() -> Self {
        Self::Source(OwnVectors {})
    }
}

impl OutputFeatures {
    /// The column that they are read from; none of features in files of their own.
    pub fn column(&self) -> Option<&str> {
        self.kind().facts().column
    }

    /// The column that predictions are compared by, where figures say more than ranks do.
    pub fn truth(&self) -> Option<&str> {
        let facts = self.kind().facts();
        facts.column.filter(|_| facts.is_compared)
    }

    /// What candidates with these labels are, where figures say more than ranks do.
    ///
    /// # Errors
    /// [`Error`] for a label that is not a SMILES, a graph or a ranking.
    pub fn truth_of_labels<'l>(
        &self,
        labels: impl IntoIterator<Item = &'l str>,
    ) -> Result<Option<Truth>, Error> {
        self.kind().truth_of_labels(&labels.into_iter().collect::<Vec<_>>())
    }

    /// The separator of labels in the texts of sets of labels; none of other outputs.
    pub fn separator(&self) -> Option<char> {
        if let Self::Labels(labels) = self { Some(labels.separator) } else { None }
    }

    /// Whether outputs are graphs, molecules among them.
    pub fn are_graphs(&self) -> bool {
        matches!(self, Self::Molecules(_) | Self::Graphs(_))
    }

    /// Whether outputs are sets of labels.
    pub fn are_labels(&self) -> bool {
        matches!(self, Self::Labels(_))
    }

    /// Whether outputs are numbers.
    pub fn are_numbers(&self) -> bool {
        matches!(self, Self::Numbers(_))
    }

    /// Whether outputs are rankings.
    pub fn are_rankings(&self) -> bool {
        matches!(self, Self::Rankings(_))
    }

    /// The table that `read` reads, without the rows whose id or output cannot be read where such rows are
    /// skipped. Columns that were not read are not checked.
    pub(crate) fn good_rows(
        &self,
        id: &str,
        on_bad_row: OnBadRow,
        read: impl FnOnce(OnBadRow) -> Result<Table, Error>,
    ) -> Result<Table, Error> {
        if self.kind().facts().follow_rows {
            return read(OnBadRow::Stop).map_err(|error| on_bad_row.refusal(error));
        }
        let table = read(on_bad_row)?;
        if on_bad_row == OnBadRow::Stop {
            return Ok(table);
        }
        let mut bad = bad_ids(&table, id)?;
        if self.column().is_some_and(|column| table.has(column)) {
            bad.extend(self.kind().bad_rows(&table)?);
        }
        table.without(bad)
    }
}

/// Sparse rows with what their columns are.
fn sparse((columns, rows): (FittedColumns, SparseRows)) -> FittedRows {
    (columns, Box::new(Features::Sparse(rows)))
}

/// Rows whose columns need nothing but their number.
fn own(rows: impl Into<Features>) -> FittedRows {
    let rows: Features = rows.into();
    (FittedColumns::fixed(rows.width()), Box::new(rows))
}
