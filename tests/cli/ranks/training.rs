//! Training, and what ends a job.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{apart, fail, fail_by_script, has_mpirun, mpirun, parameters, succeed};
#[cfg(target_os = "linux")]
use super::{processes, signal};
use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, json, number};

const LAST: &str = "checkpoint/last.safetensors";

/// 52 steps; the last batch of an epoch has 4 pairs. Dropout is on.
const TRAINING: [&str; 5] = ["train", "small.toml", "--json", "--set", "training.epochs=4"];

/// Writes the configuration of a transformer with two buckets of gradients and more.
fn write_transformer(sandbox: &Sandbox) {
    let bag = CONFIG.split("[encoder]").nth(1).unwrap().split("[training]").next().unwrap();
    let transformer =
        "\nkind = \"transformer\"\nlayers = 2\nwidth = 64\nheads = 4\nfeed_forward = 128\n\n";
    let config = CONFIG.replacen(bag, transformer, 1);
    sandbox.write(
        "small.toml",
        &config.replacen("epochs = 4\nbatch = 8", "epochs = 4\nbatch = 4\nepsilon = 1e-6", 1),
    );
}

#[test]
fn ranks_train_the_model_of_one_process() {
    if !has_mpirun("ranks_train_the_model_of_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    // a bag, 32 steps; a transformer, 60 steps, with an epsilon beside which rounding is small: the bias of
    // keys, which changes no answer, has gradients of nothing else
    for encoder in ["bag", "transformer"] {
        if encoder == "transformer" {
            write_transformer(&sandbox);
        }
        let name = |ranks: &str| format!("{encoder}-{ranks}");
        let train = |ranks: usize, name: &str| {
            let arguments = [&TRAINING[..], &["--out", name]].concat();
            match ranks {
                0 => sandbox.succeed(&arguments),
                _ => succeed(&sandbox, ranks, &arguments),
            }
        };
        let alone = json(&train(0, &name("alone")));
        let one = parameters(&sandbox, &format!("{}/{LAST}", name("alone")));
        // more ranks than pairs of the last batch: 60 pairs are 7 batches of 8 and one of 4
        for ranks in [1, 2, 5] {
            let run = name(&ranks.to_string());
            let printed = json(&train(ranks, &run));
            // each rank has placed a part of the candidates, and rank 0 writes those of all
            assert!(candidates(&sandbox, &run) == candidates(&sandbox, &name("alone")), "{run}");
            let own = parameters(&sandbox, &format!("{run}/{LAST}"));
            let apart = apart(&one, &own);
            assert!(apart < 1e-5, "{run}: {apart}");
            assert_eq!(printed["queries"], alone["queries"]);
            if ranks == 1 {
                assert!(one == own);
            }
            if ranks == 2 {
                train(ranks, &name("again"));
                assert!(own == parameters(&sandbox, &format!("{}/{LAST}", name("again"))));
                // a run of several processes is read by one
                let evaluated = json(&sandbox.succeed(&["evaluate", &run, "--json"]));
                assert_eq!(evaluated["mrr"], printed["mrr"]);
            }
        }
    }
}

/// The file of the candidates of a run.
fn candidates(sandbox: &Sandbox, run: &str) -> Vec<u8> {
    fs::read(sandbox.path(run).join("candidates.safetensors")).unwrap()
}

/// Waits until a training that is started now has left a checkpoint.
fn wait_for_checkpoint(sandbox: &Sandbox, run: &str, job: &mut Child) {
    let begun = Instant::now();
    let file = sandbox.path(run).join(LAST);
    let written = || fs::metadata(&file).and_then(|metadata| metadata.modified()).ok();
    let before = written();
    while written() == before {
        assert!(begun.elapsed() < Duration::from_secs(120) && job.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_rank_ends_the_job_and_resuming_goes_on_with_another_number() {
    if !has_mpirun("a_killed_rank_ends_the_job_and_resuming_goes_on_with_another_number") {
        return;
    }
    let sandbox = Sandbox::new();
    write_transformer(&sandbox);
    let train = |run: &str, epochs: &str| {
        let set = format!("training.epochs={epochs}");
        ["train", "small.toml", "--set", &set, "--out", run].map(String::from)
    };
    let whole = train("whole", "20");
    succeed(&sandbox, 2, &whole.each_ref().map(String::as_str));
    // the name is found in the list of processes of this machine
    let run = format!("killed-{}", std::process::id());
    let killed = train(&run, "20");
    let arguments = killed.each_ref().map(String::as_str);
    for (rank, ranks) in [(1, 2), (0, 3)] {
        let resumed = [&arguments[..], &["--resume"]].concat();
        let mut command = mpirun(&sandbox, ranks, &resumed);
        let mut job = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        wait_for_checkpoint(&sandbox, &run, &mut job);
        let all = processes(&run);
        assert_eq!(all.len(), ranks);
        signal("-KILL", all[rank]);
        let begun = Instant::now();
        let ended = job.wait_with_output().unwrap();
        assert!(!ended.status.success() && begun.elapsed() < Duration::from_secs(60));
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(errors.contains(&format!("rank {rank}")), "{errors}");
        assert!(processes(&run).is_empty());
    }
    // by one process, which ends where the others end but for rounding
    sandbox.succeed(&[&arguments[..], &["--resume"]].concat());
    let [whole, killed] = ["whole", &run].map(|run| {
        let log = sandbox.read(&format!("{run}/log.jsonl"));
        let line: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        (log.lines().count(), line["step"].as_u64().unwrap(), line["loss"].as_f64().unwrap())
    });
    assert_eq!((whole.0, whole.1), (20, 300));
    assert_eq!((killed.0, killed.1), (20, 300));
    assert!((whole.2 / killed.2 - 1.0).abs() < 0.01, "{whole:?} {killed:?}");
}

#[test]
fn a_rank_that_finds_an_error_ends_the_job() {
    if !has_mpirun("a_rank_that_finds_an_error_ends_the_job") {
        return;
    }
    let sandbox = Sandbox::new();
    // all find the same: rank 0 alone says so
    let errors = fail(&sandbox, 2, &["train", "missing.toml"]);
    assert!(errors.contains("rank 0: error: missing.toml"), "{errors}");
    assert!(!errors.contains("rank 1: error"), "{errors}");
    // one finds another file than the others
    let other =
        "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec \"$@\" --set seed=7; else exec \"$@\"; fi";
    let started =
        |script: &str| fail_by_script(&sandbox, script, &["train", "small.toml", "--out", "run"]);
    let errors = started(other);
    assert!(errors.contains("rank 1: its configuration's fingerprint is"), "{errors}");
    let changed = sandbox.read("data/small/train.tsv").replacen("an open chain", "a chain", 1);
    fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
    crate::sandbox::copy(&sandbox.path("data"), &sandbox.path("elsewhere"));
    sandbox.write("elsewhere/small/train.tsv", &changed);
    let other = other.replacen("--set seed=7", "--data elsewhere", 1);
    let errors = started(&other);
    assert!(errors.contains("rank 1: its fingerprint of the data"), "{errors}");
    assert!(!sandbox.path("run").exists());
    // one alone finds that its data are missing
    fs::remove_file(sandbox.path("elsewhere/small/train.tsv")).unwrap();
    let errors = started(&other);
    assert!(errors.contains("rank 1: error: elsewhere/small/train.tsv"), "{errors}");
    // what is not shared
    for (arguments, expected) in [
        (&["sweep", "small.toml", "--grid", "seed=0,1"][..], "number of processes = 2"),
        (&["predict", "run", "x"][..], "number of processes = 2"),
    ] {
        assert!(fail(&sandbox, 2, arguments).contains(expected), "{arguments:?}");
    }
    sandbox.write("machine.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    let errors = fail(&sandbox, 2, &["train", "machine.toml"]);
    assert!(errors.contains("number of processes = 2: expected 1 for this encoder"), "{errors}");
}

#[test]
fn ranks_fit_the_kernel_machine_of_one_process() {
    if !has_mpirun("ranks_fit_the_kernel_machine_of_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    let solver = "solver = { name = \"sketched\", sketch = { size = 40 } }";
    let machine = CONFIG.replacen(BAG, &format!("{RIDGE}\n{solver}"), 1);
    sandbox.write("machine.toml", &machine);
    let train = ["train", "machine.toml", "--json", "--out"];
    let alone = json(&sandbox.succeed(&[&train[..], &["alone"]].concat()));
    let weights = |run: &str| fs::read(sandbox.path(run).join("ridge.safetensors")).unwrap();
    for ranks in [1, 2, 5] {
        let run = ranks.to_string();
        let printed = json(&succeed(&sandbox, ranks, &[&train[..], &[&run]].concat()));
        assert_eq!(printed["mrr"], alone["mrr"]);
        assert_eq!(weights(&run) == weights("alone"), ranks == 1);
        assert!(candidates(&sandbox, &run) == candidates(&sandbox, "alone"), "{run}");
        // the same number of ranks, the same bits
        succeed(&sandbox, ranks, &[&train[..], &[&format!("again-{run}")]].concat());
        assert!(weights(&format!("again-{run}")) == weights(&run));
        let evaluated = json(&sandbox.succeed(&["evaluate", &run, "--json"]));
        assert_eq!(evaluated["mrr"], printed["mrr"]);
    }
}

#[test]
fn ranks_study_sketches_as_one_process() {
    if !has_mpirun("ranks_study_sketches_as_one_process") {
        return;
    }
    let sandbox = Sandbox::new();
    let study = ["sketch", "small.toml", "--sizes", "5,20", "--draws", "2", "--json"];
    let study = [&study[..], &["--methods", "leverage,gaussian"]].concat();
    let found = |printed: String| {
        let mut found = json(&printed);
        for curve in found["curves"].as_array_mut().unwrap() {
            for point in curve["points"].as_array_mut().unwrap() {
                point.as_object_mut().unwrap().remove("seconds").unwrap();
            }
        }
        found
    };
    let one = found(sandbox.succeed(&study));
    assert!(number(&one["curves"][0]["points"][1], "mean") > 0.0);
    // more ranks than blocks of the 80 outputs
    for ranks in [1, 2, 3] {
        assert_eq!(found(succeed(&sandbox, ranks, &study)), one);
    }
}
