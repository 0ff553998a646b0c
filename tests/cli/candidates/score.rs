//! Scores of molecules that are not candidates.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use dsokr::core::Processes;
use dsokr::data::config::OnBadRow;
use dsokr::data::table::all_extensions;
use dsokr::decode::StorageType;
use dsokr::run::{NewCandidates, Run, add_candidates, shard_candidates};

use super::{NGRAMS, RIDGE, SKETCH, sandbox, write};
use crate::sandbox::{Sandbox, copy, json};

const QUERY: &str = "a ring of kind METH and class ANE";
const MORGAN: &str = r#"features = { kind = "substructures", column = "smiles", count = { name = "morgan" } }
kernel = { name = "tanimoto" }"#;
const RERANKER: &str = "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=2}";
const HUBS: &str = "decoding.hubs={weights=[0.5], neighbours=[3]}";

fn open(sandbox: &Sandbox, runs: &[&str]) -> Run {
    let paths: Vec<PathBuf> = runs.iter().map(|run| sandbox.path(run)).collect();
    Run::open_all(&paths, &Device::flex()).unwrap()
}

/// Trains a run with the old candidates alone.
fn train(sandbox: &Sandbox, out: &str, settings: &[&str]) {
    let mut arguments = vec!["train", "run.toml", "--out", out];
    let old = "output.candidate.column=\"old\"";
    settings.iter().chain(&[old]).for_each(|setting| arguments.extend(["--set", *setting]));
    sandbox.succeed(&arguments);
}

fn add(run: &Path, table: &Path) {
    let new = NewCandidates::Table { table, files: &[] };
    add_candidates(run, new, false, |_| Ok(())).unwrap();
}

/// The score of the candidate with an id in a search among all candidates.
fn found(run: &Run, id: &str) -> f64 {
    let answer = run.search(QUERY, run.candidates()).unwrap();
    let is_it = |hit: &&dsokr::run::Hit| {
        hit.id == id || hit.duplicates.iter().any(|duplicate| duplicate == id)
    };
    f64::from(answer.hits.iter().find(is_it).unwrap().score)
}

#[test]
fn a_molecule_has_the_score_that_it_would_have_as_a_candidate() {
    let sandbox = sandbox();
    write(&sandbox, "smiles", MORGAN, SKETCH, RIDGE);
    train(&sandbox, "plain", &[]);
    train(&sandbox, "second", &["sketch.size=8"]);
    train(&sandbox, "hubs", &[HUBS]);
    train(&sandbox, "reranker", &["sketch.size=4", RERANKER]);
    let table = sandbox.read("new.tsv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let smiles_at = rows[0].iter().position(|name| *name == "smiles").unwrap();

    for runs in
        [&["plain"][..], &["hubs"], &["reranker"], &["plain", "second"], &["hubs", "reranker"]]
    {
        let before = open(&sandbox, runs);
        let smiles: Vec<&str> = rows[1..].iter().map(|row| row[smiles_at]).collect();
        let texts = vec![QUERY; smiles.len()];
        // constants of hubs are computed from answers that a run keeps in 16 bits
        let exact = if runs.contains(&"hubs") { 0.5f64.powi(11) } else { 1e-5 };
        let scores = before.score(&texts, &smiles, OnBadRow::Stop).unwrap();
        // each molecule alone, for a reranker compares the candidates with one another
        for at in [0, 7, 19] {
            let grown: Vec<String> = runs.iter().map(|run| format!("{run}-{at}")).collect();
            let line = table.lines().nth(at + 1).unwrap();
            sandbox.write("one.tsv", &format!("{}\n{line}\n", table.lines().next().unwrap()));
            for (run, grown) in runs.iter().zip(&grown) {
                let _ = std::fs::remove_dir_all(sandbox.path(grown));
                copy(&sandbox.path(run), &sandbox.path(grown));
                add(&sandbox.path(grown), &sandbox.path("one.tsv"));
            }
            let grown: Vec<&str> = grown.iter().map(String::as_str).collect();
            let expected = found(&open(&sandbox, &grown), rows[at + 1][0]);
            let actual = scores[at].unwrap();
            // the mean and the deviation of standardised scores stay those of the candidates
            let bound = if runs.len() > 1 { 0.2 } else { exact };
            assert!((actual - expected).abs() < bound, "{runs:?} {at}: {actual}, {expected}");
        }
        // a candidate has the score that a search shows, whatever it is written like
        let candidates = &before.members()[0].candidates;
        for at in 0..candidates.len() {
            let score = before.score(&[QUERY], &[candidates.label(at)], OnBadRow::Stop).unwrap();
            let expected = found(&before, candidates.id(at));
            assert!((score[0].unwrap() - expected).abs() < exact, "{runs:?} {}", candidates.id(at));
        }
    }
}

#[test]
fn molecules_are_not_scored_beside_shards() {
    let sandbox = sandbox();
    write(&sandbox, "smiles", MORGAN, SKETCH, RIDGE);
    train(&sandbox, "run", &[HUBS]);
    let path = sandbox.path("run");
    shard_candidates(&path, 2, StorageType::F32, None).unwrap();
    let shards = path.join("shards");
    let device = Device::flex();
    let alone = Processes::default();
    let run = Run::open_shared(&alone, &[path], Some(&shards), None, &device).unwrap();
    let error = run.score(&[QUERY], &["CCO"], OnBadRow::Stop).unwrap_err().to_string();
    assert!(error.contains("shards"), "{error}");
}

#[test]
fn a_table_is_scored_row_by_row_in_its_order() {
    let sandbox = sandbox();
    write(&sandbox, "smiles", MORGAN, SKETCH, RIDGE);
    train(&sandbox, "run", &[]);
    let text = "an acid";
    let rows = [(QUERY, "CCO"), (text, "c1ccccc1C"), (QUERY, "CCO"), (text, "OCC")];
    let lines = rows.map(|(text, smiles)| format!("{text},{smiles}\n")).concat();
    sandbox.write("pairs.csv", &format!("description,smiles\n{lines}"));
    let printed = sandbox.succeed(&["score", "run", "pairs.csv", "--batch", "3"]);
    let printed: Vec<_> = printed.lines().map(json).collect();
    let run = open(&sandbox, &["run"]);
    for ((text, smiles), line) in rows.iter().zip(&printed) {
        assert_eq!((&line["query"], &line["molecule"]), (&(*text).into(), &(*smiles).into()));
        let score = run.score(&[*text], &[*smiles], OnBadRow::Stop).unwrap()[0].unwrap();
        assert_eq!(line["score"].as_f64().unwrap(), score);
    }
    assert_eq!(printed.len(), 4);
    let texts = [QUERY; 3];
    let error = run.score(&texts, &["CCO", "CCO", "C("], OnBadRow::Stop).unwrap_err();
    let expected = "the molecule of pair 2 = C(: position 1: '(' has no partner";
    assert_eq!(error.to_string(), expected);
    // the same molecule in other words
    assert_ne!(printed[0]["score"], printed[3]["score"]);
    let csv = sandbox.succeed(&["score", "run", "pairs.csv", "--format", "csv"]);
    assert!(
        csv.starts_with("query,molecule,score\na ring of kind METH and class ANE,CCO,"),
        "{csv}"
    );

    sandbox
        .write("bad.csv", "description,smiles\nan acid,C1CC\nan acid,CCO\nan acid,CCO ethanol\n");
    let score = ["score", "run", "bad.csv"];
    sandbox.fail(&score, 2, &["bad.csv:2", "C1CC"]);
    let skipped = sandbox.succeed(&[&score[..], &["--on-bad-row", "skip"]].concat());
    let scores: Vec<_> = skipped.lines().map(|line| json(line)["score"].clone()).collect();
    assert!(scores[0].is_null() && scores[1].is_number(), "{scores:?}");
    assert_eq!(scores[1], scores[2], "a name behind the SMILES");

    sandbox.fail(&["score", "run", "missing.csv"], 2, &["missing.csv"]);
    sandbox.write("lines.txt", "an acid\n");
    let formats = format!("a molecule: {}", all_extensions());
    sandbox.fail(&["score", "run", "lines.txt"], 2, &["--input", "a table", &formats]);
    sandbox.fail(&["score", "run", "pairs.csv", "--molecules", "nothing"], 2, &["nothing"]);
    // n-grams of a text are not computed from molecules
    write(&sandbox, "name", NGRAMS, SKETCH, RIDGE);
    train(&sandbox, "names", &[]);
    let words = ["output.features.kind", "features that any molecule has"];
    sandbox.fail(&["score", "names", "pairs.csv"], 2, &words);
}
