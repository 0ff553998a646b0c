//! Queries that candidate sets of a run are calibrated on, and the sets of others.

use std::path::Path;
use std::sync::Arc;

use dsokr_core::{Argument, Processes};
use dsokr_data::SplitName;
use dsokr_data::config::DataSource;
use dsokr_decode::{IndependentQueries, MissingGold, RankedHits};

use super::coverage::{CalibratingQueries, CalibratingQuery, CandidateSet, CandidateSets, FIRST};
use super::held_out::Reason;
use super::{Answer, Member, PredictedQueries, Run, SplitUse};
use crate::config::candidate_rule::CandidateRule;
use crate::decoding::answer::distinct_hits;
use crate::decoding::evaluation::Models;
use crate::error::{Error, ensure};
use crate::run_dir::{HELD_OUT, UNSEEN_RERANKER};

impl Run {
    /// Returns sets of candidates with this coverage, calibrated on [`calibrating_queries`](Self::calibrating_queries), which are
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
        let queries = match self.calibrations.find(&key) {
            Some(queries) => queries,
            None => {
                let read = Arc::new(self.calibrating_queries(processes, file, among, data)?);
                self.calibrations.keep(key, &read);
                read
            }
        };
        queries.sets(coverage, self.config().seed)
    }

    /// Returns queries to calibrate candidate sets on, among all candidates or those that a rule gives each: those of a `file`, a
    /// table with the right outputs; else the validation split of the run's data; else, where there is none, the held-out
    /// predictions for training inputs that the run keeps (`decoding.held_out`). A file of lists has theirs too. Right
    /// outputs that are not candidates count as missed.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] where nothing is held out, and for outputs that are numbers; errors of reading the data; a
    /// query without a list.
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
        let numbers = config.output.features.are_numbers();
        let allowed = "absent: the number of a new row is a candidate by accident only; a kernel machine whose \
                       encoder.solver.loss is pinball predicts quantiles of a number, and a few numbers that recur can be \
                       classes (output.features.kind)";
        ensure(!numbers, "coverage", "given, of a model of numbers", allowed)?;
        let in_memory = matches!(config.data.source, DataSource::Memory(_));
        if file.is_none() && (in_memory || !config.data.has_validation()) {
            return self.unseen_calibration(among, data);
        }
        let (on, mut reasons) = match file {
            Some(file) => (file.display().to_string(), Vec::new()),
            None => {
                let mut chosen =
                    self.members().iter().filter_map(|member| member.config.chosen_on_validation());
                let chosen =
                    chosen.next().map(|chosen| format!("{chosen} chosen on these queries"));
                ("validation".to_owned(), Vec::from_iter(chosen))
            }
        };
        let read = |member: &Member| match file {
            Some(file) => {
                member.read_queries_with(file, None, data, Some(MissingGold::RankInfinity))
            }
            None => member.read_split_for(SplitName::Validation, data, SplitUse::Calibration),
        };
        let queries = self.predict(processes, read, among)?;
        if file.is_some() {
            reasons.extend(self.caution_of_groups(&queries));
        }
        let caution = self.caution(reasons, file.is_none());
        let groups = queries.groups();
        Ok(CalibratingQueries { queries: self.calibrating(&queries)?, groups, on, caution })
    }

    /// Returns a warning for these reasons why coverage may differ for new queries, and because weights may be fitted to the
    /// calibrating ones.
    fn caution(&self, mut reasons: Vec<String>, weighed: bool) -> Option<String> {
        if weighed && self.rule.weights().is_some() {
            reasons.push("the weights of the members may be fitted to them".into());
        }
        (!reasons.is_empty()).then(|| reasons.join(", and "))
    }

    /// Calibrates on training pairs with their held-out predictions.
    fn unseen_calibration(
        &self,
        among: Option<&CandidateRule>,
        data: Option<&Path>,
    ) -> Result<CalibratingQueries, Error> {
        self.check_unseen()?;
        let reason = Reason { key: "coverage", value: "given, of held-out predictions" };
        let mut unseen = self.unseen_queries(reason, |count| (0..count).collect())?;
        if let Some(rule) = among {
            let member = &self.members()[0];
            let train = member.read_split(SplitName::Train, data)?;
            let ids = &unseen.queries.split().ids;
            let is_same = |(&pair, id): (&usize, &String)| train.ids.get(pair) == Some(id);
            let same = unseen.pairs.iter().zip(ids).all(is_same);
            let allowed = "absent: the data have other training pairs than the run";
            ensure(same, reason.key, reason.value, allowed)?;
            let assumed = member.polarities.assumed();
            let pairs = train.select(&unseen.pairs)?;
            unseen.queries.lists = rule.lists(&pairs, &member.candidates, &self.masses, assumed)?;
        }
        let queries = unseen.models().calibrating(&unseen.queries)?;
        let groups = unseen.queries.groups();
        let has_groups = IndependentQueries::new(queries.len(), &groups)?.count() < queries.len();
        let left_out = if has_groups { "its group" } else { "it" };
        let mut reasons = vec![format!(
            "each is predicted by a model without {left_out}, in a basis that knows its output"
        )];
        let chosen = |member: &Member| member.config.encoder.abilities().chosen_on_held_out;
        if let Some(chosen) = self.members().iter().find_map(chosen) {
            reasons.push(format!("{chosen} chosen on all of them"));
        }
        Ok(CalibratingQueries {
            queries,
            groups,
            on: "held-out predictions".into(),
            caution: self.caution(reasons, true),
        })
    }

    /// Refuses a run with a member for which nothing is held out, and one in shards.
    fn check_unseen(&self) -> Result<(), Error> {
        let key = "coverage";
        let lacks = |member: &Member| {
            let has =
                |file| member.folder.as_ref().is_some_and(|folder| folder.join(file).exists());
            // what a reranker lacks is told where it is read
            let unseen = if member.has_reranker() {
                member.config.decoding.held_out || has(UNSEEN_RERANKER)
            } else {
                member.reranker.is_none() || self.reranker_of.is_some()
            };
            !(has(HELD_OUT) && unseen)
        };
        if let Some(member) = self.members().iter().find(|member| lacks(member)) {
            let value = format!("given, of {}, for which nothing is held out", member.name);
            let calibration = Argument::new("calibration");
            let allowed = format_args!(
                "absent, or a run with a validation split in files or with decoding.held_out, or a file of queries with \
                 their right outputs ({calibration})"
            );
            return Err(Error::value(key, value, allowed));
        }
        let value = "given, of held-out predictions and shards";
        ensure(self.shards.is_none(), key, value, "absent, or candidates in one file")
    }

    /// Returns queries whose right outputs are known, as candidate sets are calibrated on them.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn calibrating(&self, queries: &PredictedQueries) -> Result<Vec<CalibratingQuery>, Error> {
        self.models(&queries.processes).calibrating(queries)
    }

    /// Returns the candidate set of each query, with at most `most` distinct candidates. Nothing is searched beyond the
    /// candidates.
    ///
    /// # Errors
    /// As [`answer_queries`](Self::answer_queries).
    pub fn candidate_sets(
        &self,
        queries: &PredictedQueries,
        sets: &CandidateSets,
        most: usize,
    ) -> Result<Vec<CandidateSet>, Error> {
        // one more than may be shown says whether there are more
        let all = self.candidates().min(most.saturating_add(1)).max(FIRST);
        let mut looked = (2 * FIRST).min(all);
        loop {
            // the scores of molecules beyond the candidates are not calibrated
            let answers = self.answers_by(None, queries, 0..looked, None)?;
            let scores = |answer: &Answer| answer.hits.iter().map(|hit| hit.score).collect();
            let scores: Vec<Vec<f32>> = answers.iter().map(scores).collect();
            let sizes: Vec<usize> = scores.iter().map(|scores| sets.size(scores)).collect();
            let open = sizes.iter().any(|&size| size >= looked);
            if !open || looked >= all {
                let caution = |scores: &Vec<f32>| Vec::from_iter(sets.caution(scores));
                let cautions: Vec<Vec<String>> = scores.iter().map(caution).collect();
                self.log_cautions(&cautions, queries.split().names());
                let set = |((mut answer, size), cautions): ((Answer, usize), Vec<String>)| {
                    let whole = size <= most;
                    answer.hits.truncate(size.min(most));
                    answer.cautions.extend(cautions);
                    CandidateSet { answer, whole }
                };
                return Ok(answers.into_iter().zip(sizes).zip(cautions).map(set).collect());
            }
            looked = looked.saturating_mul(4).min(all);
        }
    }
}

impl Models<'_> {
    /// Returns queries to calibrate on, with these predictions of each model.
    fn calibrating(&self, queries: &PredictedQueries) -> Result<Vec<CalibratingQuery>, Error> {
        let split = queries.split();
        let pool = queries.pool();
        let ensemble = self.ensemble(split, &queries.predictions)?;
        let ranked = distinct_hits(&ensemble, &self.rule, pool, 0..FIRST, None)?.queries;
        let missing = MissingGold::RankInfinity;
        let golds = self.rank_golds(&ensemble, split, &queries.predictions, pool, missing)?;
        let query = |(ranked, gold): (RankedHits, Option<f32>)| {
            let first = ranked.hits.iter().map(|hit| hit.score).collect();
            CalibratingQuery { first, gold }
        };
        let golds = golds.decoded.into_iter().map(|query| query.gold_score);
        Ok(ranked.into_iter().zip(golds).map(query).collect())
    }
}
