use std::path::PathBuf;

use crate::sandbox::Sandbox;

/// The folder of development data, if it is there.
fn data(test: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data");
    let root = std::env::var_os("DSOKR_DATA").map_or(PathBuf::from(default), PathBuf::from);
    if root.join("chebi20").is_dir() {
        return Some(root);
    }
    eprintln!("skipped: {test}: no chebi20 under {} (set DSOKR_DATA)", root.display());
    None
}

fn config(name: &str) -> String {
    format!("{}/configs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn one_epoch_on_chebi20_beats_chance_by_far() {
    let Some(root) = data("one_epoch_on_chebi20_beats_chance_by_far") else { return };
    let sandbox = Sandbox::new();
    let root = root.canonicalize().unwrap();
    let report = sandbox.succeed(&[
        "train",
        &config("chebi20-ngram.toml"),
        "--quiet",
        "--json",
        "--data",
        root.to_str().unwrap(),
        "--set",
        "training.epochs=1",
        "--set",
        "sketch.size=50",
    ]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["candidates"], 33_010);
    assert_eq!(report["duplicate_candidates"], 33_010 - 28_066);
    assert!(report["mrr"].as_f64().unwrap() > 0.05, "{report}");
}

#[test]
fn the_official_layout_trains() {
    let Some(root) = data("the_official_layout_trains") else { return };
    let sandbox = Sandbox::new();
    let sample = std::fs::read_to_string(root.join("chebi20/official_format_sample.txt")).unwrap();
    let lines: Vec<&str> = sample.lines().collect();
    for (file, rows) in [("train.txt", &lines[..150]), ("val.txt", &lines[150..])] {
        sandbox.write(&format!("data/small/{file}"), &(rows.join("\n") + "\n"));
    }
    sandbox.write(
        "official.toml",
        r#"
        data = { source = "official", folder = "small", train = "train.txt", validation = "val.txt" }
        output = { kernel = { name = "cosine" } }
        sketch = { size = 40 }
        encoder = { kind = "ngram-bag", hidden = [] }
        training = { epochs = 1 }
        "#,
    );
    let report = sandbox.succeed(&["train", "official.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["queries"], &report["candidates"]), (&50.into(), &200.into()));
}
