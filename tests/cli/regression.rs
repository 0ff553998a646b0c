//! Numbers that are predicted as they are.

use crate::sandbox::{RIDGE, Sandbox, config_of_numbers, json, npy, number};

/// An ARFF file of three sines and two smooth functions of them; `broken` rewrites a line of data.
fn waves(broken: impl Fn(usize, String) -> String) -> String {
    let mut text = String::from("@relation waves\n");
    for name in ["x0", "x1", "x2", "y0", "y1"] {
        text += &format!("@attribute {name} numeric\n");
    }
    text += "@data\n";
    for i in 0..40 {
        let x = [1.0, 2.0, 3.0].map(|j| f64::sin(j * f64::from(i + 1)));
        let y = [100.0 + x[0] + 2.0 * x[1] * x[2], 3.0 * x[0] * x[0] - 0.5 * x[1]];
        let cells: Vec<String> = x.iter().chain(&y).map(|value| format!("{value:.4}")).collect();
        text += &(broken(i as usize, cells.join(",")) + "\n");
    }
    text
}

const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/multi-target.toml");

/// A configuration of the project on the waves.
const CHANGES: [&str; 5] = [
    "data.file=waves.arff",
    "data.splits={order=\"file\", train=24, validation=6, test=10}",
    "encoder.kernel.gamma=0.5",
    "encoder.lambda=1e-3",
    "decoding.search=exact",
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("data/multi-target")).unwrap();
    sandbox.write("data/multi-target/waves.arff", &waves(|_, line| line));
    sandbox
}

/// Figures and numbers of a NumPy program: kernel ridge regression of the standardised rows.
#[test]
fn numbers_are_those_of_numpy() {
    let sandbox = sandbox();
    let report = sandbox.train(CONFIG, &CHANGES);
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 2e-6, "{found}");
    close(number(&report, "rrmse"), 0.057_443_59);
    let targets = report["targets"].as_array().unwrap();
    for (found, expected) in targets.iter().zip([0.073_874_4, 0.041_012_78]) {
        close(number(found, "rrmse"), expected);
    }

    // rows of a file of its own are compared as what they are, and the first test row has NumPy's numbers
    let rows = waves(|_, line| line);
    let (head, data) = rows.split_once("@data\n").unwrap();
    let test: Vec<&str> = data.lines().skip(30).collect();
    sandbox.write("test.arff", &format!("{head}@data\n{}\n", test.join("\n")));
    let queries = ["evaluate", "runs/multi-target", "--queries", "test.arff", "--json"];
    close(number(&json(&sandbox.succeed(&queries)), "rrmse"), 0.057_443_59);
    // so are those of the configuration's file of test rows
    std::fs::rename(sandbox.path("test.arff"), sandbox.path("data/multi-target/test.arff"))
        .unwrap();
    let file = ["data.test=test.arff", "data.splits={order=\"file\", train=24, validation=6}"];
    let whole = ["data.test=test.arff", "data.splits={order=\"file\", train=24, validation=0}"];
    // targets in another order are found by their names
    let swap = |line: &&str| {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[..3], &[cells[4], cells[3]]].concat().join(",")
    };
    let swapped: Vec<String> = test.iter().map(swap).collect();
    let [y0, y1] = ["@attribute y0 numeric\n", "@attribute y1 numeric\n"];
    let swapped_head = head.replace(&format!("{y0}{y1}"), &format!("{y1}{y0}"));
    let swapped = format!("{swapped_head}@data\n{}\n", swapped.join("\n"));
    sandbox.write("data/multi-target/swapped.arff", &swapped);
    let by_name = ["data.test=swapped.arff", file[1]];
    for (run, changes) in [("file", file), ("whole", whole), ("by-name", by_name)] {
        let sets = CHANGES.iter().chain(&changes).flat_map(|change| ["--set", *change]);
        let arguments = ["train", CONFIG, "--json", "--out", run].into_iter().chain(sets);
        let report = json(&sandbox.succeed(&arguments.collect::<Vec<_>>()));
        close(number(&report, "rrmse"), 0.057_443_59);
        let again = json(&sandbox.succeed(&["evaluate", run, "--split", "test", "--json"]));
        assert_eq!(again["rrmse"], report["rrmse"]);
    }
    let evaluate = |file| ["evaluate", "runs/multi-target", "--json", "--queries", file];
    let of_swapped = json(&sandbox.succeed(&evaluate("data/multi-target/swapped.arff")));
    close(number(&of_swapped, "rrmse"), 0.057_443_59);
    sandbox.write("other.arff", &swapped.replace("y0", "z"));
    let other = ["attributes that are targets", "lacking: \"y0\"; unknown: \"z\""];
    sandbox.fail(&evaluate("other.arff"), 2, &other);
    let sets = CHANGES.iter().chain(&["data.test=test.arff"]).flat_map(|change| ["--set", *change]);
    let twice: Vec<&str> = ["train", CONFIG].into_iter().chain(sets).collect();
    sandbox.fail(&twice, 2, &["data.splits.test = 10", "0, with a file in data.test"]);
    let answers = sandbox.succeed(&["predict", "runs/multi-target", "data/multi-target/test.arff"]);
    let first = json(answers.lines().next().unwrap());
    let numbers: Vec<f64> =
        first["exact"]["label"].as_str().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
    assert_eq!(numbers.len(), 2);
    assert!((numbers[0] - 101.012_819).abs() < 1e-4 && (numbers[1] - 0.933_718).abs() < 1e-5);
}

/// In a sketched basis with as many axes as there are targets, answers are those without a sketch.
#[test]
fn a_basis_of_all_targets_changes_nothing() {
    let sandbox = sandbox();
    let sketch = ["sketch.full=false", "sketch.size=24"];
    let report = sandbox.train(CONFIG, &[&CHANGES[..], &sketch].concat());
    assert!((number(&report, "rrmse") - 0.057_443_59).abs() < 2e-5, "{report}");
}

/// Figures of a NumPy program: `(K ⊗ M + nλI)⁻¹ y` of the standardised rows, with M given, and by the Laplacian of a graph.
#[test]
fn targets_share_what_they_learn_by_an_output_matrix() {
    let sandbox = sandbox();
    let write = |name: &str, values: [f64; 4]| {
        std::fs::write(sandbox.path(&format!("data/multi-target/{name}")), npy(2, &values))
            .unwrap();
    };
    write("m.npy", [2.0, 1.0, 1.0, 1.0]);
    write("graph.npy", [0.0, 2.0, 2.0, 0.0]);
    let given = "encoder.output_matrix={kind=\"dense\", file=\"m.npy\"}";
    let graph = "encoder.output_matrix={kind=\"laplacian\", file=\"graph.npy\", weight=0.3}";
    let basis = ["sketch.full=false", "sketch.size=24"];
    for (matrix, expected) in [(given, 0.061_554_5), (graph, 0.059_416_56)] {
        let report = sandbox.train(CONFIG, &[&CHANGES[..], &basis, &[matrix]].concat());
        assert!((number(&report, "rrmse") - expected).abs() < 1e-5, "{matrix}: {report}");
    }
    // λ by leave-one-out errors
    let several = "encoder.lambda=[1e-4, 1e-3, 1e-2]";
    sandbox.train(CONFIG, &[&CHANGES[..], &basis, &[given, several]].concat());
    // learned: by proximal gradient steps on the nuclear norm, as in crates/machines/tests/golden/output_matrix.py
    let learned = "encoder.output_matrix={kind=\"learned\"}";
    let report =
        sandbox.train(CONFIG, &[&CHANGES[..], &basis, &[learned, "encoder.lambda=1e-2"]].concat());
    assert!((number(&report, "rrmse") - 0.085_310_73).abs() < 1e-4, "{report}");
    sandbox.train(CONFIG, &[&CHANGES[..], &basis, &[learned, several]].concat());
    let refused = |changes: &[&str], expected: &[&str]| {
        let sets = CHANGES.iter().chain(changes).flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> = ["train", CONFIG].into_iter().chain(sets).collect();
        sandbox.fail(&arguments, 2, expected);
    };
    refused(&[given], &["sketch.full", "true", "false"]);
    let averaged = "encoder.solver={name=\"divide-and-conquer\", parts=2, sketch={size=10}}";
    refused(&[&basis[..], &[learned, averaged]].concat(), &["encoder.solver.name", "learned"]);
    let zero = "encoder.lambda=1e3";
    refused(&[&basis[..], &[learned, zero]].concat(), &["lambda = 1000", "output matrix is 0"]);
    refused(&["encoder.output_matrix={kind=\"quantiles\", gamma=1.0}"], &["pinball"]);
    write("m.npy", [1.0, 2.0, 2.0, 1.0]);
    refused(&[&basis[..], &[given]].concat(), &["m.npy", "eigenvalues from -1"]);
    refused(&[&basis[..], &[&graph.replace("0.3", "1.0")]].concat(), &["graph.npy", "below 1"]);
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let sandbox = sandbox();
    let refused = |changes: &[&str], expected: &[&str]| {
        let sets = CHANGES.iter().chain(changes).flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> = ["train", CONFIG].into_iter().chain(sets).collect();
        sandbox.fail(&arguments, 2, expected);
    };
    refused(&["output.scaling=none"], &["output.scaling", "\"standard\""]);
    refused(&["output.kernel.name=cosine"], &["output.kernel.name", "\"cosine\"", "\"linear\""]);
    refused(&["decoding.normalise=true"], &["decoding.normalise"]);
    refused(&["decoding.search=candidates"], &["evaluation.metric", "rrmse"]);
    refused(&["data.labels=5"], &["data.labels", "1 to 4"]);
    refused(&["data.file=waves.libsvm"], &["output.features.kind", "\"numbers\""]);
    let missing = waves(|at, line| match line.split_once(',') {
        Some((_, rest)) if at == 7 => format!("?,{rest}"),
        _ => line,
    });
    sandbox.write("data/multi-target/waves.arff", &missing);
    refused(&[], &["waves.arff:15", "x0: \"?\"", "a finite number", "1 (lines 15)", "on_bad_row"]);
}

/// Rows with missing values are counted, and left out where that is asked for.
#[test]
fn missing_values_are_refused_or_skipped() {
    let sandbox = sandbox();
    let gaps = |at: usize, line: String| match at % 16 {
        3 => line.rsplit_once(',').unwrap().0.to_owned() + ",?",
        9 => format!("?{}", &line[line.find(',').unwrap()..]),
        _ => line,
    };
    sandbox.write("data/multi-target/waves.arff", &waves(gaps));
    // five of 40 rows
    let train = ["train", CONFIG, "--set", CHANGES[0]];
    sandbox.fail(&train, 2, &["waves.arff:11", "y1: \"?\"", "5 (lines 11, 17, 27, 33, 43)"]);
    let short = "data.splits={order=\"file\", train=20, validation=4, test=10}";
    let changes = [&CHANGES[..1], &[short], &CHANGES[2..]].concat();
    let skipped = sandbox.train(CONFIG, &[&changes[..], &["data.on_bad_row=skip"]].concat());
    assert_eq!(skipped["skipped_rows"]["waves.arff"], 5, "{skipped}");
    let whole = waves(|at, line| if [3, 9].contains(&(at % 16)) { String::new() } else { line });
    sandbox.write("data/multi-target/waves.arff", &whole);
    let left = sandbox.train(CONFIG, &changes);
    assert_eq!(number(&skipped, "rrmse"), number(&left, "rrmse"));
}

/// Two numbers in one cell are none for a program, and behind a sign a formula for a spreadsheet.
#[test]
fn each_number_has_a_column_of_its_own_in_tables() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut table = String::from("id\ty1\ty2\n");
    for (at, line) in outputs.lines().skip(1).enumerate() {
        let id = line.split('\t').next().unwrap();
        table += &format!("{id}\t-{}.5\t-{}\n", at % 8, 1000 - at % 8);
    }
    sandbox.write("data/small/outputs.tsv", &table);
    let data = "folder = \"small\"\ntest = \"test.tsv\"";
    let output = r#"table = "outputs.tsv"
label = "y1"
features = { kind = "numbers", column = ["y1", "y2"] }"#;
    sandbox.write("small.toml", &config_of_numbers(data, output, RIDGE));
    sandbox.train("small.toml", &[]);
    let predict = ["predict", "runs/small", "data/small/test.tsv", "--top", "1", "--format"];
    let answers = sandbox.succeed(&[&predict[..], &["jsonl"]].concat());
    let expected: Vec<Vec<f64>> = answers
        .lines()
        .map(|line| {
            let label = json(line)["exact"]["label"].as_str().unwrap().to_owned();
            label.split(' ').map(|number| number.parse().unwrap()).collect()
        })
        .collect();
    assert_eq!(expected.len(), 10);
    for (format, separator) in [("csv", ','), ("tsv", '\t')] {
        let table = sandbox.succeed(&[&predict[..], &[format]].concat());
        let rows: Vec<Vec<&str>> =
            table.lines().map(|line| line.split(separator).collect()).collect();
        let place = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
        let columns = [place("predicted y1"), place("predicted y2")];
        let best = rows[1..].iter().filter(|row| row[place("rank")] == "all");
        let numbers: Vec<Vec<f64>> =
            best.map(|row| columns.map(|at| row[at].parse().unwrap()).to_vec()).collect();
        assert_eq!(numbers, expected, "{format}");
        assert!(numbers.iter().all(|numbers| numbers[1] < 0.0), "{numbers:?}");
    }
}

/// A cell of a table may hold several numbers.
#[test]
fn numbers_of_a_table_are_predicted_in_its_units() {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut table = String::from("id\tsizes\n");
    for (at, line) in outputs.lines().skip(1).enumerate() {
        let id = line.split('\t').next().unwrap();
        table += &format!("{id}\t{} {}\n", at % 8, 1000 - at % 8);
    }
    sandbox.write("data/small/outputs.tsv", &table);
    let data = "folder = \"small\"\ntest = \"test.tsv\"";
    let output = r#"table = "outputs.tsv"
features = { kind = "numbers", column = "sizes" }"#;
    sandbox.write("small.toml", &config_of_numbers(data, output, RIDGE));
    let report = sandbox.train("small.toml", &[]);
    // the second number is a linear function of the first
    let targets = report["targets"].as_array().unwrap();
    let rrmse = |target: usize| number(&targets[target], "rrmse");
    assert!((rrmse(0) - rrmse(1)).abs() < 1e-4, "{report}");
    assert!(number(&report, "rrmse") < 1.0, "{report}");
    let again = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
    assert_eq!(number(&again, "rrmse"), number(&report, "rrmse"));
    // numbers are their own labels, as the table has them
    let answer = sandbox.succeed(&["search", "runs/small", "an alkane", "--top", "1", "--json"]);
    let [id, label] = ["id", "label"].map(|key| json(&answer)["candidates"][0][key].clone());
    let line = format!("{}\t{}\n", id.as_str().unwrap(), label.as_str().unwrap());
    assert!(table.contains(&line), "{answer}");
    // numbers that are predicted as they are have no ranks among those of the training pairs
    let training = ["output.only_training=true", "evaluation.missing_gold=rank-infinity"];
    let sets: Vec<&str> = training.iter().flat_map(|change| ["--set", *change]).collect();
    let sweep = ["sweep", "small.toml", "--grid", "data.limit=30,40"];
    let text = sandbox.succeed(&[&sweep[..], &sets].concat());
    assert!(text.contains("best: runs/small-sweep/data.limit="), "{text}");
    for (out, seed) in [("few", "seed=0"), ("others", "seed=1")] {
        let cv = ["cv", "small.toml", "--folds", "2", "--out", out, "--set", "data.limit=30"];
        sandbox.succeed(&[&cv[..], &["--set", seed], &sets].concat());
    }
    sandbox.succeed(&["compare", "few", "others"]);
    let cut = table.replacen("3 997", "3", 1);
    sandbox.write("data/small/outputs.tsv", &cut);
    let expected = ["outputs.tsv:5", "\"3\"", "2 finite numbers"];
    sandbox.fail(&["train", "small.toml"], 2, &expected);
}
