//! Comparisons as tables.

use std::fmt::Write;
use std::str::FromStr;

use super::{MetricComparison, RunComparison, RunValue};
use crate::Error;

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

/// All formats with their names.
const FORMATS: [(&str, Format); 5] = [
    ("text", Format::Text),
    ("markdown", Format::Markdown),
    ("latex", Format::Latex),
    ("csv", Format::Csv),
    ("json", Format::Json),
];

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = FORMATS.iter().find(|(name, _)| *name == text).map(|(_, format)| *format);
        named.ok_or_else(|| {
            let names = FORMATS.map(|(name, _)| name).join(", ");
            format!("{text:?}: allowed is one of {names}")
        })
    }
}

const HEADING: [&str; 8] =
    ["metric", "run", "value", "95 % interval", "difference", "95 % interval", "p", "p (Holm)"];

impl RunComparison {
    /// The comparison in a format.
    ///
    /// # Errors
    /// [`Error::Serialise`], which finite numbers do not cause.
    pub fn render(&self, format: Format) -> Result<String, Error> {
        Ok(match format {
            Format::Text => format!("{}\n{}\n", self.caption(), self.text()),
            Format::Markdown => format!("{}\n\n{}", self.markdown(), self.caption()),
            Format::Latex => self.latex(),
            Format::Csv => self.csv(),
            Format::Json => {
                let json = serde_json::to_string(self);
                json.map_err(|e| Error::Serialise(e.to_string()))? + "\n"
            }
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
    fn rows(&self) -> impl Iterator<Item = (&MetricComparison, bool, &RunValue)> {
        self.metrics.iter().flat_map(|metric| {
            metric.runs.iter().enumerate().map(move |(at, value)| (metric, at == 0, value))
        })
    }

    fn text(&self) -> String {
        let rows: Vec<[String; 8]> = std::iter::once(HEADING.map(String::from))
            .chain(self.rows().map(|(metric, first, value)| cells(metric, "↑↓", first, value)))
            .collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: [usize; 8] = std::array::from_fn(width);
        let mut text = String::new();
        for row in &rows {
            let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = padded.collect::<Vec<_>>().join("  ");
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&HEADING.map(String::from)) + "|---|---|---|---|---|---|---|---|\n";
        for (metric, first, value) in self.rows() {
            let cells = cells(metric, "↑↓", first, value);
            text += &line(&cells.map(|cell| cell.replace('|', "\\|")));
        }
        text
    }

    fn latex(&self) -> String {
        let line = |cells: [String; 8]| cells.join(" & ") + " \\\\\n";
        let mut text = format!("% {}", self.caption());
        text += "\\begin{tabular}{llrcrcrr}\n\\toprule\n";
        text += &line(HEADING.map(escaped));
        for (metric, first, value) in self.rows() {
            text += if first { "\\midrule\n" } else { "" };
            // arrows and signs need mathematics
            let [name, run, numbers @ ..] = cells(metric, "", first, value);
            let arrow = match (first, metric.larger_is_better) {
                (true, true) => " $\\uparrow$",
                (true, false) => " $\\downarrow$",
                (false, _) => "",
            };
            let number = |cell: String| if cell.is_empty() { cell } else { format!("${cell}$") };
            let [value, interval, difference, paired, p, holm] = numbers.map(number);
            let names = [escaped(&name) + arrow, escaped(&run)];
            let [name, run] = names;
            text += &line([name, run, value, interval, difference, paired, p, holm]);
        }
        text + "\\bottomrule\n\\end{tabular}\n"
    }

    fn csv(&self) -> String {
        let mut text = String::from(
            "metric,larger_is_better,run,value,low,high,difference,difference_low,difference_high,p,\
             p_holm\n",
        );
        for (metric, _, value) in self.rows() {
            let RunValue { run, value, ci95, difference } = value;
            let ends = |ends: Option<[f64; 2]>| {
                ends.map_or([None, None], |[low, high]| [Some(low), Some(high)])
            };
            let [low, high] = ends(*ci95);
            let [from, to] = ends(difference.map(|found| found.ci95));
            let paired = difference.map(|found| found.difference);
            let (p, holm) = (difference.map(|found| found.p), difference.map(|found| found.p_holm));
            let _ = write!(text, "{},{},", metric.metric, metric.larger_is_better);
            let _ = write!(text, "{},{value}", quoted(run));
            for number in [low, high, paired, from, to, p, holm] {
                let _ = write!(text, ",{}", number.map(|n| n.to_string()).unwrap_or_default());
            }
            text.push('\n');
        }
        text
    }
}

/// The cells of a row; `arrows` are those of larger and of smaller is better, or empty.
fn cells(metric: &MetricComparison, arrows: &str, first: bool, value: &RunValue) -> [String; 8] {
    let RunValue { run, value, ci95, difference } = value;
    let arrow = arrows.chars().nth(usize::from(!metric.larger_is_better));
    let name = match (first, arrow) {
        (true, Some(arrow)) => format!("{} {arrow}", metric.metric),
        (true, None) => metric.metric.to_owned(),
        (false, _) => String::new(),
    };
    let places = places(*value);
    let number = format!("{value:.places$}");
    let interval =
        ci95.map_or(String::new(), |[low, high]| format!("[{low:.places$}, {high:.places$}]"));
    let [paired, between, p, holm] = difference.map_or_else(Default::default, |found| {
        let [low, high] = found.ci95;
        [
            format!("{:+.places$}", found.difference),
            format!("[{low:+.places$}, {high:+.places$}]"),
            format!("{:.4}", found.p),
            format!("{:.4}", found.p_holm),
        ]
    });
    [name, run.clone(), number, interval, paired, between, p, holm]
}

/// Decimal places of a metric: at least three digits that count.
pub(crate) fn places(value: f64) -> usize {
    match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 0.01 || size == 0.0 => 4,
        _ => 6,
    }
}

/// A text whose special characters LaTeX prints.
fn escaped(text: impl AsRef<str>) -> String {
    let mut escaped = String::new();
    for c in text.as_ref().chars() {
        match c {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A text as a field of comma-separated values for a spreadsheet, quoted where it must be (RFC 4180). An
/// apostrophe precedes what the spreadsheet takes for a formula: what begins with `=`, `+`, `-`, `@`, a tab or a
/// carriage return and is not a number.
pub(crate) fn quoted(field: &str) -> String {
    let number = field.parse::<f64>().is_ok_and(f64::is_finite);
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !number;
    let field = format!("{}{field}", if formula { "'" } else { "" });
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::super::PairedDifference;
    use super::*;

    #[test]
    fn fields_are_no_formulas_of_a_spreadsheet() {
        for (text, field) in [
            ("=1+1", "'=1+1"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(1,2)", "\"'@SUM(1,2)\""),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("-inf", "'-inf"),
            // numbers stay numbers, and texts texts
            ("-1.5", "-1.5"),
            ("+3e-4", "+3e-4"),
            ("a=1", "a=1"),
            ("1-2", "1-2"),
            ("C[N+](C)C", "C[N+](C)C"),
            ("", ""),
        ] {
            assert_eq!(quoted(text), field, "{text:?}");
        }
    }

    fn comparison() -> RunComparison {
        let value = |run: &str, value, difference| RunValue {
            run: run.into(),
            value,
            ci95: Some([value - 0.1, value + 0.1]),
            difference,
        };
        let difference =
            PairedDifference { difference: -0.25, ci95: [-0.4, -0.1], p: 0.0123, p_holm: 0.0246 };
        let runs = vec![value("runs/a_1", 0.5, None), value("b, c|d", 0.25, Some(difference))];
        let metric = MetricComparison { metric: "hits@1", larger_is_better: true, runs };
        RunComparison { queries: 10, resamples: 100, metrics: vec![metric] }
    }

    #[test]
    fn every_format_has_every_number() {
        let says = |format: &str, parts: &[&str]| {
            let text = comparison().render(format.parse().unwrap()).unwrap();
            for part in parts {
                assert!(text.contains(part), "{format}: no {part:?} in\n{text}");
            }
        };
        says(
            "text",
            &["10 queries, 100 bootstrap", "hits@1 ↑  runs/a_1  0.5000  [0.4000, 0.6000]\n"],
        );
        says(
            "text",
            &["b, c|d    0.2500  [0.1500, 0.3500]  -0.2500     [-0.4000, -0.1000]  0.0123"],
        );
        says("markdown", &["| hits@1 ↑ | runs/a_1 | 0.5000 |", "|  | b, c\\|d | 0.2500 |"]);
        says("latex", &["hits@1 $\\uparrow$ & runs/a\\_1 & $0.5000$ &", "95 \\% interval"]);
        says(
            "latex",
            &["& $-0.2500$ & $[-0.4000, -0.1000]$ & $0.0123$ & $0.0246$ \\\\\n\\bottomrule"],
        );
        says("csv", &["\nhits@1,true,runs/a_1,0.5,0.4,0.6,,,,,\n"]);
        says("csv", &["\nhits@1,true,\"b, c|d\",0.25,0.15,0.35,-0.25,-0.4,-0.1,0.0123,0.0246\n"]);
        says("json", &["\"p_holm\":0.0246"]);
        assert!("excel".parse::<Format>().unwrap_err().contains("latex"));
    }
}
