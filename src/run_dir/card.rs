//! The card of a run's directory: what the run is, how good it is, and how it is used.

use std::fmt::Write;

use dsokr_core::message::{before_argument, shell_word, shorten_to};
use dsokr_data::InputKind;
use dsokr_data::config::OutputFeatures;
use dsokr_decode::PoolSizes;

use super::Report;
use crate::config::Checked;
use crate::error::Error;
use crate::metrics::metric::Metric;
use crate::metrics::queries::queries_text;
use crate::metrics::table::Table;

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
