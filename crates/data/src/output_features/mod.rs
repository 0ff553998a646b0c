//! Outputs as rows of features.

mod classes;
mod columns;
mod counts;
mod file;
mod fitted;
mod graphs;
mod numbers;
mod occurrences;
mod of_texts;

use std::collections::HashMap;
use std::path::PathBuf;

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Features, RowSource};
use dsokr_core::Argument;
use dsokr_molecule::Molecule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use classes::ClassFeatures;
pub use columns::{LabelFeatures, RankingEmbedding, RankingFeatures};
pub use counts::{NgramFeatures, SubstructureFeatures};
pub use file::{FeatureFileConfig, OwnVectors};
pub(crate) use fitted::FittedColumns;
pub use fitted::FittedFeatures;
pub use graphs::{GraphFeatures, MoleculeGraphFeatures};
pub(crate) use graphs::{graphs, graphs_memory};
pub use numbers::NumberFeatures;
pub(crate) use numbers::{doubtful_thousands, vectors};
pub use of_texts::{ReadTexts, TextFeatures};

use crate::error::Error;
use crate::kinds::kinds;
use crate::root::DataRoot;
use crate::table::Table;
use crate::truth::Truth;

kinds! {
    /// The source of the outputs' features.
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
        /// Classes: every output is one of a few names, such as `active` and `inactive`, which a column holds. Rows of
        /// a pool that have one class share one output, whose id is the class.
        Classes(ClassFeatures) = "classes",
        /// Rankings of items, whole or partial. A column holds the rank of each item, from 1, the best, with spaces
        /// between, or orders of named `items`. Predictions are compared with the true rankings by Kendall's τ of the
        /// items that both rank.
        Rankings(RankingFeatures) = "rankings",
        /// Numbers of a column, one or several for each output: with the linear kernel, for regression and quantiles.
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
    /// Returns the facts of its keys.
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts::default()
    }

    /// Checks the values under a key.
    fn validate(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Returns bytes that files other than the table take once they are read.
    fn memory(&self, _: &DataRoot) -> f64 {
        0.0
    }

    /// Returns the rows whose cells in the column cannot be read, with what is wrong with them.
    fn bad_rows(&self, _: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(Vec::new())
    }

    /// Returns what is doubtful of how cells in the column are read, where some may be read wrongly.
    fn doubt(&self, _: &Table) -> Option<String> {
        None
    }

    /// Returns the outputs of a table, where predictions are compared by the column.
    fn truth(&self, _: &Table) -> Result<Option<Truth>, Error> {
        Ok(None)
    }

    /// Returns the outputs with these labels, where predictions are compared.
    fn truth_of_labels(&self, _: &[&str]) -> Result<Option<Truth>, Error> {
        Ok(None)
    }

    /// Returns what counts things in the cells of a column; none of other features.
    fn as_counted(&self) -> Option<&dyn Counted> {
        None
    }

    /// Reads the rows.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error>;
}

/// A kind of features that counts things in the cells of a column, which say by themselves what is in them.
pub(crate) trait Counted {
    /// Returns the rule by which counts become features.
    fn rule(&self) -> CountRule;

    /// Returns whether the columns are those of things that occur in the rows, so that all must be counted to find them.
    fn columns_depend_on_rows(&self) -> bool;

    /// Returns the counts of each row, and what is counted: things that occur, or those of an earlier training.
    fn count(&self, from: &mut OutputTable) -> Result<(FittedColumns, SparseRows), Error>;

    /// Reads the rows.
    fn read_counted(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let (columns, rows) = self.count(from)?;
        columns.counts(rows, self.rule(), from.is_summed, from.fitted).map(sparse)
    }
}

/// The rule by which counts become features.
#[derive(Clone, Copy)]
pub(crate) struct CountRule {
    /// Whether `ln(1 + count)` takes the place of a count.
    pub log: bool,
    /// Whether every value of a count is a feature of its own.
    pub exact: bool,
    /// What fewer outputs have is left out.
    pub min_outputs: usize,
}

/// Facts that the keys of every kind of features state.
#[derive(Default)]
pub(crate) struct FeatureFacts<'a> {
    /// The column that features are computed from.
    pub column: Option<&'a str>,
    /// Whether predictions are compared by the column, since figures say more than ranks do.
    pub is_compared: bool,
    /// Whether they are the rows of a matrix that follows the table of outputs.
    pub follow_rows: bool,
    /// Whether the features can belong to one of several kernels.
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
    /// Whether labels and classes that an earlier training did not know count in a last column, as they do of inputs; else
    /// they are refused.
    pub counts_unknown: bool,
    /// The outputs themselves, where metrics compare more than ranks.
    pub truth: Option<Truth>,
    /// The labels that outputs are shown by.
    pub labels: Vec<String>,
    /// The molecules of columns.
    pub molecules: HashMap<String, Vec<Molecule>>,
    /// Whether molecules that are read are kept, for features of further kernels.
    pub keeps_molecules: bool,
    /// Whether the features are those of one of several kernels of outputs.
    pub is_summed: bool,
}

/// The files with what a table of outputs does not hold: rows of features, and graphs.
#[derive(Clone, Copy)]
pub(crate) enum OutputFiles<'a> {
    /// The files that the configuration names, under the data root.
    Configured(&'a DataRoot),
    /// Files that the user gives, one for each kernel in the order of the configuration.
    Given(&'a [PathBuf]),
}

impl OutputFiles<'_> {
    const ALLOWED: &'static str =
        "a file for each kernel whose features or graphs are not a column of the table";

    /// Refuses files that were given and not read.
    pub fn check_read(self) -> Result<(), Error> {
        match self {
            Self::Given([file, ..]) => {
                Err(Error::value(Argument::new("features"), file.display(), Self::ALLOWED))
            }
            Self::Given([]) | Self::Configured(_) => Ok(()),
        }
    }

    /// Returns the file that stands for a configured one.
    pub fn take(&mut self, configured: &str) -> Result<PathBuf, Error> {
        match self {
            Self::Configured(root) => Ok(root.file(configured)),
            Self::Given([first, rest @ ..]) => {
                *self = Self::Given(rest);
                Ok(first.clone())
            }
            Self::Given([]) => {
                Err(Error::value(Argument::new("features"), "too few files", Self::ALLOWED))
            }
        }
    }
}

// The number of outputs that a feature that is not rare has by default.
dsokr_core::defaults!(one: usize = 1);

impl Default for OutputFeatures {
    fn default() -> Self {
        Self::Source(OwnVectors {})
    }
}

impl OutputFeatures {
    /// Returns whether they count things in a cell: then a row depends on its cell and on the fitted columns alone.
    pub fn are_counts(&self) -> bool {
        self.kind().as_counted().is_some()
    }

    /// Returns the column that they are read from; none of features in files of their own.
    pub fn column(&self) -> Option<&str> {
        self.kind().facts().column
    }

    /// Returns the column that predictions are compared by, where figures say more than ranks do.
    pub fn truth(&self) -> Option<&str> {
        let facts = self.kind().facts();
        facts.column.filter(|_| facts.is_compared)
    }

    /// Returns the outputs with these labels, where metrics compare more than ranks.
    ///
    /// # Errors
    /// [`Error`] for a label that is not a SMILES, a graph or a ranking.
    pub fn truth_of_labels<'l>(
        &self,
        labels: impl IntoIterator<Item = &'l str>,
    ) -> Result<Option<Truth>, Error> {
        self.kind().truth_of_labels(&labels.into_iter().collect::<Vec<_>>())
    }

    /// Returns the separator of labels in the texts of sets of labels; none of other outputs.
    pub fn separator(&self) -> Option<char> {
        if let Self::Labels(labels) = self { Some(labels.separator) } else { None }
    }

    /// Returns whether outputs are graphs, molecules among them.
    pub fn are_graphs(&self) -> bool {
        matches!(self, Self::Molecules(_) | Self::Graphs(_))
    }

    /// Returns whether they are computed from molecules.
    pub fn are_molecules(&self) -> bool {
        matches!(self, Self::Molecules(_) | Self::Substructures(_))
    }

    /// Returns whether outputs are sets of labels.
    pub fn are_labels(&self) -> bool {
        matches!(self, Self::Labels(_))
    }

    /// Returns whether outputs are classes.
    pub fn are_classes(&self) -> bool {
        matches!(self, Self::Classes(_))
    }

    /// Returns the classes whose cells are the outputs themselves, so that rows with equal cells share one; none of other
    /// outputs.
    pub(crate) fn as_classes(&self) -> Option<&ClassFeatures> {
        if let Self::Classes(classes) = self { Some(classes) } else { None }
    }

    /// Returns whether outputs are numbers.
    pub fn are_numbers(&self) -> bool {
        matches!(self, Self::Numbers(_))
    }

    /// Returns whether outputs are rankings.
    pub fn are_rankings(&self) -> bool {
        matches!(self, Self::Rankings(_))
    }
}

/// Returns sparse rows with what their columns are.
fn sparse((columns, rows): (FittedColumns, SparseRows)) -> FittedRows {
    (columns, Box::new(Features::Sparse(rows)))
}

/// Returns rows whose columns need nothing but their number.
fn fixed_rows(rows: impl Into<Features>) -> FittedRows {
    let rows: Features = rows.into();
    (FittedColumns::fixed(rows.width()), Box::new(rows))
}
