//! The program of `examples/custom_predictor.rs` is the whole command with a kind of its own. The test starts itself
//! as that program.

#[path = "../examples/custom_predictor.rs"]
mod example;

use std::process::{Command, ExitCode, Output};

/// Set in the processes that are the program.
const MARK: &str = "DSOKR_TEST_OWN_KIND";

const CONFIG: &str = "examples/custom_predictor.toml";

fn main() -> ExitCode {
    if std::env::var_os(MARK).is_some() {
        return example::main();
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let run = at("run");
    let runs = at("runs");

    // a small part of the quickstart set
    let data = folder.path().join("datasets/quickstart");
    std::fs::create_dir_all(&data).unwrap();
    for (name, lines) in
        [("train.tsv", 301), ("validation.tsv", 41), ("test.tsv", 41), ("molecules.tsv", 2001)]
    {
        let whole = std::fs::read_to_string(format!("datasets/quickstart/{name}")).unwrap();
        let part: Vec<&str> = whole.lines().take(lines).collect();
        std::fs::write(data.join(name), part.join("\n")).unwrap();
    }
    let small = ["--set", "sketch.size=50", "--data", folder.path().to_str().unwrap()];

    let trained = own(&[&["train", CONFIG, "--out", &run], &small[..]].concat());
    let program = std::env::current_exe().unwrap();
    let name = program.file_stem().unwrap().to_str().unwrap();
    let program = program.display();
    assert!(trained.contains(&format!("try: {program} search {run}")), "{trained}");
    let evaluated: serde_json::Value =
        serde_json::from_str(&own(&["evaluate", &run, "--json"])).unwrap();
    assert!(evaluated["mean_rank"].as_f64().unwrap() < 800.0, "{evaluated}");
    let found = own(&["search", &run, "A carboxylic acid with a bromine atom.", "--top", "3"]);
    assert_eq!(found.lines().count(), 4, "{found}");
    // the program fits it anew without parts of the pairs
    let look = "decoding.reranker={candidates=20, neighbours=10, folds=4, held_out_folds=2}";
    let hubs = "decoding.hubs={folds=2, neighbours=[5]}";
    let looked = at("looked");
    own(&[&["train", CONFIG, "--out", &looked, "--set", look, "--set", hubs], &small[..]].concat());
    assert!(folder.path().join("looked/reranker.safetensors").exists());
    let reranked: serde_json::Value =
        serde_json::from_str(&own(&["evaluate", &looked, "--json"])).unwrap();
    assert_ne!(reranked["mrr"], evaluated["mrr"]);
    let swept =
        own(&[&["sweep", CONFIG, "--grid", "encoder.neighbours=1,5", "--out", &runs], &small[..]]
            .concat());
    assert!(swept.contains("best: "), "{swept}");

    let reference = own(&["config-reference"]);
    let entry = "`kind = \"neighbours\"`: A kind of this program, with the keys `neighbours`.";
    assert!(reference.contains(entry), "{reference}");
    let version = format!("{name} (dsokr {})\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(own(&["--version"]), version);
    let help = own(&["help", "train"]);
    assert!(help.contains(&format!("Usage: {name} train [OPTIONS] <CONFIG>")), "{help}");

    // the command itself does not know the kind
    let mut command = Command::new(env!("CARGO_BIN_EXE_dsokr"));
    let refused = command.args(["search", &run, "an acid"]).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("kind = \"neighbours\": expected one of `ngram-bag`"), "{message}");
    ExitCode::SUCCESS
}

/// What the program prints.
fn own(arguments: &[&str]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.env(MARK, "").args(arguments).output().unwrap();
    let Output { status, stdout, stderr } = output;
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}
