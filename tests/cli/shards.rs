//! Candidates in shards.

use std::fs;

use dsokr::decode::Candidates;

use crate::sandbox::{Sandbox, json, number};

#[test]
fn shards_are_written_replaced_and_read_by_one_process() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run", "--quiet"]);
    let evaluate = ["evaluate", "run", "--json"];
    let whole = sandbox.succeed(&evaluate);
    let search = ["search", "run", "a ring of kind METH", "--top", "25", "--json"];
    let hits = sandbox.succeed(&search);
    for (parts, precision) in [("4", "f32"), ("3", "i8")] {
        let options = ["--parts", parts, "--precision", precision, "--out", "elsewhere/shards"];
        sandbox.succeed(&[&["candidates", "shard", "run"][..], &options].concat());
        let files = fs::read_dir(sandbox.path("elsewhere/shards")).unwrap().count();
        assert_eq!(files.to_string(), parts);
        let shards = ["--shards", "elsewhere/shards"];
        assert_eq!(sandbox.succeed(&[&evaluate[..], &shards].concat()), whole);
        assert_eq!(sandbox.succeed(&[&search[..], &shards].concat()), hits);
    }
    // rounded coordinates are half the bytes, and nearly the same scores
    let out = ["--out", "rounded", "--precision", "f16"];
    sandbox.succeed(&[&["candidates", "shard", "run", "--parts", "1"][..], &out].concat());
    let rounded = sandbox.succeed(&[&search[..], &["--shards", "rounded"]].concat());
    assert_ne!(rounded, hits);
    let score = |text: &str| number(&json(text)["candidates"][0], "score");
    assert!((score(&rounded) - score(&hits)).abs() < 1e-3);
    let whole = Candidates::load(&sandbox.path("run/candidates.safetensors")).unwrap();
    let refused = |options: &[&str], expected: &[&str]| {
        sandbox.fail(&[&["candidates", "shard"], options].concat(), 2, expected);
    };
    let allowed = format!("--parts = 1000: expected 1 to {}, the distinct", whole.distinct());
    refused(&["run", "--parts", "1000"], &[&allowed]);
    refused(&["run", "--parts", "0"], &["--parts = 0: expected 1 to"]);
    refused(
        &["run", "--parts", "2", "--precision", "f8"],
        &["--precision", "`f8`, expected one of `f32`, `f16`, `i8`"],
    );
    let expected = ["--out = data, which holds small: expected a folder that does not exist"];
    refused(&["run", "--parts", "2", "--out", "data"], &expected);
    sandbox.fail(&["evaluate", "run", "--shards", "nowhere"], 2, &["nowhere"]);
    let expected = ["data: no shards of candidates"];
    sandbox.fail(&["evaluate", "run", "--shards", "data"], 2, &expected);
    let expected = ["--shards = rounded: remove it: the candidates of several models"];
    sandbox.fail(&["evaluate", "run", "run", "--shards", "rounded"], 2, &expected);
    // of candidates before some were added
    let table = sandbox.read("data/small/outputs.tsv");
    let mut lines = table.lines();
    let heading = lines.next().unwrap();
    let row = lines.next().unwrap();
    let (_, cells) = row.split_once('\t').unwrap();
    sandbox.write("new.tsv", &format!("{heading}\nnew\t{cells}\n"));
    sandbox.succeed(&["candidates", "add", "run", "new.tsv"]);
    let expected = ["shard-0-of-1.safetensors: a shard of other candidates: their fingerprint is"];
    sandbox.fail(&["evaluate", "run", "--shards", "rounded"], 2, &expected);
}

#[test]
fn what_a_killed_sharding_left_is_removed_by_the_next_one() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["train", "small.toml", "--out", "run", "--quiet"]);
    for folder in ["run/.shards.a1B2c3.partial", "run/.shards.notes.partial"] {
        fs::create_dir(sandbox.path(folder)).unwrap();
        sandbox.write(&format!("{folder}/shard-0-of-2.safetensors"), "half");
    }
    for _ in 0..2 {
        sandbox.succeed(&["candidates", "shard", "run", "--parts", "2"]);
    }
    let names = fs::read_dir(sandbox.path("run")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut hidden: Vec<_> =
        names.filter(|name| name.as_encoded_bytes().starts_with(b".")).collect();
    hidden.sort();
    assert_eq!(hidden, [".shards.notes.partial"]);
    let expected = ["--out = run/checkpoint", "a path outside of", "a run directory"];
    let shard = ["candidates", "shard", "run", "--parts", "2", "--out", "run/checkpoint"];
    sandbox.fail(&shard, 2, &expected);
    sandbox.succeed(&["candidates", "shard", "run", "--parts", "3", "--out", "run/shards"]);
    assert_eq!(fs::read_dir(sandbox.path("run/shards")).unwrap().count(), 3);
}

#[test]
fn runs_whose_candidates_are_not_divided_have_no_shards() {
    let sandbox = Sandbox::new();
    let members = "\n[ensemble]\n[[ensemble.members]]\nname = \"a\"\n\n[[ensemble.members]]\nname = \"b\"\n\
                   training.epochs = 2\n";
    let ensemble = sandbox.read("small.toml") + members;
    sandbox.write("ensemble.toml", &ensemble);
    sandbox.succeed(&["train", "ensemble.toml", "--out", "both", "--quiet"]);
    let expected = ["both: an ensemble: expected the run of one model"];
    sandbox.fail(&["candidates", "shard", "both", "--parts", "2"], 2, &expected);
    let written = sandbox.succeed(&["candidates", "shard", "both/members/a", "--parts", "2"]);
    assert!(written.starts_with("both/members/a/shards: "), "{written}");
}
