//! The report on a trained run, and where it comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::tables;
use crate::config::Checked;
use crate::run_files::{METRICS, read_json};
use crate::{Error, Scores};
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

/// A report with the training that it is of: the contents of `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The seed of the configuration.
    pub seed: u64,
    /// The version of the program that evaluated the run.
    pub version: String,
    /// When it did: UTC, ISO 8601, to the second.
    pub date: String,
    /// The fingerprint of the resolved configuration ([`Checked::fingerprint`]). Runs of equal
    /// configurations have equal ones.
    pub fingerprint: String,
    /// The report.
    #[serde(flatten)]
    pub report: Report,
}

impl Record {
    /// The record of the run directory, of a model or an ensemble; none where it has not been evaluated.
    ///
    /// # Errors
    /// A file that cannot be read or holds something else.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        read_json(&folder.join(METRICS))
    }

    /// The record of a report that is made now.
    pub(crate) fn now(config: &Checked, report: &Report) -> Result<Self, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            seed: config.seed,
            version: env!("CARGO_PKG_VERSION").into(),
            date: date(now.as_secs()),
            fingerprint: config.fingerprint()?,
            report: report.clone(),
        })
    }
}

/// The date of a number of seconds after the start of 1970, in the proleptic Gregorian calendar.
fn date(seconds: u64) -> String {
    // years start in March, so that the leap day is their last one; 719,468 days before 1970
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (era * 400 + year, month + 3),
        _ => (era * 400 + year + 1, month - 9),
    };
    let time = seconds % 86_400;
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }
}
