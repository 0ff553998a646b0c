//! Candidate sets that hold a right output with a given probability (split conformal prediction).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use dsokr_basis::random::{generator, shuffle};
use dsokr_data::config::DataSource;
use dsokr_data::{Split, SplitName};
use dsokr_decode::{Combination, MissingGold, Pool};
use serde::Serialize;

use super::{Answer, EnsembleRun, QueryAnswers, Run};
use crate::Error;
use crate::candidate_rule::CandidateRule;
use crate::config::KernelMachineConfig;
use crate::error::ensure;
use crate::evaluation::{Models, QueryTexts};
use crate::run_dir::{HELD_OUT, HELD_OUT_PART};

/// The first distinct candidates of a query, which its scores are compared with.
const FIRST: usize = 100;

/// The share of the calibrating queries that the temperature is fitted to.
const TEMPERED: usize = 5;

/// A query whose right outputs are known.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratingQuery {
    /// The scores of its first distinct candidates, descending: at most 100.
    pub first: Vec<f32>,
    /// The score of its best right output; none where none is a candidate.
    pub gold: Option<f32>,
}

impl CalibratingQuery {
    /// `τ log Σ_c exp(s(c) / τ)` over its first candidates.
    fn level(first: &[f32], temperature: f64) -> f64 {
        let best = f64::from(first.first().copied().unwrap_or(f32::NEG_INFINITY));
        let sum: f64 = first.iter().map(|&own| ((f64::from(own) - best) / temperature).exp()).sum();
        best + temperature * sum.ln()
    }

    /// How far the right output's score is below `τ log Σ_c exp(s(c) / τ)` of the first candidates; ∞ where it is no
    /// candidate.
    pub fn distance(&self, temperature: f64) -> f64 {
        self.gold
            .map_or(f64::INFINITY, |gold| Self::level(&self.first, temperature) - f64::from(gold))
    }

    /// The logarithm of the right output's probability among the first candidates, and itself if it is none of them.
    fn log_likelihood(&self, temperature: f64) -> Option<f64> {
        let (gold, last) = (self.gold?, self.first.last().copied()?);
        let below = gold < last;
        let first: Vec<f32> = self.first.iter().copied().chain(below.then_some(gold)).collect();
        Some((f64::from(gold) - Self::level(&first, temperature)) / temperature)
    }
}

/// Which candidates are in the set of a query: those whose score is at most `threshold` below
/// `τ log Σ_c exp(s(c) / τ)`, the sum over the query's first 100 distinct candidates, and always the best one.
///
/// This is split conformal prediction with the probability of a softmax of temperature τ as the score (Sadinle, Lei and
/// Wasserman 2019; Angelopoulos and Bates 2023, section 1). A drawn fifth of the calibrating queries chooses τ, by maximum
/// likelihood (Guo et al. 2017). Of the other n, the threshold is the ⌈(n + 1) · coverage⌉-th smallest distance of the right
/// output. For queries that are exchangeable with these, the distance is at most the threshold with at least this
/// probability, and with at most 1/(n + 1) more where distances do not tie, on average over calibrating and new queries. The
/// best candidate of sets that would be empty adds to it: no set holds less than the share of right first candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateSets {
    /// The temperature τ.
    pub temperature: f64,
    /// The largest distance below the level.
    pub threshold: f64,
    /// What it was calibrated on.
    pub calibration: Calibration,
}

/// What candidate sets were calibrated on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Calibration {
    /// The probability that a set holds a right output.
    pub coverage: f64,
    /// Which queries: `validation`, `held-out answers` to training inputs, or a file.
    pub on: String,
    /// Their number.
    pub queries: usize,
    /// Why their coverage may differ from that of new queries, such as that λ was chosen on them; absent where nothing
    /// is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// Queries to calibrate on, and what is known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratingQueries {
    /// The queries.
    pub queries: Vec<CalibratingQuery>,
    /// As [`Calibration::on`].
    pub on: String,
    /// As [`Calibration::caution`].
    pub caution: Option<String>,
}

impl CalibratingQueries {
    /// The sets with this coverage; `seed` draws the queries that the temperature is fitted to.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::Value`] for a coverage that is not between 0 and 1, or that so many queries, or so many whose
    /// right output is a candidate, cannot give.
    pub fn sets(&self, coverage: f64, seed: u64) -> Result<CandidateSets, Error> {
        let holds = coverage > 0.0 && coverage < 1.0;
        ensure(holds, "coverage", coverage, "a number between 0 and 1")?;
        let mut order: Vec<&CalibratingQuery> = self.queries.iter().collect();
        shuffle(&mut order, &mut generator(seed, "coverage", 0));
        let (tempering, others) = order.split_at(order.len() / TEMPERED);
        let temperature = temperature(tempering);
        let mut distances: Vec<f64> =
            others.iter().map(|query| query.distance(temperature)).collect();
        distances.sort_by(f64::total_cmp);
        let n = distances.len();
        let place = ((n + 1) as f64 * coverage - 1e-9).ceil() as usize;
        let found = distances.iter().filter(|distance| distance.is_finite()).count();
        let (all, on) = (self.queries.len(), &self.on);
        let allowed = format_args!(
            "at most {:.4}: of the {n} queries that calibrate, {found} have a right output among the candidates ({on}, \
             {all} queries, of which a fifth is for the temperature)",
            found as f64 / (n + 1) as f64
        );
        ensure(place <= found, "coverage", coverage, allowed)?;
        let threshold = distances[place.max(1) - 1];
        let (on, caution) = (on.clone(), self.caution.clone());
        let calibration = Calibration { coverage, on, queries: all, caution };
        Ok(CandidateSets { temperature, threshold, calibration })
    }
}

/// The likeliest of temperatures around the mean distance of the first candidates from the best.
fn temperature(queries: &[&CalibratingQuery]) -> f64 {
    let apart = |query: &&CalibratingQuery| {
        let best = f64::from(query.first.first().copied().unwrap_or_default());
        let sum: f64 = query.first.iter().map(|&own| best - f64::from(own)).sum();
        sum / query.first.len().max(1) as f64
    };
    let scale = queries.iter().map(apart).sum::<f64>() / queries.len().max(1) as f64;
    if scale <= 0.0 || !scale.is_finite() {
        return 1.0;
    }
    let likelihood = |temperature: f64| -> f64 {
        queries.iter().filter_map(|query| query.log_likelihood(temperature)).sum()
    };
    let tried = (-12..=4).map(|half| scale * (0.5 * f64::from(half)).exp2());
    let tried = tried.map(|temperature| (likelihood(temperature), temperature));
    tried.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(scale, |(_, temperature)| temperature)
}

impl CandidateSets {
    /// Whether the set of a calibrating query holds its right output.
    pub fn hold(&self, query: &CalibratingQuery) -> bool {
        let is_best =
            query.gold.zip(query.first.first().copied()).is_some_and(|(gold, best)| gold >= best);
        is_best || query.distance(self.temperature) <= self.threshold
    }

    /// How many of a query's distinct candidates with these scores, descending, are in its set.
    pub fn size(&self, scores: &[f32]) -> usize {
        let level = CalibratingQuery::level(&scores[..scores.len().min(FIRST)], self.temperature);
        let inside = |score: f32| level - f64::from(score) <= self.threshold;
        scores.partition_point(|&score| inside(score)).max(1).min(scores.len())
    }
}

/// A set of candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateSet {
    /// The answer, with the candidates of the set as its hits.
    pub answer: Answer,
    /// Whether these are all.
    pub whole: bool,
}

/// The queries that candidate sets were last calibrated on, with what they depend on: the four last ones.
#[derive(Default)]
pub(super) struct Calibrations(Mutex<Vec<(Calibrated, Arc<CalibratingQueries>)>>);

/// The rule of the ensemble, the file of the queries, the rule for their candidates, and the root of the data.
type Calibrated = (Combination, Option<PathBuf>, Option<CandidateRule>, Option<PathBuf>);

impl EnsembleRun {
    /// Sets of candidates with this coverage, calibrated on [`calibrating_queries`](Self::calibrating_queries), which are
    /// kept for the next calls.
    ///
    /// # Errors
    /// As [`calibrating_queries`](Self::calibrating_queries) and [`CalibratingQueries::sets`].
    pub fn sets(
        &self,
        coverage: f64,
        file: Option<&Path>,
        among: Option<&CandidateRule>,
        data: Option<&Path>,
    ) -> Result<CandidateSets, Error> {
        let (file, data) = (file.map(Path::to_path_buf), data.map(Path::to_path_buf));
        let key = (self.rule.clone(), file, among.cloned(), data);
        // held meanwhile: others wait for the same answers
        let mut known = self.calibrations.0.lock().unwrap_or_else(PoisonError::into_inner);
        let queries = match known.iter().find(|(own, _)| *own == key) {
            Some((_, queries)) => Arc::clone(queries),
            None => {
                let (_, file, among, data) = &key;
                let read =
                    self.calibrating_queries(file.as_deref(), among.as_ref(), data.as_deref());
                let read = Arc::new(read?);
                known.truncate(3);
                known.insert(0, (key, Arc::clone(&read)));
                read
            }
        };
        drop(known);
        queries.sets(coverage, self.config().seed)
    }

    /// Queries to calibrate candidate sets on, among all candidates or those that a rule gives each: those of a `file`, a
    /// table with the right outputs; else the validation split of the run's data; else, where there is none, the held-out
    /// answers to training inputs that the run keeps (`decoding.held_out`). A file of lists has theirs too.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::Value`] where nothing is held out; errors of reading the data; a query without a list.
    pub fn calibrating_queries(
        &self,
        file: Option<&Path>,
        among: Option<&CandidateRule>,
        data: Option<&Path>,
    ) -> Result<CalibratingQueries, Error> {
        let config = self.config();
        let allowed = "absent: the predicted quantiles say it";
        let quantiles = config.encoder.abilities().levels.is_some();
        ensure(!quantiles, "coverage", "given, of a model of quantiles", allowed)?;
        let in_memory = matches!(config.data.source, DataSource::Memory(_));
        if file.is_none() && (in_memory || !config.data.has_validation()) {
            return self.held_out_queries(among, data);
        }
        let (on, chosen) = match file {
            Some(file) => (file.display().to_string(), Vec::new()),
            None => {
                let mut chosen =
                    self.members().iter().filter_map(|run| run.config.chosen_on_validation());
                let chosen =
                    chosen.next().map(|chosen| format!("{chosen} chosen on these queries"));
                ("validation".to_owned(), Vec::from_iter(chosen))
            }
        };
        let read = |run: &Run| match file {
            Some(file) => run.read_queries(file, None, data),
            None => run.read_split(SplitName::Validation, data),
        };
        let asked = self.ask(read, among)?;
        let caution = self.caution(chosen, file.is_none());
        Ok(CalibratingQueries { queries: self.calibrating(&asked)?, on, caution })
    }

    /// What is known of calibrating queries, and that weights may be fitted to them.
    fn caution(&self, mut known: Vec<String>, weighed: bool) -> Option<String> {
        if weighed && self.rule.weights().is_some() {
            known.push("the weights of the members may be fitted to them".into());
        }
        (!known.is_empty()).then(|| known.join(", and "))
    }

    /// Held-out answers as queries.
    fn held_out_queries(
        &self,
        among: Option<&CandidateRule>,
        data: Option<&Path>,
    ) -> Result<CalibratingQueries, Error> {
        let key = "coverage";
        let allowed = "absent, or a run with a validation split in files or with decoding.held_out, or a file of queries \
                       with their right outputs (the argument calibration)";
        let lacks = |run: &Run| {
            let has = |file| run.folder.as_ref().is_some_and(|own| own.join(file).exists());
            let own = run.config.decoding.second_look.is_some();
            let unseen =
                if own { has(HELD_OUT_PART) } else { run.look.is_none() || self.look_of.is_some() };
            !(has(HELD_OUT) && unseen)
        };
        let lacking = self.members().iter().find(|run| lacks(run)).map(|run| &run.name);
        let found = lacking.map(|name| format!("given, of {name}, for which nothing is held out"));
        ensure(found.is_none(), key, found.unwrap_or_default(), allowed)?;
        ensure(self.shards.is_none(), key, "given, of held-out answers and shards", allowed)?;
        let found = "given, of held-out answers";
        let held = self.held_out((key, found), |count| (0..count).collect())?;
        let lists = |rule: &CandidateRule| {
            let run = &self.members()[0];
            let train = run.read_split(SplitName::Train, data)?;
            let same = |(&pair, id): (&usize, &String)| train.ids.get(pair) == Some(id);
            let same = held.pairs.iter().zip(&held.split.ids).all(same);
            ensure(same, key, found, "absent: the data have other training pairs than the run")?;
            rule.lists(&train.select(&held.pairs)?, &run.candidates, &self.masses)
        };
        let lists = among.map(lists).transpose()?;
        let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
        let queries = held.models().calibrating(&held.split, &held.answers, pool)?;
        let mut known = vec![
            "each is answered by a model without it, in a basis that knows its output".to_owned(),
        ];
        let chosen = |run: &Run| {
            let machine = run.config.encoder.get::<KernelMachineConfig>();
            machine.is_some_and(|machine| machine.lambda.values().len() > 1)
        };
        if self.members().iter().any(chosen) {
            known.push("λ is chosen on all of them".into());
        }
        Ok(CalibratingQueries {
            queries,
            on: "held-out answers".into(),
            caution: self.caution(known, true),
        })
    }

    /// Queries whose right outputs are known, as candidate sets are calibrated on them.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn calibrating(&self, asked: &QueryAnswers) -> Result<Vec<CalibratingQuery>, Error> {
        self.models(None).calibrating(asked.split(), &asked.answers, asked.pool())
    }

    /// The candidate set of each of the queries that `read` reads for a member, among all candidates or those that a rule
    /// gives each, with at most `most` distinct candidates.
    ///
    /// # Errors
    /// As [`answer_queries`](Self::answer_queries).
    pub fn candidate_sets(
        &self,
        asked: &QueryAnswers,
        sets: &CandidateSets,
        most: usize,
    ) -> Result<Vec<CandidateSet>, Error> {
        // one more than may be shown says whether there are more
        let all = self.candidates().min(most.saturating_add(1)).max(FIRST);
        let mut looked = (2 * FIRST).min(all);
        loop {
            let answers = self.distinct(asked, 0..looked, None)?;
            let size = |answer: &Answer| {
                sets.size(&answer.hits.iter().map(|hit| hit.score).collect::<Vec<f32>>())
            };
            let sizes: Vec<usize> = answers.iter().map(size).collect();
            let open = sizes.iter().any(|&size| size >= looked);
            if !open || looked >= all {
                let set = |(mut answer, size): (Answer, usize)| {
                    let whole = size <= most;
                    answer.hits.truncate(size.min(most));
                    CandidateSet { answer, whole }
                };
                return Ok(answers.into_iter().zip(sizes).map(set).collect());
            }
            looked = looked.saturating_mul(4).min(all);
        }
    }
}

impl Models<'_> {
    /// The queries of a split with these answers of each model.
    fn calibrating(
        mut self,
        split: &Split,
        answers: &[Vec<f32>],
        pool: Pool,
    ) -> Result<Vec<CalibratingQuery>, Error> {
        // only of the candidates
        self.each.iter_mut().for_each(|(_, decoder)| decoder.search = None);
        let found = self.answers(split, answers, pool, 0..FIRST, None)?;
        let ensemble = self.ensemble(QueryTexts::of(split), answers)?;
        let missing = MissingGold::RankInfinity;
        let golds = self.rank_golds(&ensemble, split, answers, pool, missing)?;
        let query = |(answer, gold): (Answer, Option<f32>)| {
            let first = answer.hits.iter().map(|hit| hit.score).collect();
            CalibratingQuery { first, gold }
        };
        let golds = golds.decoded.into_iter().map(|query| query.gold_score);
        Ok(found.into_iter().zip(golds).map(query).collect())
    }
}
