//! Answers to texts, as `search` and `predict` print them.

use dsokr_data::InputKind;
use dsokr_spectra::Spectrum;
use serde::Serialize;

use crate::config::Abilities;
use crate::decoding::beyond::SearchEnd;
use crate::decoding::decoder::PredictedOutput;
use crate::metrics::table::Table;
use crate::run::{Answer, EnsembleRun, Hit, Quantile};

/// The answer to one query, as JSON.
#[derive(Serialize)]
pub struct Printed<'a> {
    /// Of one of several queries: its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// The text; none of a vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<&'a str>,
    /// The probability that the candidates hold a right output, where they are a set of such a one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    #[serde(flatten)]
    pub answer: &'a Answer,
}

/// What a table of answers says of each query besides its id.
#[derive(Clone, Copy)]
pub enum QueryColumn {
    /// The text.
    Text,
    /// The precursor's m/z of a spectrum.
    PrecursorMz,
    /// Nothing of vectors.
    None,
}

impl QueryColumn {
    /// The column for the inputs of an encoder.
    pub fn of(abilities: Abilities) -> Self {
        match abilities.reads {
            InputKind::Texts if abilities.spectra => Self::PrecursorMz,
            InputKind::Texts => Self::Text,
            InputKind::Vectors | InputKind::Kernels => Self::None,
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("query"),
            Self::PrecursorMz => Some("precursor_mz"),
            Self::None => None,
        }
    }

    /// The cell of a query with this text.
    pub fn cell(self, text: Option<&str>) -> Option<String> {
        let text = text.unwrap_or_default();
        match self {
            Self::Text => Some(text.to_owned()),
            Self::PrecursorMz => {
                let spectrum = text.parse::<Spectrum>().ok();
                Some(spectrum.map_or_else(String::new, |own| own.precursor_mz.to_string()))
            }
            Self::None => None,
        }
    }
}

/// A table for people, behind what is doubtful about the query.
pub fn text(answer: &Answer) -> String {
    let cautions: String =
        answer.cautions.iter().map(|line| format!("caution: {line}\n")).collect();
    let quantile = |Quantile { level, value }: &Quantile| {
        format!("{:>14}  {value}\n", format!("quantile {level}"))
    };
    let quantiles: String = answer.quantiles.iter().map(quantile).collect();
    let best = answer.exact.iter().map(|best| {
        (["all".to_owned(), format!("{:.4}", best.score)], [String::new(), best.label.clone()])
    });
    let beyond = answer.beyond.iter().map(|found| {
        let label = format!("{}{}", found.label, note(found));
        (["new".to_owned(), format!("{:.4}", found.score)], [String::new(), label])
    });
    let hits = answer.hits.iter().map(|hit| {
        let same = match hit.duplicates.len() {
            0 => String::new(),
            others => format!(" ({} candidates)", others + 1),
        };
        let numbers = [hit.rank.to_string(), format!("{:.4}", hit.score)];
        (numbers, [hit.id.clone(), format!("{}{same}", hit.label)])
    });
    let (numbers, texts): (Vec<_>, Vec<_>) = best.chain(beyond).chain(hits).unzip();
    let numbers = Table::new(["rank", "  score"], 0).with(numbers).text();
    let texts = Table::new(["id", "label"], 2).with(texts).text();
    let line = |(numbers, texts)| format!("{numbers}  {texts}").trim_end().to_owned() + "\n";
    cautions + &quantiles + &numbers.lines().zip(texts.lines()).map(line).collect::<String>()
}

/// How a molecule that a search found stands to the candidates.
fn note(found: &PredictedOutput) -> String {
    let Some(facts) = &found.search else { return String::new() };
    let id = &facts.nearest;
    let label = &facts.nearest_label;
    let kept = if facts.kept { "" } else { "; nothing was found that keeps what is asked for" };
    let ended = match facts.ended {
        SearchEnd::Neighbours => String::new(),
        SearchEnd::Rounds => "; ended by rounds".to_owned(),
        SearchEnd::Evaluations => format!("; ended by {} evaluations", facts.evaluated),
    };
    if facts.in_table {
        format!("  (candidate {id}{kept}{ended})")
    } else {
        let difference = match facts.difference.as_str() {
            "" => String::new(),
            more => format!(", which differs by {more}"),
        };
        format!("  (not in the table; nearest is {id}, {label}{difference}{kept}{ended})")
    }
}

/// Names of the columns of [`rows`].
pub fn columns(runs: &EnsembleRun, query: QueryColumn) -> Vec<String> {
    let levels = match runs.members() {
        [_] => runs.config().encoder.abilities().levels.unwrap_or_default(),
        _ => &[],
    };
    let answer = ["rank", "candidate", "label", "score", "duplicates"];
    let names = ["id"].into_iter().chain(query.name()).chain(answer).map(String::from);
    names.chain(levels.iter().map(|level| format!("quantile {level}"))).collect()
}

/// A row of a table for each candidate behind the cells of its query, one without a candidate where there is none; the best
/// of all outputs has the rank `all` and no id, the molecules that a search
/// found, best first, the rank `new` and, where they are candidates, their ids.
pub fn rows(query: &[String], answer: &Answer) -> impl Iterator<Item = Vec<String>> {
    let is_empty = answer.exact.is_none() && answer.beyond.is_empty() && answer.hits.is_empty();
    let empty = is_empty.then(|| std::array::from_fn(|_| String::new()));
    let best = answer.exact.iter().map(|best| {
        let rank = "all".to_owned();
        let none = String::new();
        [rank, none.clone(), best.label.clone(), best.score.to_string(), none]
    });
    let beyond = answer.beyond.iter().map(|found| {
        let known = found.search.as_ref().filter(|facts| facts.in_table);
        let id = known.map_or_else(String::new, |facts| facts.nearest.clone());
        ["new".to_owned(), id, found.label.clone(), found.score.to_string(), String::new()]
    });
    let hits = answer.hits.iter().map(|hit| {
        let Hit { rank, id, label, score, duplicates, .. } = hit;
        let score = score.to_string();
        [rank.to_string(), id.clone(), label.clone(), score, duplicates.join(" ")]
    });
    let quantiles = answer.quantiles.iter().map(|own| own.value.to_string());
    empty.into_iter().chain(best).chain(beyond).chain(hits).map(move |cells: [String; 5]| {
        query.iter().cloned().chain(cells).chain(quantiles.clone()).collect()
    })
}
