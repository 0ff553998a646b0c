//! Peaks of spectra as fragments of candidates.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
#[cfg(feature = "serve")]
use crate::sandbox::number;
#[cfg(feature = "serve")]
use crate::served::Served;
use crate::spectra::sandbox;

/// Ethylene glycol of 62.0368 Da: its ion loses water, or methanol of 32.0262 Da; nothing is at 40.
const GLYCOL: &str = "63.04406 adduct=[M+H]+ 31.01784:0.5 40:0.1 45.03349:1";

#[test]
fn peaks_are_annotated_in_msp() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    sandbox.write("q.txt", &format!("{GLYCOL}\n63.04406 adduct=[M+?]+ 45.03349:1\n"));
    let predict = ["predict", "runs/bins", "q.txt", "--candidates", "mass:5", "--format"];
    let msp = sandbox.succeed(&[&predict[..], &["msp"]].concat());
    let entries: Vec<&str> = msp.split_terminator("\n\n").collect();
    let hits = sandbox.succeed(&[&predict[..], &["jsonl"]].concat());
    let hits: Vec<Value> = hits.lines().map(|line| line.parse().unwrap()).collect();
    let count = hits.iter().map(|query| query["candidates"].as_array().unwrap().len());
    assert_eq!(entries.len(), count.sum::<usize>());
    let first = entries[0];
    for line in [
        "PRECURSORMZ: 63.04406",
        "PRECURSORTYPE: [M+H]+",
        "FORMULA: C2H6O2",
        "SMILES: OCCO",
        "Num Peaks: 3",
        "31.01784\t0.5\t\"f{CH3O}/0.0ppm\"",
        "40\t0.1",
        "45.03349\t1\t\"f{C2H5O}/0.0ppm\"",
    ] {
        assert!(first.lines().any(|other| other == line), "{line} of {first}");
    }
    let id = hits[0]["candidates"][0]["id"].as_str().unwrap();
    assert!(
        first.contains("\"rank=1\"") && first.contains(&format!("\"candidate={id}\"")),
        "{first}"
    );
    // an adduct that is not known explains nothing
    let unknown = entries[entries.len() - 1];
    assert!(unknown.contains("\"explained=0.0000\"") && !unknown.contains("ppm"), "{unknown}");
    // the file is one of spectra
    sandbox.write("annotated.msp", &format!("{first}\n\n"));
    let again = ["predict", "runs/bins", "annotated.msp", "--candidates", "mass:5", "--top", "1"];
    let again: Value = sandbox.succeed(&again).trim().parse().unwrap();
    assert_eq!(again["candidates"][0], hits[0]["candidates"][0]);
    assert_eq!(again["query"], GLYCOL.replace("]+ ", "]+ formula=C2H6O2 "));
}

#[test]
fn only_spectra_of_molecules_are_annotated() {
    let sandbox = Sandbox::new();
    sandbox.train("small.toml", &[]);
    sandbox.write("q.txt", "one\n");
    let says =
        "format = msp: expected jsonl, tsv or csv: msp has spectra with the fragments of molecules";
    sandbox.fail(&["predict", "runs/small", "q.txt", "--format", "msp"], 2, &[says]);
}

#[test]
#[cfg(feature = "serve")]
fn the_server_says_which_fragments_explain_peaks_and_draws_them() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    let query = json!({"texts": [GLYCOL], "candidates": "mass:5", "explain": true});
    let answer = served.ask("/api/search", &query);
    let hit = &answer["answers"][0]["hits"][0];
    assert_eq!(hit["label"], "OCCO");
    let fragments = &hit["fragments"];
    let [methanol, water] = fragments["peaks"].as_array().unwrap().as_slice() else {
        panic!("{fragments}")
    };
    // a bond of carbon with carbon is broken, or of carbon with oxygen; one hydrogen less than the protonated fragment
    for (peak, at, mz, formula, atoms, bonds, cost) in
        [(methanol, 0, 31.01784, "CH3O", 2, 1, 1.25), (water, 2, 45.03349, "C2H5O", 3, 1, 1.0)]
    {
        assert_eq!((&peak["peak"], &peak["formula"]), (&json!(at), &json!(formula)), "{peak}");
        assert_eq!(peak["atoms"].as_array().unwrap().len(), atoms, "{peak}");
        assert_eq!(peak["broken"].as_array().unwrap().len(), bonds, "{peak}");
        assert!(
            (number(peak, "mz") - mz).abs() < 1e-9 && number(peak, "ppm").abs() < 1.0,
            "{peak}"
        );
        assert!((number(peak, "cost") - cost).abs() < 1e-9, "{peak}");
        assert_eq!(peak["hydrogens"], 0, "{peak}");
    }
    let weight = |intensity: f64, mz: f64| (intensity * mz).sqrt();
    let [first, none, second] = [weight(0.5, 31.01784), weight(0.1, 40.0), weight(1.0, 45.03349)];
    let score = (first * (-0.625_f64).exp() + second * (-0.5_f64).exp()) / (first + none + second);
    assert!((number(fragments, "score") - score).abs() < 1e-6, "{fragments}");

    let id = hit["id"].as_str().unwrap();
    let drawing = |atoms: &str| served.get(&format!("/api/drawing?id={id}&atoms={atoms}"));
    // three atoms in a row and two bonds
    let marked = drawing("0,1,2");
    assert_eq!(marked.body.matches("class=\"marked\"").count(), 5, "{}", marked.body);
    for atoms in ["99", "x", "0,-1"] {
        let wrong = drawing(atoms);
        assert_eq!(wrong.status, 422, "{atoms} {}", wrong.body);
        assert!(wrong.body.contains("numbers of atoms below"), "{}", wrong.body);
    }
    assert_eq!(drawing("0&foo=1").status, 400);
}

/// Ethylene glycol of 62.0368 Da has m/z 85.02600 with a sodium ion, and 67.01543 without its water.
#[test]
#[cfg(feature = "serve")]
fn of_several_adducts_a_hit_has_the_one_nearest_to_the_precursor() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    let hit = |adducts: &str| {
        let spectrum = format!("85.02600 adduct={adducts} 67.01543:1 85.02600:1");
        let query = json!({"texts": [spectrum], "candidates": "mass:5", "explain": true});
        let hit = served.ask("/api/search", &query)["answers"][0]["hits"][0].clone();
        assert_eq!(hit["label"], "OCCO", "{adducts}");
        [&hit["ion"], &hit["explained"], &hit["fragments"]].map(Value::clone)
    };
    let alone = hit("[M+Na]+");
    let [ion, explained, _] = &alone;
    assert_eq!(ion["adduct"], "[M+Na]+");
    assert!((number(ion, "mz") - 85.02600).abs() < 1e-4 && number(ion, "ppm").abs() < 1.0, "{ion}");
    // of the mass with all of its digits, which the properties of the molecule round
    let mass = dsokr::molecule::Molecule::parse("OCCO").unwrap().neutral_mass();
    let expected = "[M+Na]+".parse::<dsokr::spectra::Adduct>().unwrap().mz(mass);
    assert!((number(ion, "mz") - expected).abs() < 1e-9, "{ion}: {expected}");
    assert_eq!(explained[0]["formula"], "C2H4NaO");
    assert_eq!(hit("[M+H]+/[M+Na]+"), alone);
    assert_eq!(hit("[M+Na]+/[M+H]+"), alone);
}

/// Methanol whose methyl group is of deuterium weighs 35.0450 Da; the ion of its methyl group has m/z 18.04176.
#[test]
#[cfg(feature = "serve")]
fn isotopes_of_a_candidate_are_in_its_mass_its_ion_and_its_fragments() {
    let sandbox = sandbox();
    sandbox.train("bins.toml", &[]);
    let labelled = json!({"id": "labelled", "smiles": "[2H]C([2H])([2H])O"});
    sandbox.write("more.jsonl", &format!("{labelled}\n"));
    sandbox.succeed(&["candidates", "add", "runs/bins", "more.jsonl"]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    let spectrum = "36.05232 adduct=[M+H]+ 18.04176:1 19.01784:1";
    let query = json!({"texts": [spectrum], "candidates": "mass:5", "explain": true});
    let hits = served.ask("/api/search", &query)["answers"][0]["hits"].clone();
    let [hit] = hits.as_array().unwrap().as_slice() else { panic!("{hits}") };
    assert_eq!(hit["id"], "labelled");
    assert!((number(&hit["molecule"], "monoisotopic") - 35.04504).abs() < 1e-4, "{hit}");
    let ion = &hit["ion"];
    assert!((number(ion, "mz") - 36.05232).abs() < 1e-4 && number(ion, "ppm").abs() < 1.0, "{ion}");
    let peaks = hit["fragments"]["peaks"].as_array().unwrap();
    assert_eq!(peaks[0]["formula"], "C[2H3]", "{hit}");
    // parts of a formula are of the most abundant isotopes
    assert!(hit["explained"].is_null(), "{hit}");
}
