//! Queries, the members' predictions for them, and their evaluation.

use std::collections::HashSet;
use std::path::PathBuf;

use dsokr_core::store::Tensor;
use dsokr_core::{Argument, Processes};
use dsokr_data::{Split, SplitName};
use dsokr_decode::{CandidateBlocks, Decoded, MissingGold, PerQuery, Pool, Reranker};

use super::{Member, Run, SplitUse, WantedCandidates};
use crate::config::candidate_rule::CandidateRule;
use crate::decoding::beyond::{BeyondSearch, Restrictions};
use crate::decoding::evaluation::{lists_fingerprint, measured_on};
use crate::error::{Error, ensure};
use crate::metrics::evaluation::{EvaluatedPool, Evaluation, connected_groups};
use crate::run_dir::{MeasuredOn, fingerprint_of};

/// Queries as each member reads them, with the members' predictions.
#[derive(derive_more::Debug)]
#[debug("PredictedQueries({} queries, {} models)", self.split().ids.len(), predictions.len())]
pub struct PredictedQueries {
    /// The queries as each member reads them; at least one.
    pub(super) splits: Vec<Split>,
    /// The candidates of each query, where queries do not share them.
    pub(super) lists: Option<PerQuery>,
    /// The rule that gave them; none where each query has all candidates.
    pub(super) rule: Option<CandidateRule>,
    /// What is doubtful about each query; empty where nothing is doubtful.
    pub(super) cautions: Vec<Vec<String>>,
    /// Whether no member knows any part of each query; empty where every query says something.
    pub(super) unknown: Vec<bool>,
    /// The predictions of each member, as they are scored.
    pub(super) predictions: Vec<Vec<f32>>,
    /// How queries are ranked whose right output is no candidate; by default as the configuration says.
    pub(super) missing_gold: Option<MissingGold>,
    /// Whether MCES at 1 is measured.
    mces: bool,
    /// The data root.
    pub(super) data: Option<PathBuf>,
    /// The processes that rank the candidates together.
    pub(super) processes: Processes,
}

impl PredictedQueries {
    /// Returns the queries as the first member reads them.
    pub fn split(&self) -> &Split {
        &self.splits[0]
    }

    /// Returns the group of each query, whose queries are not independent of one another by the configuration of a member or of
    /// several; empty where all are.
    pub(super) fn groups(&self) -> Vec<String> {
        connected_groups(self.splits.iter().map(|split| split.groups.as_slice()))
    }

    /// Returns the candidates of each query.
    pub fn pool(&self) -> Pool<'_> {
        self.lists.as_ref().map_or(Pool::Shared, Pool::PerQuery)
    }

    /// Returns the candidates of each query, which are among those of the run.
    fn evaluated_pool(&self, run: &Run) -> EvaluatedPool {
        let rule = self.rule.as_ref().unwrap_or(&CandidateRule::All).to_string();
        match &self.lists {
            Some(lists) => {
                let fingerprint = Some(lists_fingerprint(lists, &run.members[0].candidates));
                EvaluatedPool { rule, fingerprint, shared: None }
            }
            None => EvaluatedPool { rule, fingerprint: None, shared: run.shared_candidates() },
        }
    }

    /// Returns the fingerprints of what metrics of a run are measured on.
    pub(crate) fn measured_on(&self, run: &Run) -> Result<MeasuredOn, Error> {
        let shared = run.shared_candidates();
        measured_on(self.split(), self.pool(), &run.members[0].candidates, shared)
    }

    /// Creates queries that all members read as the same split, among all candidates, for this process alone.
    pub(super) fn from_split(split: Split, predictions: Vec<Vec<f32>>) -> Self {
        Self {
            splits: vec![split],
            lists: None,
            rule: None,
            cautions: Vec::new(),
            unknown: Vec::new(),
            predictions,
            missing_gold: None,
            mces: false,
            data: None,
            processes: Processes::default(),
        }
    }
}

/// The queries to rank, and the candidates among which each is ranked.
#[derive(Clone, Debug, Default)]
pub struct QueryRequest {
    /// A table of queries, with columns for id and text as in the run's configuration; by default a split of the run's
    /// data.
    pub file: Option<PathBuf>,
    /// The split of the run's data; by default `evaluation.split` of its configuration.
    pub split: Option<SplitName>,
    /// What the split is read for.
    pub split_use: SplitUse,
    /// The column of the table that names the query of each row; rows of one query are its right outputs.
    pub query_id: Option<String>,
    /// Whether outputs that training pairs give the same query, or the same text where queries have no ids, are left out
    /// of its candidates.
    pub filter_known: bool,
    /// The candidates of each query. By default, for a split, `evaluation.candidates` of the configuration, if given;
    /// else all candidates.
    pub candidates: Option<CandidateRule>,
    /// The least number of candidates that a query has in its list; queries with fewer are left out, such as those whose
    /// gold is the only molecule of its formula.
    pub least_candidates: Option<usize>,
    /// How queries are ranked whose right output is no candidate. By default as `evaluation.missing_gold` says, and as
    /// [`MissingGold::RankInfinity`] where outputs of a file that is not the run's are compared as what they are.
    pub missing_gold: Option<MissingGold>,
    /// Whether MCES at 1 is measured: the myopic MCES distance, with the threshold 15, of each query's first molecule from
    /// the right one, as MassSpecGym does.
    pub mces: bool,
    /// The data root; by default the folder of the data that each run was trained on, else the environment variable
    /// `DSOKR_DATA`, else `data/`.
    pub data: Option<PathBuf>,
}

impl QueryRequest {
    /// Returns the predictions of every member of a run for the queries, with the coordinates that `predict` gives, such as
    /// [`Member::coordinates`]. Each of several processes predicts the same; they evaluate the predictions together.
    ///
    /// # Errors
    /// As [`Run::predict_with`]; errors of reading the queries; [`dsokr_core::Error::Value`] for the training pairs of members that
    /// learn from different ones.
    pub fn predict(
        &self,
        processes: &Processes,
        run: &Run,
        predict: impl Fn(&Member, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<PredictedQueries, Error> {
        let data = self.data.as_deref();
        let name = self.split.unwrap_or(run.config().evaluation.split);
        if self.file.is_none() && name == SplitName::Train {
            run.check_same_pairs()?;
        }
        let read = |member: &Member| {
            let split = match &self.file {
                Some(file) => {
                    let query = self.query_id.as_deref();
                    member.read_queries_with(file, query, data, self.missing_gold)?
                }
                None => member.read_split_for(name, data, self.split_use)?,
            };
            // a search may find an output that is not a candidate
            let mut labels = Vec::new();
            if run.search.is_some() && split.truth.is_none() {
                labels = member.output_labels(&split, data)?;
            }
            let mut known = Vec::new();
            if self.filter_known {
                known = member.known_outputs(&split, data)?;
            }
            Ok(Split { known, labels, ..split })
        };
        let lists = match (&self.candidates, &self.file) {
            (Some(rule), _) => Some(rule.clone()),
            (None, None) => run.members()[0].candidate_rule(data)?,
            (None, Some(_)) => None,
        };
        let queries = run.predict_with(processes, read, lists.as_ref(), predict)?;
        if self.file.is_none() {
            let mut read = run.members().iter().zip(&queries.splits);
            let checked = read.try_for_each(|(member, split)| {
                member.check_measured(name, split, data, self.split_use)
            });
            processes.agree(checked)?;
        }
        let queries = PredictedQueries {
            missing_gold: self.missing_gold,
            mces: self.mces,
            data: self.data.clone(),
            ..queries
        };
        match self.least_candidates {
            Some(least) => queries.with_candidates(least),
            None => Ok(queries),
        }
    }

    /// Returns the request with the candidates that the configuration of a run gives each query, where it names none itself, so
    /// that other runs rank the same ones.
    ///
    /// # Errors
    /// As [`Member::candidate_rule`].
    pub fn with_candidates_of(&self, run: &Run) -> Result<Self, Error> {
        if self.candidates.is_some() || self.file.is_some() {
            return Ok(self.clone());
        }
        let rule = run.members()[0].candidate_rule(self.data.as_deref())?;
        Ok(Self { candidates: Some(rule.unwrap_or(CandidateRule::All)), ..self.clone() })
    }
}

impl PredictedQueries {
    /// Returns the queries that have at least so many candidates in their lists.
    fn with_candidates(self, least: usize) -> Result<Self, Error> {
        let key = || Argument::new("least-candidates");
        let allowed = "absent: queries share their candidates";
        let lists = self.lists.as_ref().ok_or_else(|| Error::value(key(), least, allowed))?;
        let rows: Vec<usize> =
            (0..lists.len()).filter(|&query| lists.list(query).len() >= least).collect();
        let allowed = "a number of candidates that some query has";
        ensure(!rows.is_empty(), key(), least, allowed)?;
        let mut splits = Vec::new();
        let mut predictions = Vec::new();
        for (split, z) in self.splits.iter().zip(&self.predictions) {
            let width = z.len() / lists.len();
            splits.push(split.select(&rows)?);
            let kept = rows.iter().flat_map(|&row| &z[row * width..][..width]);
            predictions.push(kept.copied().collect());
        }
        let cautions = rows.iter().filter_map(|&row| self.cautions.get(row).cloned()).collect();
        let unknown = rows.iter().filter_map(|&row| self.unknown.get(row).copied()).collect();
        let lists = Some(lists.select(&rows));
        Ok(Self { splits, lists, cautions, unknown, predictions, ..self })
    }
}

impl Run {
    /// Returns the predictions of every member for the queries that `read` reads for it, with all
    /// candidates or with those that the rule `lists` gives each. Of several processes, which all ask the same, each
    /// predicts; they rank the candidates together. [`Processes::default`] is this process alone.
    ///
    /// # Errors
    /// As [`Member::coordinates`]; errors of `read`; a rule that does not hold for the queries.
    pub fn predict(
        &self,
        processes: &Processes,
        read: impl Fn(&Member) -> Result<Split, Error>,
        lists: Option<&CandidateRule>,
    ) -> Result<PredictedQueries, Error> {
        self.predict_with(processes, read, lists, Member::coordinates)
    }

    /// Predicts queries as [`predict`](Self::predict) does, with the coordinates that the function `predict` gives for each member.
    ///
    /// # Errors
    /// Errors of `read` and `predict`; a split whose lists do not have one length ([`Split::check`]); a rule that does not hold
    /// for the queries; coordinates that are not finite.
    pub fn predict_with(
        &self,
        processes: &Processes,
        read: impl Fn(&Member) -> Result<Split, Error>,
        lists: Option<&CandidateRule>,
        predict: impl Fn(&Member, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<PredictedQueries, Error> {
        if let Some(rule) = lists
            && let Some(_) = &self.shards
        {
            let allowed = "absent: queries cannot have lists of candidates that are in shards";
            return Err(Error::value("candidates", rule, allowed));
        }
        let predicted = || {
            let splits = self.members.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
            for split in &splits {
                split.check()?;
            }
            self.check_same_queries(&splits)?;
            let candidates = &self.members[0].candidates;
            let assumed = self.members[0].polarities.assumed();
            let list =
                |rule: &CandidateRule| rule.lists(&splits[0], candidates, &self.masses, assumed);
            let rule = lists;
            let lists = rule.map(list).transpose()?.flatten();
            let unknown = self.unknown(&splits)?;
            let cautions = self.cautions(&splits[0], &unknown, rule, lists.as_ref());
            let mut predictions = Vec::new();
            for (member, split) in self.members.iter().zip(&splits) {
                let z = predict(member, split)?;
                predictions.push(member.config.decoding.scaled(&z, member.candidates.dim())?);
            }
            Ok(PredictedQueries {
                splits,
                lists,
                rule: rule.cloned(),
                cautions,
                unknown,
                predictions,
                missing_gold: None,
                mces: false,
                data: None,
                processes: processes.clone(),
            })
        };
        let queries = processes.agree::<_, Error>(predicted())?;
        if processes.size() > 1 {
            // ranks that differ in a bit would count other candidates as above or tied
            let predictions = queries.predictions.iter();
            let tensors: Vec<Tensor> =
                predictions.map(|z| Tensor::f32("predictions", &[z.len()], z)).collect();
            let checksum = fingerprint_of("predictions", &tensors);
            processes.check_same("predictions' checksum", &checksum)?;
        }
        Ok(queries)
    }

    /// Refuses the training pairs of members that learn from different ones, which each draws.
    fn check_same_pairs(&self) -> Result<(), Error> {
        let first = &self.members[0].config;
        for member in &self.members[1..] {
            let config = &member.config;
            let same = config.data.draws_as(config.seed, &first.data, first.seed);
            let allowed = format_args!(
                "validation or test: the member {} learns from other pairs than the first one, as its data.limit, data.corrupted \
                 or their seed is another; evaluate a member by itself",
                member.name
            );
            ensure(same, Argument::new("split"), SplitName::Train, allowed)?;
        }
        Ok(())
    }

    /// Refuses members that have read different queries.
    fn check_same_queries(&self, splits: &[Split]) -> Result<(), Error> {
        let Some((first, others)) = splits.split_first() else { return Ok(()) };
        let count = first.ids.len();
        let query = |split: &Split, at: usize| match split.ids.get(at) {
            Some(id) => format!("{:?} with the output {id:?}", split.names()[at]),
            None => "missing".to_owned(),
        };
        for (member, other) in self.members[1..].iter().zip(others) {
            // a table may name its rows by numbers for one member and by ids for another
            let ours: HashSet<&String> = first.names().iter().collect();
            let are_named_alike = other.names().iter().any(|name| ours.contains(name));
            let names = first.names().iter().zip(other.names());
            let ids = first.ids.iter().zip(&other.ids);
            let is_other = |((a, b), (c, d)): ((&String, &String), (&String, &String))| {
                (are_named_alike && a != b) || c != d
            };
            let differs = names.zip(ids).position(is_other);
            let at = differs.unwrap_or(count.min(other.ids.len()));
            let name = &member.name;
            let found = format!("query {at} is {}", query(other, at));
            let allowed = format!(
                "{}, as for the first member: give all members the same data, and where rows are drawn the same \
                 data.splits.seed",
                query(first, at)
            );
            let same = differs.is_none() && other.ids.len() == count;
            ensure(same, format_args!("the queries of the member {name}"), found, allowed)?;
        }
        Ok(())
    }

    /// Returns queries with the coordinates `z`, `[queries × p]` row-major, that a different program has predicted.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for several members, each of which has its own coordinates.
    pub fn with_coordinates(
        &self,
        processes: &Processes,
        queries: usize,
        z: &[f32],
    ) -> Result<PredictedQueries, Error> {
        let key = "coordinates";
        let count = self.members.len();
        let found = format_args!("given, for {count} members");
        ensure(count == 1, key, found, "a run of one model")?;
        let reads_texts = self.members[0].reranker.as_ref().is_some_and(Reranker::reads_texts);
        let allowed = "texts: the reranker of the run compares them with candidates";
        ensure(!reads_texts, key, "given", allowed)?;
        let read = |_: &Member| {
            let ids = (0..queries).map(|query| format!("coordinates[{query}]")).collect();
            Ok(Split { ids, ..Split::texts(vec![String::new(); queries]) })
        };
        self.predict_with(processes, read, None, |_, _| Ok(z.to_vec()))
    }

    /// Returns the evaluation of the ensemble on queries, under its rule.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's; a rule that is not valid
    /// for them.
    pub fn evaluate(
        &self,
        queries: &PredictedQueries,
    ) -> Result<(Evaluation, Vec<Decoded>), Error> {
        let first = &self.members[0];
        let fitted = first.fitted()?;
        let held = first.held(queries.data.as_deref())?;
        let mut models = self.models(&queries.processes);
        models.missing_gold = queries.missing_gold;
        models.mces = queries.mces;
        models.restrictions = self.restrictions(models.search, queries, None)?;
        let decoder = &mut models.each[0].1;
        (decoder.fitted, decoder.held) = (fitted.as_ref(), held.as_deref());
        let pool = queries.pool();
        let (mut evaluation, decoded) =
            models.evaluate(queries.split(), &queries.predictions, pool)?;
        evaluation.pool = Some(queries.evaluated_pool(self));
        evaluation.groups = queries.groups();
        Ok((evaluation, decoded))
    }

    /// Returns the evaluation of each member by itself, on the queries as it reads them.
    ///
    /// # Errors
    /// As [`Run::evaluate`](crate::Run::evaluate); lists that name a candidate which a member lacks.
    pub fn evaluate_members(&self, queries: &PredictedQueries) -> Result<Vec<Evaluation>, Error> {
        let first = &self.members[0].candidates;
        let data = queries.data.as_deref();
        let missing = queries.missing_gold;
        let members = self.members.iter().zip(&queries.splits).zip(&queries.predictions);
        let evaluate = |((member, split), z): ((&Member, &Split), &Vec<f32>)| match queries.pool() {
            // lists hold places, which differ where members order their candidates differently
            Pool::PerQuery(lists) if !member.candidates.ids().eq(first.ids()) => {
                let lists = lists.moved(first, &member.candidates)?;
                member.evaluate(split, z, Pool::PerQuery(&lists), data, missing)
            }
            Pool::PerQuery(_) | Pool::Shared => {
                member.evaluate(split, z, queries.pool(), data, missing)
            }
        };
        members.map(evaluate).collect()
    }

    /// Returns what the molecules have that a `search`, if there is one, finds for queries: what the rule for each query's
    /// candidates leaves, and where candidates are `wanted` by a filter what it asks of molecules.
    ///
    /// # Errors
    /// Queries that the rule does not read.
    pub(super) fn restrictions(
        &self,
        search: Option<&BeyondSearch>,
        queries: &PredictedQueries,
        wanted: Option<&WantedCandidates>,
    ) -> Result<Restrictions, Error> {
        let Some(search) = search else { return Ok(Restrictions::default()) };
        let first = &self.members()[0];
        let rules = match &queries.rule {
            Some(rule) => rule.molecules(queries.split(), first.polarities.assumed())?,
            None => Vec::new(),
        };
        let mut filter = wanted.map(|wanted| wanted.filter().of_found(wanted.each()));
        // where no other molecule can pass, nothing is searched
        if let Some(filter) = &mut filter
            && filter.reads_columns()
            && filter.may_hold()
        {
            filter.wanted_labels = search.labels(&first.candidates, &filter.wanted);
        }
        Ok(Restrictions { rules, filter })
    }
}
