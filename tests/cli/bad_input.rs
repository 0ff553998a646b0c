use std::fs;

use crate::sandbox::{CONFIG, Sandbox, npy};

/// A request that is wrong: what is done to a good sandbox, the arguments, what the message says.
struct Case {
    name: &'static str,
    spoil: fn(&Sandbox),
    set: &'static [&'static str],
    says: &'static [&'static str],
}

const fn case(
    name: &'static str,
    spoil: fn(&Sandbox),
    set: &'static [&'static str],
    says: &'static [&'static str],
) -> Case {
    Case { name, spoil, set, says }
}

fn nothing(_: &Sandbox) {}

/// The configuration with one piece exchanged.
fn config(sandbox: &Sandbox, from: &str, to: &str) {
    assert!(CONFIG.contains(from));
    sandbox.write("small.toml", &CONFIG.replacen(from, to, 1));
}

/// A file of the data set with one piece exchanged.
fn data(sandbox: &Sandbox, file: &str, from: &str, to: &str) {
    let path = format!("data/small/{file}");
    let text = sandbox.read(&path);
    assert!(text.contains(from));
    sandbox.write(&path, &text.replacen(from, to, 1));
}

fn features(sandbox: &Sandbox, rows: usize, value: f64) {
    let row = |i| [1.0 + i as f64, if i == 5 { value } else { 1.0 }];
    let values: Vec<f64> = (0..rows).flat_map(row).collect();
    fs::write(sandbox.path("data/small/f.npy"), npy(2, &values)).unwrap();
    let ngrams = r#"{ kind = "ngrams", column = "name", min = 1, max = 3 }"#;
    let file = r#"{ kind = "file", file = "f.npy" }"#;
    let text = CONFIG.replacen(ngrams, file, 1).replacen("ngram\" }", "cosine\" }", 1);
    sandbox.write("small.toml", &text.replacen("size = 20", "size = 2", 1));
}

const CASES: &[Case] = &[
    case(
        "unknown key",
        |s| config(s, "size = 20", "sizes = 20"),
        &[],
        &["small.toml", "sizes", "size"],
    ),
    case("unknown table", |s| config(s, "[sketch]", "[skech]"), &[], &["small.toml", "skech"]),
    case(
        "wrong type",
        |s| config(s, "epochs = 4", "epochs = \"four\""),
        &[],
        &["small.toml", "four", "line", "expected a whole number from 0"],
    ),
    case(
        "wrong type by --set",
        nothing,
        &["training.clip=yes"],
        &["with --set", "\"yes\"", "expected a number", "training.clip"],
    ),
    case("no TOML", |s| config(s, "[sketch]", "[sketch"), &[], &["small.toml", "line"]),
    case(
        "unknown kernel",
        |s| config(s, "ngram\" }", "n-grams\" }"),
        &[],
        &["n-grams", "tanimoto"],
    ),
    case("unknown encoder", nothing, &["encoder={ kind = \"bert\" }"], &["bert", "ngram-bag"]),
    case("unknown key of an encoder", nothing, &["encoder.width=3"], &["width"]),
    case("unknown key by --set", nothing, &["training.epoch=3"], &["epoch", "epochs"]),
    case(
        "zero epochs",
        nothing,
        &["training.epochs=0"],
        &["training.epochs = 0", "1 to 1000000000"],
    ),
    case(
        "negative rate",
        nothing,
        &["training.learning_rate=-1.0"],
        &["learning_rate = -1", "positive"],
    ),
    case(
        "no number",
        nothing,
        &["training.learning_rate=nan"],
        &["learning_rate = NaN", "positive"],
    ),
    case("dropout 1", nothing, &["encoder.dropout=1.0"], &["encoder.dropout = 1", "[0, 1)"]),
    case(
        "decay without adamw",
        nothing,
        &["training.optimizer=adam", "training.weight_decay=0.1"],
        &["training.weight_decay = 0.1", "adamw"],
    ),
    case(
        "momentum of Adam",
        nothing,
        &["training.optimizer=adam", "training.momentum=0.9"],
        &["training.momentum = 0.9", "sgd"],
    ),
    case(
        "a cooldown of another decay",
        nothing,
        &["training.cooldown=0.2"],
        &["training.cooldown = 0.2", "wsd"],
    ),
    case(
        "the factor of a plateau without one",
        nothing,
        &["training.plateau_factor=0.2"],
        &["training.plateau_factor = 0.2", "plateau"],
    ),
    case("a floor above 1", nothing, &["training.floor=2.0"], &["training.floor = 2", "[0, 1]"]),
    case("an average of 1", nothing, &["training.ema=1.0"], &["training.ema = 1", "[0, 1)"]),
    case(
        "a group without parameters",
        nothing,
        &["training.groups=[{ parameters = \"layers.*.nothing\" }]"],
        &["training.groups.parameters = \"layers.*.nothing\"", "a part of one of"],
    ),
    case(
        "rates by layers of a model without any",
        nothing,
        &["encoder.hidden=[]", "training.layer_decay=0.8"],
        &["training.layer_decay = 0.8", "no numbered layers"],
    ),
    case("path outside", nothing, &["data.train=../x.tsv"], &["data.train", ".."]),
    case("an unknown format", nothing, &["format=9"], &["format = 9", "3"]),
    case("m = 0", nothing, &["sketch.size=0"], &["sketch.size = 0", "at least 1"]),
    case(
        "density 0",
        nothing,
        &["sketch.method={ kind = \"sparsified-gaussian\", density = 0.0 }"],
        &["density"],
    ),
    case("gamma 0", nothing, &["output.kernel={ name = \"gaussian\", gamma = 0.0 }"], &["gamma"]),
    case(
        "no such group",
        nothing,
        &["training.groups=[{ parameters = \"tabel\", optimizer = \"sgd\", learning_rate = 1.0 }]"],
        &["tabel", "table"],
    ),
    case(
        "vectors for an encoder of texts",
        nothing,
        &["data.inputs={ kind = \"features\", table = \"outputs.tsv\", file = \"f.npy\" }"],
        &["data.inputs", "texts"],
    ),
    case(
        "no data folder",
        nothing,
        &["data.folder=absent"],
        &["data/absent", "data.folder = \"absent\"", "DSOKR_DATA"],
    ),
    case(
        "a folder whose name reads like an argument",
        nothing,
        &["data.folder=my--run-1 the argument out"],
        &["data/my--run-1 the argument out", "a folder in the data root, which is --data, else"],
    ),
    case(
        "no folder under datasets",
        nothing,
        &["data.folder=datasets/absent"],
        &["datasets/absent", "data.folder", "--data DIR stands for DIR/datasets/absent"],
    ),
    // the key of a file that the configuration does not name
    case(
        "no table",
        |s| fs::remove_file(s.path("data/small/train.tsv")).unwrap(),
        &[],
        &["train.tsv: not found; data.train names it"],
    ),
    case("empty table", |s| s.write("data/small/train.tsv", ""), &[], &["train.tsv"]),
    case("no rows", |s| s.write("data/small/train.tsv", "id\tdescription\n"), &[], &["train.tsv"]),
    case(
        "ragged table",
        |s| data(s, "train.tsv", "o3\t", "o3\tx\t"),
        &[],
        &["train.tsv", "5", "3", "2"],
    ),
    case(
        "missing column",
        nothing,
        &["data.inputs.column=text"],
        &["train.tsv", "\"text\", which data.inputs.column names;", "description"],
    ),
    case(
        "missing column of texts that the configuration does not name",
        |s| data(s, "train.tsv", "id\tdescription", "id\ttext"),
        &[],
        &["train.tsv", "\"description\", which data.inputs.column names;", "\"text\""],
    ),
    case(
        "missing column of several keys",
        |s| data(s, "outputs.tsv", "id\tname", "id\ttitle"),
        &[],
        &["outputs.tsv", "\"name\", which output.features.column and output.label name;", "title"],
    ),
    // output.scaling has the value "none" too, and names no column
    case(
        "missing column with the name of a choice",
        nothing,
        &["data.query=none"],
        &["\"none\", which data.query names;"],
    ),
    case(
        "no table with the name of a licence",
        nothing,
        &["data.test=absent.tsv", "data.licence=absent.tsv"],
        &["absent.tsv: not found; data.test names it"],
    ),
    case(
        "duplicate id",
        |s| data(s, "outputs.tsv", "o4\t", "o3\t"),
        &[],
        &["outputs.tsv", "o3", "5", "6"],
    ),
    case("empty id", |s| data(s, "train.tsv", "o3\t", "\t"), &[], &["train.tsv:5"]),
    case(
        "id without features",
        |s| data(s, "train.tsv", "o3\t", "p3\t"),
        &[],
        &["train.tsv:5", "p3"],
    ),
    case(
        "no candidate",
        nothing,
        &["output.candidate={ column = \"name\", value = \"x\" }"],
        &["outputs.tsv", "\"x\""],
    ),
    case(
        "not UTF-8",
        |s| fs::write(s.path("data/small/train.tsv"), b"id\tdescription\no1\t\xff\n").unwrap(),
        &[],
        &["train.tsv", "UTF-8"],
    ),
    case("NaN in features", |s| features(s, 80, f64::NAN), &[], &["f.npy", "NaN", "5"]),
    case("features of another length", |s| features(s, 79, 1.0), &[], &["f.npy", "79", "80"]),
    case(
        "truncated features",
        |s| {
            features(s, 80, 1.0);
            let whole = fs::read(s.path("data/small/f.npy")).unwrap();
            fs::write(s.path("data/small/f.npy"), &whole[..whole.len() - 3]).unwrap();
        },
        &[],
        &["f.npy"],
    ),
    case(
        "texts without n-grams",
        |s| {
            let rows: String = (0..60).map(|i| format!("o{i}\t.\n")).collect();
            s.write("data/small/train.tsv", &format!("id\tdescription\n{rows}"));
        },
        &[],
        &["60 training texts", "n-gram"],
    ),
];

#[test]
fn wrong_requests_are_refused_with_the_place_and_leave_nothing_behind() {
    for case in CASES {
        let sandbox = Sandbox::new();
        (case.spoil)(&sandbox);
        let mut arguments = vec!["train", "small.toml"];
        arguments.extend(case.set.iter().flat_map(|change| ["--set", change]));
        eprintln!("case: {}", case.name);
        sandbox.fail(&arguments, 2, case.says);
        let left = fs::read_dir(sandbox.path("runs")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{}: a run was left behind", case.name);
    }
}

#[test]
fn a_constant_kernel_has_rank_one_and_trains() {
    let sandbox = Sandbox::new();
    let mut outputs = "id\tname\n".to_string();
    (0..80).for_each(|i| outputs.push_str(&format!("o{i}\tsame\n")));
    sandbox.write("data/small/outputs.tsv", &outputs);
    let report = sandbox.succeed(&["train", "small.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    // everything ties, so every model is at chance level
    assert_eq!(report["tied_queries"], 10);
    let difference = report["mrr"].as_f64().unwrap() - report["chance"]["mrr"].as_f64().unwrap();
    assert!(difference.abs() < 1e-12);
}

#[test]
fn wrong_flags_and_files_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.fail(&["train", "absent.toml"], 2, &["absent.toml", "not found"]);
    sandbox.fail(&["train"], 2, &["Usage"]);
    sandbox.fail(&["train", "small.toml", "--wrong"], 2, &["--wrong"]);
    sandbox.fail(&["train", "small.toml", "--set", "nonsense"], 2, &["section.key=value"]);
    sandbox.fail(&["evaluate", "absent"], 2, &["absent", "not found"]);
    sandbox.fail(&["evaluate", "data"], 2, &["data", "config.toml"]);
    sandbox.fail(&["search", "absent", "text"], 2, &["absent"]);
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    sandbox.fail(&["search", "run", "text", "--top", "0"], 2, &["0"]);
    // what is meant
    let words = ["search", "run", "a", "methyl", "ester"];
    sandbox.fail(&words, 2, &["put a text of several words in quotation marks"]);
    let coverage = ["search", "run", "text", "--coverage", "0.9"];
    sandbox.fail(&coverage, 2, &["--coverage is an argument of:", "predict"]);
    for (change, says) in [
        ("epochs=1", "did you mean `training.epochs`?"),
        ("training.epoch=1", "did you mean `epochs`?"),
    ] {
        sandbox.fail(&["train", "small.toml", "--set", change], 2, &[says]);
    }
    std::fs::create_dir(sandbox.path("all")).unwrap();
    std::fs::rename(sandbox.path("run"), sandbox.path("all/run")).unwrap();
    sandbox.fail(&["search", "all", "text"], 2, &["a folder of runs", "name one of them, all/run"]);
    #[cfg(feature = "fetch")]
    sandbox.fail(&["fetch", "model", "all/run"], 2, &["a folder; the archive of a run is needed"]);
    std::fs::rename(sandbox.path("all/run"), sandbox.path("run")).unwrap();
    let embed = ["embed", "run", "data/small/test.tsv", "--out", "z"];
    sandbox.fail(&embed, 2, &["--out = z: expected a path that ends with .npy"]);
    #[cfg(feature = "serve")]
    sandbox.fail(&["serve", "run", "--host", "here"], 2, &["127.0.0.1, or localhost"]);
    sandbox.fail(&["evaluate", "run", "--queries", "absent.tsv"], 2, &["absent.tsv"]);
    sandbox.fail(&["evaluate", "run", "--split", "tests"], 2, &["validation"]);
    for (text, says) in [
        (r#"{"query": "o70", "candidates": []}"#, "o70"),
        (r#"{"query": "o70", "candidates": ["zzz"]}"#, "zzz"),
        (r#"{"query": "o70""#, "line 1"),
        (r#"{"query": "o70", "candidates": ["o70"]}"#, "o71"),
    ] {
        sandbox.write("pools.jsonl", text);
        sandbox.fail(&["evaluate", "run", "--candidates", "pools.jsonl"], 2, &[says]);
    }
}

#[test]
fn damaged_runs_are_refused_with_the_file() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "run"]);
    let text = sandbox.read("run/ngrams.json");
    for (from, to) in
        [("\"min\":1", "\"min\":0"), ("\"buckets\":0", "\"buckets\":7"), ("[1.", "[2.")]
    {
        assert!(text.contains(from), "{from}");
        sandbox.write("run/ngrams.json", &text.replacen(from, to, 1));
        sandbox.fail(&["search", "run", "text"], 2, &["n"]);
    }
    sandbox.write("run/ngrams.json", &text);
    for file in ["basis.safetensors", "candidates.safetensors", "encoder.safetensors"] {
        let path = sandbox.path("run").join(file);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        let middle = flipped.len() - flipped.len() / 3;
        flipped[middle] ^= 1;
        for broken in [&flipped[..], &whole[..whole.len() / 2], &whole[..4], b""] {
            fs::write(&path, broken).unwrap();
            sandbox.fail(&["search", "run", "text"], 2, &[file]);
        }
        fs::write(&path, whole).unwrap();
    }
    // a basis that is whole but another one
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "other", "--set", "seed=1"]);
    let own = fs::read(sandbox.path("run/encoder.safetensors")).unwrap();
    fs::copy(sandbox.path("other/encoder.safetensors"), sandbox.path("run/encoder.safetensors"))
        .unwrap();
    let what = ["encoder.safetensors", "of a different run"];
    sandbox.fail(&["search", "run", "text"], 2, &what);
    fs::write(sandbox.path("run/encoder.safetensors"), own).unwrap();

    let toml = sandbox.read("run/config.toml");
    // an earlier and a later version of dsokr
    for format in ["2", "9"] {
        sandbox
            .write("run/config.toml", &toml.replace("format = 3", &format!("format = {format}")));
        let says = [&*format!("run: a run of format {format}"), "reads format 3: train it again"];
        for call in [&["search", "run", "text"][..], &["evaluate", "run"]] {
            sandbox.fail(call, 2, &says);
        }
        sandbox.fail(&["train", "small.toml", "--out", "run", "--resume"], 2, &says);
    }
    sandbox.write("run/config.toml", &toml);

    let path = sandbox.path("run/fingerprints.safetensors");
    let sums = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    sandbox.fail(&["search", "run", "text"], 2, &["run/fingerprints.safetensors", "missing"]);
    fs::write(&path, sums).unwrap();

    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    let path = sandbox.path("run/checkpoint/last.safetensors");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    sandbox.fail(&["train", "small.toml", "--out", "run", "--resume"], 2, &["last.safetensors"]);
    sandbox.succeed(&["search", "run", "text"]);
}

/// Writes that fail, as on a full disk: the system allows files of 8 KiB only, and what would be
/// longer is an error of the write.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_fails_the_run_and_leaves_no_half_of_one() {
    let sandbox = Sandbox::new();
    let binary = env!("CARGO_BIN_EXE_dsokr");
    let script = format!("ulimit -f 8; exec {binary} train small.toml --quiet");
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(sandbox.path("."))
        .env_remove("DSOKR_DATA")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("safetensors") && !errors.contains("panicked"), "{errors}");
    assert_eq!(fs::read_dir(sandbox.path("runs")).map_or(0, Iterator::count), 0);

    // standard output that cannot be written must not look like success
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox
        .command(&["train", "small.toml", "--quiet"])
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
    assert!(sandbox.path("runs/small/metrics.json").exists());
}
