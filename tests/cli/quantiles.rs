//! Quantiles of numbers as answers.

use crate::sandbox::{CONFIG, Sandbox, json, number};

const LEVELS: [f64; 3] = [0.1, 0.5, 0.9];

/// The size of an output, not all of which its text tells: the texts are one for every class and stem.
fn size(output: usize) -> f64 {
    (output % 8) as f64 + 0.25 * (output / 8 % 5) as f64 + 0.5 * (output / 40) as f64
}

/// A sandbox whose outputs have a number each, and a configuration for its quantiles.
pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut lines = outputs.lines();
    let mut table = format!("{}\tsize\n", lines.next().unwrap());
    for (at, line) in lines.enumerate() {
        table += &format!("{line}\t{}\n", size(at));
    }
    sandbox.write("data/small/outputs.tsv", &table);
    let head = &CONFIG[..CONFIG.find("features").unwrap()];
    sandbox.write(
        "small.toml",
        &format!(
            r#"{head}features = {{ kind = "numbers", column = "size" }}
kernel = {{ name = "linear" }}

[sketch]
full = true

[encoder]
kind = "kernel-machine"
inputs = {{ kind = "ngrams", blocks = [{{ kind = "words", min = 1, max = 1 }}] }}
solver = {{ name = "lipschitz", sketch = {{ size = 40 }}, loss = {{ name = "pinball", levels = {LEVELS:?} }} }}
lambda = [1e-4, 1e-2]

[evaluation]
metric = "pinball"
split = "test"
"#
        ),
    );
    sandbox
}

fn pinball(quantiles: &[f64], observed: f64) -> f64 {
    let one = |(level, quantile): (&f64, &f64)| {
        let error = observed - quantile;
        if error > 0.0 { level * error } else { (level - 1.0) * error }
    };
    LEVELS.iter().zip(quantiles).map(one).sum()
}

/// Numbers of 32 bits of this size are 128 apart, so that all of them are one.
#[test]
fn numbers_that_32_bits_do_not_tell_apart_are_refused() {
    let sandbox = sandbox();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let far = |start: u64| {
        let mut lines = outputs.lines();
        let mut table = format!("{}\n", lines.next().unwrap());
        for (at, line) in lines.enumerate() {
            let (rest, _) = line.rsplit_once('\t').unwrap();
            table += &format!("{rest}\t{}\n", start + at as u64 % 20);
        }
        table
    };
    sandbox.write("data/small/outputs.tsv", &far(1_700_000_000));
    let message = "the numbers in the column \"size\" lie between 1700000000 and 1700000019, and rounding to 32 \
                   bits changes them by up to 19: subtract a constant from all of them";
    sandbox.fail(&["train", "small.toml", "--quiet"], 2, &["outputs.tsv", message]);
    sandbox.write("data/small/outputs.tsv", &far(1_700_000));
    sandbox.succeed(&["train", "small.toml", "--quiet"]);
}

#[test]
fn quantiles_are_trained_evaluated_and_searched() {
    let sandbox = sandbox();
    let report = sandbox.train("small.toml", &[]);
    let mut total = 0.0;
    let mut crossing = 0.0;
    let mut below = 0;
    let tests = sandbox.read("data/small/test.tsv");
    for line in tests.lines().skip(1) {
        let (id, text) = line.split_once('\t').unwrap();
        let observed = size(id[1..].parse().unwrap());
        let found = sandbox.succeed(&["search", "runs/small", text, "--top", "1", "--json"]);
        let found = json(&found);
        let of = |at: usize| number(&found["quantiles"][at], "value");
        let quantiles: Vec<f64> = (0..LEVELS.len()).map(of).collect();
        total += pinball(&quantiles, observed) / 10.0;
        crossing += quantiles.windows(2).map(|q| (q[0] - q[1]).max(0.0)).sum::<f64>() / 10.0;
        below += usize::from(observed <= quantiles[1]);
        // the candidate that comes first is the number nearest to the median
        let first: usize = found["candidates"][0]["id"].as_str().unwrap()[1..].parse().unwrap();
        let least = (0..80).map(|at| (size(at) - quantiles[1]).abs()).fold(f64::INFINITY, f64::min);
        assert!((size(first) - quantiles[1]).abs() < least + 1e-3, "{found}");
    }
    assert!((number(&report, "pinball") - total).abs() < 1e-4, "{total}: {report}");
    assert!((number(&report, "crossing") - crossing).abs() < 1e-4, "{crossing}: {report}");
    assert_eq!(number(&report["coverage"][1], "share"), below as f64 / 10.0, "{report}");

    // far below what the quantiles of the training numbers give every query
    let mut sizes: Vec<f64> = (0..60).map(size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let constant = LEVELS.map(|level| sizes[(level * 60.0).ceil() as usize - 1]);
    let without = (70..80).map(|at| pinball(&constant, size(at)) / 10.0).sum::<f64>();
    assert!(total < 0.5 * without, "{total} {without}");

    let text = sandbox.succeed(&["evaluate", "runs/small"]);
    assert!(text.contains("pinball") && text.contains("0.9: "), "{text}");
    assert_eq!(
        json(&sandbox.succeed(&["evaluate", "runs/small", "--json"]))["pinball"],
        report["pinball"]
    );
    sandbox.succeed(&["evaluate", "runs/small", "--report", "report"]);
    let table = sandbox.read("report/quantiles.tsv");
    let mut lines = table.lines();
    assert_eq!(lines.next().unwrap(), "query\tnumber\tquantile 0.1\tquantile 0.5\tquantile 0.9");
    let of_line = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let numbers: Vec<f64> = cells[1..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(numbers[0], size(cells[0][1..].parse().unwrap()), "{line}");
        pinball(&numbers[1..], numbers[0]) / 10.0
    };
    assert!((lines.map(of_line).sum::<f64>() - total).abs() < 1e-4, "{table}");

    let text = sandbox.succeed(&["search", "runs/small", "a ring of kind HEX", "--top", "2"]);
    assert!(text.contains("quantile 0.5"), "{text}");

    // runs vote on the candidates; what their quantiles together are is not said
    sandbox.train(
        "small.toml",
        &["name=other", "encoder.output_matrix={kind=\"quantiles\", gamma=100.0}"],
    );
    let both = json(&sandbox.succeed(&["evaluate", "runs/small", "runs/other", "--json"]));
    assert!(number(&both, "mrr") > 0.0 && both["pinball"].is_null(), "{both}");
    assert!(number(&both["members"][1], "pinball") > 0.0, "{both}");

    // ranks of numbers carry no information
    let interval = sandbox.succeed(&["evaluate", "runs/small", "--ci"]);
    let comparison = sandbox.succeed(&["compare", "runs/small", "runs/other"]);
    for text in [&interval, &comparison] {
        assert!(text.contains("pinball") && text.contains("crossing"), "{text}");
        let ranks = ["mrr", "MRR", "hits", "Hits", "rank"];
        assert!(ranks.iter().all(|name| !text.contains(name)), "{text}");
    }
    let intervals = json(&sandbox.succeed(&["evaluate", "runs/small", "--ci", "--json"]));
    assert!(intervals["mrr_ci95"].is_null() && intervals["intervals"]["mrr"].is_null());
    assert!(report["intervals"]["pinball"].is_array() && report["intervals"]["mrr"].is_null());
}

#[test]
fn equal_numbers_get_no_advice() {
    let sandbox = sandbox();
    let outputs = sandbox.read("data/small/outputs.tsv");
    let rows = outputs.lines().enumerate().map(|(at, line)| match line.rsplit_once('\t') {
        Some((row, _)) if at > 0 => format!("{row}\t{}\n", at % 2),
        _ => format!("{line}\n"),
    });
    sandbox.write("data/small/outputs.tsv", &rows.collect::<String>());
    let text = sandbox.succeed(&["train", "small.toml", "--quiet"]);
    assert!(text.contains("78 duplicates") && !text.contains("same point"), "{text}");
}

#[test]
fn what_quantiles_need_is_said() {
    let sandbox = sandbox();
    let refused = |change: &str, expected: &[&str]| {
        sandbox.fail(&["train", "small.toml", "--set", change], 2, expected);
    };
    refused("sketch.full=false", &["sketch.full", "not sketched"]);
    refused("evaluation.metric=mrr", &["evaluation.metric", "mrr", "pinball"]);
    refused("output.kernel={ name = \"cosine\" }", &["output.kernel", "cosine", "linear"]);
    refused(
        "encoder.output_matrix={kind=\"quantiles\", gamma=-1.0}",
        &["gamma of the output matrix", "-1"],
    );
    refused("encoder.solver.loss.levels=[0.5, 0.5]", &["encoder.solver", "0.5"]);
    refused("encoder.solver.loss.levels=[]", &["encoder.solver.loss.levels", "[]"]);
    refused("encoder.solver.loss.levels=[0.5, 1.0]", &["encoder.solver", "1"]);
    refused("decoding.normalise=true", &["decoding.normalise", "quantiles"]);
    refused("decoding.hubs={}", &["decoding.hubs"]);
    let huber = "encoder.solver.loss={ name = \"huber\", kappa = 1.0 }";
    let sets = [
        "--set",
        huber,
        "--set",
        "encoder.output_matrix={kind=\"quantiles\", gamma=1.0}",
        "--set",
        "sketch.full=false",
    ];
    sandbox.fail(
        &[&["train", "small.toml"][..], &sets].concat(),
        2,
        &["encoder.output_matrix.kind", "pinball"],
    );
    let ngrams = "output.features={ kind = \"ngrams\", column = \"name\", min = 1, max = 2 }";
    refused(ngrams, &["pinball", "one number each"]);

    let table = sandbox.read("data/small/outputs.tsv");
    for cell in ["many", "inf", ""] {
        let line = table.lines().nth(3).unwrap();
        let spoilt = format!("{}\t{cell}", line.rsplit_once('\t').unwrap().0);
        sandbox.write("data/small/outputs.tsv", &table.replacen(line, &spoilt, 1));
        let says = ["outputs.tsv:4", &format!("{cell:?}"), "\"size\"", "finite number"];
        sandbox.fail(&["train", "small.toml"], 2, &says);
    }
}

/// Where λ is so large that nothing is learned, answers are the offset: 0, or the quantiles of the training numbers.
#[test]
fn the_offset_is_nothing_or_quantiles() {
    let sandbox = sandbox();
    let mut sizes: Vec<f64> = (0..60).map(size).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let constant = LEVELS.map(|level| sizes[(level * 60.0).ceil() as usize - 1]);
    for (offset, expected) in [("zero", [0.0; 3]), ("constant", constant)] {
        let _ = std::fs::remove_dir_all(sandbox.path("runs"));
        let changes = format!("encoder.solver.offset={offset:?}");
        let report = sandbox.train("small.toml", &[&changes, "encoder.lambda=1e7"]);
        let mean = (70..80).map(|at| pinball(&expected, size(at)) / 10.0).sum::<f64>();
        let found = number(&report, "pinball");
        assert!((found - mean).abs() < 1e-4, "{offset}: {found} {mean}");
    }
}

/// Errors of numbers that are ten times as large are ten times as large.
#[test]
fn a_sweep_joins_runs_that_are_measured_on_the_same_numbers() {
    let sandbox = sandbox();
    let sweep = |lambda| ["sweep", "small.toml", "--out", "all", "--grid", lambda];
    sandbox.succeed(&sweep("encoder.lambda=1e-4"));
    let outputs = sandbox.read("data/small/outputs.tsv");
    let mut lines = outputs.lines();
    let mut table = format!("{}\n", lines.next().unwrap());
    for line in lines {
        let (rest, size) = line.rsplit_once('\t').unwrap();
        table += &format!("{rest}\t{}\n", 10.0 * size.parse::<f64>().unwrap());
    }
    sandbox.write("data/small/outputs.tsv", &table);
    // as where no table is known
    let file = "all/encoder.lambda=1e-4/metrics.json";
    let mut record: serde_json::Value = serde_json::from_str(&sandbox.read(file)).unwrap();
    assert!(record.as_object_mut().unwrap().remove("tables").is_some());
    sandbox.write(file, &record.to_string());
    sandbox.forget_checksum("all/encoder.lambda=1e-4", "metrics.json");
    let says = ["all/encoder.lambda=1e-2", "other right outputs than all/encoder.lambda=1e-4"];
    sandbox.fail(&sweep("encoder.lambda=1e-2"), 2, &says);
}
