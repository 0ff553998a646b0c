//! Queries, the members' predictions for them, and their evaluation.

use std::path::PathBuf;

use dsokr_core::store::Tensor;
use dsokr_core::{Argument, Processes};
use dsokr_data::{Split, SplitName};
use dsokr_decode::{CandidateBlocks, Decoded, PerQuery, Pool, Reranker};

use super::{Member, Run};
use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::metrics::scores::Evaluation;
use crate::run_dir::fingerprint_of;

/// Queries as each member reads them, with the members' predictions.
pub struct QueryAnswers {
    /// At least one.
    pub(super) splits: Vec<Split>,
    pub(super) lists: Option<PerQuery>,
    /// What is doubtful about each query; empty where nothing is known of any.
    pub(super) cautions: Vec<Vec<String>>,
    /// As they are scored.
    pub(super) answers: Vec<Vec<f32>>,
    /// Whether MCES at 1 is measured.
    mces: bool,
    /// The data root.
    data: Option<PathBuf>,
    /// The processes that have asked, and rank the candidates together.
    pub(super) processes: Processes,
}

impl QueryAnswers {
    /// The queries as the first member reads them.
    pub fn split(&self) -> &Split {
        &self.splits[0]
    }

    /// The candidates of each query.
    pub fn pool(&self) -> Pool<'_> {
        self.lists.as_ref().map_or(Pool::Shared, Pool::PerQuery)
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
    /// Whether MCES at 1 is measured: the myopic MCES distance, with the threshold 15, of each query's first molecule from
    /// the right one, as MassSpecGym does.
    pub mces: bool,
    /// The data root; by default the folder of the data that each run was trained on, else the environment variable
    /// `DSOKR_DATA`, else `data/`.
    pub data: Option<PathBuf>,
}

impl QueryRequest {
    /// The predictions of every run for the queries, with the coordinates that `predict` gives, such as
    /// [`Member::coordinates`]. Of several processes, which all ask the same, each predicts, and evaluations of the
    /// answers are shared.
    ///
    /// # Errors
    /// As [`Run::ask_with`], and those of reading the queries.
    pub fn ask(
        &self,
        processes: &Processes,
        runs: &Run,
        predict: impl Fn(&Member, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        let data = self.data.as_deref();
        let name = self.split.unwrap_or(runs.config().evaluation.split);
        let read = |run: &Member| {
            let split = match &self.file {
                Some(file) => run.read_queries(file, self.query_id.as_deref(), data)?,
                None => run.read_split(name, data)?,
            };
            // a search may find an output that is not a candidate
            let labels = match (runs.search.is_some(), &split.truth) {
                (true, None) => run.output_labels(&split, data)?,
                (true, Some(_)) | (false, _) => Vec::new(),
            };
            let known =
                if self.filter_known { run.known_outputs(&split, data)? } else { Vec::new() };
            Ok(Split { known, labels, ..split })
        };
        let lists = match (&self.candidates, &self.file) {
            (Some(rule), _) => Some(rule.clone()),
            (None, None) => runs.members()[0].candidate_rule(data)?,
            (None, Some(_)) => None,
        };
        let asked = runs.ask_with(processes, read, lists.as_ref(), predict)?;
        let asked = QueryAnswers { mces: self.mces, data: self.data.clone(), ..asked };
        match self.least_candidates {
            Some(least) => asked.with_candidates(least),
            None => Ok(asked),
        }
    }
}

impl QueryAnswers {
    /// The queries with at least so many candidates of their own.
    fn with_candidates(self, least: usize) -> Result<Self, Error> {
        let key = || Argument::new("least-candidates");
        let allowed = "absent: queries share their candidates";
        let lists = self.lists.as_ref().ok_or_else(|| Error::value(key(), least, allowed))?;
        let rows: Vec<usize> =
            (0..lists.len()).filter(|&query| lists.list(query).len() >= least).collect();
        let allowed = "a number of candidates that some query has";
        ensure(!rows.is_empty(), key(), least, allowed)?;
        let of_rows = |(split, z): (&Split, &Vec<f32>)| {
            let width = z.len() / lists.len();
            let answers = rows.iter().flat_map(|&row| &z[row * width..][..width]).copied();
            Ok((split.select(&rows)?, answers.collect()))
        };
        let kept = self.splits.iter().zip(&self.answers).map(of_rows);
        let (splits, answers) = kept.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        let cautions = rows.iter().filter_map(|&row| self.cautions.get(row).cloned()).collect();
        Ok(Self { splits, lists: Some(lists.select(&rows)), cautions, answers, ..self })
    }
}

impl Run {
    /// The predictions of every member for the queries that `read` reads for it, with all
    /// candidates or with those that the rule `lists` gives each. Of several processes, which all ask the same, each
    /// predicts; they rank the candidates together. [`Processes::default`] is this process alone.
    ///
    /// # Errors
    /// As [`Member::coordinates`]; errors of `read`; a rule that does not hold for the queries.
    pub fn ask(
        &self,
        processes: &Processes,
        read: impl Fn(&Member) -> Result<Split, Error>,
        lists: Option<&CandidateRule>,
    ) -> Result<QueryAnswers, Error> {
        self.ask_with(processes, read, lists, Member::coordinates)
    }

    /// The same with the coordinates that `predict` gives in the place of each member's own.
    ///
    /// # Errors
    /// Errors of `read` and `predict`; a rule that does not hold for the queries; coordinates that are not finite.
    pub fn ask_with(
        &self,
        processes: &Processes,
        read: impl Fn(&Member) -> Result<Split, Error>,
        lists: Option<&CandidateRule>,
        predict: impl Fn(&Member, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        if let Some(rule) = lists
            && let Some(_) = &self.shards
        {
            let allowed =
                "absent: queries have candidates of their own where these are in no shards";
            return Err(Error::value("candidates", rule, allowed));
        }
        let ask = || {
            let splits = self.members.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
            let candidates = &self.members[0].candidates;
            let assumed = self.members[0].polarities.assumed();
            let list =
                |rule: &CandidateRule| rule.lists(&splits[0], candidates, &self.masses, assumed);
            let rule = lists;
            let lists = rule.map(list).transpose()?.flatten();
            let cautions = self.cautions(&splits[0], rule, lists.as_ref());
            let answer = |(run, split): (&Member, &Split)| {
                let z = predict(run, split)?;
                run.config.decoding.scaled(&z, run.candidates.dim())
            };
            let answers = self.members.iter().zip(&splits).map(answer);
            let answers = answers.collect::<Result<Vec<_>, Error>>()?;
            let processes = processes.clone();
            Ok(QueryAnswers {
                splits,
                lists,
                cautions,
                answers,
                mces: false,
                data: None,
                processes,
            })
        };
        let asked = processes.agree::<_, Error>(ask())?;
        if processes.size() > 1 {
            // ranks that differ in a bit would count other candidates as above or tied
            let answers = asked.answers.iter();
            let tensors: Vec<Tensor> =
                answers.map(|z| Tensor::f32("answers", &[z.len()], z)).collect();
            let checksum = fingerprint_of("answers", &tensors);
            processes.check_same("answers' checksum", &checksum)?;
        }
        Ok(asked)
    }

    /// The predictions for coordinates `[queries × p]` that were made elsewhere.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for several members, which have coordinates of their own.
    pub fn ask_coordinates(
        &self,
        processes: &Processes,
        queries: usize,
        z: &[f32],
    ) -> Result<QueryAnswers, Error> {
        let key = "coordinates";
        let count = self.members.len();
        let found = format_args!("given, for {count} members");
        ensure(count == 1, key, found, "a run of one model")?;
        let words = self.members[0].reranker.as_ref().and_then(Reranker::words);
        let allowed = "texts: the reranker of the run compares their words with candidates";
        ensure(words.is_none(), key, "given", allowed)?;
        let read = |_: &Member| Ok(Split::texts(vec![String::new(); queries]));
        self.ask_with(processes, read, None, |_, _| Ok(z.to_vec()))
    }

    /// The evaluation of the ensemble on queries, under its rule.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's; a rule that is not valid
    /// for them.
    pub fn evaluate(&self, asked: &QueryAnswers) -> Result<(Evaluation, Vec<Decoded>), Error> {
        let first = &self.members[0];
        let fitted = first.fitted()?;
        let held = first.held(asked.data.as_deref())?;
        let mut models = self.models(&asked.processes);
        models.mces = asked.mces;
        let decoder = &mut models.each[0].1;
        (decoder.fitted, decoder.held) = (fitted.as_ref(), held.as_ref());
        models.evaluate(asked.split(), &asked.answers, asked.pool())
    }

    /// The evaluation of each member by itself, on the queries as it reads them.
    ///
    /// # Errors
    /// As [`Run::evaluate`](crate::Run::evaluate); lists that name a candidate which a member lacks.
    pub fn evaluate_members(&self, asked: &QueryAnswers) -> Result<Vec<Evaluation>, Error> {
        let first = &self.members[0].candidates;
        let data = asked.data.as_deref();
        let own = |((run, split), z): ((&Member, &Split), &Vec<f32>)| match asked.pool() {
            // lists hold places, which differ where members order their candidates differently
            Pool::PerQuery(lists) if !run.candidates.ids().eq(first.ids()) => {
                let lists = lists.moved(first, &run.candidates)?;
                run.judge(split, z, Pool::PerQuery(&lists), data)
            }
            Pool::PerQuery(_) | Pool::Shared => run.judge(split, z, asked.pool(), data),
        };
        self.members.iter().zip(&asked.splits).zip(&asked.answers).map(own).collect()
    }
}
