//! Metrics side by side, as text.

use std::fmt::Write;

use crate::metrics::metric::{Metric, Needs};
use crate::metrics::quantiles::Coverage;
use crate::metrics::regression::TargetScores;
use crate::metrics::scores::{OutputScores, Scores};
use crate::metrics::table::Table;

/// Metrics that are shown side by side: those that need one of some kinds of data, in the order of the list of all
/// metrics. Scores are shown that have a metric of the first kind.
type Group = &'static [Needs];

/// All groups, in the order of a report: what outputs are compared by before ranks, which say less of them.
const GROUPS: [Group; 10] = [
    &[Needs::Labels, Needs::LabelsOrClasses],
    &[Needs::Classes, Needs::LabelsOrClasses],
    &[Needs::Numbers],
    &[Needs::Ranks, Needs::FiniteRanks],
    &[Needs::FeatureSpace],
    &[Needs::ComparedOutputs],
    &[Needs::Asked],
    &[Needs::Quantiles],
    &[Needs::Graphs, Needs::GraphsOrRankings],
    &[Needs::Rankings, Needs::GraphsOrRankings],
];

/// Returns metrics as text, one row each under one heading; what a search found beyond the candidates has a row below.
pub fn metrics_table(rows: &[(&str, &Scores)]) -> String {
    let beyond: Vec<Option<Scores>> =
        rows.iter().map(|(_, scores)| scores.beyond_candidates()).collect();
    let mut all: Vec<(&str, &Scores)> = Vec::new();
    for (&row, beyond) in rows.iter().zip(&beyond) {
        all.push(row);
        all.extend(beyond.as_ref().map(|scores| ("beyond", scores)));
    }
    let tables = GROUPS.iter().map(|&group| group_text(group, &all));
    let searches =
        rows.iter().filter_map(|(name, scores)| Some(scores.beyond.as_ref()?.text(name)));
    tables.chain(searches).collect()
}

fn group_text(group: Group, rows: &[(&str, &Scores)]) -> String {
    let kind = group[0];
    let has =
        |scores: &Scores| Metric::measured_in(scores).any(|(metric, _)| metric.needs() == kind);
    let measured: Vec<_> = rows.iter().filter(|(_, scores)| has(scores)).collect();
    if measured.is_empty() {
        return String::new();
    }
    let columns = Metric::all().filter(|metric| group.contains(&metric.needs()));
    let columns = columns.filter_map(|metric| Some((metric, metric.heading()?)));
    let (metrics, headings): (Vec<Metric>, Vec<&str>) = columns.unzip();
    let headings = metrics.iter().zip(headings);
    let headings = headings.map(|(metric, heading)| format!("{heading:>0$}", metric.width()));
    let shares = (kind == Needs::Quantiles).then(|| " at most quantile".to_owned());
    // names have ten characters or more, as in other tables of a report
    let mut table = Table::new([" ".repeat(10)].into_iter().chain(headings).chain(shares), 1);
    let mut notes = String::new();
    for (name, scores) in measured {
        let cells = metrics.iter().map(|&metric| shown(metric, scores));
        let shares = scores.quantiles.iter().filter(|_| kind == Needs::Quantiles);
        let shares = shares.map(|quantiles| {
            let share = |Coverage { level, share }: &Coverage| format!(" {level}: {share:.3}");
            quantiles.coverage.iter().map(share).collect::<String>()
        });
        table.push([(*name).to_owned()].into_iter().chain(cells).chain(shares));
        if kind == Needs::Graphs
            && let Some(OutputScores::Molecules(molecules)) = &scores.outputs
            && molecules.unproven > 0
        {
            let _ = writeln!(notes, "{name}: {} distances are upper bounds", molecules.unproven);
        }
    }
    if kind == Needs::Numbers {
        notes += &targets_text(&metrics, rows);
    }
    table.text() + &notes
}

/// Returns the metrics of each target of the first row, where a row of numbers has several; those are left out that no
/// target has.
fn targets_text(metrics: &[Metric], rows: &[(&str, &Scores)]) -> String {
    let Some(Some(OutputScores::Numbers(scores))) = rows.first().map(|(_, scores)| &scores.outputs)
    else {
        return String::new();
    };
    if scores.targets.len() < 2 {
        return String::new();
    }
    let value = |target: &TargetScores, metric: &Metric| {
        serde_json::to_value(target).ok()?.get(metric.name())?.as_f64()
    };
    let mut names = vec!["target    ".to_owned()];
    let mut columns = Vec::new();
    for metric in metrics {
        let values: Vec<Option<f64>> =
            scores.targets.iter().map(|target| value(target, metric)).collect();
        if values.iter().any(Option::is_some) {
            names.push(format!("{:>1$}", metric.title(), metric.width()));
            columns.push((metric, values));
        }
    }
    let mut table = Table::new(names, 1);
    for (at, target) in scores.targets.iter().enumerate() {
        let number = (at + 1).to_string();
        let name = target.name.clone().unwrap_or(number);
        let cells = columns.iter().map(|(metric, values)| {
            let decimal = |value: f64| format!("{value:.0$}", metric.places(value));
            values[at].map_or("–".to_owned(), decimal)
        });
        table.push([name].into_iter().chain(cells));
    }
    table.text()
}

/// Returns a metric with its standard error, where that is known: of one query it is not.
fn shown(metric: Metric, scores: &Scores) -> String {
    let value = scores.number(metric.name()).filter(|value| value.is_finite());
    let places = metric.places(value.unwrap_or_default());
    let error = scores.number(&format!("{}_se", metric.name())).filter(|_| scores.queries > 1);
    let error = error.map(|error| format!(" ± {error:.places$}")).unwrap_or_default();
    match value {
        Some(value) => format!("{value:.places$}{error}"),
        None if metric.needs() == Needs::FiniteRanks => "infinite".to_owned(),
        None => "–".to_owned(),
    }
}
