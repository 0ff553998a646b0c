//! A search beyond the candidates by several models, and with a reranker: molecules have the scores that they have
//! as candidates.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use crate::beyond::SETTINGS;
use crate::molecules::sandbox;
use crate::sandbox::{Sandbox, json, number};

/// Two members of different kernels and sketches.
const ENSEMBLE: &str = r#"
[ensemble]
combination = { name = "mean", standardise = false, weights = [0.3, 0.7] }
[[ensemble.members]]
name = "rounds"
[[ensemble.members]]
name = "paths"
output.features.graph = { name = "shortest-path", edge_labels = true }
sketch.size = 60
"#;

/// A kernel machine with a reranker.
const RIDGE: &str = r#"[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "characters", min = 1, max = 3, lowercase = false }] }
kernel = { name = "cosine" }
solver = { name = "closed-form" }
lambda = 1e-3

[decoding]
reranker = { candidates = 30, neighbours = 7, folds = 4, held_out_folds = 4 }
"#;

fn with_ensemble() -> Sandbox {
    let sandbox = sandbox();
    let config = sandbox.read("molecules.toml");
    let config = config.replace("iterations = 2", "iterations = 2, edge_labels = true");
    sandbox.write("molecules.toml", &format!("name = \"several\"\n{config}{ENSEMBLE}"));
    sandbox
}

fn asked(sandbox: &Sandbox, runs: &[&str], text: &str, more: &[&str]) -> Value {
    sandbox.write("text.txt", text);
    let predict = [&["predict"], runs, &["text.txt", "--top", "117"], more].concat();
    let answer = sandbox.succeed(&predict);
    sandbox.write("answer.jsonl", &answer);
    json(&answer)
}

/// The hit of a candidate.
fn hit<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let hits = answer["candidates"].as_array().unwrap().iter();
    let is_it = |hit: &&Value| {
        let others = hit["duplicates"].as_array().into_iter().flatten();
        hit["id"] == id || others.into_iter().any(|other| other == id)
    };
    hits.into_iter().find(is_it).unwrap_or_else(|| panic!("{id} in {answer}"))
}

/// The id of what a search has found, as a candidate.
fn new_id(answer: &Value) -> String {
    format!("new:{}", answer["beyond"][0]["label"].as_str().unwrap())
}

/// Mean and deviation of the scores of all candidates of a member.
fn scale(answer: &Value) -> (f64, f64) {
    let hits = answer["candidates"].as_array().unwrap().iter();
    let scores: Vec<f64> = hits
        .flat_map(|hit| {
            let count = 1 + hit["duplicates"].as_array().map_or(0, Vec::len);
            std::iter::repeat_n(number(hit, "score"), count)
        })
        .collect();
    assert_eq!(scores.len(), 117);
    let mean = scores.iter().sum::<f64>() / 117.0;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / 117.0;
    (mean, variance.sqrt())
}

#[test]
fn an_ensemble_scores_new_molecules_as_candidates() {
    let sandbox = with_ensemble();
    let set = format!("decoding.beyond={{{SETTINGS}}}");
    let train = ["train", "molecules.toml", "--json", "--set", &set];
    let report = json(&sandbox.succeed(&train));
    assert!(number(&report["beyond"], "exact") > 0.0, "{report}");
    // the run keeps the settings that it was trained with
    let again = json(&sandbox.succeed(&["evaluate", "runs/several", "--json"]));
    assert_eq!(again["beyond"], report["beyond"]);
    let members = ["runs/several/members/rounds", "runs/several/members/paths"];
    let text = "NCCCCC#N";
    let member = |at: usize| asked(&sandbox, &members[at..=at], text, &[]);
    assert!(
        number(&again["beyond"], "tanimoto") > number(&again["beyond"]["candidates"], "tanimoto")
    );

    let scales: Vec<(f64, f64)> = (0..2).map(|at| scale(&member(at))).collect();
    let own = asked(&sandbox, &["runs/several"], text, &["--beyond"]);
    let weights = ["--beyond", "--combine", "mean", "--weights", "0.3,0.7"];
    let standard = asked(&sandbox, &members, text, &weights);
    let max = asked(&sandbox, &members, text, &["--beyond", "--combine", "max", "--plain"]);
    // all are added, by what was found
    let line = |answer: &Value| {
        assert_eq!(answer["beyond"][0]["in_table"], false, "{answer}");
        let first = serde_json::json!({"query": text, "beyond": [answer["beyond"][0]]});
        format!("{first}\n")
    };
    sandbox.write("found.jsonl", &[&own, &standard, &max].map(line).concat());
    sandbox.succeed(&["candidates", "add", "runs/several", "found.jsonl", "--found"]);
    let after = asked(&sandbox, &["runs/several"], text, &["--beyond"]);
    let scored = [member(0), member(1)];
    let check = |answer: &Value, combined: &dyn Fn([f64; 2]) -> f64| {
        let score = number(&answer["beyond"][0], "score");
        let id = new_id(answer);
        let expected = combined([0, 1].map(|at| number(hit(&scored[at], &id), "score")));
        assert!((score - expected).abs() < 1e-5, "{answer} {expected}");
    };
    check(&own, &|[first, second]| 0.3 * first + 0.7 * second);
    check(&max, &|[first, second]| first.max(second));
    let standard_score = |score: f64, at: usize| (score - scales[at].0) / scales[at].1;
    check(&standard, &|[first, second]| {
        0.3 * standard_score(first, 0) + 0.7 * standard_score(second, 1)
    });
    let found = &own["beyond"][0];
    let hit = hit(&after, &new_id(&own));
    assert!((number(hit, "score") - number(found, "score")).abs() < 1e-5, "{hit} {found}");
    let again = &after["beyond"][0];
    assert_eq!((&again["label"], &again["in_table"]), (&found["label"], &true.into()));
    let ranks = ["predict", members[0], members[1], "text.txt", "--combine", "rank", "--beyond"];
    sandbox.fail(&ranks, 2, &["\"rank\"", "above all of these tie"]);
    let rank = "ensemble.combination={name=\"rank\"}";
    let train = ["train", "molecules.toml", "--set", &set, "--set", rank, "--out", "runs/none"];
    sandbox.fail(&train, 2, &["ensemble.combination.name", "decoding.beyond"]);
}

#[test]
fn a_reranker_orders_new_molecules_as_candidates() {
    let sandbox = sandbox();
    let config = sandbox.read("molecules.toml");
    let config = config.replace("iterations = 2", "iterations = 2, edge_labels = true");
    let start = config.find("[encoder]").unwrap();
    let end = config.find("[evaluation]").unwrap();
    let config = format!("{}{RIDGE}\n{}", &config[..start], &config[end..]);
    sandbox.write("molecules.toml", &config.replace("size = 40", "size = 100"));
    let set = format!("decoding.beyond={{{SETTINGS}}}");
    let train = ["train", "molecules.toml", "--json", "--set", &set];
    let report = json(&sandbox.succeed(&train));
    assert!(number(&report["beyond"], "outside") > 0.0, "{report}");

    // a beam of one molecule, and as the only start the best candidate: the best of the two by the reranker
    let mut new = 0;
    let texts = ["CCCCCO", "NCCCCCN", "C=CCCC=O", "c1ccccc1CCO", "OCCCF"];
    let more = ["NCCCCF", "OCCCCC#N", "C#CCCC", "CC(C)CCN", "OCC(F)CC=O"];
    for text in texts.into_iter().chain(more) {
        sandbox.write("text.txt", text);
        let one = ["--beyond=beam=1,starts=1"];
        let answer = asked(&sandbox, &["runs/molecules"], text, &one);
        let found = &answer["beyond"][0];
        let first = &answer["candidates"][0];
        if found["in_table"] == true {
            assert_eq!(found["nearest"], first["id"], "{found} {first}");
            continue;
        }
        new += 1;
        let copied = format!("runs/copy{new}");
        crate::sandbox::copy(&sandbox.path("runs/molecules"), &sandbox.path(&copied));
        sandbox.succeed(&["candidates", "add", &copied, "answer.jsonl", "--found"]);
        let after = asked(&sandbox, &[&copied], text, &one);
        let own = hit(&after, &new_id(&answer));
        assert!((number(own, "score") - number(found, "score")).abs() < 1e-5, "{own} {found}");
        assert!(
            number(own, "score") >= number(hit(&after, first["id"].as_str().unwrap()), "score")
        );
    }
    assert!(new > 0);
}

#[test]
fn what_was_found_is_added_once() {
    let sandbox = with_ensemble();
    let config = sandbox.read("molecules.toml");
    let config = config.replace("size = 40", "size = 100");
    sandbox.write("molecules.toml", &config[..config.find("[ensemble]").unwrap()]);
    sandbox.succeed(&["train", "molecules.toml", "--quiet"]);
    sandbox.write("texts.txt", "OCCCCC#N\nC#CCCC\nOCCCCC#N\nNCCCCF\n");
    let predict = ["predict", "runs/several", "texts.txt", "--beyond=rounds=2", "--top", "2"];
    sandbox.write("found.jsonl", &sandbox.succeed(&predict));
    let table = [&predict[..], &["--format", "tsv"]].concat();
    sandbox.write("found.tsv", &sandbox.succeed(&table));
    let add = |file: &str, more: &[&str]| {
        let add = ["candidates", "add", "runs/several", file, "--found", "--out", "added.tsv"];
        sandbox.succeed(&[&add[..], more].concat())
    };
    let lines = add("found.jsonl", &["--dry-run"]);
    let table = [&predict[..], &["--format", "csv"]].concat();
    sandbox.write("found.csv", &sandbox.succeed(&table));
    for file in ["found.jsonl", "found.tsv"] {
        let packed = std::fs::File::create(sandbox.path(&format!("{file}.gz"))).unwrap();
        let mut packed = GzEncoder::new(packed, Compression::fast());
        packed.write_all(sandbox.read(file).as_bytes()).unwrap();
        packed.finish().unwrap();
    }
    for file in ["found.tsv", "found.csv", "found.jsonl.gz", "found.tsv.gz"] {
        assert_eq!(lines, add(file, &["--dry-run"]), "{file}");
    }
    let found = sandbox.read("found.jsonl");
    let own = |line: &str| json(line)["beyond"].as_array().unwrap().clone();
    let found: Vec<Value> = found.lines().flat_map(own).collect();
    assert_eq!(found[..2], found[4..6]);
    let new: std::collections::BTreeSet<String> = found
        .iter()
        .filter(|own| own["in_table"] == false)
        .map(|own| format!("new:{}", own["label"].as_str().unwrap()))
        .collect();
    assert!(!new.is_empty(), "{found:?}");
    let summary = json(&add("found.tsv", &["--json"]));
    assert_eq!(summary["added"], new.len(), "{summary}");
    assert!(summary["repeated"][0].as_str().unwrap().contains("found for 1, "), "{summary}");
    let added = sandbox.read("added.tsv");
    assert!(new.iter().all(|id| added.contains(&format!("{id}\t"))), "{added}");
    // they are candidates now
    let again = ["candidates", "add", "runs/several", "found.tsv", "--found"];
    sandbox.fail(&again, 2, &["new candidates", "none"]);
    sandbox.write("plain.jsonl", &sandbox.succeed(&["predict", "runs/several", "texts.txt"]));
    let plain = ["candidates", "add", "runs/several", "plain.jsonl", "--found"];
    sandbox.fail(&plain, 2, &["line 1", "without a search"]);
}
