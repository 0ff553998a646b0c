//! The report on a trained run, and the record that `metrics.json` holds of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dsokr_data::SplitName;
use dsokr_decode::PoolSizes;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::metrics_table::metrics_table;
use super::{METRICS, check_format, read_json};
use crate::config::Checked;
use crate::error::Error;
use crate::metrics::evaluation::SharedCandidates;
use crate::metrics::queries::queries_text;
use crate::metrics::scores::{OutputScores, Scores};

/// The metrics of a split, of chance, and of perfect h.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The split.
    pub split: SplitName,
    /// The model's metrics.
    #[serde(flatten)]
    pub metrics: Scores,
    /// Number of the groups of queries that belong together, which intervals draw whole; none where each query is by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// 95 % intervals of the model's metrics, `[low, high]`, by a bootstrap over queries, or over groups of them
    /// that belong together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// The metrics of a uniformly random order of the candidates; for molecules, graphs, label sets and rankings of one
    /// candidate drawn for each query; for numbers and classes of the constants that fit the training outputs best.
    pub chance: Scores,
    /// *Perfect h*: the metrics of ψ̃(y) instead of the model's prediction, those of a model that meets every
    /// target exactly (thesis, section 5.3). A model can have better ones. None if outputs are not sketched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perfect_h: Option<Scores>,
    /// Why the metrics are too good: something is chosen on the queries that they are of. None where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Number of rows that were skipped of each file of the data, where `data.on_bad_row` is `"skip"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped_rows: BTreeMap<String, usize>,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let mut rows = vec![("model", &self.metrics)];
        rows.extend(self.perfect_h.iter().map(|scores| ("perfect h", scores)));
        rows.push(("chance", &self.chance));
        let counts = counts_line(&self.split.to_string(), &self.metrics);
        write!(out, "{counts}\n{}", metrics_table(&rows))?;
        if let Some(caution) = &self.caution {
            writeln!(out, "{caution}")?;
        }
        if !self.skipped_rows.is_empty() {
            let files = self.skipped_rows.iter().map(|(file, rows)| format!("{rows} of {file}"));
            let files: Vec<String> = files.collect();
            writeln!(out, "skipped rows: {}", files.join(", "))?;
        }
        Ok(())
    }
}

impl Report {
    /// Returns the candidates that queries are ranked against, in words.
    pub fn candidates_text(&self) -> String {
        candidates_text(&self.metrics)
    }
}

/// A report with the training that it is of: the contents of `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The seed of the configuration.
    pub seed: u64,
    /// The version of the program that evaluated the run.
    pub version: String,
    /// The time of the evaluation: UTC, ISO 8601, to the second.
    pub date: String,
    /// The fingerprint of the resolved configuration ([`Checked::fingerprint`]). Runs of equal
    /// configurations have equal ones.
    pub fingerprint: String,
    /// The fingerprints of what the metrics are measured on.
    #[serde(flatten)]
    pub measured_on: MeasuredOn,
    /// What the training has learned from.
    #[serde(flatten)]
    pub learned_from: LearnedFrom,
    /// The report.
    #[serde(flatten)]
    pub report: Report,
}

/// The fingerprints of what metrics are measured on, and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredOn {
    /// The queries with the ids of their right outputs, and their lists of candidates.
    #[serde(rename = "measured_on")]
    pub queries: String,
    /// The right outputs as what they are: molecules, graphs, labels, classes, rankings or numbers. None where they are not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_outputs: Option<String>,
    /// The candidates that all queries share; none where each has a list of its own.
    #[serde(rename = "ranked_among", default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<SharedCandidates>,
    /// Number of pairs of the queries: as many as a query has right outputs.
    #[serde(rename = "measured_pairs")]
    pub pairs: usize,
}

/// What a training has learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedFrom {
    /// Number of training pairs; of an ensemble that of the member with the fewest.
    #[serde(rename = "trained_pairs")]
    pub pairs: usize,
    /// The tables, by their names: CRC-32 of the files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, String>,
}

/// Returns the tables that have another checksum `now` than those that a run has learned from. A table that is gone or cannot be
/// read now is not among them: reading it says what is wrong.
pub(crate) fn changed_tables<'l>(
    learned: &'l BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> impl Iterator<Item = &'l str> {
    let is_other =
        |&(table, sum): &(&String, &String)| now.get(table).is_some_and(|now| now != sum);
    learned.iter().filter(is_other).map(|(table, _)| table.as_str())
}

impl Record {
    /// Returns the record of the run directory, of a model or an ensemble; none where it has not been evaluated.
    ///
    /// # Errors
    /// A run of another format; a file that cannot be read or holds something else.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        check_format(folder)?;
        read_json(&folder.join(METRICS))
    }

    /// Creates the record of a report that is made now.
    pub(crate) fn now(
        config: &Checked,
        report: &Report,
        measured_on: MeasuredOn,
        learned_from: LearnedFrom,
    ) -> Result<Self, Error> {
        Ok(Self {
            seed: config.seed,
            version: env!("CARGO_PKG_VERSION").into(),
            date: date(SystemTime::now()),
            fingerprint: config.fingerprint()?,
            measured_on,
            learned_from,
            report: report.clone(),
        })
    }
}

/// The last second of the year 9999 since 1970.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// Returns a time in UTC to the second, as RFC 3339 writes it, which has the years 1970 to 9999. Where the clock is wrong beyond
/// these it is the nearest of them.
fn date(now: SystemTime) -> String {
    let shown = now.clamp(UNIX_EPOCH, UNIX_EPOCH + LAST);
    let date = humantime::format_rfc3339_seconds(shown).to_string();
    if shown != now {
        warn!(
            "the clock of this machine is before 1970 or after 9999; the record's date is {date}"
        );
    }
    date
}

/// Returns the numbers of candidates, in words.
fn candidates_text(scores: &Scores) -> String {
    match scores.candidates_per_query {
        None => {
            format!("{} candidates ({} duplicates)", scores.candidates, scores.duplicate_candidates)
        }
        Some(PoolSizes { least, most, .. }) if least == most => format!(
            "{least} candidates each (in all {}, {} duplicates)",
            scores.candidates, scores.duplicate_candidates
        ),
        Some(PoolSizes { least, median, most }) => format!(
            "{least} to {most} candidates each (median {median}; in all {}, {} duplicates)",
            scores.candidates, scores.duplicate_candidates
        ),
    }
}

/// Returns one line of text with the numbers of queries and candidates.
pub fn counts_line(split: &str, scores: &Scores) -> String {
    let candidates = candidates_text(scores);
    let queries = queries_text(scores.queries);
    let tied = queries_text(scores.tied_queries);
    let mut line = format!("{split}: {queries} against {candidates}, {tied} tied");
    // other outputs are compared as what they are, without ranks
    let is_ranked = match &scores.outputs {
        Some(
            OutputScores::Labels(_)
            | OutputScores::Rankings(_)
            | OutputScores::Numbers(_)
            | OutputScores::Classes(_),
        ) => scores.has_ranks(),
        Some(OutputScores::Molecules(_)) | None => true,
    };
    if scores.missing_gold > 0 && is_ranked {
        line += &format!(", {} counted with rank infinity", scores.missing_gold);
    }
    line + "\n"
}
