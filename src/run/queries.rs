//! Queries, the members' predictions for them, and their evaluation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dsokr_basis::Processes;
use dsokr_basis::store::{Contents, Tensor};
use dsokr_data::{Split, SplitName};
use dsokr_decode::{CandidateBlocks, Decoded, PerQuery, Pool};

use super::{EnsembleRun, Run};
use crate::Error;
use crate::scores::Evaluation;

/// Queries as each member reads them, with the members' predictions.
pub struct QueryAnswers {
    /// At least one.
    pub(super) splits: Vec<Split>,
    pub(super) lists: Option<PerQuery>,
    /// As they are scored.
    pub(super) answers: Vec<Vec<f32>>,
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

/// Which queries are asked, and among which candidates they are ranked.
#[derive(Clone, Debug, Default)]
pub struct QueryRequest {
    /// A file of queries, in the layout of the run's own data; none for a split of them.
    pub file: Option<PathBuf>,
    /// The split, where no file is named; none for that which the configuration evaluates.
    pub split: Option<SplitName>,
    /// The column of the file that names the query of each row.
    pub query_id: Option<String>,
    /// Whether outputs that training pairs give a query are left out of its candidates.
    pub filter_known: bool,
    /// A file of candidate lists; none for that of the configuration for a split, and for all candidates else.
    pub candidates: Option<PathBuf>,
    /// The data root; none for that of the training.
    pub data: Option<PathBuf>,
}

impl QueryRequest {
    /// The predictions of every run for the queries, with the coordinates that `predict` gives, such as
    /// [`Run::coordinates`].
    ///
    /// # Errors
    /// As [`EnsembleRun::ask_with`], and those of reading the queries.
    pub fn ask(
        &self,
        runs: &EnsembleRun,
        predict: impl Fn(&Run, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        let data = self.data.as_deref();
        let name = self.split.unwrap_or(runs.config().evaluation.split);
        let read = |run: &Run| {
            let split = match &self.file {
                Some(file) => run.read_queries(file, self.query_id.as_deref(), data)?,
                None => run.read_split(name, data)?,
            };
            let known = match self.filter_known {
                true => run.known_outputs(&split, data)?,
                false => Vec::new(),
            };
            Ok(Split { known, ..split })
        };
        let lists = match (&self.candidates, &self.file) {
            (Some(file), _) => Some(file.clone()),
            (None, None) => runs.members()[0].candidate_lists(data)?,
            (None, Some(_)) => None,
        };
        runs.ask_with(read, lists.as_deref(), predict)
    }
}

impl EnsembleRun {
    /// The predictions of every member for the queries that `read` reads for it, with all
    /// candidates or with the lists in the file `lists`.
    ///
    /// # Errors
    /// As [`Run::coordinates`]; errors of `read`; a file of lists that cannot be read.
    pub fn ask(
        &self,
        read: impl Fn(&Run) -> Result<Split, Error>,
        lists: Option<&Path>,
    ) -> Result<QueryAnswers, Error> {
        self.ask_with(read, lists, Run::coordinates)
    }

    /// The same with the coordinates that `predict` gives in the place of each member's own.
    ///
    /// # Errors
    /// Errors of `read` and `predict`; a file of lists that cannot be read; coordinates that are not
    /// finite.
    pub fn ask_with(
        &self,
        read: impl Fn(&Run) -> Result<Split, Error>,
        lists: Option<&Path>,
        predict: impl Fn(&Run, &Split) -> Result<Vec<f32>, Error>,
    ) -> Result<QueryAnswers, Error> {
        if let (Some(file), Some(_)) = (lists, &self.shards) {
            let allowed = "absent: queries have lists where candidates are in no shards";
            return Err(Error::value("lists of candidates", file.display(), allowed));
        }
        let ask = || {
            let splits = self.members.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
            let candidates = &self.members[0].candidates;
            let list = |file| PerQuery::read(file, splits[0].names(), candidates);
            let lists = lists.map(list).transpose()?;
            let answer = |(run, split): (&Run, &Split)| {
                let z = predict(run, split)?;
                Ok(run.config.decoding.scaled(&z, run.candidates.dim())?.into_owned())
            };
            let answers = self.members.iter().zip(&splits).map(answer);
            let answers = answers.collect::<Result<Vec<_>, Error>>()?;
            Ok(QueryAnswers { splits, lists, answers })
        };
        let ranks = Processes::current();
        let asked = ranks.agree::<_, Error>(ask())?;
        if ranks.size() > 1 {
            // ranks that differ in a bit would count other candidates as above or tied
            let answers = asked.answers.iter();
            let tensors: Vec<Tensor> =
                answers.map(|z| Tensor::f32("answers", &[z.len()], z)).collect();
            let checksum = Contents::new("answers", 1, &BTreeMap::new(), &tensors).checksum();
            ranks.check_same("answers' checksum", &checksum)?;
        }
        Ok(asked)
    }

    /// The predictions for coordinates `[queries × p]` that were made elsewhere.
    ///
    /// # Errors
    /// [`Error::Value`] for several members, each of which has coordinates of its own.
    pub fn ask_coordinates(&self, queries: usize, z: &[f32]) -> Result<QueryAnswers, Error> {
        if self.members().len() > 1 {
            let found = format!("given, for {} members", self.members().len());
            return Err(Error::value("coordinates", found, "a run of one model"));
        }
        let look = self.members()[0].look.as_ref();
        if look.is_some_and(|look| look.words().is_some()) {
            let allowed = "texts: the second look of the run compares their words with candidates";
            return Err(Error::value("coordinates", "given", allowed));
        }
        let read = |_: &Run| Ok(Split::texts(vec![String::new(); queries]));
        self.ask_with(read, None, |_, _| Ok(z.to_vec()))
    }

    /// The evaluation of the ensemble on queries, under its rule.
    ///
    /// # Errors
    /// Members whose candidates or queries differ from the first one's; a rule that is not valid
    /// for them.
    pub fn evaluate(&self, asked: &QueryAnswers) -> Result<(Evaluation, Vec<Decoded>), Error> {
        let exact = self.members[0].exact()?;
        let models = self.models(exact.as_ref());
        models.evaluate(asked.split(), &asked.answers, asked.pool())
    }

    /// The evaluation of each member by itself, on the queries as it reads them.
    ///
    /// # Errors
    /// As [`Run::evaluate`]; lists that name a candidate which a member lacks.
    pub fn evaluate_members(&self, asked: &QueryAnswers) -> Result<Vec<Evaluation>, Error> {
        let first = &self.members[0].candidates;
        let own = |((run, split), z): ((&Run, &Split), &Vec<f32>)| match asked.pool() {
            // lists hold places, which differ where members order their candidates differently
            Pool::PerQuery(lists) if !run.candidates.ids().eq(first.ids()) => {
                let lists = lists.moved(first, &run.candidates)?;
                run.judge(split, z, Pool::PerQuery(&lists))
            }
            Pool::PerQuery(_) | Pool::Shared => run.judge(split, z, asked.pool()),
        };
        self.members.iter().zip(&asked.splits).zip(&asked.answers).map(own).collect()
    }
}
