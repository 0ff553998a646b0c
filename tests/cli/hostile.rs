//! Files and folders in places where they do not belong.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, json};

/// What a command that must end, within half a minute on a busy machine, says on standard error, with its exit code.
fn ends(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = sandbox.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(30) {
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
fn results_do_not_replace_the_files_of_a_run() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    sandbox.write("new.tsv", "id\tname\nnew\tcyclobutan\n");
    let all = || {
        let names = fs::read_dir(sandbox.path("run")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let bytes = |path: &std::path::PathBuf| fs::read(path).unwrap_or_default();
        names.iter().map(|path| (path.clone(), bytes(path))).collect::<Vec<_>>()
    };
    let before = all();
    #[cfg(unix)]
    std::os::unix::fs::symlink(sandbox.path("run"), sandbox.path("link")).unwrap();
    for (option, arguments, file) in [
        ("--out", &["embed", "run", "data/small/test.tsv"][..], true),
        ("--out", &["embed", "run", "data/small/outputs.tsv", "--outputs"], true),
        ("--out", &["candidates", "add", "run", "new.tsv"], true),
        ("--out", &["candidates", "add", "run", "new.tsv", "--dry-run"], true),
        ("--out", &["candidates", "shard", "run", "--parts", "2"], false),
        ("--out", &["export", "run", "--candidates"], false),
        ("--report", &["evaluate", "run"], false),
        ("--draw", &["evaluate", "run"], true),
        ("--plot", &["sketch", "small.toml"], true),
        ("--out", &["sweep", "small.toml", "--grid", "seed=1,2"], false),
        ("--out", &["fetch", "bibtex"], false),
    ] {
        let within = if file {
            ["run/metrics.json", "run/new.svg", "run/checkpoint/new.svg", "run/none/../x.svg"]
        } else {
            ["run", "run/checkpoint", "run/report", "run/none/.."]
        };
        let linked = if file { "link/candidates.safetensors" } else { "link" };
        let linked = if cfg!(unix) { linked } else { within[0] };
        for path in within.into_iter().chain([linked]) {
            let call = [arguments, &[option, path]].concat();
            let expected = [&format!("{option} = {path}"), "a path outside of", "a run directory"];
            sandbox.fail(&call, 2, &expected);
            assert!(all() == before, "{call:?}");
        }
    }
    // nor is the file that is read
    let row = |row: u32| format!("the long text of row w{row}x has words\t{row}.5\n");
    sandbox.write("pairs.tsv", &format!("text\ty\n{}", (0..40).map(row).collect::<String>()));
    for call in [
        &["embed", "run", "new.tsv", "--out", "./new.tsv"][..],
        &["candidates", "add", "run", "new.tsv", "--out", "new.tsv"],
        &["init", "pairs.tsv", "--out", "pairs.tsv", "--force"],
    ] {
        sandbox.fail(call, 2, &["--out = ", "a file other than the one that is read"]);
    }
    // a folder with a configuration is no run
    fs::create_dir(sandbox.path("project")).unwrap();
    sandbox.write("project/config.toml", CONFIG);
    sandbox.succeed(&["evaluate", "run", "--report", "project/report"]);
}

/// A folder of results appears as a whole: nothing of an earlier one is left, and nothing else is lost.
#[test]
fn folders_of_results_are_replaced_as_a_whole() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let names = |folder: &str| {
        let names = fs::read_dir(sandbox.path(folder)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let report = ["evaluate", "run", "--report", "results/report"];
    let export = ["export", "run", "--candidates", "--out", "results/export"];
    sandbox.succeed(&report);
    let written = names("results/report");
    // a file of an earlier report on quantiles
    sandbox.write("results/report/quantiles.tsv", "");
    sandbox.succeed(&report);
    assert_eq!(names("results/report"), written);
    sandbox.succeed(&export);
    let exported = names("results/export");
    sandbox.succeed(&export);
    assert_eq!(names("results/export"), exported);
    for (call, option, folder) in
        [(&report[..], "--report", "results/report"), (&export, "--out", "results/export")]
    {
        sandbox.write(&format!("{folder}/notes.txt"), "mine");
        let expected =
            [&format!("{option} = {folder}, which holds notes.txt"), "is empty, or holds"];
        sandbox.fail(call, 2, &expected);
        assert_eq!(sandbox.read(&format!("{folder}/notes.txt")), "mine");
    }
    assert_eq!(names("results"), ["export", "report"].map(String::from).into());
    // an encoder in the layout of transformers that is not an export
    fs::create_dir(sandbox.path("encoder")).unwrap();
    sandbox.write("encoder/config.json", "{}");
    let export = ["export", "run", "--candidates", "--out", "encoder"];
    sandbox.fail(&export, 2, &["--out = encoder, which holds config.json"]);
    // files of the user that have names of a few files of an export, or of a report
    let export = ["export", "run", "--candidates", "--out"];
    let report = ["evaluate", "run", "--quiet", "--report"];
    let cases: [([&str; 4], &str, &[&str]); 5] = [
        (export, "prices", &["candidates.tsv"]),
        (export, "vectors", &["candidates.tsv", "candidates.npy"]),
        (export, "model", &["candidates.tsv", "config.json", "model.safetensors"]),
        (report, "scores", &["metrics.json"]),
        (report, "notes", &["worst.tsv", "labels.tsv"]),
    ];
    for (call, folder, files) in cases {
        fs::create_dir(sandbox.path(folder)).unwrap();
        files.iter().for_each(|file| sandbox.write(&format!("{folder}/{file}"), "mine"));
        let holds = format!("{folder}, which holds ");
        sandbox.fail(&[&call[..], &[folder]].concat(), 2, &[&holds, " and no ", "is empty, or"]);
        for file in files {
            assert_eq!(sandbox.read(&format!("{folder}/{file}")), "mine");
        }
    }
    fs::create_dir(sandbox.path("here")).unwrap();
    let mut here = sandbox.command(&["evaluate", "../run", "--report", "."]);
    let output = here.current_dir(sandbox.path("here")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--report = .: expected a folder other than the current"), "{errors}");
}

/// A terminal obeys escape sequences, and a table breaks at line breaks.
#[test]
fn ids_of_any_kind_are_printed_on_their_line() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let long = "y".repeat(70_000);
    let rows =
        [("\u{1b}[31mred\u{9b}0m", "a\u{7}bell"), ("two\nlines\r", "a\tb\nc"), (&long, "long")];
    let lines =
        rows.map(|(id, name)| format!("{}\n", serde_json::json!({ "id": id, "name": name })));
    sandbox.write("new.jsonl", &lines.concat());
    sandbox.succeed(&["candidates", "add", "run", "new.jsonl"]);
    let search = ["search", "run", "a ring of kind METH", "--top", "83"];
    let text = sandbox.succeed(&search);
    assert_eq!(text.lines().count(), 84, "{text:?}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    for part in ["\\u001b[31mred\\u009b0m", "a\\u0007bell", "two lines ", "a b c"] {
        assert!(text.contains(part), "no {part:?}");
    }
    // labels stand below one another, but that of the long id
    let column = |line: &str| line.len() - line.trim_end().rsplit("  ").next().unwrap().len();
    assert!(text.lines().filter(|line| column(line) > 200).count() == 1);
    sandbox.write("texts.txt", "a ring of kind METH\n");
    let predict = ["predict", "run", "texts.txt", "--top", "83", "--format", "tsv"];
    let table = sandbox.succeed(&predict);
    assert_eq!(table.lines().count(), 84, "{table:?}");
    assert!(table.lines().all(|line| line.split('\t').count() == 9), "{table:?}");
    assert!(!table.contains('\u{1b}'), "{table:?}");
    // JSON has the ids as they are
    let answer = json(&sandbox.succeed(&[&search[..], &["--json"]].concat()));
    let found = answer["candidates"].as_array().unwrap();
    for (id, label) in rows {
        assert!(found.iter().any(|hit| hit["id"] == id && hit["label"] == label), "{id:?}");
    }
    let ask = ["candidates", "add", "run", "new.jsonl"];
    let output = sandbox.run(&ask);
    assert!(!String::from_utf8_lossy(&output.stderr).contains('\u{1b}'));
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

/// Its table would name the folders of the runs.
#[test]
fn a_sweep_in_a_folder_whose_name_is_not_utf_8_is_refused_before_any_training() {
    let sandbox = Sandbox::new();
    let name = OsStr::from_bytes(b"all\xff");
    let mut sweep = sandbox.command(&["sweep", "small.toml", "--grid", "seed=0,1", "--out"]);
    let output = sweep.arg(name).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("--out = all") && errors.contains("is UTF-8"), "{errors}");
    assert!(!sandbox.path(".").join(name).exists());
}

/// Otherwise three hundred zeros would stand before what is allowed.
#[test]
fn messages_write_numbers_far_from_1_with_a_power_of_ten() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    for (config, key) in [
        ("small.toml", "training.learning_rate"),
        ("small.toml", "training.floor"),
        ("small.toml", "sketch.tolerance"),
        ("ridge.toml", "encoder.lambda"),
    ] {
        let set = format!("{key}=1e300");
        let output = sandbox.run(&["train", config, "--quiet", "--plan", "--set", &set]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(&format!("{key} = 1e300")) && errors.len() < 300, "{errors}");
    }
}
