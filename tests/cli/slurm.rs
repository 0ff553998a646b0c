//! A training under a Slurm of one node, which the test starts. Only as root, and where Slurm and munge are installed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{CONFIG, Sandbox, json};

const TRAINING: &str = "--set training.epochs=400 --set training.patience=400";
const LONGEST: Duration = Duration::from_secs(100);

/// A Slurm of one node; it ends with the value.
struct Cluster {
    folder: tempfile::TempDir,
}

impl Cluster {
    /// Starts the node; none where that cannot be done here, which it says.
    fn start(test: &str) -> Option<Self> {
        let programs = ["slurmctld", "slurmd", "munged", "sbatch"];
        let is_there = |name: &&str| {
            let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
            folders.iter().any(|folder| PathBuf::from(folder).join(name).exists())
        };
        if let Some(missing) = programs.iter().find(|name| !is_there(name)) {
            println!("{test} is skipped: there is no {missing} (Debian: slurm-wlm, munge)");
            return None;
        }
        let user = Command::new("id").arg("-u").output().unwrap().stdout;
        if user != b"0\n" {
            println!("{test} is skipped: only root starts a Slurm");
            return None;
        }
        let cluster = Self { folder: tempfile::tempdir().unwrap() };
        let started = cluster.script("start");
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(cluster)
    }

    fn script(&self, task: &str) -> Output {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/slurm/cluster.sh");
        Command::new(script).arg(task).arg(self.folder.path()).output().unwrap()
    }

    /// Standard output of a command of Slurm, which must succeed.
    fn ask(&self, sandbox: &Sandbox, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.run(sandbox, arguments);
        let errors = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{arguments:?}: {errors}");
        String::from_utf8(stdout).unwrap().trim().to_owned()
    }

    /// What a command of Slurm does, which finds the program to train with.
    fn run(&self, sandbox: &Sandbox, arguments: &[&str]) -> Output {
        let dsokr = sandbox.command(&[]);
        let mut command = Command::new(arguments[0]);
        command.args(&arguments[1..]).current_dir(sandbox.path(""));
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command.env("DSOKR", dsokr.get_program()).env("DSOKR_OPTIONS", TRAINING);
        command
            .env("TMPDIR", self.folder.path())
            .env("RAYON_NUM_THREADS", "1")
            .env_remove("DSOKR_DATA")
            .env_remove("DSOKR_LOG");
        command.output().unwrap()
    }

    /// Submits a training with so many ranks; the number of its job.
    fn submit(&self, sandbox: &Sandbox, ranks: usize, run: &str) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/slurm/train.sbatch");
        let ranks = format!("--ntasks={ranks}");
        let log = format!("--output={run}.log");
        let options = ["sbatch", "--parsable", &ranks, "--cpus-per-task=1", &log];
        self.ask(sandbox, &[&options[..], &[script, "config.toml", run]].concat())
    }

    /// Waits until a run is complete, whose job may have gone back to the queue.
    fn finish(&self, sandbox: &Sandbox, job: &str, run: &str) {
        let begun = Instant::now();
        while !sandbox.path(run).join("metrics.json").exists() {
            let ask = ["squeue", "--noheader", "--format=%T", "--states=all", "--jobs", job];
            let state = self.ask(sandbox, &ask);
            if state == "PENDING" {
                // Slurm would let such a job wait for two minutes; the processes that watch the ended step need a few
                // seconds
                std::thread::sleep(Duration::from_secs(10));
                let job = format!("JobId={job}");
                // it may have started by itself
                self.run(sandbox, &["scontrol", "update", &job, "StartTime=now"]);
                std::thread::sleep(Duration::from_secs(4));
            }
            let log = fs::read_to_string(sandbox.path(&format!("{run}.log"))).unwrap_or_default();
            assert!(begun.elapsed() < LONGEST, "job {job} is {state}: {log}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.script("stop");
    }
}

/// Waits until the log of a run has so many lines.
fn wait_for_lines(sandbox: &Sandbox, run: &str, count: usize) {
    let begun = Instant::now();
    let log = sandbox.path(run).join("log.jsonl");
    while fs::read_to_string(&log).unwrap_or_default().lines().count() < count {
        assert!(
            begun.elapsed() < LONGEST,
            "{}",
            fs::read_to_string(sandbox.path(&format!("{run}.log"))).unwrap_or_default()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_training_goes_on_after_signals_lost_nodes_and_with_other_ranks() {
    let Some(cluster) = Cluster::start("slurm") else { return };
    let sandbox = Sandbox::new();
    sandbox.write("config.toml", CONFIG);
    let ranks = if cfg!(feature = "mpi") { 2 } else { 1 };
    let options: Vec<&str> = TRAINING.split(' ').collect();
    let whole = [&["train", "config.toml", "--out", "whole", "--json"], &options[..]].concat();
    let expected = json(&sandbox.succeed(&whole));

    // 1. the signal that Slurm sends before the time is over: the job puts itself back
    let job = cluster.submit(&sandbox, ranks, "run");
    wait_for_lines(&sandbox, "run", 5);
    cluster.ask(&sandbox, &["scancel", "--signal=TERM", &job]);
    let begun = Instant::now();
    let log = || fs::read_to_string(sandbox.path("run.log")).unwrap_or_default();
    while !log().contains("back to the queue") {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
    let log = sandbox.read("run.log");
    // of several ranks it is MPI that ends the job
    let said = if ranks == 1 { "stopped by SIGTERM" } else { "rank 0: error: interrupted at step" };
    assert!(log.contains(said) && log.contains("the state is saved"), "{log}");
    cluster.finish(&sandbox, &job, "run");
    let resumed: Value = serde_json::from_str(&sandbox.read("run/metrics.json")).unwrap();
    if ranks == 1 {
        assert_eq!(resumed["mrr"], expected["mrr"]);
    }
    let epochs = |run: &str| sandbox.read(&format!("{run}/log.jsonl")).lines().count();
    assert_eq!(epochs("run"), epochs("whole"));

    // 2. a node that is lost: Slurm itself puts the job back, and it goes on from the last checkpoint
    let job = cluster.submit(&sandbox, ranks, "lost");
    wait_for_lines(&sandbox, "lost", 5);
    let node = cluster.ask(&sandbox, &["sinfo", "--noheader", "--format=%n"]);
    let node = format!("NodeName={node}");
    cluster.ask(&sandbox, &["scontrol", "update", &node, "State=DOWN", "Reason=lost"]);
    // it may have come back by itself
    cluster.run(&sandbox, &["scontrol", "update", &node, "State=RESUME"]);
    cluster.finish(&sandbox, &job, "lost");
    assert_eq!(epochs("lost"), epochs("whole"));

    // 3. a killed rank ends the job; the next one has another number of ranks
    let job = cluster.submit(&sandbox, ranks, "killed");
    wait_for_lines(&sandbox, "killed", 5);
    cluster.ask(&sandbox, &["scancel", "--signal=KILL", &job]);
    let begun = Instant::now();
    let ask = ["squeue", "--noheader", "--format=%T", "--states=all", "--jobs", &job];
    while matches!(cluster.ask(&sandbox, &ask).as_str(), "RUNNING" | "COMPLETING") {
        assert!(begun.elapsed() < LONGEST);
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(!sandbox.path("killed/metrics.json").exists());
    let job = cluster.submit(&sandbox, 1, "killed");
    cluster.finish(&sandbox, &job, "killed");
    assert_eq!(epochs("killed"), epochs("whole"));
}
