//! From files of mass spectra to ranked molecules.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use dsokr::molecule::{HashedFeatures, Molecule, Morgan};

use crate::sandbox::{Sandbox, json, number};
#[cfg(feature = "serve")]
use crate::served::Served;

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
features = { kind = "substructures", column = "smiles", of = { name = "morgan" }, log = true }
kernel = { name = "cosine" }

[sketch]
size = 40

[encoder]
kind = "kernel-machine"
lambda = 1e-3
"#;

const BINS: &str = r#"
kernel = { name = "cosine" }
inputs = { kind = "spectra", blocks = [{ of = "peaks" }, { of = "losses", shift = 0.005 }] }
"#;

const SUM: &str = r#"
[[encoder.kernels]]
inputs = { kind = "spectra", blocks = [{ of = "peaks" }, { of = "differences" }] }
kernel = { name = "cosine" }
weight = 3.0

[[encoder.kernels]]
inputs = { kind = "spectra", blocks = [{ of = "losses", bin = 0.02 }] }
kernel = { name = "cosine" }
"#;

const BAG: &str = r#"
[encoder]
kind = "peak-bag"
blocks = [{ of = "peaks" }, { of = "losses", shift = 0.005 }]
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
inputs = { kind = "mixtures", of = "peaks", deviation = 0.005 }

[[encoder.kernels]]
inputs = { kind = "mixtures", of = "precursor", deviation = 20.0 }
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
fn molecules() -> Vec<(String, String, Vec<f64>, f64)> {
    let mut all = Vec::new();
    for (i, (left, a)) in ENDS.iter().enumerate() {
        for (right, b) in &ENDS[i..] {
            for length in 1..=4 {
                let smiles =
                    format!("{left}{}{right}", "C".repeat(length)).replace("C(=O)OC", "OC(=O)C");
                let mass = a + b + 14.0157 * length as f64;
                let peaks = vec![*a, *b, a + 14.0157, 20.0 + 14.0157 * length as f64];
                all.push((format!("M{}", all.len()), smiles, peaks, mass));
            }
        }
    }
    all
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("data/spectra")).unwrap();
    let (mut table, mut lists) = ("id\tsmiles\n".to_owned(), String::new());
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
    let (alignf, uniform) = ("encoder.weights=\"alignf\"", "encoder.weights=\"uniform\"");
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
        let (found, chance) = (number(&report, "mrr"), number(&report["chance"], "mrr"));
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
    let one = "encoder.kernels=[{inputs={kind=\"spectra\", blocks=[{of=\"peaks\"}, {of=\"losses\", shift=0.005}]}, \
               kernel={name=\"cosine\"}, weight=0.5}]";
    sandbox.write("one.toml", CONFIG);
    assert_eq!(sandbox.train("one.toml", &[one])["mrr"], expected["mrr"]);
}

#[test]
fn spectra_are_searched_predicted_and_ranked_among_lists() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let mgf = "BEGIN IONS\nPEPMASS=76.0525\n31.0184 1\n31.0184 1\n34.0157 1\n45.0341 1\nEND IONS";
    let line = "76.0525 31.0184:1 31.0184:1 34.0157:1 45.0341:1";
    let search = |query: &str| sandbox.succeed(&["search", "runs/bins", query, "--top", "3"]);
    assert_eq!(search(mgf), search(line));
    assert!(search(line).contains("OCO"), "{}", search(line));
    let file = "data/spectra/validation.mgf";
    let predicted =
        sandbox.succeed(&["predict", "runs/bins", file, "--id", "identifier", "--top", "1"]);
    assert_eq!(predicted.lines().count(), 17);
    assert_eq!(json(predicted.lines().next().unwrap())["id"], "M3-a");
    let says = [
        "the spectrum = \"hello\" (the precursor's m/z \"hello\" is not a number above 0): allowed is the precursor's m/z and \
         the peaks, such as \"301.0712 153.0182:1 229.0495:0.3\", or an entry of an MGF, MSP or MassBank file",
    ];
    sandbox.fail(&["search", "runs/bins", "hello"], 2, &says);

    let among = ["evaluate", "runs/bins", "--candidates", "lists.jsonl", "--json"];
    let all = json(&sandbox.succeed(&among));
    let some = json(&sandbox.succeed(&[&among[..], &["--least-candidates", "2"]].concat()));
    assert_eq!((&all["queries"], &some["queries"]), (&17.into(), &9.into()));
    let rest = 8.0 + 9.0 * number(&some, "mrr");
    assert!((17.0 * number(&all, "mrr") - rest).abs() < 1e-9, "{all} {some}");
    let queries = ["--queries", file, "--least-candidates", "3"];
    sandbox.fail(&[&among[..], &queries].concat(), 2, &["least-candidates = 3"]);
}

#[test]
fn candidates_are_those_of_the_precursors_mass_or_of_the_formula() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    // ethylene glycol of 62.036779 Da (RDKit), which the 84 molecules have once
    let peaks = "31.0184:1 45.0341:1";
    let glycol = |ion: &str| format!("{ion} {peaks}");
    let search = |query: &str, rule: &str, top: &str| {
        let query = ["search", "runs/bins", query, "--candidates", rule, "--top", top, "--json"];
        json(&sandbox.succeed(&query))["candidates"].as_array().unwrap().clone()
    };
    for (ion, rule) in [
        ("63.04406", "mass:5"),
        ("63.04406 adduct=[M+H]+", "mass:5"),
        ("85.02600 adduct=[M+Na]+", "mass:5"),
        ("147.06277 adduct=[2M+Na]+", "mass:5"),
        ("61.02950 adduct=[M-H]- formula=C2H6O2", "mass:5"),
        ("63.1 formula=C2H6O2", "formula"),
    ] {
        let hits = search(&glycol(ion), rule, "10");
        assert_eq!(hits.len(), 1, "{ion} {hits:?}");
        assert_eq!((&hits[0]["label"], &hits[0]["rank"]), (&"OCCO".into(), &1.into()));
    }
    // of all candidates, those of the formula keep their order
    let all = search(&glycol("90.05 formula=C3H8O2"), "mass:100000", "84");
    let own = search(&glycol("90.05 formula=C3H8O2"), "formula", "84");
    assert!(own.len() == 1 && all.len() > 5, "{own:?} {all:?}");
    assert!(all.is_sorted_by_key(|hit| -number(hit, "score")));
    let none = search(&glycol("300.1"), "mass:1", "3");
    assert!(none.is_empty(), "{none:?}");
    let fail = |query: &str, rule: &str, says: &str| {
        sandbox.fail(&["search", "runs/bins", query, "--candidates", rule], 2, &[says]);
    };
    fail(
        &glycol("63.0"),
        "formula",
        "the spectrum's formula = absent: allowed is a formula such as C9H8O4",
    );
    fail(
        &glycol("63.0 adduct=[M+Xx]+"),
        "mass:5",
        "the adduct = \"[M+Xx]+\": allowed is [nM±…]z±, such as [M+H]+",
    );
    fail(&glycol("63.0"), "mass:x", "allowed is mass:PPM with a number of millionths");

    let ion = |name: &str, key: &str, mz: f64| {
        format!(
            "BEGIN IONS\nTITLE={name}\nPEPMASS={mz}\nINCHIKEY={key}\nFORMULA=C2H6O2\n31.0184 1\n45.0341 1\nEND IONS\n"
        )
    };
    sandbox.write("q.mgf", &(ion("a", "M1", 63.04406) + &ion("b", "M1", 300.1)));
    let predict = ["predict", "runs/bins", "q.mgf", "--id", "identifier", "--candidates", "mass:5"];
    let found = sandbox.succeed(&predict);
    let hits = |line: &str| json(line)["candidates"].as_array().unwrap().len();
    assert_eq!(found.lines().map(hits).collect::<Vec<_>>(), [1, 0]);
    let evaluate = ["evaluate", "runs/bins", "--queries", "q.mgf", "--json", "--candidates"];
    sandbox.fail(
        &[&evaluate[..], &["mass:5"]].concat(),
        2,
        &["the candidates of query \"b\" = none", "--least-candidates = 1"],
    );
    let found = [&evaluate[..], &["mass:5", "--least-candidates", "1"]].concat();
    assert_eq!(json(&sandbox.succeed(&found))["queries"], 1);
    assert_eq!(json(&sandbox.succeed(&[&evaluate[..], &["formula"]].concat()))["mrr"], 1.0);
    #[cfg(feature = "serve")]
    {
        let served = Served::start(&sandbox, &["runs/bins"]);
        let query = serde_json::json!({"texts": [glycol("63.04406")], "candidates": "mass:5"});
        let found = &served.ask("/api/search", &query)["answers"][0];
        assert!(
            found["hits"].as_array().unwrap().len() == 1 && found["confidence"].is_null(),
            "{found}"
        );
    }
    std::fs::remove_dir_all(sandbox.path("runs")).unwrap();
    let report = sandbox.train("bins.toml", &["evaluation.candidates=\"formula\""]);
    let again = json(&sandbox.succeed(&["evaluate", "runs/bins", "--json"]));
    assert_eq!((&again["mrr"], &again["candidates"]), (&report["mrr"], &report["candidates"]));
    assert_eq!(report["queries"], 17);
    let none = ["train", "bins.toml", "--set", "evaluation.candidates=\"mass:1\""];
    sandbox.fail(&none, 2, &["the candidates of query", "= none"]);
}

/// Morgan counts of a molecule in 2,048 columns.
fn morgan(smiles: &str) -> BTreeMap<u32, f64> {
    let mut counts = BTreeMap::new();
    for (code, count) in Morgan::default().codes(&Molecule::parse(smiles).unwrap()) {
        *counts.entry(code % 2048).or_insert(0.0) += f64::from(count);
    }
    counts
}

#[test]
fn the_kernel_loss_is_the_distance_of_the_chosen_outputs() {
    let sandbox = sandbox();
    let features =
        "output.features={kind=\"substructures\", column=\"smiles\", of={name=\"morgan\"}}";
    for changes in
        [&[features][..], &[features, "sketch.full=true", "evaluation.metric=\"kernel_loss\""]]
    {
        let _ = std::fs::remove_dir_all(sandbox.path("runs"));
        let report = sandbox.train("bins.toml", changes);
        let file = "data/spectra/validation.mgf";
        let predict = ["predict", "runs/bins", file, "--id", "identifier", "--top", "1"];
        let labels: BTreeMap<String, String> =
            molecules().into_iter().map(|(id, smiles, ..)| (id, smiles)).collect();
        let losses = sandbox.succeed(&predict);
        let losses = losses.lines().map(|line| {
            let line = json(line);
            let right = line["id"].as_str().unwrap().strip_suffix("-a").unwrap();
            let chosen = line["candidates"][0]["label"].as_str().unwrap();
            let (a, b) = (morgan(chosen), morgan(&labels[right]));
            let product = |a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>| -> f64 {
                a.iter().filter_map(|(at, value)| Some(value * b.get(at)?)).sum()
            };
            2.0 - 2.0 * product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
        });
        let losses: Vec<f64> = losses.collect();
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        assert!(changes.len() > 1 || mean > 0.0);
        assert!((number(&report, "kernel_loss") - mean).abs() < 1e-6, "{mean} {report}");
        let again = json(&sandbox.succeed(&["evaluate", "runs/bins", "--json"]));
        assert_eq!(again["kernel_loss"], report["kernel_loss"]);
    }
    let wrong = [
        "train",
        "sum.toml",
        "--set",
        "evaluation.metric=\"kernel_loss\"",
        "--set",
        "output.features={kind=\"file\", file=\"x.npy\"}",
    ];
    sandbox.fail(&wrong, 2, &["evaluation.metric", "kernel_loss"]);
}

/// Small files in MassSpecGym's layout, through its script and configuration.
#[test]
fn massspecgyms_layout_is_prepared_trained_and_ranked_by_mass_and_formula() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped massspecgyms_layout: there is no python3");
    }
    let sandbox = Sandbox::new();
    let folder = sandbox.path("data/massspecgym");
    std::fs::create_dir_all(&folder).unwrap();
    let mut table = "identifier\tmzs\tintensities\tsmiles\tinchikey\tformula\tprecursor_formula\tparent_mass\tprecursor_mz\t\
                     adduct\tinstrument_type\tcollision_energy\tfold\tsimulation_challenge\n"
        .to_owned();
    let all = molecules();
    let (mut by_mass, mut by_formula) = (serde_json::Map::new(), serde_json::Map::new());
    for (at, (id, smiles, peaks, mass)) in all.iter().enumerate() {
        let formula = |smiles: &str| Molecule::parse(smiles).unwrap().formula();
        let fold = ["train", "train", "val", "train", "test"][at % 5];
        let mut peaks = peaks.clone();
        peaks.sort_by(f64::total_cmp);
        let mzs = peaks.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        // each molecule has two spectra
        for spectrum in ["a", "b"] {
            writeln!(
                table,
                "{id}{spectrum}\t{mzs}\t1.0,0.5,0.5,0.25\t{smiles}\t{id}\t{0}\t{0}\t{mass}\t{mass}\t[M+H]+\tQTOF\t20\t{fold}\tFalse",
                formula(smiles)
            )
            .unwrap();
        }
        let others = all.iter().map(|other| &other.1);
        let near: Vec<&String> = all
            .iter()
            .filter(|other| (other.3 - mass).abs() < 20.0)
            .map(|other| &other.1)
            .collect();
        let same: Vec<&String> = others.filter(|other| formula(other) == formula(smiles)).collect();
        by_mass.insert(smiles.clone(), serde_json::json!(near));
        by_formula.insert(smiles.clone(), serde_json::json!(same));
    }
    let lists =
        |name: &str| format!("data/massspecgym/MassSpecGym_retrieval_candidates_{name}.json");
    sandbox.write("data/massspecgym/MassSpecGym.tsv", &table);
    sandbox.write(&lists("mass"), &serde_json::Value::Object(by_mass.clone()).to_string());
    sandbox.write(&lists("formula"), &serde_json::Value::Object(by_formula).to_string());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets/massspecgym/prepare.py");
    let prepared = Command::new("python3").arg(script).arg(&folder).output().unwrap();
    assert!(prepared.status.success(), "{}", String::from_utf8_lossy(&prepared.stderr));

    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/massspecgym.toml");
    sandbox.write(
        "gym.toml",
        &std::fs::read_to_string(config)
            .unwrap()
            .replace("min_spectra = 20", "min_spectra = 2")
            .replace("size = 300", "size = 60"),
    );
    let report = sandbox.train(
        "gym.toml",
        &["sketch.size=30", "training.epochs=40", "encoder.embedding=64", "encoder.hidden=[64]"],
    );
    let molecules_of_test = all.iter().enumerate().filter(|(at, _)| at % 5 == 4);
    let pools: Vec<f64> = molecules_of_test
        .map(|(_, own)| by_mass[&own.1].as_array().unwrap().len() as f64)
        .collect();
    assert_eq!(report["queries"], 2 * pools.len());
    let chance = pools.iter().map(|pool| 1.0 / pool).sum::<f64>() / pools.len() as f64;
    assert!((number(&report["chance"], "hits@1") - chance).abs() < 1e-9, "{report}");
    assert!(number(&report, "hits@1") > 2.0 * chance, "{report}");
    let [one, five, twenty] = ["hits@1", "hits@5", "hits@20"].map(|key| number(&report, key));
    assert!(one <= five && five <= twenty && report["intervals"]["hits@20"].is_array(), "{report}");
    let evaluate = [
        "evaluate",
        "runs/gym",
        "--candidates",
        "data/massspecgym/candidates_formula.jsonl",
        "--json",
    ];
    let formula = json(&sandbox.succeed(&evaluate));
    assert_eq!(formula["queries"], report["queries"]);
    assert!(number(&formula, "candidates") < number(&report, "candidates"), "{formula}");
    // SMILES that a list lacks are named
    by_mass.insert(all[4].1.clone(), serde_json::json!(["CC"]));
    sandbox.write(&lists("mass"), &serde_json::Value::Object(by_mass).to_string());
    let wrong = Command::new("python3").arg(script).arg(&folder).output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        !wrong.status.success() && said.contains(&all[4].1) && said.contains("candidates"),
        "{said}"
    );
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
        &["encoder.kernel", "remove it: encoder.kernels"],
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
        &["encoder.kernel", "brings the kernel"],
    );
    fail(
        "sum.toml",
        "encoder.kernels=[{inputs={kind=\"vectors\"}}]",
        &["encoder.kernels[0].inputs", "\"mixtures\""],
    );
    let wrong = sandbox.read("data/spectra/train.mgf").replacen("31.0184 1", "31.0184 NaN", 1);
    sandbox.write("data/spectra/train.mgf", &wrong);
    fail("bins.toml", "seed=1", &["train.mgf:6: spectrum \"M0-a\": a peak's intensity \"NaN\""]);
}
