//! Cross-validation: parts, means over them, and comparisons.

use std::collections::BTreeSet;

use dsokr::Config;
use dsokr::data::{DataRoot, SplitName};
use serde_json::Value;

use crate::sandbox::{CONFIG, RIDGE, Sandbox, json, number};

/// The spread of a metric.
fn spread<'a>(found: &'a Value, metric: &str) -> &'a Value {
    let all = found["seeds"].as_array().unwrap();
    all.iter().find(|own| own["metric"] == metric).unwrap()
}

fn ridge(sandbox: &Sandbox) {
    let (head, tail) = CONFIG.split_once("[encoder]").unwrap();
    let (_, tail) = tail.split_once("[training]").unwrap();
    sandbox.write("ridge.toml", &format!("{head}[encoder]\n{RIDGE}\n\n[training]{tail}"));
}

#[test]
fn parts_are_runs_and_the_command_goes_on() {
    let sandbox = Sandbox::new();
    ridge(&sandbox);
    let cv = |more: &[&str]| {
        let all = [&["cv", "ridge.toml", "--folds", "3", "--json"][..], more].concat();
        json(&sandbox.succeed(&all))
    };
    let one = cv(&[]);
    let both = cv(&["--repeats", "2"]);
    assert_eq!(
        (&one["split"], spread(&one, "mrr")["values"].as_array().unwrap().len()),
        (&"validation".into(), 3)
    );
    let mrr = spread(&both, "mrr");
    assert_eq!(mrr["seeds"].to_string(), r#"["0:1","0:2","0:3","1:1","1:2","1:3"]"#);
    let values: Vec<f64> =
        mrr["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(serde_json::json!(values[..3]), spread(&one, "mrr")["values"]);
    let mean = values.iter().sum::<f64>() / 6.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    assert!((number(mrr, "mean") - mean).abs() < 1e-12);
    assert!((number(mrr, "deviation") - (squares / 5.0).sqrt()).abs() < 1e-12);
    // the held parts of a division are its 70 training and validation pairs, and a run finds its part again
    let root = DataRoot::at(sandbox.path("data/small"));
    let mut held = BTreeSet::new();
    for part in 1..=3 {
        let run = format!("runs/ridge-cv/data.fold.seed=1,data.fold.held={part}");
        let config = Config::load(sandbox.path(&format!("{run}/config.toml"))).unwrap();
        let split = config.source().read_split(SplitName::Validation, &root).unwrap();
        held.extend(split.ids);
        let again = json(&sandbox.succeed(&["evaluate", &run, "--json", "--data", "data"]));
        assert_eq!(again["mrr"], values[2 + part]);
    }
    let expected: BTreeSet<String> = (0..70).map(|output| format!("o{output}")).collect();
    assert_eq!(held, expected);
    let text = sandbox.succeed(&["cv", "ridge.toml", "--folds", "3", "--repeats", "2"]);
    assert!(text.contains(&format!("{mean:.4} ± ")) && !text.contains("--nested"), "{text}");
    assert!(
        sandbox.read("runs/ridge-cv/sweep.csv").starts_with("data.fold.seed,data.fold.held,mrr,")
    );
    sandbox.fail(
        &["cv", "ridge.toml", "--folds", "4"],
        2,
        &["a sweep of a different configuration"],
    );
    sandbox.fail(&["cv", "ridge.toml", "--folds", "1"], 2, &["--folds = 1", "at least 2"]);
    sandbox.fail(
        &["cv", "ridge.toml", "--out", "f", "--folds", "71"],
        2,
        &["--folds = 71", "at most 70"],
    );
    sandbox.fail(&["cv", "ridge.toml", "--repeats", "0"], 2, &["--repeats = 0"]);
}

/// Nobody has typed a key of `data.fold`.
#[test]
fn refusals_name_the_arguments_of_the_command() {
    let sandbox = Sandbox::new();
    ridge(&sandbox);
    for table in ["train", "validation", "test"] {
        let file = format!("data/small/{table}.tsv");
        let table = sandbox.read(&file);
        let lines = table.lines().map(|line| {
            let (id, _) = line.split_once('\t').unwrap();
            let half = match id {
                "id" => "half",
                id if id.ends_with(['0', '2', '4', '6', '8']) => "even",
                _ => "odd",
            };
            format!("{line}\t{half}\n")
        });
        sandbox.write(&file, &lines.collect::<String>());
    }
    let refused = |group: &str, expected: &[&str]| {
        let command = ["cv", "ridge.toml", "--out", "cv", "--folds", "3", "--group", group];
        sandbox.fail(&command, 2, expected);
    };
    refused("half", &["--folds = 3", "at most 2, the number of groups of pairs"]);
    refused("colour", &["no column \"colour\", which --group names", "half"]);
    refused("repeats", &["--group = \"repeats\"", "\"scaffold\" or a column"]);
}

#[test]
fn a_folder_with_parts_of_another_configuration_is_refused_with_a_remedy_of_the_command() {
    let sandbox = Sandbox::new();
    ridge(&sandbox);
    let cv = |more: &[&'static str]| {
        [&["cv", "ridge.toml", "--out", "cv", "--folds"][..], more].concat()
    };
    sandbox.succeed(&cv(&["2"]));
    let remedy =
        "the runs of a folder have one configuration: choose a different folder with --out";
    for (more, change) in [
        (&["3"][..], "started with --folds = 2, the configuration now says 3"),
        (&["2", "--set", "encoder.lambda=0.1"], "started with encoder.lambda = "),
    ] {
        sandbox.fail(&cv(more), 2, &[change, remedy]);
    }
}

#[test]
fn nested_parts_are_tests_with_validation_pairs_of_the_others() {
    let sandbox = Sandbox::new();
    let cv = |more: &[&str]| {
        sandbox.succeed(&[&["cv", "small.toml", "--folds", "2"][..], more].concat())
    };
    let text = cv(&["--out", "plain", "--set", "training.epochs=1"]);
    assert!(text.contains("checkpoints are chosen on the parts that are evaluated"), "{text}");
    let text = cv(&["--out", "nested", "--nested", "--set", "training.epochs=1"]);
    assert!(text.contains("test metric") && !text.contains("chosen on"), "{text}");
    let run = "nested/data.fold.seed=0,data.fold.held=1/config.toml";
    let config = Config::load(sandbox.path(run)).unwrap();
    let dataset = config.source().load(&DataRoot::at(sandbox.path("data/small"))).unwrap();
    let test = dataset.test.unwrap();
    assert_eq!(
        (dataset.train.ids.len(), dataset.validation.ids.len(), test.ids.len()),
        (30, 5, 35)
    );
}

#[test]
fn cross_validations_on_others_are_not_compared() {
    let sandbox = Sandbox::new();
    ridge(&sandbox);
    let cv = |out: &str, set: &str| {
        sandbox.succeed(&["cv", "ridge.toml", "--folds", "3", "--out", out, "--set", set]);
    };
    cv("a", "encoder.lambda=0.001");
    cv("weak", "encoder.lambda=0.5");
    sandbox.succeed(&["compare", "a", "weak"]);
    cv("sample", "evaluation.candidates=\"sample:20\"");
    let part = "sample/data.fold.seed=0,data.fold.held=1: it is measured on other queries, or other lists of \
                candidates, than a/data.fold.seed=0,data.fold.held=1";
    sandbox.fail(&["compare", "a", "sample"], 2, &[part]);
    // another table of the same name, and another column of the same table
    let train = sandbox.read("data/small/train.tsv");
    sandbox.write("data/small/train.tsv", &train.replacen("a ring", "the ring", 1));
    cv("text", "encoder.lambda=0.001");
    sandbox.fail(&["compare", "a", "text"], 2, &["text/data.fold.seed=0", "other queries"]);
    for table in ["train", "validation", "test"] {
        let file = format!("data/small/{table}.tsv");
        let table = sandbox.read(&file);
        let lines = table.lines().map(|line| {
            let (id, text) = line.split_once('\t').unwrap();
            let short = if id == "id" { "short".to_owned() } else { text.replace(" of kind", "") };
            format!("{line}\t{short}\n")
        });
        sandbox.write(&file, &lines.collect::<String>());
    }
    cv("short", "data.inputs={column=\"short\"}");
    sandbox.succeed(&["compare", "text", "short"]);
}

/// Golden: `t = mean(d) / sqrt((1/10 + n2/n1) var(d, ddof=1))` and `scipy.stats.t` of SciPy 1.17.1 with 9 degrees of freedom;
/// n2/n1 is 1/4, and where 28 pairs train 14/28, as 28/56 where each query has two right outputs; 14/48 where a seventh of the
/// other 56 is for validation.
#[test]
fn cross_validations_are_compared_by_the_corrected_test() {
    let sandbox = Sandbox::new();
    ridge(&sandbox);
    let first = [0.61, 0.58, 0.64, 0.60, 0.57, 0.66, 0.59, 0.62, 0.63, 0.60];
    let second = [0.65, 0.60, 0.66, 0.65, 0.58, 0.66, 0.63, 0.66, 0.64, 0.65];
    let weak = "encoder.lambda=0.1";
    let limit = "data.limit=28";
    // the second right output of each query is the next one
    std::fs::create_dir_all(sandbox.path("data/twice")).unwrap();
    sandbox.write("data/twice/outputs.tsv", &sandbox.read("data/small/outputs.tsv"));
    for name in ["train", "validation", "test"] {
        let table = sandbox.read(&format!("data/small/{name}.tsv"));
        let rows = table.lines().skip(1).map(|line| {
            let (id, text) = line.split_once('\t').unwrap();
            let next = (id[1..].parse::<usize>().unwrap() + 1) % 80;
            format!("q{id}\t{id}\t{text}\nq{id}\to{next}\t{text}\n")
        });
        let rows: String = rows.collect();
        let table = format!("query\tid\tdescription\n{rows}");
        sandbox.write(&format!("data/twice/{name}.tsv"), &table);
    }
    let [folder, query] = ["data.folder=\"twice\"", "data.query=\"query\""];
    let twice = ["--set", folder, "--set", query, "--set", "data.limit=56"];
    let weak_twice = [&twice[..], &["--set", weak]].concat();
    for (name, values, sets) in [
        ("a", first, &[][..]),
        ("b", second, &["--set", weak][..]),
        ("few-a", first, &["--set", limit][..]),
        ("few-b", second, &["--set", limit, "--set", weak][..]),
        ("twice-a", first, &twice[..]),
        ("twice-b", second, &weak_twice[..]),
        ("nested-a", first, &["--nested"][..]),
        ("nested-b", second, &["--nested", "--set", weak][..]),
    ] {
        let cv = ["cv", "ridge.toml", "--repeats", "2", "--out", name, "--json"];
        let mut found = json(&sandbox.succeed(&[&cv[..], sets].concat()));
        for run in found["runs"].as_array_mut().unwrap() {
            let number = |at: usize| run["setting"][at].as_str().unwrap().parse::<usize>().unwrap();
            let at = 5 * number(0) + number(1) - 1;
            run["metrics"]["mrr"] = values[at].into();
        }
        sandbox.write(&format!("{name}/sweep.json"), &found.to_string());
    }
    let found = json(&sandbox.succeed(&["compare", "a", "b", "a", "--json"]));
    assert_eq!((&found["parts"], &found["folds"]), (&10.into(), &5.into()));
    let metrics = found["metrics"].as_array().unwrap();
    let runs = &metrics.iter().find(|metric| metric["metric"] == "mrr").unwrap()["runs"];
    let near = |value: &Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-10, "{value} {expected}");
    };
    near(&runs[0]["value"], 0.61);
    near(&runs[0]["ci95"][0], 0.5726763110350988);
    let difference = &runs[1]["difference"];
    near(&difference["difference"], 0.028);
    near(&difference["ci95"][0], 0.0037293505780921672);
    near(&difference["ci95"][1], 0.052270649421907886);
    near(&difference["p"], 0.028282209620820377);
    near(&difference["p_holm"], 2.0 * 0.028282209620820377);
    assert_eq!(runs[2]["difference"]["p"], 1.0);
    let of_limit = [-0.0037777394690368185, 0.07739253968675383];
    let of_nested = [0.0023252820769543957, 0.03574378426774997];
    for (name, [low, p]) in [("few", of_limit), ("twice", of_limit), ("nested", of_nested)] {
        let [first, second] = ["a", "b"].map(|end| format!("{name}-{end}"));
        let few = json(&sandbox.succeed(&["compare", &first, &second, "--json"]));
        let metrics = few["metrics"].as_array().unwrap();
        let runs = &metrics.iter().find(|metric| metric["metric"] == "mrr").unwrap()["runs"];
        near(&runs[1]["difference"]["ci95"][0], low);
        near(&runs[1]["difference"]["p"], p);
    }
    let says = ["few-b/sweep.json", "28 training pairs (data.limit)", "all training pairs"];
    sandbox.fail(&["compare", "a", "few-b"], 2, &says);
    let text = sandbox.succeed(&["compare", "a", "b"]);
    assert!(
        text.contains("10 parts of 5-fold cross-validations, corrected resampled t-test"),
        "{text}"
    );
    let named = json(&sandbox.succeed(&["compare", "a", "b", "--labels", "weak,strong", "--json"]));
    assert_eq!(named["metrics"][0]["runs"][1]["run"], "strong");
    for [name, value] in [["--split", "test"], ["--data", "none"], ["--on-bad-row", "skip"]] {
        let says = [&format!("{name} = given")[..], "remove it"];
        sandbox.fail(&["compare", "a", "b", name, value], 2, &says);
    }
    sandbox.succeed(&["cv", "ridge.toml", "--out", "c", "--seed", "5"]);
    sandbox.fail(&["compare", "a", "c"], 2, &["c, with the parts 5:1"]);
    sandbox.succeed(&["train", "ridge.toml", "--out", "run"]);
    sandbox.fail(&["compare", "a", "run"], 2, &["run/sweep.json", "no such file"]);
}

/// Nested parts are weighed by the pairs that runs have learned from, which an ensemble knows of its members.
#[test]
fn nested_cross_validations_of_ensembles_are_compared() {
    let sandbox = Sandbox::new();
    ridge(&sandbox);
    let members = "\n[ensemble]\n[[ensemble.members]]\nname = \"one\"\n[[ensemble.members]]\nname = \"two\"\n\
                   encoder.lambda = 0.1\n";
    sandbox.write("two.toml", &(sandbox.read("ridge.toml") + members));
    for (out, size) in [("a", "sketch.size=20"), ("b", "sketch.size=10")] {
        sandbox
            .succeed(&["cv", "two.toml", "--folds", "3", "--nested", "--out", out, "--set", size]);
    }
    let compared = json(&sandbox.succeed(&["compare", "a", "b", "--json"]));
    let runs = &compared["metrics"][0]["runs"];
    assert!(runs[1]["difference"]["p"].is_number(), "{compared}");
}
