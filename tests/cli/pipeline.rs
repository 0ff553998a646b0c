use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, copy, json, npy, number};

#[test]
fn a_run_trains_moves_evaluates_and_searches() {
    let sandbox = Sandbox::new();
    let report =
        json(&sandbox.succeed(&["train", "small.toml", "--set", "training.epochs=30", "--json"]));
    assert_eq!(report["split"], "test");
    assert_eq!((number(&report, "queries"), number(&report, "candidates")), (10.0, 80.0));
    for key in ["mrr", "hits@1", "hits@5", "hits@10", "mean_rank", "median_rank", "tied_queries"] {
        number(&report, key);
    }
    // it has learnt something, and no model beats the ceiling by more than chance of ten queries
    assert!(number(&report, "mrr") > 2.0 * number(&report["chance"], "mrr"), "{report}");
    assert!(number(&report["perfect_h"], "mrr") > number(&report, "mrr") - 0.05, "{report}");

    // the directory alone, elsewhere, without the data
    copy(&sandbox.path("runs/small"), &sandbox.path("moved"));
    fs::copy(sandbox.path("data/small/test.tsv"), sandbox.path("any.tsv")).unwrap();
    fs::remove_dir_all(sandbox.path("data")).unwrap();
    fs::remove_dir_all(sandbox.path("runs")).unwrap();
    let again = json(&sandbox.succeed(&["evaluate", "moved", "--queries", "any.tsv", "--json"]));
    for key in ["mrr", "hits@1", "hits@5", "hits@10", "mean_rank", "median_rank", "tied_queries"] {
        assert_eq!(again[key], report[key], "{key}");
    }
    let found = json(&sandbox.succeed(&["search", "moved", "a ring", "--top", "3", "--json"]));
    let candidates = found["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 3);
    assert!(candidates.iter().all(|c| !c["label"].as_str().unwrap().is_empty()));
    let scores: Vec<f64> = candidates.iter().map(|c| c["score"].as_f64().unwrap()).collect();
    assert!(scores.windows(2).all(|w| w[0] >= w[1]));

    // each query against its own list
    let pools: Vec<String> = (70..80)
        .map(|i| format!(r#"{{"query": "o{i}", "candidates": ["o{i}", "o1", "o2"]}}"#))
        .collect();
    sandbox.write("pools.jsonl", &pools.join("\n"));
    let own = [
        "evaluate",
        "moved",
        "--queries",
        "any.tsv",
        "--candidates",
        "pools.jsonl",
        "--json",
        "--ci",
    ];
    let own = json(&sandbox.succeed(&own));
    assert!(number(&own, "mrr") >= number(&report, "mrr"));
    assert_eq!(number(&own, "candidates"), 12.0);
    let interval = own["mrr_ci95"].as_array().unwrap();
    let low = interval[0].as_f64().unwrap();
    let high = interval[1].as_f64().unwrap();
    assert!(low <= number(&own, "mrr") && number(&own, "mrr") <= high);
}

#[test]
fn the_printed_tables_name_model_ceiling_and_chance() {
    let sandbox = Sandbox::new();
    let text = sandbox.succeed(&["train", "small.toml", "--out", "here"]);
    for part in [
        "MRR",
        "Hits@1",
        "Hits@5",
        "Hits@10",
        "mean rank",
        "median rank",
        "model",
        "perfect h",
        "chance",
        "here",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let log = sandbox.read("here/log.jsonl");
    assert_eq!(log.lines().count(), 4);
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(number(&line, "loss") >= number(&line, "residual"));
    }
    // a second run by the same name does not overwrite the first
    sandbox.succeed(&["train", "small.toml", "--quiet"]);
    sandbox.succeed(&["train", "small.toml", "--quiet"]);
    assert!(sandbox.path("runs/small-2/metrics.json").exists());
}

#[test]
fn other_encoders_and_sketches_train_through_the_same_command() {
    let sandbox = Sandbox::new();
    let transformer = [
        "encoder={ kind = \"transformer\", layers = 1, width = 16, heads = 2, feed_forward = 16, max_length = 16 }",
        "sketch.method={ kind = \"sparsified-rademacher\", density = 0.3 }",
        "training.epochs=40",
    ];
    let gaussian = [
        "output.kernel={ name = \"gaussian\", gamma = 0.01 }",
        "sketch.method={ kind = \"subsampling\" }",
        "training.epochs=40",
    ];
    for (i, overrides) in [transformer, gaussian].iter().enumerate() {
        let out = format!("run{i}");
        let mut arguments = vec!["train", "small.toml", "--out", &out, "--json"];
        arguments.extend(overrides.iter().flat_map(|change| ["--set", change]));
        let report = json(&sandbox.succeed(&arguments));
        assert!(number(&report["perfect_h"], "mrr") > 0.2, "{report}");
        assert!(number(&report, "mrr") > 1.5 * number(&report["chance"], "mrr"), "{report}");
        let moved = format!("{out}-moved");
        copy(&sandbox.path(&out), &sandbox.path(&moved));
        sandbox.succeed(&["search", &moved, "a ring of kind HEX"]);
    }
}

#[test]
fn vectors_are_inputs_too() {
    let sandbox = Sandbox::new();
    // a npy matrix, one row an output: the index in eight bits
    let bits = |i: u32| (0..8).map(move |bit| f64::from(i >> bit & 1));
    let bits: Vec<f64> = (0..80).flat_map(bits).collect();
    fs::write(sandbox.path("data/small/bits.npy"), npy(8, &bits)).unwrap();
    let config = sandbox.read("small.toml");
    let head = config.find("[encoder]").unwrap();
    let tail = config.find("[training]").unwrap();
    let inputs =
        "[data.inputs]\nkind = \"features\"\ntable = \"outputs.tsv\"\nfile = \"bits.npy\"\n";
    let encoder = "[encoder]\nkind = \"mlp\"\nhidden = []\n\n";
    sandbox
        .write("vectors.toml", &format!("{}{inputs}{encoder}{}", &config[..head], &config[tail..]));
    let epochs = ["--set", "training.epochs=60", "--set", "training.learning_rate=0.02"];
    let train =
        [&["train", "vectors.toml", "--json", "--set", "evaluation.split=validation"][..], &epochs];
    let report = json(&sandbox.succeed(&train.concat()));
    // stems repeat with the low three bits of the index, so the bits tell a good part of a name
    assert!(number(&report, "mrr") > 2.0 * number(&report["chance"], "mrr"), "{report}");
    sandbox.fail(
        &["search", "runs/vectors", "text"],
        2,
        &["texts", "feature vectors, which this model reads", "predict runs/vectors FILE.npy"],
    );
    sandbox.succeed(&["evaluate", "runs/vectors", "--json"]);
    // predictions of the rows of a matrix, and of a table that names vectors
    let all = sandbox.succeed(&["predict", "runs/vectors", "data/small/bits.npy", "--top", "1"]);
    let all: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((all.len(), &all[70]["id"], all[70].get("query")), (80, &"71".into(), None));
    let test = ["predict", "runs/vectors", "data/small/test.tsv", "--top", "1", "--batch", "3"];
    let test = sandbox.succeed(&test);
    let first = json(&format!("{}\n", test.lines().next().unwrap()));
    assert_eq!((test.lines().count(), &first["id"]), (10, &"o70".into()));
    assert_eq!(first["candidates"][0]["id"], all[70]["candidates"][0]["id"]);
    let embed = ["embed", "runs/vectors", "data/small/test.tsv", "--out", "z.npy"];
    assert!(sandbox.succeed(&embed).contains("10 rows"));
    let column = ["predict", "runs/vectors", "data/small/bits.npy", "--column", "x"];
    sandbox.fail(&column, 2, &["--column", "vectors"]);
}

#[test]
fn a_missing_gold_is_an_error_or_rank_infinity_as_the_configuration_says() {
    let sandbox = Sandbox::new();
    let test = sandbox.read("data/small/test.tsv") + "stranger\ta ring\n";
    sandbox.write("data/small/test.tsv", &test);
    sandbox.fail(&["train", "small.toml"], 2, &["stranger"]);
    assert!(!sandbox.path("runs").exists());
    let change = "evaluation.missing_gold=rank-infinity";
    let report = json(&sandbox.succeed(&["train", "small.toml", "--set", change, "--json"]));
    assert_eq!((number(&report, "queries"), number(&report, "missing_gold")), (11.0, 1.0));
    assert!(report["mean_rank"].is_null());
}

#[test]
fn the_configuration_reference_is_up_to_date() {
    let sandbox = Sandbox::new();
    let printed = sandbox.succeed(&["config-reference"]);
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/book/src/configuration.md");
    let kept = fs::read_to_string(kept).unwrap_or_default();
    assert!(printed == kept, "write it anew: dsokr config-reference > book/src/configuration.md");
}

#[test]
fn the_projects_own_configurations_are_valid() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/configs");
    let mut found = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if let Err(error) = dsokr::Config::load(&path) {
            panic!("{error}");
        }
        found += 1;
    }
    assert!(found >= 3);
}

#[test]
fn the_quickstart_trains_from_any_folder() {
    let sandbox = Sandbox::new();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/quickstart.toml");
    let changes = ["--set", "training.epochs=2", "--set", "sketch.size=50", "--json", "--quiet"];
    let report = json(&sandbox.succeed(&[&["train", config][..], &changes].concat()));
    assert_eq!((number(&report, "queries"), number(&report, "candidates")), (200.0, 2000.0));
    assert!(number(&report, "mrr") > 10.0 * number(&report["chance"], "mrr"), "{report}");
}

#[test]
fn the_quickstart_is_in_the_program() {
    let sandbox = Sandbox::new();
    let report = json(&sandbox.succeed(&["quickstart", "--json", "--quiet"]));
    assert_eq!((number(&report, "queries"), number(&report, "candidates")), (200.0, 2000.0));
    assert!(number(&report, "mrr") > 0.7, "{report}");
    sandbox.succeed(&["search", "runs/quickstart", "a methyl ester"]);
    let again = ["quickstart", "--out", "runs/quickstart"];
    let goes_on = "train configs/quickstart.toml --out runs/quickstart --resume";
    sandbox.fail(&again, 2, &["--out = runs/quickstart, which exists", goes_on]);
    // what a user has changed is not written over
    let test = sandbox.read("datasets/quickstart/test.tsv") + "1\tmore\n";
    sandbox.write("datasets/quickstart/test.tsv", &test);
    sandbox.fail(&["quickstart"], 2, &["test.tsv", "other content"]);
    assert_eq!(sandbox.read("datasets/quickstart/test.tsv"), test);
}
