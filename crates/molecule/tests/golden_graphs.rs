//! Atoms and bonds against 3,000 graphs as RDKit reads them, and every row of ChEBI-20 and QM9.

mod data;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use dsokr_molecule::Molecule;
use serde_json::Value;

use data::data;

fn lines(path: PathBuf) -> impl Iterator<Item = String> {
    BufReader::new(File::open(path).unwrap()).lines().map(Result::unwrap)
}

/// Returns bonds as a set of (lower atom, higher atom, order).
fn bond_set(bonds: impl Iterator<Item = (usize, usize, u64)>) -> BTreeMap<(usize, usize), u64> {
    bonds.map(|(a, b, order)| ((a.min(b), a.max(b)), order)).collect()
}

fn integers(value: &Value) -> Vec<i64> {
    let list = value.as_array().unwrap();
    list.iter().map(|v| v.as_i64().unwrap()).collect()
}

#[test]
fn golden_graphs_have_rdkit_s_atoms_and_bonds() {
    let Some(path) =
        data("golden_graphs_have_rdkit_s_atoms_and_bonds", "golden/rdkit_graphs.jsonl")
    else {
        return;
    };
    let mut rows = 0;
    for line in lines(path) {
        let golden: Value = serde_json::from_str(&line).unwrap();
        let smiles = golden["smiles"].as_str().unwrap();
        let molecule = Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"));

        let symbols: Vec<_> = molecule.atoms().iter().map(|a| a.element.symbol()).collect();
        let expected = golden["atoms"].as_array().unwrap();
        let expected: Vec<_> = expected.iter().map(|v| v.as_str().unwrap()).collect();
        assert_eq!(symbols, expected, "{smiles}");
        let charges: Vec<_> = molecule.atoms().iter().map(|a| i64::from(a.charge)).collect();
        assert_eq!(charges, integers(&golden["charges"]), "{smiles}");
        let hydrogens: Vec<_> = molecule.atoms().iter().map(|a| i64::from(a.hydrogens)).collect();
        assert_eq!(hydrogens, integers(&golden["hydrogens"]), "{smiles}");

        let ours = bond_set(
            molecule
                .bonds()
                .iter()
                .map(|b| (b.atoms[0], b.atoms[1], u64::from(b.order.multiplicity()))),
        );
        let theirs = bond_set(golden["bonds"].as_array().unwrap().iter().map(|b| {
            let b: Vec<_> = b.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
            (b[0] as usize, b[1] as usize, b[2])
        }));
        assert_eq!(ours, theirs, "{smiles}");
        rows += 1;
    }
    assert_eq!(rows, 3000);
}

#[test]
fn every_row_of_chebi_parses() {
    let Some(path) = data("every_row_of_chebi_parses", "chebi20/molecules.tsv") else {
        return;
    };
    let mut rows = 0;
    for line in lines(path).skip(1) {
        let smiles = line.split('\t').nth(1).unwrap();
        check(smiles, rows);
        rows += 1;
    }
    assert_eq!(rows, 35_905);
}

#[test]
fn every_row_of_qm9_parses() {
    let Some(path) = data("every_row_of_qm9_parses", "qm9/smiles.txt") else {
        return;
    };
    let mut rows = 0;
    for smiles in lines(path) {
        check(&smiles, rows);
        rows += 1;
    }
    assert_eq!(rows, 117_396);
}

/// Checks that the row parses, and that its rings number bonds − atoms + components.
fn check(smiles: &str, row: usize) {
    let molecule = Molecule::parse(smiles).unwrap_or_else(|e| panic!("row {row}, {smiles}: {e}"));
    let components = molecule.components().len();
    assert_eq!(
        molecule.rings().len(),
        molecule.bonds().len() + components - molecule.atoms().len(),
        "row {row}, {smiles}"
    );
}
