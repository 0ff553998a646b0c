//! A run has one writer, and a folder that is not a run's is left alone.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sandbox::{CONFIG, Sandbox};

const LONG: [&str; 5] = ["train", "small.toml", "--quiet", "--set", "training.epochs=100000"];

#[test]
fn a_second_process_says_who_writes_the_run_and_leaves_it_alone() {
    let sandbox = Sandbox::new();
    let train = [&LONG[..], &["--out", "run"]].concat();
    let mut first = sandbox.command(&train).stdout(Stdio::null()).spawn().unwrap();
    let checkpoint = sandbox.path("run/checkpoint/last.safetensors");
    while !checkpoint.exists() {
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(first.try_wait().unwrap(), None, "the first training ended");
    }
    let holder = format!("process {}", first.id());
    let resume = [&train[..], &["--resume"]].concat();
    for _ in 0..3 {
        sandbox.fail(&resume, 2, &["run: ", &holder, "is writing this run"]);
    }
    assert_eq!(first.try_wait().unwrap(), None, "the first training was stopped");
    // a process that is dead holds nothing, and the run ends as it was asked to
    first.kill().unwrap();
    first.wait().unwrap();
    let mut again = sandbox.command(&resume).stdout(Stdio::null()).spawn().unwrap();
    let log = sandbox.path("run/log.jsonl");
    let before = fs::metadata(&log).unwrap().len();
    while fs::metadata(&log).unwrap().len() <= before {
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(again.try_wait().unwrap(), None, "the resumed training ended");
    }
    again.kill().unwrap();
    again.wait().unwrap();
}

/// The last one to write the tables would leave out the runs of the other.
#[test]
fn a_second_sweep_in_a_folder_says_who_writes_there() {
    let sandbox = Sandbox::new();
    let long = ["sweep", "small.toml", "--quiet", "--set", "training.epochs=100000"];
    let sweep = [&long[..], &["--out", "all", "--grid", "seed=0"]].concat();
    let mut first = sandbox.command(&sweep).stdout(Stdio::null()).spawn().unwrap();
    while !sandbox.path("all/seed=0/checkpoint/last.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(first.try_wait().unwrap(), None, "the first sweep ended");
    }
    let holder = format!("process {}", first.id());
    let says = ["all: ", &holder, "is writing this sweep"];
    sandbox.fail(&["sweep", "small.toml", "--out", "all", "--grid", "seed=1"], 2, &says);
    sandbox.fail(&["cv", "small.toml", "--out", "all", "--folds", "2"], 2, &says);
    assert!(!sandbox.path("all/seed=1").exists());
    // a process that is dead holds nothing
    first.kill().unwrap();
    first.wait().unwrap();
    sandbox.succeed(&["sweep", "small.toml", "--out", "all", "--grid", "seed=1"]);
}

#[test]
fn of_two_new_trainings_of_one_folder_one_wins() {
    let sandbox = Sandbox::new();
    for round in 0..4 {
        let out = format!("run{round}");
        let train = ["train", "small.toml", "--quiet", "--out", &out];
        let spawn = || {
            let mut command = sandbox.command(&train);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = [spawn(), spawn()].map(|child| child.wait_with_output().unwrap());
        let won = both.iter().filter(|output| output.status.success()).count();
        let errors = both.map(|output| String::from_utf8(output.stderr).unwrap()).concat();
        assert_eq!(won, 1, "{errors}");
        assert!(errors.contains("is writing this run") || errors.contains("exists"), "{errors}");
        sandbox.succeed(&["evaluate", &out]);
    }
    let names = fs::read_dir(sandbox.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let hidden: Vec<_> = names.filter(|name| name.as_encoded_bytes().starts_with(b".")).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

#[test]
fn a_folder_beside_the_run_that_is_no_run_is_not_deleted() {
    let sandbox = Sandbox::new();
    for name in [".run.partial", ".run.notes.partial", ".other.a1B2c3.partial"] {
        fs::create_dir(sandbox.path(name)).unwrap();
        sandbox.write(&format!("{name}/notes.txt"), "kept");
    }
    // of a process that was killed while it made this run
    fs::create_dir(sandbox.path(".run.a1B2c3.partial")).unwrap();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    for name in [".run.partial", ".run.notes.partial", ".other.a1B2c3.partial"] {
        assert_eq!(sandbox.read(&format!("{name}/notes.txt")), "kept");
    }
    assert!(!sandbox.path(".run.a1B2c3.partial").exists());
}

/// The system refuses every byte of a file.
#[test]
fn an_ensemble_that_could_not_write_its_configuration_is_started_again() {
    let sandbox = Sandbox::new();
    sandbox.write("votes.toml", &format!("{CONFIG}\n[ensemble]\nseeds = 2\n"));
    let binary = env!("CARGO_BIN_EXE_dsokr");
    let script = format!("ulimit -f 0; exec {binary} train votes.toml --quiet --out run");
    let mut refused = Command::new("bash");
    let refused = refused.args(["-c", &script]).current_dir(sandbox.path(".")).output().unwrap();
    let errors = String::from_utf8_lossy(&refused.stderr);
    // a process that a signal has ended has no code
    assert!(refused.status.code().is_some_and(|code| code > 0), "{errors}");
    assert!(errors.contains("error: "), "{errors}");
    assert!(!sandbox.path("run").exists());
    // of a process that was killed while it made this run
    fs::create_dir(sandbox.path(".run.a1B2c3.partial")).unwrap();
    sandbox.succeed(&["train", "votes.toml", "--quiet", "--out", "run", "--resume"]);
    sandbox.succeed(&["evaluate", "run"]);
}

/// Without `--out`, two trainings take two places, however long they prepare.
#[test]
fn two_new_trainings_without_a_folder_take_two() {
    let sandbox = Sandbox::new();
    let train = ["train", "small.toml", "--quiet"];
    let spawn = || sandbox.command(&train).stdout(Stdio::null()).spawn().unwrap();
    let both = [spawn(), spawn(), spawn()].map(|mut child| child.wait().unwrap());
    assert!(both.iter().all(|status| status.success()), "{both:?}");
    for run in ["runs/small", "runs/small-2", "runs/small-3"] {
        sandbox.succeed(&["evaluate", run]);
    }
    let names = fs::read_dir(sandbox.path("runs")).unwrap();
    assert_eq!(names.count(), 3);
    // nothing stays of a place that nothing is written to
    let sandbox = Sandbox::new();
    fs::remove_file(sandbox.path("data/small/test.tsv")).unwrap();
    sandbox.fail(&train, 2, &["test.tsv"]);
    assert!(!sandbox.path("runs").exists());
}

/// A folder in the place of the lock stands for a file system without locks.
#[test]
fn a_run_that_cannot_be_locked_says_so_once() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path(".run.lock")).unwrap();
    let output = sandbox.run(&["train", "small.toml", "--out", "run", "--quiet"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors.matches("run cannot be locked").count(), 1, "{errors}");
}

/// The temporary name beside it would be too long, which the end of the work should not be the first to find.
#[test]
fn a_place_that_cannot_be_written_is_refused_before_the_work() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let long = "x".repeat(240);
    for command in [
        &["train", "small.toml", "--out", &long][..],
        &["evaluate", "run", "--report", &long],
        &["sweep", "small.toml", "--grid", "seed=1", "--out", &long],
    ] {
        let output = sandbox.run(command);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains("too long"), "{errors}");
        assert!(!errors.contains("data loaded") && errors.lines().count() == 1, "{errors}");
    }
}

#[test]
fn a_run_that_is_trained_now_says_by_whom() {
    let sandbox = Sandbox::new();
    let members =
        "[[ensemble.members]]\nname = \"a\"\n[[ensemble.members]]\nname = \"b\"\nseed = 1\n";
    sandbox.write("votes.toml", &format!("{CONFIG}\n[ensemble]\n{members}"));
    for (config, last) in [("small.toml", "run"), ("votes.toml", "run/members/a")] {
        let train = ["train", config, "--out", "run", "--set", "training.epochs=100000"];
        let mut training = sandbox.command(&train).stderr(Stdio::null()).spawn().unwrap();
        let checkpoint = sandbox.path(last).join("checkpoint/last.safetensors");
        while !checkpoint.exists() {
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(training.try_wait().unwrap(), None, "the training ended");
        }
        let stop = ["-STOP", &training.id().to_string()];
        assert!(Command::new("kill").args(stop).status().unwrap().success());
        // as before the first evaluation
        let _ = fs::remove_file(sandbox.path(last).join("encoder.safetensors"));
        let says =
            format!("process {} is training it; its first evaluation is still", training.id());
        sandbox.fail(&["search", "run", "a ring"], 2, &["run: ", &says]);
        sandbox.fail(&["evaluate", last], 2, &[last, &says]);
        training.kill().unwrap();
        training.wait().unwrap();
        sandbox.fail(&["search", "run", "a ring"], 2, &["--resume"]);
        fs::remove_dir_all(sandbox.path("run")).unwrap();
    }
}
