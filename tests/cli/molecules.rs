//! Molecules as outputs: predicted from strings, judged by graph edit distance.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, copy, json, number};

const CONFIG: &str = r#"
[data]
folder = "small"
source = "pool"
file = "molecules.smi"
splits = { validation = 15, test = 12 }
inputs = { column = "smiles" }

[output]
label = "smiles"
only_training = true
features = { kind = "molecules", column = "smiles", graph = { name = "weisfeiler-lehman", iterations = 2 } }
kernel = { name = "cosine" }

[sketch]
size = 40
method = { kind = "subsampling" }

[encoder]
kind = "ngram-bag"
hidden = []
ngrams = [{ kind = "characters", min = 1, max = 3, lowercase = false }]

[training]
epochs = 15
batch = 8
optimizer = "sgd"
learning_rate = 3.0
warmup = 0

[evaluation]
metric = "ged"
split = "test"
missing_gold = "rank-infinity"
"#;

/// Chains with a head, a middle and a tail.
pub fn molecules() -> Vec<String> {
    let heads = ["C", "N", "O", "C=C", "C#C", "c1ccccc1"];
    let tails = ["C", "N", "O", "F", "C=O", "C#N"];
    let all = heads.iter().flat_map(|head| (1..5).map(move |n| (head, n)));
    all.flat_map(|(head, n)| tails.iter().map(move |t| format!("{head}{}{t}", "C".repeat(n))))
        .collect()
}

pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("data/small/molecules.smi", &molecules().join("\n"));
    sandbox.write("molecules.toml", CONFIG);
    sandbox
}

#[test]
fn molecules_are_predicted_and_judged_by_edit_distance() {
    let sandbox = sandbox();
    let report = json(&sandbox.succeed(&["train", "molecules.toml", "--json"]));
    assert_eq!(number(&report, "queries"), 12.0);
    // all but the 15 and 12 that are held out
    assert_eq!(number(&report, "candidates"), 144.0 - 27.0);
    assert_eq!(number(&report, "missing_gold"), 12.0);
    let distance = |of: &Value| number(of, "ged");
    let model = distance(&report);
    let perfect = distance(&report["perfect_h"]);
    let chance = distance(&report["chance"]);
    assert!(perfect <= model && model < 0.7 * chance, "{report}");
    // a held-out molecule is not a candidate, so at least one edit is left, of nodes or of bonds
    assert!(number(&report, "ged_bonds") >= 1.0 && number(&report, "exact") == 0.0, "{report}");
    assert!(number(&report, "ged_bonds") >= model);
    assert_eq!(number(&report, "unproven"), 0.0);

    // one caption in twelve pairs names the distance
    let svg = sandbox.read("runs/molecules/examples.svg");
    assert_eq!(svg.matches(" edit").count(), 12);
    assert_eq!((svg.matches(">true: ").count(), svg.matches(">predicted, ").count()), (12, 12));
    let drawn = ["evaluate", "runs/molecules", "--draw", "three.svg", "--examples", "3"];
    sandbox.succeed(&drawn);
    assert_eq!(sandbox.read("three.svg").matches(" edit").count(), 3);
    let more = ["evaluate", "runs/molecules", "--draw", "none.svg", "--examples", "13"];
    sandbox.fail(&more, 2, &["--examples", "13", "1 to 12"]);
    // elsewhere, on the split and on any file of molecules
    copy(&sandbox.path("runs/molecules"), &sandbox.path("moved"));
    let again = json(&sandbox.succeed(&["evaluate", "moved", "--json"]));
    for key in ["ged", "ged_se", "ged_bonds", "ged_bonds_se", "exact"] {
        assert_eq!(again[key], report[key], "{key}");
    }
    fs::remove_dir_all(sandbox.path("data")).unwrap();
    sandbox.write("any.smi", "CCCO\nCCCCN\n");
    let any = json(&sandbox.succeed(&["evaluate", "moved", "--queries", "any.smi", "--json"]));
    assert_eq!(number(&any, "queries"), 2.0);
    assert!(number(&any, "ged") < chance);
    let evaluate = ["evaluate", "moved", "--queries", "any.smi"];
    assert!(sandbox.succeed(&evaluate).contains(" ± "));
    // of one query no standard error is known
    sandbox.write("any.smi", "CCCO\n");
    let one = sandbox.succeed(&evaluate);
    assert!(one.contains("edit distance") && !one.contains(" ± "), "{one}");
    sandbox.write("any.smi", "CCCO\nCC(CN\n");
    let bad = ["evaluate", "moved", "--queries", "any.smi"];
    sandbox.fail(&bad, 2, &["any.smi:2", "CC(CN", "position 2"]);

    let text = sandbox.succeed(&["search", "moved", "CCCCO", "--top", "3"]);
    assert_eq!(text.lines().count(), 4);
}

#[test]
fn rows_of_no_split_are_candidates_on_request() {
    let sandbox = sandbox();
    let train = |unpaired: &str| {
        let splits = format!("data.splits={{validation=15, test=12, train=60{unpaired}}}");
        let arguments = ["train", "molecules.toml", "--json", "--force", "--set", &splits];
        json(&sandbox.succeed(&arguments))
    };
    let few = train("");
    let more = train(", unpaired = true");
    let candidates = |report: &Value| number(report, "candidates");
    assert_eq!((candidates(&few), candidates(&more)), (60.0, 60.0 + 57.0));
    assert_eq!(number(&more, "missing_gold"), 12.0);
    let ceiling = |report: &Value| number(&report["perfect_h"], "ged_bonds");
    assert!(ceiling(&more) < ceiling(&few), "{few} {more}");
}

#[test]
fn the_printed_table_is_that_of_edit_distances() {
    let sandbox = sandbox();
    let text = sandbox.succeed(&["train", "molecules.toml", "--quiet"]);
    for part in ["edit distance", "with bonds", "exact", "model", "perfect h", "chance", "±"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("MRR"), "ranks are infinite: {text}");
}

#[test]
fn the_curve_of_sketch_sizes_falls_to_a_recommended_size() {
    let sandbox = sandbox();
    let nspd = CONFIG.replace("\"weisfeiler-lehman\", iterations = 2", "\"nspd\", radius = 1");
    sandbox.write("nspd.toml", &nspd);
    let arguments =
        ["sketch", "molecules.toml", "nspd.toml", "--sizes", "2,10,60", "--draws", "2", "--json"];
    let found = json(&sandbox.succeed(&arguments));
    let curves = found["curves"].as_array().unwrap();
    assert_eq!(curves.len(), 2);
    for curve in curves {
        let points = curve["points"].as_array().unwrap();
        let means: Vec<f64> = points.iter().map(|point| number(point, "mean")).collect();
        assert!(means[0] > means[2], "{means:?}");
        assert_eq!(points[0]["draws"].as_array().unwrap().len(), 2);
        assert!([2.0, 10.0, 60.0].contains(&number(curve, "recommended")));
    }
    let svg = sandbox.read("sketch.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("molecules") && svg.contains("nspd") && svg.contains("sketch size m"));
    let text = sandbox.succeed(&["sketch", "molecules.toml", "--sizes", "5", "--draws", "1"]);
    assert!(text.contains("recommended: m = 5"), "{text}");
    // of the usual sizes those that 117 outputs have
    let usual = json(&sandbox.succeed(&["sketch", "molecules.toml", "--draws", "1", "--json"]));
    let points = usual["curves"][0]["points"].as_array().unwrap();
    let sizes: Vec<f64> = points.iter().map(|point| number(point, "size")).collect();
    assert_eq!(sizes, [10.0, 20.0, 50.0, 100.0]);
    for (sizes, says) in [("500", "at most 117"), ("10,5", "increasing"), ("0,5", "increasing")] {
        sandbox.fail(&["sketch", "molecules.toml", "--sizes", sizes], 2, &["--sizes", says]);
    }
    sandbox.fail(&["sketch", "molecules.toml", "small.toml"], 2, &["evaluation.metric", "ged"]);
}

#[test]
fn wrong_pools_and_molecules_are_refused() {
    let sandbox = sandbox();
    let set = |change: &str, says: &[&str]| {
        sandbox.fail(&["train", "molecules.toml", "--set", change], 2, says);
    };
    set("data.splits.validation=0", &["data.splits.validation", "at least 1"]);
    set("data.splits.validation=140", &["data.splits", "at most 144", "molecules.smi"]);
    set("data.splits.train=130", &["data.splits", "130", "at most 144"]);
    set("data.test=\"test.tsv\"", &["data.splits.test = 12", "a file of these pairs"]);
    set("output.table=\"outputs.tsv\"", &["output.table", "data.source"]);
    set("output.label=\"name\"", &["output.label", "smiles"]);
    set("output.features.column=\"other\"", &["output.label", "other"]);
    set("output.features.graph.iterations=1000", &["iterations", "1000", "0..=100"]);
    set("evaluation.metric=\"mean_rank\"", &["evaluation.metric"]);
    sandbox.fail(
        &["train", "small.toml", "--set", "evaluation.metric=\"ged\""],
        2,
        &["evaluation.metric", "mrr, hits@1"],
    );
    let mut lines = molecules();
    lines[40] = "C1CC".into();
    sandbox.write("data/small/molecules.smi", &lines.join("\n"));
    set("seed=0", &["molecules.smi:41", "C1CC", "ring bond"]);
    assert!(!sandbox.path("runs").exists());
}
