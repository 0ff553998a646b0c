//! Comparisons as texts, tables and JSON.

use dsokr_decode::LEAST_GROUPS;

use super::{Compared, MetricComparison, RunComparison, RunValue};
use crate::error::Error;
use crate::metrics::metric::Metric;
use crate::metrics::queries::{groups_text, queries_text};
use crate::metrics::table::{Table, interval, places};

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns aligned by spaces.
    Text,
    /// A Markdown table.
    Markdown,
    /// A LaTeX tabular, for the package booktabs.
    Latex,
    /// Comma-separated values, with all digits.
    Csv,
    /// One JSON object.
    Json,
}

impl Format {
    /// The formats by their names, in the order of this list.
    pub const ALL: [(&'static str, Self); 5] = [
        ("text", Self::Text),
        ("markdown", Self::Markdown),
        ("latex", Self::Latex),
        ("csv", Self::Csv),
        ("json", Self::Json),
    ];
}

impl RunComparison {
    /// Returns the comparison in a format.
    ///
    /// # Errors
    /// [`Error::Serialise`], which finite numbers do not cause.
    pub fn render(&self, format: Format) -> Result<String, Error> {
        Ok(match format {
            Format::Text => format!("{}\n{}\n", self.caption(), self.shown(false).text()),
            Format::Markdown => format!("{}\n\n{}", self.shown(false).markdown(), self.caption()),
            Format::Latex => format!("% {}{}", self.caption(), self.shown(true).latex()),
            Format::Csv => self.all_digits().csv("\n"),
            Format::Json => serde_json::to_string(self)? + "\n",
        })
    }

    /// Returns a caption for the numbers.
    fn caption(&self) -> String {
        let first = self.metrics.iter().flat_map(|metric| &metric.runs).next();
        let first = first.map_or("", |value| value.run.as_str());
        let caution: String = self.caution.iter().map(|caution| format!(" {caution}.")).collect();
        let on = match self.compared {
            Compared::Queries { queries, groups: None, resamples } => {
                format!("{}, {resamples} bootstrap resamples", queries_text(queries))
            }
            Compared::Queries { queries, groups: Some(groups), .. } if groups < LEAST_GROUPS => {
                return format!(
                    "{} in {}: fewer than {LEAST_GROUPS} have no intervals and no differences.{caution}\n",
                    queries_text(queries),
                    groups_text(groups)
                );
            }
            Compared::Queries { queries, groups: Some(groups), resamples } => {
                format!(
                    "{} in {groups} groups, {resamples} bootstrap resamples of groups",
                    queries_text(queries)
                )
            }
            Compared::Parts { parts, folds } => {
                format!(
                    "{parts} parts of {folds}-fold cross-validations, corrected resampled t-test"
                )
            }
        };
        format!(
            "{on}; differences from {first} are paired, p-values are two-sided, and Holm's correction is over the runs \
             of each metric.{caution}\n"
        )
    }

    /// Returns a row for each run of each metric, with the metric's name, or its title, on the first one.
    fn shown(&self, titles: bool) -> Table {
        let interval_name = "95 % interval";
        let names = ["metric", "run", "value", interval_name, "difference", interval_name];
        let row = |(metric, at, value): (&MetricComparison, usize, &RunValue)| {
            let RunValue { run, value, ci95, difference } = value;
            let arrow = if metric.larger_is_better { '↑' } else { '↓' };
            let title = Metric::find(metric.metric).filter(|_| titles).map(|metric| metric.title());
            let title = title.unwrap_or(metric.metric);
            let name = if at == 0 { format!("{title} {arrow}") } else { String::new() };
            let places = places(*value);
            let number = format!("{value:.places$}");
            let [paired, between, p, holm] =
                difference.map_or_else(Default::default, |difference| {
                    let ends = difference.ci95;
                    let ends =
                        ends.map(|[low, high]| format!("[{low:+.places$}, {high:+.places$}]"));
                    [
                        format!("{:+.places$}", difference.difference),
                        ends.unwrap_or_default(),
                        format!("{:.4}", difference.p),
                        format!("{:.4}", difference.p_holm),
                    ]
                });
            [name, run.clone(), number, interval(*ci95, places), paired, between, p, holm]
        };
        Table::new(names.into_iter().chain(["p", "p (Holm)"]), 2).with(self.rows().map(row))
    }

    /// Returns the table with all digits and a column for each number.
    fn all_digits(&self) -> Table {
        let names = ["metric", "larger_is_better", "run", "value", "low", "high", "difference"];
        let names = names.into_iter().chain(["difference_low", "difference_high", "p", "p_holm"]);
        let row = |(metric, _, value): (&MetricComparison, usize, &RunValue)| {
            let RunValue { run, value, ci95, difference } = value;
            let ends = |ends: Option<[f64; 2]>| ends.map_or([None; 2], |ends| ends.map(Some));
            let [low, high] = ends(*ci95);
            let [from, to] = ends(difference.and_then(|difference| difference.ci95));
            let paired = difference.map(|difference| difference.difference);
            let p = difference.map(|difference| difference.p);
            let holm = difference.map(|difference| difference.p_holm);
            let numbers = [Some(*value), low, high, paired, from, to, p, holm];
            let numbers = numbers.map(|number| number.map(|n| n.to_string()).unwrap_or_default());
            let texts = [metric.metric.into(), metric.larger_is_better.to_string(), run.clone()];
            texts.into_iter().chain(numbers)
        };
        Table::new(names, 3).with(self.rows().map(row))
    }

    /// Returns the runs of each metric, each with its place among them.
    fn rows(&self) -> impl Iterator<Item = (&MetricComparison, usize, &RunValue)> {
        self.metrics.iter().flat_map(|metric| {
            metric.runs.iter().enumerate().map(move |(at, value)| (metric, at, value))
        })
    }
}
