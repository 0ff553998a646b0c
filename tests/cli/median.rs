//! γ of Gaussian kernels from the median heuristic.

use std::fmt::Write;

use crate::sandbox::{Sandbox, json};

const GAUSSIAN: &str = "output.kernel={name=\"gaussian\", gamma=\"median\"}";

/// The γ that a command logs.
fn gamma(errors: &str) -> f64 {
    let line = errors.lines().find(|line| line.contains("from the median distance")).unwrap();
    let number = line.split("gamma = ").nth(1).unwrap();
    number.split(',').next().unwrap().parse().unwrap()
}

/// The report of a training without date and fingerprint, and what it logged.
fn train(sandbox: &Sandbox, out: &str, threads: &str, changes: &[&str]) -> (String, String) {
    let mut arguments = vec!["train", "small.toml", "--out", out];
    arguments.extend(changes.iter().flat_map(|change| ["--set", change]));
    let mut command = sandbox.command(&arguments);
    let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    let mut report = json(&sandbox.read(&format!("{out}/metrics.json")).replace('\n', " "));
    for key in ["date", "fingerprint"] {
        report.as_object_mut().unwrap().remove(key);
    }
    (report.to_string(), errors)
}

#[test]
fn gamma_is_the_inverse_of_the_median_squared_distance() {
    let sandbox = Sandbox::new();
    // the pairs of 60 numbers 0, 1, … have a median difference that is counted here
    let table: String = (0..80).fold("id\tname\tvalue\n".into(), |mut table, i| {
        let _ = writeln!(table, "o{i}\tx{i}\t{i}");
        table
    });
    sandbox.write("data/small/outputs.tsv", &table);
    let numbers = "output.features={kind=\"numbers\", column=\"value\"}";
    let (report, errors) = train(&sandbox, "one", "1", &[numbers, GAUSSIAN]);
    let mut squares: Vec<f64> =
        (0..60).flat_map(|i| (0..i).map(move |j| f64::from((i - j) * (i - j)))).collect();
    squares.sort_by(f64::total_cmp);
    let half = squares.len() / 2;
    let median = 0.5 * (squares[half - 1] + squares[half]);
    assert!((gamma(&errors) * median - 1.0).abs() < 1e-12, "{errors}");
    // threads change nothing, and the number itself gives the same run
    assert_eq!(train(&sandbox, "three", "3", &[numbers, GAUSSIAN]).0, report);
    let fixed = format!("output.kernel={{name=\"gaussian\", gamma={:?}}}", gamma(&errors));
    assert_eq!(train(&sandbox, "fixed", "2", &[numbers, &fixed]).0, report);
    assert!(sandbox.read("one/config.toml").contains("gamma = \"median\""));
    let evaluated = json(&sandbox.succeed(&["evaluate", "one", "--json"]));
    assert!(report.contains(&format!("\"mrr\":{}", evaluated["mrr"])), "{evaluated} {report}");
    let again =
        ["train", "small.toml", "--out", "one", "--resume", "--set", numbers, "--set", GAUSSIAN];
    sandbox.succeed(&again);
    // half of the pairs are equal
    let equal: String = table.lines().map(|line| line.rsplit_once('\t').unwrap().0).fold(
        String::new(),
        |mut table, line| {
            let value = if table.is_empty() { "value" } else { "7" };
            let _ = writeln!(table, "{line}\t{value}");
            table
        },
    );
    sandbox.write("data/small/outputs.tsv", &equal);
    let bad = ["train", "small.toml", "--set", numbers, "--set", GAUSSIAN];
    sandbox.fail(
        &bad,
        2,
        &["output.kernel.gamma", "\"median\"", "median of the squared distances"],
    );
}

#[test]
fn gamma_is_a_number_or_the_median() {
    let sandbox = Sandbox::new();
    let sizes = ["sketch", "small.toml", "--sizes", "5,10", "--json", "--set"];
    let tanimoto = "output.kernel={name=\"gaussian-tanimoto\", gamma=\"median\"}";
    sandbox.succeed(&[&sizes[..], &[tanimoto]].concat());
    let axis = "output.kernel.gamma=0.1,median";
    let sweep = ["sweep", "small.toml", "--out", "sweep", "--grid", axis];
    let base =
        ["--set", "output.kernel={name=\"gaussian\", gamma=1.0}", "--set", "training.epochs=1"];
    let table = sandbox.succeed(&[&sweep[..], &base].concat());
    assert!(table.contains("median"), "{table}");
    for (kernel, says) in [
        (
            "{name=\"gaussian\", gamma=\"mean\"}",
            &["\"mean\"", "a number above 0", "\"median\""][..],
        ),
        ("{name=\"cosine\", gamma=\"median\"}", &["gamma"]),
        ("{name=\"gaussian\", gamma=\"median\", width=2}", &["unknown field `width`"]),
        ("{name=\"gaussian\"}", &["missing field `gamma`"]),
        ("{name=\"gauss\", gamma=1.0}", &["gauss", "gaussian-tanimoto"]),
    ] {
        let change = format!("output.kernel={kernel}");
        sandbox.fail(&["train", "small.toml", "--set", &change], 2, says);
    }
}

#[test]
fn gamma_of_inputs_is_the_median_of_the_training_inputs() {
    let sandbox = Sandbox::new();
    let rows: String = (0..40).map(|i| format!("{} 1:{i} 2:1\n", i % 3)).collect();
    sandbox.write("data/small/rows.libsvm", &rows);
    sandbox.write(
        "small.toml",
        "[data]\nsource = \"multi-label\"\nfolder = \"small\"\nfile = \"rows.libsvm\"\n\
         splits = { order = \"file\", train = 30, validation = 10 }\n\n[output]\nlabel = \"labels\"\n\
         features = { kind = \"labels\", column = \"labels\" }\nkernel = { name = \"tanimoto\" }\n\n\
         [sketch]\nsize = 3\n\n[encoder]\nkind = \"kernel-machine\"\nlambda = 1e-3\n",
    );
    let kernel = |gamma: &str| format!("encoder.kernel={{name=\"gaussian\", gamma={gamma}}}");
    let (report, errors) = train(&sandbox, "one", "1", &[&kernel("\"median\"")]);
    let mut squares: Vec<f64> =
        (0..30).flat_map(|i| (0..i).map(move |j| f64::from((i - j) * (i - j)))).collect();
    squares.sort_by(f64::total_cmp);
    let half = squares.len() / 2;
    let median = match squares.len() % 2 {
        0 => 0.5 * (squares[half - 1] + squares[half]),
        _ => squares[half],
    };
    assert!((gamma(&errors) * median - 1.0).abs() < 1e-12, "{errors}");
    // the number itself gives the same run, which a run that is read has too
    let fixed = kernel(&format!("{:?}", gamma(&errors)));
    assert_eq!(train(&sandbox, "fixed", "2", &[&fixed]).0, report);
    let evaluated = json(&sandbox.succeed(&["evaluate", "one", "--json"]));
    assert!(report.contains(&format!("\"mrr\":{}", evaluated["mrr"])), "{evaluated} {report}");
    let again = kernel("\"median\"");
    sandbox.succeed(&["train", "small.toml", "--out", "one", "--resume", "--set", &again]);
    // scaled inputs have the distances of the scaled inputs
    let scaled = "encoder.inputs={kind=\"vectors\", scaling=\"deviation\"}";
    let (_, errors) = train(&sandbox, "scaled", "1", &[&again, scaled]);
    let variance = (30.0f64 * 30.0 - 1.0) / 12.0;
    assert!((gamma(&errors) * median / variance - 1.0).abs() < 1e-5, "{errors}");
}
