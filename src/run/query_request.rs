use std::path::PathBuf;

use dsokr_data::{Split, SplitName};

use super::{EnsembleRun, QueryAnswers, Run};
use crate::Error;

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
