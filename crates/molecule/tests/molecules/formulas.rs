//! Formulas that are read without structures.

use dsokr_molecule::{Formula, Molecule, formula};

use crate::data::data;
use crate::support::{chebi, parse, quickstart};

#[test]
fn formulas_are_those_of_the_molecules() {
    let test = "formulas_are_those_of_the_molecules";
    let quickstart = quickstart().map(str::to_owned);
    let chebi = chebi(test).unwrap_or_default();
    let qm9 = data(test, "qm9/smiles.txt").map(|path| std::fs::read_to_string(path).unwrap());
    let qm9 = qm9.iter().flat_map(|text| text.lines().step_by(20)).map(str::to_owned);
    for smiles in quickstart.chain(chebi.into_iter().step_by(3)).chain(qm9) {
        let expected = Formula::from(&Molecule::parse(&smiles).unwrap());
        assert_eq!(Formula::parse(&smiles).unwrap(), expected, "{smiles}");
    }
}

/// The pool's formulas and masses are RDKit's.
#[test]
fn formulas_and_masses_are_those_of_rdkit() {
    let path = data("formulas_and_masses_are_those_of_rdkit", "massbank/molecules.tsv");
    let Some(table) = path.map(|path| std::fs::read_to_string(path).unwrap()) else { return };
    for line in table.lines().skip(1) {
        let [_, smiles, expected, mass] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!()
        };
        let actual = Formula::parse(smiles).unwrap();
        let mass: f64 = mass.parse().unwrap();
        assert_eq!(dsokr_molecule::read_formula(expected), Some(actual.atoms), "{smiles}");
        assert!((actual.exact_mass - mass).abs() < 1e-5 + 1e-7 * mass, "{smiles}");
    }
}

#[test]
fn formulas_of_ions_may_stand_in_brackets() {
    let choline = dsokr_molecule::read_formula("C5H14NO");
    assert!(choline.is_some());
    for text in ["C5H14NO+", "[C5H14NO]+", "[C5H14NO]1+", "[C5H14NO]"] {
        assert_eq!(dsokr_molecule::read_formula(text), choline, "{text}");
    }
    for text in ["[C5H14NO", "[13C]C4H14NO", "[C5]H14NO", "[]+", "C5H14NO]+"] {
        assert_eq!(dsokr_molecule::read_formula(text), None, "{text}");
    }
}

#[test]
fn hydrogens_follow_from_any_way_to_write_a_ring() {
    for (smiles, expected) in [
        ("c1ccccc1", "C6H6"),
        ("C1=CC=CC=C1", "C6H6"),
        ("c1cc[nH]c1", "C4H5N"),
        ("Cn1cnc2c1c(=O)n(C)c(=O)n2C", "C8H10N4O2"),
        ("c1ccccccc1", "C8H8"),
        ("[O-][n+]1ccccc1", "C5H5NO"),
        ("[2H]c1ccccc1", "C6H6"),
        ("CC(C.O)N", "C3H11NO"),
    ] {
        let actual = Formula::parse(smiles).unwrap();
        assert_eq!(formula(&actual.atoms), expected, "{smiles}");
        assert_eq!(actual, Formula::from(&parse(smiles)), "{smiles}");
    }
    // without its hydrogen pyrrole has no Kekulé structure, and so no number of hydrogens
    let error = Formula::parse("c1ccnc1").unwrap_err();
    assert_eq!(error.position(), Molecule::parse("c1ccnc1").unwrap_err().position());
}
