//! Candidates, and ranks among them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dsokr_basis::features::{self, DenseRows, Spread, distinct};
use dsokr_basis::{Features, Kernel, OutputKernel, RowSource};
use dsokr_core::Processes;
use dsokr_decode::{
    CandidateBlocks, CandidateParts, Columns, Combination, Ensemble, Hubs, Member, MissingGold,
    PerQuery, Pool, Queries,
};
use pyo3::prelude::*;

use crate::arrays::{Matrix, MatrixView, Vector, matrix, numbers, vector};
use crate::basis::Basis;
use crate::errors::{About, Failure, table};
use crate::ranks::Ranks;
use crate::rows::Rows;
use crate::work::work;

/// The name of predictions in errors.
const PREDICTIONS: &str = "Z";

/// Candidates in memory, on which predictions are ranked.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Candidates {
    inner: dsokr_decode::Candidates,
    /// Whether k(c, c) = 1, so that scores are comparable with those of other such kernels.
    #[pyo3(get)]
    normalised: bool,
    /// p.
    #[pyo3(get)]
    dim: usize,
    /// Candidates that are the same point as an earlier one.
    #[pyo3(get)]
    duplicates: usize,
}

#[pymethods]
impl Candidates {
    /// Creates candidates of outputs in a basis: each distinct one is projected once, with the constant −½ k(c, c), or 0
    /// where the kernel is normalised.
    #[staticmethod]
    fn project(
        py: Python,
        basis: &Bound<Basis>,
        rows: &Bound<Rows>,
        ids: Vec<String>,
        labels: Vec<String>,
        columns: Vec<(String, Vec<String>)>,
    ) -> PyResult<Self> {
        let basis = &basis.get().inner;
        let rows = rows.get();
        let normalised = basis.is_normalised();
        let inner = work(py, || {
            let columns = named_columns(ids, labels, columns)?;
            if !basis.tempering().centred {
                let remedy = "subtract the mean of each column, or set centred=True of Basis.fit";
                check_spread(basis.kernel(), rows.source(), trained_variance(basis), remedy)?;
            }
            placed(rows.source(), columns, |rows| {
                Ok(CandidateParts::in_basis(basis, rows, &Processes::default())?)
            })
        });
        Ok(Self::new(inner?, normalised))
    }

    /// Creates candidates of points that are given, each with its constant in the last column; equal rows are one.
    #[staticmethod]
    fn points(
        py: Python,
        points: MatrixView<f32>,
        ids: Vec<String>,
        labels: Vec<String>,
        columns: Vec<(String, Vec<String>)>,
    ) -> PyResult<Self> {
        let (values, [_, width]) = numbers(&points, "points")?;
        let inner = work(py, || {
            let rows = Features::from(DenseRows::new(width, values).about("points")?);
            placed(&rows, named_columns(ids, labels, columns)?, |rows| {
                let block = features::read(rows, 0..rows.len())?;
                let mut parts =
                    CandidateParts { dim: width.saturating_sub(1), ..CandidateParts::default() };
                for row in 0..block.len() {
                    let mut point = block.dense_row(row);
                    parts.constants.extend(point.pop());
                    parts.coordinates.extend(point);
                }
                Ok(parts)
            })
        });
        Ok(Self::new(inner?, false))
    }

    /// Returns the candidates with their constants lowered by `weight` times h(c), the mean of the `neighbours` largest similarities
    /// of a candidate with held-out predictions.
    fn with_hubs(
        &self,
        py: Python,
        predictions: MatrixView<f32>,
        neighbours: usize,
        weight: f32,
    ) -> PyResult<Self> {
        let (values, [_, dim]) = numbers(&predictions, PREDICTIONS)?;
        let inner = work(py, || {
            let queries = Queries::new(dim, &values).about(PREDICTIONS)?;
            let hubs = Hubs::fit(&queries, &self.inner, neighbours)?;
            Ok::<_, Failure>(self.inner.clone().with_hubs(hubs, weight)?)
        });
        Ok(Self::new(inner?, self.normalised))
    }

    /// Returns ranks of the gold candidates, by id, among all candidates or the lists of ids of each query.
    fn rank(
        &self,
        py: Python,
        predictions: MatrixView<f32>,
        gold: Vec<String>,
        names: Vec<String>,
        missing: &str,
        lists: Option<Vec<Vec<String>>>,
    ) -> PyResult<Ranks> {
        let (values, [_, dim]) = numbers(&predictions, PREDICTIONS)?;
        let missing: MissingGold = table("missing", missing)?;
        work(py, || {
            let queries = Queries::named(&names, dim, &values).about(PREDICTIONS)?;
            let lists = lists.map(|lists| lists_of(&self.inner, &lists)).transpose()?;
            let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
            let model = Ensemble::one(queries, &self.inner, None).about(PREDICTIONS)?;
            Ranks::of_golds(&model, pool, &gold, missing)
        })
    }

    /// Returns indices and scores of the k best candidates of each query, best first.
    fn top_k<'py>(
        &self,
        py: Python<'py>,
        predictions: MatrixView<'py, f32>,
        k: usize,
    ) -> PyResult<(Matrix<'py, i64>, Matrix<'py, f32>)> {
        let (values, [count, dim]) = numbers(&predictions, PREDICTIONS)?;
        let hits = work(py, || {
            let queries = Queries::new(dim, &values).about(PREDICTIONS)?;
            Ok::<_, Failure>(dsokr_decode::top_k(&queries, &self.inner, k)?)
        })?;
        let hits = hits.into_iter().flatten().map(|hit| (hit.candidate as i64, hit.score));
        let (indices, scores) = hits.unzip();
        Ok((matrix(py, indices, count, k)?, matrix(py, scores, count, k)?))
    }

    /// Coordinates of the candidates with these ids.
    fn coordinates_of<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Matrix<'py, f32>> {
        let mut values = Vec::with_capacity(ids.len() * self.dim);
        for (at, id) in ids.iter().enumerate() {
            let candidate = self.inner.find(id).ok_or_else(|| {
                Failure::argument("ids", format!("no candidate has the id {id:?} at {at}"))
            })?;
            let row = self.inner.class_of(candidate) as usize;
            values.extend_from_slice(&self.inner.point(row).map_err(Failure::from)?);
        }
        matrix(py, values, ids.len(), self.dim)
    }

    /// Writes a file that `load` reads, to send candidates to a different process.
    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        work(py, || self.inner.save(&path, &BTreeMap::new()))
    }

    /// Reads a file that `save` wrote; `normalised` is whether k(c, c) = 1.
    #[staticmethod]
    fn load(py: Python, path: PathBuf, normalised: bool) -> PyResult<Self> {
        let inner = work(py, || dsokr_decode::Candidates::load(&path))?;
        Ok(Self::new(inner, normalised))
    }

    /// Returns all ids, in order.
    #[getter]
    fn ids(&self) -> Vec<String> {
        self.inner.ids().map(str::to_owned).collect()
    }

    /// Returns labels of the candidates, in order.
    #[getter]
    fn labels(&self) -> Vec<&str> {
        (0..self.inner.len()).map(|at| self.inner.label(at)).collect()
    }

    /// Returns the columns behind ids and labels: the name of each, and the cell of each candidate.
    #[getter]
    fn columns(&self) -> Vec<(&str, Vec<&str>)> {
        let columns = self.inner.columns();
        let cells = |column| (0..columns.len()).map(|at| columns.cell(column, at)).collect();
        columns.names().enumerate().skip(2).map(|(at, name)| (name, cells(at))).collect()
    }

    /// Returns b(c) of each candidate.
    #[getter]
    fn constants<'py>(&self, py: Python<'py>) -> Vector<'py, f32> {
        let constants = self.inner.constants();
        let all = (0..self.inner.len()).map(|at| constants[self.inner.class_of(at) as usize]);
        vector(py, all.collect())
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }
}

/// Returns ids, labels and further columns by name.
pub fn named_columns(
    ids: Vec<String>,
    labels: Vec<String>,
    further: Vec<(String, Vec<String>)>,
) -> Result<Columns, Failure> {
    let mut columns = Columns::new(ids, labels)?;
    for (name, cells) in further {
        columns = columns.with(&name, cells).about("columns")?;
    }
    Ok(columns)
}

/// Estimates the mean squared distance from their mean of the outputs that a basis was fitted on: the sum of its eigenvalues
/// without the largest one, which contains the mean.
fn trained_variance(basis: &dsokr_basis::Basis) -> f64 {
    // those of a tempered basis are of a covariance, and others of a kernel matrix
    let is_matrix = basis.tempering().changes_nothing();
    let rows = if is_matrix { basis.trained_rows().max(1) } else { 1 };
    basis.spectrum().iter().skip(1).sum::<f64>() / rows as f64
}

/// Refuses outputs whose scores under a kernel 32 bits do not tell apart. Outputs that are nearer to each other than those that
/// a model was trained on, of the variance `trained`, may be ties.
pub fn check_spread(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
    trained: f64,
    remedy: &str,
) -> Result<(), Failure> {
    if kernel.built_in() != Some(&Kernel::Linear) {
        return Ok(());
    }
    let spread = Spread::of(rows).about("Y")?.filter(|spread| spread.variance > 0.0);
    let spread = spread.map(|spread| Spread { variance: spread.variance.max(trained), ..spread });
    let lost = spread.and_then(|spread| spread.lost_digits());
    lost.map_or(Ok(()), |lost| {
        let message =
            format!("outputs with {lost}, under the kernel \"linear\": {remedy}, or scale them");
        Err(Failure::argument("Y", message))
    })
}

/// Returns candidates with these columns where `place` puts their distinct rows.
pub fn placed(
    rows: &dyn RowSource,
    columns: Columns,
    place: impl FnOnce(&dyn RowSource) -> Result<CandidateParts, Failure>,
) -> Result<dsokr_decode::Candidates, Failure> {
    let groups = distinct(rows).about("Y")?;
    dsokr_decode::Candidates::placed(groups, columns, |first| match first.len() {
        all if all == rows.len() => place(rows).about("Y"),
        _ => place(&rows.select(first).about("Y")?).about("Y"),
    })
}

impl Candidates {
    pub fn new(inner: dsokr_decode::Candidates, normalised: bool) -> Self {
        let dim = CandidateBlocks::dim(&inner);
        let duplicates = inner.duplicates();
        Self { inner, normalised, dim, duplicates }
    }
}

/// Returns lists of ids of candidates, one a query.
pub fn lists_of(
    candidates: &dsokr_decode::Candidates,
    lists: &[Vec<String>],
) -> Result<PerQuery, Failure> {
    let mut indices = Vec::with_capacity(lists.len());
    for (query, list) in lists.iter().enumerate() {
        let index = |id: &String| match candidates.find(id) {
            Some(index) => Ok(index as u32),
            None => {
                let found = format!("the list of query {query} has {id:?}");
                Err(Failure::argument("lists", found + ", which is not a candidate"))
            }
        };
        indices.push(list.iter().map(index).collect::<Result<Vec<_>, Failure>>()?);
    }
    PerQuery::new(&indices, candidates).about("lists")
}

/// Ranks of the gold candidates under several models of the same queries and candidates.
#[pyfunction]
pub fn rank_ensemble(
    py: Python,
    members: Vec<(Bound<Candidates>, MatrixView<f32>)>,
    gold: Vec<String>,
    rule: &str,
    missing: &str,
) -> PyResult<Ranks> {
    let rule: Combination = table("rule", rule)?;
    let missing: MissingGold = table("missing", missing)?;
    let names: Vec<String> = (0..members.len()).map(|at| at.to_string()).collect();
    let values = members.iter().map(|(pool, predictions)| {
        let (values, [_, dim]) = numbers(predictions, PREDICTIONS)?;
        Ok::<_, Failure>((pool.get(), values, dim))
    });
    let values: Vec<_> = values.collect::<Result<_, _>>()?;
    work(py, || {
        let mut members = Vec::with_capacity(values.len());
        for (name, (pool, values, dim)) in names.iter().zip(&values) {
            let queries = Queries::new(*dim, values).about(PREDICTIONS)?;
            let candidates = &pool.inner;
            let normalised = pool.normalised;
            members.push(Member { name, queries, candidates, normalised });
        }
        if members.is_empty() {
            return Err(Failure::argument("members", "none, at least 1 is needed"));
        }
        let ensemble = Ensemble::new(members).about("members")?;
        let gold = ensemble.gold(Pool::Shared, &gold, missing).about("gold")?;
        let ranks = ensemble.rank(Pool::Shared, &rule, &gold)?;
        Ranks::new(&ensemble, Pool::Shared, ranks)
    })
}
