use std::borrow::Borrow;
use std::ops::Range;

use dsokr_basis::features::SparseRows;
use dsokr_core::Cancellation;
use rayon::prelude::*;

use super::GraphKernel;
use super::counts::Counts;
use crate::error::Error;
use crate::graph::Graph;

/// Graphs whose features one task counts, at least.
const CHUNK: usize = 256;

/// A graph kernel's features with a column each, fitted on some graphs.
///
/// Rows have one column for every feature that occurs in those graphs, and a last one for all
/// others: it holds the norm of the part of a graph that lies outside of the vocabulary. So
/// `⟨y, y⟩` is exact for every graph y, and `⟨y, y'⟩`, raw or normalised, for every two graphs if
/// one of them was fitted on, whose last column is 0. For two different graphs that were not,
/// the product counts what lies outside as common: it is at least the kernel's value.
///
/// Values are `f32`; counts up to 2²⁴ are exact, larger ones and the weights of NSPD are rounded to
/// the nearest.
///
/// ```
/// use dsokr_molecule::{graph::Graph, kernels::{GraphKernel, GraphVocabulary}};
///
/// let kernel = GraphKernel::VertexHistogram { edge_labels: false };
/// let graphs = [Graph::new(vec![6, 6, 8], &[])?, Graph::new(vec![6], &[])?];
/// let (vocabulary, _) = GraphVocabulary::fit_rows(kernel, &graphs)?;
/// assert_eq!(vocabulary.width(), 3);
/// let other = [Graph::new(vec![6, 7, 7, 7, 7, 9, 9, 9], &[])?];
/// let row = vocabulary.rows(&other)?;
/// let (columns, values) = row.row(0);
/// assert_eq!((columns.last(), values.last()), (Some(&2), Some(&5.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphVocabulary {
    kernel: GraphKernel,
    /// The features in increasing order; the position is the column.
    features: Vec<u64>,
    directory: Directory,
}

impl GraphVocabulary {
    /// Creates the features that occur in `graphs`, and the rows of those graphs, counted once.
    ///
    /// # Errors
    /// The errors of [`GraphKernel::validate`]; [`Error::Graph`] when no graph has a node.
    pub fn fit_rows<G: Borrow<Graph> + Sync>(
        kernel: GraphKernel,
        graphs: &[G],
    ) -> Result<(Self, SparseRows), Error> {
        kernel.validate()?;
        let stage = Cancellation::current().stage("features of graphs", graphs.len());
        let count = |counts: &mut Counts, graph: &G| {
            stage.advance(1)?;
            Ok(kernel.counted(graph.borrow(), counts))
        };
        let counted: Vec<_> = graphs
            .par_iter()
            .with_min_len(CHUNK)
            .map_init(Counts::default, count)
            .collect::<Result<_, Error>>()?;
        let features = counted.par_chunks(CHUNK).map(|rows| {
            let mut features: Vec<u64> = rows.iter().flatten().map(|entry| entry.0).collect();
            features.sort_unstable();
            features.dedup();
            features
        });
        let features = features.reduce(Vec::new, union);
        let vocabulary = Self::checked(kernel, features, graphs.len())?;
        let rows: Vec<_> = counted.into_par_iter().map(|row| vocabulary.numbered(row)).collect();
        let rows = SparseRows::from_rows(vocabulary.width(), rows)?;
        Ok((vocabulary, rows))
    }

    /// Creates the vocabulary of features that were stored, in the order of their columns.
    ///
    /// # Errors
    /// The errors of [`GraphKernel::validate`]; [`Error::Graph`] for features that do not increase, and for none.
    pub fn from_features(kernel: GraphKernel, features: Vec<u64>) -> Result<Self, Error> {
        kernel.validate()?;
        if let Some(at) = features.windows(2).position(|pair| pair[1] <= pair[0]) {
            let previous = features[at];
            let feature = features[at + 1];
            let message = format!(
                "feature {} of the vocabulary, {feature:#018x}, does not exceed the one before it, {previous:#018x}",
                at + 1,
            );
            return Err(Error::Graph { message });
        }
        Self::checked(kernel, features, 0)
    }

    fn checked(kernel: GraphKernel, features: Vec<u64>, graphs: usize) -> Result<Self, Error> {
        if features.is_empty() {
            let name = kernel.name();
            let message = format!("graph kernel {name}: none of the {graphs} graphs has a feature");
            return Err(Error::Graph { message });
        }
        // one column more, and columns are numbered by u32
        if u32::try_from(features.len()).is_err() {
            return Err(dsokr_core::Error::too_wide(features.len() + 1).into());
        }
        let directory = Directory::new(&features);
        Ok(Self { kernel, features, directory })
    }

    /// Returns the features, in the order of their columns.
    pub fn features(&self) -> &[u64] {
        &self.features
    }

    /// Returns the width of the rows: one column a feature and one for all others.
    pub fn width(&self) -> usize {
        self.features.len() + 1
    }

    /// Returns the rows of graphs, computed in parallel.
    ///
    /// A graph without nodes has an empty row.
    ///
    /// # Errors
    /// [`Error::Core`] when the work is cancelled.
    pub fn rows<G: Borrow<Graph> + Sync>(&self, graphs: &[G]) -> Result<SparseRows, Error> {
        let stage = Cancellation::current().stage("features of graphs", graphs.len());
        let row = |counts: &mut Counts, graph: &G| {
            stage.advance(1)?;
            Ok(self.numbered(self.kernel.counted(graph.borrow(), counts)))
        };
        let rows: Vec<_> = graphs
            .par_iter()
            .with_min_len(CHUNK)
            .map_init(Counts::default, row)
            .collect::<Result<_, Error>>()?;
        Ok(SparseRows::from_rows(self.width(), rows)?)
    }

    /// Returns a row with the numbers of columns in the place of features.
    fn numbered(&self, row: Vec<(u64, f64)>) -> Vec<(u32, f32)> {
        let mut outside = 0.0f64;
        let mut numbered = Vec::with_capacity(row.len());
        for (feature, value) in row {
            let value = value as f32;
            match self.directory.position(&self.features, feature) {
                Some(column) => numbered.push((column as u32, value)), // `checked` has checked it
                None => outside += f64::from(value) * f64::from(value),
            }
        }
        if outside > 0.0 {
            numbered.push((self.features.len() as u32, outside.sqrt() as f32));
        }
        numbered
    }
}

impl GraphKernel {
    /// Returns the features of the columns of rows, and the rows: those that occur in `graphs`, or
    /// `vocabulary_features`, which an earlier [`GraphVocabulary`] has.
    ///
    /// # Errors
    /// The errors of [`GraphVocabulary::fit_rows`]; [`Error::Graph`] for `vocabulary_features` that do not increase, and for
    /// none.
    pub fn rows<G: Borrow<Graph> + Sync>(
        &self,
        graphs: &[G],
        vocabulary_features: Option<&[u64]>,
    ) -> Result<(Vec<u64>, SparseRows), Error> {
        let Some(features) = vocabulary_features else {
            let (vocabulary, rows) = GraphVocabulary::fit_rows(self.clone(), graphs)?;
            return Ok((vocabulary.features, rows));
        };
        let vocabulary = GraphVocabulary::from_features(self.clone(), features.to_vec())?;
        let rows = vocabulary.rows(graphs)?;
        Ok((vocabulary.features, rows))
    }
}

/// The positions at which features with the same leading bits start. With them a look-up takes one or two reads of
/// memory and not twenty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Directory {
    shift: u32,
    starts: Vec<u32>,
}

impl Directory {
    /// Creates about as many places as features, which are hashes and so evenly spread.
    fn new(features: &[u64]) -> Self {
        let bits = features.len().max(2).ilog2();
        let shift = u64::BITS - bits;
        let mut starts = vec![0; (1 << bits) + 1];
        features.iter().for_each(|feature| starts[(feature >> shift) as usize + 1] += 1);
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        Self { shift, starts }
    }

    /// Returns the position of a feature among the features that the directory was made of.
    fn position(&self, features: &[u64], feature: u64) -> Option<usize> {
        let place = (feature >> self.shift) as usize;
        let within: Range<usize> = self.starts[place] as usize..self.starts[place + 1] as usize;
        let start = within.start;
        features[within].binary_search(&feature).ok().map(|position| start + position)
    }
}

/// Returns the features of two increasing lists, in one.
fn union(mut a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    a.extend(b);
    // the stable sort finds the two runs and merges them
    a.sort();
    a.dedup();
    a
}
