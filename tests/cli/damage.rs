//! Files of a run that are not as the run was written with them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, config_of_numbers, copy};

/// The files below `run`, by name.
fn files(run: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(run).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Places in a file of `length` bytes: the ends, and some between.
fn places(length: usize) -> impl Iterator<Item = usize> {
    (0..7).map(move |part| (length - 1) * part / 6)
}

#[test]
fn a_flipped_letter_is_named_with_its_file_and_nothing_is_trained_on() {
    let sandbox = Sandbox::new();
    let changes = ["--set", "training.epochs=2", "--quiet", "--out"];
    let train = [&["train", "small.toml"][..], &changes, &["run"]].concat();
    sandbox.succeed(&train);
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    let resume = [&train[..], &["--resume"]].concat();
    for file in files(&sandbox.path("run")) {
        let name = file.file_name().unwrap().to_str().unwrap();
        // the lines of the log are results, which nothing reads but a resumed run that drops some; the card is
        // for readers, who may change it; the folder of the data is left aside
        if ["log.jsonl", "README.md", "data.json"].contains(&name) {
            continue;
        }
        let whole = fs::read(&file).unwrap();
        for place in places(whole.len()) {
            let mut flipped = whole.clone();
            flipped[place] ^= 1;
            for broken in [&flipped[..], &whole[..place]] {
                // white space at the end holds nothing
                if broken.trim_ascii_end() == whole.trim_ascii_end() {
                    continue;
                }
                fs::write(&file, broken).unwrap();
                let said = match name {
                    // a version that differs is said of the run
                    "config.toml" => "run",
                    _ => name,
                };
                sandbox.fail(&resume, 2, &[said]);
                if name != "last.safetensors" {
                    sandbox.fail(&["evaluate", "run"], 2, &[said]);
                }
            }
        }
        fs::write(&file, whole).unwrap();
    }
    sandbox.succeed(&resume);
    sandbox.succeed(&["evaluate", "run"]);
}

#[test]
fn results_of_a_complete_run_are_printed_as_they_were_written() {
    let sandbox = Sandbox::new();
    let train = ["train", "small.toml", "--quiet", "--out", "run"];
    sandbox.succeed(&train);
    let metrics = sandbox.read("run/metrics.json");
    let changed = metrics.replacen("\"mrr\": 0.", "\"mrr\": 0.9", 1);
    assert_ne!(changed, metrics);
    sandbox.write("run/metrics.json", &changed);
    let resume = [&train[..], &["--resume"]].concat();
    sandbox.fail(&resume, 2, &["run/metrics.json", "damaged or changed"]);
    // without them the run is evaluated again
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    sandbox.succeed(&resume);
    let without_date = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("\"date\": ")).map(str::to_owned).collect()
    };
    assert_eq!(without_date(&sandbox.read("run/metrics.json")), without_date(&metrics));
}

#[test]
fn a_kernel_machine_without_its_basis_is_refused() {
    let sandbox = Sandbox::new();
    let machine = "kind = \"kernel-machine\"\nlambda = 0.001\n[encoder.inputs]\nkind = \"ngrams\"\n\
                   blocks = [{ kind = \"words\", min = 1, max = 1 }]\n\n";
    let (before, _) = crate::sandbox::CONFIG.split_once("kind = \"ngram-bag\"").unwrap();
    let (_, after) = crate::sandbox::CONFIG.split_once("[evaluation]").unwrap();
    sandbox.write("machine.toml", &format!("{before}{machine}[evaluation]{after}"));
    sandbox.succeed(&["train", "machine.toml", "--quiet", "--out", "run"]);
    let basis = sandbox.path("run/basis.safetensors");
    assert!(basis.exists());
    fs::remove_file(&basis).unwrap();
    sandbox.fail(&["evaluate", "run"], 2, &["run/basis.safetensors", "missing"]);
    let resume = ["train", "machine.toml", "--quiet", "--out", "run", "--resume"];
    sandbox.fail(&resume, 2, &["run/basis.safetensors", "missing"]);
}

#[test]
fn the_rule_of_an_ensemble_is_the_one_that_was_fitted() {
    let sandbox = Sandbox::new();
    let config =
        format!("{}\n[ensemble]\nseeds = 2\nweights = \"validation\"\n", crate::sandbox::CONFIG);
    sandbox.write("votes.toml", &config);
    sandbox.succeed(&["train", "votes.toml", "--quiet", "--out", "run"]);
    let rule = sandbox.read("run/combination.json");
    let at = rule.rfind(|c: char| c.is_ascii_digit()).unwrap();
    let digit = if rule.as_bytes()[at] == b'1' { "2" } else { "1" };
    sandbox.write("run/combination.json", &format!("{}{digit}{}", &rule[..at], &rule[at + 1..]));
    sandbox.fail(&["evaluate", "run"], 2, &["run/combination.json", "damaged or changed"]);
}

/// Copies each binary file of `other` into `run`, where evaluation and archives are to refuse it.
fn assert_refuses_files_of(sandbox: &Sandbox, run: &str, other: &str, names: &[&str]) {
    for name in names {
        let file = sandbox.path(run).join(name);
        let own = fs::read(&file).unwrap();
        let foreign = fs::read(sandbox.path(other).join(name)).unwrap();
        assert_ne!(own, foreign, "{name}");
        fs::write(&file, foreign).unwrap();
        let says =
            [&*format!("{run}/{name}"), "of a different run", "put the file of this run back"];
        sandbox.fail(&["evaluate", run], 2, &says);
        sandbox.fail(&["export", run, "--archive", "run.tar.zst"], 2, &says);
        sandbox.fail(&["candidates", "add", run, "more.tsv"], 2, &says);
        fs::write(&file, own).unwrap();
    }
    sandbox.succeed(&["evaluate", run]);
}

#[test]
fn files_of_a_different_run_are_refused() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("data/numbers")).unwrap();
    let row = |at: i32| format!("{},{},{}\n", at * 7 % 31, at * 11 % 23, at * 3 % 17);
    let rows: String = (0..90).map(row).collect();
    sandbox.write("data/numbers/rows.csv", &format!("a,b,y\n{rows}"));
    // splits are drawn
    let data = r#"source = "pool"
folder = "numbers"
file = "rows.csv"
numbered = true
inputs = { column = "a..b", numbers = true }
splits = { train = 60, validation = 15, test = 15 }"#;
    let output = "features = { kind = \"numbers\", column = [\"y\"] }";
    let machine = r#"kind = "kernel-machine"
inputs = { kind = "vectors", scaling = "standard" }
kernel = { name = "gaussian", gamma = 0.1 }
lambda = [1e-4, 1e-3]"#;
    sandbox.write("numbers.toml", &config_of_numbers(data, output, machine));
    for seed in ["1", "2"] {
        let set = format!("seed={seed}");
        let out = format!("numbers{seed}");
        sandbox.succeed(&["train", "numbers.toml", "--quiet", "--out", &out, "--set", &set]);
    }
    let names = ["outputs.safetensors", "scaling.safetensors", "ridge.safetensors"];
    assert_refuses_files_of(&sandbox, "numbers1", "numbers2", &names);
    // the candidates name the space of the outputs too
    sandbox.forget_checksum("numbers1", "outputs.safetensors");
    fs::copy(
        sandbox.path("numbers2/outputs.safetensors"),
        sandbox.path("numbers1/outputs.safetensors"),
    )
    .unwrap();
    sandbox.fail(&["evaluate", "numbers1"], 2, &["it belongs to the basis"]);

    // one basis, and other models: of other rates, and of candidates that hubs have corrected
    for rate in ["0.01", "0.02"] {
        let set = format!("training.learning_rate={rate}");
        let out = format!("bag{rate}");
        sandbox.succeed(&["train", "small.toml", "--quiet", "--out", &out, "--set", &set]);
    }
    assert_refuses_files_of(&sandbox, "bag0.01", "bag0.02", &["encoder.safetensors"]);
    let hubs = "[decoding]\nheld_out = true\nhubs = { neighbours = [5] }\n";
    sandbox.write("hubs.toml", &(CONFIG.replacen(BAG, RIDGE, 1) + hubs));
    for lambda in ["0.001", "0.1"] {
        let set = format!("encoder.lambda={lambda}");
        let out = format!("hubs{lambda}");
        sandbox.succeed(&["train", "hubs.toml", "--quiet", "--out", &out, "--set", &set]);
    }
    let names = ["ridge.safetensors", "held-out.safetensors", "candidates.safetensors"];
    assert_refuses_files_of(&sandbox, "hubs0.001", "hubs0.1", &names);
}

/// The candidates are others from then on, and a file that few commands read is missed where a run is copied.
#[test]
fn a_run_with_added_candidates_keeps_the_checksums_of_its_files() {
    let sandbox = Sandbox::new();
    let hubs = "[decoding]\nheld_out = true\nhubs = { neighbours = [5] }\n";
    sandbox.write("hubs.toml", &(CONFIG.replacen(BAG, RIDGE, 1) + hubs));
    sandbox.succeed(&["train", "hubs.toml", "--quiet", "--out", "run"]);
    copy(&sandbox.path("run"), &sandbox.path("before"));
    sandbox.write("more.tsv", "id\tname\nn1\tcyclomethanol\n");
    sandbox.succeed(&["candidates", "add", "run", "more.tsv"]);
    sandbox.succeed(&["evaluate", "run"]);
    sandbox.succeed(&["export", "run", "--archive", "run.tar.zst"]);
    assert_refuses_files_of(&sandbox, "run", "before", &["candidates.safetensors"]);

    fs::remove_file(sandbox.path("run/held-out.safetensors")).unwrap();
    sandbox.succeed(&["search", "run", "a ring"]);
    let says = ["run/held-out.safetensors", "missing", "remove metrics.json and use --resume"];
    sandbox.fail(&["export", "run", "--archive", "run.tar.zst"], 2, &says);
    sandbox.write("more.tsv", "id\tname\nn2\tcyclomethanal\n");
    sandbox.fail(&["candidates", "add", "run", "more.tsv"], 2, &says);
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    sandbox.succeed(&["train", "hubs.toml", "--quiet", "--out", "run", "--resume"]);
    sandbox.succeed(&["export", "run", "--archive", "run.tar.zst"]);
    sandbox.succeed(&["candidates", "add", "run", "more.tsv"]);
}

#[test]
fn an_encoder_without_its_file_goes_on_with_the_last_checkpoint() {
    let sandbox = Sandbox::new();
    let train = ["train", "small.toml", "--quiet", "--out", "run"];
    sandbox.succeed(&train);
    fs::remove_file(sandbox.path("run/encoder.safetensors")).unwrap();
    let says = ["run/encoder.safetensors", "remove metrics.json, if any, and use --resume"];
    sandbox.fail(&["search", "run", "a ring"], 2, &says);
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    let output = sandbox.run(&[&train[..], &["--resume"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("those of the last checkpoint take their place"), "{errors}");
    sandbox.succeed(&["search", "run", "a ring"]);
}
