//! Advice after a training: what the data, the metrics and the log say about the configuration.

mod data;
mod ensemble;
mod fit;
mod sketch;

use dsokr_data::Dataset;
use dsokr_train::LogLine;

use crate::config::Checked;
use crate::run_dir::Report;
use crate::{Choice, Error, Scores};

pub(crate) use ensemble::{Member, of_ensemble};
pub(crate) use sketch::larger_sketch;

/// What advice is given on.
pub(crate) struct Evidence<'a> {
    pub config: &'a Checked,
    pub dataset: &'a Dataset,
    pub report: &'a Report,
    /// The values that the fit chose from lists.
    pub choices: &'a [Choice],
    /// The evaluations of a training by steps.
    pub log: &'a [LogLine<Scores>],
    /// Finds the predicted and the true output of each query of the report.
    pub predictions: &'a dyn Fn() -> Result<Vec<(String, String)>, Error>,
    /// Finds the sketch size at which perfect h is good enough.
    pub larger_sketch: &'a dyn Fn() -> Result<Option<LargerSketch>, Error>,
}

/// A larger sketch, and perfect h of it.
pub(crate) struct LargerSketch {
    pub size: usize,
    pub perfect_h: f64,
}

/// A line of advice; none if it does not apply.
type Rule = fn(&Evidence) -> Result<Option<String>, Error>;

/// All rules, in the order of their lines.
const RULES: [Rule; 8] = [
    fit::one_output_or_worse_than_chance,
    fit::low_ceiling,
    fit::edge_of_grid,
    fit::still_learning,
    data::shared_between_splits,
    data::empty_texts,
    data::packed_bits,
    data::duplicate_candidates,
];

/// The advice that applies, a line each.
pub(crate) fn advice(evidence: &Evidence) -> Result<Vec<String>, Error> {
    RULES.iter().filter_map(|rule| rule(evidence).transpose()).collect()
}
