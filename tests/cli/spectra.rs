//! Trainings on files of mass spectra.

use std::collections::BTreeMap;
use std::fmt::Write;

use dsokr::molecule::{HashedFeatures, Molecule, Morgan};

use crate::sandbox::{Sandbox, json, number};

const CONFIG: &str = r#"
[data]
folder = "spectra"
train = "train.mgf"
validation = "validation.mgf"
id = "inchikey"
query = "identifier"
inputs = { column = "spectrum" }

[output]
table = "molecules.tsv"
label = "smiles"
features = { kind = "substructures", column = "smiles", count = { name = "morgan" }, log = true }
kernel = { name = "cosine" }

[sketch]
size = 40

[encoder]
kind = "kernel-machine"
lambda = 1e-3
"#;

const BINS: &str = r#"
kernel = { name = "cosine" }
inputs = { kind = "spectra", blocks = [{ source = "peaks" }, { source = "losses", shift = 0.005 }] }
"#;

const SUM: &str = r#"
[[encoder.kernels]]
inputs = { kind = "spectra", blocks = [{ source = "peaks" }, { source = "differences" }] }
kernel = { name = "cosine" }
weight = 3.0

[[encoder.kernels]]
inputs = { kind = "spectra", blocks = [{ source = "losses", bin = 0.02 }] }
kernel = { name = "cosine" }
"#;

const BAG: &str = r#"
[encoder]
kind = "peak-bag"
blocks = [{ source = "peaks" }, { source = "losses", shift = 0.005 }]
embedding = 64
hidden = [64]

[training]
epochs = 60
batch = 16
"#;

const TRANSFORMER: &str = r#"
[encoder]
kind = "peak-transformer"
width = 32
heads = 4
feed_forward = 64

[training]
epochs = 40
batch = 16
loss = { name = "softmax" }
"#;

const MIXTURES: &str = r#"
[[encoder.kernels]]
inputs = { kind = "mixtures", source = "peaks", deviation = 0.005 }

[[encoder.kernels]]
inputs = { kind = "mixtures", source = "precursor", deviation = 20.0 }
"#;

/// Parts of molecules, with the mass of the ion that each gives.
const ENDS: [(&str, f64); 6] = [
    ("O", 31.0184),
    ("N", 30.0344),
    ("C(=O)O", 59.0133),
    ("c1ccccc1", 91.0542),
    ("Cl", 48.9845),
    ("C#N", 54.0344),
];

/// Molecules are chains with an end on each side; all pairs of ends, and chains of one to four atoms.
pub fn molecules() -> Vec<(String, String, Vec<f64>, f64)> {
    let mut all = Vec::new();
    for (i, (left, a)) in ENDS.iter().enumerate() {
        for (right, b) in &ENDS[i..] {
            for length in 1..=4 {
                let smiles = format!("{left}{}{right}", "C".repeat(length));
                let smiles = smiles.replace("C(=O)OC", "OC(=O)C").replace("C#NC", "N#CC");
                let mass = a + b + 14.0157 * length as f64;
                let peaks = vec![*a, *b, a + 14.0157, 20.0 + 14.0157 * length as f64];
                all.push((format!("M{}", all.len()), smiles, peaks, mass));
            }
        }
    }
    all
}

/// Spectra with their configurations.
pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("data/spectra")).unwrap();
    let mut table = "id\tsmiles\n".to_owned();
    let mut lists = String::new();
    let mut files = [String::new(), String::new()];
    for (at, (id, smiles, peaks, mass)) in molecules().into_iter().enumerate() {
        writeln!(table, "{id}\t{smiles}").unwrap();
        let mut peaks: Vec<f64> = peaks.iter().map(|mz| mz + 1e-4 * (at % 7) as f64).collect();
        peaks.sort_by(f64::total_cmp);
        let file = &mut files[usize::from(at % 5 == 3)];
        writeln!(file, "BEGIN IONS\nTITLE={id}-a\nPEPMASS={mass:.4}\nINCHIKEY={id}").unwrap();
        writeln!(file, "FORMULA={}", Molecule::parse(&smiles).unwrap().formula()).unwrap();
        peaks.iter().for_each(|mz| writeln!(file, "{mz:.4} {}", 1 + at % 3).unwrap());
        writeln!(file, "END IONS\n").unwrap();
        let others = if at % 2 == 0 { String::new() } else { format!(", \"M{}\"", (at + 9) % 84) };
        writeln!(lists, "{{\"query\": \"{id}-a\", \"candidates\": [\"{id}\"{others}]}}").unwrap();
    }
    sandbox.write("data/spectra/molecules.tsv", &table);
    sandbox.write("data/spectra/train.mgf", &files[0]);
    sandbox.write("data/spectra/validation.mgf", &files[1]);
    sandbox.write("lists.jsonl", &lists);
    for (name, encoder) in [("bins", BINS), ("sum", SUM), ("mixtures", MIXTURES)] {
        sandbox.write(&format!("{name}.toml"), &format!("{CONFIG}{encoder}"));
    }
    let (outputs, _) = CONFIG.split_once("[encoder]").unwrap();
    for (name, encoder) in [("bag", BAG), ("transformer", TRANSFORMER)] {
        sandbox.write(&format!("{name}.toml"), &format!("{outputs}{encoder}"));
    }
    sandbox
}

#[test]
fn every_solver_and_network_takes_spectra_and_runs_answer_as_they_were_trained() {
    let sandbox = sandbox();
    let single = "encoder.solver={name=\"closed-form\", precision=\"single\"}";
    let sketched = "encoder.solver={name=\"sketched\", sketch={size=50}}";
    let gradients =
        "encoder.solver={name=\"conjugate-gradients\", sketch={size=50}, iterations=40}";
    let learned = "encoder.inputs.weights=\"learned\"";
    let alignf = "encoder.weights=\"alignf\"";
    let uniform = "encoder.weights=\"uniform\"";
    for (config, changes) in [
        ("bins", &[][..]),
        ("bins", &[single, learned]),
        ("sum", &[]),
        ("sum", &[single]),
        ("sum", &[sketched]),
        ("mixtures", &[]),
        ("mixtures", &[sketched]),
        ("mixtures", &[gradients, uniform]),
        ("mixtures", &[alignf]),
        ("bag", &[]),
        ("bag", &["encoder.linear=true", "encoder.hidden=[]"]),
        ("transformer", &[]),
    ] {
        let _ = std::fs::remove_dir_all(sandbox.path("runs"));
        let report = sandbox.train(&format!("{config}.toml"), changes);
        let found = number(&report, "mrr");
        let chance = number(&report["chance"], "mrr");
        assert!(found > 4.0 * chance, "{config} {changes:?}: {found} {chance}");
        let run = format!("runs/{config}");
        let again = json(&sandbox.succeed(&["evaluate", &run, "--json"]));
        assert_eq!(again["mrr"], report["mrr"], "{config} {changes:?}");
    }
}

#[test]
fn one_kernel_of_weight_one_is_that_kernel() {
    let sandbox = sandbox();
    let expected = sandbox.train("bins.toml", &[]);
    let one = "encoder.kernels=[{inputs={kind=\"spectra\", blocks=[{source=\"peaks\"}, {source=\"losses\", shift=0.005}]}, \
               kernel={name=\"cosine\"}, weight=0.5}]";
    sandbox.write("one.toml", CONFIG);
    assert_eq!(sandbox.train("one.toml", &[one])["mrr"], expected["mrr"]);
}

/// Morgan counts of a molecule in 2,048 columns.
fn morgan(smiles: &str) -> BTreeMap<u32, f64> {
    let mut counts = BTreeMap::new();
    for (code, count) in Morgan::default().codes(&Molecule::parse(smiles).unwrap()) {
        *counts.entry(code % 2048).or_insert(0.0) += f64::from(count);
    }
    counts
}

fn product(a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> f64 {
    a.iter().filter_map(|(at, value)| Some(value * b.get(at)?)).sum()
}

fn squared_distance(a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> f64 {
    product(a, a) + product(b, b) - 2.0 * product(a, b)
}

#[test]
fn the_kernel_loss_is_the_distance_of_the_chosen_outputs() {
    let sandbox = sandbox();
    let features =
        "output.features={kind=\"substructures\", column=\"smiles\", count={name=\"morgan\"}}";
    let gaussian = "output.kernel={name=\"gaussian\", gamma=\"median\"}";
    let all = molecules().into_iter().enumerate();
    let trained: Vec<_> =
        all.filter(|(at, _)| at % 5 != 3).map(|(_, own)| morgan(&own.1)).collect();
    let pairs = (0..trained.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
    let mut squares: Vec<f64> =
        pairs.map(|(i, j)| squared_distance(&trained[i], &trained[j])).collect();
    squares.sort_by(f64::total_cmp);
    let median = 0.5 * (squares[(squares.len() - 1) / 2] + squares[squares.len() / 2]);
    for changes in [
        &[features][..],
        &[features, "sketch.full=true", "evaluation.metric=\"kernel_loss\""],
        &[features, gaussian],
    ] {
        let _ = std::fs::remove_dir_all(sandbox.path("runs"));
        let report = sandbox.train("bins.toml", changes);
        let file = "data/spectra/validation.mgf";
        let predict = ["predict", "runs/bins", file, "--id", "identifier", "--top", "1"];
        let predict = [&predict[..], &["--candidates", "all"]].concat();
        let labels: BTreeMap<String, String> =
            molecules().into_iter().map(|(id, smiles, ..)| (id, smiles)).collect();
        let losses = sandbox.succeed(&predict);
        let losses = losses.lines().map(|line| {
            let line = json(line);
            let right = line["id"].as_str().unwrap().strip_suffix("-a").unwrap();
            let chosen = line["candidates"][0]["label"].as_str().unwrap();
            let a = morgan(chosen);
            let b = morgan(&labels[right]);
            let cosine = || product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt();
            if changes.contains(&gaussian) {
                2.0 - 2.0 * (-squared_distance(&a, &b) / median).exp()
            } else {
                2.0 - 2.0 * cosine()
            }
        });
        let losses: Vec<f64> = losses.collect();
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        assert!(changes.len() == 3 || mean > 0.0);
        assert!((number(&report, "kernel_loss") - mean).abs() < 1e-6, "{mean} {report}");
        let again = json(&sandbox.succeed(&["evaluate", "runs/bins", "--json"]));
        assert_eq!(again["kernel_loss"], report["kernel_loss"]);
    }
}

#[test]
fn kernels_that_are_not_summed_are_refused() {
    let sandbox = sandbox();
    let fail = |config: &str, change: &str, says: &[&str]| {
        sandbox.fail(&["train", config, "--set", change], 2, says);
    };
    fail(
        "sum.toml",
        "encoder.kernel={name=\"cosine\"}",
        &["encoder.kernel", "encoder.kernels are kernels"],
    );
    fail(
        "bins.toml",
        "encoder.weights=\"alignf\"",
        &["encoder.weights", "one kernel has no weights"],
    );
    fail("sum.toml", "encoder.weights=\"alignf\"", &["encoder.kernels[0].weight = 3"]);
    fail(
        "bins.toml",
        "encoder.inputs={kind=\"spectra\", blocks=[{bin=0.0}]}",
        &["encoder.inputs.blocks[0].bin = 0"],
    );
    fail(
        "bins.toml",
        "encoder.inputs={kind=\"mixtures\", deviation=0.01}",
        &["encoder.kernel", "bring the kernel"],
    );
    fail(
        "sum.toml",
        "encoder.kernels=[{inputs={kind=\"vectors\"}}]",
        &["encoder.kernels[0].inputs", "\"mixtures\""],
    );
    let wrong = sandbox.read("data/spectra/train.mgf").replacen("31.0184 1", "31.0184 NaN", 1);
    sandbox.write("data/spectra/train.mgf", &wrong);
    let says = ["train.mgf:6: spectrum \"M0-a\": a peak's intensity \"NaN\""];
    fail("bins.toml", "data.on_bad_row=\"stop\"", &says);
    let report = sandbox.train("bins.toml", &[]);
    assert!(report["skipped_rows"].to_string().contains("train.mgf\":1"), "{report}");
}
