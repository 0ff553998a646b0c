//! Trainings that go on with changed settings.

use super::resume::assert_same;
use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, unstable_training};

#[test]
fn a_training_that_diverged_goes_on_with_a_lower_rate() {
    let sandbox = Sandbox::new();
    let train = unstable_training("small.toml");
    let rate = |rate, more: &[&'static str]| [&train[..], &["--set", rate], more].concat();
    let wild = "training.learning_rate=50.0";
    sandbox.fail(
        &rate(wild, &[]),
        1,
        &["is not finite", "--resume with --set training.learning_rate"],
    );
    // other keys are refused, and so is a rate that the command does not name
    let calm = "training.learning_rate=0.01";
    let seed = rate(calm, &["--resume", "--set", "seed=7"]);
    let remedy = "a run keeps this key: go on with --set seed=0, or start a new run";
    sandbox.fail(&seed, 2, &["seed", "the run was started with", remedy]);
    let plain = ["train", "small.toml", "--quiet", "--out", "run", "--resume"];
    sandbox.fail(&plain, 2, &["the run was started with"]);
    assert!(!sandbox.path("run/changes.jsonl").exists());

    sandbox.succeed(&rate(calm, &["--resume"]));
    let change = sandbox.read("run/changes.jsonl");
    let change: serde_json::Value = serde_json::from_str(&change).unwrap();
    assert_eq!(change["key"], "training.learning_rate");
    assert_eq!((change["before"].as_f64(), change["now"].as_f64()), (Some(50.0), Some(0.01)));
    let step = change["step"].as_u64().unwrap();
    assert!(step > 0, "{change}");
    assert!(sandbox.read("run/config.toml").contains("learning_rate = 0.01"));
    let log = sandbox.read("run/log.jsonl");
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let (before, after): (Vec<_>, Vec<_>) =
        lines.partition(|line| line["step"].as_u64().unwrap() <= step);
    assert!(!before.is_empty() && !after.is_empty(), "{log}");
    assert!(after.iter().all(|line| line["learning_rate"].as_f64().unwrap() <= 0.01), "{log}");
    sandbox.succeed(&["evaluate", "run"]);
    // a complete run has no steps left
    let again = rate("training.learning_rate=0.02", &["--resume"]);
    sandbox.fail(&again, 2, &["training.learning_rate", "complete", "training.epochs is raised"]);
}

#[test]
fn a_run_that_patience_ended_goes_on_for_more_epochs() {
    let sandbox = Sandbox::new();
    let train = |epochs: &'static str, more: &[&'static str]| {
        // nothing improves after the first evaluation
        let sets = ["training.patience=1", "training.learning_rate=1e-9", epochs];
        let sets = sets.into_iter().flat_map(|change| ["--set", change]);
        let train = ["train", "small.toml", "--quiet", "--out", "run"].into_iter();
        train.chain(sets).chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let evaluations = || sandbox.read("run/log.jsonl").lines().count();
    sandbox.succeed(&train("training.epochs=20", &[]));
    assert_eq!(evaluations(), 2);
    sandbox.succeed(&train("training.epochs=30", &["--resume"]));
    assert_eq!(evaluations(), 3);
    sandbox.succeed(&["evaluate", "run"]);
}

#[test]
fn a_complete_run_goes_on_for_more_epochs() {
    let sandbox = Sandbox::new();
    let epochs = |count, out, more: &[&'static str]| {
        let constant = ["training.warmup=0", "training.decay=none"];
        let sets = constant.into_iter().chain([count]).flat_map(|change| ["--set", change]);
        let train = ["train", "small.toml", "--quiet", "--out", out];
        train.into_iter().chain(sets).chain(more.iter().copied()).collect::<Vec<_>>()
    };
    let resume = &["--resume"][..];
    sandbox.succeed(&epochs("training.epochs=4", "run", &[]));
    sandbox.fail(&epochs("training.epochs=3", "run", resume), 2, &["training.epochs", "complete"]);
    sandbox.succeed(&epochs("training.epochs=6", "run", resume));
    sandbox.succeed(&epochs("training.epochs=6", "straight", &[]));
    assert_same(&sandbox, "run", "straight");
    assert_eq!(sandbox.read("run/config.toml"), sandbox.read("straight/config.toml"));

    // a kernel machine has no epochs
    sandbox.write("small.toml", &CONFIG.replace(BAG, RIDGE));
    sandbox.succeed(&epochs("training.epochs=4", "machine", &[]));
    let more = epochs("training.epochs=6", "machine", resume);
    sandbox.fail(&more, 2, &["training.epochs", "complete"]);
}

#[test]
fn runs_of_several_seeds_go_on_with_changed_settings() {
    let sandbox = Sandbox::new();
    let seeds = ["sweep", "small.toml", "--quiet", "--out", "runs", "--grid", "seed=0,1"];
    sandbox.succeed(&seeds);
    // one of them was interrupted
    std::fs::remove_file(sandbox.path("runs/seed=1/metrics.json")).unwrap();
    sandbox.succeed(&[&seeds[..], &["--set", "training.epochs=6"]].concat());
    for seed in ["runs/seed=0", "runs/seed=1"] {
        let log = sandbox.read(&format!("{seed}/log.jsonl"));
        let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        assert_eq!(last["epoch"], 6, "{seed}");
        assert!(sandbox.path(&format!("{seed}/metrics.json")).exists(), "{seed}");
    }
}

/// A kill may come between the line that says what is changed and the configuration.
#[test]
fn a_change_that_a_killed_process_has_noted_is_noted_once() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    std::fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    copy(&sandbox.path("run"), &sandbox.path("killed"));
    let change = |out| {
        let set =
            ["--resume", "--set", "training.learning_rate=0.01", "--set", "training.epochs=5"];
        sandbox.succeed(&[&["train", "small.toml", "--quiet", "--out", out][..], &set].concat());
    };
    change("run");
    let noted = sandbox.read("run/changes.jsonl");
    assert_eq!(noted.lines().count(), 2, "{noted}");
    sandbox.write("killed/changes.jsonl", &noted);
    change("killed");
    assert_eq!(sandbox.read("killed/changes.jsonl"), noted);
    assert_same(&sandbox, "run", "killed");
}
