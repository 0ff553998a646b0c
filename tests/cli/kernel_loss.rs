//! The kernel-induced loss of vectors, and λ chosen by it.

use serde_json::Value;

use crate::sandbox::{CONFIG, RIDGE, Sandbox, json, npy, number};

const GAMMA: f64 = 0.4;

/// Three numbers of an output.
fn vector(output: usize) -> [f64; 3] {
    [1.0, 2.0, 5.0].map(|rate| rate * f64::sin(rate * (output % 40) as f64))
}

/// Outputs with a vector each, of which only those of training pairs are candidates.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let values: Vec<f64> = (0..80).flat_map(vector).collect();
    std::fs::write(sandbox.path("data/small/y.npy"), npy(3, &values)).unwrap();
    let (head, tail) = CONFIG.split_once("[encoder]").unwrap();
    let (_, tail) = tail.split_once("[evaluation]").unwrap();
    let config =
        format!("{head}[encoder]\n{RIDGE}\n\n[evaluation]\nmetric = \"kernel_loss\"{tail}");
    let config = config.replacen(
        "kind = \"ngrams\", column = \"name\", min = 1, max = 3",
        "kind = \"file\", file = \"y.npy\"",
        1,
    );
    let config =
        config.replacen("name = \"ngram\"", &format!("name = \"gaussian\", gamma = {GAMMA}"), 1);
    let config = config.replacen("[output]", "[output]\nonly_training = true", 1);
    let config = config.replacen(
        "lambda = 0.001",
        "lambda = [1e-6, 1e-2, 10.0]\nlambda_by = \"validation\"",
        1,
    );
    sandbox.write("small.toml", &(config + "missing_gold = \"rank-infinity\"\n"));
    sandbox
}

/// The mean of `2 − 2 exp(−γ ‖ŷ − y‖²)` over queries, of vectors whose columns are divided by their deviations in training.
fn by_hand(sandbox: &Sandbox, run: &str, queries: &str, scaled: bool) -> f64 {
    let mut deviations = [1.0; 3];
    if scaled {
        for (column, deviation) in deviations.iter_mut().enumerate() {
            let own: Vec<f64> = (0..60).map(|output| vector(output)[column]).collect();
            let mean = own.iter().sum::<f64>() / 60.0;
            *deviation =
                (own.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 60.0).sqrt();
        }
    }
    let output = |id: &Value| vector(id.as_str().unwrap()[1..].parse().unwrap());
    let found = sandbox.succeed(&["predict", run, queries, "--id", "id", "--top", "1"]);
    let losses = found.lines().map(|line| {
        let line = json(line);
        let right = output(&line["id"]);
        let chosen = output(&line["candidates"][0]["id"]);
        let parts =
            (0..3).map(|column| ((right[column] - chosen[column]) / deviations[column]).powi(2));
        2.0 - 2.0 * (-GAMMA * parts.sum::<f64>()).exp()
    });
    losses.sum::<f64>() / found.lines().count() as f64
}

#[test]
fn the_kernel_loss_of_vectors_is_their_distance_in_feature_space() {
    let sandbox = sandbox();
    let full = "sketch.full=true";
    let scaling = "output.scaling=\"standard\"";
    for (changes, scaled) in [(&[][..], false), (&[full][..], false), (&[full, scaling][..], true)]
    {
        let _ = std::fs::remove_dir_all(sandbox.path("runs"));
        let report = sandbox.train("small.toml", changes);
        let found = number(&report, "kernel_loss");
        let expected = by_hand(&sandbox, "runs/small", "data/small/test.tsv", scaled);
        assert!(expected > 0.1 && (found - expected).abs() < 1e-5, "{found} {expected}");
        let again = json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]));
        assert_eq!(again["kernel_loss"], report["kernel_loss"]);
    }
    // a file of queries, and data that were moved
    std::fs::rename(sandbox.path("data"), sandbox.path("moved")).unwrap();
    let moved = ["evaluate", "runs/small", "--queries", "moved/small/validation.tsv", "--json"];
    let without = json(&sandbox.succeed(&moved));
    assert!(without["kernel_loss"].is_null(), "{without}");
    let with = json(&sandbox.succeed(&[&moved[..], &["--data", "moved"]].concat()));
    let expected = by_hand(&sandbox, "runs/small", "moved/small/validation.tsv", true);
    assert!((number(&with, "kernel_loss") - expected).abs() < 1e-5, "{with} {expected}");
}

/// On the validation queries no other λ has a smaller loss; leave-one-out errors choose a different one.
#[test]
fn lambda_is_chosen_by_the_kernel_loss() {
    let sandbox = sandbox();
    let loss = |lambda: &str, by: &str| {
        let run = format!("runs/{lambda}-{by}");
        let lambda = format!("encoder.lambda={lambda}");
        let by = format!("encoder.lambda_by={by:?}");
        let full = "sketch.full=true";
        let log = sandbox.run(&[
            "train",
            "small.toml",
            "--out",
            &run,
            "--set",
            &lambda,
            "--set",
            &by,
            "--set",
            full,
        ]);
        let log = String::from_utf8(log.stderr).unwrap();
        let chosen = log.split("coordinates, lambda ").nth(1).unwrap().split(',').next().unwrap();
        (by_hand(&sandbox, &run, "data/small/validation.tsv", false), chosen.to_owned())
    };
    let several = "[1e-6, 1e-2, 10.0]";
    let (best, chosen) = loss(several, "validation");
    let all = ["1e-6", "1e-2", "10.0"].map(|lambda| loss(lambda, "validation").0);
    assert_eq!(best, all.into_iter().fold(f64::INFINITY, f64::min), "{all:?}");
    let (other, left_out) = loss(several, "leave-one-out");
    assert!(other > best && chosen != left_out, "{chosen} {left_out}");
    let no_candidates = ["train", "small.toml", "--set", "evaluation.metric=\"squared_error\""];
    sandbox.fail(
        &no_candidates,
        2,
        &["evaluation.metric = \"squared_error\"", "are not candidates"],
    );
    let averaged = "encoder.solver={name=\"divide-and-conquer\", parts=2, sketch={size=10}}";
    let refused =
        ["train", "small.toml", "--set", averaged, "--set", "encoder.lambda_by=\"leave-one-out\""];
    sandbox.fail(&refused, 2, &["encoder.lambda_by = \"leave-one-out\"", "\"validation\""]);
    let sum = sandbox.read("small.toml").replacen("features = {", "kernels = [{ features = {", 1);
    let sum = sum.replacen("y.npy\" }\nkernel = {", "y.npy\" }, kernel = {", 1).replacen(
        "gamma = 0.4 }",
        "gamma = 0.4 }, size = 5 }]",
        1,
    );
    sandbox.write("sum.toml", &sum);
    sandbox.fail(
        &["train", "sum.toml"],
        2,
        &["evaluation.metric = kernel_loss", "for these outputs"],
    );
}
