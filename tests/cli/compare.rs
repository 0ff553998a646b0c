//! Several runs side by side: comparisons, seeds, sweeps.

use std::collections::BTreeSet;
use std::path::Path;

use dsokr::compare::{EvaluatedRun, compare};
use dsokr::core::Processes;
use dsokr::run::{Member, QueryRequest};
use dsokr::{Evaluation, Run, StoredEvaluation};
use serde_json::Value;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json, number};

fn metric<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let metrics = comparison["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["metric"] == name).unwrap()
}

/// The height of a circle of a figure, from the top.
fn height(circle: &str) -> f64 {
    let (_, height) = circle.split_once("cy=\"").unwrap();
    height.split_once('"').unwrap().0.parse().unwrap()
}

#[test]
fn runs_are_compared_with_the_first() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "a", "--set", "training.epochs=60"]);
    sandbox.succeed(&["train", "small.toml", "--out", "b", "--set", "training.epochs=1"]);
    let kept: Value = serde_json::from_str(&sandbox.read("a/metrics.json")).unwrap();
    for (key, expected) in [("seed", "0"), ("version", env!("CARGO_PKG_VERSION"))] {
        assert_eq!(kept[key].to_string().trim_matches('"'), expected);
    }
    assert_eq!(kept["date"].as_str().unwrap().len(), "2000-01-01T00:00:00Z".len(), "{kept}");
    let fingerprint = |run: &str| {
        let kept: Value =
            serde_json::from_str(&sandbox.read(&format!("{run}/metrics.json"))).unwrap();
        kept["fingerprint"].as_str().unwrap().to_owned()
    };
    assert_ne!(fingerprint("a"), fingerprint("b"));

    let found = json(&sandbox.succeed(&["compare", "a", "b", "a", "--json"]));
    let mrr = metric(&found, "mrr");
    let [first, second, third] = [0, 1, 2].map(|at| &mrr["runs"][at]);
    assert_eq!(first["value"], kept["mrr"]);
    // the intervals of a run are those that it was trained with
    assert_eq!(first["ci95"], kept["intervals"]["mrr"]);
    assert!(first["difference"].is_null());
    let all = found["metrics"].as_array().unwrap();
    assert!(all.len() >= 6, "{found}");
    for metric in all {
        for run in metric["runs"].as_array().unwrap() {
            let [low, high] = [0, 1].map(|end| run["ci95"][end].as_f64().unwrap());
            assert!((low..=high).contains(&number(run, "value")) && low.is_finite(), "{metric}");
        }
    }
    let difference = &second["difference"];
    let expected = number(second, "value") - number(first, "value");
    assert_eq!(number(difference, "difference"), expected);
    assert!(expected < 0.0 && number(difference, "p") < 0.2, "{found}");
    // Holm: the smaller of two p-values twice, the other one at least as large
    assert_eq!(number(difference, "p_holm"), 2.0 * number(difference, "p"));
    assert_eq!(number(&third["difference"], "p"), 1.0);
    assert_eq!(third["difference"]["ci95"], serde_json::json!([0.0, 0.0]));
    assert_eq!(metric(&found, "median_rank")["larger_is_better"], false);

    for (format, part) in [
        ("text", "mrr ↑"),
        ("markdown", "| mrr ↑ | a | "),
        ("latex", "\\begin{tabular}"),
        ("csv", "\nmrr,true,a,"),
        ("json", "\"p_holm\""),
    ] {
        let text = sandbox.succeed(&["compare", "a", "b", "--format", format]);
        assert!(text.contains(part), "{format}: {text}");
    }
    sandbox.succeed(&["compare", "a", "b", "--plot", "compared.svg"]);
    let svg = sandbox.read("compared.svg");
    // a mark in the figure and one in the legend for each of two runs and four metrics
    let heights: Vec<f64> = svg.split("<circle ").skip(1).map(height).collect();
    assert_eq!(heights.len(), 16, "{svg}");
    assert!(svg.contains("MRR (95 % intervals)") && svg.contains(">2: b</text>"), "{svg}");
    assert!(heights[0] < heights[1], "the mark of the better run is not the higher one: {svg}");
    sandbox.fail(&["compare", "a", "b", "--plot", "compared.png"], 2, &["--plot", ".svg"]);
    let nowhere = ["compare", "a", "b", "--plot", "none/compared.svg"];
    sandbox.fail(&nowhere, 2, &["--plot = none/compared.svg", "create none"]);
    let validation =
        json(&sandbox.succeed(&["compare", "a", "b", "--split", "validation", "--json"]));
    assert_ne!(metric(&validation, "mrr"), mrr);
    let file = ["--queries", "data/small/test.tsv", "--json"];
    let again = json(&sandbox.succeed(&[&["compare", "a", "b", "a"][..], &file].concat()));
    assert_eq!(again, found);

    sandbox.fail(&["compare", "a"], 2, &["2 values"]);
    sandbox.fail(&["compare", "a", "b", "--format", "excel"], 2, &["excel", "markdown"]);
    sandbox.fail(&["compare", "a", "b", "--json", "--format", "csv"], 2, &["--format"]);
    sandbox.fail(&["compare", "a", "none"], 2, &["none", "not found"]);
}

#[test]
fn runs_with_other_queries_are_not_compared() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "a"]);
    let test = sandbox.read("data/small/test.tsv");
    let mut lines: Vec<&str> = test.lines().collect();
    let last = lines.pop().unwrap();
    sandbox.write("data/small/fewer.tsv", &(lines.join("\n") + "\n"));
    lines.insert(1, last);
    sandbox.write("data/small/other.tsv", &(lines.join("\n") + "\n"));
    for (file, says) in [("fewer", "9 queries"), ("other", "row 0")] {
        let set = format!("data.test={file}.tsv");
        sandbox.succeed(&["train", "small.toml", "--out", file, "--set", &set]);
        sandbox.fail(&["compare", "a", file], 2, &[file, says, "queries of a"]);
        let against = ["evaluate", "a", "--against", file];
        sandbox.fail(&against, 2, &["--against = ", file, says, "queries of a"]);
    }
}

#[test]
fn runs_are_ranked_among_the_candidates_of_the_first() {
    let sandbox = Sandbox::new();
    let train = ["train", "small.toml", "--set", "training.epochs=1", "--out"];
    sandbox.succeed(&[&train[..], &["all"]].concat());
    let sample = ["sample", "--set", "evaluation.candidates=\"sample:20\""];
    sandbox.succeed(&[&train[..], &sample].concat());
    for (first, other) in [("all", "sample"), ("sample", "all")] {
        let kept = sandbox.read(&format!("{first}/metrics.json"));
        let kept: Value = serde_json::from_str(&kept).unwrap();
        let found = json(&sandbox.succeed(&["compare", first, other, "--json"]));
        // the models are the same
        for run in metric(&found, "mrr")["runs"].as_array().unwrap() {
            assert_eq!(run["value"], kept["mrr"], "{first} {other}");
        }
        let evaluate = ["evaluate", first, "--against", other, "--json"];
        let against = json(&sandbox.succeed(&evaluate))["against"]["mrr"].clone();
        for run in ["first", "second"] {
            let difference = number(&against, run) - number(&kept, "mrr");
            assert!(difference.abs() < 1e-12, "{first} {other}: {against}");
        }
    }
}

#[test]
fn runs_with_other_candidates_are_not_compared() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--set", "training.epochs=1", "--out", "a"]);
    for other in ["copies", "others", "renamed"] {
        copy(&sandbox.path("a"), &sandbox.path(other));
    }
    let added = |run: &str, rows: [&str; 2]| {
        sandbox.write("more.tsv", &format!("id\tname\n{}\n", rows.join("\n")));
        sandbox.succeed(&["candidates", "add", run, "more.tsv"]);
    };
    // those of queries' right outputs tie with them, and others do not
    added("a", ["x\tcycloprop", "y\tcyclobutane"]);
    added("copies", ["x\tcycloprop", "y\tcyclobutane"]);
    added("others", ["x\tcycloprop", "z\tcyclobutane"]);
    added("renamed", ["x\tcycloprop", "y\tcyclobutene"]);
    sandbox.succeed(&["compare", "a", "copies"]);
    for other in ["others", "renamed"] {
        let says = [other, "82 candidates, of other ids or labels", "the candidates of a"];
        sandbox.fail(&["compare", "a", other], 2, &says);
        sandbox.fail(&["evaluate", "a", "--against", other], 2, &says);
    }
}

/// The evaluation of a run among the candidates of a rule, with the names of its queries, as other processes get it.
fn evaluated(run: &Run, data: &Path, rule: &str) -> (Vec<String>, Evaluation) {
    let candidates = Some(rule.parse().unwrap());
    let data = Some(data.to_owned());
    let request = QueryRequest { candidates, data, ..QueryRequest::default() };
    let predicted = request.predict(&Processes::default(), run, Member::coordinates).unwrap();
    let (evaluation, _) = run.evaluate(&predicted).unwrap();
    let stored = serde_json::to_string(&StoredEvaluation::from(&evaluation)).unwrap();
    let stored: StoredEvaluation = serde_json::from_str(&stored).unwrap();
    (predicted.split().names().to_vec(), stored.into())
}

#[test]
fn evaluations_among_the_candidates_of_two_rules_are_not_compared() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--set", "training.epochs=1", "--out", "run"]);
    let run = Run::open(sandbox.path("run")).unwrap();
    let compared = |first: &str, other: &str| {
        let evaluated = [first, other].map(|rule| evaluated(&run, &sandbox.path("data"), rule));
        let runs = ["a", "b"].iter().zip(&evaluated).map(|(name, (queries, evaluation))| {
            let evaluation = evaluation.clone();
            EvaluatedRun { name: (*name).to_owned(), queries, evaluation }
        });
        compare(&runs.collect::<Vec<_>>(), 100, 0)
    };
    compared("all", "all").unwrap();
    compared("sample:20:1", "sample:20:1").unwrap();
    // other candidates, in the last case as many
    for (first, other) in
        [("all", "sample:20"), ("sample:20", "all"), ("sample:20:1", "sample:20:2")]
    {
        let error = compared(first, other).unwrap_err().to_string();
        let other = format!("b, ranked among the candidates {other:?}");
        let first = format!("the candidates of a, {first:?}");
        assert!(error.contains(&other) && error.contains(&first), "{error}");
    }
}

#[test]
fn of_settings_with_equal_means_the_first_one_is_the_best() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replace(BAG, RIDGE));
    let grids = ["--grid", "encoder.lambda=1e-8,1e-9", "--grid", "seed=0,1"];
    // the log says what decides
    let log_of = |arguments: &[&str]| {
        let output = sandbox.run(arguments);
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{log}");
        (String::from_utf8(output.stdout).unwrap(), log)
    };
    let sweep = ["sweep", "ridge.toml", "--out", "all"];
    let (text, log) = log_of(&[&sweep[..], &grids].concat());
    let says = "2 settings have the best mrr: the first of them in the table is chosen";
    assert!(log.contains(says), "{log}");
    let (_, log) = log_of(&["sweep", "ridge.toml", "--out", "few", grids[0], grids[1]]);
    let says = "2 runs have the best mrr: the first of them in the table is chosen";
    assert!(log.contains(says), "{log}");
    let values = ["--set", "encoder.lambda=[1e-8, 1e-9]", "--set"];
    let by = "encoder.lambda_by=\"validation\"";
    let (_, log) = log_of(&[&["train", "ridge.toml"][..], &values, &[by]].concat());
    let says = "all 2 values of encoder.lambda have the same mrr: the first of them is chosen";
    assert!(log.contains(says), "{log}");
    for lambda in ["1e-8", "1e-9"] {
        assert!(text.contains(&format!("| {lambda} | mrr | 1.0000 ± 0.0000 |")), "{text}");
    }
    assert!(text.contains("best: encoder.lambda=1e-8, mean 1.0000 of 2 runs (0, 1)\n"), "{text}");
}

#[test]
fn a_sweep_over_seeds_has_means_and_deviations() {
    let sandbox = Sandbox::new();
    let sweep = |seeds: &str, more: &[&str]| {
        let seeds = format!("seed={seeds}");
        sandbox.succeed(&[&["sweep", "small.toml", "--grid", &seeds][..], more].concat())
    };
    let found = json(&sweep("3,1,2", &["--json"]));
    let mrr = found["seeds"].as_array().unwrap().iter().find(|own| own["metric"] == "mrr").unwrap();
    let values: Vec<f64> =
        mrr["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let mean = values.iter().sum::<f64>() / 3.0;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    assert_eq!((values.len(), mrr["seeds"].to_string()), (3, r#"["1","2","3"]"#.to_owned()));
    assert!((number(mrr, "mean") - mean).abs() < 1e-12, "{found}");
    assert!((number(mrr, "deviation") - (squares / 2.0).sqrt()).abs() < 1e-12, "{found}");
    // nothing is chosen, and so the split is that of the configuration
    let alone = sandbox.train("small.toml", &["seed=2"]);
    assert_eq!((number(&alone, "mrr"), &found["split"]), (values[1], &"test".into()));
    let text = sweep("5", &[]);
    let table = format!("| mrr | {mean:.4} ± ");
    assert!(text.contains("| 1, 2, 3, 5 |") && !text.contains("best:"), "{text}");
    assert!(!text.contains(&table) && text == sweep("5", &[]), "{text}");

    let chosen = ["sweep", "small.toml", "--grid", "sketch.size=10"];
    sandbox.fail(&chosen, 2, &["evaluated on the test split", "on the validation split", "--out"]);
    let unknown = ["sweep", "small.toml", "--grid", "foo=1,2", "--out", "unknown"];
    sandbox.fail(&unknown, 2, &["with --grid", "foo"]);
    let below = ["sweep", "small.toml", "--grid", "sketch.size.few=1,2", "--out", "below"];
    sandbox.fail(&below, 2, &["with --grid: sketch.size.few: size is a value, not a table"]);

    let sizes = ["--grid", "encoder.hidden=[8, 2],[8]", "--out", "sizes"];
    let text = sweep("1,2", &sizes);
    assert!(text.contains("| [8, 2] | mrr | ") && text.contains("| 1, 2 |"), "{text}");
    assert!(text.contains("| encoder.hidden | validation metric | "), "{text}");
    // no single run is the best one
    assert!(text.contains("best: encoder.hidden=[8") && text.contains(" of 2 runs (1, 2)\n"));
    assert!(sandbox.read("sizes/sweep.svg").contains(">[8, 2]</text>"));
    // commas and blanks are in no folder's name, and yet folders differ
    let folders = std::fs::read_dir(sandbox.path("sizes")).unwrap();
    let runs = folders.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(runs, 4);
}

#[test]
fn sweeps_try_all_settings_and_go_on_where_they_stopped() {
    let sandbox = Sandbox::new();
    let axes = ["--grid", "training.learning_rate=1e-5,1e-2", "--grid", "sketch.size=3,20"];
    let sweep = |more: &[&str]| {
        let arguments = [&["sweep", "small.toml", "--out", "sweep"][..], &axes, more].concat();
        sandbox.succeed(&arguments)
    };
    let found = json(&sweep(&["--json"]));
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    let values: Vec<f64> = runs.iter().map(|run| number(run, "value")).collect();
    assert!(values.is_sorted_by(|a, b| a >= b) && values[0] > values[3], "best first: {found}");
    // chosen on validation, although the configuration evaluates the test split
    let best = runs[0]["path"].as_str().unwrap();
    let again = ["evaluate", best, "--split", "validation", "--json"];
    assert_eq!(json(&sandbox.succeed(&again))["mrr"], runs[0]["value"]);
    let kept: Value = serde_json::from_str(&sandbox.read(&format!("{best}/metrics.json"))).unwrap();
    assert_eq!(kept["split"], "validation");

    let csv = sandbox.read("sweep/sweep.csv");
    assert!(csv.starts_with("training.learning_rate,sketch.size,mrr,"), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    let svg = sandbox.read("sweep/sweep.svg");
    for tick in ["10⁻⁵", "10⁻⁴", "0.001", "0.01", "5", "10", "15", "20"] {
        assert!(svg.contains(&format!(" text-anchor=\"middle\">{tick}</text>")), "{tick}: {svg}");
    }
    let kept: Value = serde_json::from_str(&sandbox.read("sweep/sweep.json")).unwrap();
    assert_eq!(kept, found);

    // an interrupted run is trained again, finished ones are not
    let file = "sweep/training.learning_rate=1e-5,sketch.size=3/metrics.json";
    let other = format!("{best}/metrics.json");
    let written = |file: &str| std::fs::metadata(sandbox.path(file)).unwrap().modified().unwrap();
    let before = written(&other);
    std::fs::remove_file(sandbox.path(file)).unwrap();
    let text = sweep(&[]);
    assert!(text.contains("| 0.01 | 20 | ") && text.contains(&format!("best: {best}")), "{text}");
    assert!(sandbox.path(file).exists());
    assert_eq!(written(&other), before, "a finished run stays as it is");
    assert_eq!(sandbox.read("sweep/sweep.csv"), csv);

    // other values extend the tables
    let grid = |rates: &str, size: &str, more: &[&str]| -> Vec<String> {
        let axes = ["--grid", &format!("training.learning_rate={rates}"), "--grid", size];
        let sweep = ["sweep", "small.toml", "--out", "sweep"];
        [&sweep[..], &axes, more].concat().into_iter().map(String::from).collect()
    };
    let arguments = grid("3e-3", "sketch.size=20", &[]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = sandbox.succeed(&arguments);
    assert!(text.contains("| 0.003 | 20 | ") && text.contains("| 1e-5 | 3 | "), "{text}");
    let longer = sandbox.read("sweep/sweep.csv");
    assert_eq!(longer.lines().count(), 6);
    assert!(csv.lines().all(|line| longer.lines().any(|other| other == line)), "{longer}");
    // not those of a different configuration, which nothing is trained for
    let refused = |arguments: Vec<String>, says: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        sandbox.fail(&arguments, 2, says);
        assert_eq!(sandbox.read("sweep/sweep.csv"), longer);
    };
    let set = ["--set", "training.batch=4"];
    refused(grid("5e-3", "sketch.size=20", &set), &["a different configuration", "--out"]);
    assert!(!sandbox.path("sweep/training.learning_rate=5e-3,sketch.size=20").exists());

    // a sweep over other keys is merged: keys that one of them did not set have the configuration's values
    sandbox.succeed(&["sweep", "small.toml", "--out", "sweep", "--grid", "training.epochs=2,3"]);
    let merged = sandbox.read("sweep/sweep.csv");
    assert!(
        merged.starts_with("training.learning_rate,sketch.size,training.epochs,mrr,"),
        "{merged}"
    );
    assert_eq!(merged.lines().count(), 8);
    for epochs in ["2", "3"] {
        let has = |line: &str| line.split(',').nth(2) == Some(epochs);
        assert!(merged.lines().any(has), "{merged}");
    }
    assert!(merged.lines().any(|line| line.starts_with("0.003,20,")), "{merged}");
    let again = grid("3e-3", "sketch.size=20", &[]);
    sandbox.succeed(&again.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(sandbox.read("sweep/sweep.csv"), merged);
    // a run that one under other keys repeats is listed once
    let repeated = ["--grid", "training.epochs=2", "--grid", "seed=0"];
    sandbox.succeed(&[&["sweep", "small.toml", "--out", "sweep"][..], &repeated].concat());
    assert_eq!(sandbox.read("sweep/sweep.csv").lines().count(), 8);
}

/// A sweep over seeds chooses nothing, so that it may be evaluated on either split.
#[test]
fn a_sweep_over_seeds_names_the_split_that_it_has_begun_with() {
    let sandbox = Sandbox::new();
    let sweep = |seeds: &'static str, more: &[&'static str]| {
        [&["sweep", "small.toml", "--out", "all", "--grid", seeds][..], more].concat()
    };
    let validation = ["--set", "evaluation.split=validation"];
    sandbox.succeed(&sweep("seed=0,1", &validation));
    let says = [
        "all/sweep.json",
        "evaluated on the validation split, and this one is on the test split",
        "--out",
        "go on with --set evaluation.split=validation",
    ];
    for seeds in ["seed=0,1", "seed=2"] {
        sandbox.fail(&sweep(seeds, &[]), 2, &says);
    }
    assert!(!sandbox.path("all/seed=2").exists(), "nothing is trained");
    sandbox.succeed(&sweep("seed=0,1,2", &validation));
}

#[test]
fn a_value_in_other_words_is_the_same_value() {
    let sandbox = Sandbox::new();
    let sweep = |axes: &[&str]| {
        let set = ["--set", "training.learning_rate=1e-2", "--json"];
        let axes: Vec<&str> = axes.iter().flat_map(|axis| ["--grid", *axis]).collect();
        let sweep = ["sweep", "small.toml", "--out", "sweep"];
        json(&sandbox.succeed(&[&sweep[..], &axes[..], &set].concat()))
    };
    let found = sweep(&["seed=1,+1", "output.power=0.5,0.50,5e-1,0.0"]);
    let paths: Vec<&str> =
        found["runs"].as_array().unwrap().iter().map(|run| run["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 2, "{found}");
    let first = ["sweep/seed=1,output.power=0.5", "sweep/seed=1,output.power=0.0"];
    assert!(first.iter().all(|path| paths.contains(path)), "{found}");
    // one that the configuration of the first sweep has
    let found = sweep(&["seed=2", "training.learning_rate=1e-2,1e-1", "output.power=5e-1"]);
    let spreads = found["seeds"].as_array().unwrap().iter();
    let spreads: Vec<(String, String)> = spreads
        .filter(|spread| spread["metric"] == "mrr")
        .map(|spread| (spread["setting"].to_string(), spread["seeds"].to_string()))
        .collect();
    let expected = [
        (r#"["0.5","0.01"]"#, r#"["1","2"]"#),
        (r#"["0.0","0.01"]"#, r#"["1"]"#),
        (r#"["0.5","0.1"]"#, r#"["2"]"#),
    ]
    .map(|(setting, seeds)| (setting.to_owned(), seeds.to_owned()));
    assert_eq!(BTreeSet::from_iter(spreads), BTreeSet::from(expected), "{found}");

    // values as the table has them, and keys in another order, are those of the run that is trained
    for (axes, expected) in [
        (&["sketch.size=3", "output.power=1e-1,2e-1"][..], &["1e-1", "2e-1"][..]),
        (&["sketch.size=3", "output.power=0.1,0.3"], &["1e-1", "2e-1", "0.3"]),
        (&["output.power=0.2", "sketch.size=3"], &["1e-1", "2e-1", "0.3"]),
    ] {
        let axes = axes.iter().flat_map(|axis| ["--grid", *axis]);
        let sweep = ["sweep", "small.toml", "--out", "copied", "--json"].into_iter().chain(axes);
        let found = json(&sandbox.succeed(&sweep.collect::<Vec<_>>()));
        let runs = found["runs"].as_array().unwrap().iter();
        let paths: BTreeSet<&str> = runs.map(|run| run["path"].as_str().unwrap()).collect();
        let path = |power: &&str| format!("copied/sketch.size=3,output.power={power}");
        let expected: BTreeSet<String> = expected.iter().map(path).collect();
        assert!(paths.iter().copied().eq(expected.iter().map(String::as_str)), "{found}");
        let folders = std::fs::read_dir(sandbox.path("copied")).unwrap();
        let is_run = |entry: &std::fs::DirEntry| entry.file_type().unwrap().is_dir();
        assert_eq!(folders.filter(|entry| is_run(entry.as_ref().unwrap())).count(), expected.len());
    }
}

#[test]
fn a_sweep_ends_at_a_budget_of_time_or_where_nothing_is_gained() {
    let sandbox = Sandbox::new();
    let sweep = |out: &str, budget: &str| {
        let axis = ["--grid", "sketch.size=20,3,10", "--out", out, "--json"];
        let arguments = [&["sweep", "small.toml"][..], &axis, &["--budget", budget]].concat();
        json(&sandbox.succeed(&arguments))
    };
    // 3 is not better than 20
    let found = sweep("flat", "1000");
    let runs = found["runs"].as_array().unwrap();
    let sizes: Vec<&str> = runs.iter().map(|run| run["setting"][0].as_str().unwrap()).collect();
    assert_eq!(sizes, ["20", "3"], "{found}");
    assert!(runs.iter().all(|run| number(run, "seconds") > 0.0), "{found}");
    assert_eq!(sweep("flat", "1000")["runs"], found["runs"]);
    // and one that takes too long is not chosen, nor in a second sweep that finds it trained
    for folder in ["late", "late", "./late"] {
        let found = sweep(folder, "1e-6");
        let runs = found["runs"].as_array().unwrap();
        assert!(runs.len() == 1 && runs[0]["value"].is_null(), "{found}");
        assert!(runs[0]["failure"].as_str().unwrap().contains("of a budget of"), "{found}");
    }
    // nor in one that has another value and more time
    let more = ["sweep", "small.toml", "--grid", "sketch.size=10", "--out", "late", "--json"];
    let found = json(&sandbox.succeed(&more));
    let runs = found["runs"].as_array().unwrap();
    let late = runs.iter().find(|run| run["setting"][0] == "20").unwrap();
    assert!(late["value"].is_null() && !late["failure"].is_null(), "{found}");
    for budget in ["0", "inf", "nan"] {
        let wrong = ["sweep", "small.toml", "--grid", "sketch.size=3", "--budget", budget];
        sandbox.fail(&wrong, 2, &["--budget", "above 0"]);
    }

    // what an interrupted training has taken counts
    std::fs::remove_file(sandbox.path("flat/sketch.size=20/metrics.json")).unwrap();
    let log = sandbox.read("flat/sketch.size=20/log.jsonl");
    let mut last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    last["seconds"] = 5000.into();
    sandbox.write("flat/sketch.size=20/log.jsonl", &format!("{log}{last}\n"));
    let found = sweep("flat", "1000");
    let runs = found["runs"].as_array().unwrap();
    let late = runs.iter().find(|run| run["setting"][0] == "20").unwrap();
    assert!(number(late, "seconds") > 5000.0 && late["value"].is_null(), "{found}");

    // complete runs that the budget does not reach stay in the tables
    sandbox.succeed(&["sweep", "small.toml", "--grid", "sketch.size=20,3,10", "--out", "all"]);
    let found = sweep("all", "1000");
    let runs = found["runs"].as_array().unwrap();
    assert!(runs.len() == 3 && runs.iter().all(|run| !run["value"].is_null()), "{found}");
    assert_eq!(sandbox.read("all/sweep.csv").lines().count(), 4);
    // as they were, whatever they took
    let failed = |found: &Value| {
        let failed = |run: &&Value| run["value"].is_null() && !run["failure"].is_null();
        let runs = found["runs"].as_array().unwrap().iter().filter(failed);
        runs.map(|run| run["setting"][0].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let found = sweep("all", "1e-6");
    assert_eq!(failed(&found), BTreeSet::from(["20".to_owned()]), "{found}");
    let other = ["sweep", "small.toml", "--grid", "sketch.size=3,20", "--out", "all", "--json"];
    let found = json(&sandbox.succeed(&[&other[..], &["--budget", "1e-6"]].concat()));
    assert_eq!(failed(&found), BTreeSet::from(["20".to_owned(), "3".to_owned()]), "{found}");
    assert_eq!(found["runs"].as_array().unwrap().len(), 3, "{found}");
}

/// A kill may come between the run's metrics and the table.
#[test]
fn a_sweep_that_was_killed_before_its_table_knows_what_its_runs_took() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replace(BAG, RIDGE));
    for config in ["small.toml", "ridge.toml"] {
        let out = &format!("{config}.sweep");
        let sweep = ["sweep", config, "--grid", "sketch.size=20", "--out", out];
        let sweep = [&sweep[..], &["--budget", "1000", "--json"]].concat();
        sandbox.succeed(&sweep);
        std::fs::remove_file(sandbox.path(out).join("sweep.json")).unwrap();
        let file = format!("{out}/sketch.size=20/log.jsonl");
        let log = sandbox.read(&file);
        let mut last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        last["seconds"] = 5000.into();
        sandbox.write(&file, &format!("{last}\n"));
        let found = json(&sandbox.succeed(&sweep));
        let late = &found["runs"][0];
        assert!(number(late, "seconds") >= 5000.0 && late["value"].is_null(), "{found}");
    }
}

#[test]
fn a_sweep_that_ends_keeps_the_runs_before() {
    let sandbox = Sandbox::new();
    let axis = ["--grid", "data.train=train.tsv,missing.tsv", "--out", "sweep"];
    sandbox.fail(&[&["sweep", "small.toml"][..], &axis].concat(), 2, &["missing.tsv"]);
    let kept: Value = serde_json::from_str(&sandbox.read("sweep/sweep.json")).unwrap();
    let runs = kept["runs"].as_array().unwrap();
    assert!(runs.len() == 1 && number(&runs[0], "seconds") > 0.0, "{kept}");
    // and those behind it that an earlier sweep has trained
    let axis = ["--grid", "data.train=other.tsv,missing.tsv,train.tsv", "--out", "sweep"];
    sandbox.write("data/small/other.tsv", &sandbox.read("data/small/train.tsv"));
    sandbox.fail(&[&["sweep", "small.toml"][..], &axis].concat(), 2, &["missing.tsv"]);
    let again: Value = serde_json::from_str(&sandbox.read("sweep/sweep.json")).unwrap();
    let again = again["runs"].as_array().unwrap();
    assert!(again.len() == 2 && again.contains(&runs[0]), "{again:?}");
}

#[test]
fn settings_that_are_measured_on_others_are_not_chosen_from() {
    let sandbox = Sandbox::new();
    let sweep = |axis| {
        let set = ["--set", "evaluation.missing_gold=rank-infinity"];
        let sweep = ["sweep", "small.toml", "--out", "sweep", "--grid", axis];
        sandbox.succeed(&[&sweep[..], &set].concat())
    };
    let text = sweep("output.only_training=false");
    assert!(text.contains("best: sweep/output.only_training=false\n"), "{text}");
    let text = sweep("output.only_training=false,true");
    let says = "no setting is chosen: sweep/output.only_training=true is measured on other candidates than \
                sweep/output.only_training=false\n";
    assert!(text.contains(says) && !text.contains("best:"), "{text}");
    // the same where nothing is trained
    assert!(sweep("output.only_training=false").contains("no setting is chosen: "));
}

#[test]
fn the_runs_of_a_sweep_are_evaluated_in_one_way() {
    let sandbox = Sandbox::new();
    for (axis, says) in [
        ("evaluation.metric=mrr,mean_rank", "compared by one metric"),
        ("evaluation . metric=mrr,mean_rank", "compared by one metric"),
        ("evaluation.split=validation,test", "on the validation split"),
        ("evaluation.candidates=all,queries", "among the same candidates"),
    ] {
        let sweep = ["sweep", "small.toml", "--grid", axis];
        sandbox.fail(&sweep, 2, &["--grid = evaluation", says, "--set"]);
    }
    assert!(!sandbox.path("runs").exists(), "nothing is trained");
}

#[test]
fn random_sweeps_draw_from_ranges() {
    let sandbox = Sandbox::new();
    let axes = ["--grid", "training.learning_rate=1e-3..1e-1:log", "--grid", "sketch.size=3..20"];
    let sweep = |count: &str| {
        let arguments = [&["sweep", "small.toml", "--json", "--random", count][..], &axes].concat();
        json(&sandbox.succeed(&arguments))
    };
    let two = sweep("2");
    let three = sweep("3");
    let names = |found: &Value| -> Vec<String> {
        let runs = found["runs"].as_array().unwrap();
        let mut names: Vec<String> = runs.iter().map(|run| run["path"].to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&three).len(), 3);
    assert!(names(&two).iter().all(|name| names(&three).contains(name)), "{three}");

    // each setting has another seed
    let seeds =
        ["sweep", "small.toml", "--random", "3", "--grid", "seed=0..1000", "--out", "seeds"];
    let text = sandbox.succeed(&[&seeds[..], &axes].concat());
    let says = "no setting is chosen: no seed or part is one of all settings, so their means are not compared: lists of \
                seeds in --grid without --random";
    assert!(text.contains(says), "{text}");

    // a key with fractions has them between whole ends too
    let range = "training.learning_rate=1..5:log";
    let fractions = ["sweep", "small.toml", "--random", "3", "--grid", range, "--out", "fractions"];
    let found = json(&sandbox.succeed(&[&fractions[..], &["--json"]].concat()));
    let drawn = found["runs"].as_array().unwrap().iter();
    let drawn: Vec<f64> =
        drawn.map(|run| run["setting"][0].as_str().unwrap().parse().unwrap()).collect();
    assert!(drawn.iter().all(|rate| (1.0..=5.0).contains(rate) && rate.fract() > 0.0), "{drawn:?}");

    let fails = |arguments: &[&str], says: &[&str]| {
        sandbox.fail(&[&["sweep", "small.toml"], arguments].concat(), 2, says);
    };
    fails(&[], &["--grid"]);
    fails(&axes, &["--random"]);
    let many = ["--random", "99999999999"];
    fails(&[&many[..], &axes].concat(), &["--random = 99999999999", "1 to 10000"]);
    fails(&["--grid", "sketch.size"], &["sketch.size", "expected"]);
    fails(&["--grid", "sketch.size=5,0"], &["sketch.size = 0"]);
    fails(&["--grid", "sketch.sizes=5,6"], &["sizes"]);
    assert!(!sandbox.path("runs/small-sweep").join("sketch.size=5").exists(), "nothing is trained");
}

#[test]
fn a_setting_that_diverges_is_listed_last() {
    let sandbox = Sandbox::new();
    let arguments = [
        "sweep",
        "small.toml",
        "--grid",
        "training.learning_rate=1e30,1e-2",
        "--set",
        "training.clip=0",
        "--json",
    ];
    let found = json(&sandbox.succeed(&arguments));
    let best = &found["runs"][0];
    let last = &found["runs"][1];
    assert_eq!((&best["setting"][0], &last["setting"][0]), (&"0.01".into(), &"1e30".into()));
    assert!(
        last["value"].is_null() && last["failure"].as_str().unwrap().contains("step"),
        "{last}"
    );
    let svg = sandbox.read("runs/small-sweep/sweep.svg");
    assert!(svg.contains(">failed</text>"), "{svg}");
}

#[test]
fn curves_of_runs_of_one_name_are_told_apart() {
    let sandbox = Sandbox::new();
    for out in ["a/run", "b/run", "c"] {
        sandbox.succeed(&[
            "train",
            "small.toml",
            "--quiet",
            "--out",
            out,
            "--set",
            "training.epochs=1",
        ]);
    }
    sandbox.succeed(&["evaluate", "a/run", "b/run", "c", "--report", "report"]);
    let svg = sandbox.read("report/learning.svg");
    for name in ["a/run", "b/run", "c"] {
        assert!(svg.contains(&format!(">{name}</text>")), "{svg}");
    }
}
