//! Runs have the same bits for any number of threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::sandbox::{Sandbox, json};

/// One thread's bits are compared with those of so many; the other tests run with the machine's number.
const THREADS: &str = "7";

/// Drawn data of sizes at which products and decompositions would be cut for several threads.
const DRAWN: [&str; 8] = [
    "data.train=300",
    "data.validation=60",
    "data.test=60",
    "data.inputs=200",
    "data.outputs=200",
    "sketch.size=130",
    "evaluation.split=validation",
    "training.epochs=1",
];

/// Sizes of the quickstart's data at which a run takes less than a second.
const QUICK: [&str; 3] = ["sketch.size=60", "encoder.lambda=1e-5", "evaluation.split=validation"];

/// What a command prints with so many threads.
fn with_threads(sandbox: &Sandbox, threads: &str, arguments: &[&str]) -> String {
    let mut command = sandbox.command(arguments);
    let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{threads} threads: {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The files of a run by name, but records with dates and the optimiser's tensors, which have no order.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(run).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap().to_owned();
        if entry.file_type().unwrap().is_dir() {
            let below = files(&entry.path());
            all.extend(below.into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else if name == "metrics.json" {
            let mut record: serde_json::Value =
                serde_json::from_slice(&fs::read(entry.path()).unwrap()).unwrap();
            record.as_object_mut().unwrap().remove("date").unwrap();
            all.insert(name, record.to_string().into_bytes());
        } else if !["log.jsonl", "fingerprints.safetensors", "last.safetensors"]
            .contains(&name.as_str())
        {
            all.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    all
}

/// Trains a configuration of the project and evaluates the run, with one thread and with several.
fn assert_same(config: &str, changes: &[&str]) {
    let sandbox = Sandbox::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(config);
    let sets: Vec<&str> = changes.iter().flat_map(|change| ["--set", *change]).collect();
    let run = |threads: &'static str| {
        let train = ["train", path.to_str().unwrap(), "--quiet", "--out", threads];
        let arguments = [&train[..], &sets].concat();
        with_threads(&sandbox, threads, &arguments);
        files(&sandbox.path(threads))
    };
    let evaluate = ["evaluate", "1", "--split", "validation", "--json"];
    let first = run("1");
    assert!(first.len() > 3, "{:?}", first.keys());
    let report = json(&with_threads(&sandbox, "1", &evaluate));
    let other = run(THREADS);
    assert!(first.keys().eq(other.keys()), "{config}: {:?} {:?}", first.keys(), other.keys());
    for (file, bytes) in &first {
        assert!(*bytes == other[file], "{config}: {file} differs with {THREADS} threads");
    }
    assert_eq!(json(&with_threads(&sandbox, THREADS, &evaluate)), report, "{config}");
}

#[test]
fn drawn_data_and_networks() {
    assert_same("synthetic.toml", &DRAWN);
    assert_same("corrupted.toml", &[&DRAWN[..], &["data.train=600"]].concat());
}

#[test]
fn learned_embeddings() {
    let embedding = [
        "encoder.lambda=[0.1, 1.0]",
        "encoder.predictions.ranks=[5, 50]",
        "encoder.predictions.supervised=[1.0, 0.5]",
        "data.unlabelled=100",
    ];
    assert_same("output-embedding.toml", &[&DRAWN[..], &embedding].concat());
    assert_same("reduced-rank.toml", &[&DRAWN[..], &embedding[..2]].concat());
}

#[test]
fn kernel_machines() {
    assert_same("quickstart-averaged.toml", &QUICK);
    assert_same("quickstart-conjugate-gradients.toml", &QUICK);
    let quantiles = "encoder.solver.sketch.size=100";
    assert_same("quantiles.toml", &["encoder.lambda=1e-4", quantiles]);
    assert_same("graphs.toml", &["encoder.lambda=1e-4"]);
    assert_same("rankings.toml", &["encoder.lambda=1e-4"]);
}

#[test]
fn encoders_of_texts() {
    let small = ["training.epochs=1", "sketch.size=60", "evaluation.split=validation"];
    assert_same("quickstart.toml", &small);
    let transformer = [
        "encoder.width=32",
        "encoder.heads=2",
        "encoder.feed_forward=64",
        "encoder.layers=1",
        "encoder.max_length=16",
        "data.limit=400",
    ];
    let transformer = [&small[..], &transformer].concat();
    assert_same("quickstart-transformer.toml", &transformer);
    let narrow = ["encoder.precision=\"bf16\""];
    assert_same("quickstart-transformer.toml", &[&transformer[..], &narrow].concat());
}
