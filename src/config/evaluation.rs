use dsokr_data::{SplitName, check_inside};
use dsokr_decode::MissingGold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check;
use crate::{Error, Metric};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationConfig {
    /// The split whose metrics `train` prints at the end.
    pub split: SplitName,
    /// A query whose gold is not among its candidates.
    pub missing_gold: MissingGold,
    /// JSON lines `{"query": id, "candidates": [id, …]}`: each query is ranked against its own
    /// list. Left out, all queries share all candidates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<String>,
    /// Queries encoded at once.
    pub batch: usize,
    /// The figure of the validation split that chooses: the best checkpoint, λ, weights.
    pub metric: Metric,
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        Self {
            split: SplitName::Validation,
            missing_gold: MissingGold::Error,
            candidates: None,
            batch: 64,
            metric: Metric::default(),
        }
    }
}

impl EvaluationConfig {
    pub(super) fn validate(&self) -> Result<(), Error> {
        check(self.batch > 0, "evaluation.batch", self.batch, "at least 1")?;
        self.candidates
            .as_ref()
            .map_or(Ok(()), |file| Ok(check_inside("evaluation.candidates", file)?))
    }
}
