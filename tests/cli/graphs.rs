//! Graphs of any kind as outputs.

use crate::sandbox::{Sandbox, json, number};

const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/graphs.toml");

#[test]
fn graphs_are_found_from_sentences_and_judged_by_edit_distance() {
    let sandbox = Sandbox::new();
    let report = json(&sandbox.succeed(&["train", CONFIG, "--json", "--quiet"]));
    assert_eq!((number(&report, "queries"), number(&report, "candidates")), (40.0, 320.0));
    assert!(number(&report, "mrr") > 10.0 * number(&report["chance"], "mrr"), "{report}");
    assert!(2.0 * number(&report, "ged") < number(&report["chance"], "ged"), "{report}");
    assert!(number(&report, "exact") > 0.1, "{report}");
    let svg = sandbox.read("runs/graphs/examples.svg");
    let drawn = |part: &str| svg.matches(part).count();
    assert_eq!((drawn(">true</text>"), drawn(">predicted, ")), (20, 20));
    assert!(drawn("<circle") > 100 && drawn(">green</text>") > 20, "{svg}");
    assert!(svg.contains("a fan of three green nodes, with a strong tail of length 2 in blue"));
    // what the candidates are is read from the run
    let data = concat!(env!("CARGO_MANIFEST_DIR"));
    let evaluate = ["evaluate", "runs/graphs", "--data", data, "--json", "--report", "report"];
    let again = json(&sandbox.succeed(&evaluate));
    assert_eq!(again["ged"], report["ged"]);
    assert_eq!(sandbox.read("report/examples.svg"), svg);
    let table = sandbox.read("report/ranks.tsv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let width = rows[0].len();
    assert_eq!(rows[0][width - 2..], ["ged", "ged_bonds"]);
    let sum: f64 = rows[1..].iter().map(|row| row[width - 1].parse::<f64>().unwrap()).sum();
    assert!((sum / 40.0 - number(&report, "ged_bonds")).abs() < 1e-12, "{table}");
    assert_eq!(sandbox.read("report/worst.tsv").lines().count(), 21);
    let found = sandbox.succeed(&["search", "runs/graphs", "a ring of six red nodes"]);
    assert!(found.contains("{\"nodes\":[\"red\",\"red\","), "{found}");
}

/// A folder in the layout of the TUDataset collection holds the same graphs.
#[test]
fn tudataset_folders_are_read_and_wrong_graphs_refused() {
    let sandbox = Sandbox::new();
    let mut files = [const { String::new() }; 4];
    let (mut table, mut pairs) = ("id\n".to_owned(), "id\tdescription\n".to_owned());
    let mut node = 0;
    for graph in 1..=40 {
        let (size, label) = (2 + graph % 5, graph % 3);
        for at in 0..size {
            node += 1;
            files[1] += &format!("{graph}\n");
            files[2] += &format!("{label}\n");
            if at > 0 {
                files[0] += &format!("{}, {node}\n", node - 1);
                files[3] += &format!("{}\n", graph / 15);
            }
        }
        table += &format!("{graph}\n");
        pairs += &format!("{graph}\ta path of {size} nodes {label} and edges {}\n", graph / 15);
    }
    std::fs::create_dir(sandbox.path("data/small/PATHS")).unwrap();
    let names = ["A", "graph_indicator", "node_labels", "edge_labels"];
    for (name, text) in names.iter().zip(&files) {
        sandbox.write(&format!("data/small/PATHS/PATHS_{name}.txt"), text);
    }
    sandbox.write("data/small/graphs.tsv", &table);
    for split in ["train", "validation"] {
        sandbox.write(&format!("data/small/{split}.tsv"), &pairs);
    }
    let config = r#"
        data = { folder = "small" }
        encoder = { kind = "kernel-machine", inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }, lambda = 1e-3 }
        sketch = { size = 20 }
        evaluation = { metric = "ged" }

        [output]
        table = "graphs.tsv"
        features = { kind = "graphs", file = "PATHS", graph = { name = "weisfeiler-lehman", iterations = 2 } }
        kernel = { name = "cosine" }
    "#;
    sandbox.write("paths.toml", config);
    let report = json(&sandbox.succeed(&["train", "paths.toml", "--json"]));
    assert!(number(&report, "ged") < number(&report["chance"], "ged"), "{report}");
    let set = |change: &str, says: &[&str]| {
        sandbox.fail(&["train", "paths.toml", "--out", "other", "--set", change], 2, says);
    };
    set("output.label=id", &["output.label", "remove it"]);
    set("output.features.file=../x", &["output.features.file", ".."]);
    set("output.features.graph.iterations=1000", &["output.features.graph", "iterations", "1000"]);
    set("output.features.column=x", &["column", "file", "graph"]);
    sandbox.write("data/small/graphs.tsv", &format!("{table}99\n"));
    set("seed=1", &["graphs.tsv:42", "99", "PATHS"]);
}
