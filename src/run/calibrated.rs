//! Queries that candidate sets of a run are calibrated on, and the sets of others.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use dsokr_core::{Argument, Processes};
use dsokr_data::config::DataSource;
use dsokr_data::{Split, SplitName};
use dsokr_decode::{MissingGold, Pool, RankedHits};

use super::coverage::{CalibratingQueries, CalibratingQuery, CandidateSet, CandidateSets, FIRST};
use super::{Answer, Member, QueryAnswers, Run};
use crate::config::candidate_rule::CandidateRule;
use crate::decoding::answer::distinct;
use crate::decoding::evaluation::Models;
use crate::error::{Error, ensure};
use crate::run_dir::{HELD_OUT, HELD_OUT_PART};

impl Run {
    /// Sets of candidates with this coverage, calibrated on [`calibrating_queries`](Self::calibrating_queries), which are
    /// kept for the next calls.
    ///
    /// # Errors
    /// As [`calibrating_queries`](Self::calibrating_queries) and [`CalibratingQueries::sets`].
    pub fn sets(
        &self,
        processes: &Processes,
        coverage: f64,
        file: Option<&Path>,
        among: Option<&CandidateRule>,
        data: Option<&Path>,
    ) -> Result<CandidateSets, Error> {
        let paths = [file, data].map(|path| path.map(Path::to_path_buf));
        let key = (self.rule.clone(), among.cloned(), paths);
        // held meanwhile: others wait for the same answers
        let mut known = self.calibrations.0.lock().unwrap_or_else(PoisonError::into_inner);
        let queries = match known.iter().find(|(own, _)| *own == key) {
            Some((_, queries)) => Arc::clone(queries),
            None => {
                let read = Arc::new(self.calibrating_queries(processes, file, among, data)?);
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
    /// [`dsokr_core::Error::Value`] where nothing is held out; errors of reading the data; a query without a list.
    pub fn calibrating_queries(
        &self,
        processes: &Processes,
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
        let read = |run: &Member| match file {
            Some(file) => run.read_queries(file, None, data),
            None => run.read_split(SplitName::Validation, data),
        };
        let asked = self.ask(processes, read, among)?;
        let caution = self.caution(chosen, file.is_none());
        Ok(CalibratingQueries { queries: self.calibrating(&asked)?, on, caution })
    }

    /// A warning that calibrating queries are known, and that weights may be fitted to them.
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
        let calibration = Argument::new("calibration");
        let allowed = format_args!(
            "absent, or a run with a validation split in files or with decoding.held_out, or a file of queries with \
             their right outputs ({calibration})"
        );
        let lacks = |run: &Member| {
            let has = |file| run.folder.as_ref().is_some_and(|own| own.join(file).exists());
            let own = run.config.decoding.reranker.is_some();
            let unseen = if own {
                has(HELD_OUT_PART)
            } else {
                run.reranker.is_none() || self.reranker_of.is_some()
            };
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
            let assumed = run.polarities.assumed();
            rule.lists(&train.select(&held.pairs)?, &run.candidates, &self.masses, assumed)
        };
        let lists = among.map(lists).transpose()?.flatten();
        let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
        let queries = held.models().calibrating(&held.split, &held.answers, pool)?;
        let mut known = vec![
            "each is answered by a model without it, in a basis that knows its output".to_owned(),
        ];
        let chosen = |run: &Member| run.config.encoder.abilities().chosen_on_held_out;
        if let Some(chosen) = self.members().iter().find_map(chosen) {
            known.push(format!("{chosen} chosen on all of them"));
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
        self.models(&asked.processes).calibrating(asked.split(), &asked.answers, asked.pool())
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
        &self,
        split: &Split,
        answers: &[Vec<f32>],
        pool: Pool,
    ) -> Result<Vec<CalibratingQuery>, Error> {
        let ensemble = self.ensemble(split, answers)?;
        let (found, _) = distinct(&ensemble, &self.rule, pool, 0..FIRST, None)?;
        let missing = MissingGold::RankInfinity;
        let golds = self.rank_golds(&ensemble, split, answers, pool, missing)?;
        let query = |(found, gold): (RankedHits, Option<f32>)| {
            let first = found.hits.iter().map(|hit| hit.score).collect();
            CalibratingQuery { first, gold }
        };
        let golds = golds.decoded.into_iter().map(|query| query.gold_score);
        Ok(found.into_iter().zip(golds).map(query).collect())
    }
}
