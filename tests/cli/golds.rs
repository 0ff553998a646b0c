//! Queries with ids of their own, several right outputs, and outputs that do not compete.

use std::collections::HashMap;

use crate::sandbox::{Sandbox, json, number};

/// The columns of `ranks.tsv` in a report, a row a query.
fn ranks(sandbox: &Sandbox, report: &str) -> Vec<HashMap<String, String>> {
    let text = sandbox.read(&format!("{report}/ranks.tsv"));
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

const RING: &str = "a ring of kind METH and class ANE";
const CHAIN: &str = "an open chain of kind ETH and class YNE";

/// Queries of one output each: their ranks by query and gold, unfiltered.
fn alone(sandbox: &Sandbox, text: &str, golds: &[&str]) -> Vec<f64> {
    let rows: String = golds.iter().map(|gold| format!("{gold}\t{text}\n")).collect();
    sandbox.write("alone.tsv", &format!("id\tdescription\n{rows}"));
    sandbox.succeed(&["evaluate", "runs/small", "--queries", "alone.tsv", "--report", "alone"]);
    ranks(sandbox, "alone").iter().map(|row| row["rank"].parse().unwrap()).collect()
}

#[test]
fn of_several_right_outputs_the_best_counts_and_the_others_do_not_compete() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    // two queries; the outputs of each are three rows
    let first = ["o40", "o3", "o77"];
    let second = ["o17", "o60", "o5"];
    let row = |query: &str, gold: &str, text: &str| format!("{query}\t{gold}\t{text}\n");
    let rows: String =
        (0..3).map(|at| row("q1", first[at], RING) + &row("q2", second[at], CHAIN)).collect();
    sandbox.write("several.tsv", &format!("name\tid\tdescription\n{rows}"));
    let call = ["evaluate", "runs/small", "--queries", "several.tsv", "--query-id", "name"];
    let found = json(&sandbox.succeed(&[&call[..], &["--report", "r", "--json"]].concat()));
    assert_eq!(number(&found, "queries"), 2.0);
    let table = ranks(&sandbox, "r");
    for (row, (query, golds, text)) in
        table.iter().zip([("q1", first, RING), ("q2", second, CHAIN)])
    {
        assert_eq!(row["query"], query);
        // a naive filter: no rank ties here, so those of the others are whole numbers
        let own = alone(&sandbox, text, &golds);
        assert!(own.iter().all(|rank| rank.fract() == 0.0), "{own:?}");
        let best = (0..3).min_by(|&a, &b| own[a].total_cmp(&own[b])).unwrap();
        assert_eq!((&row["gold"][..], row["rank"].parse()), (golds[best], Ok(own[best])));
    }
    let text = sandbox.succeed(&call);
    assert!(text.contains("against 78 candidates each (in all 80"), "{text}");
    // in a random order a right one of three among 80 is first
    let chance = text.lines().find(|line| line.starts_with("chance")).unwrap();
    assert_eq!(chance.split_whitespace().nth(2), Some("0.0375"), "{text}");

    // the worst of the three alone is pushed down by the two others, unless training knows them
    let own = alone(&sandbox, RING, &first);
    let worst = (0..3).max_by(|&a, &b| own[a].total_cmp(&own[b])).unwrap();
    let mut train = sandbox.read("data/small/train.tsv");
    (0..3).filter(|&at| at != worst).for_each(|at| train += &format!("{}\t{RING}\n", first[at]));
    sandbox.write("data/small/train.tsv", &train);
    sandbox.write("one.tsv", &format!("id\tdescription\n{}\t{RING}\n", first[worst]));
    let call = ["evaluate", "runs/small", "--queries", "one.tsv", "--report", "one"];
    sandbox.succeed(&call);
    assert_eq!(ranks(&sandbox, "one")[0]["rank"].parse(), Ok(own[worst]));
    sandbox.succeed(&[&call[..], &["--filter-known"]].concat());
    // o40 is in the training table twice, with its own text too
    assert_eq!(ranks(&sandbox, "one")[0]["rank"].parse(), Ok(own[worst] - 2.0));
}

#[test]
fn queries_are_named_and_their_lists_are_their_own() {
    let sandbox = Sandbox::new();
    let test = "query\tid\tdescription\n\
                a\to70\tan open chain\nb\to70\ta ring\nb\to71\ta ring\nc\to72\ta ring\n";
    sandbox.write("data/small/test.tsv", test);
    for split in ["train", "validation"] {
        let file = format!("data/small/{split}.tsv");
        let table = sandbox.read(&file);
        let lines = table.lines().enumerate().map(|(at, line)| match at {
            0 => format!("query\t{line}\n"),
            _ => format!("{split}{at}\t{line}\n"),
        });
        sandbox.write(&file, &lines.collect::<String>());
    }
    let lists = "{\"query\": \"a\", \"candidates\": [\"o70\", \"o1\"]}\n\
                 {\"query\": \"b\", \"candidates\": [\"o70\", \"o71\", \"o2\", \"o3\"]}\n\
                 {\"query\": \"c\", \"candidates\": [\"o72\", \"o3\", \"o4\", \"o5\", \"o6\"]}\n";
    sandbox.write("lists.jsonl", lists);
    let report = sandbox.train("small.toml", &["data.query=query"]);
    assert_eq!(number(&report, "queries"), 3.0);
    let call = ["evaluate", "runs/small", "--candidates", "lists.jsonl"];
    let found = json(&sandbox.succeed(&[&call[..], &["--report", "r", "--json"]].concat()));
    let sizes = &found["candidates_per_query"];
    // the second right output of b does not compete
    let of = |key| number(sizes, key);
    assert_eq!((of("least"), of("median"), of("most")), (2.0, 3.0, 5.0), "{found}");
    let names: Vec<String> = ranks(&sandbox, "r").iter().map(|row| row["query"].clone()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    // predictions have the same names, and a second row of a query has its number
    let predicted = sandbox.succeed(&["predict", "runs/small", "data/small/test.tsv"]);
    let ids: Vec<_> = predicted.lines().map(|answer| json(answer)["id"].clone()).collect();
    assert_eq!(ids, ["a", "b", "3", "c"]);
    let text = sandbox.succeed(&call);
    assert!(text.contains("2 to 5 candidates each (median 3; in all 9, 0 duplicates)"), "{text}");

    sandbox.fail(&["train", "small.toml", "--set", "data.query=nothing"], 2, &["nothing"]);
    let other = test.replacen("b\to71\ta ring", "b\to71\ta chain", 1);
    sandbox.write("data/small/test.tsv", &other);
    sandbox.fail(&["evaluate", "runs/small"], 2, &["test.tsv:4", "\"b\"", "line 3"]);
    sandbox.write("data/small/test.tsv", &test.replacen("c\to72", " \to72", 1));
    sandbox.fail(&["evaluate", "runs/small"], 2, &["test.tsv:5", "query id"]);
}

#[test]
fn two_texts_of_one_output_are_two_rows() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "data/small/test.tsv",
        "id\tdescription\no70\ta ring\no70\tan open chain\no70#2\tx\n",
    );
    let changes = ["evaluation.missing_gold=rank-infinity"];
    let report = sandbox.train("small.toml", &changes);
    assert_eq!((number(&report, "queries"), number(&report, "missing_gold")), (3.0, 1.0));
    sandbox.succeed(&["evaluate", "runs/small", "--report", "r"]);
    let table = ranks(&sandbox, "r");
    let column = |name: &str| table.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("query"), ["o70", "o70#3", "o70#2"]);
    assert_eq!(column("gold"), ["o70", "o70", "o70#2"]);
}

/// Rows with a bit for each of three labels, as .arff.
pub fn arff(rows: impl Iterator<Item = usize>) -> String {
    let mut text = "@relation sets\n".to_string();
    (0..5).for_each(|i| text += &format!("@attribute x{i} numeric\n"));
    (0..3).for_each(|i| text += &format!("@attribute label{i} {{0,1}}\n"));
    text += "@data\n";
    for i in rows {
        let on: Vec<usize> = (0..3).filter(|&j| ((i % 7 + 1) >> j) & 1 == 1).collect();
        let mut parts: Vec<String> = on.iter().map(|j| format!("{j} 1")).collect();
        parts.push(format!("{} 1", 3 + i % 2));
        parts.extend(on.iter().map(|j| format!("{} 1", 5 + j)));
        text += &format!("{{{}}}\n", parts.join(","));
    }
    text
}

pub const SETS: &str = r#"
[data]
folder = "small"
source = "multi-label"
file = "sets.arff"
labels = 3
splits = { order = "file", train = 40, validation = 8 }

[output]
label = "labels"
features = { kind = "labels", column = "labels" }
kernel = { name = "gaussian", gamma = 0.5 }

[sketch]
full = true

[encoder]
kind = "kernel-machine"
inputs = { kind = "vectors", scaling = "deviation" }
kernel = { name = "gaussian", gamma = 0.1 }
lambda = 1e-4

[evaluation]
metric = "f1"
"#;

#[test]
fn rows_of_another_file_are_other_outputs() {
    let sandbox = Sandbox::new();
    sandbox.write("data/small/sets.arff", &arff(0..48));
    sandbox.write("sets.toml", SETS);
    let report = sandbox.train("sets.toml", &[]);
    // the rows of the file itself are known by their numbers
    let own = ["evaluate", "runs/sets", "--queries", "data/small/sets.arff", "--json"];
    let own = json(&sandbox.succeed(&own));
    assert_eq!((number(&own, "missing_gold"), number(&own, "f1")), (0.0, 1.0), "{own} {report}");
    // in another order, row 1 is not the row 1 of the pool
    sandbox.write("other.arff", &arff((0..20).rev()));
    let call = ["evaluate", "runs/sets", "--queries", "other.arff"];
    let other = json(&sandbox.succeed(&[&call[..], &["--report", "r", "--json"]].concat()));
    assert_eq!((number(&other, "missing_gold"), number(&other, "queries")), (20.0, 20.0));
    assert_eq!((number(&other, "f1"), number(&other, "mrr")), (1.0, 0.0), "{other}");
    assert!(other["mean_rank"].is_null(), "{other}");
    let table = ranks(&sandbox, "r");
    assert_eq!((&table[0]["query"][..], &table[0]["gold"][..]), ("1", "other.arff row 1"));
    let text = sandbox.succeed(&call);
    assert!(text.contains("F1") && !text.contains("MRR"), "{text}");
    let refused = [&call[..], &["--missing-gold", "error"]].concat();
    sandbox.fail(&refused, 2, &["--missing-gold", "remove it: label sets of a new table"]);
    let refused = [&call[..], &["--query-id", "row"]].concat();
    sandbox.fail(&refused, 2, &["data.query", "only tables of pairs"]);
}
