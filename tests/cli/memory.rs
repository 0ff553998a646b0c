//! Sizes are checked before memory is taken.

#[cfg(target_os = "linux")]
use std::fs;

use dsokr::config::{GroupConfig, OptimizerName, TrainingConfig};
use dsokr::memory::{Need, of_training, split_batches};
use dsokr::nn::PartSize;
use serde_json::Value;

use crate::sandbox::{BAG, CONFIG, RIDGE, Sandbox, json, number};

const TRANSFORMER: &str =
    r#"encoder={kind="transformer", width=8, heads=1, feed_forward=8, layers=1}"#;

/// Sizes that no machine has memory for, each with the key that the message names.
const HUGE: [(&str, &[&str], &str); 8] = [
    ("reduced-rank", &[r#"encoder={kind="mlp", hidden=[1000000000000]}"#], "encoder.hidden"),
    ("synthetic", &["data.train=1000000000000"], "data.train"),
    ("synthetic", &["data.inputs=10000000"], "data.inputs"),
    ("small", &["encoder.hidden=[1000000000000]"], "encoder.hidden"),
    ("small", &[TRANSFORMER, "encoder.width=4000000"], "encoder.width"),
    ("small", &[TRANSFORMER, "encoder.layers=10000000000"], "encoder.layers"),
    ("small", &[TRANSFORMER, "encoder.feed_forward=1000000000000"], "encoder.feed_forward"),
    ("small", &[TRANSFORMER, "encoder.max_length=1000000000000"], "encoder.max_length"),
];

/// Sizes that no process can address, each with a part of the key that the message names.
const IMPOSSIBLE: [(&str, &str, &str); 8] = [
    ("synthetic", "data.train=9223372036854775807", "data.train"),
    ("synthetic", "data.validation=9223372036854775807", "data.train"),
    ("synthetic", "data.test=9223372036854775807", "data.train"),
    ("synthetic", "data.unlabelled=9223372036854775807", "data.train"),
    ("synthetic", "data.inputs=9223372036854775807", "data.inputs"),
    ("synthetic", "data.outputs=9223372036854775807", "data.outputs"),
    ("reduced-rank", r#"encoder={kind="mlp", hidden=[9223372036854775807]}"#, "encoder.hidden"),
    ("small", "encoder.hidden=[4611686018427387904]", "encoder.hidden"),
];

fn config(name: &str) -> String {
    match name {
        "small" => "small.toml".into(),
        _ => format!("{}/configs/{name}.toml", env!("CARGO_MANIFEST_DIR")),
    }
}

#[test]
fn sizes_beyond_the_memory_are_refused_by_their_keys() {
    let sandbox = Sandbox::new();
    for (name, changes, key) in HUGE {
        let path = config(name);
        let mut train = vec!["train", &path, "--quiet", "--out", "run"];
        train.extend(changes.iter().flat_map(|change| ["--set", change]));
        sandbox.fail(&train, 2, &[key, "--force"]);
        assert!(!sandbox.path("run").exists());
    }
    let sketch = ["sketch", "small.toml", "--draws", "1000000000000"];
    sandbox.fail(&sketch, 2, &["--draws", "1 to 10000"]);
}

#[test]
fn sizes_that_no_process_can_address_are_refused_by_force_too() {
    let sandbox = Sandbox::new();
    for (name, change, key) in IMPOSSIBLE {
        let path = config(name);
        let train = ["train", &path, "--quiet", "--out", "run", "--force", "--set", change];
        sandbox.fail(&train, 2, &[key, "which a process can address"]);
        assert!(!sandbox.path("run").exists());
    }
}

/// Counts of which only the product with another one is too large.
#[test]
fn numbers_of_epochs_and_of_terms_have_a_bound() {
    let sandbox = Sandbox::new();
    for (change, says) in [
        ("training.epochs=4611686018427387904", "1 to 1000000000"),
        ("training.epochs=1000000001", "1 to 1000000000"),
        (
            r#"sketch.method={kind="accumulation", terms=2000000000}"#,
            "sketch.method.terms = 2000000000: expected 1..=10000",
        ),
    ] {
        sandbox.fail(&["train", "small.toml", "--plan", "--set", change], 2, &[says]);
    }
    let steps = "training.evaluate_every={steps=9223372036854775807}";
    let most = "training.epochs=1000000000";
    sandbox.succeed(&["train", "small.toml", "--plan", "--set", steps, "--set", most]);
    sandbox.write("ridge.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    let terms = r#"encoder.solver={name="sketched", sketch={size=10, method={kind="accumulation", terms=10001}}}"#;
    sandbox.fail(&["train", "ridge.toml", "--plan", "--set", terms], 2, &["method.terms = 10001"]);
}

/// Files without blocks on the disk stand for ones that are too large for the memory. Numbers that are big-endian do not
/// stay in their file.
#[cfg(target_os = "linux")]
#[test]
fn files_beyond_the_memory_are_refused_before_they_are_read() {
    let sandbox = Sandbox::new();
    let lengthen = |name: &str, length: u64| {
        let file = fs::File::options().append(true).open(sandbox.path(name)).unwrap();
        file.set_len(length).unwrap();
    };
    let rows: u64 = 1 << 20;
    let header = format!(
        "{:<117}\n",
        format!("{{'descr': '>f4', 'fortran_order': False, 'shape': ({rows}, {rows}), }}")
    );
    let start = [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes()].concat();
    fs::write(sandbox.path("data/small/rows.npy"), &start).unwrap();
    lengthen("data/small/rows.npy", start.len() as u64 + 4 * rows * rows);
    let features = r#"output.features={kind="file", file="rows.npy"}"#;
    let kernel = r#"output.kernel={name="linear"}"#;
    let train = ["train", "small.toml", "--quiet", "--out", "run"];
    let matrix = [&train[..], &["--set", features, "--set", kernel]].concat();
    sandbox.fail(&matrix, 2, &["output.features.file", "4.4 TB", "is available", "--force"]);
    sandbox.fail(&[&matrix[..], &["--plan"]].concat(), 2, &["output.features.file"]);
    lengthen("data/small/train.tsv", 4 << 40);
    sandbox.fail(&train, 2, &["data.train", "4.4 TB", "is available", "--force"]);
    assert!(!sandbox.path("run").exists());
}

#[test]
fn a_vocabulary_is_no_larger_than_the_texts_allow() {
    let sandbox = Sandbox::new();
    let encoder = r#"encoder={kind="transformer", width=8, heads=1, feed_forward=8, layers=1,
        tokens={vocabulary=1000000000000}}"#;
    let report = sandbox.train("small.toml", &["training.epochs=1", &encoder.replace('\n', " ")]);
    assert!(number(&report, "mrr") > 0.0, "{report}");
}

#[test]
fn a_plan_is_printed_and_nothing_is_trained() {
    let sandbox = Sandbox::new();
    let plan = ["train", "small.toml", "--plan", "--quiet"];
    let text = sandbox.succeed(&plan);
    assert!(text.contains("encoder.ngrams") && text.contains("in all"), "{text}");
    assert!(!sandbox.path("runs").exists());
    let plan = json(&sandbox.succeed(&[&plan[..], &["--json"]].concat()));
    assert!(number(&plan[0], "bytes") > number(&plan[0], "held"), "{plan}");
    assert!(number(&plan[0], "seconds") < 60.0, "{plan}");
}

#[test]
fn a_plan_counts_further_fits() {
    let sandbox = Sandbox::new();
    sandbox.write("ridge.toml", &CONFIG.replacen(BAG, RIDGE, 1));
    let needs = |config: &str, set: &str| {
        let plan = ["train", config, "--plan", "--quiet", "--json", "--set", set];
        json(&sandbox.succeed(&plan))[0]["needs"].as_array().unwrap().clone()
    };
    let work =
        |needs: &[Value]| needs.iter().map(|need| number(need, "multiplications")).sum::<f64>();
    // two encoders more, each on three quarters of the pairs
    let plain = needs("small.toml", "decoding.held_out=false");
    let hubs = needs("small.toml", "decoding.hubs={folds=4, held_out_folds=2, neighbours=[3]}");
    let further: Vec<_> =
        hubs.iter().filter(|need| need["keys"] == "decoding.hubs").cloned().collect();
    assert_eq!((hubs.len(), further.len()), (plain.len() + 1, 1));
    let encoder: Vec<_> =
        plain.iter().filter(|need| number(need, "traffic") > 0.0).cloned().collect();
    let traffic = |needs: &[Value]| needs.iter().map(|need| number(need, "traffic")).sum::<f64>();
    assert!((1.2..1.8).contains(&(traffic(&further) / traffic(&encoder))), "{hubs:?}");
    assert!(work(&further) > 0.0);
    let one = needs(
        "small.toml",
        "decoding.hubs={folds=4, held_out_folds=1, neighbours=[3], refit=false}",
    );
    assert_eq!(one.len(), plain.len());
    assert!(traffic(&one) < traffic(&plain) && work(&one) < work(&plain), "{one:?}");

    let plain = needs("ridge.toml", "decoding.held_out=false");
    let look = needs(
        "ridge.toml",
        "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=2}",
    );
    let further: Vec<_> =
        look.iter().filter(|need| need["keys"] == "decoding.reranker").cloned().collect();
    let names: Vec<&Value> = further.iter().map(|need| &need["what"]).collect();
    assert_eq!(names, ["machines without a fold of the pairs", "the reranker"]);
    assert_eq!(look.len(), plain.len() + 2);
    for need in &further {
        assert!(number(need, "bytes") > 0.0 && number(need, "multiplications") > 0.0, "{need}");
    }

    // three encoders on two thirds of all pairs; for each of two folds one on three quarters, and three on a half
    let look = needs(
        "small.toml",
        "decoding.reranker={candidates=5, neighbours=7, folds=4, held_out_folds=2}",
    );
    let fits: Vec<_> = look
        .iter()
        .filter(|need| need["what"] == "fits without a part of the pairs")
        .cloned()
        .collect();
    assert!((6.0..7.0).contains(&(traffic(&fits) / traffic(&encoder))), "{look:?}");

    // with words, what 60 texts say, what holds of their outputs, and what holds of 80 candidates
    sandbox.write("data/small/own.tsv", "words\tstructure\nchloro\tatom Cl\nbromo\tatom Br\n");
    let bytes = |words: &str| {
        let look = format!("decoding.reranker={{neighbours=7, folds=4, words={words}}}");
        let needs = needs("ridge.toml", &look);
        let own = needs.iter().find(|need| need["keys"] == "decoding.reranker.words");
        number(own.unwrap(), "bytes")
    };
    let more = bytes("{}") - bytes("{lexicon=\"own.tsv\"}");
    let lexicon = include_str!("../../src/decoding/lexicon/chemistry.tsv").lines().count() - 1;
    assert_eq!(more, (200 * (lexicon - 2)) as f64);
    let none = "decoding.reranker={neighbours=7, folds=4, words={lexicon=\"none.tsv\"}}";
    let plan = ["train", "ridge.toml", "--plan", "--set", none];
    sandbox.fail(&plan, 2, &["none.tsv: not found; decoding.reranker.words.lexicon names it"]);
}

/// Without a sketch predictions are weights of the training outputs, of which equal ones are one.
#[test]
fn a_plan_counts_equal_outputs_once() {
    let sandbox = Sandbox::new();
    let row = |row: usize| format!("{row}\tnumber {}\t{}\n", row % 7, row % 5);
    let rows: String = (0..400).map(row).collect();
    sandbox.write("numbers.tsv", &format!("id\ttext\tvalue\n{rows}"));
    let config = r#"
        [data]
        source = "pool"
        folder = "./"
        file = "numbers.tsv"
        id = "id"
        inputs = { column = "text" }
        splits = { validation = 50, test = 50 }

        [output]
        label = "value"
        features = { kind = "numbers", column = "value" }
        kernel = { name = "linear" }

        [sketch]
        full = true

        [encoder]
        kind = "kernel-machine"
        inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1, min_texts = 1 }] }
        solver = { name = "closed-form" }
        lambda = 1e-3
    "#;
    sandbox.write("numbers.toml", config);
    let plan = json(&sandbox.succeed(&["train", "numbers.toml", "--plan", "--quiet", "--json"]));
    let needs = plan[0]["needs"].as_array().unwrap();
    let candidates = needs.iter().find(|need| need["what"] == "candidates").unwrap();
    assert_eq!(number(candidates, "bytes"), 12.0 * 5.0 * 5.0);
}

#[test]
fn a_plan_knows_how_fast_products_are() {
    let sandbox = Sandbox::new();
    let work = |precision: &str| {
        let encoder = format!(
            "encoder={{kind=\"transformer\", width=8, heads=1, feed_forward=8, layers=1, precision=\"{precision}\"}}"
        );
        let plan = ["train", "small.toml", "--plan", "--quiet", "--json", "--set", &encoder];
        let needs = json(&sandbox.succeed(&plan))[0]["needs"].as_array().unwrap().clone();
        let layers =
            |need: &&Value| need["keys"] == "encoder.layers × encoder.width × training.batch";
        number(needs.iter().find(layers).unwrap(), "multiplications")
    };
    let native = std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|i| i.contains("avx512_bf16"));
    let share = if native { 0.6 } else { 1.0 };
    let found = work("bf16") / work("f32");
    assert!((found - share).abs() < 1e-9, "{found}");
}

#[test]
fn batches_are_split_until_they_fit_into_a_gpu() {
    let at_once = |config: &TrainingConfig, size: f64| {
        let needs = |config: &TrainingConfig| {
            let [model, step] = [100.0, 10.0 * config.at_once() as f64]
                .map(|bytes| Need { gpu: Some(size), ..Need::memory("", "", bytes) });
            vec![model, step, Need::memory("", "", 1e6)]
        };
        split_batches(config, needs).at_once()
    };
    let config = TrainingConfig { batch: 64, ..TrainingConfig::default() };
    // of which nine tenths are taken, 100 by the model
    let sizes = [f64::INFINITY, 850.0, 800.0, 400.0, 1.0];
    assert_eq!(sizes.map(|size| at_once(&config, size)), [64, 64, 32, 16, 1]);
    let given = TrainingConfig { micro_batch: 48, ..config };
    assert_eq!(at_once(&given, 400.0), 48);
}

#[test]
fn the_memory_of_a_gpu_is_at_least_what_a_large_bag_was_seen_to_hold() {
    // of configs/quickstart.toml on software Vulkan: device_bytes in log.jsonl
    let held = 30_889_088.0;
    let table = PartSize {
        keys: "ngrams".into(),
        parameters: 7461.0 * 200.0,
        activations: 2000.0,
        gpu_width: 4.0,
        products: 100.0,
    };
    let config = TrainingConfig { optimizer: OptimizerName::Sgd, ..TrainingConfig::default() };
    let needs = of_training(&[table], &config, [1600, 200], 256, Some(f64::INFINITY));
    let there = needs.iter().filter(|need| need.gpu.is_some()).map(|need| need.bytes);
    let ratio = there.sum::<f64>() / held;
    assert!((1.0..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn a_step_of_plain_descent_counts_the_rows_that_it_changes() {
    let table = PartSize {
        keys: "ngrams".into(),
        parameters: 1e6,
        activations: 0.0,
        gpu_width: 4.0,
        products: 100.0,
    };
    let traffic = |optimizer| {
        let config = TrainingConfig { optimizer, batch: 8, epochs: 3, ..TrainingConfig::default() };
        let needs = of_training(std::slice::from_ref(&table), &config, [80, 10], 8, None);
        needs.iter().map(|need| need.traffic).sum::<f64>()
    };
    // 30 steps of 8 inputs; weights and gradients are read and written, by Adam both moments too; and three checkpoints, each
    // byte of which takes as long as 40 that are copied
    let checkpoints = |bytes: f64| 40.0 * 3.0 * bytes * 1e6;
    assert_eq!(traffic(OptimizerName::Sgd), 30.0 * 16.0 * 800.0 + checkpoints(12.0));
    assert_eq!(traffic(OptimizerName::Adam), 30.0 * 28.0 * 1e6 + checkpoints(20.0));
}

#[test]
fn groups_count_with_their_optimisers() {
    let part = PartSize {
        keys: "width".into(),
        parameters: 1e6,
        activations: 0.0,
        gpu_width: 4.0,
        products: 100.0,
    };
    let needs = |optimizer, of_group: Option<OptimizerName>, learning_rate, gpu| {
        let group = of_group.map(|of_group| GroupConfig {
            parameters: "table".into(),
            optimizer: Some(of_group),
            learning_rate,
            ..GroupConfig::default()
        });
        let groups = group.into_iter().collect();
        let config = TrainingConfig { optimizer, groups, ..TrainingConfig::default() };
        let needs = of_training(std::slice::from_ref(&part), &config, [80, 10], 8, gpu);
        needs.iter().map(|need| (need.bytes, need.traffic)).collect::<Vec<_>>()
    };
    for gpu in [None, Some(f64::INFINITY)] {
        let [sgd, adam] =
            [OptimizerName::Sgd, OptimizerName::Adam].map(|name| needs(name, None, None, gpu));
        assert_ne!(sgd, adam);
        let with = |learning_rate| {
            needs(OptimizerName::Sgd, Some(OptimizerName::Adam), learning_rate, gpu)
        };
        assert_eq!(with(None), adam);
        assert_eq!(with(Some(1e-3)), adam);
        // a frozen group has no moments
        assert_eq!(with(Some(0.0)), sgd);
    }
}
