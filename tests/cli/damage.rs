//! Files of a run that are not as the run was written with them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::Sandbox;

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
        // for readers, who may change it
        if name == "log.jsonl" || name == "README.md" {
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
