//! Several runs that vote, tempered kernels, and the correction for hubs.

use std::fs;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json, number, unstable_training};

fn ridge() -> String {
    CONFIG.replacen(BAG, RIDGE, 1)
}

const MEMBERS: &str = r#"
[ensemble]
weights = "validation"
parallel = 2

[[ensemble.members]]
name = "ridge"

[[ensemble.members]]
name = "bag"
encoder = { kind = "ngram-bag", hidden = [], ngrams = [{ kind = "words", min = 1, max = 1 }] }
training.epochs = 8

[[ensemble.members]]
name = "letters"
output.features = { kind = "ngrams", column = "name", min = 1, max = 1 }
output.power = 0.5
"#;

pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &ridge());
    sandbox.write("several.toml", &(ridge() + MEMBERS));
    sandbox
}

#[test]
fn an_ensemble_of_machines_and_encoders_is_one_run() {
    let sandbox = sandbox();
    let report = json(&sandbox.succeed(&["train", "several.toml", "--json"]));
    assert!(number(&report, "mrr") > 3.0 * number(&report["chance"], "mrr"), "{report}");
    let rule = sandbox.read("runs/several/combination.json");
    assert!(rule.contains("weights"), "{rule}");

    copy(&sandbox.path("runs/several"), &sandbox.path("moved"));
    fs::remove_dir_all(sandbox.path("runs")).unwrap();
    let found = json(&sandbox.succeed(&["evaluate", "moved", "--json"]));
    assert_eq!(found["mrr"], report["mrr"]);
    let members = found["members"].as_array().unwrap();
    assert_eq!(members.len(), 3);
    let weights: f64 = members.iter().map(|member| number(member, "weight")).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{found}");
    // a member is a run by itself
    let alone = json(&sandbox.succeed(&["evaluate", "moved/members/letters", "--json"]));
    assert_eq!(alone["mrr"], members[2]["mrr"]);
    let text = sandbox.succeed(&["evaluate", "moved"]);
    assert!(
        text.contains("letters") && text.contains("ensemble") && text.contains("weights"),
        "{text}"
    );
    let query = ["search", "moved", "a ring of kind METH and class ANE", "--top", "2", "--json"];
    let hits = json(&sandbox.succeed(&query));
    assert_eq!(hits["candidates"][0]["label"], "cyclomethane", "{hits}");
    let again = ["train", "several.toml", "--out", "moved", "--resume", "--json"];
    assert_eq!(json(&sandbox.succeed(&again)), report);
    sandbox.fail(&["train", "several.toml", "--out", "moved"], 2, &["moved exists"]);
}

#[test]
fn a_killed_ensemble_goes_on_with_the_members_that_are_left() {
    let sandbox = sandbox();
    let report = json(&sandbox.succeed(&["train", "several.toml", "--json"]));
    let here = |name: &str| sandbox.path("runs/several").join(name);
    for name in ["metrics.json", "combination.json"] {
        fs::remove_file(here(name)).unwrap();
    }
    fs::remove_dir_all(here("members/bag")).unwrap();
    sandbox.fail(&["evaluate", "runs/several"], 2, &["--resume"]);
    let again = json(&sandbox.succeed(&["train", "several.toml", "--resume", "--json"]));
    assert_eq!(again, report);
    let seeds = ["train", "several.toml", "--resume", "--set", "ensemble.seeds=2"];
    sandbox.fail(&seeds, 2, &["ensemble.seeds"]);
}

/// Members that differ in their seeds draw the same pairs, others draw what they say.
#[test]
fn training_pairs_of_an_ensemble_are_those_of_all_members() {
    let sandbox = Sandbox::new();
    let members = "\n[ensemble]\n\n[[ensemble.members]]\nname = \"one\"\n\n\
                   [[ensemble.members]]\nname = \"two\"\nseed = 1\n";
    sandbox.write("two.toml", &(CONFIG.to_owned() + members));
    let evaluate = |run| ["evaluate", run, "--split", "train", "--json"];
    sandbox.write("own.toml", &(CONFIG.to_owned() + members + "data.seed = 1\n"));
    for (out, own, change) in
        [("few", "few-own", "data.limit=40"), ("wrong", "wrong-own", "data.corrupted=0.2")]
    {
        sandbox.succeed(&["train", "two.toml", "--quiet", "--out", out, "--set", change]);
        sandbox.succeed(&evaluate(out));
        sandbox.succeed(&["train", "own.toml", "--quiet", "--out", own, "--set", change]);
        let says = ["--split = train", "data.limit, data.corrupted", "the member two", "by itself"];
        sandbox.fail(&evaluate(own), 2, &says);
    }
    for run in ["few", "few/members/two"] {
        let few = json(&sandbox.succeed(&evaluate(run)));
        assert_eq!(number(&few, "queries"), 40.0);
    }
    sandbox.succeed(&["train", "two.toml", "--quiet", "--out", "all"]);
    assert_eq!(number(&json(&sandbox.succeed(&evaluate("all"))), "queries"), 60.0);
    let unused = ["train", "two.toml", "--out", "unused", "--set", "data.seed=1"];
    sandbox.fail(&unused, 2, &["data.seed = 1", "unless data.limit or data.corrupted"]);
}

/// Weights by held-out predictions compare the pairs of all members, also where these are drawn.
#[test]
fn members_of_several_seeds_are_weighted_on_pairs_that_are_drawn() {
    let sandbox = Sandbox::new();
    let seeds = "\n[ensemble]\nseeds = 2\nweights = \"held-out\"\n";
    sandbox.write("seeds.toml", &(ridge() + seeds));
    for (out, change) in [("few", "data.limit=40"), ("wrong", "data.corrupted=0.2")] {
        sandbox.succeed(&["train", "seeds.toml", "--quiet", "--out", out, "--set", change]);
        assert!(sandbox.read(&format!("{out}/combination.json")).contains("weights"));
    }
}

#[test]
fn weights_of_members_come_from_held_out_answers() {
    let sandbox = sandbox();
    let held_out = MEMBERS.replacen("\"validation\"", "\"held-out\"", 1);
    let hubs = "decoding.hubs = { neighbours = [3], folds = 3, held_out_folds = 1 }\n";
    let bag =
        held_out.replacen("training.epochs = 8\n", &format!("training.epochs = 8\n{hubs}"), 1);
    sandbox.write("weighted.toml", &(ridge() + &bag));
    let report = json(&sandbox.succeed(&["train", "weighted.toml", "--json"]));
    assert!(number(&report, "mrr") > 3.0 * number(&report["chance"], "mrr"), "{report}");
    let found = json(&sandbox.succeed(&["evaluate", "runs/weighted", "--json"]));
    assert_eq!(found["mrr"], report["mrr"]);
    let members = found["members"].as_array().unwrap();
    let weights: Vec<f64> = members.iter().map(|member| number(member, "weight")).collect();
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{found}");
    assert!(weights.iter().all(|&weight| weight >= 0.0) && weights[0] != weights[2], "{found}");
    for name in ["metrics.json", "combination.json"] {
        fs::remove_file(sandbox.path(&format!("runs/weighted/{name}"))).unwrap();
    }
    let again = ["train", "weighted.toml", "--resume", "--json"];
    assert_eq!(json(&sandbox.succeed(&again)), report);

    // machines with one λ do not see validation queries, and so their weights do not
    let start = held_out.find("[[ensemble.members]]\nname = \"bag\"").unwrap();
    let end = held_out.find("[[ensemble.members]]\nname = \"letters\"").unwrap();
    let machines = format!("{}{}", &held_out[..start], &held_out[end..]);
    sandbox.write("machines.toml", &(ridge() + &machines));
    let rule = |out: &str| {
        sandbox.succeed(&["train", "machines.toml", "--out", out]);
        sandbox.read(&format!("{out}/combination.json"))
    };
    let before = rule("before");
    let queries = sandbox.read("data/small/validation.tsv");
    let few: Vec<&str> = queries.lines().take(4).collect();
    sandbox.write("data/small/validation.tsv", &(few.join("\n") + "\n"));
    assert_eq!(rule("after"), before);

    let file = sandbox.path("after/members/letters/held-out.safetensors");
    fs::write(&file, "damaged").unwrap();
    fs::remove_file(sandbox.path("after/metrics.json")).unwrap();
    let resumed = ["train", "machines.toml", "--out", "after", "--resume"];
    sandbox.fail(&resumed, 2, &["letters/held-out.safetensors", "truncated"]);
    fs::remove_file(&file).unwrap();
    sandbox.fail(&resumed, 2, &["letters/held-out.safetensors"]);
    let case = |text: &str, expected: &[&str]| {
        sandbox.write("wrong.toml", &(ridge() + text));
        sandbox.fail(&["train", "wrong.toml"], 2, expected);
    };
    let key = "ensemble.weights = \"held-out\"";
    let max = machines.replace("parallel = 2", "combination = { name = \"max\" }");
    case(&max, &[key, "\"max\" has no weights"]);
    let given = "combination = { name = \"mean\", weights = [0.5, 0.5] }";
    let given = machines.replace("parallel = 2", given);
    case(&given, &["ensemble.combination.weights = [0.5, 0.5]", "ensemble.weights fits them"]);
    let other = "\"letters\"\ndata.corrupted = 0.5";
    case(&machines.replace("\"letters\"", other), &[key, "different training pairs"]);
    // it is refused before a member is trained
    assert!(!sandbox.path("runs/wrong").exists());
    let embedded = "\"letters\"\nencoder.predictions = { kind = \"embedded\", ranks = [4] }";
    let key = "ensemble.members[1].decoding.held_out = true";
    case(&machines.replace("\"letters\"", embedded), &[key, "learned embedding"]);

    // a solver without leave-one-out predictions is used anew without parts of the pairs
    let gradients =
        "\"letters\"\nencoder.solver = { name = \"conjugate-gradients\", sketch = { size = 20 } }";
    sandbox.write("anew.toml", &(ridge() + &machines.replace("\"letters\"", gradients)));
    sandbox.succeed(&["train", "anew.toml", "--json"]);
    assert!(sandbox.path("runs/anew/members/letters/held-out.safetensors").exists());
}

#[test]
fn runs_vote_without_having_been_trained_together() {
    let sandbox = sandbox();
    sandbox.succeed(&["train", "ridge.toml", "--out", "a"]);
    sandbox.succeed(&["train", "ridge.toml", "--out", "b", "--set", "output.power=0.5"]);
    let one = json(&sandbox.succeed(&["evaluate", "a", "--json"]));
    for rule in [
        &["--combine", "mean"][..],
        &["--combine", "mean", "--plain"],
        &["--combine", "max"],
        &["--combine", "rank"],
        &["--combine", "reciprocal-rank"],
        &["--weights", "0.25,0.75"],
        &["--fit-weights"],
    ] {
        let both = json(&sandbox.succeed(&[&["evaluate", "a", "b", "--json"], rule].concat()));
        assert!(number(&both, "mrr") > 0.3, "{rule:?}: {both}");
        // two that are the same vote as one
        if !rule.contains(&"--fit-weights") {
            let same = json(&sandbox.succeed(&[&["evaluate", "a", "a", "--json"], rule].concat()));
            assert_eq!(same["mrr"], one["mrr"], "{rule:?}");
        }
    }
    for (more, says) in [
        (&["--weights", "0.5,0.6"][..], &["1.1"][..]),
        (&["--weights", "1"], &["2"]),
        (&["--weights=-1,2"], &["-1"]),
        (&["--combine", "max", "--weights", "0.5,0.5"], &["max"]),
        (&["--combine", "rank", "--plain"], &["--plain", "rank standardises no scores"]),
        (&["--combine", "reciprocal-rank", "--plain"], &["--plain", "standardises no scores"]),
    ] {
        sandbox.fail(&[&["evaluate", "a", "b"], more].concat(), 2, says);
    }
    // one run has no weights, and a name as several do
    sandbox.fail(&["evaluate", "a", "--fit-weights"], 2, &["--fit-weights", "several runs"]);
    let named = sandbox.succeed(&["evaluate", "a", "--labels", "ridge"]);
    assert!(named.lines().any(|line| line.trim_start().starts_with("ridge ")), "{named}");
    // a kernel that is not normalised, and other candidates
    sandbox.succeed(&["train", "ridge.toml", "--out", "c", "--set", "output.kernel.name=linear"]);
    sandbox.fail(&["evaluate", "a", "c", "--combine", "mean", "--plain"], 2, &["\"c\""]);
    sandbox.succeed(&["evaluate", "a", "c"]);
    sandbox.succeed(&[
        "train",
        "ridge.toml",
        "--out",
        "d",
        "--set",
        "output.only_training=true",
        "--set",
        "evaluation.missing_gold=rank-infinity",
    ]);
    sandbox.fail(&["evaluate", "a", "d"], 2, &["\"d\"", "candidate"]);
}

#[test]
fn an_encoder_is_corrected_for_hubs_by_encoders_that_left_pairs_out() {
    let sandbox = sandbox();
    let runs = std::cell::Cell::new(0);
    let set = |change: &str| {
        runs.set(runs.get() + 1);
        let name = format!("run{}", runs.get());
        let arguments = ["train", "small.toml", "--json", "--out", &name, "--set", change];
        let few = ["--set", "sketch.size=4", "--set", "evaluation.split=validation"];
        let report = json(&sandbox.succeed(&[&arguments[..], &few].concat()));
        let again = ["evaluate", &name, "--split", "validation", "--json"];
        assert_eq!(json(&sandbox.succeed(&again))["mrr"], report["mrr"], "{change}");
        report
    };
    let plain = set("decoding.normalise=true");
    let none = set("decoding.hubs={weights=[0.0], folds=2}");
    assert_eq!(none["mean_rank"], plain["mean_rank"]);
    let heavy = set("decoding.hubs={weights=[1.0], neighbours=[5], folds=2}");
    assert_ne!(heavy["mean_rank"], plain["mean_rank"]);
    let other = set("decoding.hubs={weights=[1.0], neighbours=[5], folds=5}");
    assert_ne!(other, heavy, "other encoders, other answers");
    let one = set("decoding.hubs={weights=[1.0], neighbours=[5], folds=5, held_out_folds=1}");
    assert_ne!(one, other, "answers of one fold");
    let all = set("decoding.hubs={weights=[1.0], neighbours=[5], folds=5, held_out_folds=5}");
    assert_eq!(all, other);
    let own = set(
        "decoding.hubs={weights=[1.0], neighbours=[5], folds=5, held_out_folds=1, refit=false}",
    );
    assert_ne!(own["mrr"], one["mrr"], "an encoder that has not seen a fifth of the pairs");
    let fits = |run: &str| sandbox.read(&format!("{run}/log.jsonl")).lines().count();
    assert_eq!(fits(&format!("run{}", runs.get())), fits("run1"));
    let best = set("decoding.hubs={weights=[0.0, 1.0], neighbours=[5], folds=2}");
    assert_eq!(number(&best, "mrr"), number(&plain, "mrr").max(number(&heavy, "mrr")));
}

#[test]
fn kernels_are_tempered_and_hubs_corrected() {
    let sandbox = sandbox();
    let runs = std::cell::Cell::new(0);
    let set = |more: &[&str]| {
        runs.set(runs.get() + 1);
        let name = format!("run{}", runs.get());
        // few coordinates, so that not every query is answered
        let few = "sketch.size=4";
        let mut arguments = vec!["train", "ridge.toml", "--json", "--out", &name, "--set", few];
        more.iter().for_each(|set| arguments.extend(["--set", set]));
        let report = json(&sandbox.succeed(&arguments));
        let again = json(&sandbox.succeed(&["evaluate", &name, "--json"]));
        assert_eq!(again["mrr"], report["mrr"], "{more:?}");
        report
    };
    let plain = set(&[]);
    // power 0 without centre is the kernel as it is
    assert_eq!(set(&["output.power=0.0"]), plain);
    let tempered = set(&["output.power=0.5"]);
    assert_ne!(tempered["mrr"], plain["mrr"]);
    let hubs = set(&["output.power=0.5", "decoding.hubs={weights=[0.5, 1.0], neighbours=[3, 10]}"]);
    assert_ne!(hubs["mean_rank"], tempered["mean_rank"]);
    let log = [
        &["train", "ridge.toml", "--out", "log", "--set"][..],
        &["decoding.hubs={weights=[0.8], neighbours=[3]}"],
    ];
    let log = String::from_utf8(sandbox.run(&log.concat()).stderr).unwrap();
    assert!(log.contains("weight=0.8 "), "{log}");
    // no weight, no correction
    let none = set(&["output.power=0.5", "decoding.hubs={weights=[0.0]}"]);
    assert_eq!(none["mean_rank"], tempered["mean_rank"]);
    for (config, sets, says) in [
        ("ridge.toml", "output.power=1.5", &["output.power", "[0, 1]"][..]),
        ("ridge.toml", "decoding.hubs={neighbours=[61]}", &["61", "60"]),
        ("ridge.toml", "decoding.hubs={weights=[-1.0]}", &["decoding.hubs.weights"]),
        ("ridge.toml", "decoding.hubs={folds=3}", &["decoding.hubs.folds", "remove it"]),
        ("small.toml", "decoding.hubs={folds=1}", &["decoding.hubs.folds", "at least 2"]),
        ("small.toml", "decoding.hubs={folds=61}", &["decoding.hubs.folds", "2 to 60"]),
        ("small.toml", "decoding.hubs={neighbours=[61]}", &["61", "60"]),
        ("small.toml", "decoding.hubs={neighbours=[21], held_out_folds=1}", &["21", "1 to 20"]),
        (
            "small.toml",
            "decoding.hubs={held_out_folds=0}",
            &["decoding.hubs.held_out_folds = 0", "1 to 3"],
        ),
        (
            "small.toml",
            "decoding.hubs={held_out_folds=4}",
            &["decoding.hubs.held_out_folds = 4", "1 to 3"],
        ),
        (
            "ridge.toml",
            "decoding.hubs={held_out_folds=1}",
            &["decoding.hubs.held_out_folds", "remove it"],
        ),
        ("ridge.toml", "decoding.hubs={refit=true}", &["decoding.hubs.refit", "remove it"]),
        (
            "small.toml",
            "decoding.hubs={refit=false}",
            &["decoding.hubs.refit", "held_out_folds = 1"],
        ),
        ("several.toml", "ensemble.members=[{output={power=0.1}}]", &["ensemble.members[0].name"]),
        ("several.toml", "ensemble.members=[{name=\"a\"}, {name=\"a\"}]", &["members[1].name"]),
        (
            "several.toml",
            "ensemble.members=[{name=\"a\", sketch={size=0}}]",
            &["members[0].sketch.size"],
        ),
        ("several.toml", "ensemble.members=[{name=\"a\", nothing=1}]", &["nothing"]),
        ("several.toml", "ensemble.seeds=0", &["ensemble.seeds"]),
    ] {
        sandbox.fail(&["train", config, "--set", sets], 2, says);
    }
    // of too few pairs the key is named that needs the parts, or that says how many
    let needs = "= 3: expected 2, the number of training pairs";
    let lacks = "models are fitted without each of 3 parts, but the number of training pairs is 2";
    for (change, says) in [
        ("decoding.held_out=true", ["decoding.held_out = true: ", lacks]),
        ("decoding.reranker={neighbours=1}", ["decoding.reranker = given: ", lacks]),
        ("decoding.hubs={neighbours=[1]}", ["decoding.hubs.folds ", needs]),
    ] {
        let few = ["train", "small.toml", "--set", "data.limit=2", "--set", change];
        sandbox.fail(&few, 2, &says);
    }
}

#[test]
fn members_that_diverged_go_on_with_a_lower_rate() {
    let sandbox = Sandbox::new();
    let bag = format!(
        "{CONFIG}\n[ensemble]\n[[ensemble.members]]\nname = \"ridge\"\nencoder = {{ {} }}\n\
         [[ensemble.members]]\nname = \"bag\"\n",
        RIDGE.replace('\n', ", ")
    );
    sandbox.write("ensemble.toml", &bag);
    let train = unstable_training("ensemble.toml");
    let rate = |rate, more: &[&'static str]| [&train[..], &["--set", rate], more].concat();
    sandbox.fail(&rate("training.learning_rate=50.0", &[]), 1, &["is not finite"]);
    let seed = rate("training.learning_rate=0.01", &["--resume", "--set", "seed=7"]);
    sandbox.fail(&seed, 2, &["seed", "the run was started with"]);
    let calm = rate("training.learning_rate=0.01", &["--resume"]);
    sandbox.succeed(&calm);
    for (run, changed) in [("run", true), ("run/members/bag", true), ("run/members/ridge", false)] {
        let config = sandbox.read(&format!("{run}/config.toml"));
        assert_eq!(config.contains("learning_rate = 0.01"), changed, "{run}");
        assert_eq!(sandbox.path(&format!("{run}/changes.jsonl")).exists(), changed, "{run}");
    }
    sandbox.succeed(&["evaluate", "run"]);
}

#[test]
fn members_with_candidates_in_another_order_have_their_own_metrics() {
    let sandbox = Sandbox::new();
    copy(&sandbox.path("data/small"), &sandbox.path("data/other"));
    let outputs = sandbox.read("data/small/outputs.tsv");
    let (head, rest) = outputs.split_once('\n').unwrap();
    let reversed: Vec<&str> = [head].into_iter().chain(rest.lines().rev()).collect();
    sandbox.write("data/other/outputs.tsv", &(reversed.join("\n") + "\n"));
    sandbox.write("other.toml", &CONFIG.replacen("\"small\"", "\"other\"", 1));
    let list = |at: usize| {
        let listed = [at, (7 * at) % 60, (11 * at + 1) % 60, (13 * at + 2) % 60];
        let mut ids: Vec<String> = listed.iter().map(|at| format!("\"o{at}\"")).collect();
        ids.sort();
        ids.dedup();
        format!("{{\"query\": \"o{at}\", \"candidates\": [{}]}}\n", ids.join(", "))
    };
    sandbox.write("lists.jsonl", &(70..80).map(list).collect::<String>());
    sandbox.succeed(&["train", "small.toml", "--quiet", "--out", "a"]);
    sandbox.succeed(&["train", "other.toml", "--quiet", "--out", "b", "--set", "seed=1"]);
    let evaluate = |runs: &[&str]| {
        let call = [&["evaluate"], runs, &["--candidates", "lists.jsonl", "--json"]].concat();
        json(&sandbox.succeed(&call))
    };
    let both = evaluate(&["a", "b"]);
    for (at, run) in ["a", "b"].into_iter().enumerate() {
        let own = &both["members"][at];
        let alone = evaluate(&[run]);
        assert_eq!(own["run"], run, "{both}");
        for metric in ["mrr", "hits@1", "mean_rank"] {
            assert_eq!(number(own, metric), number(&alone, metric), "{run} {metric}: {both}");
        }
    }
}

#[test]
fn a_member_of_a_complete_ensemble_stays_as_it_is() {
    let sandbox = Sandbox::new();
    let member = |name: &str, epochs: usize| {
        format!("[[ensemble.members]]\nname = \"{name}\"\ntraining.epochs = {epochs}\n")
    };
    let members = member("a", 2) + &member("b", 3);
    sandbox
        .write("two.toml", &format!("{CONFIG}\n[ensemble]\nweights = \"validation\"\n{members}"));
    let train = ["train", "two.toml", "--out", "run", "--quiet"];
    sandbox.succeed(&train);
    let more = ["train", "small.toml", "--out", "run/members/a", "--resume"];
    let more = [&more[..], &["--set", "training.epochs=9"]].concat();
    let says = ["run/members/a", "a member of the ensemble", "which is complete"];
    sandbox.fail(&more, 2, &says);

    copy(&sandbox.path("run"), &sandbox.path("grown"));
    sandbox.write("more.tsv", "id\tname\nn0\tcyclomethanol\n");
    sandbox.succeed(&["candidates", "add", "grown", "more.tsv"]);
    sandbox.succeed(&["evaluate", "grown"]);
    sandbox.succeed(&["export", "grown", "--archive", "run.tar.zst"]);

    fs::remove_dir_all(sandbox.path("run/members/a")).unwrap();
    copy(&sandbox.path("run/members/b"), &sandbox.path("run/members/a"));
    let says = ["run/members/a: ", "not the one that the ensemble was completed with"];
    sandbox.fail(&["evaluate", "run"], 2, &says);
    sandbox.fail(&["search", "run", "a ring"], 2, &says);
    sandbox.fail(&["candidates", "add", "run", "more.tsv"], 2, &says);
    sandbox.fail(&["export", "run", "--archive", "other.tar.zst"], 2, &says);
    // the remedy trains it anew
    fs::remove_file(sandbox.path("run/metrics.json")).unwrap();
    fs::remove_file(sandbox.path("run/combination.json")).unwrap();
    fs::remove_dir_all(sandbox.path("run/members/a")).unwrap();
    sandbox.succeed(&[&train[..], &["--resume"]].concat());
}

#[test]
fn an_ensemble_without_its_rule_is_combined_again() {
    let sandbox = sandbox();
    let train = ["train", "several.toml", "--out", "run", "--json"];
    let report = json(&sandbox.succeed(&train));
    let rule = sandbox.read("run/combination.json");
    fs::remove_file(sandbox.path("run/combination.json")).unwrap();
    sandbox.fail(&["search", "run", "a ring"], 2, &["run/combination.json", "--resume"]);
    let again = json(&sandbox.succeed(&[&train[..], &["--resume"]].concat()));
    assert_eq!(again, report);
    assert_eq!(sandbox.read("run/combination.json"), rule);
    sandbox.succeed(&["search", "run", "a ring"]);
}
