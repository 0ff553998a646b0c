//! Label sets and rankings as outputs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sandbox::{CONFIG, Sandbox, json, number};

const NGRAMS: &str = r#"{ kind = "ngrams", column = "name", min = 1, max = 3 }"#;

/// A sandbox whose outputs have a set of labels and a ranking of four items each.
pub fn sandbox(features: &str, kernel: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut lines = outputs.lines();
    let mut table = format!("{}\tlabels\tranks\n", lines.next().unwrap());
    for (i, line) in lines.enumerate() {
        let labels = format!("kind {}; class {};ring {}", i % 8, i / 8 % 5, i / 40);
        let mut ranks: Vec<usize> = (1..=4).collect();
        ranks.rotate_left(i % 4);
        ranks.swap(0, 1 + i / 4 % 3);
        let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
        let ranks = ranks.join(" ");
        table += &format!("{line}\t{labels}\t{ranks}\n");
    }
    sandbox.write("data/small/outputs.tsv", &table);
    assert!(CONFIG.contains(NGRAMS) && CONFIG.contains("\"ngram\" }"));
    let config = CONFIG.replacen(NGRAMS, features, 1);
    let config = match features {
        LABELS => config.replacen("label = \"name\"", "label = \"labels\"", 1),
        _ => config.replacen("label = \"name\"", "label = \"ranks\"", 1),
    };
    let config = config.replacen("\"ngram\" }", &format!("\"{kernel}\" }}"), 1);
    sandbox.write("small.toml", &config.replacen("size = 20", "size = 6", 1));
    sandbox
}

pub const LABELS: &str = r#"{ kind = "labels", column = "labels", separator = ";" }"#;
const KEMENY: &str = r#"{ kind = "rankings", column = "ranks", embedding = "kemeny" }"#;
pub const HAMMING: &str = r#"{ kind = "rankings", column = "ranks", embedding = "hamming" }"#;

#[test]
fn label_sets_and_rankings_are_outputs() {
    for (features, kernel) in [(LABELS, "tanimoto"), (KEMENY, "kemeny"), (HAMMING, "hamming")] {
        let sandbox = sandbox(features, kernel);
        let report = json(&sandbox.succeed(&["train", "small.toml", "--json"]));
        // equal sets and rankings tie, so the ceiling is below 1 and far above chance
        let ceiling = &report["perfect_h"];
        let chance = &report["chance"];
        assert!(number(ceiling, "mrr") > 2.0 * number(chance, "mrr"), "{kernel}: {report}");
        assert!(number(&report, "mrr") > 0.0, "{kernel}");
        if features == LABELS {
            assert!(number(ceiling, "f1") > 1.3 * number(chance, "f1"), "{report}");
            assert!(number(&report, "hamming_loss") > 0.0, "{report}");
            for metric in ["f1", "micro_f1", "macro_f1", "hamming_loss"] {
                let [low, high] =
                    [0, 1].map(|end| report["intervals"][metric][end].as_f64().unwrap());
                assert!((low..=high).contains(&number(&report, metric)), "{metric}: {report}");
            }
            let again = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
            assert_eq!(number(&again, "f1"), number(&report, "f1"), "{again}");
            sandbox.succeed(&["evaluate", "runs/small", "--report", "report"]);
            let table = sandbox.read("report/labels.tsv");
            let rows = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
            let rows: Vec<Vec<&str>> = rows.collect();
            assert_eq!(rows[0].join(" "), "label support predicted precision recall f1");
            // all ten test outputs have a ring
            assert_eq!(rows[1][..2], ["ring 1", "10"], "{table}");
            let sum: f64 = rows[1..].iter().map(|row| row[5].parse::<f64>().unwrap()).sum();
            let macro_f1 = sum / (rows.len() - 1) as f64;
            assert!((macro_f1 - number(&report, "macro_f1")).abs() < 1e-12, "{table}");
        } else {
            let tau = |report| number(report, "kendall_tau");
            assert!(tau(ceiling) > 0.9 && tau(chance) < 0.5, "{report}");
            assert!(tau(&report) <= 1.0 && number(&report, "exact") <= 1.0, "{report}");
        }
    }
}

#[test]
fn evaluations_have_the_chance_of_a_training() {
    for (features, kernel) in [(LABELS, "tanimoto"), (KEMENY, "kemeny")] {
        let sandbox = sandbox(features, kernel);
        let chance = |arguments: &[&str]| -> Vec<String> {
            let text = sandbox.succeed(arguments);
            let lines = text.lines().filter(|line| line.starts_with("chance"));
            lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let trained = chance(&["train", "small.toml"]);
        assert!(!trained.is_empty(), "{kernel}");
        assert_eq!(chance(&["evaluate", "runs/small"]), trained, "{kernel}");
    }
}

#[test]
fn bad_rankings_are_refused_with_their_line() {
    let good = sandbox(HAMMING, "hamming");
    let table = good.read("data/small/outputs.tsv");
    let third = table.lines().nth(3).unwrap();
    let ranks = third.rsplit('\t').next().unwrap();
    let spoilt = |cell: &str| table.replacen(third, &third.replacen(ranks, cell, 1), 1);
    for (cell, says) in [
        ("1 2 3", "the ranks of 4 items"),
        ("1 2 3 3", "each of the ranks 1 to 4 once"),
        ("0 1 2 3", "ranks from 1"),
        ("1 2 x 4", "ranks from 1"),
    ] {
        good.write("data/small/outputs.tsv", &spoilt(cell));
        good.fail(&["train", "small.toml"], 2, &["outputs.tsv:4", cell, says]);
    }
}

/// Evaluates a run that searches exactly, and returns the report; the exact output of a text is at least
/// as good as its first candidate.
fn exact_run(
    sandbox: &Sandbox,
    (run, data): (&str, &str),
    text: &str,
    figure: &str,
    report: &Value,
) -> Value {
    let again = json(&sandbox.succeed(&["evaluate", run, "--data", data, "--json"]));
    assert_eq!(number(&again, figure), number(report, figure), "{again}");
    let answer = json(&sandbox.succeed(&["search", run, text, "--top", "3", "--json"]));
    let exact = &answer["exact"];
    let first = &answer["candidates"][0];
    assert!(number(exact, "score") > number(first, "score") - 1e-4, "{answer}");
    let shown = sandbox.succeed(&["search", run, text]);
    assert!(shown.lines().nth(1).unwrap().contains(exact["label"].as_str().unwrap()), "{shown}");
    answer
}

#[test]
fn label_sets_are_searched_without_candidates() {
    for kernel in ["linear", "cosine"] {
        let sandbox = sandbox(LABELS, kernel);
        for machine in [false, true] {
            let mut changes = vec!["decoding.search=exact"];
            if machine {
                changes.extend(MACHINE);
            }
            let report = sandbox.train("small.toml", &changes);
            let run = if machine { "runs/small-2" } else { "runs/small" };
            let text = "a ring of kind METH and class ANE";
            let answer = exact_run(&sandbox, (run, "data"), text, "f1", &report);
            if machine {
                assert!(number(&report, "f1") > 0.5, "{kernel}: {report}");
                assert_eq!(answer["exact"]["label"], "class 0;kind 0;ring 1", "{kernel}: {answer}");
            }
        }
    }
}

#[test]
fn the_largest_expected_f1_is_predicted() {
    let sandbox = sandbox(LABELS, "tanimoto");
    let among = |run: &str, text: &str| {
        let answer = ["search", run, text, "--top", "40", "--json"];
        json(&sandbox.succeed(&answer))
    };
    let set = |label: &Value| -> BTreeSet<String> {
        label.as_str().unwrap().split(';').map(|label| label.trim().to_owned()).collect()
    };
    let text = "a ring of kind METH and class ANE";
    // so cold that the first candidate is certain
    let cold = ["decoding.expected_f1={ temperature = 1e-7 }"];
    let warm = ["decoding.expected_f1={ temperature = 0.3, candidates = 30 }"];
    let plain = sandbox.train("small.toml", &[&MACHINE[..]].concat());
    let certain = sandbox.train("small.toml", &[&MACHINE[..], &cold].concat());
    assert_eq!(number(&certain, "f1"), number(&plain, "f1"), "{certain}");
    assert_eq!(number(&certain, "mrr"), number(&plain, "mrr"), "{certain}");
    let answer = among("runs/small-2", text);
    assert_eq!(set(&answer["exact"]["label"]), set(&answer["candidates"][0]["label"]), "{answer}");
    assert!((number(&answer["exact"], "score") - 1.0).abs() < 1e-9, "{answer}");

    let report = sandbox.train("small.toml", &[&MACHINE[..], &warm].concat());
    let again = json(&sandbox.succeed(&["evaluate", "runs/small-3", "--json"]));
    assert_eq!(number(&again, "f1"), number(&report, "f1"), "{again}");
    // no set of labels of the first candidates has a larger expectation under their probabilities
    let answer = among("runs/small-3", text);
    let hits = answer["candidates"].as_array().unwrap();
    let outcomes: Vec<(f64, BTreeSet<String>)> = hits[..30.min(hits.len())]
        .iter()
        .map(|hit| ((number(hit, "score") / 0.3).exp(), set(&hit["label"])))
        .collect();
    let total: f64 = outcomes.iter().map(|(weight, _)| weight).sum();
    let expected = |labels: &BTreeSet<String>| -> f64 {
        let f1 = |other: &BTreeSet<String>| {
            2.0 * labels.intersection(other).count() as f64 / (labels.len() + other.len()) as f64
        };
        outcomes.iter().map(|(weight, other)| weight / total * f1(other)).sum()
    };
    let found = set(&answer["exact"]["label"]);
    let score = number(&answer["exact"], "score");
    assert!((expected(&found) - score).abs() < 1e-5, "{answer}");
    for (_, other) in &outcomes {
        assert!(expected(other) < score + 1e-5, "{other:?}: {answer}");
    }
    let labels: BTreeSet<&String> = outcomes.iter().flat_map(|(_, set)| set).collect();
    for label in labels {
        let mut changed = found.clone();
        if !changed.remove(label) {
            changed.insert(label.clone());
        }
        assert!(expected(&changed) < score + 1e-5, "{label}: {answer}");
    }
}

#[test]
fn expected_f1_that_is_not_possible_is_refused() {
    let labels = sandbox(LABELS, "cosine");
    let expected = ["train", "small.toml", "--set", "decoding.expected_f1={}", "--set"];
    let key = "decoding.expected_f1";
    for (change, says) in [
        ("decoding.expected_f1={ temperature = 0.0 }", &["expected_f1.temperature", "0"][..]),
        ("decoding.expected_f1={ candidates = 0 }", &["expected_f1.candidates", "at least 1"]),
        ("decoding.search=exact", &[key, "remove one of them", "decoding.search"]),
        (
            "evaluation.candidates=lists.jsonl",
            &[key, "remove one of them", "evaluation.candidates"],
        ),
        ("ensemble.seeds=2", &[key, "given", "candidates"]),
        (NGRAM_FEATURES, &[key, "remove it", "labels"]),
    ] {
        labels.fail(&[&expected[..], &[change]].concat(), 2, says);
    }
    labels.succeed(&expected[..4]);
    labels.succeed(&["train", "small.toml"]);
    let both = ["evaluate", "runs/small-2", "runs/small"];
    labels.fail(&both, 2, &["decoding.expected_f1 of runs/small", "given", "candidates"]);
}

/// Combined scores have the scale of their rule, and shares of likely label sets that of a model's scores.
#[test]
fn label_scores_of_an_ensemble_do_not_depend_on_the_scale_of_its_rule() {
    let sandbox = sandbox(LABELS, "tanimoto");
    sandbox.train("small.toml", &[]);
    sandbox.train("small.toml", &["name=other", "sketch.size=2"]);
    let areas = |runs: &[&str], more: &[&str]| {
        let call = [&["evaluate"], runs, &["--json"], more].concat();
        let found = json(&sandbox.succeed(&call));
        ["roc_auc", "pr_auc"].map(|metric| number(&found, metric))
    };
    for more in [&[][..], &["--candidates", "sample:20"]] {
        let one = areas(&["runs/small"], more);
        for rule in ["mean", "max", "rank", "reciprocal-rank"] {
            let combine = [more, &["--combine", rule]].concat();
            assert_eq!(areas(&["runs/small", "runs/small"], &combine), one, "{combine:?}");
        }
        let first = [more, &["--weights", "1,0"]].concat();
        assert_eq!(areas(&["runs/small", "runs/other"], &first), one, "{more:?}");
        let other = areas(&["runs/other"], more);
        assert_ne!(other, one, "{more:?}");
        let second = [more, &["--weights", "0,1"]].concat();
        assert_eq!(areas(&["runs/small", "runs/other"], &second), other, "{more:?}");
    }
}

/// A kernel machine without a sketch.
const MACHINE: [&str; 2] = [
    "sketch.full=true",
    r#"encoder={ kind = "kernel-machine", inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }, kernel = { name = "linear" }, lambda = 1e-4 }"#,
];

#[test]
fn rankings_are_searched_without_candidates() {
    let sandbox = Sandbox::new();
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/rankings.toml");
    let data = env!("CARGO_MANIFEST_DIR");
    let text = "very hungry; vegetarian today";
    let hamming = ["output.features.embedding=hamming", "output.kernel.name=hamming"];
    let lehmer = ["output.features.embedding=lehmer", "output.kernel.name=linear"];
    let sketched = ["sketch.full=false", "sketch.size=15"];
    for (run, changes) in [
        ("runs/rankings", &[][..]),
        ("runs/rankings-2", &sketched),
        ("runs/rankings-3", &hamming),
        ("runs/rankings-4", &["output.kernel.name=linear"]),
        ("runs/rankings-5", &lehmer),
    ] {
        let report = sandbox.train(config, changes);
        assert!(number(&report, "kendall_tau") > 0.7, "{run}: {report}");
        assert!(number(&report["chance"], "kendall_tau").abs() < 0.1, "{run}: {report}");
        let answer = exact_run(&sandbox, (run, data), text, "kendall_tau", &report);
        let label = answer["exact"]["label"].as_str().unwrap();
        let mut ranks: Vec<u32> = label.split(' ').map(|rank| rank.parse().unwrap()).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [1, 2, 3, 4, 5, 6, 7], "{answer}");
    }
    let among = sandbox.train(config, &["decoding.search=candidates"]);
    assert!(number(&among, "kendall_tau") > 0.7, "{among}");
}

#[test]
fn exact_search_that_is_not_possible_is_refused() {
    let labels = sandbox(LABELS, "linear");
    let exact = ["train", "small.toml", "--set", "decoding.search=exact", "--set"];
    for (change, says) in [
        ("output.kernel={name=\"tanimoto\"}", &["output.kernel.name", "tanimoto", "linear"][..]),
        ("output.power=0.5", &["output.power", "0.5", "without tempering"]),
        ("output.centred=true", &["output.centred", "true", "without tempering"]),
        ("decoding.hubs={}", &["decoding.hubs", "given", "remove it"]),
        ("decoding.normalise=true", &["decoding.normalise", "true", "false"]),
        ("ensemble.seeds=2", &["decoding.search", "exact", "candidates"]),
        (NGRAM_FEATURES, &["decoding.search", "exact", "labels", "rankings"]),
    ] {
        labels.fail(&[&exact[..], &[change]].concat(), 2, says);
    }
    let run = ["train", "small.toml", "--set", "decoding.search=exact"];
    labels.succeed(&run);
    labels.succeed(&["train", "small.toml"]);
    let both = ["evaluate", "runs/small", "runs/small-2"];
    labels.fail(&both, 2, &["decoding.search of runs/small", "exact", "candidates"]);
}

const NGRAM_FEATURES: &str =
    r#"output.features={ kind = "ngrams", column = "name", min = 1, max = 3 }"#;

#[test]
fn each_label_set_is_shown_once() {
    let sandbox = sandbox(LABELS, "tanimoto");
    let table = sandbox.read("data/small/outputs.tsv");
    // eight sets of one label, ten outputs each
    let few = |line: &str| {
        let mut cells: Vec<&str> = line.split('\t').collect();
        cells[2] = cells[2].split(';').next().unwrap();
        cells.join("\t") + "\n"
    };
    sandbox.write("data/small/outputs.tsv", &table.lines().map(few).collect::<String>());
    let report = sandbox.train("small.toml", &[]);
    assert_eq!(number(&report, "duplicate_candidates"), 72.0, "{report}");
    sandbox.succeed(&["candidates", "shard", "runs/small", "--parts", "3", "--out", "shards"]);
    for (top, shown) in [("1", 1), ("3", 3), ("80", 8)] {
        let search = ["search", "runs/small", "a ring of kind HEX", "--top", top, "--json"];
        let found = sandbox.succeed(&search);
        let answer = json(&found);
        assert_eq!(sandbox.succeed(&[&search[..], &["--shards", "shards"]].concat()), found);
        let sets = answer["candidates"].as_array().unwrap().iter();
        let sets: Vec<&str> = sets.map(|set| set["label"].as_str().unwrap()).collect();
        let distinct: std::collections::BTreeSet<&str> = sets.iter().copied().collect();
        assert_eq!((sets.len(), distinct.len()), (shown, shown), "{answer}");
        let duplicates = answer["candidates"][0]["duplicates"].as_array().unwrap();
        assert_eq!(duplicates.len(), 9, "{answer}");
    }
    let table = sandbox.succeed(&["search", "runs/small", "a ring of kind HEX", "--top", "2"]);
    assert_eq!(table.matches(" (10 candidates)\n").count(), 2, "{table}");
    sandbox.write("texts.txt", "a ring\na chain of kind HEX\n");
    let predict = ["predict", "runs/small", "texts.txt", "--top", "3", "--format", "tsv"];
    let rows = sandbox.succeed(&predict);
    let rows: Vec<Vec<&str>> = rows.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows.len(), rows[0][8], rows[6][2]), (7, "duplicates", "21"));
    assert_eq!(rows[6][8].split(' ').count(), 9, "{rows:?}");
    let all =
        ["80", "81"].map(|top| sandbox.succeed(&["search", "runs/small", "a ring", "--top", top]));
    assert_eq!(all[0], all[1]);
}

/// A multi-label file in the layout of Mulan: attributes, then labels; each row has the labels of its place.
fn mulan(attributes: usize, labels: usize, rows: usize, sparse: bool) -> String {
    let mut text = "@relation small\n".to_string();
    let kind = if sparse { "{0,1}" } else { "numeric" };
    (0..attributes).for_each(|at| text += &format!("@attribute Att{at} {kind}\n"));
    (0..labels).for_each(|at| text += &format!("@attribute Class{at} {{0,1}}\n"));
    text += "@data\n";
    for row in 0..rows {
        let class = row % 5;
        let own = row / 5;
        let ones = [class, 5 + own, attributes + class, attributes + 5 + class % 2];
        text += &if sparse {
            format!("{{{}}}\n", ones.map(|at| format!("{at} 1")).join(","))
        } else {
            let value = |at| if ones.contains(&at) { "1" } else { "0" };
            let values: Vec<&str> = (0..attributes + labels).map(value).collect();
            values.join(",") + "\n"
        };
    }
    text
}

#[test]
fn published_multi_label_files_have_configurations() {
    let sandbox = Sandbox::new();
    for (name, attributes, labels, sparse, test) in
        [("bookmarks", 2150, 208, true, ", test=10"), ("mediamill", 120, 101, false, "")]
    {
        let folder = sandbox.path(&format!("data/{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        let config = format!("{}/configs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&config).unwrap();
        let file = text.split("file = \"").nth(1).unwrap().split('"').next().unwrap();
        for file in [file, "mediamill-test.arff"] {
            let rows = mulan(attributes, labels, 60, sparse);
            sandbox.write(&format!("data/{name}/{file}"), &rows);
        }
        let splits = format!("data.splits={{order=\"file\", train=40, validation=10{test}}}");
        let sizes =
            ["sketch.size=30", "sketch.method.density=0.5", "encoder.solver.sketch.size=20"];
        let report = sandbox.train(&config, &[&[splits.as_str()][..], &sizes].concat());
        assert!(number(&report, "f1") > 0.9, "{name}: {report}");
        let evaluate = ["evaluate", &format!("runs/{name}"), "--split", "test", "--json"];
        assert!(number(&json(&sandbox.succeed(&evaluate)), "f1") > 0.9);
        let queries = format!("data/{name}/{file}");
        let queries = ["evaluate", &format!("runs/{name}"), "--queries", &queries, "--json"];
        assert!(number(&json(&sandbox.succeed(&queries)), "f1") > 0.9);
    }
}

#[test]
fn sets_that_are_all_empty_are_predicted_perfectly() {
    let sandbox = sandbox(LABELS, "tanimoto");
    let table = sandbox.read("data/small/outputs.tsv");
    let mut emptied = String::new();
    let mut lists = String::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        // the last ten outputs are those of the test queries
        let test = cells[0].strip_prefix('o').and_then(|at| at.parse::<usize>().ok());
        let test = test.is_some_and(|at| at >= 70);
        emptied += &[cells[0], cells[1], if test { "" } else { cells[2] }, cells[3]].join("\t");
        emptied += "\n";
        if test {
            lists += &format!("{{\"query\": {0:?}, \"candidates\": [{0:?}]}}\n", cells[0]);
        }
    }
    sandbox.write("data/small/outputs.tsv", &emptied);
    sandbox.write("lists.jsonl", &lists);
    sandbox.succeed(&["train", "small.toml", "--quiet"]);
    let call = ["evaluate", "runs/small", "--candidates", "lists.jsonl", "--ci", "--json"];
    let found = json(&sandbox.succeed(&call));
    for metric in ["f1", "micro_f1", "macro_f1"] {
        assert_eq!(number(&found, metric), 1.0, "{found}");
        // all draws have the same value, which says nothing of other queries
        assert_eq!(found["intervals"][metric], serde_json::Value::Null, "{found}");
    }
    assert_eq!((number(&found, "labels"), number(&found, "hamming_loss")), (0.0, 0.0), "{found}");
}

const WRONG: &str = r#"
[data]
source = "pool"
folder = "tags"
file = "tags.tsv"
splits = { order = "file", train = 25, validation = 4 }
[output]
label = "tags"
features = { kind = "labels", column = "tags" }
kernel = { name = "tanimoto" }
[sketch]
full = true
[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
lambda = [1e-6, 100]
lambda_by = "validation"
[evaluation]
metric = "hamming_loss"
"#;

/// scikit-learn's `hamming_loss` of four queries and ten labels: 12 wrong decisions are 0.3, and 8 are 0.2. The first model
/// names more labels in all, which must not be a merit.
#[test]
fn the_hamming_loss_is_of_all_labels_that_the_run_knows() {
    let sandbox = Sandbox::new();
    let mut table = "id\tdescription\ttags\n".to_owned();
    (0..20).for_each(|row| table += &format!("a{row}\tq q2 c\tx\n"));
    (0..4).for_each(|row| table += &format!("b{row}\tq q2 w{row}\tu{row} v{row}\n"));
    table += "z\tzz\tt\n";
    (0..4).for_each(|row| table += &format!("v{row}\tq q2 w{row}\tt\n"));
    std::fs::create_dir_all(sandbox.path("data/tags")).unwrap();
    sandbox.write("data/tags/tags.tsv", &table);
    sandbox.write("tags.toml", WRONG);
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
    for (run, lambda, expected) in [("near", "1e-6", 0.3), ("far", "100", 0.2)] {
        let set = format!("encoder.lambda={lambda}");
        let train = ["train", "tags.toml", "--out", run, "--json", "--set", &set];
        let report = json(&sandbox.succeed(&train));
        close(number(&report, "hamming_loss"), expected);
        let again = json(&sandbox.succeed(&["evaluate", run, "--ci", "--json"]));
        close(number(&again, "hamming_loss"), expected);
        // each query has as many wrong decisions
        for end in again["intervals"]["hamming_loss"].as_array().unwrap() {
            close(end.as_f64().unwrap(), expected);
        }
    }
    let chosen = json(&sandbox.succeed(&["train", "tags.toml", "--json"]));
    close(number(&chosen, "hamming_loss"), 0.2);
    let compared = json(&sandbox.succeed(&["compare", "far", "near", "--json"]));
    let metrics = compared["metrics"].as_array().unwrap();
    let compared = metrics.iter().find(|metric| metric["metric"] == "hamming_loss").unwrap();
    close(number(&compared["runs"][1]["difference"], "difference"), 0.1);
}
