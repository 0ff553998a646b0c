//! What the predictions of one model are decoded with.

use dsokr_decode::{Candidates, Pool, Queries, SecondLook};

use crate::config::Checked;
use crate::exact::{ExactDecoder, PredictedOutput};
use crate::targets::OutputSpace;
use crate::{Error, expected_f1};

/// What answers are decoded with.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    /// What is ranked.
    pub candidates: &'a Candidates,
    /// The second look at the first of them.
    pub look: Option<&'a SecondLook>,
    /// What candidates and predictions are points of, where it is known.
    pub space: Option<&'a OutputSpace>,
    /// The configuration of the model.
    pub config: &'a Checked,
    /// Finds the predicted outputs, where they need not be candidates.
    pub exact: Option<&'a ExactDecoder<'a>>,
}

impl Decoder<'_> {
    /// The predicted output of each query where it need not be a candidate: the best of all outputs, or the
    /// label set with the largest expected F1. None where it is the first candidate.
    pub fn beyond(
        &self,
        queries: &Queries,
        pool: Pool,
    ) -> Result<Option<Vec<PredictedOutput>>, Error> {
        let features = &self.config.output.features;
        match (self.exact, &self.config.decoding.expected_f1) {
            (Some(exact), _) => exact.best(queries).map(Some),
            (None, Some(settings)) => {
                expected_f1::best(settings, features, queries, self.candidates, pool).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    /// The predicted outputs, as the column of outputs writes them: those [beyond](Self::beyond) the
    /// candidates, or the `first` candidate of each query.
    pub fn predicted(
        &self,
        queries: &Queries,
        pool: Pool,
        first: impl Iterator<Item = usize>,
    ) -> Result<Vec<String>, Error> {
        match self.beyond(queries, pool)? {
            Some(found) => Ok(found.into_iter().map(|found| found.label).collect()),
            None => {
                Ok(first.map(|candidate| self.candidates.label(candidate).to_owned()).collect())
            }
        }
    }
}
