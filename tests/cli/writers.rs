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
