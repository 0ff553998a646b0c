//! Ranks, and metrics of them.

use dsokr_decode::{
    Combination, Ensemble, Metrics, MissingGold, Pool, RANK_METRICS, Rank, RankSummary, bootstrap,
    report,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;

use crate::arrays::{MatrixView, Number, Table, Typed, Vector, VectorView, numbers, vector};
use crate::errors::{About, Failure, json, table};
use crate::work::work;

/// Expected ranks and reciprocals, candidates above and tied ones.
type Arrays<'py> = (Vector<'py, f64>, Vector<'py, f64>, Vector<'py, i64>, Vector<'py, i64>);

/// The rank of the gold candidate of each query, ties included.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Ranks {
    pub ranks: Vec<Option<Rank>>,
    pub candidates: usize,
    pub duplicates: usize,
}

impl Ranks {
    /// Wraps the ranks that an ensemble gives.
    pub fn new(ensemble: &Ensemble, pool: Pool, ranks: Vec<Option<Rank>>) -> Result<Self, Failure> {
        let Metrics { candidates, duplicate_candidates, .. } = ensemble.metrics(pool, &ranks)?;
        Ok(Self { ranks, candidates, duplicates: duplicate_candidates })
    }

    /// Returns the ranks of gold candidates, by id, that a model gives.
    pub fn of_golds(
        model: &Ensemble,
        pool: Pool,
        gold: &[String],
        missing: MissingGold,
    ) -> Result<Self, Failure> {
        let gold = model.gold(pool, gold, missing).about("gold")?;
        let ranks = model.rank(pool, &Combination::default(), &gold)?;
        Self::new(model, pool, ranks)
    }

    /// Returns a number of each rank.
    fn each<'py, T: Number>(
        &self,
        py: Python<'py>,
        missing: T,
        value: impl Fn(&Rank) -> T,
    ) -> Vector<'py, T> {
        let value = |rank: &Option<Rank>| rank.as_ref().map_or(missing, &value);
        vector(py, self.ranks.iter().map(value).collect())
    }
}

#[pymethods]
impl Ranks {
    /// Returns four arrays with a number for each query: E[rank], from 1 and infinite without a gold candidate; E[1/rank], else 0;
    /// the candidates with a higher score than the gold one, else −1; and the others with its score, else 0.
    #[getter]
    fn arrays<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        (
            self.each(py, f64::INFINITY, Rank::expected_rank),
            self.each(py, 0.0, Rank::expected_reciprocal),
            self.each(py, -1, |rank| rank.above() as i64),
            self.each(py, 0, |rank| rank.tied() as i64 - 1),
        )
    }

    /// Returns the ranks, and the numbers of candidates and of duplicates, as JSON, which `from_json` reads.
    fn to_json(&self) -> PyResult<String> {
        json(&(&self.ranks, self.candidates, self.duplicates))
    }

    /// Reads what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let (ranks, candidates, duplicates) = table("ranks", text)?;
        Ok(Self { ranks, candidates, duplicates })
    }

    /// Returns P(rank ≤ k) of each query.
    fn hits<'py>(&self, py: Python<'py>, k: u64) -> Vector<'py, f64> {
        self.each(py, 0.0, |rank| rank.expected_hit(k))
    }

    /// Returns metrics by name, with 95 % bootstrap intervals unless `resamples` is none.
    fn metrics<'py>(
        &self,
        py: Python<'py>,
        k: Vec<u64>,
        resamples: Option<usize>,
        seed: u64,
    ) -> PyResult<Table<'py>> {
        // hits are those that were asked for
        let others = || RANK_METRICS.iter().filter(|metric| !metric.name.starts_with("hits@"));
        let (metrics, intervals, hits) = work(py, || {
            let metrics = Metrics::from_ranks(&self.ranks, self.candidates, self.duplicates)?;
            // the bootstrap is of means of values that are 0 where the gold candidate is missing
            let have_interval = others()
                .filter(|metric| metric.summary == RankSummary::Mean && metric.missing == 0.0);
            let mut intervals = Vec::new();
            if let Some(count) = resamples {
                for metric in have_interval {
                    let (_, ci95) = bootstrap(&self.ranks, metric.value, count, seed)?;
                    intervals.push((metric.name, ci95));
                }
            }
            // means do not depend on the number of resamples, and 40 are the fewest
            let count = resamples.unwrap_or(40);
            let hits = k.iter().map(|&k| {
                let hit = |rank: &Rank| rank.expected_hit(k);
                let (mean, ci95) = bootstrap(&self.ranks, hit, count, seed)?;
                Ok((k, mean, ci95))
            });
            let hits = hits.collect::<Result<Vec<_>, dsokr_core::Error>>()?;
            Ok::<_, dsokr_core::Error>((metrics, intervals, hits))
        })?;
        let table = PyDict::new(py);
        table.set_item("queries", metrics.queries)?;
        table.set_item("candidates", metrics.candidates)?;
        for metric in others() {
            table.set_item(metric.name, metrics.value(metric.name).unwrap_or(metric.missing))?;
        }
        for (name, ci95) in intervals {
            table.set_item(format!("{name}_ci95"), ci95)?;
        }
        for (k, mean, ci95) in hits {
            table.set_item(format!("hits@{k}"), mean)?;
            if resamples.is_some() {
                table.set_item(format!("hits@{k}_ci95"), ci95)?;
            }
        }
        table.set_item("tied_queries", metrics.tied_queries)?;
        table.set_item("duplicate_candidates", metrics.duplicate_candidates)?;
        table.set_item("missing_gold", metrics.missing_gold)?;
        Ok(Typed(table))
    }

    /// Returns the metrics of a random order of the same candidates.
    fn chance(&self, py: Python) -> PyResult<Self> {
        let random = |rank: &Option<Rank>| {
            rank.map(|rank| Rank::new(0, rank.pool(), rank.pool())).transpose()
        };
        let ranks = work(py, || self.ranks.iter().map(random).collect::<Result<_, _>>())?;
        Ok(Self { ranks, ..*self })
    }

    /// Compares with the ranks of a second model by a paired bootstrap of the differences, as JSON.
    fn compare(
        &self,
        py: Python,
        other: &Bound<Self>,
        resamples: usize,
        seed: u64,
    ) -> PyResult<String> {
        let other = &other.get().ranks;
        let compare = || report::compare(&self.ranks, other, &[], resamples, seed).about("other");
        json(&work(py, compare)?)
    }

    fn __len__(&self) -> usize {
        self.ranks.len()
    }
}

/// Scores in single or double precision.
#[derive(FromPyObject)]
pub enum Scores<'py> {
    Single(MatrixView<'py, f32>),
    Double(MatrixView<'py, f64>),
}

/// Ranks of the gold columns of a matrix of scores, one row a query; higher is better.
#[pyfunction]
pub fn rank_scores(py: Python, scores: Scores, gold: VectorView<i64>) -> PyResult<Ranks> {
    let gold = gold.as_array().to_vec();
    match &scores {
        Scores::Single(scores) => count(py, scores, &gold),
        Scores::Double(scores) => count(py, scores, &gold),
    }
}

fn count<T: Number + PartialOrd>(
    py: Python,
    scores: &MatrixView<T>,
    gold: &[i64],
) -> PyResult<Ranks> {
    let (values, [queries, candidates]) = numbers(scores, "scores")?;
    if queries != gold.len() {
        let message = format!("{} entries for {queries} rows of scores", gold.len());
        return Err(Failure::argument("gold", message).into());
    }
    if candidates == 0 {
        return Err(Failure::argument("scores", "0 columns, at least 1 is needed").into());
    }
    let rank = |(query, scores): (usize, &[T])| {
        let column = usize::try_from(gold[query]).ok().filter(|&at| at < candidates);
        let column = column.ok_or_else(|| {
            let message = format!("{} at {query}, allowed: 0 to {}", gold[query], candidates - 1);
            Failure::argument("gold", message)
        })?;
        // only a NaN is not equal to itself
        #[expect(clippy::eq_op)]
        if let Some(at) = scores.iter().position(|score| score != score) {
            return Err(Failure::argument("scores", format!("row {query}, column {at}: NaN")));
        }
        let bar = scores[column];
        let above = scores.iter().map(|&score| u64::from(score > bar)).sum();
        let tied = scores.iter().map(|&score| u64::from(score == bar)).sum();
        Ok(Some(Rank::new(above, tied, candidates as u64)?))
    };
    let ranks: Vec<Result<_, Failure>> = work(py, || {
        Ok::<_, Failure>(values.par_chunks_exact(candidates).enumerate().map(rank).collect())
    })?;
    let ranks = ranks.into_iter().collect::<Result<_, _>>()?;
    Ok(Ranks { ranks, candidates, duplicates: 0 })
}
