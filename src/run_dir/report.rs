//! The report on a trained run, and where it comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use dsokr_data::SplitName;
use dsokr_decode::PoolSizes;
use serde::{Deserialize, Serialize};

use super::files::{METRICS, read_json};
use crate::config::Checked;
use crate::table::Table;
use crate::{Coverage, Error, Metric, OutputScores, Scores};

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
        let counts = counts_line(&self.split.to_string(), &self.metrics);
        write!(out, "{counts}\n{}", metrics_table(&rows))?;
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

/// Metrics that are shown side by side.
struct Group {
    /// Whether scores have them.
    of: fn(&Scores) -> bool,
    /// The name of each metric, its heading, the least width of its column and its decimal places.
    columns: &'static [(&'static str, &'static str, usize, usize)],
}

const GROUPS: [Group; 6] = [
    Group {
        of: Scores::has_ranks,
        columns: &[
            ("mrr", "MRR", 6, 4),
            ("hits@1", "Hits@1", 6, 4),
            ("hits@5", "Hits@5", 6, 4),
            ("hits@10", "Hits@10", 7, 4),
            ("mean_rank", "mean rank", 9, 1),
            ("median_rank", "median rank", 11, 1),
        ],
    },
    Group {
        of: |scores| scores.squared_error.is_some(),
        columns: &[("squared_error", "squared error", 14, 6)],
    },
    Group {
        of: |scores| scores.quantiles.is_some(),
        columns: &[("pinball", "pinball", 11, 6), ("crossing", "crossing", 11, 6)],
    },
    Group {
        of: |scores| matches!(scores.outputs, Some(OutputScores::Molecules(_))),
        columns: &[
            ("ged", "edit distance", 15, 3),
            ("ged_bonds", "with bonds", 15, 3),
            ("exact", "exact", 6, 3),
        ],
    },
    Group {
        of: |scores| matches!(scores.outputs, Some(OutputScores::Labels(_))),
        columns: &[
            ("f1", "F1", 6, 4),
            ("micro_f1", "micro F1", 8, 4),
            ("macro_f1", "macro F1", 8, 4),
            ("hamming_loss", "Hamming loss", 12, 5),
        ],
    },
    Group {
        of: |scores| matches!(scores.outputs, Some(OutputScores::Rankings(_))),
        columns: &[("kendall_tau", "Kendall's tau", 12, 4), ("exact", "exact", 6, 3)],
    },
];

/// Metrics as text, one row each under one heading.
pub fn metrics_table(rows: &[(&str, &Scores)]) -> String {
    GROUPS.iter().map(|group| group.text(rows)).collect()
}

impl Group {
    fn text(&self, rows: &[(&str, &Scores)]) -> String {
        let mut known = rows.iter().filter(|(_, scores)| (self.of)(scores)).peekable();
        let Some((_, first)) = known.peek() else { return String::new() };
        // names have ten characters or more, as in other tables of a report
        let names = [" ".repeat(10)].into_iter();
        let names =
            names.chain(self.columns.iter().map(|(_, title, width, _)| format!("{title:>width$}")));
        let coverage = first.quantiles.is_some() && self.columns[0].0 == "pinball";
        let shares = coverage.then(|| " at most quantile".to_owned());
        let mut table = Table::new(names.chain(shares), 1);
        let mut notes = String::new();
        for (name, scores) in known {
            let cells =
                self.columns.iter().map(|&(metric, .., places)| shown(metric, scores, places));
            let shares = scores.quantiles.iter().filter(|_| coverage).map(|own| {
                let share = |Coverage { level, share }: &Coverage| format!(" {level}: {share:.3}");
                own.coverage.iter().map(share).collect::<String>()
            });
            table.push([(*name).to_owned()].into_iter().chain(cells).chain(shares));
            if let (Some(OutputScores::Molecules(own)), "ged") =
                (&scores.outputs, self.columns[0].0)
                && own.unproven > 0
            {
                let _ = writeln!(notes, "{name}: {} distances are upper bounds", own.unproven);
            }
        }
        table.text() + &notes
    }
}

/// A metric with its standard error, where that is known.
fn shown(name: &str, scores: &Scores, places: usize) -> String {
    let value = Metric::find(name).map_or(f64::NAN, |metric| metric.value(scores));
    let error = match &scores.outputs {
        Some(OutputScores::Molecules(own)) if name == "ged" => Some(own.ged_se),
        Some(OutputScores::Molecules(own)) if name == "ged_bonds" => Some(own.ged_bonds_se),
        Some(OutputScores::Molecules(_) | OutputScores::Labels(_) | OutputScores::Rankings(_))
        | None => None,
    };
    let error = error.map(|error| format!(" ± {error:.places$}")).unwrap_or_default();
    match value.is_finite() {
        true => format!("{value:.places$}{error}"),
        false => "infinite".to_owned(),
    }
}

/// One line of text with the numbers of queries and candidates.
pub fn counts_line(split: &str, m: &Scores) -> String {
    let candidates = match m.candidates_per_query {
        None => format!("{} candidates ({} duplicates)", m.candidates, m.duplicate_candidates),
        Some(PoolSizes { least, median, most }) => format!(
            "{least} to {most} candidates each (median {median}; in all {}, {} duplicates)",
            m.candidates, m.duplicate_candidates
        ),
    };
    let tied = m.tied_queries;
    let mut line =
        format!("{split}: {} queries against {candidates}, {tied} queries tied", m.queries);
    if m.missing_gold > 0 {
        let _ = write!(line, ", {} counted with rank infinity", m.missing_gold);
    }
    line + "\n"
}
