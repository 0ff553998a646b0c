use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::tables;
use crate::Scores;
use dsokr_data::SplitName;

/// The metrics of a split, of chance, and of perfect h.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The split.
    pub split: SplitName,
    /// The model's metrics.
    #[serde(flatten)]
    pub metrics: Scores,
    /// 95 % intervals of the model's metrics, `[low, high]`, by a bootstrap over queries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// The metrics of a uniformly random order of the candidates; for molecules, of one candidate
    /// drawn for each query.
    pub chance: Scores,
    /// *Perfect h*: the metrics of ψ̃(y) instead of the model's prediction, those of a model that meets every
    /// target exactly (thesis, section 5.3). A model can have better ones. None if outputs are not sketched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perfect_h: Option<Scores>,
    /// Number of rows that were skipped of each file of the data, where `data.on_bad_row` is `"skip"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped_rows: BTreeMap<String, usize>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let mut rows = vec![("model", &self.metrics)];
        rows.extend(self.perfect_h.iter().map(|scores| ("perfect h", scores)));
        rows.push(("chance", &self.chance));
        let counts = tables::counts(&self.split.to_string(), &self.metrics);
        write!(out, "{counts}\n{}", tables::metrics(&rows))?;
        if !self.skipped_rows.is_empty() {
            let files = self.skipped_rows.iter().map(|(file, rows)| format!("{rows} of {file}"));
            let files: Vec<String> = files.collect();
            writeln!(out, "skipped rows: {}", files.join(", "))?;
        }
        Ok(())
    }
}
