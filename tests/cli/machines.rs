//! Kernel machines in the encoder's place: IOKR and its sketched forms as runs like any other.

use std::fs;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, copy, json, number};

const SKETCH: &str = "solver = { name = \"sketched\", sketch = { size = 40 } }";

/// A sandbox with a configuration of each form.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let full = "size = 20\nfull = true";
    for (name, inputs, outputs) in [
        ("iokr", "", full),
        ("siokr", SKETCH, full),
        ("isokr", "", "size = 20"),
        ("sisokr", SKETCH, "size = 20"),
    ] {
        assert!(CONFIG.contains(BAG));
        let config = CONFIG.replacen(BAG, &format!("{RIDGE}\n{inputs}"), 1);
        sandbox.write(&format!("{name}.toml"), &config.replacen("size = 20", outputs, 1));
    }
    sandbox
}

#[test]
fn the_closed_forms_are_runs_like_any_other() {
    let sandbox = sandbox();
    for name in ["iokr", "siokr", "isokr", "sisokr"] {
        let report = json(&sandbox.succeed(&["train", &format!("{name}.toml"), "--json"]));
        assert!(number(&report, "mrr") > 3.0 * number(&report["chance"], "mrr"), "{report}");
        // there is no ceiling of a sketch without a sketch
        assert_eq!(report["perfect_h"].is_null(), name.ends_with("iokr"), "{name}: {report}");

        let run = format!("runs/{name}");
        let moved = format!("moved-{name}");
        copy(&sandbox.path(&run), &sandbox.path(&moved));
        fs::remove_dir_all(sandbox.path(&run)).unwrap();
        let again = json(&sandbox.succeed(&["evaluate", &moved, "--json"]));
        assert_eq!(again["mrr"], report["mrr"], "{name}");
        let query = ["search", &moved, "a ring of kind METH and class ANE", "--top", "2", "--json"];
        let found = json(&sandbox.succeed(&query));
        assert_eq!(found["candidates"][0]["label"], "cyclomethane", "{name}: {found}");
        // a complete run is not fitted again
        let resumed = ["train", &format!("{name}.toml"), "--out", &moved, "--resume", "--json"];
        assert_eq!(json(&sandbox.succeed(&resumed)), report, "{name}");
    }
}

#[test]
fn the_forms_meet_where_the_sketches_take_everything() {
    let sandbox = sandbox();
    let every = ["--set", "sketch.size=60", "--set", "sketch.method.kind=subsampling"];
    let train = |name: &str, more: &[&str]| {
        let config = format!("{name}.toml");
        let arguments = [&["train", &config, "--json"], more].concat();
        json(&sandbox.succeed(&arguments))
    };
    let iokr = train("iokr", &[]);
    let siokr = train("siokr", &["--set", "encoder.solver.sketch.size=60"]);
    let isokr = train("isokr", &every);
    let both = [&every[..], &["--set", "encoder.solver.sketch.size=60"]].concat();
    let sisokr = train("sisokr", &both);
    for other in [&siokr, &isokr, &sisokr] {
        assert_eq!(other["mrr"], iokr["mrr"]);
        assert_eq!(other["mean_rank"], iokr["mean_rank"]);
    }
}

#[test]
fn a_solver_is_asked_for_by_its_name() {
    let sandbox = sandbox();
    let train = |solver: &str| {
        let set = format!("encoder.solver={solver}");
        json(&sandbox.succeed(&["train", "siokr.toml", "--json", "--set", &set]))
    };
    let sketched = train("{name=\"sketched\", sketch={size=40}}");
    let solved = train("{name=\"conjugate-gradients\", sketch={size=40}, tolerance=1e-10}");
    assert_eq!(solved["mrr"], sketched["mrr"]);
    let averaged = train("{name=\"divide-and-conquer\", sketch={size=20}, parts=3}");
    assert!(number(&averaged, "mrr") > 3.0 * number(&averaged["chance"], "mrr"), "{averaged}");
    let found = json(&sandbox.succeed(&["evaluate", "runs/siokr-3", "--json"]));
    assert_eq!(found["mrr"], averaged["mrr"]);
    let wrong = |solver: &str, says: &[&str]| {
        let set = format!("encoder.solver={solver}");
        sandbox.fail(&["train", "siokr.toml", "--set", &set], 2, says);
    };
    wrong("{name=\"divide-and-conquer\", sketch={size=20}, parts=0}", &["encoder.solver", "parts"]);
    wrong("{name=\"cg\"}", &["cg", "conjugate-gradients"]);
    // sizes above the number of training pairs are lowered, and the run says so
    for (solver, says) in [
        ("{name=\"sketched\", sketch={size=61}}", "sketch.size = 61 is lowered to 60"),
        (
            "{name=\"divide-and-conquer\", sketch={size=21}, parts=3}",
            "sketch.size = 21 is lowered to 20",
        ),
        (
            "{name=\"conjugate-gradients\", sketch={size=9}, sample=61}",
            "sample = 61 is lowered to 60",
        ),
    ] {
        let set = format!("encoder.solver={solver}");
        let output = sandbox.run(&["train", "siokr.toml", "--set", &set, "--out", "lowered"]);
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && log.contains(says), "{solver}: {log}");
        fs::remove_dir_all(sandbox.path("lowered")).unwrap();
    }
    // more parts than pairs cannot be, and nothing is left of such a training
    wrong(
        "{name=\"divide-and-conquer\", sketch={size=1}, parts=61}",
        &["encoder.solver.", "parts = 61: expected 1 to 60,", "the number of training pairs"],
    );
    assert!(!sandbox.path("runs/siokr-4").exists());
    // nor can they where a part of the pairs is held out
    let parts = "encoder.solver={name=\"divide-and-conquer\", sketch={size=1}, parts=50}";
    for corrections in [
        "decoding.hubs={weights=[0.5], neighbours=[2]}",
        "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=2}",
    ] {
        let train = ["train", "isokr.toml", "--out", "few", "--set", corrections, "--set"];
        let says = [
            "a fit to ",
            " of the 60 training pairs: encoder.solver.",
            "parts = 50: expected 1 to ",
        ];
        sandbox.fail(&[&train[..], &[parts]].concat(), 2, &says);
        assert!(!sandbox.path("few").exists(), "{corrections}");
        // a sketch as large as all pairs is lowered there
        let sketched = "encoder.solver={name=\"sketched\", sketch={size=60}}";
        sandbox.succeed(&[&train[..], &[sketched]].concat());
        fs::remove_dir_all(sandbox.path("few")).unwrap();
    }
}

#[test]
fn a_killed_fit_is_resumed_and_other_files_are_refused() {
    let sandbox = sandbox();
    let report = json(&sandbox.succeed(&["train", "sisokr.toml", "--json"]));
    let resume = ["train", "sisokr.toml", "--resume", "--json"];
    // killed before it was fitted, and before it was evaluated
    for lost in [&["ridge.safetensors", "metrics.json"][..], &["metrics.json"]] {
        lost.iter()
            .for_each(|name| fs::remove_file(sandbox.path("runs/sisokr").join(name)).unwrap());
        if lost.len() == 2 {
            sandbox.fail(&["evaluate", "runs/sisokr"], 2, &["ridge.safetensors", "--resume"]);
        }
        assert_eq!(json(&sandbox.succeed(&resume)), report);
    }
    let changed = [&resume[..], &["--set", "encoder.lambda=0.1"]].concat();
    sandbox.fail(&changed, 2, &["encoder.lambda", "0.001", "0.1"]);
    // a model of other coordinates, and of other n-grams
    json(&sandbox.succeed(&[
        "train",
        "sisokr.toml",
        "--json",
        "--out",
        "other",
        "--set",
        "seed=1",
    ]));
    fs::copy(
        sandbox.path("other/ridge.safetensors"),
        sandbox.path("runs/sisokr/ridge.safetensors"),
    )
    .unwrap();
    sandbox.fail(&["evaluate", "runs/sisokr"], 2, &["ridge.safetensors", "of a different run"]);
    let words = sandbox.read("other/ngrams.json").replacen("ring", "rang", 1);
    sandbox.write("other/ngrams.json", &words);
    sandbox.fail(&["evaluate", "other"], 2, &["other/ngrams.json", "damaged or changed"]);
    // the model names the preparation of its inputs too
    sandbox.forget_checksum("other", "ngrams.json");
    sandbox.fail(&["evaluate", "other"], 2, &["ridge.safetensors", "prepared with fingerprint"]);
}

#[test]
fn lambda_is_chosen_by_leave_one_out() {
    let sandbox = sandbox();
    let config = sandbox.read("isokr.toml");
    let several = config.replacen("lambda = 0.001", "lambda = [1e-6, 1e-3, 1.0, 1e3]", 1);
    sandbox.write("several.toml", &several);
    let chosen = json(&sandbox.succeed(&["train", "several.toml", "--json"]));
    let worst = json(&sandbox.succeed(&[
        "train",
        "isokr.toml",
        "--json",
        "--out",
        "worst",
        "--set",
        "encoder.lambda=1e3",
    ]));
    assert!(number(&chosen, "mrr") >= number(&worst, "mrr"), "{chosen} {worst}");
    let stored = fs::read(sandbox.path("runs/several/ridge.safetensors")).unwrap();
    let text = String::from_utf8_lossy(&stored);
    let at = text.find("lambda").expect("the file says what was chosen");
    assert!(!text[at..at + 30].contains("1000.0"), "{}", &text[at..at + 30]);
}

/// There are fewer words than texts: the system of a tiny λ has no Cholesky factor, and other values are chosen from.
#[test]
fn lambda_without_a_factor_is_not_chosen_on_the_validation_split() {
    let sandbox = sandbox();
    let train = |lambda: &'static str| {
        let kernel = "encoder.kernel={name=\"linear\"}";
        let by = "encoder.lambda_by=\"validation\"";
        ["train", "isokr.toml", "--json", "--set", kernel, "--set", by, "--set", lambda, "--out"]
    };
    let few = [&train("encoder.lambda=[1e-20,1e-3]")[..], &["few"]].concat();
    let one = [&train("encoder.lambda=[1e-3]")[..], &["one"]].concat();
    let few = json(&sandbox.succeed(&few));
    let one = json(&sandbox.succeed(&one));
    assert_eq!(few["mrr"], one["mrr"], "{few} {one}");
    let none = [&train("encoder.lambda=[1e-20,1e-19]")[..], &["none"]].concat();
    let message = "not numerically positive definite (row 10, n·lambda = 6e-19); raise lambda, or scale the inputs";
    sandbox.fail(&none, 2, &[message]);
}

/// Four rows of each text, whose classes are noise: λ is chosen by predictions for texts that are in no other row.
#[test]
fn lambda_is_chosen_without_the_copies_of_a_row() {
    let sandbox = Sandbox::new();
    let head = "id\tdescription\ty\tset\n";
    let mut files = ["copies", "train", "validation", "test"].map(|name| (name, head.to_owned()));
    for i in 0..100 {
        let set = ["train", "train", "train", "validation", "test"][i % 5];
        let words: Vec<String> =
            (0..8).map(|j| format!("w{}", (i * i * 7 + j * (i % 11 + 3)) % 40)).collect();
        let class = ["a", "b", "c"][i * i * 31 / 7 % 3];
        for (_, table) in files.iter_mut().filter(|(name, _)| ["copies", set].contains(name)) {
            for copy in 0..4 {
                *table += &format!("r{i}_{copy}\t{}\t{class}\t{set}\n", words.join(" "));
            }
        }
    }
    for (name, table) in &files {
        sandbox.write(&format!("{name}.tsv"), table);
    }
    let of_files = ["--validation", "validation.tsv", "--test", "test.tsv"];
    for (file, name, more, splits) in [
        ("copies.tsv", "drawn", &["--split", "random"][..], "test = 40"),
        ("copies.tsv", "named", &["--split", "column=set"], "column = \"set\""),
        ("train.tsv", "files", &of_files, "validation = 0, test = 0"),
    ] {
        let config = format!("{name}.toml");
        let init = ["init", file, "--output", "y", "--input", "description", "--out", &config];
        sandbox.succeed(&[&init[..], more].concat());
        let splits = format!("{splits}, group = \"repeats\" }}");
        assert!(sandbox.read(&config).contains(&splits), "{splits}");
        sandbox.succeed(&["train", &config]);
        let stored = fs::read(sandbox.path(&format!("runs/{name}/ridge.safetensors"))).unwrap();
        let text = String::from_utf8_lossy(&stored);
        let at = text.find("lambda").expect("the file says what was chosen");
        let number = text[at..].trim_start_matches(|c: char| !c.is_ascii_digit()).split(',').next();
        let lambda: f64 = number.unwrap().parse().unwrap();
        // rows once have .1, and rows that are left out alone 1e-5
        assert!((1e-2..=1.0).contains(&lambda), "{name}: {lambda}");
    }
}

/// A word that only the copies of one text have is in one text.
#[test]
fn copies_of_a_text_in_a_group_count_once_for_n_grams() {
    let sandbox = Sandbox::new();
    let mut table = "id\ttext\ty\tgroup\n".to_owned();
    for i in 0..40 {
        let y = f64::from(i) / 7.0;
        for copy in 0..4 {
            table += &format!("r{i}_{copy}\tcommon{} own{i}\t{y:.3}\tg{i}\n", i % 4);
        }
    }
    sandbox.write("copies.tsv", &table);
    let init = ["init", "copies.tsv", "--output", "y", "--input", "text", "--out"];
    let words =
        "encoder.inputs={kind=\"ngrams\", blocks=[{kind=\"words\", min=1, max=1, min_texts=2}]}";
    for (split, name, words_of_one) in
        [("group", "together", false), ("random", "repeated", false), ("random", "alone", true)]
    {
        let config = format!("{name}.toml");
        sandbox.succeed(&[&init[..], &[config.as_str(), "--split", split]].concat());
        let text = sandbox.read(&config);
        if words_of_one {
            let (before, behind) = text.split_once(", group = \"repeats\"").unwrap();
            sandbox.write(&config, &format!("{before}{behind}"));
        }
        sandbox.succeed(&["train", &config, "--set", words]);
        let ngrams = json(&sandbox.read(&format!("runs/{name}/ngrams.json")));
        let terms = ngrams["blocks"][0]["terms"].as_array().unwrap();
        assert!(terms.contains(&"common0".into()), "{name}: {terms:?}");
        let own = |term: &serde_json::Value| term.as_str().unwrap().starts_with("own");
        assert_eq!(terms.iter().any(own), words_of_one, "{name}: {terms:?}");
    }
}

const MULTI_LABEL: &str = r#"
[data]
folder = "small"
source = "multi-label"
file = "sets.arff"
labels = 3
splits = { order = "file", train = 40, validation = 8 }

[output]
label = "labels"
only_training = true
features = { kind = "labels", column = "labels" }
kernel = { name = "gaussian", gamma = 0.5 }

[sketch]
full = true

[encoder]
kind = "kernel-machine"
inputs = { kind = "vectors", scaling = "deviation" }
kernel = { name = "gaussian", gamma = 0.1 }
lambda = 1e-4

[evaluation]
metric = "f1"
missing_gold = "rank-infinity"
"#;

#[test]
fn label_sets_are_predicted_from_multi_label_files() {
    let sandbox = Sandbox::new();
    let mut arff = "@relation sets\n".to_string();
    (0..5).for_each(|i| arff += &format!("@attribute x{i} numeric\n"));
    (0..3).for_each(|i| arff += &format!("@attribute label{i} {{0,1}}\n"));
    arff += "@data\n";
    for i in 0..48 {
        // a label for each of three features, and two features that say nothing
        let on: Vec<usize> = (0..3).filter(|&j| ((i % 7 + 1) >> j) & 1 == 1).collect();
        let mut parts: Vec<String> = on.iter().map(|j| format!("{j} 1")).collect();
        parts.push(format!("{} 1", 3 + i % 2));
        parts.extend(on.iter().map(|j| format!("{} 1", 5 + j)));
        arff += &format!("{{{}}}\n", parts.join(","));
    }
    sandbox.write("data/small/sets.arff", &arff);
    sandbox.write("sets.toml", MULTI_LABEL);
    let report = json(&sandbox.succeed(&["train", "sets.toml", "--json"]));
    assert_eq!(number(&report, "f1"), 1.0, "{report}");
    assert_eq!(number(&report, "hamming_loss"), 0.0, "{report}");
    assert!(number(&report["chance"], "f1") < 0.9, "{report}");
    let text = sandbox.succeed(&["evaluate", "runs/sets"]);
    assert!(text.contains("micro F1") && text.contains("Hamming loss"), "{text}");
    let again =
        json(&sandbox.succeed(&["evaluate", "runs/sets", "--split", "validation", "--json"]));
    assert_eq!(again["f1"], report["f1"]);
    let file = ["evaluate", "runs/sets", "--queries", "data/small/sets.arff", "--json"];
    assert_eq!(number(&json(&sandbox.succeed(&file)), "queries"), 48.0);
    // an encoder reads the same vectors
    let mlp = MULTI_LABEL.split("[encoder]").next().unwrap().replacen("full = true", "size = 7", 1);
    let mlp = mlp
        + "[encoder]\nkind = \"mlp\"\nhidden = [16]\n\n[training]\nepochs = 30\nbatch = 8\n\n"
        + "[evaluation]\nmissing_gold = \"rank-infinity\"\n";
    sandbox.write("mlp.toml", &mlp);
    let learnt = json(&sandbox.succeed(&["train", "mlp.toml", "--json"]));
    assert!(number(&learnt, "f1") > number(&learnt["chance"], "f1"), "{learnt}");

    for (set, says) in [
        ("data.labels=9", &["data.labels = 9"][..]),
        ("data.splits.train=41", &["data.splits", "48"]),
        ("output.label=id", &["output.label"]),
        ("encoder.lambda=0.0", &["encoder.lambda", "above 0"]),
        ("encoder.inputs.scaling=other", &["`other`", "`deviation`"]),
        ("evaluation.metric=ged", &["evaluation.metric", "hamming_loss"]),
        ("ensemble.weights=validation", &["ensemble.weights", "no gold"]),
    ] {
        sandbox.fail(&["train", "sets.toml", "--out", "refused", "--set", set], 2, says);
    }
    sandbox.fail(&["search", "runs/sets", "words"], 2, &["texts", "feature vectors"]);
}

#[test]
fn settings_that_do_not_go_together_are_refused() {
    let sandbox = sandbox();
    for (config, set, says) in [
        ("small.toml", "sketch.full=true", &["sketch.full", "cosine"][..]),
        // weights of outputs have another length than what they predict
        ("iokr.toml", "decoding.hubs={}", &["decoding.hubs = given", "unit length", "sketch.full"]),
        ("iokr.toml", "decoding.normalise=true", &["decoding.normalise = true", "sketch.full"]),
        ("siokr.toml", "encoder.solver.precision=single", &["unknown field `precision`"]),
        ("iokr.toml", "encoder.inputs.scaling=standard", &["unknown field `scaling`", "blocks"]),
        ("iokr.toml", "encoder.kernel.name=hamming", &["hamming"]),
        ("small.toml", "evaluation.metric=f1", &["evaluation.metric", "mrr, hits@1"]),
    ] {
        sandbox.fail(&["train", config, "--set", set], 2, says);
    }
    sandbox.fail(&["train", "iokr.toml", "--device", "wgpu"], 2, &["wgpu"]);
    let none = sandbox.read("iokr.toml").replacen("lambda = 0.001", "", 1);
    sandbox.write("none.toml", &none);
    sandbox.fail(&["train", "none.toml"], 2, &["none.toml", "missing field `lambda`"]);
}

#[test]
fn parts_of_molecules_are_features() {
    let sandbox = Sandbox::new();
    let mut outputs = "id\tsmiles\n".to_string();
    let mut rows = Vec::new();
    // in another order, so that each split has all kinds
    for i in (0..60).map(|i| i * 7 % 60) {
        let head = ["C", "N", "O", "C=C", "C#C"][i % 5];
        let tail = ["C", "N", "O", "F"][i / 5 % 4];
        let length = 1 + i / 20;
        outputs += &format!("m{i}\t{head}{}{tail}\n", "C".repeat(length));
        rows.push(format!("m{i}\thead{} tail{} length{length}", i % 5, i / 5 % 4));
    }
    sandbox.write("data/small/outputs.tsv", &outputs);
    let table = |rows: &[String]| format!("id\tdescription\n{}\n", rows.join("\n"));
    sandbox.write("data/small/train.tsv", &table(&rows[..40]));
    sandbox.write("data/small/validation.tsv", &table(&rows[40..50]));
    sandbox.write("data/small/test.tsv", &table(&rows[50..]));
    let ngrams = r#"{ kind = "ngrams", column = "name", min = 1, max = 3 }"#;
    for (of, times) in [
        (r#"{ name = "morgan", radius = 1, width = 512 }"#, 3.0),
        (r#"{ name = "composition" }"#, 3.0),
        (r#"{ name = "graph", kernel = { name = "weisfeiler-lehman", iterations = 2 } }"#, 3.0),
        // a third of the molecules have the chains of another
        (r#"{ name = "chains", width = 256 }"#, 2.0),
    ] {
        let features = format!(
            "{{ kind = \"substructures\", column = \"smiles\", count = {of}, log = true, min_outputs = 2 }}"
        );
        let config = CONFIG.replacen(BAG, RIDGE, 1).replacen(ngrams, &features, 1);
        let config =
            config.replacen("\"name\"", "\"smiles\"", 1).replacen("ngram\" }", "cosine\" }", 1);
        sandbox.write("parts.toml", &config);
        let report = json(&sandbox.succeed(&["train", "parts.toml", "--json"]));
        assert!(
            number(&report, "mrr") > times * number(&report["chance"], "mrr"),
            "{of}: {report}"
        );
        if of.contains("composition") {
            let compare = [
                "evaluate",
                "runs/parts",
                "--edit-distances",
                "--draw",
                "few.svg",
                "--examples",
                "3",
                "--json",
            ];
            let found = json(&sandbox.succeed(&compare));
            assert!(number(&found, "ged_bonds") > 0.0 && number(&found, "exact") < 1.0, "{found}");
            let svg = sandbox.read("few.svg");
            assert_eq!(svg.matches(">predicted, ").count(), 3, "{svg}");
        }
        fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
    for (set, says) in [
        ("output.features.column=id", &["outputs.tsv:2", "SMILES"][..]),
        (
            "output.features.min_outputs=61",
            &[
                "output.features.min_outputs = 61: expected at most ",
                "with the most common feature",
            ],
        ),
        ("output.features.count={name=\"morgan\", width=0}", &["output.features.count.width"]),
        ("output.features.count={name=\"rings\", width=0}", &["output.features.count.width"]),
        // none of these molecules has a ring, or a configuration
        (
            "output.features.count={name=\"rings\"}",
            &["output.features.min_outputs = 2: expected other features: none of these occurs"],
        ),
        (
            "output.features.count={name=\"configurations\"}",
            &["output.features.min_outputs = 2", "none of these occurs"],
        ),
        ("output.features.exact=true", &["output.features.log", "exact"]),
    ] {
        sandbox.fail(&["train", "parts.toml", "--set", set], 2, says);
    }
}

#[test]
fn learned_weights_of_ngrams_are_part_of_the_run() {
    let sandbox = sandbox();
    let learned =
        ["--set", "encoder.inputs.weights=learned", "--set", "encoder.kernel={name=\"cosine\"}"];
    let train = |out: &str, more: &[&str]| {
        let arguments = [&["train", "isokr.toml", "--json", "--out", out], more].concat();
        json(&sandbox.succeed(&arguments))
    };
    let plain = train("plain", &learned[2..]);
    let weighted = train("weighted", &learned);
    assert_ne!(weighted["squared_error"], plain["squared_error"]);
    let again = json(&sandbox.succeed(&["evaluate", "weighted", "--json"]));
    assert_eq!(again["squared_error"], weighted["squared_error"]);
    // the reranker and the weights of kernels fit machines of their own
    let look = "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=2}";
    train("looked", &[&learned[..], &["--set", look]].concat());

    for (set, says) in [
        ("encoder.kernel={name=\"gaussian\", gamma=1.0}", "cosine"),
        (&format!("encoder.{}", SKETCH.replace(" = ", "=")), "closed-form"),
    ] {
        let refused = [&["train", "isokr.toml"], &learned[..], &["--set", set]].concat();
        sandbox.fail(&refused, 2, &["learned", says]);
    }
}
