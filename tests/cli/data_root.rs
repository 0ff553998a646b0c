//! A run knows the data that it was trained on.

use std::fs;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{CONFIG, Sandbox, copy, json};
use crate::served::Served;

#[test]
fn a_run_is_evaluated_from_any_directory() {
    let sandbox = Sandbox::new();
    let report = sandbox.train("small.toml", &[]);
    // a set of the project's own, beside the folder of the configuration, which is named in full
    copy(&sandbox.path("data/small"), &sandbox.path("datasets/small"));
    fs::create_dir(sandbox.path("configs")).unwrap();
    let own = CONFIG.replacen("\"small\"", "\"datasets/small\"", 1);
    sandbox.write("configs/own.toml", &own);
    let config = sandbox.path("configs/own.toml");
    sandbox.train(config.to_str().unwrap(), &["seed=1"]);

    let elsewhere = tempfile::tempdir().unwrap();
    let runs = [sandbox.path("runs/small"), sandbox.path("runs/own")];
    let evaluate = |arguments: &[&str]| {
        let mut command = sandbox.command(&["evaluate"]);
        command.args(arguments).current_dir(elsewhere.path());
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), errors)
    };
    let [one, two] = runs.each_ref().map(|run| run.to_str().unwrap());
    let (_, found, errors) = evaluate(&[one, "--json"]);
    assert_eq!(json(&found)["mrr"], report["mrr"], "{errors}");
    // the two were trained on different folders
    let (code, found, errors) = evaluate(&[one, two, "--json"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(json(&found)["members"][0]["mrr"], report["mrr"]);

    // a file that is gone, then the whole folder
    let gone = sandbox.path("data/small/test.tsv");
    let kept = fs::read(&gone).unwrap();
    fs::remove_file(&gone).unwrap();
    let (code, _, errors) = evaluate(&[one]);
    assert_eq!(code, Some(2), "{errors}");
    let place = gone.canonicalize().unwrap_or_else(|_| gone.clone());
    assert!(errors.contains(place.to_str().unwrap()) && errors.contains("--data"), "{errors}");
    fs::write(&gone, kept).unwrap();
    fs::rename(sandbox.path("data"), sandbox.path("moved")).unwrap();
    let (code, _, errors) = evaluate(&[one]);
    assert_eq!(code, Some(2), "{errors}");
    for part in ["data/small", "--data DIR stands for DIR/small"] {
        assert!(errors.contains(part), "{errors}");
    }
    let moved = sandbox.path("moved");
    let (_, found, errors) = evaluate(&[one, "--data", moved.to_str().unwrap(), "--json"]);
    assert_eq!(json(&found)["mrr"], report["mrr"], "{errors}");
}

#[test]
fn a_resumed_run_knows_its_new_data_root() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    fs::remove_file(sandbox.path("runs/small/metrics.json")).unwrap();
    fs::rename(sandbox.path("data"), sandbox.path("moved")).unwrap();
    sandbox.succeed(&["train", "small.toml", "--resume", "--data", "moved", "--json"]);
    sandbox.succeed(&["evaluate", "runs/small"]);
}

/// Few commands need the data, and an argument names them too.
#[test]
fn a_damaged_folder_of_the_data_is_left_aside() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    fs::rename(sandbox.path("data"), sandbox.path("moved")).unwrap();
    let whole = sandbox.read("runs/small/data.json");
    let corrected = whole.replacen("/data/small\"", "/moved/small\"", 1);
    assert_ne!(corrected, whole);
    for damaged in [&corrected, "{}", &whole[..whole.len() / 2]] {
        sandbox.write("runs/small/data.json", damaged);
        let says = ["runs/small/data.json: damaged or changed, and left aside", "--data DIR"];
        sandbox.fail(&["evaluate", "runs/small"], 2, &says);
        for command in [
            &["search", "runs/small", "a ring"][..],
            &["evaluate", "runs/small", "--data", "moved"],
        ] {
            let said = warnings(&sandbox, command);
            assert!(says.iter().all(|says| said.contains(says)), "{said}");
        }
    }
    // a training that goes on knows where its data lie
    fs::remove_file(sandbox.path("runs/small/metrics.json")).unwrap();
    sandbox.succeed(&["train", "small.toml", "--resume", "--data", "moved", "--json"]);
    let said = warnings(&sandbox, &["evaluate", "runs/small"]);
    assert!(!said.contains("left aside"), "{said}");
}

/// Standard error of a call that must succeed.
fn warnings(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    errors
}

/// A table of texts and classes that have nothing to do with each other.
fn noise(rows: usize) -> String {
    let mut state = 1u32;
    let mut draw = |count: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % count
    };
    let words = ["stone", "river", "cloud", "paper", "grass", "metal", "sugar", "glass"];
    let mut table = "text\tcolour\n".to_owned();
    for row in 0..rows {
        let text = [(); 4].map(|()| words[draw(words.len())]).join(" ");
        let colour = ["red", "green", "blue", "grey"][draw(4)];
        table += &format!("{text} {row}\t{colour}\n");
    }
    table
}

#[test]
fn pairs_that_a_run_has_learned_from_do_not_measure_it() {
    let sandbox = Sandbox::new();
    let table = noise(160);
    sandbox.write("t.tsv", &table);
    sandbox.succeed(&["init", "t.tsv", "--input", "text", "--output", "colour"]);
    let report = json(&sandbox.succeed(&["train", "t.toml", "--out", "run", "--json"]));
    sandbox.write("texts.txt", "stone river\n");

    // without one row the seed draws other splits
    let row = table.lines().nth(5).unwrap();
    let shorter = table.replacen(&format!("{row}\n"), "", 1);
    sandbox.write("t.tsv", &shorter);
    let changed = "run: the data have changed since the training (t.tsv)";
    let calls: [&[&str]; 4] = [
        &["evaluate", "run"],
        &["evaluate", "run", "--split", "validation"],
        // the folder of the training, which is named
        &["evaluate", "run", "--data", "."],
        &["compare", "run", "run"],
    ];
    for call in calls {
        sandbox.fail(call, 2, &[changed, "your own by --queries FILE, or train again"]);
    }
    let sets = ["predict", "run", "texts.txt", "--coverage", "0.5"];
    let calibrates = "as `dsokr predict --calibration FILE` does, or train again";
    sandbox.fail(&sets, 2, &[changed, calibrates]);
    // the split is for the weights, whatever is evaluated
    let weights = ["evaluate", "run", "run", "--queries", "t.tsv", "--fit-weights"];
    sandbox.fail(&weights, 2, &[changed, "leave out --fit-weights, or train again"]);
    let train = warnings(&sandbox, &["evaluate", "run", "--split", "train"]);
    assert!(train.contains("(t.tsv): the train split may have pairs"), "{train}");
    // classes have names, whatever the numbers of the rows are
    sandbox.succeed(&["evaluate", "run", "--queries", "t.tsv"]);

    // a server starts, without a confidence
    let served = Served::start(&sandbox, &["run"]);
    let begun = Instant::now();
    let lacks = "answers go without how often validation queries are right: run: the data have";
    while !sandbox.read("serve.log").contains(lacks) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", sandbox.read("serve.log"));
        std::thread::sleep(Duration::from_millis(50));
    }
    let found = served.ask("/api/search", &serde_json::json!({"texts": ["stone river"]}));
    let answer = &found["answers"][0];
    assert!(answer["hits"][0].is_object() && answer["confidence"].is_null(), "{found}");
    drop(served);
    // the data of the training may lie elsewhere
    fs::create_dir(sandbox.path("same")).unwrap();
    sandbox.write("same/t.tsv", &table);
    let served = Served::start(&sandbox, &["run", "--data", "same"]);
    let models = json(&served.get("/api/models").body);
    assert_eq!(models["models"][0]["missing"], serde_json::json!([]), "{models}");
    drop(served);

    // data in another place may be others
    fs::create_dir(sandbox.path("other")).unwrap();
    sandbox.write("other/t.tsv", &shorter);
    sandbox.write("t.tsv", &table);
    let other = warnings(&sandbox, &["evaluate", "run", "--data", "other"]);
    assert!(other.contains("has other data than those of the training (t.tsv)"), "{other}");
    let same = warnings(&sandbox, &["evaluate", "run"]);
    assert!(!same.contains("since the training"), "{same}");
    let again = json(&sandbox.succeed(&["evaluate", "run", "--json"]));
    assert_eq!(again["accuracy"], report["accuracy"]);
}

/// As of a run of a version that divided its table otherwise.
#[test]
fn a_split_that_the_run_was_not_measured_on_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("t.tsv", &noise(160));
    sandbox.succeed(&["init", "t.tsv", "--input", "text", "--output", "colour"]);
    sandbox.succeed(&["train", "t.toml", "--out", "run"]);
    let says = "run: the test split has other queries than the run was measured on";
    let same = warnings(&sandbox, &["evaluate", "run"]);
    assert!(!same.contains("was measured on"), "{same}");
    let record = sandbox.read("run/metrics.json");
    let sum =
        serde_json::from_str::<Value>(&record).unwrap()["measured_on"].as_str().unwrap().to_owned();
    sandbox.write("run/metrics.json", &record.replacen(&sum, "0000", 1));
    sandbox.forget_checksum("run", "metrics.json");
    let other = warnings(&sandbox, &["evaluate", "run"]);
    let doubt = "its pairs may be pairs that the run has learned from: train again";
    assert!(other.contains(says) && other.contains(doubt), "{other}");
    // also among other candidates, and of each of several runs
    let among = warnings(&sandbox, &["evaluate", "run", "--candidates", "all"]);
    assert!(among.contains(says) && among.contains(doubt), "{among}");
    sandbox.succeed(&["train", "t.toml", "--out", "second"]);
    let of_second = warnings(&sandbox, &["evaluate", "second", "run"]);
    assert!(of_second.contains(says) && of_second.contains(doubt), "{of_second}");
    // where one split is drawn otherwise, so is the other one
    let validation = warnings(&sandbox, &["evaluate", "run", "--split", "validation"]);
    let doubt = "the validation split's pairs may be pairs that the run has learned from";
    assert!(validation.contains(says) && validation.contains(doubt), "{validation}");
    sandbox.write("texts.txt", "stone river\n");
    sandbox.fail(
        &["predict", "run", "texts.txt", "--coverage", "0.5"],
        2,
        &[says, doubt, "calibrate on a table of your own"],
    );
    let served = Served::start(&sandbox, &["run"]);
    let begun = Instant::now();
    let lacks = format!("answers go without how often validation queries are right: {says}");
    while !sandbox.read("serve.log").contains(&lacks) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", sandbox.read("serve.log"));
        std::thread::sleep(Duration::from_millis(50));
    }
    let found = served.ask("/api/search", &serde_json::json!({"texts": ["stone river"]}));
    let answer = &found["answers"][0];
    assert!(answer["hits"][0].is_object() && answer["confidence"].is_null(), "{found}");
}

/// As of a run of a version that read the cells of its outputs otherwise.
#[test]
fn right_outputs_that_a_run_was_not_measured_on_are_named() {
    let sandbox = Sandbox::new();
    for (column, what) in [("colour", "classes"), ("colours", "labels"), ("price", "numbers")] {
        let row = |(at, line): (usize, &str)| {
            let (text, colour) = line.split_once('\t').unwrap();
            let other = ["white;black", "black;pink", "pink;white;brown", "brown"][at % 4];
            let price = at % 7 * 13 + at / 8;
            let cell = match column {
                "colour" => colour.to_owned(),
                "colours" => other.to_owned(),
                _ => format!("{price}.25"),
            };
            format!("{text}\t{cell}\n")
        };
        let rows: String = noise(160).lines().skip(1).enumerate().map(row).collect();
        let name = format!("{column}.tsv");
        sandbox.write(&name, &format!("text\t{column}\n{rows}"));
        sandbox.succeed(&["init", &name, "--input", "text", "--output", column]);
        sandbox.succeed(&["train", &format!("{column}.toml"), "--out", column]);
        let same = warnings(&sandbox, &["evaluate", column]);
        assert!(!same.contains("was measured on"), "{same}");

        let file = format!("{column}/metrics.json");
        let mut metrics = json(&sandbox.read(&file).replace('\n', " "));
        metrics["right_outputs"] = "0000".into();
        sandbox.write(&file, &metrics.to_string());
        sandbox.forget_checksum(column, "metrics.json");
        let other = warnings(&sandbox, &["evaluate", column]);
        let says =
            format!("{column}: the test split has other {what} than the run was measured on");
        let doubt = "its metrics say little of the run: train again";
        assert!(other.contains(&says) && other.contains(doubt), "{other}");
    }
}

#[test]
fn splits_in_files_of_their_own_are_read_beside_tables_that_have_changed() {
    let sandbox = Sandbox::new();
    let report = sandbox.train("small.toml", &[]);
    let fold = ["--out", "fold", "--set", "data.fold={count=3, held=1}"];
    sandbox.succeed(&[&["train", "small.toml"][..], &fold].concat());
    let ensemble = "\n[ensemble]\n\n[[ensemble.members]]\nname = \"one\"\n\n\
                    [[ensemble.members]]\nname = \"two\"\ntraining.epochs = 2\n";
    sandbox.write("two.toml", &(CONFIG.to_owned() + ensemble));
    sandbox.succeed(&["train", "two.toml"]);

    let append = |file: &str, row: &str| {
        let text = sandbox.read(file) + row;
        sandbox.write(file, &text);
    };
    append("data/small/train.tsv", "o3\ta ring of kind HEX\n");
    let changed = "the data have changed since the training (train.tsv)";
    for split in ["validation", "test"] {
        let said = warnings(&sandbox, &["evaluate", "runs/small", "--split", split]);
        assert!(said.contains(changed), "{said}");
    }
    let again = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
    assert_eq!(again["mrr"], report["mrr"]);
    // parts of a cross-validation are drawn from the training pairs, the test pairs are not
    sandbox.fail(&["evaluate", "fold", "--split", "validation"], 2, &["fold: ", changed]);
    assert!(warnings(&sandbox, &["evaluate", "fold"]).contains(changed));

    append("data/small/validation.tsv", "o4\ta ring of kind HEX\n");
    let changed = "the data have changed since the training (train.tsv, validation.tsv)";
    let said = warnings(&sandbox, &["evaluate", "runs/small", "--split", "validation"]);
    assert!(said.contains(&format!("{changed}: the validation split may have other")), "{said}");
    assert!(warnings(&sandbox, &["evaluate", "runs/small"]).contains(changed));
    // each member has its own tables
    let members = warnings(&sandbox, &["evaluate", "runs/two", "--split", "validation"]);
    for member in ["one", "two"] {
        assert!(members.contains(&format!("{member}: {changed}")), "{members}");
    }
    // a server reads the split more than once, and says so once
    let served = Served::start(&sandbox, &["runs/small"]);
    let begun = Instant::now();
    while served.get("/api/models").body.contains("they are still read") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", sandbox.read("serve.log"));
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(served);
    let log = sandbox.read("serve.log");
    let said = format!("{changed}: the validation split may have other");
    assert_eq!(log.matches(&said).count(), 1, "{log}");
}

#[test]
fn splits_that_a_column_names_are_read_from_a_table_that_has_changed() {
    let sandbox = Sandbox::new();
    let pool = "source = \"pool\"\nfile = \"all.tsv\"\ninputs = { column = \"text\" }\nsplits = { column = \"part\" }";
    let config = CONFIG.replace("test = \"test.tsv\"", pool);
    sandbox.write("pool.toml", &config.replace("table = \"outputs.tsv\"\n", ""));
    let outputs = sandbox.read("data/small/outputs.tsv");
    let line = |(at, line): (usize, &str)| {
        let part = ["train", "validation", "test", "train"][at % 4];
        format!("{line}\t{}\t{part}\n", line.replace('\t', " "))
    };
    let rows: String = outputs.lines().skip(1).enumerate().map(line).collect();
    let table = format!("id\tname\ttext\tpart\n{rows}");
    sandbox.write("data/small/all.tsv", &table);
    let report = sandbox.train("pool.toml", &[]);

    sandbox.write("data/small/all.tsv", &format!("{table}o80\tcyclononane\ta ring\ttrain\n"));
    let says =
        "the data have changed since the training (all.tsv): the validation split may have other";
    let said = warnings(&sandbox, &["evaluate", "runs/pool", "--split", "validation"]);
    assert!(said.contains(says), "{said}");
    let again = json(&sandbox.succeed(&["evaluate", "runs/pool", "--json"]));
    assert_eq!(again["mrr"], report["mrr"]);
    // parts of a cross-validation are drawn
    let fold = ["--out", "fold", "--set", "data.fold={count=3, held=1}"];
    sandbox.succeed(&[&["train", "pool.toml"][..], &fold].concat());
    sandbox.write("data/small/all.tsv", &table);
    let says = ["fold: the data have changed since the training (all.tsv)"];
    sandbox.fail(&["evaluate", "fold", "--split", "validation"], 2, &says);
}

#[test]
fn rows_of_a_table_that_has_changed_have_other_numbers() {
    let sandbox = Sandbox::new();
    let row = |at: usize| {
        let word = ["red", "blue", "green"][at % 3];
        format!("a {word} thing with the number {at},{:.2}\n", (at * 37 % 80) as f64 * 1.75)
    };
    let table = |rows: Range<usize>| format!("text,value\n{}", rows.map(row).collect::<String>());
    sandbox.write("things.csv", &table(0..80));
    sandbox.succeed(&["init", "things.csv"]);
    assert!(sandbox.read("things.toml").contains("numbered = true"));
    sandbox.succeed(&["train", "things.toml", "--out", "run"]);
    sandbox.succeed(&["evaluate", "run", "--queries", "things.csv"]);
    sandbox.write("things.csv", &table(1..80));
    let says = ["things.csv: the table has changed since the training of run", "another name"];
    sandbox.fail(&["evaluate", "run", "--queries", "things.csv"], 2, &says);
    sandbox.write("copy.csv", &table(1..80));
    sandbox.succeed(&["evaluate", "run", "--queries", "copy.csv"]);
}
