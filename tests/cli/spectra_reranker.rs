//! The first candidates of spectra, scored anew by masses, fragments and similar spectra.

use std::fmt::Write;

use dsokr::molecule::Molecule;

use crate::sandbox::{Sandbox, copy, json, number};
use crate::spectra::{molecules, sandbox};

const RERANKER: &str =
    "decoding.reranker={candidates=40, neighbours=7, folds=4, held_out_folds=4, spectra={}}";

/// Spectra whose precursors are those of the molecules.
fn weighed() -> Sandbox {
    let sandbox = sandbox();
    let mut files = [String::new(), String::new()];
    for (at, (id, smiles, peaks, _)) in molecules().into_iter().enumerate() {
        let file = &mut files[usize::from(at % 5 == 3)];
        let precursor = Molecule::parse(&smiles).unwrap().exact_mass() + 1.007_276;
        writeln!(file, "BEGIN IONS\nTITLE={id}-a\nPEPMASS={precursor:.5}\nINCHIKEY={id}").unwrap();
        peaks.iter().for_each(|mz| writeln!(file, "{mz:.4} {}", 1 + at % 3).unwrap());
        writeln!(file, "END IONS\n").unwrap();
    }
    sandbox.write("data/spectra/train.mgf", &files[0]);
    sandbox.write("data/spectra/validation.mgf", &files[1]);
    sandbox
}

#[test]
fn precursors_and_fragments_tell_first_candidates_apart() {
    let sandbox = weighed();
    let train = |out: &str, sets: &[&str]| {
        let mut arguments = vec!["train", "bins.toml", "--json", "--out", out];
        sets.iter().for_each(|set| arguments.extend(["--set", *set]));
        json(&sandbox.succeed(&arguments))
    };
    let plain = train("plain", &["decoding.normalise=true"]);
    let look = train("look", &[RERANKER]);
    assert!(number(&look, "mrr") > number(&plain, "mrr") + 0.1, "{plain} {look}");
    assert_eq!(train("again", &[RERANKER])["mrr"], look["mrr"]);

    // from the directory alone
    copy(&sandbox.path("look"), &sandbox.path("moved"));
    std::fs::remove_dir_all(sandbox.path("look")).unwrap();
    let found = json(&sandbox.succeed(&["evaluate", "moved", "--json"]));
    assert_eq!(found["mrr"], look["mrr"]);
    // candidates that are added are compared too
    sandbox.write("more.tsv", "id\tsmiles\nnew\tOCC(O)CO\n");
    sandbox.succeed(&["candidates", "add", "moved", "more.tsv"]);
    let query = ["search", "moved", "93.0546 31.0184:1 61.0284:0.5", "--json", "--top", "1"];
    let first = json(&sandbox.succeed(&query));
    assert_eq!(first["candidates"][0]["id"], "new", "{first}");
}

#[test]
fn only_encoders_of_spectra_and_candidates_that_are_molecules_are_compared() {
    let sandbox = weighed();
    let refuse = |config: &str, sets: &[&str], says: &str| {
        let mut arguments = vec!["train", config];
        sets.iter().for_each(|set| arguments.extend(["--set", *set]));
        sandbox.fail(&arguments, 2, &[says]);
    };
    let texts = Sandbox::new();
    let config = crate::sandbox::CONFIG.replacen(crate::sandbox::BAG, crate::sandbox::RIDGE, 1);
    texts.write("ridge.toml", &config);
    texts.fail(
        &["train", "ridge.toml", "--set", RERANKER],
        2,
        &["decoding.reranker.spectra = given", "an encoder that reads spectra"],
    );
    refuse("bins.toml", &[RERANKER, "output.label=\"id\""], "the column of SMILES as output.label");
    refuse(
        "bins.toml",
        &["decoding.reranker={spectra={tolerance=0}}"],
        "decoding.reranker.spectra.tolerance = 0: expected a number above 0, at most 1000",
    );
}
