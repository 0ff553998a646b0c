//! The report on a trained run, as a table and as the card of its directory: what it is, how good it is, and how it is
//! used.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dsokr_core::message::{before_argument, shell_word, shorten_to};
use dsokr_data::config::OutputFeatures;
use dsokr_data::{InputKind, SplitName};
use dsokr_decode::PoolSizes;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::metrics_table::metrics_table;
use super::{METRICS, check_format, read_json};
use crate::config::Checked;
use crate::error::Error;
use crate::metrics::evaluation::SharedCandidates;
use crate::metrics::metric::Metric;
use crate::metrics::queries::queries_text;
use crate::metrics::scores::{OutputScores, Scores};
use crate::metrics::table::Table;

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
fn candidates_text(m: &Scores) -> String {
    match m.candidates_per_query {
        None => format!("{} candidates ({} duplicates)", m.candidates, m.duplicate_candidates),
        Some(PoolSizes { least, most, .. }) if least == most => format!(
            "{least} candidates each (in all {}, {} duplicates)",
            m.candidates, m.duplicate_candidates
        ),
        Some(PoolSizes { least, median, most }) => format!(
            "{least} to {most} candidates each (median {median}; in all {}, {} duplicates)",
            m.candidates, m.duplicate_candidates
        ),
    }
}

/// Returns one line of text with the numbers of queries and candidates.
pub fn counts_line(split: &str, m: &Scores) -> String {
    let candidates = candidates_text(m);
    let queries = queries_text(m.queries);
    let tied = queries_text(m.tied_queries);
    let mut line = format!("{split}: {queries} against {candidates}, {tied} tied");
    // other outputs are compared as what they are, without ranks
    let is_ranked = match &m.outputs {
        Some(
            OutputScores::Labels(_)
            | OutputScores::Rankings(_)
            | OutputScores::Numbers(_)
            | OutputScores::Classes(_),
        ) => m.has_ranks(),
        Some(OutputScores::Molecules(_)) | None => true,
    };
    if m.missing_gold > 0 && is_ranked {
        let _ = write!(line, ", {} counted with rank infinity", m.missing_gold);
    }
    line + "\n"
}

/// A query that the card of a run shows with its first answers.
#[derive(Debug)]
pub(crate) enum CardQuery {
    /// A text.
    Text(String),
    /// The name of a validation query whose input nobody types, such as a spectrum or a vector.
    Named(String),
}

/// What a trained model answers to an example, for the card of its run.
#[derive(Debug)]
pub(crate) struct CardExample {
    /// The query.
    pub query: CardQuery,
    /// The answers.
    pub answers: CardAnswers,
}

/// The answers to an example on the card of a run.
#[derive(Debug)]
pub(crate) enum CardAnswers {
    /// The first answers, in the order of a search.
    Listed(Vec<CardAnswer>),
    /// The level and the value of each predicted quantile.
    Quantiles(Vec<[String; 2]>),
}

/// An answer as a search lists it.
#[derive(Debug)]
pub(crate) struct CardAnswer {
    /// The rank of a candidate; `all` of the best of all outputs, and `new` of a molecule that was found beyond the
    /// candidates.
    pub rank: String,
    /// The score.
    pub score: f64,
    /// The id of a candidate; else empty.
    pub id: String,
    /// The label; empty of a candidate that has none.
    pub label: String,
}

/// Returns the card as Markdown with YAML front matter, made from a configuration, the report on it and an example, if there
/// are any. Runs of equal configurations and reports have equal cards, wherever they lie.
///
/// # Errors
/// As [`Checked::to_toml`].
pub(super) fn card(
    config: &Checked,
    report: Option<&Report>,
    example: Option<&CardExample>,
) -> Result<String, Error> {
    let toml = config.to_toml()?;
    Ok(format!(
        "{}\n{}\n{}{}\n{}\n## Configuration\n\n{}",
        front_matter(config, report)?,
        summary(config, report),
        example.map(example_section).unwrap_or_default(),
        data(config),
        usage(config, example),
        fenced("toml", &toml)
    ))
}

/// The most characters of an answer on the card.
const LONGEST_ANSWER: usize = 200;

fn example_section(example: &CardExample) -> String {
    let CardExample { query, answers } = example;
    let query = match query {
        CardQuery::Text(text) => {
            format!("The first answers to this text:\n\n{}", fenced("text", text))
        }
        CardQuery::Named(name) => {
            format!("The first answers to the query {} of the validation split:\n", code(name))
        }
    };
    let table = answers_table(answers).markdown();
    format!("## Example\n\n{query}\n{table}\n")
}

fn answers_table(answers: &CardAnswers) -> Table {
    match answers {
        CardAnswers::Listed(answers) => {
            let cell = |text: &str| match text {
                "" => String::new(),
                text => code(&shorten_to(text, LONGEST_ANSWER)),
            };
            let row = |CardAnswer { rank, score, id, label }: &CardAnswer| {
                [rank.clone(), format!("{score:.4}"), cell(id), cell(label)]
            };
            Table::new(["rank", "score", "id", "label"], 0).with(answers.iter().map(row))
        }
        CardAnswers::Quantiles(quantiles) => {
            let row =
                |[level, value]: &[String; 2]| [code(&format!("quantile {level}")), value.clone()];
            Table::new(["quantile", "value"], 1).with(quantiles.iter().map(row))
        }
    }
}

/// What outputs are called that no kind of features tells.
const OTHER_OUTPUTS: &str = "outputs of a table";

/// Returns the kind of the outputs, in words.
fn outputs_text(config: &Checked) -> &'static str {
    let kind = |features: &OutputFeatures| match features {
        OutputFeatures::Molecules(_) | OutputFeatures::Substructures(_) => "molecules",
        OutputFeatures::Graphs(_) => "graphs",
        OutputFeatures::Labels(_) => "sets of labels",
        OutputFeatures::Classes(_) => "classes",
        OutputFeatures::Rankings(_) => "rankings",
        OutputFeatures::Numbers(_) => "numbers",
        OutputFeatures::File(_) | OutputFeatures::Ngrams(_) | OutputFeatures::Source(_) => {
            OTHER_OUTPUTS
        }
    };
    let kernels = config.output.kernels.iter().map(|kernel| &kernel.features);
    // of several kernels, one tells it
    let mut kinds = kernels.chain([&config.output.features]).map(kind);
    kinds.find(|kind| *kind != OTHER_OUTPUTS).unwrap_or(OTHER_OUTPUTS)
}

fn front_matter(config: &Checked, report: Option<&Report>) -> Result<String, Error> {
    let source = config.data.source.name();
    let licence = config.data.licence.as_deref().unwrap_or("unknown");
    let mut text = format!(
        "---\nname: {}\nlibrary_name: \"dsokr\"\nversion: {}\nseed: {}\ndata:\n  source: {}\n  folder: {}\n  \
         licence: {}\nconfiguration:\n  file: \"config.toml\"\n  fingerprint: {}\nencoder: {}\n",
        quoted(&config.name),
        quoted(env!("CARGO_PKG_VERSION")),
        config.seed,
        quoted(source),
        quoted(config.data.facts().folder),
        quoted(licence),
        quoted(&config.fingerprint()?),
        quoted(config.encoder.kind()),
    );
    if let Some(report) = report {
        let _ = writeln!(text, "split: {}", quoted(&report.split.to_string()));
        let ranks = &report.metrics.ranks;
        let _ = writeln!(text, "queries: {}\ncandidates: {}", ranks.queries, ranks.candidates);
        if let Some(groups) = report.groups {
            let _ = writeln!(text, "groups: {groups}");
        }
        if let Some(PoolSizes { least, median, most }) = ranks.candidates_per_query {
            let _ = writeln!(
                text,
                "candidates_per_query:\n  least: {least}\n  median: {median}\n  most: {most}"
            );
        }
        text += "metrics:\n";
        for (metric, value) in Metric::measured_in(&report.metrics) {
            let _ = writeln!(text, "  {}:\n    value: {}", quoted(metric.name()), number(value));
            if let Some([low, high]) = report.intervals.get(metric.name()) {
                let _ = writeln!(text, "    ci95: [{}, {}]", number(*low), number(*high));
            }
        }
    }
    Ok(text + "---\n")
}

/// Returns a number with a point and without an exponent, which all versions of YAML read as one.
fn number(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// Returns a text as a double-quoted scalar of YAML and a string of JSON. Characters that are not printable in YAML,
/// and the line breaks of Unicode, which YAML 1.1 folds, are escaped.
fn quoted(text: &str) -> String {
    let folded = ['\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];
    let escaped = |c: char| {
        if c.is_control() || folded.contains(&c) {
            format!("\\u{:04x}", u32::from(c))
        } else {
            c.into()
        }
    };
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn summary(config: &Checked, report: Option<&Report>) -> String {
    let members =
        config.ensemble.as_ref().map_or(String::new(), |_| "An ensemble of models. ".into());
    let mut text = format!(
        "# {}\n\n{members}A model of dsokr {} that maps {} to {}: encoder {}, output kernel {}, seed {}.\n",
        config.name,
        env!("CARGO_PKG_VERSION"),
        if config.encoder.abilities().spectra {
            "mass spectra".to_owned()
        } else {
            config.data.facts().inputs.to_string()
        },
        outputs_text(config),
        code(config.encoder.kind()),
        code(&config.output.kernel_name()),
        config.seed
    );
    let Some(report) = report else {
        return text + "\nThe model has not been evaluated yet: its training has not ended.\n";
    };
    let row = |(metric, value): (Metric, f64)| {
        let places = metric.places(value);
        let interval = report.intervals.get(metric.name());
        let interval = interval.map(|[low, high]| format!("{low:.places$} to {high:.places$}"));
        let chance = metric.measured(&report.chance);
        let chance = chance.map(|value| format!("{value:.0$}", metric.places(value)));
        let [interval, chance] = [interval, chance].map(|cell| cell.unwrap_or_else(|| "–".into()));
        [metric.title().to_owned(), format!("{value:.places$}"), interval, chance]
    };
    let names = ["metric", "value", "95 % interval", "chance"];
    let table = Table::new(names, 1).with(Metric::measured_in(&report.metrics).map(row));
    let how = match report.groups {
        None => "with 95 % intervals by a bootstrap over queries".to_owned(),
        Some(1) => "of one group, which has no intervals".to_owned(),
        Some(groups) if report.intervals.is_empty() => {
            format!("of {groups} groups, without intervals")
        }
        Some(groups) => {
            format!("with 95 % intervals by a bootstrap over {groups} groups of queries")
        }
    };
    let _ = write!(
        text,
        "\nMetrics of the {} split, {} among {}, {how}:\n\n{}",
        report.split,
        queries_text(report.metrics.ranks.queries),
        report.candidates_text(),
        table.markdown()
    );
    if let Some(caution) = &report.caution {
        let _ = writeln!(text, "\nMind that {caution}.");
    }
    text
}

fn data(config: &Checked) -> String {
    let source = config.data.source.name();
    let facts = config.data.facts();
    let trained_on = code(&facts.trained_on());
    let place = match facts.folder {
        "" => "no files: they are drawn by the seed".to_owned(),
        folder if folder.starts_with("./") => {
            format!("{trained_on}, next to the configuration that the training was given")
        }
        folder if folder == facts.trained_on() => {
            format!("files in the folder {trained_on} of the data root")
        }
        folder => format!("{trained_on} in the folder {} of the data root", code(folder)),
    };
    let licence = match &config.data.licence {
        Some(licence) => code(licence),
        None => format!("unknown; {} names it", code("data.licence")),
    };
    format!("## Data\n\n- source: {}, {place}\n- licence: {licence}\n", code(source))
}

/// Lines of Rust that predict coordinates for the queries of a file.
const COORDINATES: &str = "let model = &run.members()[0];\nlet z = model.coordinates(&model.read_queries(\"FILE\".as_ref(), None, None)?)?;\n";

fn usage(config: &Checked, example: Option<&CardExample>) -> String {
    let facts = config.data.facts();
    let data = code("DATA");
    let (root, place) = match facts.folder {
        "" => ("", String::new()),
        folder if folder.starts_with("./") => (
            " --data DATA",
            format!(" {data} is the folder that holds {}.", code(&facts.trained_on())),
        ),
        folder => {
            (" --data DATA", format!(" {data} is the data root, which holds {}.", code(folder)))
        }
    };
    let rust = "let run = dsokr::Run::open(\".\")?;\n";
    let python = match config.ensemble {
        None => "dsokr.Model.load(\".\")",
        Some(_) => "dsokr.Ensemble.load([\".\"])",
    };
    let evaluate = format!("dsokr evaluate .{root} --queries FILE");
    let text = match example.map(|example| &example.query) {
        Some(CardQuery::Text(text)) => text.as_str(),
        Some(CardQuery::Named(_)) | None => "a text",
    };
    let lines = |commands: [&str; 3]| commands.map(str::to_owned);
    let [shell_search, rust_search, python_search] =
        match (config.data.facts().inputs, &config.ensemble) {
            (InputKind::Texts, _) if config.encoder.abilities().spectra => lines([
                "dsokr search . \"$(cat spectrum.mgf)\"",
                "let answer = run.search(&std::fs::read_to_string(\"spectrum.mgf\")?, 5)?;\n",
                "model.search(open(\"spectrum.mgf\").read(), k=5)\n",
            ]),
            (InputKind::Texts, _) => [
                format!("dsokr search . {}{}", before_argument(text), shell_word(text)),
                format!("let answer = run.search({text:?}, 5)?;\n"),
                format!("model.search({}, k=5)\n", quoted(text)),
            ],
            (InputKind::Vectors, None) => lines(["dsokr predict . FILE", COORDINATES, ""]),
            (InputKind::Kernels, None) => lines([&evaluate, COORDINATES, ""]),
            (InputKind::Vectors, Some(_)) => lines(["dsokr predict . FILE", "", ""]),
            (InputKind::Kernels, Some(_)) => lines([&evaluate, "", ""]),
        };
    let shell = format!(
        "dsokr train config.toml{root} --out ../again      # trains it again\n{shell_search}\n\
         dsokr evaluate .{root}\n"
    );
    format!(
        "## Use\n\nIn this folder, with the command, from Rust and from Python.{place}\n\n{}\n{}\n{}",
        fenced("sh", &shell),
        fenced("rust", &format!("{rust}{rust_search}")),
        fenced("python", &format!("import dsokr\n\nmodel = {python}\n{python_search}"))
    )
}

/// Returns a block of code; its fence is longer than any run of backticks inside.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_ticks(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// Returns a text as code inside a line.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match longest_ticks(&text) {
        0 => format!("`{text}`"),
        ticks => {
            let fence = "`".repeat(ticks + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}
