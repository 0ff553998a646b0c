//! The card of a run: what it is, how good it is, and how it is used.

use std::fmt::Write;

use dsokr_data::InputKind;

use super::Report;
use crate::config::Checked;
use crate::table::Table;
use crate::{Error, Metric};

/// Markdown with YAML front matter, made from a configuration and the report on it, if there is one. Runs
/// of equal configurations and reports have equal cards, wherever they lie.
///
/// # Errors
/// As [`Checked::to_toml`].
pub(crate) fn card(config: &Checked, report: Option<&Report>) -> Result<String, Error> {
    let toml = config.to_toml()?;
    Ok(format!(
        "{}\n{}\n{}\n{}\n## Configuration\n\n{}",
        front_matter(config, report)?,
        summary(config, report),
        data(config),
        usage(config),
        fenced("toml", &toml)
    ))
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
        let _ = writeln!(text, "queries: {}", report.metrics.ranks.queries);
        let _ = writeln!(text, "candidates: {}\nmetrics:", report.metrics.ranks.candidates);
        for (metric, value) in Metric::known_of(&report.metrics) {
            let _ = writeln!(text, "  {}:\n    value: {}", quoted(metric.name()), number(value));
            if let Some([low, high]) = report.intervals.get(metric.name()) {
                let _ = writeln!(text, "    ci95: [{}, {}]", number(*low), number(*high));
            }
        }
    }
    Ok(text + "---\n")
}

/// A number with a point and without an exponent, which all versions of YAML read as one.
fn number(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') { text } else { text + ".0" }
}

/// A text as a double-quoted scalar of YAML and a string of JSON. Characters that are not printable in YAML,
/// and the line breaks of Unicode, which YAML 1.1 folds, are escaped.
fn quoted(text: &str) -> String {
    let folded = ['\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];
    let escaped = |c: char| match c.is_control() || folded.contains(&c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.into(),
    };
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn summary(config: &Checked, report: Option<&Report>) -> String {
    let members =
        config.ensemble.as_ref().map_or(String::new(), |_| "An ensemble of models. ".into());
    let mut text = format!(
        "# {}\n\n{members}A model of dsokr {} that maps {} to structured outputs: encoder {}, output kernel {}, seed {}.\n",
        config.name,
        env!("CARGO_PKG_VERSION"),
        config.data.facts().inputs,
        code(config.encoder.kind()),
        code(&config.output.kernel_name()),
        config.seed
    );
    let Some(report) = report else {
        return text + "\nThe model has not been evaluated yet: its training has not ended.\n";
    };
    let ranks = &report.metrics.ranks;
    let row = |(metric, value): (Metric, f64)| {
        let interval = report.intervals.get(metric.name());
        let interval = interval.map(|[low, high]| format!("{low:.4} to {high:.4}"));
        let chance = metric.known(&report.chance).map(|value| format!("{value:.4}"));
        let [interval, chance] = [interval, chance].map(|cell| cell.unwrap_or_else(|| "–".into()));
        [metric.title().to_owned(), format!("{value:.4}"), interval, chance]
    };
    let names = ["metric", "value", "95 % interval", "chance"];
    let table = Table::new(names, 1).with(Metric::known_of(&report.metrics).map(row));
    let _ = write!(
        text,
        "\nMetrics of the {} split, {} queries among {} candidates, with 95 % intervals by a bootstrap over \
         queries:\n\n{}",
        report.split,
        ranks.queries,
        ranks.candidates,
        table.markdown()
    );
    text
}

fn data(config: &Checked) -> String {
    let (source, folder) = (config.data.source.name(), config.data.facts().folder);
    let place = match folder {
        "" => "no files: they are drawn by the seed".to_string(),
        folder => format!("files in the folder {} of the data root", code(folder)),
    };
    let licence = match &config.data.licence {
        Some(licence) => code(licence),
        None => format!("unknown; {} names it", code("data.licence")),
    };
    format!("## Data\n\n- source: {}, {place}\n- licence: {licence}\n", code(source))
}

fn usage(config: &Checked) -> String {
    let folder = config.data.facts().folder;
    let (root, place) = match folder {
        "" => ("", String::new()),
        _ => (
            " --data DATA",
            format!(" {} is the data root, which holds {}.", code("DATA"), code(folder)),
        ),
    };
    let (rust, python) = match config.ensemble {
        None => ("let run = dsokr::Run::open(\".\".as_ref())?;\n", "dsokr.Model.load(\".\")"),
        Some(_) => (
            "let device = dsokr::device::Processor::Cpu.open()?;\n\
             let run = dsokr::EnsembleRun::open(&[\".\".into()], &device)?;\n",
            "dsokr.Ensemble.load([\".\"])",
        ),
    };
    let [search, found, hits] = match (config.data.facts().inputs, &config.ensemble) {
        (InputKind::Texts, _) => [
            "dsokr search . \"a text\"",
            "let answer = run.search(\"a text\", 5)?;\n",
            "model.search(\"a text\", k=5)\n",
        ],
        (InputKind::Vectors | InputKind::Kernels, None) => [
            "dsokr predict . FILE",
            "let z = run.coordinates(&run.read_queries(\"FILE\".as_ref(), None, None)?)?;\n",
            "",
        ],
        (InputKind::Vectors | InputKind::Kernels, Some(_)) => ["dsokr predict . FILE", "", ""],
    };
    let shell = format!(
        "dsokr train config.toml{root} --out ../again      # trains it again\n{search}\n\
         dsokr evaluate .{root}\n"
    );
    format!(
        "## Use\n\nIn this folder, with the command, from Rust and from Python.{place}\n\n{}\n{}\n{}",
        fenced("sh", &shell),
        fenced("rust", &format!("{rust}{found}")),
        fenced("python", &format!("import dsokr\n\nmodel = {python}\n{hits}"))
    )
}

/// A block of code; its fence is longer than any run of backticks inside.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_ticks(text).max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// A text as code inside a line.
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
