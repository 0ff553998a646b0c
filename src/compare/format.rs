//! Comparisons as tables.

use super::{MetricComparison, RunComparison, RunValue};
use crate::Error;
use crate::table::{Table, interval, places};

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
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

impl RunComparison {
    /// The comparison in a format.
    ///
    /// # Errors
    /// [`Error::Serialise`], which finite numbers do not cause.
    pub fn render(&self, format: Format) -> Result<String, Error> {
        Ok(match format {
            Format::Text => format!("{}\n{}\n", self.caption(), self.shown().text()),
            Format::Markdown => format!("{}\n\n{}", self.shown().markdown(), self.caption()),
            Format::Latex => format!("% {}{}", self.caption(), self.shown().latex()),
            Format::Csv => self.all_digits().csv("\n"),
            Format::Json => serde_json::to_string(self)? + "\n",
        })
    }

    /// What the numbers are.
    fn caption(&self) -> String {
        let first = self.metrics.iter().flat_map(|metric| &metric.runs).next();
        let first = first.map_or("", |value| value.run.as_str());
        format!(
            "{} queries, {} bootstrap resamples; differences from {first} are paired, p-values are \
             two-sided, and Holm's correction is over the runs of each metric.\n",
            self.queries, self.resamples
        )
    }

    /// A row for each run of each metric, with the metric's name on the first one.
    fn shown(&self) -> Table {
        let interval_name = "95 % interval";
        let names = ["metric", "run", "value", interval_name, "difference", interval_name];
        let row = |(metric, at, value): (&MetricComparison, usize, &RunValue)| {
            let RunValue { run, value, ci95, difference } = value;
            let arrow = if metric.larger_is_better { '↑' } else { '↓' };
            let name = if at == 0 { format!("{} {arrow}", metric.metric) } else { String::new() };
            let places = places(*value);
            let number = format!("{value:.places$}");
            let [paired, between, p, holm] = difference.map_or_else(Default::default, |found| {
                let [low, high] = found.ci95;
                [
                    format!("{:+.places$}", found.difference),
                    format!("[{low:+.places$}, {high:+.places$}]"),
                    format!("{:.4}", found.p),
                    format!("{:.4}", found.p_holm),
                ]
            });
            [name, run.clone(), number, interval(*ci95, places), paired, between, p, holm]
        };
        Table::new(names.into_iter().chain(["p", "p (Holm)"]), 2).with(self.rows().map(row))
    }

    /// The same with all digits and a column for each number.
    fn all_digits(&self) -> Table {
        let names = ["metric", "larger_is_better", "run", "value", "low", "high", "difference"];
        let names = names.into_iter().chain(["difference_low", "difference_high", "p", "p_holm"]);
        let row = |(metric, _, value): (&MetricComparison, usize, &RunValue)| {
            let RunValue { run, value, ci95, difference } = value;
            let ends = |ends: Option<[f64; 2]>| ends.map_or([None; 2], |ends| ends.map(Some));
            let [low, high] = ends(*ci95);
            let [from, to] = ends(difference.map(|found| found.ci95));
            let paired = difference.map(|found| found.difference);
            let (p, holm) = (difference.map(|found| found.p), difference.map(|found| found.p_holm));
            let numbers = [Some(*value), low, high, paired, from, to, p, holm];
            let numbers = numbers.map(|number| number.map(|n| n.to_string()).unwrap_or_default());
            let texts = [metric.metric.into(), metric.larger_is_better.to_string(), run.clone()];
            texts.into_iter().chain(numbers)
        };
        Table::new(names, 3).with(self.rows().map(row))
    }

    /// The runs of each metric, each with its place among them.
    fn rows(&self) -> impl Iterator<Item = (&MetricComparison, usize, &RunValue)> {
        self.metrics.iter().flat_map(|metric| {
            metric.runs.iter().enumerate().map(move |(at, value)| (metric, at, value))
        })
    }
}
