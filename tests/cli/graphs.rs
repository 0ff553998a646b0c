//! Graphs of any kind as outputs.

use crate::sandbox::{Sandbox, json, npy, number};

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
    let mut table = "id\n".to_owned();
    let mut pairs = "id\tdescription\n".to_owned();
    let mut node = 0;
    for graph in 1..=40 {
        let size = 2 + graph % 5;
        let label = graph % 3;
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
    // real numbers and loops are left out
    sandbox.write("data/small/PATHS/PATHS_node_attributes.txt", "0.5\n");
    sandbox.write("data/small/PATHS/PATHS_A.txt", &format!("{}1, 1\n", files[0]));
    sandbox.write("data/small/PATHS/PATHS_edge_labels.txt", &format!("{}0\n", files[3]));
    let trained = sandbox.run(&["train", "paths.toml", "--out", "attributes"]);
    let errors = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{errors}");
    for said in
        ["not read: \"PATHS_node_attributes.txt\"", "1 edges from a node to itself are left"]
    {
        assert!(errors.contains(said), "{errors}");
    }
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

/// Paths of `1 + at % 4` nodes with the label `at % 3`: the vertex histogram kernel of two is the product of their sizes,
/// or 0 for two labels.
#[test]
fn graphs_are_inputs_of_kernel_machines() {
    let sandbox = Sandbox::new();
    const N: usize = 48;
    std::fs::create_dir_all(sandbox.path("data/small")).unwrap();
    let mut graphs = String::new();
    let mut inputs = "id\n".to_owned();
    let mut files = ["id\tgraph\n".to_owned(), "id\tgraph\n".to_owned()];
    let size = |at: usize| 1 + at % 4;
    for at in 0..N {
        let nodes = vec![at % 3; size(at)];
        let edges: Vec<[usize; 2]> = (1..size(at)).map(|node| [node - 1, node]).collect();
        graphs += &format!("{{\"id\": \"g{at}\", \"nodes\": {nodes:?}, \"edges\": {edges:?}}}\n");
        inputs += &format!("g{at}\n");
        files[at / 36] += &format!("c{}\tg{at}\n", at % 12);
    }
    let classes: String = (0..12).map(|at| format!("c{at}\t{} {}\n", at % 4, 4 + at % 3)).collect();
    for (name, text) in [
        ("graphs.jsonl", &graphs),
        ("inputs.tsv", &inputs),
        ("classes.tsv", &format!("id\tlabels\n{classes}")),
        ("train.tsv", &files[0]),
        ("validation.tsv", &files[1]),
    ] {
        sandbox.write(&format!("data/small/{name}"), text);
    }
    let value = |i: usize, j: usize| if i % 3 == j % 3 { (size(i) * size(j)) as f64 } else { 0.0 };
    let gram: Vec<f64> = (0..N * N).map(|at| value(at / N, at % N)).collect();
    std::fs::write(sandbox.path("data/small/gram.npy"), npy(N, &gram)).unwrap();
    let config = |inputs: &str, encoder: &str| {
        format!(
            r#"
data = {{ folder = "small", inputs = {inputs} }}
output = {{ table = "classes.tsv", label = "labels", features = {{ kind = "labels", column = "labels" }}, kernel = {{ name = "linear" }} }}
sketch = {{ full = true }}
encoder = {{ kind = "kernel-machine", inputs = {encoder}, lambda = 1e-3 }}
"#
        )
    };
    let read = r#"{ kind = "graphs", file = "graphs.jsonl", column = "graph" }"#;
    let counted = r#"{ kind = "features", features = { kind = "graphs", file = "graphs.jsonl", graph = { name = "vertex-histogram" } } }"#;
    let values =
        r#"{ kind = "kernels", table = "inputs.tsv", column = "graph", files = ["gram.npy"] }"#;
    sandbox.write("graphs.toml", &config(read, counted));
    sandbox.write("gram.toml", &config(values, r#"{ kind = "kernels", combination = "uniform" }"#));
    let found = json(&sandbox.succeed(&["train", "graphs.toml", "--json"]));
    let expected = json(&sandbox.succeed(&["train", "gram.toml", "--json"]));
    for metric in ["mrr", "hits@1", "f1"] {
        assert_eq!(found[metric], expected[metric], "{metric}");
    }
    assert!(number(&found, "mrr") > 2.0 * number(&found["chance"], "mrr"), "{found}");
    let again = json(&sandbox.succeed(&["evaluate", "runs/graphs", "--json"]));
    assert_eq!(again["mrr"], found["mrr"]);
    // a graph is a text; the file is lines of them
    let graph = r#"{"nodes": [1, 1], "edges": [[0, 1]]}"#;
    let searched =
        json(&sandbox.succeed(&["search", "runs/graphs", graph, "--json", "--top", "1"]));
    let file = ["predict", "runs/graphs", "data/small/graphs.jsonl", "--top", "1"];
    let predicted = sandbox.succeed(&file);
    let line = json(predicted.lines().nth(1).unwrap());
    assert_eq!(searched["candidates"][0]["id"], line["candidates"][0]["id"]);
    // a warning for each text would be one for each line
    sandbox.write("keys.jsonl", &graphs.replace("\"edges\"", "\"y\": 1, \"edges\""));
    let keys = sandbox.run(&["predict", "runs/graphs", "keys.jsonl", "--top", "1"]);
    assert!(keys.status.success());
    let errors = String::from_utf8_lossy(&keys.stderr);
    assert!(!errors.contains("not read"), "{errors}");
    sandbox.fail(
        &["search", "runs/graphs", "hello"],
        2,
        &["the inputs:1: position 1: ", "expected value"],
    );
    let set = |change: &str, says: &[&str]| {
        sandbox.fail(&["train", "graphs.toml", "--out", "other", "--set", change], 2, says);
    };
    set(
        "encoder.inputs.features.file=\"other.jsonl\"",
        &["encoder.inputs.features.file", "other.jsonl", "graphs.jsonl"],
    );
    set("data.inputs.file=\"../graphs.jsonl\"", &["data.inputs.file", ".."]);
    sandbox.write("data/small/train.tsv", &files[0].replace("\tg3\n", "\tg99\n"));
    set("seed=1", &["train.tsv:5", "g99", "graphs.jsonl"]);
}

#[test]
fn what_graphs_leave_out_is_said() {
    let sandbox = Sandbox::new();
    let mut lines = String::new();
    let mut rows = Vec::new();
    for at in 0..30 {
        let nodes = vec![at % 3; 2 + at % 4];
        lines += &format!(
            "{{\"id\": \"g{at}\", \"nodes\": {nodes:?}, \"edges\": [[0, 1]], \"edge_attr\": [0.5], \"directed\": false}}\n"
        );
        rows.push(format!("g{at}\t{} nodes of colour {}\n", nodes.len(), at % 3));
    }
    sandbox.write("data/small/graphs.jsonl", &lines);
    for (split, rows) in [("train", &rows[..20]), ("validation", &rows[20..])] {
        let table = "id\tdescription\n".to_owned() + &rows.concat();
        sandbox.write(&format!("data/small/{split}.tsv"), &table);
    }
    sandbox.write(
        "graphs.toml",
        r#"
        [data]
        folder = "small"
        [output]
        table = "graphs.jsonl"
        features = { kind = "graphs", file = "graphs.jsonl", graph = { name = "weisfeiler-lehman", iterations = 1 } }
        kernel = { name = "cosine" }
        [sketch]
        size = 5
        [encoder]
        kind = "kernel-machine"
        inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
        lambda = 1e-3
        "#,
    );
    let trained = sandbox.run(&["train", "graphs.toml"]);
    let errors = String::from_utf8_lossy(&trained.stderr);
    assert!(trained.status.success(), "{errors}");
    assert!(errors.contains("graphs.jsonl: keys that are not read: \"edge_attr\"; "), "{errors}");
}
