//! Several kernels of outputs, or of inputs, in one run.

use std::fs;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json, number};

const ONE: &str = r#"features = { kind = "ngrams", column = "name", min = 1, max = 3 }
kernel = { name = "ngram" }
"#;

const WHOLE: &str = r#"
[[output.kernels]]
features = { kind = "ngrams", column = "name", min = 1, max = 3 }
kernel = { name = "ngram" }
size = 20
"#;

const LETTERS: &str = r#"
[[output.kernels]]
features = { kind = "ngrams", column = "name", min = 1, max = 1, log = true }
kernel = { name = "linear" }
size = 15
power = 0.5
weight = 0.5
"#;

/// The small configuration with a list of kernels.
fn config(encoder: &str, kernels: &str) -> String {
    let text = CONFIG.replacen(BAG, encoder, 1).replacen(ONE, kernels, 1);
    assert!(text.contains(encoder) && text.contains(kernels));
    text
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("plain.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    sandbox.write("alone.toml", &config(RIDGE, WHOLE));
    sandbox.write("ridge.toml", &config(RIDGE, &format!("{WHOLE}{LETTERS}")));
    sandbox.write("bag.toml", &config(BAG, &format!("{WHOLE}{LETTERS}")));
    sandbox
}

const FIGURES: [&str; 4] = ["mrr", "hits@1", "hits@10", "mean_rank"];

#[test]
fn one_kernel_in_a_list_is_that_kernel_and_a_weight_of_zero_leaves_one_out() {
    let sandbox = sandbox();
    let plain = sandbox.train("plain.toml", &[]);
    let alone = sandbox.train("alone.toml", &[]);
    let both = sandbox.train("ridge.toml", &[]);
    let zero = config(RIDGE, &format!("{WHOLE}{}", LETTERS.replace("0.5\n", "0\n")));
    let zero = zero.replace("power = 0\n", "power = 0.5\n");
    sandbox.write("zero.toml", &zero);
    let zero = sandbox.train("zero.toml", &[]);
    for key in FIGURES {
        assert_eq!(alone[key], plain[key], "{key}");
        assert_eq!(zero[key], plain[key], "{key}");
    }
    // in the same coordinates but for a rotation
    let error = |report| number(report, "squared_error");
    for same in [&alone, &zero] {
        assert!((error(same) - error(&plain)).abs() < 1e-5, "{same}, {plain}");
    }
    assert!((error(&both) - error(&plain)).abs() > 1e-3, "{both}, {plain}");
}

/// The two kernels have 35 coordinates.
#[test]
fn a_sum_keeps_no_more_coordinates_than_its_kernels_have() {
    let sandbox = sandbox();
    let needs = |size: &str| {
        let plan = ["train", "bag.toml", "--plan", "--json", "--quiet", "--set", size];
        json(&sandbox.succeed(&plan))[0]["needs"].clone()
    };
    let report = |size: &str, out: &str| {
        let train = ["train", "ridge.toml", "--json", "--quiet", "--out", out, "--set", size];
        json(&sandbox.succeed(&train))
    };
    let plan = needs("sketch.size=35");
    let exact = report("sketch.size=35", "exact");
    for (size, out) in [("sketch.size=20000", "large"), ("sketch.size=9223372036854775807", "most")]
    {
        assert_eq!(needs(size), plan, "{size}");
        let report = report(size, out);
        for key in FIGURES {
            assert_eq!(report[key], exact[key], "{size}: {key}");
        }
    }
}

#[test]
fn several_kernels_are_one_run() {
    let sandbox = sandbox();
    let hubs = "decoding.hubs={weights=[0.5], neighbours=[2]}";
    let report = sandbox.train("ridge.toml", &[hubs, "sketch.size=25"]);
    assert!(number(&report, "mrr") > 3.0 * number(&report["chance"], "mrr"), "{report}");
    let outputs = ["embed", "runs/ridge", "data/small/outputs.tsv", "--outputs", "--out", "y.npy"];
    sandbox.succeed(&outputs);
    let texts = ["embed", "runs/ridge", "data/small/test.tsv", "--out", "x.npy"];
    sandbox.succeed(&texts);
    let rank = ["rank", "--run", "runs/ridge", "--predictions", "x.npy", "--json"];
    assert_eq!(json(&sandbox.succeed(&rank))["mrr"], report["mrr"]);
    let resumed = ["train", "ridge.toml", "--resume", "--json", "--set", hubs];
    sandbox.fail(&resumed, 2, &["sketch.size", "25"]);
    let resumed = [&resumed[..], &["--set", "sketch.size=25"]].concat();
    assert_eq!(json(&sandbox.succeed(&resumed)), report);

    copy(&sandbox.path("runs/ridge"), &sandbox.path("moved"));
    fs::remove_dir_all(sandbox.path("runs")).unwrap();
    let found = sandbox.succeed(&["evaluate", "moved", "--json", "--report", "report"]);
    for key in FIGURES {
        assert_eq!(json(&found)[key], report[key], "{key}");
    }
    let query = ["search", "moved", "a ring of kind METH and class ANE", "--top", "2", "--json"];
    let hits = json(&sandbox.succeed(&query));
    assert_eq!(hits["candidates"][0]["label"], "cyclomethane", "{hits}");
}

#[test]
fn a_kernel_whose_features_are_all_rare_is_left_out() {
    let sandbox = sandbox();
    let alone = sandbox.train("alone.toml", &[]);
    let rare = LETTERS.replace("log = true", "log = true, min_outputs = 1000");
    for encoder in [RIDGE, BAG] {
        sandbox.write("rare.toml", &config(encoder, &format!("{WHOLE}{rare}")));
        let trained = sandbox.run(&["train", "rare.toml", "--json", "--out", "rare"]);
        let log = String::from_utf8(trained.stderr).unwrap();
        assert!(trained.status.success(), "{log}");
        let left_out =
            "output.kernels[1] is left out: its features are the same for all training outputs";
        assert!(log.contains(left_out), "{log}");
        if encoder == RIDGE {
            let report = json(&String::from_utf8(trained.stdout).unwrap());
            FIGURES.iter().for_each(|key| assert_eq!(report[*key], alone[*key], "{key}"));
        }
        let again = json(&sandbox.succeed(&["evaluate", "rare", "--json"]));
        assert!(number(&again, "mrr") > 0.0, "{again}");
        fs::remove_dir_all(sandbox.path("rare")).unwrap();
    }
    // the only kernel is not
    let rare = WHOLE.replace("max = 3", "max = 3, min_outputs = 1000");
    sandbox.write("rare.toml", &config(RIDGE, &rare));
    sandbox.fail(&["train", "rare.toml"], 2, &["output.kernels[0].features.min_outputs = 1000"]);
}

#[test]
fn encoders_learn_a_sum_of_kernels() {
    let sandbox = sandbox();
    let loss = "training.loss={name=\"softmax\"}";
    for changes in [&["training.epochs=30"][..], &["training.epochs=30", loss]] {
        let report = sandbox.train("bag.toml", changes);
        assert!(number(&report, "mrr") > 2.0 * number(&report["chance"], "mrr"), "{report}");
    }
    let resumed = ["train", "bag.toml", "--resume", "--json", "--set", "training.epochs=30"];
    sandbox.succeed(&[&resumed[..], &["--set", loss]].concat());
}

#[test]
fn weights_come_from_held_out_answers() {
    let sandbox = sandbox();
    // one kernel that the texts tell, and one of noise
    let noise = LETTERS.replace("max = 1, log = true", "max = 1, min_outputs = 30");
    let kernels = format!("{LETTERS}{noise}").replace("weight = 0.5", "weight = 1.0");
    sandbox.write("held-out.toml", &config(RIDGE, &kernels));
    let changes = ["output.weights=held-out", "decoding.hubs={weights=[0.5], neighbours=[2]}"];
    let report = sandbox.train("held-out.toml", &changes);
    assert!(number(&report, "mrr") > 3.0 * number(&report["chance"], "mrr"), "{report}");
    let sets = changes.iter().flat_map(|change| ["--set", *change]);
    let resume = ["train", "held-out.toml", "--resume", "--json"];
    let resumed: Vec<&str> = resume.into_iter().chain(sets).collect();
    assert_eq!(json(&sandbox.succeed(&resumed)), report);
    let again = ["train", "held-out.toml", "--out", "again", "--set", "output.weights=held-out"];
    let log = String::from_utf8(sandbox.run(&again).stderr).unwrap();
    assert!(log.contains("weights of the kernels "), "{log}");
    let plan = ["train", "held-out.toml", "--plan", "--json", "--set", "output.weights=held-out"];
    let plan = json(&sandbox.succeed(&plan));
    let needs = plan[0]["needs"].as_array().unwrap();
    let need = needs.iter().find(|need| need["keys"] == "output.weights");
    assert!(need.is_some_and(|need| number(need, "multiplications") > 0.0), "{plan}");
    let case = |file: &str, change: &str, expected: &[&str]| {
        let sets = ["--set", "output.weights=held-out", "--set", change];
        sandbox.fail(&[&["train", file][..], &sets].concat(), 2, expected);
    };
    let seed = "seed=0";
    case(
        "plain.toml",
        seed,
        &["output.weights = \"held-out\"", "one output.kernel has no weights"],
    );
    case("ridge.toml", seed, &["output.kernels[1].weight = 0.5", "1 or 0"]);
    sandbox.write("bag.toml", &config(BAG, &kernels));
    case("bag.toml", seed, &["output.weights", "encoder.kind = \"kernel-machine\""]);
    let solver = "encoder.solver={name=\"conjugate-gradients\", sketch={size=20}}";
    case("held-out.toml", solver, &["output.weights", "closed-form"]);
    let plain = format!("{WHOLE}{LETTERS}").replace("weight = 0.5", "weight = 1.0");
    sandbox.write("ridge.toml", &config(RIDGE, &plain));
    case("ridge.toml", seed, &["output.weights", "normalised kernels"]);
}

#[test]
fn gamma_of_a_kernel_of_a_sum_comes_from_its_own_features() {
    let sandbox = sandbox();
    let gaussian = |gamma: &str| {
        let kernel = format!("{{ name = \"gaussian\", gamma = {gamma} }}");
        config(RIDGE, &format!("{WHOLE}{}", LETTERS.replace("{ name = \"linear\" }", &kernel)))
    };
    sandbox.write("median.toml", &gaussian("\"median\""));
    let output = sandbox.run(&["train", "median.toml", "--json"]);
    let log = String::from_utf8(output.stderr).unwrap();
    let gamma = log.split("gamma = ").nth(1).and_then(|rest| rest.split(',').next());
    sandbox.write("number.toml", &gaussian(gamma.unwrap_or_else(|| panic!("{log}"))));
    let number = sandbox.train("number.toml", &[]);
    let median = json(&String::from_utf8(output.stdout).unwrap());
    for key in FIGURES {
        assert_eq!(median[key], number[key], "{key}");
    }
    let other = gaussian("\"median\"")
        .replace("min = 1, max = 1, log = true", "min = 5, max = 5, min_outputs = 20");
    sandbox.write("equal.toml", &other);
    let place = "output.kernels[1].kernel.gamma = \"median\"";
    sandbox.fail(&["train", "equal.toml"], 2, &[place, "is 0"]);
}

#[test]
fn what_several_kernels_do_not_allow_is_refused() {
    let sandbox = sandbox();
    let case = |change: &str, expected: &[&str]| {
        sandbox.fail(&["train", "ridge.toml", "--set", change], 2, expected);
    };
    case("output.kernel={name=\"linear\"}", &["output.kernel = given", "remove it"]);
    let ngrams = "output.features={kind=\"ngrams\", column=\"name\", min=1, max=1}";
    case(ngrams, &["output.features = given", "output.kernels have features"]);
    case("output.kernels=[]", &["output.kernel = absent", "[[output.kernels]]"]);
    case("sketch.full=true", &["sketch.full = true", "several output.kernels", "set it to false"]);
    case("decoding.search=exact", &["decoding.search", "candidates"]);
    for (from, to, expected) in [
        ("weight = 0.5", "weight = -1.0", &["output.kernels[1].weight = -1", "not below 0"][..]),
        ("weight = 0.5", "weight = nan", &["output.kernels[1].weight = NaN", "finite"]),
        ("power = 0.5", "power = 2.0", &["output.kernels[1].power = 2", "[0, 1]"]),
        ("size = 15", "size = 0", &["output.kernels[1].size = 0", "at least 1"]),
        ("size = 15", "", &["missing field `size`"]),
        ("size = 15", "seize = 15", &["unknown field `seize`"]),
        ("min = 1, max = 1,", "min = 2, max = 1,", &["output.kernels[1].features = min 2, max 1"]),
        (
            r#"{ kind = "ngrams", column = "name", min = 1, max = 1, log = true }"#,
            r#"{ kind = "labels", column = "name" }"#,
            &["output.kernels[1].features.kind = labels", "\"file\", \"ngrams\""],
        ),
    ] {
        assert!(LETTERS.contains(from));
        let text = config(RIDGE, &format!("{WHOLE}{}", LETTERS.replacen(from, to, 1)));
        sandbox.write("wrong.toml", &text);
        sandbox.fail(&["train", "wrong.toml"], 2, expected);
    }
    sandbox.fail(
        &["sketch", "ridge.toml"],
        2,
        &["output.kernels = given", "one kernel", "to [output]"],
    );
}

#[test]
fn a_kernel_of_inputs_whose_learned_weight_is_zero_needs_no_rows() {
    let sandbox = sandbox();
    let words = r#"inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }"#;
    let letters = "[{ kind = \"characters\", min = 2, max = 2 }, {";
    let both = words.replace("[{", letters);
    let machine = |kernels: &[&str]| {
        let kernels = kernels.iter().map(|kernel| format!("\n[[encoder.kernels]]\n{kernel}"));
        let kernels: String = kernels.collect();
        CONFIG.replacen(BAG, &format!("kind = \"kernel-machine\"\nlambda = 0.001{kernels}"), 1)
    };
    sandbox.write("learned.toml", &machine(&[words, &both]));
    sandbox.write("both.toml", &machine(&[&both]));
    let learned = sandbox.train("learned.toml", &["encoder.weights=\"alignf\""]);
    let alone = sandbox.train("both.toml", &[]);
    let stored = json(&sandbox.read("runs/learned/kernels.json"));
    assert_eq!(stored["weights"], serde_json::json!([0.0, 1.0]));
    assert!(stored["inputs"][0].is_null() && stored["inputs"][1].is_string(), "{stored}");
    for key in FIGURES.into_iter().chain(["squared_error"]) {
        assert_eq!(learned[key], alone[key], "{key}");
    }
    let again = json(&sandbox.succeed(&["evaluate", "runs/learned", "--json"]));
    assert_eq!(again["squared_error"], learned["squared_error"]);
}
