//! What is one entry of one list is in every place that shows it.

use std::collections::BTreeSet;
use std::fs;

use dsokr::data::TextFeatures;
use dsokr::data::config::{DataConfig, InputsConfig, OutputFeatures, OutputSource};
use dsokr::data::table::{TABLE_FORMATS, TextFormat};
use dsokr::decode::RANK_METRICS;
use dsokr::machines::Loss;
use dsokr::train::LossConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::sandbox::{Sandbox, json};

#[test]
fn every_metric_of_ranks_is_wherever_metrics_are() {
    let sandbox = Sandbox::new();
    let report = sandbox.train("small.toml", &["logging.tensorboard=true"]);
    sandbox.train("small.toml", &["seed=1"]);
    let text = sandbox.succeed(&["evaluate", "runs/small"]);
    let evaluated = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
    let compare = ["compare", "runs/small", "runs/small-2"];
    let compared = sandbox.succeed(&compare);
    let compared_json = json(&sandbox.succeed(&[&compare[..], &["--json"]].concat()));
    let stored: Value = serde_json::from_str(&sandbox.read("runs/small/metrics.json")).unwrap();
    let log = sandbox.read("runs/small/log.jsonl");
    let log: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let card = sandbox.read("runs/small/README.md");
    let reference = sandbox.succeed(&["config-reference"]);
    let mut events = Vec::new();
    for file in fs::read_dir(sandbox.path("runs/small/tensorboard")).unwrap() {
        events.extend(fs::read(file.unwrap().path()).unwrap());
    }
    let events = String::from_utf8_lossy(&events);
    for metric in &RANK_METRICS {
        let name = metric.name;
        for (place, metrics) in [
            ("train --json", &report),
            ("evaluate --json", &evaluated),
            ("metrics.json", &stored),
            ("log.jsonl", &log["metrics"]),
        ] {
            let found = metrics.get(name).or(metrics["metrics"].get(name));
            assert!(found.is_some_and(Value::is_number), "{place} lacks {name}: {metrics}");
        }
        let intervals = &stored["intervals"];
        assert!(intervals[name].is_array(), "no interval of {name}: {intervals}");
        let all = compared_json["metrics"].as_array().unwrap();
        assert!(all.iter().any(|one| one["metric"] == *name), "compare --json lacks {name}");
        for (place, shown) in [("compare", &compared), ("the card", &card)] {
            assert!(shown.contains(name) || shown.contains(metric.title), "{place} lacks {name}");
        }
        assert!(events.contains(&format!("validation/{name}")), "TensorBoard lacks {name}");
        assert!(reference.contains(&format!("`\"{name}\"`")), "the reference lacks {name}");
        if metric.in_tables {
            assert!(text.contains(metric.title), "evaluate lacks {name}: {text}");
        }
    }
    #[cfg(feature = "serve")]
    {
        let served = crate::served::Served::start(&sandbox, &["runs/small"]);
        let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
        let shown = models["models"][0]["metrics"].as_array().unwrap();
        for metric in &RANK_METRICS {
            assert!(
                shown.iter().any(|one| one["name"] == metric.name),
                "{}: {models}",
                metric.name
            );
        }
    }
}

#[test]
fn every_format_of_tables_is_wherever_formats_are() {
    let sandbox = Sandbox::new();
    let help = sandbox.succeed(&["predict", "--help"]);
    let inputs = help.split("possible values: lines, ").nth(1).expect("the values of --input");
    let inputs = inputs.split(']').next().unwrap_or_default();
    let inputs: Vec<String> = inputs.split(',').map(|name| name.trim().to_owned()).collect();
    sandbox.write("table.xyz", "a,b\n");
    let output = sandbox.run(&["init", "table.xyz"]);
    let refused = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut seen = BTreeSet::new();
    for format in TABLE_FORMATS {
        for extension in format.extensions {
            assert!(seen.insert(extension), "two formats have the extension {extension}");
            assert!(refused.contains(&format!(".{extension}")), "{extension}: {refused}");
            for name in [format!("a.{extension}"), format!("a.{}.gz", extension.to_uppercase())] {
                assert_eq!(TextFormat::from_path(name.as_ref()), format.rows, "{name}");
            }
        }
        let name = format.name();
        let is_named = inputs.iter().any(|input| input == name);
        assert_eq!(is_named, format.is_text(), "predict --input: {inputs:?}, {name}");
    }
}

/// The names that a tagged type has, as the error for another one lists them.
fn names<T: DeserializeOwned>(tag: &str) -> BTreeSet<String> {
    let other = serde_json::json!({ tag: "of no kind" });
    let error = serde_json::from_value::<T>(other).err().expect("it is no name").to_string();
    let listed = error.split("expected one of").nth(1).expect("a list of names");
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A loss of a distance is one form, which kernel machines and training compute: each list has all of them.
#[test]
fn every_loss_of_a_distance_is_in_both_lists() {
    let machines = names::<Loss>("name");
    let training = names::<LossConfig>("name");
    let of_vectors = BTreeSet::from(["pinball".to_owned()]);
    let of_batches = BTreeSet::from(["softmax".to_owned(), "contrastive".to_owned()]);
    assert!(machines.is_superset(&of_vectors) && training.is_superset(&of_batches));
    let of_distances: BTreeSet<_> = machines.difference(&of_vectors).collect();
    assert!(of_distances.len() >= 4, "{of_distances:?}");
    assert_eq!(of_distances, training.difference(&of_batches).collect());
}

/// The kinds that are taken, and those that the message about another one lists, in quotation marks.
fn taken_and_listed<'k>(
    kinds: &'k BTreeSet<String>,
    key: &str,
    check: impl Fn(&str) -> Result<(), dsokr::data::Error>,
) -> (BTreeSet<&'k str>, BTreeSet<String>) {
    let mut taken = BTreeSet::new();
    let mut listed = BTreeSet::new();
    for kind in kinds {
        match check(kind) {
            Ok(()) => {
                taken.insert(kind.as_str());
            }
            Err(error) => {
                let message = error.to_string();
                let (found, allowed) = message.split_once(": expected ").expect("what is allowed");
                assert!(found.starts_with(key), "{kind}: {message}");
                listed = allowed.split('"').skip(1).step_by(2).map(str::to_owned).collect();
            }
        }
    }
    (taken, listed)
}

#[test]
fn kinds_that_are_taken_are_those_that_the_message_about_another_one_lists() {
    let graph = "graph = { name = \"weisfeiler-lehman\", iterations = 3 }";
    let features = |kind: &str| -> OutputFeatures {
        let keys = match kind {
            "file" => "file = \"a.npy\"".to_owned(),
            "graphs" => format!("file = \"a.jsonl\"\n{graph}"),
            "molecules" => format!("column = \"c\"\n{graph}"),
            "ngrams" => "column = \"c\"\nmin = 1\nmax = 2".to_owned(),
            "rankings" => "column = \"c\"\nembedding = \"kemeny\"".to_owned(),
            "substructures" => "column = \"c\"\ncount = { name = \"composition\" }".to_owned(),
            "source" => String::new(),
            _ => "column = \"c\"".to_owned(),
        };
        toml::from_str(&format!("kind = \"{kind}\"\n{keys}")).expect("the keys of the kind")
    };
    let pool = |inputs: &str| -> DataConfig {
        let keys =
            "source = \"pool\"\nfolder = \"a\"\nfile = \"a.csv\"\nsplits = { validation = 1 }";
        toml::from_str(&format!("{keys}\ninputs = {{ {inputs} }}")).expect("a pool")
    };
    let kinds = names::<OutputFeatures>("kind");
    assert!(kinds.len() >= 10, "{kinds:?}");
    let of_texts = |kind: &str| TextFeatures::validate(&features(kind), "features");
    let ngrams = features("ngrams");
    let of_several = |kind: &str| {
        let other = features(kind);
        let outputs = OutputSource {
            table: None,
            id: "id",
            label: None,
            further: &[],
            candidate: None,
            only_training: false,
            features: &ngrams,
            summands: vec![&ngrams, &other],
        };
        pool("").validate_outputs(&outputs)
    };
    let (taken, listed) = taken_and_listed(&kinds, "features.kind", of_texts);
    assert!(taken.iter().eq(&listed), "{taken:?} {listed:?}");
    let key = "output.kernels[1].features.kind";
    let (taken, listed) = taken_and_listed(&kinds, key, of_several);
    assert!(taken.iter().eq(&listed), "{taken:?} {listed:?}");

    let of_pools = |kind: &str| {
        let keys = match kind {
            "features" => ", table = \"t.csv\", file = \"a.npy\"",
            "graphs" => ", file = \"a.jsonl\", column = \"c\"",
            "kernels" => ", table = \"t.csv\", column = \"c\", files = [\"k.npy\"]",
            _ => "",
        };
        pool(&format!("kind = \"{kind}\"{keys}")).validate()
    };
    let kinds = names::<InputsConfig>("kind");
    let (taken, listed) = taken_and_listed(&kinds, "data.inputs.kind", of_pools);
    assert!(taken.iter().eq(&listed), "{taken:?} {listed:?}");
}
