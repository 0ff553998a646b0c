//! What the command says and leaves when a signal ends it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{CONFIG, Sandbox, ignores_hangups};

/// Signals that end the command, by the names of `kill` and of messages.
const SIGNALS: [(&str, &str, i32); 3] =
    [("-INT", "SIGINT", 2), ("-TERM", "SIGTERM", 15), ("-HUP", "SIGHUP", 1)];

/// Data and a machine whose fit takes seconds.
const MACHINE: &str = r#"
[data]
source = "synthetic"
train = 4000
validation = 50
test = 50
inputs = 30
outputs = 20
input_decay = 0.5
map = { kind = "low-rank", rank = 5 }
noise = { variance = 0.01 }

[output]
kernel = { name = "linear" }

[sketch]
size = 10

[encoder]
kind = "kernel-machine"
lambda = 1e-4
kernel = { name = "gaussian", gamma = 0.1 }

[evaluation]
metric = "squared_error"
"#;

/// Starts a command whose standard error is read.
fn start(sandbox: &Sandbox, arguments: &[&str]) -> Child {
    let mut command = sandbox.command(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends a signal and returns how the command has ended, and what was said on standard error from then on.
fn send(mut child: Child, mut errors: impl Read, signal: &str) -> (ExitStatus, String) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let mut text = String::new();
    errors.read_to_string(&mut text).unwrap();
    (child.wait().unwrap(), text)
}

/// Sends a signal that the command handles, and returns the exit code, and what was said on standard error from then on.
fn end(child: Child, errors: impl Read, signal: &str) -> (Option<i32>, String) {
    let (status, text) = send(child, errors, signal);
    assert_eq!(status.signal(), None, "{signal}: {text}");
    (status.code(), text)
}

/// Starts a command, sends a signal once a line of standard error has `line`, and returns exit code and what was said.
fn end_at(
    sandbox: &Sandbox,
    arguments: &[&str],
    line: &str,
    signal: &str,
) -> (Option<i32>, String) {
    end_at_lines(sandbox, arguments, (1, line), signal)
}

/// Does what [`end_at`] does once so many lines of standard error have `line`.
fn end_at_lines(
    sandbox: &Sandbox,
    arguments: &[&str],
    (lines, line): (usize, &str),
    signal: &str,
) -> (Option<i32>, String) {
    let mut child = start(sandbox, arguments);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while said.matches(line).count() < lines {
        let read = errors.read_line(&mut said).unwrap();
        assert!(read > 0, "{arguments:?} ended before {line:?}: {said}");
    }
    end(child, errors, signal)
}

/// What a folder has beside `known`.
fn left(sandbox: &Sandbox, known: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.path(".")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !known.contains(&name.as_str())).collect()
}

#[test]
fn a_signal_before_the_first_step_says_what_is_saved() {
    let sandbox = Sandbox::new();
    sandbox.write("machine.toml", MACHINE);
    // the eigenvectors of a large sketch come before the first step of a network, and λ is found before the fit
    let network =
        MACHINE.replace("size = 10", "size = 2500").replace("outputs = 20", "outputs = 2500");
    let at = network.find("[encoder]").unwrap();
    sandbox.write(
        "network.toml",
        &format!(
            "{}[encoder]\nkind = \"mlp\"\n\n[evaluation]\nmetric = \"squared_error\"\n",
            &network[..at]
        ),
    );
    let nothing = "nothing was saved; the same command starts again";
    // a machine has a run directory before its fit
    let kept = "run is kept as far as it came; the same command with --out run --resume goes on";
    let cases = [
        ("network.toml", "new/folder/run", "data loaded", nothing),
        ("machine.toml", "run", "solving for", kept),
    ];
    for (config, out, line, says) in cases {
        for (signal, name, number) in SIGNALS {
            if signal == "-HUP" && ignores_hangups() {
                println!("SIGHUP is not tested: this process ignores it, as under nohup");
                continue;
            }
            let (code, errors) = end_at(&sandbox, &["train", config, "--out", out], line, signal);
            assert_eq!(code, Some(128 + number), "{config} {signal}: {errors}");
            let expected = format!("stopped by {name}: {says}");
            assert!(errors.contains(&expected), "{config} {signal}: {errors}");
            let mut known = vec!["data", "small.toml", "machine.toml", "network.toml"];
            if says == kept {
                known.push("run");
                sandbox.succeed(&["train", config, "--out", "run", "--resume", "--quiet"]);
                std::fs::remove_dir_all(sandbox.path("run")).unwrap();
            }
            assert_eq!(left(&sandbox, &known), [""; 0], "{config} {signal}");
        }
    }
}

#[test]
fn a_resumed_run_that_a_signal_ends_says_how_it_goes_on() {
    let sandbox = Sandbox::new();
    let train = ["train", "small.toml", "--out", "run", "--set", "training.epochs=4000"];
    let (code, errors) = end_at(&sandbox, &train, "training", "-TERM");
    assert_eq!(code, Some(143), "{errors}");
    assert!(errors.contains("stopped by SIGTERM: interrupted at step"), "{errors}");
    let goes_on =
        "; run is kept as far as it came; the same command with --out run --resume goes on";
    assert!(errors.contains(goes_on), "{errors}");
    let resume = [&train[..], &["--resume"]].concat();
    let (code, errors) = end_at(&sandbox, &resume, "training", "-INT");
    assert_eq!(code, Some(130), "{errors}");
    assert!(
        errors.contains("; run is kept as far as it came; the same command goes on"),
        "{errors}"
    );
    // a shell reads a path with blanks as one argument
    let train = ["train", "small.toml", "--out", "a b", "--set", "training.epochs=4000"];
    let (_, errors) = end_at(&sandbox, &train, "training", "-TERM");
    assert!(errors.contains("--out 'a b' --resume goes on"), "{errors}");
    // the state is kept by the first of two signals
    let mut child = start(&sandbox, &resume);
    let errors = child.stderr.take().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let (status, errors) = send(child, errors, "-INT");
    // the handler may not be there yet after 20 ms
    if status.signal().is_none() {
        assert_eq!(status.code(), Some(130), "{errors}");
        assert!(errors.contains("stopped by SIGINT: "), "{errors}");
    }
    // thousands of checkpoints would take minutes
    let rest = ["--set", "training.checkpoint_seconds=60", "--quiet"];
    sandbox.succeed(&[&resume[..], &rest].concat());
}

#[test]
fn a_sweep_that_a_signal_ends_goes_on_with_the_same_command() {
    let sandbox = Sandbox::new();
    sandbox.write("machine.toml", MACHINE);
    let sweep = ["sweep", "machine.toml", "--out", "all", "--grid", "encoder.lambda=1e-3,1e-2"];
    let (code, errors) = end_at(&sandbox, &sweep, "setting 2 of 2", "-TERM");
    assert_eq!(code, Some(143), "{errors}");
    let expected =
        "stopped by SIGTERM: all is kept with the runs that are complete; the same command goes on";
    assert!(errors.contains(expected), "{errors}");
    let complete = |name: &str| sandbox.path("all").join(name).join("metrics.json").exists();
    let first = std::fs::read_dir(sandbox.path("all")).unwrap();
    let names: Vec<String> =
        first.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| complete(name)).count(), 1, "{names:?}");
    assert!(names.iter().all(|name| !name.ends_with(".partial")), "{names:?}");
    sandbox.succeed(&sweep);
}

/// These commands have no `--resume`.
#[test]
fn a_sweep_of_networks_that_a_signal_ends_goes_on_with_the_same_command() {
    let sandbox = Sandbox::new();
    for command in [&["sweep", "small.toml", "--grid", "seed=1,2"][..], &["cv", "small.toml"]] {
        let all = [command, &["--out", "all", "--set", "training.epochs=4000"]].concat();
        let (code, errors) = end_at(&sandbox, &all, "training", "-TERM");
        assert_eq!(code, Some(143), "{errors}");
        assert!(errors.contains("stopped by SIGTERM: interrupted at step"), "{errors}");
        let goes_on = "; all is kept with the runs that are complete; the same command goes on";
        assert!(errors.contains(goes_on) && !errors.contains("--resume"), "{errors}");
        std::fs::remove_dir_all(sandbox.path("all")).unwrap();
    }
}

#[test]
fn an_ensemble_that_a_signal_ends_names_the_member_whose_steps_it_tells() {
    let sandbox = Sandbox::new();
    for parallel in [1, 2] {
        let ensemble = format!("[ensemble]\nseeds = 2\nparallel = {parallel}\n");
        sandbox.write("votes.toml", &format!("{CONFIG}\n{ensemble}"));
        let out = format!("run-{parallel}");
        let train = ["train", "votes.toml", "--out", &out, "--set", "training.epochs=4000"];
        // each member has made a step
        let lines = (parallel, "of training, evaluations not counted");
        let (code, errors) = end_at_lines(&sandbox, &train, lines, "-TERM");
        assert_eq!(code, Some(143), "{errors}");
        assert!(errors.contains("stopped by SIGTERM: member member-"), "{errors}");
        assert!(errors.contains(": interrupted at step "), "{errors}");
        assert!(errors.contains(&format!("; {out} is kept as far as it came; ")), "{errors}");
    }
}

/// A kill leaves the locks of members beside them.
#[test]
fn a_sweep_of_an_ensemble_goes_on_beside_the_locks_of_members() {
    let sandbox = Sandbox::new();
    sandbox.write("votes.toml", &format!("{CONFIG}\n[ensemble]\nseeds = 2\n"));
    let sweep = ["sweep", "votes.toml", "--out", "all", "--grid", "sketch.size=5,10"];
    sandbox.succeed(&sweep);
    let table = sandbox.read("all/sweep.csv");
    std::fs::remove_file(sandbox.path("all/sketch.size=10/metrics.json")).unwrap();
    sandbox.write("all/sketch.size=10/members/.seed-1.lock", "process 1\n");
    sandbox.succeed(&sweep);
    assert_eq!(sandbox.read("all/sweep.csv"), table);
}

#[test]
fn an_embedding_that_a_signal_ends_leaves_the_file_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run"]);
    let line = "a ring of kind HEX and class ANE, an open chain of kind METH and class ENE\n";
    sandbox.write("texts.txt", &line.repeat(400_000));
    for before in [None, Some("coordinates of before")] {
        before.into_iter().for_each(|text| sandbox.write("z.npy", text));
        let mut child = start(&sandbox, &["embed", "run", "texts.txt", "--out", "z.npy"]);
        let errors = child.stderr.take().unwrap();
        // an empty one is only to find out whether the place can be written
        let is_begun = |entry: &std::fs::DirEntry| {
            let is_partial = entry.file_name().to_string_lossy().ends_with(".partial");
            is_partial && entry.metadata().is_ok_and(|facts| facts.len() > 0)
        };
        let partial = || {
            let entries = std::fs::read_dir(sandbox.path(".")).unwrap();
            entries.flatten().any(|entry| is_begun(&entry))
        };
        let begun = Instant::now();
        while !partial() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (code, errors) = end(child, errors, "-TERM");
        assert_eq!(code, Some(143), "{errors}");
        let expected = "stopped by SIGTERM: z.npy is as it was; the same command starts again";
        assert!(errors.contains(expected), "{errors}");
        let known = ["data", "small.toml", "run", ".run.lock", "texts.txt", "z.npy"];
        assert_eq!(left(&sandbox, &known), [""; 0]);
        let after = std::fs::read_to_string(sandbox.path("z.npy")).ok();
        assert_eq!(after.as_deref(), before);
    }
}
