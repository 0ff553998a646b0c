//! Rows that cannot be read: the first one stops, or all are listed and left out.

use std::fmt::Write;

use crate::sandbox::{CONFIG, Sandbox, json, npy};

/// Standard error of a training that skips rows.
fn skipped(sandbox: &Sandbox, config: &str, out: &str) -> String {
    let arguments = ["train", config, "--out", out, "--on-bad-row", "skip", "--json"];
    let output = sandbox.run(&arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    assert_eq!(std::str::from_utf8(&output.stdout).unwrap().trim().lines().count(), 1);
    errors
}

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// The rows of a table without its header.
fn rows(table: &str) -> Vec<&str> {
    table.lines().skip(1).collect()
}

#[test]
fn bad_rows_of_tables_are_listed_and_left_out() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "good"]);
    let train = sandbox.read("data/small/train.tsv");
    let (head, rest) = train.split_at(train.find("o1\t").unwrap());
    let bad = format!("{head}o1\ta\tb\n\nnothing\tan unknown output\n{rest}");
    let mut bytes = bad.into_bytes();
    bytes.extend(b"o2\tnot \xff UTF-8\no1\tN/A\n");
    std::fs::write(sandbox.path("data/small/train.tsv"), bytes).unwrap();
    let outputs = sandbox.read("data/small/outputs.tsv");
    sandbox.write("data/small/outputs.tsv", &format!("{outputs}o5\tanother one\n \tno id\n"));
    let small = ["train", "small.toml", "--out", "stop"];
    sandbox.fail(&small, 2, &["train.tsv:3", "3 fields"]);

    let errors = skipped(&sandbox, "small.toml", "skip");
    says(&errors, &["train.tsv:3: 3 fields; expected 2", "train.tsv:4: blank line"]);
    says(&errors, &["train.tsv:65: byte 0xff", "train.tsv: 5 of 65 rows are skipped"]);
    says(&errors, &["train.tsv:66: \"N/A\" in the column \"description\": a text is needed"]);
    says(&errors, &["train.tsv:5: id \"nothing\" is not among the outputs"]);
    says(&errors, &["outputs.tsv:82: id \"o5\"", "outputs.tsv:83: empty value in column \"id\""]);
    says(&errors, &["outputs.tsv: 2 of 82 rows are skipped"]);
    // what is left is the table without bad rows
    let metrics = |run: &str| {
        let mut kept = json(&sandbox.read(&format!("{run}/metrics.json")).replace('\n', " "));
        for key in ["date", "fingerprint", "skipped_rows", "tables"] {
            kept.as_object_mut().unwrap().remove(key);
        }
        kept
    };
    assert_eq!(metrics("skip"), metrics("good"));
    let report = json(&sandbox.read("skip/metrics.json").replace('\n', " "));
    let expected = serde_json::json!({"train.tsv": 5, "outputs.tsv": 2});
    assert_eq!(report["skipped_rows"], expected);
    // the run keeps the setting
    let test = sandbox.read("data/small/test.tsv");
    sandbox.write("data/small/test.tsv", &format!("{test}o70\tone\ttoo many\n"));
    let found = json(&sandbox.succeed(&["evaluate", "skip", "--json"]));
    assert_eq!(found["mrr"], metrics("good")["mrr"]);
    sandbox.fail(&["evaluate", "good"], 2, &["test.tsv:12", "3 fields"]);
    let asked = ["evaluate", "good", "--on-bad-row", "skip", "--json"];
    assert_eq!(json(&sandbox.succeed(&asked))["mrr"], found["mrr"]);
    // of a run that is compared too
    let against = ["evaluate", "skip", "--against", "good", "--json"];
    sandbox.fail(&against, 2, &["test.tsv:12", "3 fields"]);
    let asked = [&against[..], &["--on-bad-row", "skip"]].concat();
    assert_eq!(json(&sandbox.succeed(&asked))["against"]["queries"], 10);
    // rows of a matrix follow the rows of the file
    let embed = ["embed", "skip", "data/small/test.tsv", "--out", "z.npy"];
    sandbox.fail(&embed, 2, &["test.tsv:12", "3 fields"]);
    sandbox.fail(
        &["train", "small.toml", "--on-bad-row", "ignore"],
        2,
        &["ignore", "stop", "skip"],
    );
}

#[test]
fn bad_rows_of_every_format() {
    let sandbox = Sandbox::new();
    let train = sandbox.read("data/small/train.tsv");
    let mut commas = String::from("id,description\n");
    let mut lines = String::new();
    for (at, row) in rows(&train).into_iter().enumerate() {
        let (id, text) = row.split_once('\t').unwrap();
        let id = serde_json::json!(id);
        let text = serde_json::json!(text);
        writeln!(commas, "{id},{text}").unwrap();
        writeln!(lines, "{{\"id\": {id}, \"description\": {text}}}").unwrap();
        if at == 3 {
            commas += "o3,a,b\n\n";
            lines += "{\"id\": \"o3\"}\n[1]\n{\"id\": \"o3\", \"description\n";
        }
    }
    sandbox.write("data/small/train.csv", &commas);
    sandbox.write("data/small/train.jsonl", &lines);
    for (file, parts) in [
        ("train.csv", &["train.csv:6: 3 fields", "train.csv:7: blank line", "2 of 62 rows"][..]),
        (
            "train.jsonl",
            &[
                "train.jsonl:5: no key \"description\"",
                "train.jsonl:6: found [1]",
                "train.jsonl:7: not JSON",
                "3 of 63 rows",
            ],
        ),
    ] {
        let config = CONFIG
            .replace("test = \"test.tsv\"", &format!("test = \"test.tsv\"\ntrain = \"{file}\""));
        sandbox.write("other.toml", &config);
        says(&skipped(&sandbox, "other.toml", file), parts);
        sandbox.fail(&["train", "other.toml"], 2, &[parts[0]]);
    }
}

#[test]
fn outputs_that_are_not_what_they_should_be() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut table = String::from("id\tname\tsmiles\n");
    for (at, row) in rows(&outputs).into_iter().enumerate() {
        writeln!(table, "{row}\t{}", "C".repeat(at % 9 + 1)).unwrap();
    }
    table += "x1\tnone\tC(\nx2\tnone\tnothing\n";
    sandbox.write("data/small/molecules.tsv", &table);
    let start = CONFIG.find("[output]").unwrap();
    let end = CONFIG.find("[sketch]").unwrap();
    let output = "[output]\ntable = \"molecules.tsv\"\nlabel = \"smiles\"\nkernel = { name = \"cosine\" }\n\
                  features = { kind = \"molecules\", column = \"smiles\", graph = { name = \"weisfeiler-lehman\", iterations = 1 } }\n\n";
    sandbox.write("molecules.toml", &[&CONFIG[..start], output, &CONFIG[end..]].concat());
    sandbox.fail(&["train", "molecules.toml"], 2, &["molecules.tsv:82", "C("]);
    let errors = skipped(&sandbox, "molecules.toml", "molecules");
    says(&errors, &["molecules.tsv:82: the SMILES \"C(\"", "molecules.tsv:83", "2 of 82 rows"]);
}

/// Rows that a run has skipped and that are read now divide its table otherwise.
#[test]
fn fewer_bad_rows_than_are_known_are_named() {
    let sandbox = Sandbox::new();
    let mut table = "text,class\n".to_owned();
    for at in 0..60 {
        let (word, class) = [("red", "warm"), ("blue", "cold")][at % 2];
        let class = if at % 20 == 3 { "" } else { class };
        writeln!(table, "a {word} thing with the number {at},{class}").unwrap();
    }
    sandbox.write("things.csv", &table);
    sandbox.succeed(&["init", "things.csv"]);
    sandbox.succeed(&["train", "things.toml"]);
    let said = "0 rows are skipped, but data.bad_rows is 3";
    let output = sandbox.run(&["evaluate", "runs/things"]);
    let before = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !before.contains("data.bad_rows"), "{before}");
    sandbox.write("things.csv", &table.replace(",\n", ",cold\n"));
    let changed = "the data have changed since the training (things.csv)";
    sandbox.fail(&["evaluate", "runs/things"], 2, &[said, changed]);
}

#[test]
fn predictions_leave_bad_rows_out() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    let texts = ["{\"description\": \"a ring\"}", "[]", "{\"description\": \"an acid\"}"];
    sandbox.write("texts.jsonl", &texts.join("\n"));
    let stopped = sandbox.run(&["predict", "runs/small", "texts.jsonl"]);
    assert_eq!(stopped.status.code(), Some(2));
    assert_eq!(String::from_utf8(stopped.stdout).unwrap().lines().count(), 1);
    let output = sandbox.run(&["predict", "runs/small", "texts.jsonl", "--on-bad-row", "skip"]);
    assert!(output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    says(&errors, &["texts.jsonl:2: found []", "texts.jsonl: 1 of 3 rows are skipped"]);
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<_> = answers.lines().map(json).collect();
    assert_eq!((answers.len(), &answers[1]["query"]), (2, &"an acid".into()));
    // the skipped one is counted
    assert_eq!(answers[1]["id"], "3");
    // before the names of the columns too
    sandbox.write("texts.csv", "\ndescription\na ring\n\nan acid\n");
    let blank = ["predict", "runs/small", "texts.csv"];
    sandbox.fail(&blank, 2, &["texts.csv:1: blank line inside the table"]);
    let output = sandbox.run(&[&blank[..], &["--on-bad-row", "skip"]].concat());
    assert!(output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    says(&errors, &["texts.csv:1: blank line", "texts.csv:4: blank line", "2 of 4 rows"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 2);
}

/// A table of queries is looked at for its columns before it is read.
#[test]
fn blank_lines_before_the_names_of_columns_are_bad_rows_of_queries() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let queries: String = outputs.split_inclusive('\n').take(11).collect();
    let data = "[data]\nsource = \"pool\"\nfolder = \"small\"\nfile = \"outputs.tsv\"\n\
                inputs = { column = \"name\" }\nsplits = { validation = 10, test = 10 }\n\n";
    let rest = CONFIG[CONFIG.find("[output]").unwrap()..].replace("table = \"outputs.tsv\"\n", "");
    sandbox.write("pool.toml", &[data, &rest].concat());
    sandbox.succeed(&["train", "pool.toml", "--quiet", "--out", "run"]);
    sandbox.write("queries.tsv", &queries);
    let evaluate = ["evaluate", "run", "--queries", "queries.tsv", "--json"];
    let expected = json(&sandbox.succeed(&evaluate));
    sandbox.write("queries.tsv", &format!("\n{queries}"));
    sandbox.fail(&evaluate, 2, &["queries.tsv:1: blank line inside the table"]);
    let found = json(&sandbox.succeed(&[&evaluate[..], &["--on-bad-row", "skip"]].concat()));
    assert_eq!((&found["mrr"], &found["queries"]), (&expected["mrr"], &expected["queries"]));
}

#[test]
fn rows_of_a_pool_are_drawn_from_those_that_are_left() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut pool = String::new();
    for (at, row) in rows(&outputs).into_iter().enumerate() {
        writeln!(pool, "{}", row.split_once('\t').unwrap().1).unwrap();
        pool += if at == 40 { "\n" } else { "" };
    }
    sandbox.write("data/small/pool.txt", &pool);
    let data = "[data]\nsource = \"pool\"\nfolder = \"small\"\nfile = \"pool.txt\"\n\
                splits = { validation = 10, test = 10 }\n\n";
    let rest = CONFIG[CONFIG.find("[output]").unwrap()..].replace("table = \"outputs.tsv\"\n", "");
    let rest = rest.replace("\"name\"", "\"description\"");
    sandbox.write("pool.toml", &[data, &rest].concat());
    sandbox.fail(&["train", "pool.toml"], 2, &["pool.txt:42", "blank line"]);
    let errors = skipped(&sandbox, "pool.toml", "run");
    says(&errors, &["pool.txt:42: blank line", "pool.txt: 1 of 81 rows are skipped"]);
    let report = json(&sandbox.read("run/metrics.json").replace('\n', " "));
    let found = json(&sandbox.succeed(&["evaluate", "run", "--json"]));
    assert_eq!(found["mrr"], report["mrr"]);
}

#[test]
fn rows_that_a_matrix_follows_are_never_skipped() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    sandbox.write("data/small/outputs.tsv", &format!("{outputs}o80\ta\tb\n"));
    let matrix: Vec<f64> = (0..160).map(f64::from).collect();
    std::fs::write(sandbox.path("data/small/outputs.npy"), npy(2, &matrix)).unwrap();
    let config = CONFIG
        .replace("kind = \"ngrams\", column = \"name\", min = 1, max = 3", "file = \"outputs.npy\"")
        .replace("features = { ", "features = { kind = \"file\", ")
        .replace("name = \"ngram\"", "name = \"linear\"");
    sandbox.write("matrix.toml", &config);
    let expected = ["outputs.tsv:82: 3 fields", "rows that a matrix follows are never skipped"];
    sandbox.fail(&["train", "matrix.toml", "--on-bad-row", "skip"], 2, &expected);
    // a table of which no row is left
    sandbox.write("data/small/validation.tsv", "id\tdescription\n1\n2\n");
    let expected = ["validation.tsv:2: 1 fields", "no row of the file can be used"];
    sandbox.fail(&["train", "small.toml", "--on-bad-row", "skip"], 2, &expected);
}
