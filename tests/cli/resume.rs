use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use safetensors::SafeTensors;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json};

/// Parameters and other tensors of a file by name, the optimiser's left out: it lists its tensors in
/// no particular order.
fn tensors(path: &Path) -> Vec<(String, Vec<u8>)> {
    parsed(&fs::read(path).unwrap())
}

/// The [`tensors`] of the bytes of a file.
fn parsed(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let mut all: Vec<(String, Vec<u8>)> = file
        .tensors()
        .into_iter()
        .filter(|(name, _)| name != "optimizer")
        .map(|(name, view)| (name, view.data().to_vec()))
        .collect();
    all.sort();
    all
}

const FILES: [&str; 2] = ["encoder.safetensors", "checkpoint/last.safetensors"];

pub fn assert_same(sandbox: &Sandbox, a: &str, b: &str) {
    for file in FILES {
        let path = |run: &str| sandbox.path(run).join(file);
        assert!(tensors(&path(a)) == tensors(&path(b)), "{file} differs between {a} and {b}");
    }
    let metrics = |run: &str| {
        let text = sandbox.read(&format!("{run}/metrics.json"));
        let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(record.as_object_mut().unwrap().remove("date").is_some(), "{text}");
        record
    };
    assert_eq!(metrics(a), metrics(b));
    let steps = |run: &str| -> Vec<(u64, f64)> {
        let log = sandbox.read(&format!("{run}/log.jsonl"));
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        log.lines()
            .map(line)
            .map(|l| (l["step"].as_u64().unwrap(), l["loss"].as_f64().unwrap()))
            .collect()
    };
    assert_eq!(steps(a), steps(b));
}

/// Kills the real binary with SIGKILL at many moments of its life, some of them while it writes
/// checkpoints (it writes one an epoch here), and resumes until it ends.
#[test]
fn a_killed_run_ends_with_the_same_parameters_as_one_that_was_never_killed() {
    let sandbox = Sandbox::new();
    let common = ["train", "small.toml", "--quiet", "--set", "training.epochs=40", "--out"];
    let train = |out: &'static str| [&common[..], &[out]].concat();
    let begun = Instant::now();
    sandbox.succeed(&train("whole"));
    let life = begun.elapsed();

    let mut kills = 0;
    let mut midway = 0;
    for attempt in 0..60u32 {
        let mut arguments = train("killed");
        arguments.push("--resume");
        let mut child = sandbox.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
        // moments spread over the life of a run by the golden ratio
        let share = (f64::from(attempt + 1) * 0.618_034).fract();
        let deadline = Instant::now() + life.mul_f64(0.15 + 0.5 * share);
        // the first time as soon as there is a checkpoint, however fast the machine is just now
        let checkpoint = sandbox.path("killed").join(FILES[1]);
        let due = || if attempt == 0 { checkpoint.exists() } else { Instant::now() >= deadline };
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success());
                break true;
            }
            if due() {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                midway += usize::from(checkpoint.exists());
                break false;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        if ended {
            break;
        }
    }
    assert!(kills > 0 && midway > 0, "{kills} kills, {midway} of them after a checkpoint");
    let mut last = train("killed");
    last.push("--resume");
    sandbox.succeed(&last);
    assert_same(&sandbox, "whole", "killed");
}

#[cfg(unix)]
#[test]
fn signals_save_the_state_and_resuming_ends_with_the_same_parameters() {
    // under nohup a training goes on, which this test's process would pass on
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let mut signals = vec![("-INT", "interrupted"), ("-TERM", "terminated")];
    match ignored & 1 {
        0 => signals.push(("-HUP", "hung-up")),
        _ => println!("SIGHUP is not tested: this process ignores it, as under nohup"),
    }
    assert_resumed(&Sandbox::new(), &["--set", "training.epochs=300"], &signals);
}

/// A transformer whose products are of bfloat16 numbers. Without the processor's instructions for them it
/// is warned of once.
#[cfg(unix)]
#[test]
fn bfloat16_products_are_resumed_bit_for_bit() {
    let sandbox = Sandbox::new();
    let config = CONFIG
        .replace("kind = \"ngram-bag\"\nhidden = [16]\n", "kind = \"transformer\"\n")
        .replace("ngrams = [{ kind = \"words\", min = 1, max = 1 }]", NARROW);
    sandbox.write("small.toml", &config);
    assert_resumed(&sandbox, &["--set", "training.epochs=12"], &[("-INT", "interrupted")]);

    let train = ["train", "small.toml", "--set", "training.epochs=2", "--out"];
    let output = sandbox.run(&[&train[..], &["narrow"]].concat());
    let warnings = String::from_utf8_lossy(&output.stderr).matches("is emulated").count();
    let native = std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|i| i.contains("avx512_bf16"));
    assert_eq!(warnings, usize::from(!native));
    let loss = |out: &str| {
        let log = sandbox.read(&format!("{out}/log.jsonl"));
        let last = json(log.lines().last().unwrap());
        last["loss"].as_f64().unwrap()
    };
    sandbox.succeed(&[&train[..], &["full", "--set", "encoder.precision=\"f32\""]].concat());
    let narrow = loss("narrow");
    let full = loss("full");
    assert!(narrow != full && (narrow - full).abs() < 0.02 * full, "{narrow} {full}");
}

#[cfg(unix)]
const NARROW: &str = "\
precision = \"bf16\"
layers = 2
width = 24
heads = 3
feed_forward = 40
max_length = 16
tokens = { vocabulary = 60 }";

/// Trains a whole run and one for each signal, which interrupts it, and resumes these.
#[cfg(unix)]
pub fn assert_resumed(sandbox: &Sandbox, set: &[&str], signals: &[(&str, &'static str)]) {
    let changes = [&["--quiet", "--set", "training.checkpoint_seconds=3600"], set].concat();
    let train = |out| [&["train", "small.toml", "--out", out][..], &changes].concat();
    sandbox.succeed(&train("whole"));
    for &(signal, out) in signals {
        let child = sandbox
            .command(&train(out))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // the log's first line says that training is under way
        let log = sandbox.path(out).join("log.jsonl");
        while fs::metadata(&log).map_or(0, |m| m.len()) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kill =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let code = match signal {
            "-HUP" => 129,
            "-INT" => 130,
            _ => 143,
        };
        assert_eq!(output.status.code(), Some(code), "{signal}: {errors}");
        assert!(errors.contains("interrupted at step") && errors.contains("--resume"), "{errors}");
        let mut resume = train(out);
        resume.push("--resume");
        sandbox.succeed(&resume);
        assert_same(sandbox, "whole", out);
    }
}

/// Reading the log stops after its first line: training goes on, and its result is printed.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_or_full_log_does_not_end_a_training() {
    let sandbox = Sandbox::new();
    let arguments = |out| ["train", "small.toml", "--json", "--out", out];
    let mut child = sandbox
        .command(&arguments("unread"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let unread = json(std::str::from_utf8(&output.stdout).unwrap());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&arguments("full")).stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(unread, json(std::str::from_utf8(&output.stdout).unwrap()));
    // an error keeps its exit code where nobody reads its message
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&["train", "absent.toml"]).stderr(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_loss_that_is_not_finite_stops_with_a_message_and_keeps_the_last_checkpoint() {
    let sandbox = Sandbox::new();
    let wild = [
        "train",
        "small.toml",
        "--quiet",
        "--out",
        "wild",
        "--set",
        "training.optimizer=sgd",
        "--set",
        "training.weight_decay=0",
        "--set",
        "training.learning_rate=50.0",
        "--set",
        "training.clip=0",
        "--set",
        "training.warmup=800",
        "--set",
        "training.epochs=20",
    ];
    sandbox.fail(&wild, 1, &["is not finite", "step", "learning_rate", "is kept"]);
    assert!(!sandbox.path("wild/metrics.json").exists());
    // what is kept can be read: resuming fails in the same way, not on a broken file
    let mut again = wild.to_vec();
    again.push("--resume");
    sandbox.fail(&again, 1, &["is not finite"]);
    assert!(sandbox.path("wild").join(FILES[1]).exists());
    sandbox.succeed(&["search", "wild", "a ring"]);
}

/// A server that has read the run looks at names, sizes and dates of its files.
#[test]
fn resuming_a_complete_run_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("votes.toml", &format!("{CONFIG}\n[ensemble]\nseeds = 2\n"));
    for config in ["small.toml", "votes.toml"] {
        let train = ["train", config, "--quiet", "--out", "run"];
        let _ = fs::remove_dir_all(sandbox.path("run"));
        sandbox.succeed(&train);
        let written = || {
            let folders =
                ["run".into(), "run/members/seed-0".to_string(), "run/members/seed-1".into()];
            let entries =
                folders.iter().filter_map(|folder| fs::read_dir(sandbox.path(folder)).ok());
            let date =
                |entry: fs::DirEntry| (entry.path(), entry.metadata().unwrap().modified().unwrap());
            entries.flatten().map(|entry| date(entry.unwrap())).collect::<Vec<_>>()
        };
        let before = written();
        std::thread::sleep(std::time::Duration::from_millis(20));
        sandbox.succeed(&[&train[..], &["--resume"]].concat());
        let mut after = written();
        // the locks of members are beside them
        let changed = |(path, date): &(std::path::PathBuf, std::time::SystemTime)| {
            path.is_file() && !before.contains(&(path.clone(), *date))
        };
        after.retain(changed);
        assert!(after.is_empty(), "{config}: {after:?}");
    }
}

#[test]
fn a_complete_run_is_not_trained_again_and_a_changed_configuration_is_refused() {
    let sandbox = Sandbox::new();
    let first = sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run", "--json"]);
    // what a crash may leave between the last two files
    sandbox.write("run/.fingerprints.safetensors.a1B2c3.partial", "half of it");
    let again =
        sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run", "--resume", "--json"]);
    assert_eq!(first, again);
    assert!(!sandbox.path("run/.fingerprints.safetensors.a1B2c3.partial").exists());
    sandbox.fail(&["train", "small.toml", "--out", "run"], 2, &["run exists", "--resume"]);
    let changed = ["train", "small.toml", "--out", "run", "--resume", "--set", "sketch.size=10"];
    sandbox.fail(&changed, 2, &["sketch.size", "20", "10"]);
}

#[test]
fn the_number_of_threads_does_not_change_the_parameters() {
    let sandbox = Sandbox::new();
    for (threads, out) in [("1", "one"), ("3", "three")] {
        let mut command = sandbox.command(&["train", "small.toml", "--quiet", "--out", out]);
        assert!(command.env("RAYON_NUM_THREADS", threads).output().unwrap().status.success());
    }
    assert_same(&sandbox, "one", "three");
}

#[test]
fn the_best_evaluation_is_kept_and_training_stops_early() {
    let sandbox = Sandbox::new();
    let mut arguments = vec!["train", "small.toml", "--quiet", "--out", "run", "--json"];
    let changes = [
        "training.epochs=200",
        "training.patience=3",
        "training.evaluate_every=2",
        "evaluation.metric=mean_rank",
        "evaluation.split=validation",
    ];
    arguments.extend(changes.iter().flat_map(|change| ["--set", change]));
    let report: serde_json::Value = serde_json::from_str(&sandbox.succeed(&arguments)).unwrap();
    let log: Vec<serde_json::Value> =
        sandbox.read("run/log.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let rank = |line: &serde_json::Value| line["metrics"]["mean_rank"].as_f64().unwrap();
    let best = log.iter().map(rank).fold(f64::INFINITY, f64::min);
    let first_best = log.iter().position(|line| rank(line) == best).unwrap();
    assert!(log.len() < 100, "no early stop in {} evaluations", log.len());
    assert_eq!(log.len(), first_best + 4, "three evaluations without improvement");
    assert!(log.iter().all(|line| line["epoch"].as_u64().unwrap() % 2 == 0));
    assert_eq!(report["mean_rank"].as_f64().unwrap(), best, "not the best model was evaluated");
}

#[test]
fn evaluations_may_follow_steps() {
    let sandbox = Sandbox::new();
    let train = |out: &str, changes: &[&str]| {
        let mut arguments = vec!["train", "small.toml", "--quiet", "--out", out];
        arguments.extend(changes.iter().flat_map(|change| ["--set", change]));
        sandbox.succeed(&arguments);
        let log = sandbox.read(&format!("{out}/log.jsonl"));
        log.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect::<Vec<serde_json::Value>>()
    };
    let by_epochs = train("epochs", &["training.epochs=3"]);
    let per_epoch = by_epochs[0]["step"].as_u64().unwrap();
    let all = 3 * per_epoch;
    assert!(per_epoch > 3 && all % 5 != 0, "{per_epoch} steps an epoch");
    let by_steps = train("steps", &["training.epochs=3", "training.evaluate_every={steps=5}"]);
    let steps: Vec<u64> = by_steps.iter().map(|line| line["step"].as_u64().unwrap()).collect();
    let expected: Vec<u64> = (1..=all).filter(|step| step % 5 == 0 || *step == all).collect();
    assert_eq!(steps, expected);
    for line in &by_steps {
        let epoch = line["step"].as_f64().unwrap() / per_epoch as f64;
        assert_eq!(line["epoch"].as_f64().unwrap(), epoch);
    }
    // more epochs than there are leave the evaluation of the last step
    let rare = ["training.evaluate_every=5", "training.checkpoint_every=5"];
    let once = train("once", &[&["training.epochs=3"], &rare[..]].concat());
    assert_eq!((once.len(), once[0]["step"].as_u64()), (1, Some(all)));
    let refused = ["train", "small.toml", "--set", "training.evaluate_every=0"];
    sandbox.fail(&refused, 2, &["training.evaluate_every = 0", "at least 1"]);
    // an evaluation changes nothing in the steps
    assert_eq!(by_steps.last().unwrap()["metrics"], by_epochs.last().unwrap()["metrics"]);
    let refused = ["train", "small.toml", "--set", "training.evaluate_every={steps=0}"];
    sandbox.fail(&refused, 2, &["training.evaluate_every.steps = 0", "at least 1"]);
    let refused = ["train", "small.toml", "--set", "training.evaluate_every={batches=2}"];
    sandbox.fail(&refused, 2, &["a number of epochs, or { steps = NUMBER }"]);
}

/// The steps of the checkpoints that are kept beside the last one.
fn kept(sandbox: &Sandbox, run: &str) -> Vec<u64> {
    let folder = std::fs::read_dir(sandbox.path(&format!("{run}/checkpoint"))).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let steps = names.filter_map(|name| {
        name.strip_prefix("step-")?.strip_suffix(".safetensors")?.parse::<u64>().ok()
    });
    let mut steps: Vec<u64> = steps.collect();
    steps.sort_unstable();
    steps
}

#[test]
fn the_last_checkpoints_are_kept_and_a_training_goes_on_from_one_of_them() {
    let sandbox = Sandbox::new();
    let settings = [
        "training.epochs=4",
        "training.optimizer=adamw",
        "training.ema=0.9",
        "training.decay=plateau",
        "training.plateau_patience=0",
        "training.evaluate_every={steps=4}",
        "training.checkpoint_every={steps=5}",
        "training.checkpoint_seconds=3600",
        "training.checkpoints=3",
    ];
    let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let train = |out: &str, more: &[&str]| {
        sandbox
            .succeed(&[&["train", "small.toml", "--quiet", "--out", out], &sets[..], more].concat())
    };
    train("whole", &[]);
    // the first evaluation is kept at step 4, then every fifth step and the last
    let last = kept(&sandbox, "whole");
    assert_eq!(last, [25, 30, 32]);
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "plain"]);
    assert!(kept(&sandbox, "plain").is_empty());

    copy(&sandbox.path("whole"), &sandbox.path("other"));
    let files = sandbox.path("other/checkpoint");
    std::fs::rename(files.join("step-25.safetensors"), files.join("last.safetensors")).unwrap();
    std::fs::remove_file(sandbox.path("other/metrics.json")).unwrap();
    train("other", &["--resume"]);
    assert_same(&sandbox, "whole", "other");
    assert_eq!(kept(&sandbox, "other"), [30, 32]);

    // a kill may come after the file of a step and before the last state, or before the first one is removed
    let whole = fs::read(sandbox.path("whole/checkpoint/step-32.safetensors")).unwrap();
    for (name, step) in [("early", 30), ("late", 32)] {
        copy(&sandbox.path("whole"), &sandbox.path(name));
        let file = |step: u64| sandbox.path(&format!("{name}/checkpoint/step-{step}.safetensors"));
        fs::copy(file(step), sandbox.path(name).join(FILES[1])).unwrap();
        fs::copy(file(25), file(20)).unwrap();
        fs::remove_file(sandbox.path(name).join("metrics.json")).unwrap();
        train(name, &["--resume"]);
        assert_same(&sandbox, "whole", name);
        assert_eq!(kept(&sandbox, name), last);
        assert!(parsed(&whole) == tensors(&file(32)));
    }
}

/// The state of an interruption is none of the checkpoints that are asked for.
#[cfg(unix)]
#[test]
fn an_interruption_takes_no_checkpoint_away() {
    let sandbox = Sandbox::new();
    let settings = [
        "training.epochs=20000",
        "training.evaluate_every=1000",
        "training.checkpoint_every={steps=1009}",
        "training.checkpoint_seconds=3600",
        "training.checkpoints=3",
    ];
    let sets = settings.iter().flat_map(|setting| ["--set", setting]);
    let train: Vec<&str> =
        ["train", "small.toml", "--quiet", "--out", "run"].into_iter().chain(sets).collect();
    let mut child = sandbox.command(&train).stdout(Stdio::null()).spawn().unwrap();
    let folder = sandbox.path("run/checkpoint");
    while !folder.exists() || kept(&sandbox, "run").is_empty() {
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(child.try_wait().unwrap(), None, "the training ended");
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let kept = kept(&sandbox, "run");
    // beside the first evaluation
    assert!(kept.iter().all(|step| step % 1009 == 0 || *step == 8000), "{kept:?}");
    assert!(sandbox.path("run").join(FILES[1]).exists());
}

/// A checkpoint is a file of its own, and a best evaluation after it is that of a training which is given up.
#[test]
fn a_training_with_other_settings_goes_on_from_an_earlier_checkpoint() {
    let sandbox = Sandbox::new();
    let settings = [
        "training.epochs=4",
        "training.evaluate_every={steps=4}",
        "training.checkpoint_every={steps=5}",
        "training.checkpoint_seconds=3600",
        "training.checkpoints=3",
    ];
    let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let common = [&["train", "small.toml", "--out", "run"], &sets[..]].concat();
    sandbox.succeed(&common);
    let files = sandbox.path("run/checkpoint");
    let before = fs::read(files.join("step-32.safetensors")).unwrap();
    fs::copy(files.join("step-25.safetensors"), files.join("last.safetensors")).unwrap();
    assert_eq!(fs::read(files.join("step-32.safetensors")).unwrap(), before);
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    let best_evaluations = || -> Vec<serde_json::Value> {
        let log = sandbox.read("run/log.jsonl");
        log.lines().map(json).filter(|line| line["best"] == true).collect()
    };
    let is_later = |line: &serde_json::Value| line["step"].as_u64().unwrap() > 25;
    assert!(best_evaluations().last().is_some_and(is_later), "the best evaluation is a later one");

    let other = ["--resume", "--set", "training.learning_rate=1e-4"];
    let output = sandbox.command(&[&common[..], &other].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("of a later step than the checkpoint"),
        "{said}"
    );
    let best = best_evaluations();
    let evaluated = sandbox.succeed(&["evaluate", "run", "--split", "validation", "--json"]);
    let evaluated: serde_json::Value = serde_json::from_str(&evaluated).unwrap();
    assert!(best.iter().any(is_later), "{best:?}");
    assert_eq!(evaluated["mrr"], best.last().unwrap()["metrics"]["mrr"]);
}

/// A kill may leave a better evaluation in the log than those before the checkpoint, whose parameters were not written.
#[test]
fn a_training_with_other_settings_keeps_the_best_evaluation_before_its_checkpoint() {
    let sandbox = Sandbox::new();
    let settings = ["training.evaluate_every={steps=4}", "training.checkpoint_seconds=3600"];
    let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let train = |more: &[&str]| {
        let common = ["train", "small.toml", "--out", "run"];
        let output = sandbox.run(&[&common[..], &sets[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let has_later_best = || {
        let log = sandbox.read("run/log.jsonl");
        let mut best = log.lines().map(json).filter(|line| line["best"] == true);
        best.any(|line| line["step"].as_u64().unwrap() > 16)
    };
    train(&["--set", "training.epochs=2"]);
    let paths = FILES.map(|file| sandbox.path("run").join(file));
    let contents = paths.each_ref().map(|path| fs::read(path).unwrap());
    train(&["--resume", "--set", "training.epochs=4"]);
    assert!(has_later_best());
    for (path, bytes) in paths.iter().zip(&contents) {
        fs::write(path, bytes).unwrap();
    }
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();

    // at this rate no evaluation is better than the one at the checkpoint
    let rate = "training.learning_rate=1e-12";
    let said = train(&["--resume", "--set", "training.epochs=4", "--set", rate]);
    assert!(!said.contains("of a later step than the checkpoint"), "{said}");
    assert!(!has_later_best());
    assert!(tensors(&paths[0]) == parsed(&contents[0]), "the best parameters are still there");
}

#[test]
fn a_run_is_not_resumed_on_other_data() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    std::fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    let train = sandbox.read("data/small/train.tsv");
    sandbox.write("data/small/train.tsv", &train.replacen("a ring", "the ring", 1));
    let resume = ["train", "small.toml", "--quiet", "--out", "run", "--resume"];
    let remedy = "put the earlier ones back, or start a new run in another folder (--out)";
    sandbox.fail(&resume, 2, &["run: the data have changed", "(train.tsv)", remedy]);
    sandbox.write("data/small/train.tsv", &train);
    // other n-grams of outputs than the basis knows
    let outputs = sandbox.read("data/small/outputs.tsv");
    sandbox.write("data/small/outputs.tsv", &outputs.replacen("\tmethane", "\tzyxane", 1));
    sandbox.fail(&resume, 2, &["run: the data have changed", "(outputs.tsv)", remedy]);
    sandbox.write("data/small/outputs.tsv", &outputs);
    sandbox.succeed(&resume);
}

/// Lists of the right output of each query of the sandbox, and others.
fn lists(others: &[&str]) -> String {
    let line = |i: usize| {
        let listed: Vec<String> =
            others.iter().map(|other| (*other).to_owned()).chain([format!("o{i}")]).collect();
        format!("{}\n", serde_json::json!({ "query": format!("o{i}"), "candidates": listed }))
    };
    (60..80).map(line).collect()
}

#[test]
fn a_run_is_not_resumed_with_other_lists_of_candidates() {
    let sandbox = Sandbox::new();
    let easy = lists(&[]);
    let hard = lists(&["o1", "o2", "o3"]);
    sandbox.write("data/small/lists.jsonl", &easy);
    let set = "evaluation.candidates=lists.jsonl";
    let train = ["train", "small.toml", "--quiet", "--out", "run", "--set", set];
    sandbox.succeed(&train);
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    let resume = [&train[..], &["--resume"]].concat();
    sandbox.write("data/small/lists.jsonl", &hard);
    sandbox.fail(&resume, 2, &["run", "data have changed"]);
    sandbox.write("data/small/lists.jsonl", &easy);
    sandbox.succeed(&resume);
}

/// A test split is measured as it is found, and runs that found others are not compared.
#[test]
fn a_sweep_joins_runs_that_are_measured_on_the_same_queries() {
    let sandbox = Sandbox::new();
    let sweep = |seeds| ["sweep", "small.toml", "--out", "all", "--grid", seeds];
    sandbox.succeed(&sweep("seed=0,1"));
    let test = sandbox.read("data/small/test.tsv");
    sandbox.write("data/small/test.tsv", &test.replacen("a ring", "one ring", 1));
    let says = ["other queries", "all/seed=", "metrics.json"];
    sandbox.fail(&sweep("seed=0,1,2"), 2, &says);
    // the new run is the one that has read the new table
    for seed in ["0", "1"] {
        fs::remove_file(sandbox.path(&format!("all/seed={seed}/metrics.json"))).unwrap();
    }
    sandbox.succeed(&sweep("seed=0,1,2"));
    sandbox.write("data/small/test.tsv", &test);
    sandbox.fail(&sweep("seed=3"), 2, &says);
    // settings that read other queries are compared
    let read = "data.validation=validation.tsv,test.tsv";
    sandbox.succeed(&["sweep", "small.toml", "--out", "tables", "--grid", read]);
}

/// Ranks among fewer candidates are better.
#[test]
fn a_sweep_joins_runs_that_are_measured_on_the_same_candidates() {
    let sandbox = Sandbox::new();
    let sweep = |size| ["sweep", "small.toml", "--out", "all", "--grid", size];
    sandbox.succeed(&sweep("sketch.size=20"));
    let table = sandbox.read("all/sweep.csv");
    let outputs = sandbox.read("data/small/outputs.tsv");
    sandbox.write("data/small/outputs.tsv", &format!("{outputs}o80\tcyclononane\n"));
    let says = ["outputs.tsv has changed since the training of all/sketch.size=20", "--out"];
    sandbox.fail(&sweep("sketch.size=10"), 2, &says);
    assert!(!sandbox.path("all/sketch.size=10").exists(), "nothing is trained");
    // candidates are compared too, also where no table is known
    let without = |key: &str| {
        let file = "all/sketch.size=20/metrics.json";
        let mut record: serde_json::Value = serde_json::from_str(&sandbox.read(file)).unwrap();
        assert!(record.as_object_mut().unwrap().remove(key).is_some(), "{key}");
        sandbox.write(file, &record.to_string());
        sandbox.forget_checksum("all/sketch.size=20", "metrics.json");
    };
    without("tables");
    let says = ["all/sketch.size=10", "other candidates than all/sketch.size=20", "--out"];
    sandbox.fail(&sweep("sketch.size=10"), 2, &says);
    sandbox.fail(&sweep("sketch.size=10"), 2, &says);
    assert_eq!(sandbox.read("all/sweep.csv"), table);
    // as where each query has a list of its own
    without("ranked_among");
    sandbox.succeed(&sweep("sketch.size=10"));

    // a run that has learned from another table is not measured anew, although its candidates are others too
    let seeds = |seeds| ["sweep", "small.toml", "--out", "seeds", "--grid", seeds];
    sandbox.succeed(&seeds("seed=0"));
    sandbox.write("data/small/outputs.tsv", &outputs);
    sandbox.succeed(&[
        "train",
        "small.toml",
        "--quiet",
        "--out",
        "seeds/seed=1",
        "--set",
        "seed=1",
    ]);
    let says = [
        "seeds/seed=1: it has learned from another outputs.tsv than seeds/seed=0",
        "remove seeds/seed=1, which was trained later",
    ];
    sandbox.fail(&seeds("seed=0,1"), 2, &says);
}

/// A pool's splits depend on the seed, so fingerprints of the queries tell nothing.
#[test]
fn a_sweep_over_seeds_joins_runs_that_have_learned_from_the_same_table() {
    let sandbox = Sandbox::new();
    let config = CONFIG
        .replace("test = \"test.tsv\"", "source = \"pool\"\nfile = \"all.tsv\"\ninputs = { column = \"text\" }\nsplits = { validation = 10, test = 10 }")
        .replace("table = \"outputs.tsv\"\n", "");
    sandbox.write("pool.toml", &config);
    let outputs = sandbox.read("data/small/outputs.tsv");
    let lines = outputs.lines().map(|line| format!("{line}\t{}\n", line.replace('\t', " ")));
    let table = lines.collect::<String>().replacen("id name", "text", 1);
    sandbox.write("data/small/all.tsv", &table);
    let sweep = |seeds| ["sweep", "pool.toml", "--out", "all", "--grid", seeds];
    sandbox.succeed(&sweep("seed=0,1"));
    let csv = sandbox.read("all/sweep.csv");
    // the complete runs have the same pairs without the blank line
    sandbox.write("data/small/all.tsv", &format!("{table}\n"));
    let says = ["all/seed=2", "all.tsv has changed since the training of all/seed=", "--out"];
    sandbox.fail(&sweep("seed=0,1,2"), 2, &says);
    assert_eq!(sandbox.read("all/sweep.csv"), csv);
    // nothing is trained, so that nothing is in the way of the earlier table
    sandbox.write("data/small/all.tsv", &table);
    sandbox.succeed(&sweep("seed=0,1,2"));
    // a run that was trained by itself
    let shorter: Vec<&str> = table.lines().take(75).collect();
    sandbox.write("data/small/all.tsv", &(shorter.join("\n") + "\n"));
    sandbox.succeed(&["train", "pool.toml", "--quiet", "--out", "all/seed=3", "--set", "seed=3"]);
    let says = [
        "all/seed=3: it has learned from another all.tsv than all/seed=",
        "remove all/seed=3, which was trained later",
    ];
    sandbox.fail(&sweep("seed=3"), 2, &says);
}

/// A kill between the fit and its corrections leaves a run that has a model.
#[test]
fn a_run_without_its_corrections_is_not_used_as_if_it_had_them() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replace(BAG, RIDGE));
    let hubs = "decoding.hubs={folds=2, neighbours=[2]}";
    let look = "decoding.reranker={candidates=20, neighbours=5, folds=4}";
    let train = |config: &'static str, out: &'static str, change: &'static str| {
        ["train", config, "--quiet", "--out", out, "--set", change]
    };
    let hubs = train("small.toml", "hubs", hubs);
    let look = train("ridge.toml", "look", look);
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "plain"]);
    [hubs, look].iter().for_each(|train| drop(sandbox.succeed(train)));
    ["hubs", "look", "plain"].iter().for_each(|run| {
        fs::remove_file(sandbox.path(run).join("metrics.json")).unwrap();
    });
    // the model alone is used, with a warning
    let output = sandbox.run(&["search", "plain", "a ring"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("not trained to its end"), "{said}");
    let output = sandbox.run(&["search", "hubs", "a ring"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let corrected = fs::read(sandbox.path("hubs/candidates.safetensors")).unwrap();
    fs::copy(
        sandbox.path("plain/candidates.safetensors"),
        sandbox.path("hubs/candidates.safetensors"),
    )
    .unwrap();
    fs::remove_file(sandbox.path("look/reranker.safetensors")).unwrap();
    for (run, key, train) in [("hubs", "decoding.hubs", hubs), ("look", "decoding.reranker", look)]
    {
        for call in [
            &["search", run, "a ring"][..],
            &["evaluate", run],
            &["predict", run, "data/small/test.tsv"],
            &["compare", run, "plain"],
        ] {
            sandbox.fail(call, 2, &["not trained to its end", key, "--resume"]);
        }
        sandbox.succeed(&[&train[..], &["--resume"]].concat());
        sandbox.succeed(&["evaluate", run]);
    }
    assert!(fs::read(sandbox.path("hubs/candidates.safetensors")).unwrap() == corrected);
}

#[test]
fn a_resumed_run_shows_the_labels_and_columns_that_the_data_have_now() {
    let sandbox = Sandbox::new();
    let table = |title: &str, note: &str| {
        let outputs = sandbox.read("data/small/outputs.tsv");
        let lines = outputs.lines().enumerate().map(|(at, line)| match at {
            0 => "id\tname\ttitle\tnote".to_owned(),
            1 => format!("{line}\t{title}\t{note}"),
            _ => format!("{line}\ttitle {at}\tnote {at}"),
        });
        lines.map(|line| line + "\n").collect::<String>()
    };
    let [before, after] = [table("one title", "one note"), table("new title", "new note")];
    sandbox.write("data/small/outputs.tsv", &before);
    sandbox.write("new.tsv", "id\tname\ttitle\tnote\nadded\tcyclobutan\tits title\tits note\n");
    let config = CONFIG.replace("label = \"name\"", "label = \"title\"\ncolumns = [\"note\"]");
    sandbox.write("small.toml", &config);
    let train = ["train", "small.toml", "--quiet", "--out", "run"];
    sandbox.succeed(&train);
    sandbox.succeed(&["candidates", "add", "run", "new.tsv"]);
    let search = || sandbox.succeed(&["search", "run", "a ring", "--top", "81", "--json"]);
    assert!(search().contains("one title") && search().contains("one note"));
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    sandbox.write("data/small/outputs.tsv", &after);
    sandbox.succeed(&[&train[..], &["--resume"]].concat());
    let found = search();
    for (shown, gone) in [("new title", "one title"), ("new note", "one note")] {
        assert!(found.contains(shown) && !found.contains(gone), "{found}");
    }
    assert!(found.contains("its title") && found.contains("its note"), "{found}");
}
