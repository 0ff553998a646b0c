//! Fragmentation trees beside spectra, and learned weights of input kernels.

use dsokr::molecule::Molecule;
use serde_json::json;

use crate::sandbox::{Sandbox, json, number};
use crate::spectra::{molecules, sandbox};

const KERNELS: &str = r#"
[[encoder.kernels]]
kernel = { name = "cosine" }
inputs = { kind = "spectra", blocks = [{ source = "tree-fragments", power = 0.0 }, { source = "tree-paths", power = 0.0 }] }

[[encoder.kernels]]
kernel = { name = "cosine" }
inputs = { kind = "spectra", blocks = [{ source = "subformulas", ppm = 50.0 }] }

[[encoder.kernels]]
inputs = { kind = "mixtures", source = "peaks", deviation = 0.005 }
"#;

/// Formulas of the ends of the molecules of [`molecules`], in their order.
const ENDS: [&str; 6] = ["HO", "H2N", "CHO2", "C6H5", "Cl", "CN"];

/// The formulas of each molecule and of its ends.
fn formulas() -> Vec<Vec<String>> {
    let pairs = (0..6).flat_map(|i| (i..6).flat_map(move |j| [[i, j]; 4]));
    let of = |([i, j], own): ([usize; 2], (String, String, Vec<f64>, f64))| {
        let whole = Molecule::parse(&own.1).unwrap().formula();
        vec![whole, ENDS[i].to_owned(), ENDS[j].to_owned()]
    };
    pairs.zip(molecules()).map(of).collect()
}

/// Trees as texts of training spectra, and as files of SIRIUS of the others.
fn with_trees() -> Sandbox {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.path("data/spectra/trees")).unwrap();
    for ((id, ..), all) in molecules().into_iter().zip(formulas()) {
        let fragments =
            all.iter().enumerate().map(|(at, own)| json!({"id": at, "molecularFormula": own}));
        let losses = (1..all.len()).map(|at| json!({"source": 0, "target": at}));
        let tree = json!({"fragments": fragments.collect::<Vec<_>>(), "losses": losses.collect::<Vec<_>>()});
        sandbox.write(&format!("data/spectra/trees/{id}.json"), &tree.to_string());
        for (file, field) in [
            ("train", format!("TREE={}", all.join("/0>"))),
            ("validation", format!("TREE=trees/{id}.json")),
        ] {
            let name = format!("data/spectra/{file}.mgf");
            let title = format!("TITLE={id}-a\n");
            let text = sandbox.read(&name).replace(&title, &format!("{title}{field}\n"));
            sandbox.write(&name, &text);
        }
    }
    let config = sandbox.read("bins.toml");
    let (config, _) = config.split_once("\nkernel = { name = \"cosine\" }\ninputs").unwrap();
    sandbox.write("trees.toml", &format!("{config}{KERNELS}"));
    sandbox
}

#[test]
fn trees_train_and_are_predicted_searched_and_evaluated() {
    let sandbox = with_trees();
    let report = sandbox.train("trees.toml", &["encoder.weights=\"held-out\""]);
    assert!(number(&report, "mrr") > 10.0 * number(&report["chance"], "mrr"), "{report}");
    let stored = json(&sandbox.read("runs/trees/kernels.json"));
    let weights: Vec<f64> =
        stored["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && weights[0] > 0.1, "{weights:?}");
    let again = json(&sandbox.succeed(&["evaluate", "runs/trees", "--json"]));
    assert_eq!(again["mrr"], report["mrr"]);
    let file = "data/spectra/validation.mgf";
    let asked = ["evaluate", "runs/trees", "--queries", file, "--json"];
    assert_eq!(json(&sandbox.succeed(&asked))["mrr"], report["mrr"]);
    // a pasted spectrum with the same tree has the answer of the file
    let predict = ["predict", "runs/trees", file, "--id", "identifier", "--top", "3"];
    let predict = [&predict[..], &["--candidates", "all"]].concat();
    let predicted = sandbox.succeed(&predict);
    let first = json(predicted.lines().next().unwrap());
    let entry = sandbox.read(file);
    let entry = entry.split_inclusive("END IONS").next().unwrap();
    let all = formulas()[3].join(":0/0>") + ":0";
    let pasted = entry.replace("trees/M3.json", &all);
    let search = ["search", "runs/trees", &pasted, "--top", "3", "--json", "--candidates", "all"];
    let found = json(&sandbox.succeed(&search));
    for (a, b) in
        found["candidates"].as_array().unwrap().iter().zip(first["candidates"].as_array().unwrap())
    {
        assert_eq!(a["id"], b["id"], "{found} {first}");
        assert!((number(a, "score") - number(b, "score")).abs() < 1e-6);
    }
    // a spectrum without the formula that a kernel reads is named, and the others are answered
    let spectra = sandbox.read(file);
    let (first, rest) = spectra.split_once("FORMULA=").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    sandbox.write("data/spectra/unknown.mgf", &format!("{first}FORMULA=Q7\n{rest}"));
    let unknown = ["predict", "runs/trees", "data/spectra/unknown.mgf", "--candidates", "all"];
    let answered = sandbox.run(&unknown);
    let warned = String::from_utf8_lossy(&answered.stderr);
    assert!(answered.status.success(), "{warned}");
    assert_eq!(String::from_utf8_lossy(&answered.stdout).lines().count(), 16, "{warned}");
    let says = ["unknown.mgf:1: ", "the spectrum's formula = \"Q7\""];
    assert!(says.iter().all(|part| warned.contains(part)), "{warned}");
    sandbox.fail(&[&unknown[..], &["--on-bad-row", "stop"]].concat(), 2, &says);
    std::fs::remove_file(sandbox.path("data/spectra/trees/M3.json")).unwrap();
    let stop = [&predict[..], &["--on-bad-row", "stop"]].concat();
    sandbox.fail(&stop, 2, &["validation.mgf:1: spectrum \"M3-a\": ", "trees/M3.json"]);
    assert_eq!(sandbox.succeed(&predict).lines().count(), 16);
}

#[test]
fn formulas_are_refused_where_masses_are_needed() {
    let sandbox = with_trees();
    let mixtures = "encoder.inputs={kind=\"mixtures\", source=\"tree-losses\", deviation=0.01}";
    let fail = |change: &str, says: &[&str]| {
        sandbox.fail(
            &["train", "bins.toml", "--set", change, "--set", "encoder.kernel={name=\"linear\"}"],
            2,
            says,
        );
    };
    fail(mixtures, &["encoder.inputs.source = \"tree-losses\"", "which have masses"]);
    let bins = "encoder.inputs={kind=\"spectra\", blocks=[{source=\"tree-losses\", bin=0.1}]}";
    fail(bins, &["encoder.inputs.blocks[0].bin = 0.1: remove it: formulas are in no bins"]);
}
