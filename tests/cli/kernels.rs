//! Kernels of the inputs that were computed elsewhere: the protocol of metabolite identification.

use std::fmt::Write;
use std::fs;

use crate::sandbox::{Sandbox, json, npy, number};

const N: usize = 60;
const TRAIN: usize = 40;
const WIDTH: usize = 6;

const CONFIG: &str = r#"
[data]
folder = "spectra"
id = "molecule"
test = "test.tsv"

[output]
table = "molecules.tsv"
features = { kind = "labels", column = "fingerprint", separator = "," }
label = "fingerprint"
kernel = { name = "gaussian-tanimoto", gamma = 1.0 }

[sketch]
full = true

[encoder]
kind = "kernel-machine"
lambda = 1e-3

[evaluation]
split = "test"
"#;

const KERNELS: &str = r#"
[data.inputs]
kind = "kernels"
table = "spectra.tsv"
column = "spectrum"
files = ["peaks.npy", "noise.npy"]
"#;

const UNIFORM: &str = "encoder.inputs={kind=\"kernels\", combination=\"uniform\"}";

const SKETCHED: &str = "encoder.solver={name=\"sketched\", sketch={size=20}}";

const LIPSCHITZ: &str = "encoder.solver={name=\"lipschitz\", sketch={size=5}, loss={name=\"huber\", \
    kappa=1.0}}";

/// A number in [0, 1) that depends on two others.
fn drawn(row: usize, column: usize) -> f64 {
    let hash = ((row * 7919 + column * 104_729 + 13) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> 40) as f64 / (1u64 << 24) as f64
}

/// The spectrum of a molecule: which of its parts are there, and some noise.
fn spectrum(row: usize) -> Vec<f64> {
    let has = |column| if drawn(row, column) > 0.5 { 1.0 } else { 0.0 };
    (0..WIDTH).map(|column| has(column) + 0.05 * drawn(row, column + 100)).collect()
}

fn gram(value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..N * N).map(|at| value(at / N, at % N)).collect()
}

/// The values of a kernel, with a unit diagonal.
fn normalised(values: Vec<f64>) -> Vec<f64> {
    let root = |i: usize| values[i * (N + 1)].sqrt();
    gram(|i, j| values[i * N + j] / (root(i) * root(j)))
}

fn peaks() -> Vec<f64> {
    let rows: Vec<Vec<f64>> = (0..N).map(spectrum).collect();
    let inner = |i: usize, j: usize| rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum();
    gram(inner)
}

fn noise(i: usize, j: usize) -> f64 {
    let term = |c: usize| (drawn(i, c + 200) - 0.5) * (drawn(j, c + 200) - 0.5);
    (0..2).map(term).sum()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("data/spectra")).unwrap();
    let put = |name: &str, bytes: &[u8]| {
        fs::write(sandbox.path(&format!("data/spectra/{name}")), bytes).unwrap();
    };
    let mut spectra = "id\n".to_owned();
    let mut molecules = "id\tfingerprint\n".to_owned();
    let mut splits = ["train", "validation", "test"].map(|_| "molecule\tspectrum\n".to_owned());
    let mut lists = String::new();
    // the spectra stand in another order than the pairs
    for row in (0..N).rev() {
        writeln!(spectra, "s{row}").unwrap();
    }
    for row in 0..N {
        let parts: Vec<String> =
            (0..WIDTH).filter(|&c| drawn(row, c) > 0.5).map(|c| format!("f{c}")).collect();
        writeln!(molecules, "m{row}\tf{WIDTH},{}", parts.join(",")).unwrap();
        let split = if row < TRAIN { 0 } else { 1 + row % 2 };
        writeln!(splits[split], "m{row}\ts{row}").unwrap();
        if split > 0 {
            let others: Vec<String> =
                (0..8).map(|k| format!("\"m{}\"", (row + 7 * k) % N)).collect();
            let candidates = others.join(", ");
            writeln!(lists, "{{\"query\": \"m{row}\", \"candidates\": [{candidates}]}}").unwrap();
        }
    }
    put("spectra.tsv", spectra.as_bytes());
    put("molecules.tsv", molecules.as_bytes());
    put("candidates.jsonl", lists.as_bytes());
    for (name, text) in ["train", "validation", "test"].iter().zip(&splits) {
        put(&format!("{name}.tsv"), text.as_bytes());
    }
    let reversed = |values: Vec<f64>| -> Vec<f64> { values.into_iter().rev().collect() };
    put("peaks.npy", &npy(N, &reversed(peaks())));
    put("noise.npy", &npy(N, &normalised(gram(noise))));
    put("normalised.npy", &npy(N, &reversed(normalised(peaks()))));
    let vectors: Vec<f64> = (0..N).flat_map(spectrum).collect();
    put("vectors.npy", &npy(WIDTH, &vectors));
    sandbox.write("kernels.toml", &format!("{CONFIG}{KERNELS}"));
    sandbox.write(
        "vectors.toml",
        &format!(
            "{CONFIG}\n[data.inputs]\nkind = \"features\"\ntable = \"molecules.tsv\"\nfile = \"vectors.npy\"\n"
        ),
    );
    sandbox
}

#[test]
fn a_kernel_from_a_file_is_that_kernel() {
    let sandbox = sandbox();
    let expected = sandbox.train("vectors.toml", &[]);
    let one = [UNIFORM, "data.inputs.files=[\"peaks.npy\"]"];
    let found = sandbox.train("kernels.toml", &one);
    assert!(number(&found, "mrr") > 3.0 * number(&found["chance"], "mrr"), "{found}");
    for figure in ["mrr", "hits@1", "mean_rank"] {
        assert_eq!(found[figure], expected[figure], "{figure}");
    }
    // with each query's own candidates, from the run directory and the data alone
    let lists = "data/spectra/candidates.jsonl";
    let evaluate = |run: &str| {
        json(&sandbox.succeed(&[
            "evaluate",
            run,
            "--split",
            "test",
            "--candidates",
            lists,
            "--json",
        ]))
    };
    let a = evaluate("runs/kernels");
    let b = evaluate("runs/vectors");
    assert_eq!(a["mrr"], b["mrr"]);
    assert!(number(&a, "mrr") > number(&found, "mrr"), "shorter lists are easier: {a}");
    let table = ["evaluate", "runs/kernels", "--queries", "data/spectra/test.tsv", "--json"];
    assert_eq!(json(&sandbox.succeed(&table))["mrr"], found["mrr"]);
}

/// Only inputs of the matrices have values of kernels, and what a training and its card name takes these.
#[test]
fn a_run_on_kernels_names_the_command_that_takes_its_inputs() {
    let sandbox = sandbox();
    let trained = sandbox.succeed(&["train", "kernels.toml", "--set", UNIFORM]);
    let named = "dsokr evaluate runs/kernels --queries data/spectra/test.tsv";
    assert!(trained.contains(&format!("try: {named}\n")), "{trained}");
    let command: Vec<&str> = named.split(' ').skip(1).collect();
    assert!(sandbox.succeed(&command).contains("F1"));
    let card = sandbox.read("runs/kernels/README.md");
    assert!(card.contains("dsokr evaluate . --data DATA --queries FILE"), "{card}");
    assert!(!card.contains("dsokr predict"), "{card}");
    for file in ["data/spectra/test.tsv", "data/spectra/peaks.npy"] {
        for more in [&["predict"][..], &["embed", "--out", "z.npy"]] {
            let arguments = [more, &["runs/kernels", file]].concat();
            sandbox.fail(
                &arguments,
                2,
                &["the inputs of its matrices", "evaluate RUN --queries FILE"],
            );
        }
    }
}

/// The machine on rows knows its predictions without a fold. That on values of a kernel is fitted anew, on the values of the
/// other inputs.
#[test]
fn a_kernel_from_a_file_has_the_reranker_of_that_kernel() {
    let sandbox = sandbox();
    let look = "decoding.reranker={candidates=5, neighbours=5, folds=4, held_out_folds=2}";
    let basis = ["sketch.full=false", "sketch.size=20", look];
    for solver in [&[SKETCHED][..], &[LIPSCHITZ, "decoding.hubs={folds=4, neighbours=[3]}"], &[]] {
        let expected = sandbox.train("vectors.toml", &[&basis, solver].concat());
        let one = [UNIFORM, "data.inputs.files=[\"peaks.npy\"]"];
        let found = sandbox.train("kernels.toml", &[&one, &basis[..], solver].concat());
        for figure in ["mrr", "hits@1", "mean_rank"] {
            assert_eq!(found[figure], expected[figure], "{figure} of {solver:?}");
        }
        let of_vectors = sandbox.numbers("runs/vectors/reranker.safetensors", "answers");
        let of_kernels = sandbox.numbers("runs/kernels/reranker.safetensors", "answers");
        assert!(!of_kernels.is_empty() && of_kernels.len() == of_vectors.len());
        for (found, expected) in of_kernels.iter().zip(&of_vectors) {
            assert!((found - expected).abs() < 1e-4, "{found} {expected} of {solver:?}");
        }
        fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
    let once = "decoding.hubs={folds=4, held_out_folds=1, refit=false}";
    let mut arguments = vec!["train", "kernels.toml"];
    let settings = ["sketch.full=false", "sketch.size=20", UNIFORM, LIPSCHITZ, once];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    sandbox.fail(&arguments, 2, &["decoding.hubs.refit = false", "set it to true"]);
}

#[test]
fn sketched_inputs_of_a_kernel_from_a_file_are_those_of_its_rows() {
    let sandbox = sandbox();
    let basis = ["sketch.full=false", "sketch.size=20"];
    for solver in [&[SKETCHED][..], &[LIPSCHITZ, basis[0], basis[1]]] {
        let expected = sandbox.train("vectors.toml", solver);
        let one = [&[UNIFORM, "data.inputs.files=[\"peaks.npy\"]"], solver].concat();
        let found = sandbox.train("kernels.toml", &one);
        assert_eq!(found["mrr"], expected["mrr"]);
        let table = ["evaluate", "runs/kernels", "--queries", "data/spectra/test.tsv", "--json"];
        assert_eq!(json(&sandbox.succeed(&table))["mrr"], found["mrr"]);
        std::fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
}

/// The kernel has rank 6: 14 anchors span what all inputs span.
#[test]
fn values_with_anchors_are_enough_for_every_solver() {
    let sandbox = sandbox();
    let mut table = "id\n".to_owned();
    let anchors: Vec<usize> = (0..TRAIN).step_by(3).collect();
    anchors.iter().for_each(|row| writeln!(table, "s{row}").unwrap());
    let put = |name: &str, all: &[f64]| {
        let row = |row: usize| anchors.iter().map(move |anchor| all[row * N + N - 1 - anchor]);
        let values: Vec<f64> = (0..N).flat_map(row).collect();
        let path = sandbox.path(&format!("data/spectra/{name}"));
        fs::write(path, npy(anchors.len(), &values)).unwrap();
    };
    put("part.npy", &peaks().into_iter().rev().collect::<Vec<_>>());
    put("part-noise.npy", &normalised(gram(noise)));
    sandbox.write("data/spectra/anchors.tsv", &table);
    let files = ["data.inputs.files=[\"part.npy\"]", "data.inputs.anchors=\"anchors.tsv\""];
    let gradients =
        "encoder.solver={name=\"conjugate-gradients\", sketch={size=20}, iterations=60}";
    let basis = ["sketch.full=false", "sketch.size=20"];
    for (solver, like) in [
        (&[][..], &[][..]),
        (&[SKETCHED], &[]),
        (&[gradients], &[]),
        (&[LIPSCHITZ, basis[0], basis[1]], &[LIPSCHITZ, basis[0], basis[1]]),
    ] {
        let expected = sandbox.train("vectors.toml", like);
        let found = sandbox.train("kernels.toml", &[&[UNIFORM], &files[..], solver].concat());
        assert_eq!(found["mrr"], expected["mrr"], "{solver:?}");
        let table = ["evaluate", "runs/kernels", "--queries", "data/spectra/test.tsv", "--json"];
        assert_eq!(json(&sandbox.succeed(&table))["mrr"], found["mrr"]);
        std::fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
    let fail = |changes: &[&str], says: &[&str]| {
        let changes = changes.iter().flat_map(|change| ["--set", change]);
        sandbox.fail(
            &["train", "kernels.toml"].into_iter().chain(changes).collect::<Vec<_>>(),
            2,
            says,
        );
    };
    let whole = ["data.inputs.files=[\"peaks.npy\", \"noise.npy\"]"];
    let part = ["data.inputs.files=[\"part.npy\", \"part-noise.npy\"]", files[1]];
    for rule in ["uniform", "alignf", "held-out"] {
        let rule = format!("encoder.inputs={{kind=\"kernels\", combination=\"{rule}\"}}");
        let [expected, found] = [&whole[..], &part].map(|files| {
            let found = sandbox.train("kernels.toml", &[files, &[rule.as_str()]].concat());
            let stored: serde_json::Value =
                serde_json::from_str(&sandbox.read("runs/kernels/kernels.json")).unwrap();
            fs::remove_dir_all(sandbox.path("runs")).unwrap();
            ([0, 1].map(|at| stored["weights"][at].as_f64().unwrap()), number(&found, "mrr"))
        });
        let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-4;
        assert!(expected.0.into_iter().zip(found.0).all(near), "{rule}: {expected:?} {found:?}");
        assert_eq!(found.1, expected.1, "{rule}");
    }
    fail(&[UNIFORM, files[1]], &["peaks.npy", "60 columns", "anchors.tsv has 14 rows"]);
    sandbox.write("data/spectra/anchors.tsv", &table.replace("s3\n", "s99\n"));
    fail(&[UNIFORM, files[0], files[1]], &["anchors.tsv:3", "s99", "spectra.tsv"]);
}

#[test]
fn learned_weights_prefer_the_kernel_that_knows() {
    let sandbox = sandbox();
    let held_out = ["encoder.inputs={kind=\"kernels\", combination=\"held-out\"}"];
    let lambdas = [
        "encoder.inputs={kind=\"kernels\", combination=\"alignf\"}",
        "encoder.lambda=[1e-4, 1e-2]",
    ];
    let config = sandbox.read("kernels.toml").replace("peaks.npy", "normalised.npy");
    sandbox.write("kernels.toml", &config);
    for changes in [&held_out[..], &lambdas] {
        let _ = std::fs::remove_dir_all(sandbox.path("runs"));
        let found = sandbox.train("kernels.toml", changes);
        let stored: serde_json::Value =
            serde_json::from_str(&sandbox.read("runs/kernels/kernels.json")).unwrap();
        let weights: Vec<f64> =
            stored["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
        assert!(weights[0] > 0.0 && weights[0] > weights[1], "{weights:?}");
        assert!(number(&found, "mrr") > 3.0 * number(&found["chance"], "mrr"), "{found}");
    }
    let text = sandbox.succeed(&[
        "sketch",
        "kernels.toml",
        "--sizes",
        "5,20",
        "--draws",
        "1",
        "--set",
        "sketch.full=false",
        "--set",
        UNIFORM,
        "--set",
        "encoder.lambda=[1e-3]",
    ]);
    assert!(text.contains("fitted"), "{text}");
}

/// A pair of weight 2 counts as two equal pairs; by held-out errors it counts, but is left out whole.
#[test]
fn weights_of_pairs_count_where_kernels_are_weighed() {
    let sandbox = sandbox();
    let train = sandbox.read("data/spectra/train.tsv");
    let at = train.find("m10\t").unwrap();
    sandbox.write("data/spectra/few.tsv", &train[..at]);
    sandbox.write("data/spectra/again.tsv", &train[..at]);
    sandbox.write("data/spectra/rest.tsv", &format!("molecule\tspectrum\n{}", &train[at..]));
    let weights = |rule: &str, tables: &str| {
        let rule = format!("encoder.inputs={{kind=\"kernels\", combination=\"{rule}\"}}");
        let tables = format!("data.train=[\"rest.tsv\", {tables}]");
        let files = "data.inputs.files=[\"normalised.npy\", \"noise.npy\"]";
        sandbox.train("kernels.toml", &[rule.as_str(), tables.as_str(), files]);
        let stored: serde_json::Value =
            serde_json::from_str(&sandbox.read("runs/kernels/kernels.json")).unwrap();
        fs::remove_dir_all(sandbox.path("runs")).unwrap();
        [0, 1].map(|at| stored["weights"][at].as_f64().unwrap())
    };
    let twice = "{ path = \"few.tsv\", weight = 2.0 }";
    let weighted = weights("alignf", twice);
    let repeated = weights("alignf", "\"few.tsv\", \"again.tsv\"");
    let near = |(a, b): (f64, f64)| (a - b).abs() < 1e-6;
    assert!(weighted.into_iter().zip(repeated).all(near), "{weighted:?} {repeated:?}");
    for rule in ["alignf", "held-out"] {
        let once = weights(rule, "\"few.tsv\"");
        assert!((weights(rule, twice)[1] - once[1]).abs() > 1e-4, "{rule}");
    }
}

#[test]
fn kernels_that_are_none_are_refused() {
    let sandbox = sandbox();
    let uniform = ["--set", UNIFORM];
    let fail = |code, more: &[&str], says: &[&str]| {
        let arguments = [&["train", "kernels.toml"], &uniform[..], more].concat();
        sandbox.fail(&arguments, code, says);
    };
    let put = |name: &str, values: &[f64]| {
        fs::write(sandbox.path(&format!("data/spectra/{name}")), npy(N, values)).unwrap();
    };
    let mut values = peaks();
    values[N * N - 2] += 1.0;
    put("bad.npy", &values);
    let bad = ["--set", "data.inputs.files=[\"bad.npy\"]"];
    fail(2, &bad, &["bad.npy", "not symmetric"]);
    let negative = gram(|i, j| if i == j { -0.5 } else { 1.0 });
    put("bad.npy", &negative);
    fail(2, &bad, &["bad.npy", "eigenvalue", "-1.5"]);
    put("bad.npy", &peaks()[..N * 10]);
    fail(2, &bad, &["bad.npy", "10 rows", "60"]);
    put("constant.npy", &gram(|_, _| 0.7));
    let files = "data.inputs.files=[\"peaks.npy\", \"constant.npy\"]";
    let alignf = "encoder.inputs={kind=\"kernels\", combination=\"alignf\"}";
    let constant = ["train", "kernels.toml", "--set", files, "--set", alignf];
    sandbox.fail(&constant, 2, &["constant.npy", "the kernel is constant"]);
    let train = sandbox.read("data/spectra/train.tsv");
    sandbox.write("data/spectra/train.tsv", &train.replacen("s3\n", "s99\n", 1));
    fail(2, &[], &["train.tsv:5", "s99", "spectra.tsv"]);
    fail(
        2,
        &["--set", "encoder.kernel.name=gaussian", "--set", "encoder.kernel.gamma=1.0"],
        &["encoder.kernel"],
    );
    fail(2, &["--set", "data.inputs.files=[]"], &["data.inputs.files"]);
    sandbox.fail(&["train", "kernels.toml"], 2, &["data.inputs", "encoder.inputs", "kernels"]);
    sandbox.fail(
        &["train", "vectors.toml", uniform[0], uniform[1]],
        2,
        &["data.inputs", "kernels"],
    );
    assert!(!sandbox.path("runs").exists());
}
