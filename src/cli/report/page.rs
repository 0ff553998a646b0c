//! The report as one page that stands by itself: `report.html`.

use std::fmt::Write;

use dsokr_core::message::xml;
use dsokr_decode::report::QueryRow;
use dsokr_molecule::Molecule;

use crate::metrics::metric::Metric;
use crate::metrics::scores::Scores;

const TEMPLATE: &str = include_str!("page.html");

/// The part about queries.
const QUERIES: &str = include_str!("queries.html");

/// The most queries whose molecules are drawn. Of more, the worst are drawn: a drawing has some kilobytes.
const DRAWN: usize = 400;

/// What the page shows.
pub struct Page<'a> {
    /// Its heading: the evaluated runs.
    pub title: String,
    /// What was evaluated.
    pub subtitle: String,
    pub scores: &'a Scores,
    /// The 95 % interval of a metric by its name.
    pub intervals: &'a dyn Fn(&str) -> Option<[f64; 2]>,
    /// SVG documents with their captions.
    pub figures: Vec<(&'static str, String)>,
    /// The queries; none where ranks carry no information.
    pub queries: Vec<Query<'a>>,
}

/// A query with its decoded output.
pub struct Query<'a> {
    /// The text of the query; empty for inputs of other kinds.
    pub text: &'a str,
    pub gold_label: &'a str,
    pub row: &'a QueryRow,
}

impl Query<'_> {
    /// Returns whether the right output is the first candidate, or ties with it.
    fn is_right(&self) -> bool {
        self.row.rank.is_some_and(|rank| rank - self.row.tied as f64 / 2.0 <= 1.0)
    }

    /// Returns the rank by which queries are sorted; queries without a gold come last.
    fn rank(&self) -> f64 {
        self.row.rank.unwrap_or(f64::MAX)
    }
}

impl Page<'_> {
    /// Returns the page as HTML.
    pub fn html(&self) -> String {
        TEMPLATE
            .replace("{{title}}", &xml(&self.title))
            .replace("{{subtitle}}", &xml(&self.subtitle))
            .replace("{{metrics}}", &self.metrics())
            .replace("{{figures}}", &self.figures())
            .replace("{{queries}}", &self.queries())
    }

    /// Returns the table of queries; nothing where there are none.
    fn queries(&self) -> String {
        if self.queries.is_empty() {
            return String::new();
        }
        let drawn = self.drawn();
        let rows = self.queries.iter().zip(&drawn).map(|(query, drawn)| row(query, *drawn));
        let note = if drawn.iter().all(|drawn| *drawn) {
            "A click on a heading sorts the table.".to_owned()
        } else {
            format!(
                "A click on a heading sorts the table. Molecules of the {DRAWN} worst queries are drawn."
            )
        };
        let rows = rows.collect::<Vec<_>>().join("\n");
        QUERIES.replace("{{note}}", &note).replace("{{rows}}", &rows)
    }

    /// Returns which queries have drawings.
    fn drawn(&self) -> Vec<bool> {
        let mut worst: Vec<usize> = (0..self.queries.len()).collect();
        worst.sort_by(|&a, &b| self.queries[b].rank().total_cmp(&self.queries[a].rank()));
        let mut drawn = vec![false; self.queries.len()];
        for &query in worst.iter().take(DRAWN) {
            drawn[query] = true;
        }
        drawn
    }

    fn metrics(&self) -> String {
        let mut rows = String::new();
        for (metric, value) in Metric::measured_in(self.scores) {
            let places = metric.places(value);
            let interval = (self.intervals)(metric.name());
            let interval = interval.map(|[low, high]| format!("{low:.places$} to {high:.places$}"));
            let _ = writeln!(
                rows,
                "<tr><td>{}</td><td class=\"number\">{value:.places$}</td><td>{}</td></tr>",
                xml(metric.title()),
                interval.unwrap_or_default()
            );
        }
        rows
    }

    /// Returns the figures below their heading; nothing where there are none.
    fn figures(&self) -> String {
        if self.figures.is_empty() {
            return String::new();
        }
        let figure = |(caption, svg): &(&str, String)| {
            format!("<figure>{svg}<figcaption>{}</figcaption></figure>", xml(caption))
        };
        let figures: Vec<String> = self.figures.iter().map(figure).collect();
        format!("<h2>Figures</h2>\n<div class=\"figures\">\n{}\n</div>", figures.join("\n"))
    }
}

/// Returns the row of a query.
fn row(query: &Query, drawn: bool) -> String {
    let QueryRow { query: id, gold, rank, first, first_label, first_score, .. } = query.row;
    let result = if query.is_right() { "right" } else { "wrong" };
    let rank = rank.map_or_else(|| "no candidate".to_owned(), |rank| rank.to_string());
    format!(
        "<tr data-result=\"{result}\"><td>{}</td><td class=\"input\">{}</td>\
         <td class=\"output\">{}</td><td class=\"output\">{}</td>\
         <td class=\"number\" data-value=\"{}\">{rank}<br><span class=\"{result}\">{result}</span></td>\
         <td class=\"number\" data-value=\"{first_score}\">{first_score:.4}</td></tr>",
        xml(id),
        xml(query.text),
        output(gold, query.gold_label, drawn),
        output(first, first_label, drawn),
        query.rank(),
    )
}

/// Returns an output: its drawing if its label is a SMILES, its label and its id. Screen readers say the label alone.
fn output(id: &str, label: &str, drawn: bool) -> String {
    let molecule = if drawn { Molecule::parse(label).ok() } else { None };
    let drawing = molecule.filter(|_| !label.is_empty()).map(|molecule| {
        format!("<div class=\"drawing\" aria-hidden=\"true\">{}</div>", molecule.svg())
    });
    format!(
        "{}<div class=\"label\">{}</div><div class=\"soft\">{}</div>",
        drawing.unwrap_or_default(),
        xml(label),
        xml(id)
    )
}
