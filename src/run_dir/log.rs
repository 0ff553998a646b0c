//! The lines of `log.jsonl`.

use dsokr_train::LogLine;
use serde::{Deserialize, Serialize};

use crate::metrics::metric::Metric;
use crate::metrics::scores::Scores;

/// The line of `log.jsonl` of a model without steps, such as a kernel machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SolvedLine {
    /// 0: there are no steps.
    step: u64,
    /// 0.
    epoch: u64,
    /// True: there is one evaluation.
    best: bool,
    /// Seconds that the fit took.
    pub seconds: f64,
    /// Metrics of the validation split.
    pub metrics: Scores,
}

impl SolvedLine {
    /// Creates the line of a fit that took `seconds`.
    pub fn new(seconds: f64, metrics: Scores) -> Self {
        Self { step: 0, epoch: 0, best: true, seconds, metrics }
    }
}

/// A line of `log.jsonl`.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum LoggedLine {
    Steps(LogLine<Scores>),
    Solved(SolvedLine),
}

impl LoggedLine {
    /// Returns the line of a training by steps.
    pub(super) fn of_steps(self) -> Option<LogLine<Scores>> {
        match self {
            Self::Steps(line) => Some(line),
            Self::Solved(_) => None,
        }
    }

    /// Returns the seconds that the training or the fit has taken.
    pub(super) fn seconds(&self) -> f64 {
        match self {
            Self::Steps(line) => line.seconds,
            Self::Solved(line) => line.seconds,
        }
    }
}

/// Returns the metrics of the validation split as scalars.
pub(super) fn validation_scalars(scores: &Scores) -> impl Iterator<Item = (String, f64)> {
    Metric::measured_in(scores)
        .map(|(metric, value)| (format!("validation/{}", metric.name()), value))
}
