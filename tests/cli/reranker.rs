//! The first candidates of a query, scored anew.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::resume::assert_same;
use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json, number};
use crate::served::Served;

const LOOK: &str = "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=2}";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    sandbox.write("bag.toml", CONFIG);
    sandbox
}

fn candidates(sandbox: &Sandbox, run: &str) -> Vec<Value> {
    let query = ["search", run, "a ring of kind METH and class ANE", "--top", "12", "--json"];
    json(&sandbox.succeed(&query))["candidates"].as_array().unwrap().clone()
}

#[test]
fn the_first_candidates_are_scored_anew_and_no_others() {
    let sandbox = sandbox();
    let train = |out: &str, more: &[&str]| {
        // few coordinates, so that not every query is answered
        let mut arguments = vec!["train", "ridge.toml", "--json", "--out", out];
        more.iter().chain(&["sketch.size=4"]).for_each(|set| arguments.extend(["--set", set]));
        json(&sandbox.succeed(&arguments))
    };
    train("plain", &["decoding.normalise=true"]);
    let report = train("look", &[LOOK]);
    assert_eq!(train("again", &[LOOK]), report);
    assert_eq!(
        fs::read(sandbox.path("look/reranker.safetensors")).unwrap(),
        fs::read(sandbox.path("again/reranker.safetensors")).unwrap()
    );
    let hubs = "decoding.hubs={weights=[0.5], neighbours=[3]}";
    assert_ne!(train("hubs", &[LOOK, hubs])["mean_rank"], report["mean_rank"]);

    // every command, from the directory alone
    copy(&sandbox.path("look"), &sandbox.path("moved"));
    fs::remove_dir_all(sandbox.path("look")).unwrap();
    sandbox.succeed(&["embed", "moved", "data/small/test.tsv", "--out", "x.npy"]);
    let rank = ["rank", "--run", "moved", "--predictions", "x.npy", "--json"];
    for arguments in [&["evaluate", "moved", "--json"][..], &rank] {
        let found = json(&sandbox.succeed(arguments));
        for key in ["mrr", "hits@1", "mean_rank"] {
            assert_eq!(found[key], report[key], "{key}");
        }
    }

    let before = candidates(&sandbox, "plain");
    let after = candidates(&sandbox, "moved");
    let ids = |some: &[Value]| some.iter().map(|c| c["id"].to_string()).collect::<Vec<_>>();
    let sorted = |some: &[Value]| {
        let mut ids = ids(some);
        ids.sort();
        ids
    };
    // no two candidates of these are the same point
    assert_eq!(sorted(&before[..5]), sorted(&after[..5]));
    assert_eq!(ids(&before[5..]), ids(&after[5..]));
    let scores: Vec<f64> = after.iter().map(|c| c["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!((scores[0] - before[4]["score"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{scores:?}");
}

/// Outputs have one text each, so no pair that is left out has a training output as its answer.
#[test]
fn texts_that_the_run_has_learned_find_their_outputs() {
    let sandbox = Sandbox::new();
    let root = env!("CARGO_MANIFEST_DIR");
    let config = format!("{root}/configs/quickstart.toml");
    let inputs =
        r#"kind = "ngrams", blocks = [{ kind = "characters", min = 3, max = 5, min_texts = 2 }]"#;
    let solver = r#"solver = { name = "closed-form" }, lambda = 1e-5"#;
    let encoder = format!(
        r#"encoder={{ kind = "kernel-machine", inputs = {{ {inputs} }}, kernel = {{ name = "cosine" }}, {solver} }}"#
    );
    let look = "candidates = 20, neighbours = 20, folds = 4, held_out_folds = 1, refit = false";
    let look = format!("decoding.reranker={{ {look} }}");
    let sets = ["--set", &encoder, "--set", &look];
    sandbox.succeed(&[&["train", &config, "--data", root, "--out", "look"], &sets[..]].concat());
    let found = json(&sandbox.succeed(&["evaluate", "look", "--split", "train", "--json"]));
    // without texts that the model knows among the examples 0.77
    assert!(number(&found, "mrr") > 0.97, "{found}");
}

/// The system of the machine without a part is a block of its own: neither the machine nor the reranker changes
/// much.
#[test]
fn a_reranker_needs_no_further_fit() {
    let sandbox = sandbox();
    let embedded = |out: &str, refit: bool| {
        let look = "candidates=5, neighbours=7, folds=4, held_out_folds=1";
        let look = format!("decoding.reranker={{{look}, refit={refit}}}");
        let sets = ["--set", &look, "--set", "sketch.size=4", "--set", "decoding.held_out=true"];
        let report = json(
            &sandbox
                .succeed(&[&["train", "ridge.toml", "--json", "--out", out], &sets[..]].concat()),
        );
        let file = format!("{out}.npy");
        sandbox.succeed(&["embed", out, "data/small/test.tsv", "--out", &file]);
        let bytes = fs::read(sandbox.path(&file)).unwrap();
        let values = bytes[bytes.len() - 4 * 4 * 10..].as_chunks::<4>().0.iter();
        let values: Vec<f32> = values.map(|value| f32::from_le_bytes(*value)).collect();
        (report, values)
    };
    let (report, expected) = embedded("refitted", true);
    let (own, found) = embedded("own", false);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    assert!((number(&own, "mrr") - number(&report, "mrr")).abs() < 0.1, "{own} {report}");
    assert_eq!(embedded("again", false).0, own);
    // leave-one-out answers are in the places of their pairs
    let expected = sandbox.numbers("refitted/held-out.safetensors", "predictions");
    let found = sandbox.numbers("own/held-out.safetensors", "predictions");
    assert_eq!(expected.len(), 4 * 60);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    // the reranker that has not seen some pairs has learned from a half of the 15, and is judged by the other one
    let bytes = fs::read(sandbox.path("own/held-out.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let unseen = file.tensor("unseen_pairs").unwrap().shape()[0];
    assert!((7..=8).contains(&unseen), "{unseen}");
}

#[test]
fn a_server_looks_a_second_time_too() {
    let sandbox = sandbox();
    sandbox.train("ridge.toml", &[LOOK, "sketch.size=4"]);
    let served = Served::start(&sandbox, &["runs/ridge"]);
    for text in ["a ring of kind METH and class ANE", "an open chain of kind OCT and class YNE"] {
        let query = ["search", "runs/ridge", text, "--top", "80", "--json"];
        let expected = json(&sandbox.succeed(&query));
        let expected = expected["candidates"].as_array().unwrap();
        // a first page within the candidates that are looked at again, and a page beyond them
        for (skip, top) in [(0, 3), (3, 77)] {
            let query = serde_json::json!({"texts": [text], "top": top, "skip": skip});
            let found = served.ask("/api/search", &query);
            let hits = found["answers"][0]["hits"].as_array().unwrap();
            assert_eq!(hits.len(), top, "{found}");
            for (hit, own) in hits.iter().zip(&expected[skip..]) {
                assert_eq!((&hit["id"], &hit["score"]), (&own["id"], &own["score"]));
            }
        }
        let ids: Vec<&Value> = expected.iter().map(|own| &own["id"]).collect();
        let ranked = served.ask("/api/rank", &serde_json::json!({"texts": [text], "ids": [ids]}));
        for (above, (own, ranked)) in
            expected.iter().zip(ranked["answers"][0].as_array().unwrap()).enumerate()
        {
            assert_eq!(
                (&ranked["above"], &ranked["score"]),
                (&serde_json::json!(above), &own["score"])
            );
        }
    }
}

#[test]
fn what_has_no_reranker_is_refused() {
    let sandbox = sandbox();
    for (config, set, says) in [
        ("bag.toml", "decoding.reranker={neighbours=54}", &["neighbours = 54", "1 to 40"][..]),
        ("bag.toml", "decoding.reranker={held_out_folds=1, refit=false}", &["decoding.hubs"]),
        ("ridge.toml", "decoding.reranker={candidates=1}", &["candidates = 1", "at least 2"]),
        ("ridge.toml", "decoding.reranker={neighbours=0}", &["neighbours = 0", "at least 1"]),
        ("ridge.toml", "decoding.reranker={neighbours=53}", &["53", "1 to 52"]),
        ("ridge.toml", "decoding.reranker={folds=1}", &["folds = 1", "at least 2"]),
        ("ridge.toml", "decoding.reranker={held_out_folds=9}", &["held_out_folds = 9", "1 to 8"]),
        (
            "ridge.toml",
            "decoding.reranker={refit=false}",
            &["refit = false", "reranker.held_out_folds = 1"],
        ),
    ] {
        sandbox.fail(&["train", config, "--set", set], 2, says);
    }
    let sketched = "encoder.solver={name=\"sketched\", sketch={size=20}}";
    let look = "decoding.reranker={held_out_folds=1, refit=false}";
    let train = ["train", "ridge.toml", "--set", sketched, "--set", look];
    sandbox.fail(&train, 2, &["decoding.reranker.refit", "\"closed-form\""]);
    let full = ["train", "ridge.toml", "--set", LOOK, "--set", "sketch={full=true}"];
    sandbox.fail(&full, 2, &["decoding.reranker", "sketch.full"]);

    // a run whose file is missing or damaged
    sandbox.train("ridge.toml", &[LOOK]);
    let shard = ["candidates", "shard", "runs/ridge", "--parts", "2"];
    sandbox.fail(&shard, 2, &["runs/ridge: a run with decoding.reranker: expected one without"]);
    let file = sandbox.path("runs/ridge/reranker.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    sandbox.fail(&["evaluate", "runs/ridge"], 2, &["reranker.safetensors"]);
    fs::remove_file(file).unwrap();
    sandbox.fail(&["evaluate", "runs/ridge"], 2, &["reranker.safetensors"]);
}

/// The standard error of a training with a reranker of the bag, whose further fits it counts.
fn told(sandbox: &Sandbox, out: &str, sets: &[&str]) -> String {
    let mut arguments = vec!["train", "bag.toml", "--out", out];
    sets.iter().chain(&["sketch.size=4"]).for_each(|set| arguments.extend(["--set", set]));
    let output = sandbox.run(&arguments);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    told
}

#[test]
fn an_encoder_is_fitted_anew_without_parts_of_the_pairs() {
    let sandbox = sandbox();
    let plain = "decoding.normalise=true";
    told(&sandbox, "plain", &[plain]);
    // three encoders for all pairs, and for each of two folds one, and three for the others
    let text = told(&sandbox, "look", &[LOOK]);
    for number in 1..=11 {
        assert!(text.contains(&format!("further fit {number} of 11")), "{number}: {text}");
    }
    assert!(sandbox.path("look/reranker.safetensors").exists());
    assert!(!sandbox.path("look/checkpoint/further-fits").exists());
    let before = candidates(&sandbox, "plain");
    let after = candidates(&sandbox, "look");
    let ids = |some: &[Value]| some.iter().map(|c| c["id"].to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&before[5..]), ids(&after[5..]));
    let scores = |some: &[Value]| some.iter().map(|c| c["score"].to_string()).collect::<Vec<_>>();
    assert_ne!(scores(&before[..5]), scores(&after[..5]));
    // of the validation split with it and without it
    assert!(text.contains("reranker") && text.contains("without="), "{text}");

    // without numbers three encoders for all pairs, which serve the folds too, and one for each two of three parts
    let look = "decoding.reranker={candidates=5, neighbours=7}";
    assert!(told(&sandbox, "few", &[look]).contains("further fit 6 of 6"));
    // folds of the reranker and of the hubs are the same, and so is one of the encoders
    let hubs = "decoding.hubs={weights=[0.0], folds=4, held_out_folds=1}";
    let look = "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=1}";
    assert!(told(&sandbox, "shared", &[hubs, look]).contains("further fit 2 of 2"));
    // the encoder of the run has not seen a quarter, with which queries are compared
    let hubs = "decoding.hubs={weights=[0.0], folds=4, held_out_folds=1, refit=false}";
    assert!(told(&sandbox, "own", &[hubs, look]).contains("further fit 1 of 1"));
    let evaluate = |run: &str| json(&sandbox.succeed(&["evaluate", run, "--json"]));
    assert_ne!(evaluate("own")["mrr"], Value::Null);
}

/// Machines without leave-one-out predictions, and values of kernels, which have them, but not without a fold.
#[test]
fn any_kernel_machine_has_a_reranker() {
    let sandbox = sandbox();
    let sketch = "sketch={size=20}";
    for solver in [
        format!("name=\"conjugate-gradients\", {sketch}"),
        format!("name=\"divide-and-conquer\", {sketch}, parts=2"),
    ] {
        let set = format!("encoder.solver={{{solver}}}");
        let hubs = "decoding.hubs={weights=[0.5], neighbours=[3], folds=4}";
        for out in ["first", "second"] {
            let arguments = ["train", "ridge.toml", "--json", "--out", out, "--set", &set];
            let more = ["--set", LOOK, "--set", hubs, "--set", "sketch.size=4"];
            sandbox.succeed(&[&arguments[..], &more].concat());
        }
        let file = |run: &str| fs::read(sandbox.path(run).join("reranker.safetensors")).unwrap();
        assert_eq!(file("first"), file("second"));
        for run in ["first", "second"] {
            fs::remove_dir_all(sandbox.path(run)).unwrap();
        }
    }
}

#[test]
fn further_fits_that_a_killed_run_has_made_are_not_made_again() {
    let sandbox = sandbox();
    let sets = ["--set", LOOK, "--set", "sketch.size=4", "--set", "training.epochs=40"];
    let train = |out: &'static str| [&["train", "bag.toml", "--out", out][..], &sets].concat();
    sandbox.succeed(&train("whole"));
    let mut child = sandbox.command(&train("killed")).stderr(Stdio::null()).spawn().unwrap();
    let second = sandbox.path("killed/checkpoint/further-fits/2.safetensors");
    while !second.exists() {
        assert_eq!(child.try_wait().unwrap(), None, "it has ended before");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let log = sandbox.read("killed/log.jsonl");
    let resumed = sandbox.run(&[&train("killed")[..], &["--resume"]].concat());
    let told = String::from_utf8_lossy(&resumed.stderr);
    assert!(resumed.status.success(), "{told}");
    for made in ["further fit 1 of", "further fit 2 of"] {
        assert!(!told.contains(made), "{told}");
    }
    assert!(told.contains("further fit 11 of 11"), "{told}");
    assert_eq!(sandbox.read("killed/log.jsonl"), log);
    assert_same(&sandbox, "whole", "killed");
    let file = |run: &str| fs::read(sandbox.path(run).join("reranker.safetensors")).unwrap();
    assert_eq!(file("whole"), file("killed"));
    assert!(!second.exists());
    // a kill may come after the report and before they are removed
    let folder = second.parent().unwrap();
    fs::create_dir(folder).unwrap();
    fs::write(&second, "left").unwrap();
    sandbox.succeed(&[&train("killed")[..], &["--resume"]].concat());
    assert!(!folder.exists());
}

/// Predicted graphs are farther from the right ones with a reranker, which puts more of the right ones among the first ten.
#[test]
fn a_reranker_that_loses_is_advised_against() {
    let sandbox = Sandbox::new();
    let root = env!("CARGO_MANIFEST_DIR");
    let config = format!("{root}/configs/graphs.toml");
    let train = |out: &str, sets: &[&str]| {
        let mut arguments = vec!["train", &config, "--data", root, "--out", out, "--json"];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        let output = sandbox.run(&arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        (json(&String::from_utf8_lossy(&output.stdout)), told)
    };
    let validation = "evaluation.split=validation";
    let (plain, _) = train("plain", &[validation, "decoding.normalise=true"]);
    let (report, told) = train("look", &[validation, "decoding.reranker={}"]);
    let [with, without] = [&report, &plain].map(|report| number(report, "ged"));
    assert!(with > without, "{with} {without}");
    let says = format!(
        "advice: the validation ged is {with:.4} with the reranker and {without:.4} without it: remove decoding.reranker"
    );
    assert!(told.contains(&says), "no {says:?} in {told}");
    // by ranks it wins
    let ranks = [validation, "decoding.reranker={}", "evaluation.metric=mrr"];
    let (report, told) = train("ranks", &ranks);
    assert!(number(&report, "mrr") > number(&plain, "mrr"));
    assert!(!told.contains("remove decoding.reranker"), "{told}");
}

#[test]
fn a_member_with_a_reranker_is_weighed_by_answers_that_it_has_not_seen() {
    let sandbox = sandbox();
    let members = r#"
[ensemble]
weights = "held-out"

[[ensemble.members]]
name = "ridge"
decoding.hubs = { neighbours = [3] }
decoding.reranker = { candidates = 8, neighbours = 7, folds = 4, held_out_folds = 2 }

[[ensemble.members]]
name = "bag"
encoder = { kind = "ngram-bag", hidden = [], ngrams = [{ kind = "words", min = 1, max = 1 }] }
decoding.hubs = { neighbours = [3], folds = 4, held_out_folds = 1, refit = false }
"#;
    sandbox.write("look.toml", &(sandbox.read("ridge.toml") + members));
    let train = |out: &str, more: &[&str]| {
        let few = ["train", "look.toml", "--json", "--out", out, "--set", "sketch.size=4"];
        json(&sandbox.succeed(&[&few[..], more].concat()))
    };
    let report = train("look", &[]);
    let found = json(&sandbox.succeed(&["evaluate", "look", "--json"]));
    assert_eq!(found["mrr"], report["mrr"]);
    let weights: Vec<f64> =
        found["members"].as_array().unwrap().iter().map(|it| number(it, "weight")).collect();
    assert!(weights.iter().all(|&weight| weight >= 0.0), "{weights:?}");
    // scores after the reranker are the ones that are combined
    let plain: Vec<&str> = members.lines().filter(|line| !line.contains("reranker")).collect();
    sandbox.write("plain.toml", &(sandbox.read("ridge.toml") + &plain.join("\n")));
    let plain = ["train", "plain.toml", "--json", "--set", "sketch.size=4"];
    assert_ne!(json(&sandbox.succeed(&plain))["mean_rank"], report["mean_rank"]);
    let rule = sandbox.read("look/combination.json");
    for name in ["metrics.json", "combination.json"] {
        fs::remove_file(sandbox.path(&format!("look/{name}"))).unwrap();
    }
    assert_eq!(train("look", &["--resume"]), report);
    assert_eq!(sandbox.read("look/combination.json"), rule);
    // parts that have no pair in common
    let apart = members.replace("folds = 4", "folds = 20");
    let apart = apart.replace("name = \"bag\"", "name = \"bag\"\nseed = 7");
    sandbox.write("apart.toml", &(sandbox.read("ridge.toml") + &apart));
    sandbox.fail(&["train", "apart.toml"], 2, &["ensemble.weights", "the same number of folds"]);
    let part = sandbox.path("look/members/ridge/reranker-unseen.safetensors");
    fs::remove_file(part).unwrap();
    fs::remove_file(sandbox.path("look/metrics.json")).unwrap();
    let again = ["train", "look.toml", "--out", "look", "--resume", "--set", "sketch.size=4"];
    sandbox.fail(&again, 2, &["ridge/reranker-unseen.safetensors"]);
}

#[test]
fn members_share_the_reranker_of_one() {
    let sandbox = sandbox();
    let members = |more: &str, set: &str| {
        format!(
            r#"
[ensemble]
weights = "held-out"
{more}

[[ensemble.members]]
name = "ridge"
decoding.hubs = {{ neighbours = [3] }}
decoding.reranker = {{ candidates = 60, neighbours = 7, folds = 4, held_out_folds = 2 }}

[[ensemble.members]]
name = "bag"
encoder = {{ kind = "ngram-bag", hidden = [], ngrams = [{{ kind = "words", min = 1, max = 1 }}] }}
decoding.hubs = {{ neighbours = [3], folds = 4, held_out_folds = 1, refit = false }}
{set}
"#
        )
    };
    let train = |name: &str, more: &str, set: &str, sketch: &str| {
        sandbox.write(&format!("{name}.toml"), &(sandbox.read("ridge.toml") + &members(more, set)));
        json(&sandbox.succeed(&["train", &format!("{name}.toml"), "--json", "--set", sketch]))
    };
    let shared = "reranker = \"ridge\"";
    let sketch = "sketch.size=4";
    let report = train("shared", shared, "", sketch);
    train("apart", "", "", sketch);
    let evaluate = |run: &str| json(&sandbox.succeed(&["evaluate", run, "--json"]));
    let found = evaluate("runs/shared");
    let apart = evaluate("runs/apart");
    assert_eq!(found["mrr"], report["mrr"]);
    let of = |found: &Value, member: usize| {
        let member = &found["members"][member];
        (number(member, "mrr"), number(member, "mean_rank"))
    };
    assert_eq!(of(&found, 0), of(&apart, 0));
    assert_ne!(of(&found, 1), of(&apart, 1), "{found}");

    let fail = |name: &str, more: &str, set: &str, says: &[&str]| {
        let file = format!("{name}.toml");
        sandbox.write(&file, &(sandbox.read("ridge.toml") + &members(more, set)));
        sandbox.fail(&["train", &file, "--set", sketch], 2, says);
    };
    let says = ["ensemble.reranker = \"bag\"", "the name of a member", "reranker: ridge"];
    fail("named", "reranker = \"bag\"", "", &says);
    let differences = [
        ("output.power = 0.5", "output.power"),
        ("sketch = { size = 3 }", "sketch"),
        ("seed = 1", "seed"),
    ];
    for (set, key) in differences {
        let says = format!("the member bag has a different {key}, and so a different basis");
        fail("different", shared, set, &["ensemble.reranker = \"ridge\"", &says]);
        // nothing has been trained
        assert!(!sandbox.path("runs/different").exists());
    }
}
