//! Evaluations among the candidates of the queries, and among candidates that are drawn.

use std::fs::File;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::label_outputs::{self, LABELS};
use crate::sandbox::{Sandbox, json, number};

const QUERIES: f64 = 10.0;
const CANDIDATES: f64 = 80.0;

fn evaluate(sandbox: &Sandbox, more: &[&str]) -> Value {
    json(&sandbox.succeed(&[&["evaluate", "runs/small", "--json"], more].concat()))
}

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    sandbox
}

#[test]
fn the_candidates_of_the_queries_are_those_of_a_file_that_lists_them() {
    let sandbox = trained();
    let table = sandbox.read("data/small/test.tsv");
    let ids: Vec<&str> =
        table.lines().skip(1).map(|line| line.split_once('\t').unwrap().0).collect();
    let lines = ids.iter().map(|id| json!({"query": id, "candidates": ids}).to_string());
    let lines = lines.collect::<Vec<_>>().join("\n");
    sandbox.write("lists.jsonl", &lines);
    let listed = evaluate(&sandbox, &["--candidates", "lists.jsonl"]);
    assert_eq!(evaluate(&sandbox, &["--candidates", "queries"]), listed);
    let packed = File::create(sandbox.path("lists.jsonl.gz")).unwrap();
    let mut packed = GzEncoder::new(packed, Compression::fast());
    packed.write_all(lines.as_bytes()).unwrap();
    packed.finish().unwrap();
    assert_eq!(evaluate(&sandbox, &["--candidates", "lists.jsonl.gz"]), listed);
    assert_eq!(number(&listed, "candidates"), QUERIES);
    // in the configuration too
    let trained = sandbox.train("small.toml", &["evaluation.candidates=queries"]);
    assert_eq!(number(&trained, "candidates"), QUERIES);
}

#[test]
fn a_sample_has_the_right_output_and_others_at_random() {
    let sandbox = trained();
    let all = evaluate(&sandbox, &[]);
    let most = evaluate(&sandbox, &["--candidates", "sample:79"]);
    for metric in ["mrr", "hits@1", "hits@5", "mean_rank"] {
        assert_eq!(most[metric], all[metric], "{metric}: a sample of all other candidates");
    }
    let drawn = |seed: usize| evaluate(&sandbox, &["--candidates", &format!("sample:20:{seed}")]);
    let sizes = &drawn(1)["candidates_per_query"];
    assert_eq!(*sizes, json!({"least": 21, "median": 21, "most": 21}));
    assert_eq!(drawn(3), drawn(3));
    assert_ne!(drawn(3)["mean_rank"], drawn(4)["mean_rank"]);
    assert_eq!(drawn(0), evaluate(&sandbox, &["--candidates", "sample:20"]));
    // of the candidates above the right one, a sample has its share: a hypergeometric distribution
    let expected = 1.0 + 20.0 * (number(&all, "mean_rank") - 1.0) / (CANDIDATES - 1.0);
    let ranks: Vec<f64> = (0..40).map(|seed| number(&drawn(seed), "mean_rank")).collect();
    let mean = ranks.iter().sum::<f64>() / 40.0;
    let variance = ranks.iter().map(|rank| (rank - mean).powi(2)).sum::<f64>() / 39.0;
    let error = (variance / 40.0).sqrt();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} ± {error}, expected {expected}");
}

#[test]
fn one_command_prints_three_pools_with_intervals() {
    let sandbox = trained();
    let found = evaluate(&sandbox, &["--pools", "20"]);
    let [all, queries, sample] = [0, 1, 2].map(|at| &found["pools"][at]);
    let names = [all, queries, sample].map(|pool| pool["candidates"].as_str().unwrap());
    assert_eq!(names, ["all", "queries", "sample:20"]);
    let alone = evaluate(&sandbox, &["--ci"]);
    assert_eq!(all["metrics"]["mrr"], alone["mrr"]);
    assert_eq!(all["intervals"]["mrr"], alone["intervals"]["mrr"]);
    let of_queries = evaluate(&sandbox, &["--candidates", "queries", "--ci"]);
    assert_eq!(queries["metrics"]["hits@5"], of_queries["hits@5"]);
    assert_eq!(queries["intervals"]["mean_rank"], of_queries["intervals"]["mean_rank"]);
    let draws = (0..10).map(|seed| {
        let rule = format!("sample:20:{seed}");
        number(&evaluate(&sandbox, &["--candidates", &rule]), "mrr")
    });
    let mean = draws.sum::<f64>() / 10.0;
    assert!((number(&sample["metrics"], "mrr") - mean).abs() < 1e-12);
    assert_eq!(sample["draws"], 10);
    let [low, high] = [0, 1].map(|end| sample["intervals"]["mrr"][end].as_f64().unwrap());
    assert!(low < mean && mean < high, "{found}");

    let text = sandbox.succeed(&["evaluate", "runs/small", "--pools", "20"]);
    for part in ["all", "queries", "sample:20, 10 draws", "Hits@1", "95 % intervals"] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn samples_that_cannot_be_are_refused() {
    let sandbox = trained();
    for (rule, expected) in [
        ("sample:0", "at least 1"),
        ("sample:x", "sample:N"),
        ("sample:3:-1", "sample:N:SEED"),
        ("sample:80", "at most 79"),
    ] {
        sandbox.fail(&["evaluate", "runs/small", "--candidates", rule], 2, &[rule, expected]);
    }
    sandbox.fail(&["evaluate", "runs/small", "--pools", "80"], 2, &["sample:80", "at most 79"]);
    sandbox.fail(&["evaluate", "runs/small", "--pools", "0"], 2, &["--pools", "0 is not in 1"]);
    for other in ["--mces", "--ci", "--labels=a", "--beyond"] {
        let name = other.split('=').next().unwrap();
        sandbox.fail(&["evaluate", "runs/small", "--pools", other], 2, &["--pools", name]);
    }
}

#[test]
fn texts_without_right_outputs_have_no_candidates_by_these() {
    let sandbox = Sandbox::new();
    // the number of a row is the id of a candidate
    for table in ["outputs", "train", "validation", "test"] {
        let file = format!("data/small/{table}.tsv");
        sandbox.write(&file, &sandbox.read(&file).replace("\no", "\n"));
    }
    sandbox.train("small.toml", &["training.epochs=1"]);
    sandbox.write("texts.txt", "a ring\nan open chain\n");
    for rule in ["queries", "sample:3"] {
        // this model reads texts
        let allowed = "\"all\", or where the model reads spectra \"mass:PPM\"";
        let says = [rule, allowed, "the right outputs of a search are not known"];
        let predict = ["predict", "runs/small", "texts.txt", "--candidates", rule];
        sandbox.fail(&predict, 2, &says);
        sandbox.fail(&["search", "runs/small", "a ring", "--candidates", rule], 2, &says);
    }
    let listed = ["search", "runs/small", "a ring", "--candidates", "lists.jsonl"];
    sandbox.fail(&listed, 2, &["lists.jsonl", "mass:PPM"]);
}

/// The list of each query has its two right outputs alone, so that whatever is drawn is right.
#[test]
fn chance_is_of_the_candidates_of_each_query() {
    let sandbox = label_outputs::sandbox(LABELS, "tanimoto");
    let mut lists = String::new();
    for split in ["train", "validation", "test"] {
        let file = format!("data/small/{split}.tsv");
        let table = sandbox.read(&file);
        let rows: Vec<(&str, &str)> =
            table.lines().skip(1).map(|line| line.split_once('\t').unwrap()).collect();
        let mut several = "query\tid\tdescription\n".to_owned();
        for (at, pair) in rows.chunks(2).enumerate() {
            let query = format!("{split}{at}");
            let text = pair[0].1;
            let ids: Vec<&str> = pair.iter().map(|(id, _)| *id).collect();
            ids.iter().for_each(|id| several += &format!("{query}\t{id}\t{text}\n"));
            lists += &json!({"query": query, "candidates": ids}).to_string();
            lists += "\n";
        }
        sandbox.write(&file, &several);
    }
    sandbox.write("data/small/lists.jsonl", &lists);
    let changes = ["data.query=query", "evaluation.candidates=lists.jsonl"];
    let report = sandbox.train("small.toml", &changes);
    assert_eq!(number(&report, "queries"), 5.0);
    let chance = &report["chance"];
    assert_eq!((number(chance, "f1"), number(chance, "hamming_loss")), (1.0, 0.0), "{chance}");
}
