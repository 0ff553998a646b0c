//! A column of a table of outputs, through every door: search, tables, JSON, filters, added candidates, shards, ensembles,
//! the server and exports.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sandbox::{CONFIG, RIDGE, Sandbox, json, number};

const QUERY: &str = "a ring of kind METH and class ANE";

/// The small data with a price of each output, which every seventh lacks, and a supplier. They are columns of the run `run`.
fn sandbox() -> Sandbox {
    sandbox_with(|row| [price(row), supplier(row).to_owned()])
}

/// The small data with these cells of each output in two more columns, of the run `run`.
fn sandbox_with(cells: impl Fn(usize) -> [String; 2]) -> Sandbox {
    let sandbox = Sandbox::new();
    let table = sandbox.read("data/small/outputs.tsv");
    let mut lines = table.lines();
    let mut wider = format!("{}\tprice\tsold by\n", lines.next().unwrap());
    for (row, line) in lines.enumerate() {
        let [price, supplier] = cells(row);
        wider += &format!("{line}\t{price}\t{supplier}\n");
    }
    sandbox.write("data/small/outputs.tsv", &wider);
    let config =
        CONFIG.replace("label = \"name\"", "label = \"name\"\ncolumns = [\"price\", \"sold by\"]");
    let encoder = crate::sandbox::BAG;
    sandbox.write("columns.toml", &config.replace(encoder, RIDGE));
    sandbox.succeed(&["train", "columns.toml", "--out", "run", "--quiet"]);
    sandbox
}

/// Prices whose order as texts is not that of the numbers.
fn price(row: usize) -> String {
    match row % 7 {
        0 => String::new(),
        _ => format!("{}", row as f64 * 0.5),
    }
}

fn supplier(row: usize) -> &'static str {
    ["Acme", "A & B", "n/a"][row % 3]
}

/// The number of an output, whose id is `o` with it.
fn row(id: &Value) -> usize {
    id.as_str().unwrap().trim_start_matches('o').parse().unwrap()
}

/// All ids of hits, those of duplicates included.
fn ids(hits: &Value) -> BTreeSet<usize> {
    let hits = hits.as_array().unwrap().iter();
    hits.map(|hit| row(&hit["id"])).collect()
}

/// The ids of rows for which something holds.
fn rows(holds: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    (0..80).filter(|&row| holds(row)).collect()
}

#[test]
fn columns_are_shown_by_the_command() {
    let sandbox = sandbox();
    let search = ["search", "run", QUERY, "--top", "80"];
    let found = json(&sandbox.succeed(&[&search[..], &["--json"]].concat()));
    for hit in found["candidates"].as_array().unwrap() {
        let row = row(&hit["id"]);
        let expected = serde_json::json!({"price": price(row), "sold by": supplier(row)});
        assert_eq!(hit["columns"], expected, "{hit}");
    }
    let text = sandbox.succeed(&search);
    let heading: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(heading, ["rank", "score", "id", "price", "sold", "by", "label"]);
    let first = &found["candidates"][0];
    let line = text.lines().nth(1).unwrap();
    assert!(line.contains(supplier(row(&first["id"]))), "{line}");

    sandbox.write("texts.txt", &format!("{QUERY}\nan open chain of kind OCT\n"));
    let predict = ["predict", "run", "texts.txt", "--top", "3", "--format"];
    let table = sandbox.succeed(&[&predict[..], &["tsv"]].concat());
    let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let expected = [
        "id",
        "query",
        "rank",
        "candidate",
        "label",
        "score",
        "gap",
        "tied",
        "duplicates",
        "price",
        "sold by",
    ];
    assert_eq!(cells[0], expected);
    for line in &cells[1..] {
        let row: usize = line[3].trim_start_matches('o').parse().unwrap();
        assert_eq!((line[9], line[10]), (price(row).as_str(), supplier(row)), "{line:?}");
    }
    let csv = sandbox.succeed(&[&predict[..], &["csv"]].concat());
    assert!(csv.lines().next().unwrap().ends_with(",duplicates,price,sold by"), "{csv}");
    let lines = sandbox.succeed(&[&predict[..], &["jsonl"]].concat());
    let line: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(line["candidates"][0], *first);

    sandbox.succeed(&["export", "run", "--candidates", "--out", "exported"]);
    let table = sandbox.read("exported/candidates.tsv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("id\tlabel\tprice\tsold by"));
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let row: usize = cells[0].trim_start_matches('o').parse().unwrap();
        assert_eq!(cells[2..], [price(row).as_str(), supplier(row)]);
    }
}

#[test]
fn filters_compare_columns() {
    let sandbox = sandbox();
    let search = ["search", "run", QUERY, "--top", "80", "--json"];
    let all = json(&sandbox.succeed(&search));
    let filtered = |filter: &str| {
        json(&sandbox.succeed(&[&search[..], &["--filter", filter]].concat()))["candidates"].clone()
    };
    let has = |row: usize| !row.is_multiple_of(7);
    let cheap = |row: usize| has(row) && (row as f64) * 0.5 < 10.0;
    let named = |row: usize| row % 3 != 2;
    let cases: [(&str, &dyn Fn(usize) -> bool); 10] = [
        ("price < 10", &cheap),
        ("price >= 10 and price <= 2e1", &|row| has(row) && (20..=40).contains(&row)),
        ("not price < 10", &|row| has(row) && !cheap(row)),
        ("price != 9.50", &|row| has(row) && row != 19),
        ("price = 9.50", &|row| row == 19),
        ("\"sold by\" = Acme", &|row| row % 3 == 0),
        ("\"sold by\" = 'A & B' and price < 10", &|row| row % 3 == 1 && cheap(row)),
        ("\"sold by\" != Acme", &|row| named(row) && row % 3 != 0),
        ("id = o3 or id = \"o5\"", &|row| [3, 5].contains(&row)),
        ("price < 0", &|_| false),
    ];
    for (filter, holds) in cases {
        let hits = filtered(filter);
        // of duplicates the first wanted one is named
        let duplicates: BTreeSet<usize> = hits
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|hit| hit["duplicates"].as_array().unwrap().iter().map(row))
            .collect();
        let (found, expected) = (ids(&hits), rows(holds));
        assert!(found.is_subset(&expected), "{filter}: {found:?}");
        let missing: BTreeSet<usize> = expected.difference(&found).copied().collect();
        assert!(missing.is_subset(&duplicates), "{filter}: {missing:?} are missing");
        for hit in hits.as_array().unwrap() {
            let same = |other: &&Value| other["score"] == hit["score"];
            let unfiltered = all["candidates"].as_array().unwrap().iter().find(same).unwrap();
            assert_eq!(number(hit, "rank"), number(unfiltered, "rank"), "{filter}: {hit}");
        }
    }
    // the same of a stream of queries
    sandbox.write("texts.txt", QUERY);
    let predict = ["predict", "run", "texts.txt", "--top", "80", "--filter", "price < 10"];
    let line: Value = serde_json::from_str(&sandbox.succeed(&predict)).unwrap();
    assert_eq!(line["candidates"], filtered("price < 10"));
    for (filter, expected) in [
        (
            "pric < 10",
            "--filter = \"pric < 10\", at position 1 \"pric\" (did you mean \"price\"?): expected a column of the candidates: id, label, \
                       price, sold by (a training adds those that output.columns names)",
        ),
        ("price < 10 & price > 5", "at position 12 \"&\": expected \"and\", \"or\" or the end"),
        ("price <", "at position 8 the end: expected a number or a text"),
        ("price < cheap", "at position 7 \"<\" of a text: expected = or !="),
        ("mass < 300", "at position 1 \"mass\": remove it: candidates are not molecules"),
    ] {
        sandbox.fail(&[&search[..5], &["--filter", filter]].concat(), 2, &[expected]);
        // no candidate is no table
        let none = sandbox.succeed(&[&search[..3], &["--filter", "price < -1"]].concat());
        assert!(
            none.starts_with("none of ") && none.ends_with(" candidates passes the filter\n"),
            "{none}"
        );
    }
    let sets = ["predict", "run", "texts.txt", "--coverage", "0.8", "--filter", "price < 10"];
    sandbox.fail(&sets, 2, &["--filter"]);
}

#[test]
fn columns_survive_added_candidates_shards_and_ensembles() {
    let sandbox = sandbox();
    sandbox.write("short.tsv", "id\tname\nnew\tmethanal\n");
    sandbox.fail(&["candidates", "add", "run", "short.tsv"], 2, &["no column \"price\""]);
    sandbox.write("new.tsv", "price\tid\tname\tsold by\n0.25\tnew\tmethanal\tAcme\n");
    sandbox.succeed(&["candidates", "add", "run", "new.tsv"]);
    let search = ["search", "run", QUERY, "--top", "81", "--json"];
    let cheapest = [&search[..], &["--filter", "price < 0.5"]].concat();
    let found = sandbox.succeed(&cheapest);
    let hits = json(&found)["candidates"].clone();
    assert_eq!(hits.as_array().unwrap().len(), 1, "{hits}");
    assert_eq!(hits[0]["id"], "new");
    assert_eq!(hits[0]["columns"], serde_json::json!({"price": "0.25", "sold by": "Acme"}));

    sandbox.succeed(&["candidates", "shard", "run", "--parts", "3", "--out", "parts"]);
    for options in [&search, &cheapest[..]] {
        let sharded = [options, &["--shards", "parts"]].concat();
        assert_eq!(sandbox.succeed(&sharded), sandbox.succeed(options));
    }

    let members = "\n[ensemble]\n[[ensemble.members]]\nname = \"a\"\n\n[[ensemble.members]]\nname = \"b\"\nencoder.lambda = 0.1\n";
    sandbox.write("ensemble.toml", &(sandbox.read("columns.toml") + members));
    sandbox.succeed(&["train", "ensemble.toml", "--out", "both", "--quiet"]);
    sandbox.succeed(&["candidates", "add", "both", "new.tsv"]);
    let cheapest = ["search", "both", QUERY, "--json", "--filter", "price < 0.5"];
    assert_eq!(json(&sandbox.succeed(&cheapest))["candidates"][0]["columns"]["price"], "0.25");
}

#[test]
fn shards_read_the_numbers_of_a_column_as_the_whole_run_does() {
    let sandbox = sandbox_with(|row| {
        let price = if row < 30 { "1,250" } else { "12,50" };
        let supplier = if row < 60 { "5" } else { "by mail" };
        [price, supplier].map(str::to_owned)
    });
    sandbox.succeed(&["candidates", "shard", "run", "--parts", "4", "--out", "parts"]);
    let search = ["search", "run", QUERY, "--top", "80", "--json"];
    let all = json(&sandbox.succeed(&search))["candidates"].clone();
    let filtered = |filter: &str| {
        let whole = [&search[..], &["--filter", filter]].concat();
        let answer = sandbox.succeed(&whole);
        let sharded = [&whole[..], &["--shards", "parts"]].concat();
        assert_eq!(sandbox.succeed(&sharded), answer, "{filter}");
        json(&answer)["candidates"].clone()
    };
    // one cell with a decimal comma says it of all
    assert_eq!(filtered("price < 20"), all);
    assert_eq!(filtered("price > 1000"), serde_json::json!([]));
    // most cells of the column are numbers, though none of the last shard is
    let numbered = filtered("\"sold by\" = 5");
    assert!(ids(&numbered).is_subset(&rows(|row| row < 60)), "{numbered}");
    assert!(!ids(&numbered).is_empty());
}

#[test]
fn wrong_columns_are_refused_by_the_configuration() {
    let sandbox = sandbox();
    let train = |columns: &str, expected: &[&str]| {
        let set = format!("output.columns={columns}");
        sandbox.fail(&["train", "columns.toml", "--out", "none", "--set", &set], 2, expected);
    };
    train("[\"score\"]", &["output.columns = \"score\"", "rank, id, label, score"]);
    train("[\"mass\"]", &["output.columns = \"mass\"", "similarity"]);
    train("[\"price\", \"price\"]", &["output.columns = \"price\"", "each name once"]);
    train("[\"name\"]", &["output.columns = \"name\"", "output.label"]);
    train("[\"prize\"]", &["no column \"prize\""]);
}

#[cfg(feature = "serve")]
mod served {
    use serde_json::json;

    use super::*;
    use crate::served::{Served, molecules, send};

    #[test]
    fn the_server_answers_with_columns_and_filters_as_the_command() {
        let sandbox = sandbox();
        let served = Served::start(&sandbox, &["run"]);
        let command = |options: &[&str]| {
            let search = ["search", "run", QUERY, "--top", "9", "--json"];
            json(&sandbox.succeed(&[&search[..], options].concat()))["candidates"].clone()
        };
        let search = |filter: Value| {
            let answer =
                served.ask("/api/search", &json!({"texts": [QUERY], "top": 9, "filter": filter}));
            (answer["answers"][0]["hits"].clone(), number(&answer, "wanted") as usize)
        };
        assert_eq!(search(Value::Null), (command(&[]), 80));
        let text = "price < 10 and \"sold by\" = Acme";
        let expected = rows(|row| row % 7 != 0 && row < 20 && row % 3 == 0);
        let kept = (command(&["--filter", text]), expected.len());
        assert_eq!(search(json!(text)), kept);
        assert_eq!(search(json!({"expression": text})), kept);

        let models: Value = serde_json::from_str(&served.get("/api/models").body).unwrap();
        assert_eq!(models["models"][0]["columns"], json!(["price", "sold by"]));
        let candidates = served.ask("/api/candidates", &json!({"ids": ["o3"]}));
        let columns = json!({"price": "1.5", "sold by": "Acme"});
        assert_eq!(candidates["candidates"][0]["columns"], columns);

        let body = json!({"format": "csv", "search": {"texts": [QUERY], "top": 2, "filter": text}})
            .to_string();
        let csv =
            send(&served.address, "POST", "/api/export", "application/json", body.as_bytes()).body;
        assert!(csv.lines().next().unwrap().contains(",duplicates,price,sold by"), "{csv}");
        assert!(csv.lines().nth(1).unwrap().contains("Acme"), "{csv}");

        for (filter, expected) in [
            (
                json!("pric < 10"),
                "filter = \"pric < 10\", at position 1 \"pric\" (did you mean \"price\"?): expected a column",
            ),
            (json!({"expression": "price < x"}), "filter = \"price < x\", at position 7"),
            (json!({"max_mass": 10}), "filter"),
            (json!(7), "filter"),
            (json!({"colour": 1}), "colour"),
        ] {
            let (status, refusal) =
                served.post("/api/search", &json!({"texts": [QUERY], "filter": filter}));
            assert!([400, 422].contains(&status), "{filter}: {refusal}");
            assert!(refusal["error"].as_str().unwrap().contains(expected), "{filter}: {refusal}");
        }
    }

    #[test]
    fn properties_of_molecules_are_one_expression() {
        let sandbox = molecules();
        let served = Served::start(&sandbox, &["molecules"]);
        let text = "A carboxylic acid with a bromine atom on a benzene ring.";
        let search = |filter: Value| {
            let answer =
                served.ask("/api/search", &json!({"texts": [text], "top": 50, "filter": filter}));
            (answer["wanted"].clone(), answer["answers"][0]["hits"].clone())
        };
        let object = json!({"formula": "Br*", "max_mass": 400.0, "groups": ["carboxylic acid"],
            "similar_to": "OC(=O)c1ccccc1Br", "min_similarity": 0.2});
        let expression = "formula = Br* and mass <= 400 and group = \"carboxylic acid\" and \
                          similarity(\"OC(=O)c1ccccc1Br\") >= 0.2";
        let (wanted, hits) = search(object);
        assert!(wanted.as_u64().unwrap() > 0, "{wanted}");
        assert_eq!(search(json!(expression)), (wanted.clone(), hits.clone()));
        let named = expression.replace("ccccc1Br", "ccccc1Br a name");
        assert_eq!(search(json!(named)), (wanted, hits.clone()));
        let command =
            ["search", "molecules", text, "--top", "50", "--json", "--filter", expression];
        let ids = |hits: &Value| {
            hits.as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(ids(&json(&sandbox.succeed(&command))["candidates"]), ids(&hits));
        for (filter, expected) in [
            ("group = acid", "at position 9 \"acid\": expected one of "),
            ("formula = 7", "at position 11 \"7\": expected element symbols"),
            ("mass = heavy", "at position 8 \"heavy\": expected a number"),
            ("similarity > 0.5", "at position 1 no molecule: expected a SMILES in brackets"),
            ("similarity(\"C(\") > 0.5", "expected a SMILES"),
            ("similarity(C) > 2", "at position 17 2: expected 0 to 1"),
            ("mass(C) < 2", "at position 1 \"C\" in brackets: expected no brackets"),
            ("weight < 2", "or a property of molecules: mass < 300"),
        ] {
            let (status, refusal) =
                served.post("/api/search", &json!({"texts": [text], "filter": filter}));
            let error = refusal["error"].as_str().unwrap_or_default();
            assert!(status == 422 && error.contains(expected), "{filter}: {status} {error}");
        }
    }
}
