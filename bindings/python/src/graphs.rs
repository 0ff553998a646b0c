//! Labelled graphs, their kernels and edit distances.

use std::time::Duration;

use dsokr_molecule::ged::{self, EditDistance, Limit};
use dsokr_molecule::graph::{self, label};
use dsokr_molecule::kernels::GraphKernel;
use pyo3::prelude::*;

use crate::errors::{Failure, table};
use crate::rows::Rows;
use crate::work::work;

/// An undirected graph whose nodes and edges have labels.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Graph {
    pub inner: graph::Graph,
}

/// A whole number, or a name.
#[derive(FromPyObject)]
enum Label {
    Number(u64),
    Name(String),
}

impl Label {
    fn code(self) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Name(name) => label(&name),
        }
    }
}

#[pymethods]
impl Graph {
    #[new]
    fn new(labels: Vec<Label>, edges: Vec<(usize, usize, Label)>) -> PyResult<Self> {
        let labels = labels.into_iter().map(Label::code).collect();
        let edges: Vec<_> = edges.into_iter().map(|(a, b, label)| (a, b, label.code())).collect();
        Ok(Self { inner: graph::Graph::new(labels, &edges).map_err(Failure::from)? })
    }

    /// Labels of the nodes; names as their hashes.
    #[getter]
    fn labels(&self) -> Vec<u64> {
        self.inner.labels().to_vec()
    }

    /// Returns every edge once: (smaller node, larger node, label).
    #[getter]
    fn edges(&self) -> Vec<(usize, usize, u64)> {
        self.inner.edges().collect()
    }

    /// Returns this graph with all edges labelled 0.
    fn without_edge_labels(&self) -> Self {
        Self { inner: self.inner.clone().without_edge_labels() }
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }
}

/// The features of a graph kernel with a column each.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct GraphVocabulary {
    inner: dsokr_molecule::kernels::GraphVocabulary,
}

#[pymethods]
impl GraphVocabulary {
    /// Returns the features that occur in `graphs`, and their rows; `kernel` is a table of a configuration as
    /// JSON.
    #[staticmethod]
    fn fit(py: Python, kernel: &str, graphs: Vec<Bound<Graph>>) -> PyResult<(Self, Rows)> {
        let kernel: GraphKernel = table("kernel", kernel)?;
        let graphs: Vec<&graph::Graph> = graphs.iter().map(|graph| &graph.get().inner).collect();
        let fitted =
            work(py, || dsokr_molecule::kernels::GraphVocabulary::fit_rows(kernel, &graphs));
        let (inner, rows) = fitted?;
        Ok((Self { inner }, Rows::owned(rows)))
    }

    /// Returns the rows of graphs; what is not in the vocabulary is the last column.
    fn rows(&self, py: Python, graphs: Vec<Bound<Graph>>) -> PyResult<Rows> {
        let graphs: Vec<_> = graphs.iter().map(|graph| graph.get().inner.clone()).collect();
        work(py, || self.inner.rows(&graphs).map(Rows::owned))
    }

    /// Creates the vocabulary of a kernel, a table of a configuration as JSON, with the features of an earlier one.
    #[staticmethod]
    fn from_features(kernel: &str, features: Vec<u64>) -> PyResult<Self> {
        let kernel: GraphKernel = table("kernel", kernel)?;
        let inner = dsokr_molecule::kernels::GraphVocabulary::from_features(kernel, features);
        Ok(Self { inner: inner.map_err(Failure::from)? })
    }

    /// Returns the features, in the order of their columns.
    #[getter]
    fn features(&self) -> Vec<u64> {
        self.inner.features().to_vec()
    }

    /// Returns the width of the rows.
    #[getter]
    fn width(&self) -> usize {
        self.inner.width()
    }
}

/// Returns (lower bound, upper bound, mapping, states) of the edit distance of each pair of graphs, in parallel.
#[pyfunction]
#[expect(clippy::type_complexity)]
pub fn edit_distances(
    py: Python,
    pairs: Vec<(Bound<Graph>, Bound<Graph>)>,
    states: Option<u64>,
    seconds: Option<f64>,
) -> PyResult<Vec<(usize, usize, Vec<Option<usize>>, u64)>> {
    let time = |seconds: f64| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| Failure::argument("max_seconds", format!("{seconds}: {error}")))
    };
    let limit = Limit { states, time: seconds.map(time).transpose()? };
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (&a.get().inner, &b.get().inner)).collect();
    let distances = work(py, || ged::edit_distances(&pairs, &limit))?;
    let row = |EditDistance { lower, upper, mapping, states }| (lower, upper, mapping, states);
    Ok(distances.into_iter().map(row).collect())
}
