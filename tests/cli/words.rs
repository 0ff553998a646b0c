//! Words of texts against the structures of candidates.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json, number};

const CHAINS: usize = 120;
const LOOK: &str = "decoding.reranker={candidates=60, neighbours=7, folds=4, held_out_folds=4}";
const WORDS: &str =
    "decoding.reranker={candidates=60, neighbours=7, folds=4, held_out_folds=4, words={}}";

/// Of each length of a chain a molecule with chlorine and one with bromine. Their names differ by a letter. The words of
/// a text give the length; that of the halogen is another one in each text, so no word that was seen tells which it is.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut outputs = "id\tname\tsmiles\n".to_owned();
    let mut train = Vec::new();
    let mut rest = Vec::new();
    for length in 1..=CHAINS {
        for (at, (halogen, word)) in [("Cl", "chloro"), ("Br", "bromo")].into_iter().enumerate() {
            let id = format!("o{length}{halogen}");
            let number = 100 + length;
            let name = number.to_string().repeat(6) + ["p", "q"][at];
            let smiles = "C".repeat(length) + halogen;
            writeln!(outputs, "{id}\t{name}\t{smiles}").unwrap();
            let row = format!("{id}\ta chain of n{number} with {word}x{}", 7 * length + at);
            let seen = length <= 90 || length % 2 == at;
            if seen { &mut train } else { &mut rest }.push(row);
        }
    }
    sandbox.write("data/small/outputs.tsv", &outputs);
    let table = |rows: &[String]| format!("id\tdescription\n{}\n", rows.join("\n"));
    sandbox.write("data/small/train.tsv", &table(&train));
    sandbox.write("data/small/validation.tsv", &table(&rest[..5]));
    sandbox.write("data/small/test.tsv", &table(&rest[5..]));
    let config =
        CONFIG.replacen(BAG, RIDGE, 1).replacen("label = \"name\"", "label = \"smiles\"", 1);
    sandbox.write("ridge.toml", &config.replacen("size = 20", "size = 120", 1));
    sandbox.write(
        "data/small/halogens.tsv",
        "\u{feff}words\tstructure\r\nchloro\tatom Cl\r\nbromo\tatom Br\r\n\r\n",
    );
    sandbox
}

fn train(sandbox: &Sandbox, out: &str, sets: &[&str]) -> Value {
    let mut arguments = vec!["train", "ridge.toml", "--json", "--out", out];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    json(&sandbox.succeed(&arguments))
}

#[test]
fn words_decide_in_every_command_from_the_directory_alone() {
    let sandbox = sandbox();
    let without = train(&sandbox, "without", &[LOOK]);
    let report = train(&sandbox, "with", &[WORDS]);
    // one of two, which only the words tell apart
    assert!(number(&without, "hits@1") < 0.6, "{without}");
    assert!(number(&report, "hits@1") > 0.9, "{report}");
    let own = WORDS.replace("words={}", "words={lexicon=\"halogens.tsv\"}");
    let of_file = train(&sandbox, "own", &[&own]);
    assert!(number(&of_file, "hits@1") > 0.9, "{of_file}");
    assert_eq!(train(&sandbox, "again", &[&own]), of_file);
    let file = |run: &str| fs::read(sandbox.path(&format!("{run}/reranker.safetensors"))).unwrap();
    assert_eq!(file("own"), file("again"));

    // expressions are searched some at a time: behind a hundred that no text has, the others decide as before
    let mut long = "words\tstructure\n".to_owned();
    (0..100).for_each(|at| writeln!(long, "no text has {at}\tatom F").unwrap());
    long += "chloro\tatom Cl\nbromo\tatom Br\n";
    sandbox.write("data/small/long.tsv", &long);
    let behind = WORDS.replace("words={}", "words={lexicon=\"long.tsv\"}");
    assert_eq!(number(&train(&sandbox, "long", &[&behind]), "mrr"), number(&of_file, "mrr"));

    // a run goes on with the lexicon that it was started with alone
    let lexicon = sandbox.read("data/small/halogens.tsv");
    sandbox
        .write("data/small/halogens.tsv", &(lexicon.trim_end().to_owned() + "\nchain\tatom F\n"));
    let resume = ["train", "ridge.toml", "--out", "again", "--resume", "--set", &own];
    sandbox.fail(&resume, 2, &["the data have changed"]);

    // the lexicon is in the run
    fs::remove_file(sandbox.path("data/small/halogens.tsv")).unwrap();
    copy(&sandbox.path("own"), &sandbox.path("moved"));
    sandbox.succeed(&["embed", "moved", "data/small/test.tsv", "--out", "x.npy"]);
    for arguments in [
        &["evaluate", "moved", "--json"][..],
        &["rank", "--run", "moved", "--predictions", "x.npy", "--json"],
    ] {
        let found = json(&sandbox.succeed(arguments));
        for key in ["mrr", "hits@1", "mean_rank"] {
            assert_eq!(found[key], of_file[key], "{key}");
        }
    }
    let first = |text: &str| {
        let found = json(&sandbox.succeed(&["search", "moved", text, "--top", "2", "--json"]));
        found["candidates"][0]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(first("a chain of n150 with Chloro0"), "o50Cl");
    assert_eq!(first("a chain of n150 with bromo0"), "o50Br");

    // candidates that are added have facts too
    let more =
        "id\tname\tsmiles\nnewCl\t150150150150150p\tCCCCCl\nnewBr\t150150150150150q\tCCCCBr\n";
    sandbox.write("more.tsv", more);
    sandbox.succeed(&["candidates", "add", "moved", "more.tsv"]);
    let found = json(&sandbox.succeed(&[
        "search",
        "moved",
        "a chain of n150 with bromo0",
        "--top",
        "4",
        "--json",
    ]));
    let ids: Vec<&str> =
        found["candidates"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert!(ids[0].ends_with("Br"), "{ids:?}");
    let place = |id: &str| ids.iter().position(|own| *own == id).unwrap_or(ids.len());
    assert!(place("newBr") < place("newCl"), "{ids:?}");
}

#[test]
fn members_share_words_and_are_weighed_with_them() {
    let sandbox = sandbox();
    let members = |words: &str| {
        format!(
            r#"
[ensemble]
weights = "held-out"
reranker = "ridge"

[[ensemble.members]]
name = "ridge"
decoding.reranker = {{ candidates = 60, neighbours = 7, folds = 4, held_out_folds = 4{words} }}

[[ensemble.members]]
name = "bag"
encoder = {{ kind = "ngram-bag", hidden = [], ngrams = [{{ kind = "words", min = 1, max = 1 }}] }}
decoding.hubs = {{ neighbours = [3], folds = 4, held_out_folds = 1, refit = false }}
"#
        )
    };
    // any character may be in a text
    let train = "data/small/train.tsv";
    sandbox.write(train, &sandbox.read(train).replace(" of n", " of\0n"));
    for (name, words) in [("plain", ""), ("words", ", words = {}")] {
        let file = format!("{name}.toml");
        sandbox.write(&file, &(sandbox.read("ridge.toml") + &members(words)));
        let report = json(&sandbox.succeed(&["train", &file, "--json"]));
        let found = json(&sandbox.succeed(&["evaluate", &format!("runs/{name}"), "--json"]));
        assert_eq!(found["mrr"], report["mrr"]);
        let all = [number(&found, "hits@1"), number(&found["members"][1], "mrr")];
        let right = if words.is_empty() {
            all[0] < 0.6 && all[1] < 0.2
        } else {
            all[0] > 0.9 && all[1] > 0.25
        };
        assert!(right, "{found}");
    }
}

#[test]
fn words_that_cannot_be_compared_are_refused() {
    let sandbox = sandbox();
    let with = |words: &str| WORDS.replace("words={}", &format!("words={{{words}}}"));
    for (set, says) in [
        (with("lexikon=\"x\""), &["lexikon", "lexicon"][..]),
        (with("lexicon=\"none.tsv\""), &["none.tsv"]),
    ] {
        sandbox.fail(&["train", "ridge.toml", "--set", &set], 2, says);
    }
    let pairs = |word: &str, count: usize| -> String {
        (0..count).map(|at| format!("{word}{at}\tisotope\n")).collect()
    };
    for (lines, says) in [
        ("", &["line 1", "at least one line"][..]),
        ("chlor\tatom Cl\nbrom", &["line 3", "\"brom\"", "a tab"]),
        ("chlor\tatom Cl\nbrom(\tatom Br", &["line 3", "\"brom(\"", "unclosed group"]),
        ("chlor\tatom Cx", &["line 2", "\"atom Cx\"", "symbol of an element"]),
        ("a\tisotope\nb\tisotope\na\tisotope", &["line 4", "\"a\\tisotope\"", "in line 2"]),
        ("a\tisotope\n\nb\tisotope", &["line 3", "\"\"", "a tab"]),
        ("Labelled\tisotope", &["line 2", "\"Labelled\"", "lower case"]),
        ("chlor|\tatom Cl", &["line 2", "\"chlor|\"", "an empty text does not match"]),
        (&format!("{}\tisotope", "a".repeat(20_000)), &["line 2", "20008 bytes", "10000"]),
        (&pairs("word", 10_001), &["line 10002", "one more pair", "at most 10000"]),
        (&pairs("\\w{150}", 4), &["wrong.tsv: the regular", "size limit"]),
    ] {
        sandbox.write("data/small/wrong.tsv", &format!("words\tstructure\n{lines}\n"));
        let set = with("lexicon=\"wrong.tsv\"");
        sandbox.fail(&["train", "ridge.toml", "--set", &set], 2, says);
    }
    sandbox.write("data/small/wrong.tsv", "words\tfact\nchlor\tatom Cl\n");
    let wrong = ["train", "ridge.toml", "--set", &with("lexicon=\"wrong.tsv\"")];
    sandbox.fail(&wrong, 2, &["line 1", "words\\tstructure"]);
    let names = ["train", "ridge.toml", "--set", WORDS, "--set", "output.label=\"name\""];
    sandbox.fail(&names, 2, &["decoding.reranker.words", "SMILES as output.label"]);
    assert!(!sandbox.path("runs").exists());
}
