//! The folder that `dsokr export` writes, as other programs load it.

use std::fs;
use std::process::Command;

use dsokr::data::{Split, read_matrix};
use dsokr::{Member, Run};
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::pretrained::model;
use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox};

/// Texts that a tokenizer of at most 12 tokens truncates, and the empty one.
pub const TEXTS: [&str; 4] = [
    "a ring of kind METH",
    "",
    "an open chain of kind OCT and class ANAL of kind OCT a ring",
    "ring",
];

/// Trains a small model, and exports it into `tuned`.
fn exported(changes: &[&str]) -> (Sandbox, Member) {
    let sandbox = Sandbox::new();
    model(&sandbox);
    let sets = changes.iter().flat_map(|change| ["--set", *change]);
    sandbox.succeed(
        &["train", "small.toml", "--out", "run"].into_iter().chain(sets).collect::<Vec<_>>(),
    );
    sandbox.succeed(&["export", "run", "--out", "tuned"]);
    let run = Member::open(sandbox.path("run")).unwrap();
    (sandbox, run)
}

/// The coordinates that the run ranks candidates by.
fn coordinates(run: &Member) -> Vec<Vec<f32>> {
    let unit = run.config.decoding.unit_length();
    let row = |text: &str| {
        let z = run.coordinates(&Split::texts(vec![text.into()])).unwrap();
        let length = z.iter().map(|v| v * v).sum::<f32>().sqrt();
        z.iter().map(|v| if unit { v / length } else { *v }).collect()
    };
    TEXTS.into_iter().map(row).collect()
}

fn read(sandbox: &Sandbox, file: &str) -> Value {
    serde_json::from_str(&sandbox.read(file)).unwrap()
}

#[test]
fn the_layout_is_that_of_sentence_transformers() {
    let (sandbox, run) = exported(&["encoder.pooling=\"first\"", "decoding.normalise=true"]);
    let modules = read(&sandbox, "tuned/modules.json");
    let place = |module: &Value| (module["path"].clone(), module["type"].clone());
    let expected = [
        ("", "Transformer"),
        ("1_Pooling", "Pooling"),
        ("2_Dense", "Dense"),
        ("3_Normalize", "Normalize"),
    ];
    let expected = expected
        .map(|(path, class)| (json!(path), json!(format!("sentence_transformers.models.{class}"))));
    assert_eq!(modules.as_array().unwrap().iter().map(place).collect::<Vec<_>>(), expected);
    assert_eq!(read(&sandbox, "tuned/sentence_bert_config.json")["max_seq_length"], 12);
    let pooling = read(&sandbox, "tuned/1_Pooling/config.json");
    assert_eq!(
        (&pooling["pooling_mode_cls_token"], &pooling["pooling_mode_mean_tokens"]),
        (&json!(true), &json!(false))
    );
    let dense = read(&sandbox, "tuned/2_Dense/config.json");
    assert_eq!(dense["activation_function"], "torch.nn.modules.linear.Identity");

    // never over the run's own files
    sandbox.fail(&["export", "run", "--out", "run"], 2, &["run", "a run directory"]);

    // the head, transposed
    let inputs = dense["in_features"].as_u64().unwrap() as usize;
    let outputs = dense["out_features"].as_u64().unwrap() as usize;
    let own = fs::read(sandbox.path("run/encoder.safetensors")).unwrap();
    let written = fs::read(sandbox.path("tuned/2_Dense/model.safetensors")).unwrap();
    let own = SafeTensors::deserialize(&own).unwrap();
    let written = SafeTensors::deserialize(&written).unwrap();
    let own = own.tensor("encoder.head.weight").unwrap();
    let linear = written.tensor("linear.weight").unwrap();
    assert_eq!((own.shape(), linear.shape()), (&[inputs, outputs][..], &[outputs, inputs][..]));
    let at = |bytes: &[u8], k: usize| bytes[4 * k..4 * k + 4].to_vec();
    for (i, j) in [(0, 0), (0, 1), (inputs - 1, outputs - 2)] {
        assert_eq!(at(own.data(), i * outputs + j), at(linear.data(), j * inputs + i));
    }
    assert_eq!(written.tensor("linear.bias").unwrap().shape(), [outputs]);

    // the candidates, one row each
    let points = read_matrix(&sandbox.path("tuned/candidates.npy")).unwrap();
    assert_eq!((points.nrows(), points.ncols()), (run.candidates.len(), outputs));
    let lines = sandbox.read("tuned/candidates.tsv");
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!((lines[0], lines.len()), ("id\tlabel", run.candidates.len() + 1));
    for candidate in [0, 41, 79] {
        let id = run.candidates.id(candidate);
        let label = run.candidates.label(candidate);
        assert_eq!(lines[candidate + 1], format!("{id}\t{label}"));
        let row = run.candidates.class_of(candidate) as usize * outputs;
        assert_eq!(points[(candidate, 1)] as f32, run.candidates.coordinates().unwrap()[row + 1]);
    }
    let constants = fs::read(sandbox.path("tuned/constants.npy")).unwrap();
    assert!(constants.starts_with(b"\x93NUMPY\x01\x00"));
    assert_eq!(constants.len(), 128 + 4 * run.candidates.len());
}

/// For each folder, writes z of the texts and then the scores of all candidates, one JSON array a line.
const SCRIPT: &str = "
import json, sys
import numpy as np
from sentence_transformers import SentenceTransformer
texts, *folders = sys.argv[1:]
for folder in folders:
    z = SentenceTransformer(folder, device='cpu').encode(json.loads(texts))
    scores = z @ np.load(folder + '/candidates.npy').T + np.load(folder + '/constants.npy')
    for row in [*z, *scores]:
        print(json.dumps(row.tolist()))
";

/// The Python of DSOKR_PYTHON, else python3, where it has a module; else a line says that the test is skipped.
pub fn python_with(module: &str, test: &str) -> Option<Command> {
    let python = std::env::var("DSOKR_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if found.is_ok_and(|output| output.status.success()) {
        let mut command = Command::new(python);
        command.env("HF_HUB_OFFLINE", "1");
        return Some(command);
    }
    eprintln!("skipped: {test}: no Python with {module} (set DSOKR_PYTHON)");
    None
}

#[test]
fn sentence_transformers_returns_the_coordinates_of_the_run() {
    let test = "sentence_transformers_returns_the_coordinates_of_the_run";
    let Some(mut python) = python_with("sentence_transformers", test) else { return };
    let cases: [&[&str]; 4] = [
        &[],
        &["encoder.pooling=\"weighted-mean\"", "encoder.prompt=\"an open \""],
        &["encoder.pooling=\"first\"", "decoding.normalise=true", "output.power=0.5"],
        &["encoder.pooling=\"max\"", "decoding.hubs={folds=2, neighbours=[2]}"],
    ];
    let runs = cases.map(exported);
    let folders = runs.iter().map(|(sandbox, _)| sandbox.path("tuned"));
    let texts = json!(TEXTS).to_string();
    let output = python.args(["-c", SCRIPT, &texts]).args(folders).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<f32>> =
        rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 2 * TEXTS.len() * cases.len());
    for (((sandbox, run), rows), changes) in
        runs.iter().zip(rows.chunks(2 * TEXTS.len())).zip(cases)
    {
        let searched = Run::open(sandbox.path("run")).unwrap();
        let (z, scores) = rows.split_at(TEXTS.len());
        for (expected, found) in coordinates(run).iter().zip(z) {
            assert_eq!(expected.len(), found.len());
            let apart = expected.iter().zip(found).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 2e-5, "{changes:?}: {apart}");
        }
        // a search refuses the empty text
        for (text, scores) in TEXTS.iter().zip(scores).filter(|(text, _)| !text.is_empty()) {
            let best = &searched.search(text, 1).unwrap().hits[0];
            let candidate = run.candidates.find(&best.id).unwrap();
            let largest = scores.iter().copied().fold(f32::MIN, f32::max);
            assert!((largest - best.score).abs() < 2e-5, "{changes:?}: {text}");
            assert!((scores[candidate] - largest).abs() < 2e-5, "{changes:?}: {text}");
        }
    }
}

/// The rows of candidates-l2.npy nearest to (z, 0) are the candidates with the largest scores.
#[test]
fn candidates_are_exported_for_searches_by_distance() {
    let sandbox = Sandbox::new();
    for (kernel, scaled) in [("ngram", false), ("linear", false), ("ngram", true)] {
        let change = format!("output.kernel={{name=\"{kernel}\"}}");
        let normalise = format!("decoding.normalise={scaled}");
        let kernel = if scaled { "scaled" } else { kernel };
        let train = ["train", "small.toml", "--set", &change, "--set", &normalise, "--out", kernel];
        sandbox.succeed(&train);
        sandbox.fail(
            &["export", kernel, "--candidates", "--out", kernel],
            2,
            &[kernel, "a run directory"],
        );
        sandbox.succeed(&["export", kernel, "--candidates", "--out", "found"]);
        let searched = Run::open(sandbox.path(kernel)).unwrap();
        let run = &searched.members()[0];
        let vectors = read_matrix(&sandbox.path("found/candidates-l2.npy")).unwrap();
        let points = read_matrix(&sandbox.path("found/candidates.npy")).unwrap();
        assert_eq!((vectors.nrows(), vectors.ncols()), (run.candidates.len(), points.ncols() + 1));
        let mut z = run.coordinates(&Split::texts(vec!["a ring of kind METH".into()])).unwrap();
        let length = z.iter().map(|z| z * z).sum::<f32>().sqrt();
        if scaled {
            assert!((length - 1.0).abs() > 1e-3, "{length}");
            z.iter_mut().for_each(|z| *z /= length);
        }
        let distance = |c: usize| {
            let apart = |(j, z): (usize, f64)| (vectors[(c, j)] - z).powi(2);
            z.iter().map(|&z| f64::from(z)).chain([0.0]).enumerate().map(apart).sum::<f64>()
        };
        let distances: Vec<f64> = (0..run.candidates.len()).map(distance).collect();
        let hits = searched.search("a ring of kind METH", run.candidates.len()).unwrap().hits;
        // the linear kernel has constants of candidates
        let constants = run.candidates.constants();
        assert_eq!(constants.iter().all(|&constant| constant == 0.0), kernel != "linear");
        // one constant turns distances into scores
        let scores = |id: &str| -distances[run.candidates.find(id).unwrap()] / 2.0;
        let constant = f64::from(hits[0].score) - scores(&hits[0].id);
        for hit in &hits {
            let apart = (f64::from(hit.score) - scores(&hit.id) - constant).abs();
            assert!(apart < 1e-5, "{kernel}: {apart}");
        }
    }
}

#[test]
fn usearch_finds_the_candidates_of_the_exact_search() {
    let test = "usearch_finds_the_candidates_of_the_exact_search";
    let Some(mut python) = python_with("usearch", test) else { return };
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run"]);
    sandbox.succeed(&["export", "run", "--candidates", "--out", "found"]);
    sandbox.succeed(&["embed", "run", "data/small/test.tsv", "--out", "z.npy"]);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/usearch/recall.py");
    let arguments = [program.into(), sandbox.path("found"), sandbox.path("z.npy")];
    let output = python.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let says = String::from_utf8(output.stdout).unwrap();
    let recall = says.rsplit(' ').next().unwrap().trim().parse::<f64>().unwrap();
    assert!(says.contains("recall@10") && recall > 0.95, "{says}");
}

#[test]
fn a_refused_export_names_the_others() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let others = ["not read from a pretrained folder", "--archive FILE", "--candidates", "--onnx"];
    sandbox.fail(&["export", "run", "--out", "new"], 2, &others);
    sandbox.fail(&["export", "run"], 2, &["--out = none", "--archive FILE"]);
    sandbox.write("machine.toml", &CONFIG.replace(BAG, RIDGE));
    sandbox.succeed(&["train", "machine.toml", "--quiet", "--out", "machine"]);
    let others = [
        "encoder.kind = \"kernel-machine\"",
        "expected a neural encoder that ONNX can express",
        "--archive FILE writes any run as one file, and --candidates the candidates of any run",
    ];
    sandbox.fail(&["export", "machine", "--onnx", "--out", "new"], 2, &others);
}
