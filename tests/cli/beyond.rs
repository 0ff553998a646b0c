//! Molecules that no table holds, found by a search from the best candidates.

use std::collections::BTreeSet;

use burn::tensor::Device;
use dsokr::molecule::Molecule;
use dsokr::run::Run;
use serde_json::Value;

use crate::molecules::sandbox;
use crate::sandbox::{Sandbox, json, number};
use crate::served::Served;

pub const SETTINGS: &str = "beam=5,starts=5,rounds=3,unknown=0.5";

/// Checks that a page of the book has every key of an object.
fn keys_are_described(object: &Value, page: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("book/src").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    for key in object.as_object().unwrap().keys() {
        assert!(text.contains(&format!("`{key}`")), "{page} lacks {key}");
    }
}

pub fn trained() -> Sandbox {
    let sandbox = sandbox();
    // bonds are seen, and most of every molecule lies in the span of the sketch
    let config = sandbox.read("molecules.toml");
    let config = config.replace("iterations = 2", "iterations = 2, edge_labels = true");
    sandbox.write("molecules.toml", &config.replace("size = 40", "size = 100"));
    sandbox.succeed(&["train", "molecules.toml", "--quiet"]);
    sandbox
}

fn with_threads(sandbox: &Sandbox, threads: &str, arguments: &[&str]) -> String {
    let output = sandbox.command(arguments).env("RAYON_NUM_THREADS", threads).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_search_finds_molecules_nearer_than_any_candidate() {
    let sandbox = trained();
    let plain = json(&sandbox.succeed(&["evaluate", "runs/molecules", "--json"]));
    assert!(plain.get("beyond").is_none());
    let beyond = format!("--beyond={SETTINGS}");
    let evaluate = ["evaluate", "runs/molecules", "--json", &beyond];
    let text = with_threads(&sandbox, "1", &evaluate);
    assert_eq!(text, with_threads(&sandbox, "3", &evaluate), "the same for any number of threads");
    let found = json(&text);
    for key in ["ged", "ged_bonds", "exact"] {
        assert_eq!(found[key], plain[key], "what candidates reach stays");
    }
    let beyond = &found["beyond"];
    assert!(number(beyond, "ged_bonds") < number(&found, "ged_bonds"), "{found}");
    assert!(number(beyond, "exact") > 0.0 && number(beyond, "outside") > 0.0, "{found}");
    assert!(number(beyond, "exact_without_stereo") >= number(beyond, "exact_molecule"));
    assert!(number(beyond, "tanimoto") > number(&beyond["candidates"], "tanimoto"), "{found}");
    assert!(number(beyond, "evaluated") > 20.0);

    // the same of a training that was asked for it
    let set = format!("decoding.beyond={{{SETTINGS}}}");
    let train = ["train", "molecules.toml", "--set", &set, "--out", "runs/searched"];
    let text = sandbox.succeed(&train);
    // each search is named by the row whose targets it is for
    let tables: Vec<&str> = text.split("exact molecule").skip(1).collect();
    assert_eq!(tables.len(), 2, "{text}");
    for (table, name) in tables.iter().zip(["model", "perfect h"]) {
        let lines: Vec<&str> = table.lines().skip(1).take(3).collect();
        assert!(lines[0].starts_with(name) && lines[1].starts_with("beyond "), "{text}");
        assert!(lines[2].starts_with(&format!("{name}, beyond: ")), "{text}");
    }
    let again = json(&sandbox.succeed(&["evaluate", "runs/searched", "--json"]));
    assert_eq!(again["beyond"], *beyond);
    let record: Value = serde_json::from_str(&sandbox.read("runs/searched/metrics.json")).unwrap();
    assert_eq!(record["beyond"], *beyond);
    for object in [&record, beyond, &beyond["candidates"]] {
        keys_are_described(object, "files.md");
    }
}

#[test]
fn sets_of_candidates_hold_nothing_beyond_these() {
    let sandbox = trained();
    let set = format!("decoding.beyond={{{SETTINGS}}}");
    let all = ["--set", "output.only_training=false", "--set", &set, "--out", "runs/all"];
    sandbox.succeed(&[&["train", "molecules.toml", "--quiet"][..], &all].concat());
    sandbox.write("texts.txt", "CCCCO\n");
    let predict = ["predict", "runs/all", "texts.txt"];
    assert!(json(&sandbox.succeed(&predict))["beyond"].is_array());
    let sets = [&predict[..], &["--coverage", "0.5"]].concat();
    let answer = json(&sandbox.succeed(&sets));
    assert!(answer["candidates"].is_array() && answer.get("beyond").is_none(), "{answer}");
    let both = [&sets[..], &["--beyond"]].concat();
    sandbox.fail(&both, 2, &["--coverage", "--beyond", "cannot be used with"]);
}

#[test]
fn molecules_beyond_the_candidates_pass_the_filter_of_these() {
    let sandbox = trained();
    let beyond = format!("--beyond={SETTINGS}");
    let search = |filter: &str| {
        let command =
            ["search", "runs/molecules", "OCCCCC#N", "--json", &beyond, "--filter", filter];
        json(&sandbox.succeed(&command))
    };
    let light = search("mass < 80");
    let found = light["beyond"].as_array().unwrap();
    for molecule in found {
        let smiles = molecule["label"].as_str().unwrap();
        assert!(Molecule::parse(smiles).unwrap().molar_mass() < 80.0, "{molecule}");
        assert_eq!(molecule["kept"], true, "{molecule}");
    }
    assert!(!found.is_empty(), "{light}");
    // nothing is known of the id of a molecule that is no candidate
    let first = light["candidates"][0]["id"].as_str().unwrap();
    for condition in [format!("id = \"{first}\""), format!("not id = \"{first}\"")] {
        let named = search(&condition);
        assert!(named.get("beyond").is_none(), "{condition}: {named}");
        let says = named["cautions"][0].as_str().unwrap();
        assert!(says.contains("nothing was searched beyond the candidates"), "{says}");
    }
    assert!(light.get("cautions").is_none(), "{light}");
    let either = search(&format!("mass < 80 or id = \"{first}\""));
    assert_eq!((&either["beyond"], either.get("cautions")), (&light["beyond"], None));
    // a candidate has its id, also where the search finds it
    let heavy = search("mass >= 80")["candidates"][0].clone();
    let id = heavy["id"].as_str().unwrap();
    let smiles = Molecule::parse(heavy["label"].as_str().unwrap()).unwrap().canonical_smiles();
    let with_heavy = search(&format!("mass < 80 or id = \"{id}\""));
    let found = with_heavy["beyond"].as_array().unwrap();
    let it = found.iter().find(|molecule| molecule["label"] == smiles);
    let facts = it.map(|molecule| (&molecule["in_table"], &molecule["kept"]));
    assert_eq!(facts, Some((&true.into(), &true.into())), "{with_heavy}");
    for molecule in found.iter().filter(|molecule| molecule["label"] != smiles) {
        let light = Molecule::parse(molecule["label"].as_str().unwrap()).unwrap();
        assert!(light.molar_mass() < 80.0, "{molecule}");
    }
    let none = search("mass < 1");
    assert!(none.get("beyond").is_none(), "{none}");
    let says = none["cautions"][0].as_str().unwrap();
    assert!(says.contains("met no molecule that passes the filter"), "{says}");
}

#[test]
fn an_answer_has_the_molecule_beside_the_candidates() {
    let sandbox = trained();
    let search = |settings: &str| {
        let beyond = format!("--beyond={settings}");
        let arguments = ["search", "runs/molecules", "CCCCO", "--top", "3", "--json", &beyond];
        json(&sandbox.succeed(&arguments))
    };
    let plain = search("rounds=3");
    let known = search("rounds=1,evaluations=1");
    // one evaluation is the first candidate, with its own score
    let found = &known["beyond"][0];
    keys_are_described(found, "beyond.md");
    let first = &known["candidates"][0];
    assert_eq!((&found["in_table"], &found["nearest"]), (&Value::Bool(true), &first["id"]));
    let molecule = Molecule::parse(first["label"].as_str().unwrap()).unwrap();
    assert_eq!(found["label"], molecule.canonical_smiles());
    assert_eq!((&found["evaluated"], &found["ended"]), (&Value::from(1), &"evaluations".into()));
    // a round is one of the best where its share of the evaluations is small
    let few = search("rounds=4,evaluations=30");
    assert_eq!(
        (&few["beyond"][0]["evaluated"], &few["beyond"][0]["ended"]),
        (&30.into(), &"evaluations".into())
    );
    assert_eq!(search("rounds=1")["beyond"][0]["ended"], "rounds");
    assert_eq!(search("rounds=40")["beyond"][0]["ended"], "neighbours");
    assert!((number(found, "score") - number(first, "score")).abs() < 1e-5, "{known}");
    assert!(number(&plain["beyond"][0], "score") >= number(found, "score") - 1e-5, "{plain}");

    let formula = search("formula=\"C5H12O\",rounds=6");
    assert_eq!(formula["beyond"][0]["kept"], true);
    let molecule = Molecule::parse(formula["beyond"][0]["label"].as_str().unwrap());
    assert_eq!(molecule.unwrap().formula(), "C5H12O");
    assert_eq!(search("formula=\"C90H2\",rounds=1")["beyond"][0]["kept"], false);
    // one that has the formula is a start, however far from the answer it is
    let all = ["search", "runs/molecules", "CCCCO", "--top", "30", "--json"];
    let all = json(&sandbox.succeed(&all));
    let last = all["candidates"][29]["label"].as_str().unwrap();
    let last = Molecule::parse(last).unwrap().formula();
    let far = search(&format!("formula=\"{last}\",rounds=1,evaluations=10"));
    assert_eq!(
        (&far["beyond"][0]["kept"], &far["beyond"][0]["in_table"]),
        (&true.into(), &true.into())
    );
    // so is a single start, but where the best candidate says which formula is kept
    let alone = search(&format!("formula=\"{last}\",starts=1,evaluations=1"));
    assert_eq!(alone["beyond"][0]["kept"], true, "{alone}");
    let molecule = Molecule::parse(alone["beyond"][0]["label"].as_str().unwrap());
    assert_eq!(molecule.unwrap().formula(), last);
    let of_first = search("formula=\"first\",mass=[1.0, 2.0],starts=1,evaluations=1");
    assert_eq!(of_first["beyond"][0]["nearest"], first["id"], "{of_first}");
    let part = search("part=\"C#N\"");
    assert!(part["beyond"][0]["label"].as_str().unwrap().contains('#'), "{part}");
    let mass = search("mass=[80.0, 90.0]");
    let molecule = Molecule::parse(mass["beyond"][0]["label"].as_str().unwrap());
    assert!((80.0..=90.0).contains(&molecule.unwrap().molar_mass()));

    sandbox.write("texts.txt", "CCCCO\nOCCCF\n");
    let predict = ["predict", "runs/molecules", "texts.txt", "--beyond", "--format", "tsv"];
    assert_eq!(sandbox.succeed(&predict).matches("\tnew\t").count(), 20);
}

#[test]
fn the_nearest_candidate_has_the_least_distance_in_coordinates() {
    let sandbox = sandbox();
    // a small basis, in which candidates have other lengths than 1
    let train = ["train", "molecules.toml", "--quiet", "--set", "sketch.size=3"];
    sandbox.succeed(&train);
    sandbox.write("text.txt", "CCCCOF\nC#CCCC\nNCCCCF\nOCCCCC#N\n");
    let predict = ["predict", "runs/molecules", "text.txt", "--top", "9", "--beyond=rounds=3"];
    sandbox.write("found.jsonl", &sandbox.succeed(&predict));
    let answers = sandbox.read("found.jsonl");
    let found = |line| json(line)["beyond"].as_array().unwrap().clone();
    let found = answers.lines().flat_map(found);
    let new: Vec<Value> = found.filter(|found| found["in_table"] == false).collect();
    assert!(new.len() > 8, "{answers}");
    let before = Run::open_all(&[sandbox.path("runs/molecules")], &Device::flex()).unwrap();
    let known = before.candidates();
    sandbox.succeed(&["candidates", "add", "runs/molecules", "found.jsonl", "--found"]);
    let run = Run::open_all(&[sandbox.path("runs/molecules")], &Device::flex()).unwrap();
    let candidates = &run.members()[0].candidates;
    let point = |at: usize| candidates.point(candidates.class_of(at) as usize).unwrap();
    let distance = |a: usize, b: usize| -> f64 {
        let (a, b) = (point(a), point(b));
        a.iter().zip(b.iter()).map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let all = known..run.candidates();
    for found in new {
        let at = all.clone().find(|&at| found["label"] == candidates.label(at)).unwrap();
        let least = (0..known).map(|other| distance(at, other)).fold(f64::INFINITY, f64::min);
        let nearest = candidates.find(found["nearest"].as_str().unwrap()).unwrap();
        assert!(distance(at, nearest) <= least + 1e-6, "{found}");
    }
}

#[test]
fn an_answer_has_as_many_molecules_as_candidates() {
    let sandbox = trained();
    let ask = |top: &str, settings: &str| {
        let beyond = format!("--beyond={settings}");
        let search = ["search", "runs/molecules", "CCCCCO", "--json", "--top", top, &beyond];
        json(&sandbox.succeed(&search))["beyond"].as_array().unwrap().clone()
    };
    let found = ask("12", "beam=3,rounds=2");
    assert_eq!(found.len(), 12);
    assert!(found.is_sorted_by(|a, b| number(a, "score") >= number(b, "score")));
    let labels: BTreeSet<&str> = found.iter().map(|own| own["label"].as_str().unwrap()).collect();
    assert_eq!(labels.len(), 12);
    // how many an answer has changes nothing about the search
    assert_eq!(ask("1", "beam=3,rounds=2"), found[..1]);
    // without moves they are the best candidates
    let known = ask("4", "starts=5,evaluations=4");
    let search = ["search", "runs/molecules", "CCCCCO", "--json", "--top", "5"];
    let candidates = json(&sandbox.succeed(&search))["candidates"].to_string();
    let is_first =
        |own: &Value| own["in_table"] == true && candidates.contains(&own["nearest"].to_string());
    assert!(known.len() == 4 && known.iter().all(is_first), "{known:?} {candidates}");
    let text = sandbox.succeed(&["search", "runs/molecules", "CCCCO", "--beyond", "--top", "4"]);
    assert_eq!(text.matches(" new ").count(), 4, "{text}");
}

/// A true molecule is where a perfect answer is, as far as the basis knows; the whole space has molecules that it knows better.
#[test]
fn the_sketch_study_searches_for_perfect_h() {
    let sandbox = sandbox();
    let exact = |more: &[&str]| {
        let sketch = ["sketch", "molecules.toml", "--sizes", "12", "--draws", "1", "--json"];
        let bonds = "output.features.graph.edge_labels=true";
        let set = ["--set", "evaluation.metric=exact", "--set", bonds];
        let found = json(&sandbox.succeed(&[&sketch[..], &set, more].concat()));
        number(&found["curves"][0]["points"][0], "mean")
    };
    let beyond = |weight: &str| format!("decoding.beyond={{beam=5,rounds=4,unknown={weight}}}");
    let [whole, within] = ["0.0", "-0.5"].map(|weight| exact(&["--set", &beyond(weight)]));
    let first = exact(&[]);
    assert!(within > whole + 0.2 && whole > first + 0.1, "{within} {whole} {first}");
}

/// Counts of substructures, and texts whose molecules are no candidates.
const TABLES: &str = r#"
[data]
folder = "small"
train = "texts.tsv"
id = "cid"
validation = "held.tsv"

[output]
table = "smiles.tsv"
id = "cid"
label = "smiles"
candidate = { column = "candidate" }
features = { kind = "substructures", column = "smiles", count = { name = "graph", kernel = { name = "weisfeiler-lehman", iterations = 2, edge_labels = true } } }
kernel = { name = "cosine" }

[sketch]
size = 100
method = { kind = "subsampling" }

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "characters", min = 1, max = 3, lowercase = false }] }
kernel = { name = "cosine" }
solver = { name = "closed-form" }
lambda = 1e-4

[evaluation]
split = "validation"
missing_gold = "rank-infinity"
"#;

#[test]
fn molecules_are_compared_where_the_true_one_is_no_candidate() {
    let sandbox = Sandbox::new();
    let mut pairs = "cid\tdescription\n".to_owned();
    let mut held_out = "cid\tdescription\n".to_owned();
    let mut table = "cid\tsmiles\tcandidate\n".to_owned();
    for (at, smiles) in crate::molecules::molecules().into_iter().enumerate() {
        let unseen = at % 12 == 5;
        let pair = format!("{at}\t{smiles}\n");
        if unseen {
            held_out += &pair
        } else {
            pairs += &pair
        }
        table += &format!("{at}\t{smiles}\t{}\n", u8::from(!unseen));
    }
    sandbox.write("data/small/texts.tsv", &pairs);
    sandbox.write("data/small/held.tsv", &held_out);
    sandbox.write("data/small/smiles.tsv", &table);
    sandbox.write("tables.toml", TABLES);
    sandbox.succeed(&["train", "tables.toml", "--quiet"]);
    let found = json(&sandbox.succeed(&[
        "evaluate",
        "runs/tables",
        "--json",
        &format!("--beyond={SETTINGS}"),
    ]));
    let beyond = &found["beyond"];
    assert_eq!(number(&beyond["candidates"], "exact_molecule"), 0.0, "{found}");
    assert!(number(beyond, "exact_molecule") > 0.2, "{found}");
    assert!(number(beyond, "tanimoto") > number(&beyond["candidates"], "tanimoto"), "{found}");
    let set = [
        "train",
        "tables.toml",
        "--set",
        &format!("decoding.beyond={{{SETTINGS}}}"),
        "--out",
        "runs/searched",
    ];
    sandbox.succeed(&[&set[..], &["--quiet"]].concat());
    let record: Value = serde_json::from_str(&sandbox.read("runs/searched/metrics.json")).unwrap();
    assert_eq!(record["beyond"], *beyond);
    // what a perfect model would find
    let perfect = number(&record["perfect_h"]["beyond"], "exact_molecule");
    assert!(perfect >= number(beyond, "exact_molecule"), "{record}");

    // the difference from the nearest candidate is that of their formulas
    let search = ["search", "runs/tables", "CCCCCC", "--json", "--beyond"];
    let answer = json(&sandbox.succeed(&search));
    assert!(answer["beyond"][0]["difference"].is_string(), "{answer}");
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let sandbox = trained();
    let with = |settings: &str| format!("--beyond={settings}");
    for (settings, expected) in [
        ("beam=0", "decoding.beyond.beam = 0"),
        ("evaluations=0", "decoding.beyond.evaluations = 0"),
        ("unknown=inf", "decoding.beyond.unknown = inf"),
        ("mass=[9.0, 2.0]", "decoding.beyond.mass"),
        ("width=3", "unknown field"),
        ("beam=", "decoding.beyond"),
    ] {
        sandbox.fail(&["search", "runs/molecules", "CCO", &with(settings)], 2, &[expected]);
    }
    let part = ["search", "runs/molecules", "CCO", &with("part=\"CC(\"")];
    sandbox.fail(&part, 2, &["decoding.beyond.part", "CC("]);
    sandbox.succeed(&["train", "small.toml", "--quiet"]);
    let other = ["search", "runs/small", "a ring", "--beyond"];
    sandbox.fail(&other, 2, &["output.features.kind", "molecules"]);
    let set = ["train", "small.toml", "--set", "decoding.beyond={}", "--out", "runs/none"];
    sandbox.fail(&set, 2, &["output.features.kind", "molecules"]);
    sandbox.succeed(&["candidates", "shard", "runs/molecules", "--parts", "2"]);
    let sharded =
        ["search", "runs/molecules", "CCO", "--shards", "runs/molecules/shards", "--beyond"];
    sandbox.fail(&sharded, 2, &["decoding.beyond", "in shards"]);
}

/// The page's requests: the search is a switch, and what differs from the nearest candidate is drawn.
#[test]
fn a_served_run_searches_where_it_is_asked() {
    let sandbox = trained();
    sandbox.succeed(&["train", "small.toml", "--quiet"]);
    let served = Served::start(&sandbox, &["runs/molecules", "runs/small"]);
    let models = json(&served.get("/api/models").body);
    let [molecules, small] = [&models["models"][0], &models["models"][1]];
    assert_eq!(
        (&molecules["beyond"], small.get("beyond")),
        (&Value::Bool(false), None),
        "{models}"
    );
    let ask = |more: Value| {
        let mut body = serde_json::json!({"texts": ["OCCCCC#N"], "top": 3, "explain": true});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let answer = |more| served.ask("/api/search", &ask(more))["answers"][0].clone();
    let all = &answer(serde_json::json!({"beyond": true}))["beyond"];
    let found = &all[0];
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert_eq!(found["in_table"], false, "{found}");
    let drawing = found["drawing"].as_str().unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains("class=\"differs\""), "{drawing}");
    let command = ["search", "runs/molecules", "OCCCCC#N", "--json", "--beyond"];
    let command = json(&sandbox.succeed(&command));
    assert_eq!(command["beyond"][0]["label"], found["label"]);
    let plain = answer(serde_json::json!({"beyond": true, "explain": false}));
    assert!(plain["beyond"][0].get("drawing").is_none(), "{plain}");
    for off in [serde_json::json!({}), serde_json::json!({"beyond": false})] {
        assert!(answer(off).get("beyond").is_none());
    }
    for (more, expected) in [
        (serde_json::json!({"beyond": true, "coverage": 0.5}), "with coverage"),
        (serde_json::json!({"beyond": true, "model": "small"}), "only molecules"),
    ] {
        let (status, answer) = served.post("/api/search", &ask(more));
        assert!(status == 422 || status == 400, "{status}");
        assert!(answer.to_string().contains(expected), "{answer:?}");
    }
}
