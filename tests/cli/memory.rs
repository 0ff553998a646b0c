//! Sizes are checked before memory is taken.

use crate::sandbox::{Sandbox, json, number};

/// Sizes that no machine has memory for, each with the key that the message names.
const HUGE: [(&str, &str, &str); 9] = [
    ("reduced-rank", r#"encoder={kind="mlp", hidden=[1000000000000]}"#, "encoder.hidden"),
    ("synthetic", "data.train=1000000000000000", "data.train"),
    ("synthetic", "data.inputs=10000000000", "data.inputs"),
    ("quickstart", "encoder.hidden=[1000000000000]", "encoder.hidden"),
    ("quickstart-transformer", "encoder.width=4000000000", "encoder.width"),
    ("quickstart-transformer", "encoder.layers=1000000000", "encoder.layers"),
    ("quickstart-transformer", "encoder.feed_forward=1000000000000", "encoder.feed_forward"),
    ("quickstart-transformer", "encoder.max_length=1000000000000", "encoder.max_length"),
    ("quickstart-averaged", "encoder.solver.sketch.size=1000000000", "sketch.size"),
];

fn config(name: &str) -> String {
    format!("{}/configs/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn sizes_beyond_the_memory_are_refused_by_their_keys() {
    let sandbox = Sandbox::new();
    for (name, change, key) in HUGE {
        let path = config(name);
        let train = ["train", &path, "--quiet", "--out", "run", "--set", change];
        sandbox.fail(&train, 2, &[key, "--force"]);
        assert!(!sandbox.path("run").exists());
    }
    let sketch = ["sketch", "small.toml", "--draws", "1000000000000"];
    sandbox.fail(&sketch, 2, &["--draws", "1 to 10000"]);
}

#[test]
fn a_vocabulary_is_no_larger_than_the_texts_allow() {
    let sandbox = Sandbox::new();
    let encoder = r#"encoder={kind="transformer", width=8, heads=1, feed_forward=8, layers=1,
        tokens={vocabulary=1000000000000}}"#;
    sandbox.train("small.toml", &["training.epochs=1", &encoder.replace('\n', " ")]);
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
