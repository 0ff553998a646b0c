use std::fmt;

use serde::{Deserialize, Serialize};

use super::tables;
use crate::Scores;
use dsokr_data::SplitName;

/// The metrics of a split beside what chance gives and what the sketch allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The split.
    pub split: SplitName,
    /// The model's metrics.
    #[serde(flatten)]
    pub metrics: Scores,
    /// A uniformly random order of the candidates; of molecules, one candidate drawn for each query.
    pub chance: Scores,
    /// *Perfect h*: the metrics with ψ̃(y) in the place of the model's answer, the ceiling that the
    /// sketch allows (thesis, section 5.3). None where outputs are not sketched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perfect_h: Option<Scores>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let mut rows = vec![("model", &self.metrics)];
        rows.extend(self.perfect_h.iter().map(|scores| ("perfect h", scores)));
        rows.push(("chance", &self.chance));
        let counts = tables::counts(&self.split.to_string(), &self.metrics);
        write!(out, "{counts}\n{}", tables::metrics(&rows))
    }
}
