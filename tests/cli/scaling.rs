//! Standardised features of outputs.

use std::fs;

use dsokr::data::read_matrix;

use crate::sandbox::{CONFIG, Sandbox, json, npy, number};

const OUTPUTS: usize = 80;
const TRAINED: usize = 60;
const WIDTH: usize = 4;

/// Vectors whose columns have different units; the last never changes in training.
fn vectors() -> Vec<f64> {
    let row = |i: usize| {
        let far = if i < TRAINED { 7.0 } else { 8.0 };
        let i = i as f64;
        [(i * 0.7).sin(), 1000.0 + 300.0 * (i * 1.3).cos(), 1e-3 * (i % 8.0), far]
    };
    (0..OUTPUTS).flat_map(row).collect()
}

/// The same, standardised by the first rows.
fn standardised(centred: bool) -> Vec<f64> {
    let mut values = vectors();
    for column in 0..WIDTH {
        let trained: Vec<f64> =
            values.iter().skip(column).step_by(WIDTH).take(TRAINED).copied().collect();
        let mean = trained.iter().sum::<f64>() / TRAINED as f64;
        let squares: f64 = trained.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / TRAINED as f64).sqrt();
        let divided_by = if deviation == 0.0 { 1.0 } else { deviation };
        for value in values.iter_mut().skip(column).step_by(WIDTH) {
            *value = (*value - if centred { mean } else { 0.0 }) / divided_by;
        }
    }
    values
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let put = |name: &str, values: &[f64]| {
        fs::write(sandbox.path(&format!("data/small/{name}.npy")), npy(WIDTH, values)).unwrap();
    };
    put("raw", &vectors());
    put("standard", &standardised(true));
    put("deviation", &standardised(false));
    put("constant", &[3.0; OUTPUTS * WIDTH]);
    let config = CONFIG
        .replace(
            "kind = \"ngrams\", column = \"name\", min = 1, max = 3",
            "kind = \"file\", file = \"raw.npy\"",
        )
        .replace("{ name = \"ngram\" }", "{ name = \"gaussian\", gamma = 0.2 }");
    sandbox.write("vectors.toml", &config);
    sandbox
}

#[test]
fn outputs_are_standardised_by_the_training_pairs() {
    let sandbox = sandbox();
    let train = |out: &str, changes: &[&str]| {
        let sets = changes.iter().flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> =
            ["train", "vectors.toml", "--json", "--out", out].into_iter().chain(sets).collect();
        json(&sandbox.succeed(&arguments))
    };
    let embed = |run: &str| {
        let out = format!("{run}.npy");
        sandbox.succeed(&["embed", run, "data/small/outputs.tsv", "--outputs", "--out", &out]);
        read_matrix(&sandbox.path(&out)).unwrap()
    };
    for scaling in ["standard", "deviation"] {
        let found = train(scaling, &[&format!("output.scaling={scaling}")]);
        let naive = format!("{scaling}-naive");
        let expected = train(&naive, &[&format!("output.features.file={scaling}.npy")]);
        for key in ["squared_error", "mrr"] {
            let difference = number(&found, key) - number(&expected, key);
            assert!(difference.abs() < 1e-3, "{scaling} {key}: {found} {expected}");
        }
        let evaluated = json(&sandbox.succeed(&["evaluate", scaling, "--json"]));
        assert_eq!(evaluated["mrr"], found["mrr"]);
    }
    // outputs that are not candidates are standardised by the figures in the run
    let few = [
        "output.only_training=true",
        "evaluation.missing_gold=rank-infinity",
        "output.scaling=standard",
    ];
    train("few", &few);
    let all = embed("standard");
    let few = embed("few");
    assert_eq!((few.nrows(), few.ncols()), (OUTPUTS, all.ncols()));
    for (row, column) in (0..OUTPUTS).flat_map(|row| (0..all.ncols()).map(move |at| (row, at))) {
        let difference: f64 = all[(row, column)] - few[(row, column)];
        assert!(difference.abs() < 1e-4, "{row} {column}");
    }
    std::fs::remove_file(sandbox.path("few/scaling.safetensors")).unwrap();
    sandbox.fail(&["evaluate", "few"], 2, &["scaling.safetensors"]);
}

#[test]
fn scaling_is_refused_where_it_means_nothing() {
    let sandbox = sandbox();
    for features in [
        "{kind=\"labels\", column=\"name\"}",
        "{kind=\"ngrams\", column=\"name\", min=1, max=2}",
        "{kind=\"file\", file=\"raw.npy\", packed=true}",
    ] {
        let change = format!("output.features={features}");
        let arguments =
            ["train", "vectors.toml", "--set", &change, "--set", "output.scaling=standard"];
        sandbox.fail(&arguments, 2, &["output.scaling", "\"standard\"", "\"none\"", "vectors"]);
    }
    let mut constant = vec!["train", "vectors.toml"];
    let changes = [
        "output.scaling=standard",
        "output.features.file=constant.npy",
        "output.kernel={name=\"linear\"}",
    ];
    constant.extend(changes.iter().flat_map(|change| ["--set", change]));
    sandbox.fail(&constant, 2, &["are all rows zero", "constant columns"]);
    let unknown = ["train", "vectors.toml", "--set", "output.scaling=minmax"];
    sandbox.fail(&unknown, 2, &["minmax", "standard", "deviation"]);
}

/// One row of 24,900 has a class of its own: the mean is far from zero, and scores are small whole numbers and halves.
#[test]
fn a_rare_class_is_not_far_from_zero() {
    let sandbox = Sandbox::new();
    let mut table = "id\ttext\ty\n".to_owned();
    for row in 0..25_000 {
        let class = if row == 7 { "rare" } else { "usual" };
        table += &format!("r{row}\tw{} {class}\t{class}\n", row % 50);
    }
    sandbox.write("data/rare.tsv", &table);
    sandbox.write(
        "rare.toml",
        "[data]\nsource = \"pool\"\nfolder = \".\"\nfile = \"rare.tsv\"\n\
         splits = { order = \"file\", train = 24900, validation = 50, test = 50 }\n\
         inputs = { column = \"text\" }\n\n\
         [output]\nlabel = \"y\"\nfeatures = { kind = \"classes\", column = \"y\" }\n\
         kernel = { name = \"linear\" }\n\n[sketch]\nsize = 2\n\n\
         [encoder]\nkind = \"ngram-bag\"\n\n[training]\nepochs = 1\nbatch = 4000\n",
    );
    let text = sandbox.succeed(&["train", "rare.toml", "--quiet"]);
    assert!(!text.contains("far from zero"), "{text}");
}

#[test]
fn outputs_far_from_zero_lose_digits_under_the_linear_kernel() {
    let sandbox = sandbox();
    for (name, offset) in [("near", 10.0), ("far", 200.0), ("farthest", 3000.0)] {
        let value = |at: usize| offset + (at as f64 * 0.7).sin();
        let values: Vec<f64> = (0..OUTPUTS * WIDTH).map(value).collect();
        fs::write(sandbox.path(&format!("data/small/{name}.npy")), npy(WIDTH, &values)).unwrap();
    }
    let arguments = |name: &str, change: &str| {
        let file = format!("output.features.file={name}.npy");
        let kernel = "output.kernel={name=\"linear\"}";
        let out = format!("{name}-{}", change.replace(['=', '.'], "-"));
        let out = ["--out", &out, "--force", "--quiet"];
        let sets = ["--set", &file, "--set", kernel, "--set", change].into_iter().chain(out);
        ["train", "vectors.toml"].into_iter().chain(sets).map(str::to_owned).collect::<Vec<_>>()
    };
    let train = |name: &str, change: &str| {
        let arguments = arguments(name, change);
        sandbox.succeed(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let advice = "times as far from zero as they are from it, which costs scores digits";
    assert!(!train("near", "seed=1").contains(advice));
    assert!(train("far", "seed=1").contains(advice));
    let refused = arguments("farthest", "seed=1");
    let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
    let words = ["output.kernel", "times as far from zero", "output.scaling = \"standard\""];
    sandbox.fail(&refused, 2, &words);
    for remedy in ["output.scaling=standard", "output.centred=true"] {
        assert!(!train("farthest", remedy).contains(advice), "{remedy}");
    }
}

#[test]
fn outputs_that_32_bits_do_not_hold_are_refused_with_a_remedy() {
    let sandbox = sandbox();
    let large: Vec<f64> = (0..OUTPUTS * WIDTH).map(|at| 1e22 * (at as f64 * 0.7).sin()).collect();
    fs::write(sandbox.path("data/small/large.npy"), npy(WIDTH, &large)).unwrap();
    let file = "output.features.file=large.npy";
    let kernel = "output.kernel={name=\"linear\"}";
    let train =
        ["train", "vectors.toml", "--out", "large", "--quiet", "--set", file, "--set", kernel];
    let centred = [&train[..], &["--set", "output.centred=true"]].concat();
    let said =
        ["candidate row 0", "too large for numbers of 32 bits", "output.scaling = \"standard\""];
    sandbox.fail(&centred, 2, &said);
    sandbox.succeed(&[&train[..], &["--set", "output.scaling=standard"]].concat());
}
