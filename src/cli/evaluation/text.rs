//! The results of an evaluation: as `--json` writes them, and as text for people.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dsokr_data::SplitName;
use dsokr_decode::report::Comparison;
use dsokr_decode::{RANK_METRICS, RankMetric};
use serde::Serialize;

use crate::metrics::metric::Metric;
use crate::metrics::scores::Scores;
use crate::metrics::table::{Table, interval};
use crate::run::{PoolMetrics, Run, counts_line, metrics_table};

/// The output of `--json`.
#[derive(Serialize)]
pub(super) struct Results {
    /// The split of the run's data, if queries are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitName>,
    /// The file of queries, if they come from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(flatten)]
    pub metrics: Scores,
    /// The number of groups of queries, which intervals draw whole; absent where each query is by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// 95 % intervals of all metrics, with `--ci`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub intervals: BTreeMap<String, [f64; 2]>,
    /// Why the metrics are too good, or say less about new queries, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Each run by itself, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberMetrics>,
    /// The run compared with `--against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Comparison>,
}

/// The metrics of a member of an ensemble by itself.
#[derive(Serialize)]
pub(super) struct MemberMetrics {
    pub run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    #[serde(flatten)]
    pub metrics: Scores,
}

impl Results {
    /// Returns the metrics as text, those of `chance` too. `labels` are the names of runs that are given, and `other` is that of
    /// the run that this one is compared with.
    pub fn text(
        &self,
        run: &Run,
        chance: &Scores,
        labels: &[String],
        other: Option<&str>,
    ) -> String {
        let Self { split, file, metrics, groups, intervals, caution, members, against } = self;
        let name = file.as_ref().map(|file| file.display().to_string());
        let name = name.or(split.map(|split| split.to_string())).unwrap_or_default();
        let mut rows: Vec<(&str, &Scores)> =
            members.iter().map(|member| (member.run.as_str(), &member.metrics)).collect();
        let name_of_row = match (members.as_slice(), labels) {
            ([], []) => "model",
            ([], [label, ..]) => label.as_str(),
            ([_, ..], _) => "ensemble",
        };
        rows.push((name_of_row, metrics));
        rows.push(("chance", chance));
        let mut text = counts_line(&name, metrics) + "\n" + &metrics_table(&rows);
        if let Some(weights) = run.rule.weights() {
            let weights = weights.iter().map(|weight| format!("{weight:.3}")).collect::<Vec<_>>();
            text += &format!("\n{} with weights {}\n", run.rule.name(), weights.join(", "));
        }
        if let Some(caution) = caution {
            text += &format!("{caution}\n");
        }
        text += if intervals.is_empty() { "" } else { "\n" };
        if let (Some(groups), false) = (groups, intervals.is_empty()) {
            text += &format!("intervals draw {groups} groups of queries whole:\n");
        }
        for (metric, value) in Metric::measured_in(metrics) {
            if let Some(&ends) = intervals.get(metric.name()) {
                text += &interval_line(metric, value, ends);
            }
        }
        if let (Some(other), Some(differences)) = (other, against) {
            text += &differences_text(other, differences);
        }
        text
    }
}

/// Returns the differences of the metrics from those of the run of `--against`, a line each.
fn differences_text(against: &str, differences: &Comparison) -> String {
    let have_intervals = differences.metrics.values().any(|difference| difference.ci95.is_some());
    let how = match (differences.groups, have_intervals) {
        (None, _) => "95 % intervals of a paired bootstrap".to_owned(),
        (Some(groups), true) => {
            format!("95 % intervals of a paired bootstrap of {groups} groups of queries")
        }
        (Some(1), false) => "without intervals, since all queries are one group".to_owned(),
        (Some(groups), false) => {
            format!("without intervals, since the queries are {groups} groups")
        }
    };
    let mut text = format!("\ndifference from {against}, {how}:\n");
    for metric in &RANK_METRICS {
        let name = metric.title;
        let Some(paired) = differences.metrics.get(metric.name) else { continue };
        let difference = paired.difference;
        text += &format!("{name:<8} {difference:+.4}");
        if let (Some([low, high]), Some(better)) = (paired.ci95, paired.first_better) {
            let better = 100.0 * better;
            text += &format!(" [{low:+.4}, {high:+.4}], better in {better:.1} % of resamples");
        }
        text += "\n";
    }
    text
}

/// Returns a line with a metric and its 95 % interval, in as many decimal places as tables have of its value.
fn interval_line(metric: Metric, value: f64, ends: [f64; 2]) -> String {
    let title = metric.title();
    let places = metric.places(value);
    let interval = interval(Some(ends), places);
    format!("{title} {value:.places$}, 95 % interval {interval}\n")
}

/// Returns a table of the metrics in several pools of candidates.
pub(super) fn pools_text(pools: &[PoolMetrics]) -> String {
    let is_known =
        |metric: &&RankMetric| pools.iter().any(|pool| pool.metrics.contains_key(metric.name));
    let shown: Vec<&RankMetric> =
        RANK_METRICS.iter().filter(|metric| metric.in_tables).filter(is_known).collect();
    let titles = shown.iter().map(|metric| metric.title.to_owned());
    let names = ["candidates", "of a query"].map(str::to_owned);
    let mut table = Table::new(names.into_iter().chain(titles), 1);
    for pool in pools {
        let draws = if pool.draws == 1 { String::new() } else { format!(", {} draws", pool.draws) };
        let cell = |metric: &&RankMetric| {
            let places = metric.places;
            let value = pool.metrics[metric.name];
            match pool.intervals.get(metric.name) {
                Some([low, high]) => {
                    format!("{value:.places$} [{low:.places$}, {high:.places$}]")
                }
                None => format!("{value:.places$}"),
            }
        };
        let size = pool.candidates_per_query.to_string();
        let first = [format!("{}{draws}", pool.candidates), size];
        table.push(first.into_iter().chain(shown.iter().map(cell)));
    }
    let note = if shown.is_empty() {
        ""
    } else {
        "\nin brackets: 95 % intervals, by a bootstrap over queries, or groups of queries\n"
    };
    format!("{}{note}", table.text())
}

#[cfg(test)]
mod tests {
    use super::interval_line;
    use crate::metrics::metric::Metric;

    /// Four decimal places show nothing of errors of concentrations, and more than there is of large amounts.
    #[test]
    fn intervals_have_the_decimal_places_of_tables() {
        for (name, value, ends, expected) in [
            (
                "mae",
                2.74e-6,
                [2.1e-6, 3.456e-6],
                "0.00000274, 95 % interval [0.00000210, 0.00000346]",
            ),
            ("rmse", 0.0034312, [0.0031, 0.00381], "0.003431, 95 % interval [0.003100, 0.003810]"),
            ("mae", 164_482.3, [65_187.7, 2e5], "164482, 95 % interval [65188, 200000]"),
            ("mrr", 0.51239, [0.4, 0.6], "0.5124, 95 % interval [0.4000, 0.6000]"),
        ] {
            let metric = Metric::find(name).unwrap();
            let line = format!("{} {expected}\n", metric.title());
            assert_eq!(interval_line(metric, value, ends), line);
        }
    }
}
