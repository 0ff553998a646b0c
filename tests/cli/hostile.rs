//! Files and folders in places where they do not belong.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sandbox::{CONFIG, Sandbox, json};

/// What a command that must end within ten seconds says on standard error, with its exit code.
fn ends(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = sandbox.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(10) {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn named_pipes_devices_and_folders_are_refused_at_once() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let make = |file: &str, kind: &str| {
        let path = sandbox.path(file);
        let _ = fs::rename(&path, sandbox.path("kept"));
        match kind {
            "a named pipe" => {
                let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
            }
            "a device" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
            _ => fs::create_dir(&path).unwrap(),
        }
    };
    for kind in ["a named pipe", "a device", "a folder"] {
        for (file, arguments) in [
            ("small.toml", &["train", "small.toml"][..]),
            ("data/small/train.tsv", &["train", "small.toml"]),
            ("data/small/outputs.tsv", &["train", "small.toml"]),
            ("texts.txt", &["predict", "run", "texts.txt"]),
            ("queries.tsv", &["evaluate", "run", "--queries", "queries.tsv"]),
            ("lists.jsonl", &["evaluate", "run", "--candidates", "lists.jsonl"]),
            ("run/config.toml", &["evaluate", "run"]),
            ("run/ngrams.json", &["evaluate", "run"]),
            ("run/encoder.safetensors", &["evaluate", "run"]),
            (
                "run/checkpoint/last.safetensors",
                &["train", "small.toml", "--out", "run", "--resume"],
            ),
        ] {
            make(file, kind);
            let done = sandbox.path("run/metrics.json");
            let metrics = fs::read(&done).unwrap();
            if arguments.contains(&"--resume") {
                fs::remove_file(&done).unwrap();
            }
            let (code, errors) = ends(&sandbox, arguments);
            assert_eq!(code, Some(2), "{kind} {file}: {errors}");
            let name = file.rsplit('/').next().unwrap();
            assert!(errors.contains(name), "{kind} {file}: {errors}");
            if kind != "a folder" {
                assert!(
                    errors.contains(kind) || file == "run/ngrams.json",
                    "{kind} {file}: {errors}"
                );
            }
            fs::write(&done, metrics).unwrap();
            let path = sandbox.path(file);
            let _ = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
            let _ = fs::rename(sandbox.path("kept"), &path);
        }
    }
    sandbox.succeed(&["evaluate", "run"]);
}

#[test]
fn a_text_file_that_is_too_long_is_refused_before_it_is_read() {
    let sandbox = Sandbox::new();
    let file = fs::File::create(sandbox.path("long.toml")).unwrap();
    // a file with a hole takes no space
    file.set_len(1 << 40).unwrap();
    let (code, errors) = ends(&sandbox, &["train", "long.toml"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("long.toml") && errors.contains("1099511627776 bytes"), "{errors}");
}

#[test]
fn a_byte_order_mark_is_no_text() {
    let sandbox = Sandbox::new();
    let mark = |name: &str| sandbox.write(name, &format!("\u{feff}{}", sandbox.read(name)));
    mark("small.toml");
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let line = |i: usize| format!("{{\"query\": \"o{i}\", \"candidates\": [\"o{i}\", \"o1\"]}}\n");
    sandbox.write("lists.jsonl", &(70..80).map(line).collect::<String>());
    let evaluate = ["evaluate", "run", "--candidates", "lists.jsonl", "--json"];
    let plain = sandbox.succeed(&evaluate);
    mark("lists.jsonl");
    assert_eq!(sandbox.succeed(&evaluate), plain);
}

#[test]
fn arrays_in_the_place_of_tables_are_refused() {
    let sandbox = Sandbox::new();
    let end = CONFIG.find("[training]").unwrap();
    sandbox.write("arrays.toml", &format!("training = []\n{}", &CONFIG[..end]));
    sandbox.fail(&["train", "arrays.toml"], 2, &["arrays.toml", "training = []", "a table"]);
    for (change, says) in [
        ("training=[]", "training = []"),
        ("training=[{}]", "training"),
        ("evaluation=[]", "evaluation = []"),
        ("output.kernel=[]", "kernel"),
        ("ensemble=[]", "ensemble = []"),
    ] {
        sandbox.fail(&["train", "small.toml", "--set", change], 2, &["small.toml", says]);
    }
}

#[test]
fn an_error_of_a_member_names_it() {
    let sandbox = Sandbox::new();
    let members = "\n[[ensemble.members]]\nname = \"good\"\n[[ensemble.members]]\nname = \"bad\"\n";
    for (change, says) in [
        ("sketch = { size = 0 }", "ensemble.members[1].sketch.size = 0"),
        ("training = []", "training = []"),
        ("nothing = 1", "nothing"),
        // found while it is trained
        ("output = { table = \"none.tsv\" }", "none.tsv"),
    ] {
        sandbox.write("votes.toml", &format!("{CONFIG}{members}{change}\n"));
        let train = ["train", "votes.toml", "--quiet", "--out", "votes"];
        sandbox.fail(&train, 2, &["member bad: ", says]);
        let _ = fs::remove_dir_all(sandbox.path("votes"));
    }
}

#[test]
fn a_long_smiles_is_cut_in_the_message() {
    let sandbox = Sandbox::new();
    for long in ["C".repeat(100_000), "[C](".repeat(25_000), format!("C[{}]", "x".repeat(100_000))]
    {
        sandbox.write("data/small/outputs.tsv", &format!("id\tname\no0\t{long}\n"));
        let change = "output.features={kind=\"molecules\", column=\"name\", \
                      graph={name=\"weisfeiler-lehman\"}}";
        let kernel = "output.kernel={name=\"tanimoto\"}";
        let (code, errors) =
            ends(&sandbox, &["train", "small.toml", "--set", change, "--set", kernel]);
        assert_eq!(code, Some(2), "{}", &errors[..200.min(errors.len())]);
        assert!(errors.contains("outputs.tsv:2: the SMILES"), "{errors}");
        assert!(errors.len() < 600, "{} bytes", errors.len());
    }
}

#[test]
fn a_report_does_not_replace_the_files_of_a_run() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let metrics = sandbox.read("run/metrics.json");
    sandbox.fail(&["evaluate", "run", "--report", "run"], 2, &["--report = run", "run director"]);
    assert_eq!(sandbox.read("run/metrics.json"), metrics);
    assert!(!sandbox.path("run/ranks.tsv").exists());
    sandbox.succeed(&["evaluate", "run", "--report", "run/report"]);
}

#[test]
fn an_evaluation_names_its_split() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let evaluate =
        |more: &[&str]| json(&sandbox.succeed(&[&["evaluate", "run", "--json"], more].concat()));
    assert_eq!(evaluate(&[])["split"], "test");
    assert_eq!(evaluate(&["--split", "validation"])["split"], "validation");
    let found = evaluate(&["--queries", "data/small/test.tsv"]);
    assert_eq!(
        (&found["split"], &found["file"]),
        (&json("null"), &json("\"data/small/test.tsv\""))
    );
}

#[test]
fn data_in_another_place_are_not_read_in_silence() {
    let sandbox = Sandbox::new();
    let own = CONFIG.replacen("\"small\"", "\"datasets/small\"", 1);
    let there = tempfile::tempdir().unwrap();
    fs::create_dir(there.path().join("configs")).unwrap();
    let config = there.path().join("configs/own.toml");
    fs::write(&config, own).unwrap();
    let set = there.path().join("datasets/small");
    crate::sandbox::copy(&sandbox.path("data/small"), &set);
    sandbox.succeed(&["train", config.to_str().unwrap(), "--quiet", "--out", "run"]);
    // other texts with the same ids, in the current folder
    crate::sandbox::copy(&sandbox.path("data/small"), &sandbox.path("datasets/small"));
    let report = sandbox.read("run/metrics.json");
    let mrr = serde_json::from_str::<serde_json::Value>(&report).unwrap()["mrr"].clone();
    sandbox.write("datasets/small/test.tsv", "id\tdescription\no70\tnothing\n");
    assert_eq!(json(&sandbox.succeed(&["evaluate", "run", "--json"]))["mrr"], mrr);
    fs::remove_dir_all(&set).unwrap();
    let output = sandbox.run(&["evaluate", "run", "--json"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("is gone") && errors.contains("datasets/small"), "{errors}");
}
