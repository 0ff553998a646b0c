//! Evaluations of trained models.

use dsokr::compare::{EvaluatedRun, Format, compare};
use dsokr::run::{PredictedQueries, Run, metrics_table};
use dsokr::{Error, RESAMPLES, Scores, StoredEvaluation, intervals};
use pyo3::prelude::*;

use crate::errors::{json, table};
use crate::ranks::Ranks;
use crate::work::work;

/// Id, label and score of a candidate.
type Best = (String, String, f32);

/// Name, text, gold and best candidate of a query.
type Row = (String, Option<String>, String, Option<Best>);

/// The fields of an [`Evaluation`] as they are sent to other processes.
type Stored =
    (StoredEvaluation, Vec<String>, Vec<Row>, Scores, Vec<(String, Scores)>, u64, Option<String>);

/// The evaluation of a model or an ensemble on queries.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Evaluation {
    inner: dsokr::Evaluation,
    /// Names of the queries.
    queries: Vec<String>,
    rows: Vec<Row>,
    chance: Scores,
    /// Name and metrics of each member, if there are several.
    members: Vec<(String, Scores)>,
    seed: u64,
    /// Why the metrics say less about new queries, if they do.
    caution: Option<String>,
}

impl Evaluation {
    /// Evaluates a run on queries, whose metrics may say less about new ones.
    pub fn from_predictions(
        run: &Run,
        queries: &PredictedQueries,
        caution: Option<String>,
    ) -> Result<Self, Error> {
        let (inner, decoded) = run.evaluate(queries)?;
        inner.warn_of_few_groups();
        let split = queries.split();
        let texts = split.inputs.texts().ok();
        let candidates = &run.members()[0].candidates;
        let row = |(at, name): (usize, &String)| {
            let best = decoded[at].hits.first().map(|hit| {
                let id = candidates.id(hit.candidate);
                let label = candidates.label(hit.candidate);
                (id.to_owned(), label.to_owned(), hit.score)
            });
            (name.clone(), texts.map(|texts| texts[at].clone()), inner.golds[at].clone(), best)
        };
        let members = match run.members().len() {
            1 => Vec::new(),
            _ => {
                let scores = run.evaluate_members(queries)?.into_iter().map(|member| member.scores);
                run.names().iter().cloned().zip(scores).collect()
            }
        };
        Ok(Self {
            queries: split.names().to_vec(),
            rows: split.names().iter().enumerate().map(row).collect(),
            chance: inner.chance()?,
            members,
            seed: run.config().seed,
            caution,
            inner,
        })
    }
}

#[pymethods]
impl Evaluation {
    /// Returns the metrics, those of a random order of the candidates, names and metrics of the members of an
    /// ensemble, why the metrics say less about new queries, and the number of groups of queries, as JSON.
    #[getter]
    fn scores(&self) -> PyResult<String> {
        let groups = self.inner.group_count();
        json(&(&self.inner.scores, &self.chance, &self.members, &self.caution, groups))
    }

    /// Returns everything but the outputs that only reports show, as JSON, which `from_json` reads.
    fn to_json(&self) -> PyResult<String> {
        let Self { inner, queries, rows, chance, members, seed, caution } = self;
        json(&(StoredEvaluation::from(inner), queries, rows, chance, members, seed, caution))
    }

    /// Reads what `to_json` gave.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let (inner, queries, rows, chance, members, seed, caution): Stored =
            table("evaluation", text)?;
        Ok(Self { inner: inner.into(), queries, rows, chance, members, seed, caution })
    }

    /// Returns 95 % intervals of all metrics, as JSON.
    fn intervals(&self, py: Python) -> PyResult<String> {
        json(&work(py, || intervals(&self.inner, RESAMPLES, self.seed))?)
    }

    /// Returns the ranks of the gold candidates.
    #[getter]
    fn ranks(&self) -> Ranks {
        let ranks = self.inner.ranks.clone();
        let scores = &self.inner.scores;
        Ranks { ranks, candidates: scores.candidates, duplicates: scores.duplicate_candidates }
    }

    /// Returns for each query its name, its text where it has one, the id of its gold, and its best candidate.
    #[getter]
    fn rows(&self) -> Vec<Row> {
        self.rows.clone()
    }

    /// Returns the metrics as a table.
    fn __str__(&self) -> String {
        let mut rows: Vec<(&str, &Scores)> =
            self.members.iter().map(|(name, scores)| (name.as_str(), scores)).collect();
        rows.push((if rows.is_empty() { "model" } else { "ensemble" }, &self.inner.scores));
        rows.push(("chance", &self.chance));
        metrics_table(&rows)
    }
}

/// Compares the evaluations of several models, by name, compared with the first one: as JSON, and as text.
#[pyfunction]
pub fn compare_runs(
    py: Python,
    evaluations: Vec<(String, Bound<Evaluation>)>,
    resamples: usize,
) -> PyResult<(String, String)> {
    let given: Vec<(String, &Evaluation)> =
        evaluations.iter().map(|(name, evaluation)| (name.clone(), evaluation.get())).collect();
    work(py, || {
        let seed = given.first().map_or(0, |(_, first)| first.seed);
        let evaluated: Vec<EvaluatedRun> = given
            .into_iter()
            .map(|(name, Evaluation { inner, queries, .. })| EvaluatedRun {
                name,
                queries,
                evaluation: inner.clone(),
            })
            .collect();
        let comparison = compare(&evaluated, resamples, seed)?;
        Ok::<_, Error>((comparison.render(Format::Json)?, comparison.render(Format::Text)?))
    })
}
