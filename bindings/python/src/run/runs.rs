//! Trained models, read from their run directories.

use std::any::Any;
use std::path::PathBuf;

use dsokr::config::{BeyondConfig, Config};
use dsokr::core::{Argument, Processes};
use dsokr::data::config::OnBadRow;
use dsokr::data::{Inputs, Split, SplitName};
use dsokr::decode::{CandidateBlocks, Combination, Ensemble, MissingGold, Pool};
use dsokr::run::{CandidateSets, Member, QueryRequest, Run, SplitUse};
use dsokr::{CandidateRule, Error, Filter, Network};
use pyo3::prelude::*;

use super::module::ModuleConfig;
use super::{Evaluation, processor};
use crate::arrays::{Matrix, MatrixView, Vector, matrix, numbers, vector};
use crate::candidates::{Candidates, lists_of};
use crate::errors::{Failure, json, table};
use crate::ranks::Ranks;
use crate::rows::Rows;
use crate::work::{work, work_apart};

/// Queries that are encoded at once, as the command does.
const BATCH: usize = 256;

/// One trained model, or several that are combined.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Runs {
    inner: Run,
    /// Where the data are, if not where the run was trained.
    data: Option<PathBuf>,
    /// Whether a member's encoder is a module of PyTorch.
    calls_python: bool,
}

impl Runs {
    fn work<T: Send, E: Into<Failure> + Send>(
        &self,
        py: Python,
        f: impl FnOnce() -> Result<T, E> + Send,
    ) -> PyResult<T> {
        if self.calls_python { work_apart(py, f) } else { work(py, f) }
    }

    /// Returns the first member.
    fn member(&self) -> &Member {
        &self.inner.members()[0]
    }

    /// Returns coordinates of texts or rows that the first member predicts; with `scaled` as they are scored.
    fn coordinates(&self, queries: &Queries, scaled: bool) -> Result<Vec<f32>, Error> {
        let member = self.member();
        let dim = member.candidates.dim();
        let mut all = Vec::with_capacity(queries.len() * dim);
        for start in (0..queries.len()).step_by(BATCH) {
            let split = queries.read(member, start..queries.len().min(start + BATCH))?;
            all.extend(member.coordinates(&split)?);
        }
        if scaled { member.config.decoding.scaled(&all, dim) } else { Ok(all) }
    }

    /// Returns sets of candidates with this coverage.
    fn sets(&self, coverage: f64, among: Option<&CandidateRule>) -> Result<CandidateSets, Error> {
        self.inner.sets(&Processes::default(), coverage, None, among, self.data.as_deref())
    }
}

/// Returns the rule for the candidates of spectra.
fn rule(candidates: Option<&str>) -> Result<Option<CandidateRule>, Failure> {
    let rule: Option<CandidateRule> = candidates.map(str::parse).transpose()?;
    if let Some(rule) = &rule {
        rule.check_search()?;
    }
    Ok(rule)
}

#[pymethods]
impl Runs {
    /// Reads run directories; `rule` is a table of a configuration as JSON. With `fit_weights` the
    /// weights are fitted on the validation split. `beyond` are settings of a search as JSON.
    #[staticmethod]
    #[expect(clippy::too_many_arguments)]
    fn open(
        py: Python,
        paths: Vec<PathBuf>,
        device: &str,
        rule: Option<&str>,
        fit_weights: bool,
        data: Option<PathBuf>,
        beyond: Option<&str>,
        encoder: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let encoder = ModuleConfig::table(py, encoder)?;
        let processor = processor(device)?;
        let rule: Option<Combination> = rule.map(|rule| table("rule", rule)).transpose()?;
        let beyond: Option<BeyondConfig> =
            beyond.map(|settings| table("beyond", settings)).transpose()?;
        let root = data.clone();
        let calls_python = encoder.is_some();
        let inner = work_apart(py, || {
            let mut run = Run::open_shared(
                &Processes::default(),
                &paths,
                None,
                encoder.as_ref(),
                &processor.open()?,
            )?;
            if let Some(rule) = rule {
                run.rule = rule;
            }
            if fit_weights {
                let split = Some(SplitName::Validation);
                let split_use = SplitUse::Weights;
                let validation = QueryRequest { split, split_use, data, ..QueryRequest::default() };
                let queries =
                    validation.predict(&Processes::default(), &run, Member::coordinates)?;
                run.fit_weights(&queries)?;
            }
            run.with_beyond(beyond.as_ref())
        });
        Ok(Self { inner: inner?, data: root, calls_python })
    }

    /// Returns names of the members, the rule that combines them, and the configuration of the first one, as JSON.
    #[getter]
    fn description(&self) -> PyResult<String> {
        let config: &Config = self.inner.config();
        let config = toml::Table::try_from(config).map_err(|e| Failure::Other(e.to_string()))?;
        json(&(self.inner.names(), &self.inner.rule, config))
    }

    /// Returns the candidates of the first member.
    #[getter]
    fn candidates(&self) -> Candidates {
        let member = self.member();
        Candidates::new(member.candidates.clone(), member.config.output.is_normalised())
    }

    /// Returns what the first member adds to the coordinates of its module of PyTorch; none for other encoders.
    #[getter]
    fn offset<'py>(&self, py: Python<'py>) -> Option<Vector<'py, f32>> {
        let predictor: &dyn Any = &*self.member().predictor;
        let network = predictor.downcast_ref::<Network<ModuleConfig>>()?;
        Some(vector(py, network.model.encoder.offset()))
    }

    /// Returns coordinates of texts or rows that the first member predicts; with `scaled` as they are scored.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        queries: Queries,
        scaled: bool,
    ) -> PyResult<Matrix<'py, f32>> {
        let dim = self.member().candidates.dim();
        let coordinates = self.work(py, || self.coordinates(&queries, scaled))?;
        matrix(py, coordinates, queries.len(), dim)
    }

    /// Returns ranks of the gold candidates, by id, for texts or rows under the first member with its reranker, among all candidates or
    /// the lists of ids of each query.
    fn rank(
        &self,
        py: Python,
        queries: Queries,
        gold: Vec<String>,
        names: Vec<String>,
        missing: &str,
        lists: Option<Vec<Vec<String>>>,
    ) -> PyResult<Ranks> {
        let missing: MissingGold = table("missing", missing)?;
        let member = self.member();
        self.work(py, || {
            let z = self.coordinates(&queries, true)?;
            let decoded = dsokr::decode::Queries::named(&names, member.candidates.dim(), &z)?;
            let decoded = match &queries {
                Queries::Texts(texts) => decoded.with_texts(texts)?,
                Queries::Rows(_) => decoded,
            };
            let lists = lists.map(|lists| lists_of(&member.candidates, &lists)).transpose()?;
            let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
            let model = Ensemble::one(decoded, &member.candidates, member.reranker.as_ref())?;
            Ranks::of_golds(&model, pool, &gold, missing)
        })
    }

    /// Returns the calibration of sets of candidates with a coverage, as JSON.
    fn calibration(&self, py: Python, coverage: f64, candidates: Option<&str>) -> PyResult<String> {
        let among = self.inner.rule_of_search(rule(candidates)?.as_ref());
        let among = among.map_err(Failure::from)?;
        json(&self.work(py, || self.sets(coverage, among.as_ref()))?.calibration)
    }

    /// Returns an answer as JSON for each text or row: its best `k` candidates, or with `coverage` the set that holds a right
    /// output with this probability, and what else the configuration predicts.
    ///
    /// `candidates` is `mass:PPM`, `formula` or `all`, and `filter` a condition on candidates.
    fn search(
        &self,
        py: Python,
        queries: Queries,
        k: usize,
        coverage: Option<f64>,
        candidates: Option<&str>,
        filter: Option<&str>,
    ) -> PyResult<Vec<String>> {
        let run = &self.inner;
        let filter: Option<Filter> = filter.map(str::parse).transpose().map_err(Failure::from)?;
        if let (Some(coverage), Some(_)) = (coverage, &filter) {
            let allowed = "absent, with a filter: sets of candidates are measured among all";
            let error = Error::value(Argument::new("coverage"), coverage, allowed);
            return Err(Failure::from(error).into());
        }
        let among = run.rule_of_search(rule(candidates)?.as_ref());
        let among = among.map_err(Failure::from)?;
        let among = among.as_ref();
        if queries.len() == 0 {
            return Ok(Vec::new());
        }
        let read = |member: &Member| queries.read(member, 0..queries.len());
        let answers = self.work(py, || match coverage {
            None => {
                let alone = Processes::default();
                let wanted = filter.map(|filter| run.wanted(&alone, &filter)).transpose()?;
                run.answer_queries(&alone, read, among, wanted.as_ref(), k)
            }
            Some(coverage) => {
                let sets = self.sets(coverage, among)?;
                let queries = run.predict(&Processes::default(), read, among)?;
                let candidate_sets = run.candidate_sets(&queries, &sets, usize::MAX)?;
                Ok(candidate_sets.into_iter().map(|set| set.answer).collect())
            }
        })?;
        answers.iter().map(json).collect()
    }

    /// Returns the score of each pair of a text and a molecule, in their order; NaN for a molecule that cannot be read, where
    /// these are skipped.
    fn score(
        &self,
        py: Python,
        texts: Vec<String>,
        molecules: Vec<String>,
        skip: bool,
    ) -> PyResult<Vec<f64>> {
        let on_bad_row = if skip { OnBadRow::Skip } else { OnBadRow::Stop };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let molecules: Vec<&str> = molecules.iter().map(String::as_str).collect();
        let scores = self.work(py, || self.inner.score(&texts, &molecules, on_bad_row))?;
        Ok(scores.into_iter().map(|score| score.unwrap_or(f64::NAN)).collect())
    }

    /// Ranks the queries of a split or a file, with the coordinates that are given or predicted ones.
    #[expect(clippy::too_many_arguments)]
    fn evaluate(
        &self,
        py: Python,
        split: Option<&str>,
        queries: Option<PathBuf>,
        query_id: Option<String>,
        filter_known: bool,
        candidates: Option<String>,
        least_candidates: Option<usize>,
        missing_gold: Option<&str>,
        mces: bool,
        data: Option<PathBuf>,
        coordinates: Option<MatrixView<f32>>,
    ) -> PyResult<Evaluation> {
        let split = split.map(str::parse).transpose().map_err(Failure::from)?;
        let candidates = candidates.map(|rule| rule.parse()).transpose();
        let candidates = candidates.map_err(Failure::from)?;
        let missing_gold = missing_gold.map(|rule| table("missing_gold", rule)).transpose()?;
        let request = QueryRequest {
            file: queries,
            split,
            split_use: SplitUse::Evaluation,
            query_id,
            filter_known,
            candidates,
            least_candidates,
            missing_gold,
            mces,
            data,
        };
        let members = self.inner.members().len();
        if coordinates.is_some() && members > 1 {
            let found = format!("given, for {members} members");
            let error = Error::value("coordinates", found, "a run of one model");
            return Err(Failure::from(error).into());
        }
        let given = coordinates.as_ref().map(|given| numbers(given, "coordinates")).transpose()?;
        self.work(py, || {
            let queries =
                request.predict(&Processes::default(), &self.inner, |member, split| {
                    let Some((values, shape)) = &given else { return member.coordinates(split) };
                    let expected = [split.inputs.len(), member.candidates.dim()];
                    if *shape == expected {
                        Ok(values.to_vec())
                    } else {
                        let found = format!("an array of shape {shape:?}");
                        let allowed = format!("one of shape {expected:?}");
                        Err(Error::value("coordinates", found, allowed))
                    }
                })?;
            let caution = match &request.file {
                Some(_) => self.inner.caution_of_learned(&queries)?,
                None => request.split.and_then(|split| self.inner.caution_about(split)),
            };
            Evaluation::from_predictions(&self.inner, &queries, caution)
        })
    }
}

/// Texts, or the rows of a matrix.
#[derive(FromPyObject)]
enum Queries {
    Rows(Py<Rows>),
    Texts(Vec<String>),
}

impl Queries {
    fn len(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.get().source().len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    /// Returns some of them as a member reads them.
    fn read(&self, member: &Member, chosen: std::ops::Range<usize>) -> Result<Split, Error> {
        match self {
            Self::Texts(texts) => {
                member.texts(&texts[chosen].iter().map(String::as_str).collect::<Vec<_>>())
            }
            Self::Rows(rows) => {
                let ids = vec![String::new(); chosen.len()];
                let outputs = vec![None; chosen.len()];
                let rows = rows.get().source().select(&chosen.collect::<Vec<_>>())?;
                Ok(Split::new(ids, Inputs::Vectors(rows.into()), outputs))
            }
        }
    }
}
