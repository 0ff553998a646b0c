//! Classes as outputs, several columns of numbers, and the metrics of both.

use std::fmt::Write;

use serde_json::Value;

use crate::sandbox::{Sandbox, json, number};

/// A table of 60 texts with a class of several words, its binary form, and three numbers. Some classes are wrong, so that
/// scores are not perfect.
fn table() -> String {
    let mut table = "name,text,kind,active,logp,tpsa,rings\n".to_owned();
    for i in 0..60 {
        let class = i % 3;
        let noisy = if i % 11 == 4 { (class + 1) % 3 } else { class };
        let kind = ["conjugate acid", "conjugate base", "salt"][noisy];
        let words = ["sour proton", "alkaline", "solid crystal"][class];
        let logp = class as f64 * 1.5 + (i % 4) as f64 * 0.1;
        let tpsa = 60.0 - 20.0 * class as f64 + (i % 5) as f64;
        let active = if noisy == 0 { "yes" } else { "no" };
        writeln!(table, "m{i},a {words} of size {},{kind},{active},{logp},{tpsa},{class}", i % 4)
            .unwrap();
    }
    table
}

const CONFIG: &str = r#"
[data]
source = "pool"
folder = "./"
file = "table.csv"
id = "name"
inputs = { column = "text" }
splits = { order = "file", train = 30, validation = 10, test = 20 }

[output]
label = "kind"
features = { kind = "classes", column = "kind" }
kernel = { name = "linear" }

[sketch]
full = true

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
lambda = [1e-3, 1e-2]

[evaluation]
metric = "accuracy"
split = "test"
"#;

/// The configuration of the numbers.
pub fn numbers() -> String {
    let features = r#"features = { kind = "numbers", column = ["logp", "tpsa", "rings"] }
scaling = "standard""#;
    let config = CONFIG.replace("label = \"kind\"\n", "");
    let config = config.replace("features = { kind = \"classes\", column = \"kind\" }", features);
    config.replace(
        "[evaluation]\nmetric = \"accuracy\"",
        "[decoding]\nsearch = \"exact\"\n\n[evaluation]\nmetric = \"r2\"",
    )
}

pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("table.csv", &table());
    sandbox.write("table.toml", CONFIG);
    sandbox
}

/// The class of a test row, and the score of each class, by search.
fn searched(sandbox: &Sandbox, run: &str, column: usize) -> Vec<(String, Vec<(String, f64)>)> {
    let table = table();
    let rows = table.lines().skip(41).map(|line| line.split(',').collect::<Vec<_>>());
    let search = |row: Vec<&str>| {
        // all classes, which are fewer than the hits of a search
        let answer = json(&sandbox.succeed(&["search", run, row[1], "--json"]));
        let hits = answer["candidates"].as_array().unwrap().iter();
        let scores = hits.map(|hit| {
            assert_eq!(
                (&hit["id"], &hit["duplicates"]),
                (&hit["label"], &Value::Array(Vec::new()))
            );
            (hit["label"].as_str().unwrap().to_owned(), number(hit, "score"))
        });
        (row[column].to_owned(), scores.collect())
    };
    rows.map(search).collect()
}

/// Areas under both curves by their definitions: over pairs, and over thresholds.
fn areas(scored: &[(f64, bool)]) -> (f64, f64) {
    let with: Vec<f64> = scored.iter().filter(|own| own.1).map(|own| own.0).collect();
    let without: Vec<f64> = scored.iter().filter(|own| !own.1).map(|own| own.0).collect();
    let half = |a: f64, b: f64| f64::from(u8::from(a > b)) + 0.5 * f64::from(u8::from(a == b));
    let pairs = with.iter().flat_map(|&a| without.iter().map(move |&b| half(a, b)));
    let roc = pairs.sum::<f64>() / (with.len() * without.len()) as f64;
    let mut thresholds: Vec<f64> = scored.iter().map(|own| own.0).collect();
    thresholds.sort_by(|a, b| b.total_cmp(a));
    thresholds.dedup();
    let mut area = 0.0;
    let mut recall = 0.0;
    for threshold in thresholds {
        let at = |all: &[f64]| all.iter().filter(|&&score| score >= threshold).count() as f64;
        let next = at(&with) / with.len() as f64;
        area += (next - recall) * at(&with) / (at(&with) + at(&without));
        recall = next;
    }
    (roc, area)
}

#[test]
fn classes_of_several_words_are_classes() {
    let sandbox = sandbox();
    let report = sandbox.train("table.toml", &[]);
    assert_eq!((report["candidates"].as_u64(), report["classes"].as_bool()), (Some(3), Some(true)));
    let answers = searched(&sandbox, "runs/table", 2);
    let right = answers.iter().filter(|(class, scores)| *class == scores[0].0).count();
    assert_eq!(number(&report, "accuracy"), right as f64 / 20.0, "{report}");
    // the mean over classes of one against the rest, of scores less their mean
    let mut roc = 0.0;
    let mut precision = 0.0;
    for class in ["conjugate acid", "conjugate base", "salt"] {
        let score = |(truth, scores): &(String, Vec<(String, f64)>)| {
            let mean = scores.iter().map(|own| own.1).sum::<f64>() / 3.0;
            let own = scores.iter().find(|own| own.0 == class).unwrap().1;
            // scores are printed with fewer digits than they are compared with
            (((own - mean) * 1e4).round(), truth == class)
        };
        let (one, two) = areas(&answers.iter().map(score).collect::<Vec<_>>());
        roc += one / 3.0;
        precision += two / 3.0;
    }
    assert!((number(&report, "roc_auc") - roc).abs() < 1e-9, "{roc}: {report}");
    assert!((number(&report, "pr_auc") - precision).abs() < 1e-9, "{precision}: {report}");
    // the most frequent training class is the chance level
    let chance = &report["chance"];
    assert_eq!(number(chance, "roc_auc"), 0.5);
    assert!(number(&report, "macro_f1") > number(chance, "macro_f1"), "{report}");
    assert!(number(&report, "accuracy") > number(chance, "accuracy") + 0.3, "{report}");

    // everywhere where metrics are
    let text = sandbox.succeed(&["evaluate", "runs/table", "--ci"]);
    for name in ["accuracy", "ROC AUC", "PR AUC", "macro F1", "chance"] {
        assert!(text.contains(name), "{name}\n{text}");
    }
    assert!(!text.contains("MRR") && !text.contains("Hits"), "{text}");
    assert!(report["intervals"]["roc_auc"].is_array(), "{report}");
    sandbox.train("table.toml", &["name=other", "encoder.lambda=1.0"]);
    let compared = sandbox.succeed(&["compare", "runs/table", "runs/other"]);
    assert!(compared.contains("accuracy ↑") && compared.contains("pr_auc ↑"), "{compared}");
    let against = ["evaluate", "runs/table", "--against", "runs/other"];
    sandbox.fail(&against, 2, &["--against = runs/other", "has no ranks", "dsokr compare"]);
    assert!(sandbox.read("runs/table/README.md").contains("ROC AUC"));
    // runs that vote have areas too
    let both = json(&sandbox.succeed(&["evaluate", "runs/table", "runs/other", "--json"]));
    assert!(number(&both, "roc_auc") > 0.5, "{both}");

    // rows of a new file are evaluated by their classes; one that the run does not know is wrong
    let rows = table();
    let mut lines: Vec<String> = rows.lines().map(str::to_owned).collect();
    lines.drain(1..41);
    sandbox.write("new.csv", &(lines.join("\n") + "\n"));
    let again = ["evaluate", "runs/table", "--queries", "new.csv", "--json"];
    let same = json(&sandbox.succeed(&again));
    for metric in ["accuracy", "roc_auc", "pr_auc", "f1"] {
        assert_eq!(number(&same, metric), number(&report, metric), "{metric}");
    }
    let strict = [&again[..], &["--missing-gold", "error"]].concat();
    assert_eq!(number(&json(&sandbox.succeed(&strict)), "accuracy"), number(&report, "accuracy"));
    let wrong = lines[1].replace("conjugate base", "ester").replace("conjugate acid", "ester");
    sandbox.write("new.csv", &format!("{}\n{wrong}\n{}\n", lines[0], lines[3]));
    let output = sandbox.run(&again);
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(number(&found, "missing_gold"), 1.0, "{found}");
    let errors = String::from_utf8_lossy(&output.stderr);
    let says = "1 of 2 queries have classes that the run does not know, the first \"ester\"";
    assert!(errors.contains(says), "{errors}");
    let says = [
        "new.csv",
        "1 of 2 classes are unknown to the run, the first \"ester\" with the id \"m40\"",
    ];
    sandbox.fail(&strict, 2, &[&says[..], &["--missing-gold rank-infinity"]].concat());
}

/// A query with two right classes has both for the areas, whichever of them the model ranks higher; and a constant is right
/// with either.
#[test]
fn a_query_has_all_its_right_classes() {
    let sandbox = Sandbox::new();
    let classes = ["a", "b", "c", "d"];
    let words = ["red", "blue", "green", "grey"];
    let sizes = ["xxx", "yyy", "zzz", "uuu", "vvv", "www", "sss"];
    let text = |first: usize, second: usize, size: usize| {
        let [first, second] = [first, second].map(|at| words[at % 4]);
        format!("{first} {second} thing of size {}", sizes[size])
    };
    let table = |rows: Vec<(String, &str, String)>| {
        let row =
            |(query, class, text): (String, &str, String)| format!("{class}\t{query}\t{text}\n");
        let rows: String = rows.into_iter().map(row).collect();
        format!("id\tquery\tdescription\n{rows}")
    };
    // every fifth class is wrong, so that the third one is the most frequent
    let trained = |i: usize| if i.is_multiple_of(5) { 2 } else { i % 4 };
    let train = (0..50)
        .map(|i| (format!("q{i}"), classes[trained(i)], text(i, i * i % 3, i * 3 % 7)))
        .collect();
    let validation =
        (0..8).map(|i| (format!("v{i}"), classes[i % 4], text(i, i / 2, i % 6))).collect();
    let right = |i: usize| [classes[i % 4], classes[(i + 1 + i / 4 % 3) % 4]];
    let asked = |i: usize| text(i, i / 4, i % 7);
    let test = (0..24).flat_map(|i| right(i).map(|class| (format!("t{i}"), class, asked(i))));
    sandbox.write("data/small/train.tsv", &table(train));
    sandbox.write("data/small/validation.tsv", &table(validation));
    sandbox.write("data/small/test.tsv", &table(test.collect()));
    let outputs: String = classes.iter().map(|class| format!("{class}\t{class}\n")).collect();
    sandbox.write("data/small/outputs.tsv", &format!("id\tclass\n{outputs}"));
    let config = CONFIG.split_once("[output]").unwrap().1.replace("\"kind\"", "\"class\"");
    let config = config.replace("[1e-3, 1e-2]", "1e-3");
    let data = "[data]\nfolder = \"small\"\ntest = \"test.tsv\"\nquery = \"query\"";
    sandbox.write("several.toml", &format!("{data}\n\n[output]\ntable = \"outputs.tsv\"{config}"));
    let report = sandbox.train("several.toml", &[]);
    assert_eq!(number(&report, "queries"), 24.0);

    let scores = (0..24).map(|i| {
        let answer = json(&sandbox.succeed(&["search", "runs/several", &asked(i), "--json"]));
        let hits = answer["candidates"].as_array().unwrap();
        let mean = hits.iter().map(|hit| number(hit, "score")).sum::<f64>() / 4.0;
        let centred = |class: &str| {
            let hit = hits.iter().find(|hit| hit["label"] == class).unwrap();
            ((number(hit, "score") - mean) * 1e4).round()
        };
        classes.map(centred)
    });
    let scores: Vec<[f64; 4]> = scores.collect();
    let mut roc = 0.0;
    let mut precision = 0.0;
    for (at, class) in classes.iter().enumerate() {
        let own = scores.iter().enumerate().map(|(i, all)| (all[at], right(i).contains(class)));
        let (one, two) = areas(&own.collect::<Vec<_>>());
        roc += one / 4.0;
        precision += two / 4.0;
    }
    assert!((number(&report, "roc_auc") - roc).abs() < 1e-9, "{roc}: {report}");
    assert!((number(&report, "pr_auc") - precision).abs() < 1e-9, "{precision}: {report}");
    // each class is right for a half of the queries
    let chance = &report["chance"];
    assert_eq!((number(chance, "pr_auc"), number(chance, "accuracy")), (0.5, 0.5), "{chance}");
}

#[test]
fn one_of_two_classes_is_positive() {
    let sandbox = sandbox();
    let changes = [
        "output.label=active",
        "output.features={kind=\"classes\", column=\"active\", positive=\"yes\"}",
        "evaluation.metric=pr_auc",
    ];
    let report = sandbox.train("table.toml", &changes);
    let answers = searched(&sandbox, "runs/table", 3);
    let mut true_positives = 0.0;
    let mut either = 0.0;
    let mut scored = Vec::new();
    for (truth, scores) in &answers {
        let positive = scores[0].0 == "yes";
        true_positives += f64::from(u8::from(positive && truth == "yes"));
        either += f64::from(u8::from(positive)) + f64::from(u8::from(truth == "yes"));
        let margin = scores[0].1 - scores[1].1;
        let margin = if positive { margin } else { -margin };
        scored.push(((margin * 1e4).round(), truth == "yes"));
    }
    assert!((number(&report, "f1") - 2.0 * true_positives / either).abs() < 1e-12, "{report}");
    let (roc, precision) = areas(&scored);
    assert!((number(&report, "roc_auc") - roc).abs() < 1e-9, "{roc}: {report}");
    assert!((number(&report, "pr_auc") - precision).abs() < 1e-9, "{precision}: {report}");
    let share = answers.iter().filter(|(truth, _)| truth == "yes").count() as f64 / 20.0;
    assert_eq!(number(&report["chance"], "pr_auc"), share);
    assert_eq!(number(&report["chance"], "f1"), 0.0, "the most frequent class is no");

    let refused = |change: &str, expected: &[&str]| {
        sandbox.fail(&["train", "table.toml", "--set", change], 2, expected);
    };
    let kind = "output.features={kind=\"classes\", column=\"kind\", positive=\"active\"}";
    refused(kind, &["output.features.positive", "\"active\"", "conjugate acid"]);
    refused("evaluation.metric=mae", &["evaluation.metric", "mae", "accuracy", "roc_auc"]);
    refused("decoding.search=exact", &["decoding.search", "exact"]);
    let gap = table().replacen("salt,no", ",no", 1);
    sandbox.write("table.csv", &gap);
    sandbox.fail(&["train", "table.toml"], 2, &["table.csv:4", "kind"]);
    let skipped = sandbox.train(
        "table.toml",
        &["data.on_bad_row=skip", "data.splits={order=\"file\", train=29, validation=10, test=20}"],
    );
    assert_eq!(skipped["skipped_rows"]["table.csv"], 1);
}

/// Parts of a cross-validation divide rows of one class.
#[test]
fn classes_are_cross_validated() {
    let sandbox = sandbox();
    let table = sandbox.succeed(&["cv", "table.toml", "--folds", "3"]);
    assert!(table.contains("accuracy"), "{table}");
}

#[test]
fn several_columns_are_several_numbers() {
    let sandbox = sandbox();
    sandbox.write("table.toml", &numbers());
    let report = sandbox.train("table.toml", &[]);
    // every metric from the numbers that `predict` writes
    let rows = table();
    let mut lines: Vec<&str> = rows.lines().collect();
    lines.drain(1..41);
    sandbox.write("new.csv", &(lines.join("\n") + "\n"));
    let answers = sandbox.succeed(&["predict", "runs/table", "new.csv", "--column", "text"]);
    let predicted = answers.lines().map(|line| {
        let answer = json(line);
        // candidates are called by their numbers, as the table has them
        let hit = &answer["candidates"][0];
        let row =
            rows.lines().find(|row| row.starts_with(&format!("{},", hit["id"].as_str().unwrap())));
        let cells: Vec<&str> = row.unwrap().split(',').skip(4).collect();
        assert_eq!(hit["label"].as_str().unwrap(), cells.join(" "));
        let label = answer["exact"]["label"].as_str().unwrap().to_owned();
        label.split(' ').map(|own| own.parse().unwrap()).collect::<Vec<f64>>()
    });
    let predicted: Vec<Vec<f64>> = predicted.collect();
    let mut means = [0.0; 5];
    for (target, name) in ["logp", "tpsa", "rings"].into_iter().enumerate() {
        let truth: Vec<f64> = lines[1..]
            .iter()
            .map(|line| line.split(',').nth(4 + target).unwrap().parse().unwrap())
            .collect();
        let found: Vec<f64> = predicted.iter().map(|row| row[target]).collect();
        let metrics = metrics(&truth, &found);
        let own = &report["targets"][target];
        assert_eq!(own["name"], name);
        for (at, key) in ["mae", "rmse", "r2", "spearman"].into_iter().enumerate() {
            assert!((number(own, key) - metrics[at]).abs() < 1e-5, "{name} {key}: {own}");
            means[at] += metrics[at] / 3.0;
        }
    }
    for (at, key) in ["mae", "rmse", "r2", "spearman"].into_iter().enumerate() {
        assert!((number(&report, key) - means[at]).abs() < 1e-5, "{key}: {report}");
        let [low, high] = [0, 1].map(|end| report["intervals"][key][end].as_f64().unwrap());
        assert!((low..=high).contains(&number(&report, key)), "{key}: {report}");
    }
    // the training means know nothing
    let chance = &report["chance"];
    assert_eq!((number(chance, "rrmse"), number(chance, "spearman")), (1.0, 0.0), "{chance}");
    assert!(number(chance, "r2") <= 0.0 && number(&report, "mae") < number(chance, "mae"));
    let text = sandbox.succeed(&["evaluate", "runs/table"]);
    for said in ["MAE", "RMSE", "R²", "Spearman's rho", "tpsa", "chance"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    // a gap is refused with its line and columns
    sandbox.write("table.csv", &table().replacen(",60,0", ",,0", 1));
    sandbox.fail(
        &["train", "table.toml"],
        2,
        &["table.csv:2", "\"logp\", \"tpsa\", \"rings\"", "3 finite numbers"],
    );
    let none = "output.features.column=[]";
    sandbox.fail(&["train", "table.toml", "--set", none], 2, &["column = []"]);
}

/// MAE, RMSE, R² and Spearman's correlation by their definitions.
fn metrics(truth: &[f64], found: &[f64]) -> [f64; 4] {
    let n = truth.len() as f64;
    let errors = || truth.iter().zip(found).map(|(a, b)| a - b);
    let mean = truth.iter().sum::<f64>() / n;
    let squares: f64 = errors().map(|error| error * error).sum();
    let spread: f64 = truth.iter().map(|own| (own - mean).powi(2)).sum();
    let ranks = |all: &[f64]| -> Vec<f64> {
        let rank = |own: &f64| {
            let below = all.iter().filter(|other| *other < own).count() as f64;
            let same = all.iter().filter(|other| *other == own).count() as f64;
            below + (same + 1.0) / 2.0
        };
        all.iter().map(rank).collect()
    };
    let a = ranks(truth);
    let b = ranks(found);
    let middle = (n + 1.0) / 2.0;
    let common: f64 = a.iter().zip(&b).map(|(a, b)| (a - middle) * (b - middle)).sum();
    let length = |all: &[f64]| all.iter().map(|own| (own - middle).powi(2)).sum::<f64>().sqrt();
    let mae = errors().map(f64::abs).sum::<f64>() / n;
    [mae, (squares / n).sqrt(), 1.0 - squares / spread, common / (length(&a) * length(&b))]
}

/// The one row of the other class is a validation pair.
#[test]
fn training_pairs_of_one_class_get_advice() {
    let sandbox = Sandbox::new();
    for (other, says) in [(35, true), (5, false)] {
        let mut table = "name,text,kind\n".to_owned();
        for row in 0..60 {
            let kind = if row == other { "no" } else { "yes" };
            writeln!(table, "m{row},word {row},{kind}").unwrap();
        }
        sandbox.write("table.csv", &table);
        sandbox.write("one.toml", CONFIG);
        let text = sandbox.succeed(&["train", "one.toml", "--quiet", "--force"]);
        let line = "advice: all 30 training pairs have one class, yes; validation pairs have others (no): the model predicts";
        assert_eq!(text.contains(line), says, "{text}");
    }
}
