//! Answers to texts, as `search` and `predict` print them.

use dsokr_data::InputKind;
use dsokr_data::config::{NumberFeatures, OutputFeatures};
use dsokr_spectra::Spectrum;
use serde::Serialize;

use crate::config::candidate_rule::CandidateRule;
use crate::config::{Abilities, Search};
use crate::decoding::beyond::SearchEnd;
use crate::decoding::decoder::PredictedOutput;
use crate::metrics::table::Table;
use crate::run::{Answer, Hit, Quantile, Run, WantedCandidates};

/// The answer to one query, as JSON.
#[derive(Serialize)]
pub struct Printed<'a> {
    /// The id of the query, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<&'a str>,
    /// The text; none of a vector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<&'a str>,
    /// The probability that the candidates hold a right output, where they are a set of such a one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// The number of distinct candidates of such a set, of which the first alone may be printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_size: Option<usize>,
    #[serde(flatten)]
    pub answer: &'a Answer,
}

/// What a table of answers says of each query besides its id.
#[derive(Clone, Copy)]
enum QueryColumn {
    /// The text.
    Text,
    /// The precursor's m/z of a spectrum.
    PrecursorMz,
    /// Nothing of vectors.
    None,
}

impl QueryColumn {
    /// Returns the column for the inputs of an encoder.
    fn of(abilities: Abilities) -> Self {
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

    /// Returns the cell of a query with this text.
    fn cell(self, text: Option<&str>) -> Option<String> {
        let text = text.unwrap_or_default();
        match self {
            Self::Text => Some(text.to_owned()),
            Self::PrecursorMz => match text.parse::<Spectrum>() {
                Ok(spectrum) => Some(spectrum.precursor_mz().to_string()),
                Err(_) => Some(String::new()),
            },
            Self::None => None,
        }
    }
}

/// Returns how many of the candidates a rule leaves to the query, where it leaves out others; that it leaves none is a caution.
fn competing_line(
    answer: &Answer,
    rule: Option<&CandidateRule>,
    candidates: usize,
) -> Option<String> {
    let count = answer.competing.filter(|&count| 0 < count && count < candidates)?;
    let property = match rule? {
        CandidateRule::Mass(ppm) => format!("the precursor's mass ({ppm} ppm)"),
        CandidateRule::Formula => "the formula of the spectrum".to_owned(),
        CandidateRule::Lists(_)
        | CandidateRule::Queries
        | CandidateRule::Sample { .. }
        | CandidateRule::All => return None,
    };
    let has = if count == 1 { "has" } else { "have" };
    let all = "--candidates all ranks every one";
    Some(format!("{count} of {candidates} candidates {has} {property}; {all}\n"))
}

/// Returns a table for people, behind what is doubtful about the query and how many of the candidates a rule leaves to it. Where
/// none of these is `wanted`, it says so in the place of a table without rows.
pub fn text(
    answer: &Answer,
    rule: Option<&CandidateRule>,
    wanted: Option<&WantedCandidates>,
    candidates: usize,
) -> String {
    let cautions: String =
        answer.cautions.iter().map(|line| format!("caution: {line}\n")).collect();
    let competing = competing_line(answer, rule, candidates).unwrap_or_default();
    let is_empty = answer.hits.is_empty() && answer.exact.is_none() && answer.beyond.is_empty();
    if let Some(wanted) = wanted.filter(|_| is_empty) {
        let none = if wanted.count() == 0 {
            format!("none of {candidates} candidates passes the filter\n")
        } else {
            "no candidate of the query passes the filter\n".to_owned()
        };
        return cautions + &competing + &none;
    }
    let quantile = |Quantile { level, value }: &Quantile| {
        format!("{:>14}  {value}\n", format!("quantile {level}"))
    };
    let quantiles: String = answer.quantiles.iter().map(quantile).collect();
    let further: Vec<&str> = answer.hits.first().into_iter().flat_map(further_names).collect();
    let row = |id: &str, cells: Vec<String>, label: String| {
        std::iter::once(id.to_owned()).chain(cells).chain([label]).collect::<Vec<String>>()
    };
    let no_cells = || vec![String::new(); further.len()];
    let best = answer.exact.iter().map(|best| {
        let numbers = ["all".to_owned(), format!("{:.4}", best.score)];
        (numbers, row("", no_cells(), best.label.clone()))
    });
    let beyond = answer.beyond.iter().map(|output| {
        let numbers = ["new".to_owned(), format!("{:.4}", output.score)];
        (numbers, row("", no_cells(), format!("{}{}", output.label, note(output))))
    });
    let hits = answer.hits.iter().map(|hit| {
        let same = match hit.duplicates.len() {
            0 => String::new(),
            others => format!(" ({} candidates)", others + 1),
        };
        let numbers = [hit.rank.to_string(), format!("{:.4}", hit.score)];
        let cells = hit.columns.iter().map(|(_, cell)| cell.clone()).collect();
        (numbers, row(&hit.id, cells, format!("{}{same}", hit.label)))
    });
    let (numbers, texts): (Vec<_>, Vec<_>) = best.chain(beyond).chain(hits).unzip();
    let numbers = Table::new(["rank", "  score"], 0).with(numbers).text();
    let names: Vec<&str> = ["id"].into_iter().chain(further).chain(["label"]).collect();
    let count = names.len();
    let texts = Table::new(names, count).with(texts).text();
    let line = |(numbers, texts)| format!("{numbers}  {texts}").trim_end().to_owned() + "\n";
    cautions
        + &competing
        + &quantiles
        + &numbers.lines().zip(texts.lines()).map(line).collect::<String>()
}

/// Returns the names of the further columns of a hit.
fn further_names(hit: &Hit) -> impl Iterator<Item = &str> {
    hit.columns.iter().map(|(name, _)| name.as_str())
}

/// Returns how a molecule that a search found compares with the candidates.
fn note(output: &PredictedOutput) -> String {
    let Some(facts) = &output.search else { return String::new() };
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

/// A table of answers: a row for each candidate, behind the cells of its query.
pub struct AnswerTable {
    query: QueryColumn,
    /// The names of the cells of a hit.
    cells: Vec<String>,
    /// The numbers that are predicted as they are, where the data have a column for each.
    numbers: Option<NumberFeatures>,
    levels: Vec<f64>,
    /// Whether candidates are sets of a coverage, whose sizes are a column.
    are_sets: bool,
    /// Whether a rule gives each query its candidates, whose number is a column.
    has_rule: bool,
}

impl AnswerTable {
    /// Creates the table of the answers of a run; with `are_sets` the candidates are sets of a coverage, with `has_rule` each
    /// query has candidates of its own.
    pub fn new(run: &Run, are_sets: bool, has_rule: bool) -> Self {
        let levels = match run.members() {
            [_] => run.config().encoder.abilities().levels.unwrap_or_default(),
            _ => &[],
        };
        let cells = Hit::NAMES.into_iter().chain(run.columns()).map(String::from).collect();
        let query = QueryColumn::of(run.config().encoder.abilities());
        let numbers = match &run.config().output.features {
            OutputFeatures::Numbers(numbers)
                if run.config().decoding.search == Search::Exact && levels.is_empty() =>
            {
                Some(numbers.clone())
            }
            OutputFeatures::Numbers(_)
            | OutputFeatures::File(_)
            | OutputFeatures::Ngrams(_)
            | OutputFeatures::Substructures(_)
            | OutputFeatures::Labels(_)
            | OutputFeatures::Rankings(_)
            | OutputFeatures::Classes(_)
            | OutputFeatures::Molecules(_)
            | OutputFeatures::Graphs(_)
            | OutputFeatures::Source(_) => None,
        };
        Self { query, cells, numbers, levels: levels.to_vec(), are_sets, has_rule }
    }

    /// Returns the names of its columns. The id of a candidate is called `candidate`, since `id` is that of the query.
    pub fn names(&self) -> Vec<String> {
        let of_query = ["id"].into_iter().chain(self.query.name()).map(String::from);
        let cells = self.cells.iter().map(|name| match name.as_str() {
            "id" => "candidate".to_owned(),
            name => name.to_owned(),
        });
        let targets = self.numbers.iter().flat_map(NumberFeatures::targets);
        let numbers = targets.map(|target| format!("predicted {target}"));
        let quantiles = self.levels.iter().map(|level| format!("quantile {level}"));
        let set_size = self.are_sets.then(|| "set_size".to_owned());
        let competing = self.has_rule.then(|| "competing".to_owned());
        let behind = numbers.chain(quantiles).chain(set_size).chain(competing);
        of_query.chain(cells).chain(behind).collect()
    }

    /// Returns the rows of the answer to a query with this id and text, one without a candidate where there is none. The best
    /// of all outputs has the rank `all` and no id; the molecules that a search found, best first, have the rank `new` and,
    /// where they are candidates, their ids. Predicted numbers and quantiles stand in every row, and so do the size of a
    /// set, of which the answer may have the first candidates alone, and the number of candidates that a rule leaves to the query.
    pub fn rows(
        &self,
        id: &str,
        text: Option<&str>,
        answer: &Answer,
        set_size: Option<usize>,
    ) -> Vec<Vec<String>> {
        let mut lines: Vec<Vec<(&str, String)>> = Vec::new();
        if let Some(best) = &answer.exact {
            let label = best.label.clone();
            lines.push(vec![
                ("rank", "all".to_owned()),
                ("label", label),
                ("score", best.score.to_string()),
            ]);
        }
        for molecule in &answer.beyond {
            let candidate = molecule.search.as_ref().filter(|facts| facts.in_table);
            lines.push(vec![
                ("rank", "new".to_owned()),
                ("id", candidate.map_or_else(String::new, |facts| facts.nearest.clone())),
                ("label", molecule.label.clone()),
                ("score", molecule.score.to_string()),
            ]);
        }
        for hit in &answer.hits {
            lines.push(hit.cells().map(|(name, cell)| (name, cell.to_string())).collect());
        }
        if lines.is_empty() {
            lines.push(Vec::new());
        }
        let query: Vec<String> = [id.to_owned()].into_iter().chain(self.query.cell(text)).collect();
        let quantiles: Vec<String> =
            answer.quantiles.iter().map(|quantile| quantile.value.to_string()).collect();
        let numbers = self.numbers_of(answer);
        let set_size =
            self.are_sets.then(|| set_size.map_or_else(String::new, |size| size.to_string()));
        let competing = self
            .has_rule
            .then(|| answer.competing.map_or_else(String::new, |competing| competing.to_string()));
        let row = |named: Vec<(&str, String)>| {
            let cell = |name: &String| {
                let cell = named.iter().find(|(other, _)| other == name);
                cell.map_or_else(String::new, |(_, cell)| cell.clone())
            };
            let cells = self.cells.iter().map(cell);
            let behind = numbers.iter().chain(&quantiles).chain(&set_size).chain(&competing);
            query.iter().cloned().chain(cells).chain(behind.cloned()).collect()
        };
        lines.into_iter().map(row).collect()
    }

    /// Returns the cells of the predicted numbers, which are empty where none are predicted.
    fn numbers_of(&self, answer: &Answer) -> Vec<String> {
        let Some(numbers) = &self.numbers else { return Vec::new() };
        let mut cells = match &answer.exact {
            Some(best) => numbers.numbers(&best.label),
            None => Vec::new(),
        };
        cells.resize(numbers.targets().len(), String::new());
        cells
    }
}
