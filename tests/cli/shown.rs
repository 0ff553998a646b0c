//! Walks from an entry of a list to every place that shows it: each metric, and each cell of a hit, in what the command
//! prints and writes, in exports, on pages and over HTTP.

use std::collections::BTreeSet;

use dsokr::decode::RANK_METRICS;
use dsokr::{Metric, Scores};
use serde_json::Value;

use crate::sandbox::{Sandbox, json};
use crate::tensorboard::scalars;
use crate::{classes, label_outputs, molecules, quantiles};

/// A run of small data, by the configuration `config`.
struct Case {
    name: &'static str,
    sandbox: Sandbox,
    config: &'static str,
    /// What only an evaluation with an option measures.
    option: &'static [&'static str],
}

/// Runs that have all metrics together.
fn cases() -> Vec<Case> {
    let case = |name, sandbox, config| Case { name, sandbox, config, option: &[] };
    let labels = label_outputs::sandbox(label_outputs::LABELS, "tanimoto");
    let rankings = label_outputs::sandbox(label_outputs::HAMMING, "hamming");
    let molecules = molecules::sandbox();
    // MCES is measured where right outputs are candidates
    let all_candidates = molecules.read("molecules.toml").replace("only_training = true\n", "");
    molecules.write("molecules.toml", &all_candidates);
    let numbers = classes::sandbox();
    numbers.write("numbers.toml", &classes::numbers());
    vec![
        Case { option: &["--mces"], ..case("molecules", molecules, "molecules.toml") },
        case("labels", labels, "small.toml"),
        case("rankings", rankings, "small.toml"),
        case("classes", classes::sandbox(), "table.toml"),
        case("numbers", numbers, "numbers.toml"),
        case("quantiles", quantiles::sandbox(), "small.toml"),
    ]
}

/// The metrics that JSON of scores has, with their values.
fn measured(scores: &Value) -> Vec<(Metric, f64)> {
    let scores: Scores = serde_json::from_value(scores.clone()).unwrap();
    Metric::measured_in(&scores).collect()
}

/// A number with each count of decimal places that it may be shown with: errors have four digits, and whole numbers all of
/// theirs.
fn digits(value: f64) -> impl Iterator<Item = String> {
    let least = if value >= 1000.0 { 0 } else { 1 };
    (least..=6).map(move |places| format!("{value:.places$}"))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

impl Case {
    fn command(&self, arguments: &[&str]) -> String {
        self.sandbox.succeed(arguments)
    }

    /// Trains the run, and looks for each metric in what shows it; the names of all.
    fn walk(&self) -> BTreeSet<&'static str> {
        let logged = ["--set", "logging.tensorboard=true"];
        let train = ["train", self.config, "--out", "run", "--quiet"];
        self.command(&[&train[..], &logged].concat());
        let evaluate = [&["evaluate", "run", "--report", "report"][..], self.option].concat();
        let evaluated = json(&self.command(&[&evaluate[..], &["--json"]].concat()));
        let all = measured(&evaluated);

        self.look_in_texts(&all, &self.command(&[&evaluate[..], &["--ci"]].concat()));
        self.look_in_report(&all);

        let stored = measured(&parsed(&self.sandbox.read("run/metrics.json")));
        let names = |metrics: &[(Metric, f64)]| -> BTreeSet<&str> {
            metrics.iter().map(|(metric, _)| metric.name()).collect()
        };
        let of_option: BTreeSet<&str> = names(&all).difference(&names(&stored)).copied().collect();
        assert_eq!(of_option.len(), self.option.len(), "{}: {of_option:?}", self.name);
        self.look_in_card(&stored);
        self.look_in_tensorboard();
        self.look_in_comparisons(&stored);
        self.look_in_sweep(&stored);
        #[cfg(feature = "serve")]
        self.look_in_server(&stored);
        names(&all)
    }

    #[track_caller]
    fn assert(&self, holds: bool, metric: Metric, place: &str, text: &str) {
        assert!(holds, "no {metric} of {} in {place}:\n{text}", self.name);
    }

    /// Every metric has its interval in the text, but for a rank correlation of which all draws are 1, and its column in the tables
    /// unless the list says otherwise.
    fn look_in_texts(&self, all: &[(Metric, f64)], text: &str) {
        for &(metric, value) in all {
            // errors have four digits, and whole numbers all of theirs
            let least = if value >= 1000.0 { 0 } else { 1 };
            let title = metric.title();
            let has_interval = |places: usize| {
                text.contains(&format!("{title} {value:.places$}, 95 % interval ["))
            };
            let has_no_interval = metric.name() == "spearman" && value == 1.0;
            let is_in_text = has_no_interval || (least..=6).any(has_interval);
            self.assert(is_in_text, metric, "the text", text);
            let rank_metric = RANK_METRICS.iter().find(|entry| entry.name == metric.name());
            if rank_metric.is_none_or(|entry| entry.in_tables) {
                let tables = text.split(", 95 % interval").next().unwrap();
                let has = |places: usize| tables.contains(&format!(" {value:.places$}"));
                self.assert((least..=6).any(has), metric, "the tables", text);
            }
        }
    }

    fn look_in_report(&self, all: &[(Metric, f64)]) {
        let written = measured(&parsed(&self.sandbox.read("report/metrics.json")));
        assert_eq!(written, all, "{}", self.name);
        let page = self.sandbox.read("report/report.html");
        for &(metric, value) in all {
            let head = format!("<tr><td>{}</td><td class=\"number\">", metric.title());
            let has = |digits: String| page.contains(&format!("{head}{digits}</td><td>"));
            self.assert(digits(value).any(has), metric, "the page of the report", &page);
        }
    }

    fn look_in_card(&self, stored: &[(Metric, f64)]) {
        let card = self.sandbox.read("run/README.md");
        for &(metric, value) in stored {
            let head = format!("  \"{}\":\n    value: {value}", metric.name());
            self.assert(card.contains(&head), metric, "the head of the card", &card);
            let has = |digits: String| {
                let row = format!("| {} | {digits} |", metric.title());
                card.lines().any(|line| line.starts_with(&row))
            };
            self.assert(digits(value).any(has), metric, "the card", &card);
        }
    }

    /// The tags of an evaluation are the metrics of its line in the log.
    fn look_in_tensorboard(&self) {
        let log = self.sandbox.read("run/log.jsonl");
        let line = parsed(log.lines().last().unwrap());
        let step = line["step"].as_u64().unwrap();
        let (tags, _) = scalars(&self.sandbox, "run/tensorboard");
        for (metric, value) in measured(&line["metrics"]) {
            let tag = (step, format!("validation/{metric}"), value as f32);
            self.assert(tags.contains(&tag), metric, "TensorBoard", &format!("{tags:?}"));
        }
    }

    fn look_in_comparisons(&self, stored: &[(Metric, f64)]) {
        let compare = |format: &str| self.command(&["compare", "run", "run", "--format", format]);
        let csv = compare("csv");
        let found = json(&compare("json"));
        let found = found["metrics"].as_array().unwrap();
        let texts = [compare("text"), compare("markdown")];
        let latex = compare("latex");
        for &(metric, value) in stored {
            let is_metric = |entry: &&Value| entry["metric"] == metric.name();
            let entry = found.iter().find(is_metric).unwrap_or_else(|| panic!("no {metric}"));
            assert_eq!(entry["runs"][1]["value"].as_f64(), Some(value), "{entry}");
            let row = format!("{metric},{},run,{value}", metric.larger_is_better());
            self.assert(csv.contains(&row), metric, "the CSV of a comparison", &csv);
            let arrow = if metric.larger_is_better() { "↑" } else { "↓" };
            for text in &texts {
                let name = format!("{metric} {arrow}");
                self.assert(text.contains(&name), metric, "a comparison", text);
            }
            self.assert(
                latex.contains(metric.title()),
                metric,
                "the LaTeX of a comparison",
                &latex,
            );
        }
        assert_eq!(found.len(), stored.len(), "{}", self.name);
    }

    fn look_in_sweep(&self, stored: &[(Metric, f64)]) {
        let sweep = ["sweep", self.config, "--grid", "seed=0", "--out", "sweep", "--quiet"];
        let markdown = self.command(&sweep);
        let csv = self.sandbox.read("sweep/sweep.csv");
        let heading: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        for &(metric, _) in stored {
            self.assert(heading.contains(&metric.name()), metric, "sweep.csv", &csv);
            let cell = format!("| {metric} |");
            self.assert(markdown.contains(&cell), metric, "the table of a sweep", &markdown);
        }
    }

    #[cfg(feature = "serve")]
    fn look_in_server(&self, stored: &[(Metric, f64)]) {
        let served = crate::served::Served::start(&self.sandbox, &["run"]);
        let described = parsed(&served.get("/api/models").body);
        let shown = described["models"][0]["metrics"].as_array().unwrap();
        let expected = stored.iter().map(|(metric, value)| (metric.name(), metric.title(), *value));
        let cells = |entry: &Value| {
            let text = |key: &str| entry[key].as_str().unwrap().to_owned();
            (text("name"), text("title"), entry["value"].as_f64().unwrap())
        };
        let shown: Vec<(String, String, f64)> = shown.iter().map(cells).collect();
        let expected: Vec<(String, String, f64)> = expected
            .map(|(name, title, value)| (name.to_owned(), title.to_owned(), value))
            .collect();
        assert_eq!(shown, expected, "{}", self.name);
    }
}

/// An entry of the list of metrics that no run measures, or that a place does not show, fails.
#[test]
fn every_metric_is_in_every_place_that_shows_metrics() {
    let shown: BTreeSet<&str> = cases().iter().flat_map(Case::walk).collect();
    let all: BTreeSet<&str> = Metric::all().map(Metric::name).collect();
    assert_eq!(shown, all);
}
