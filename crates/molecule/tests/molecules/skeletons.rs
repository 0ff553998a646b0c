//! Skeletons against RDKit 2026.09.1, `MurckoScaffoldSmiles(mol, includeChirality=False)`.

use std::collections::HashMap;

use super::support::{parse, quickstart};

#[test]
fn skeletons_are_those_of_rdkit() {
    for (smiles, skeleton) in [
        ("OC(c1ccc(Cl)cc1)(c1cncnc1)c1ccccc1Cl", "c1ccc(C(c2ccccc2)c2cncnc2)cc1"),
        ("COC(=O)c1sccc1NC(=O)Cc1cccs1", "O=C(Cc1cccs1)Nc1ccsc1"),
        ("C[C@H]1CCC/C=C/[C@@H]2C[C@H](O)C[C@H]2[C@H](O)/C=C/C(=O)O1", "O=C1C=CCC2CCCC2C=CCCCCO1"),
        (
            "CN1N=C(N)c2cn([C@@H]3O[C@H](CO)[C@@H](O)[C@H]3O)c3ncnc1c23",
            "C1=NNc2ncnc3c2c1cn3C1CCCO1",
        ),
        ("COc1cccc(OC)c1OCCNCC1COc2ccccc2O1", "c1ccc(OCCNCC2COc3ccccc3O2)cc1"),
        ("O=c1oc2cc(O)ccc2c(O)c1-c1ccc(O)cc1O", "O=c1oc2ccccc2cc1-c1ccccc1"),
        ("CC(=O)c1ccccc1CC1CC1=O", "O=C1CC1Cc1ccccc1"),
        ("CC=C1CCCCC1", "C=C1CCCCC1"),
    ] {
        let graph = parse(smiles).skeleton();
        // the skeleton of a skeleton is itself, with all its atoms
        let expected = parse(skeleton);
        assert_eq!(graph.len(), expected.atoms().len(), "{smiles}");
        assert_eq!(graph.invariant(), expected.skeleton().invariant(), "{smiles}");
    }
    assert!(parse("CC(C)CO.[Na+]").skeleton().is_empty());
}

#[test]
fn skeletons_do_not_depend_on_the_text() {
    for smiles in quickstart().step_by(7) {
        let molecule = parse(smiles);
        let same = parse(&molecule.canonical_smiles());
        assert_eq!(molecule.skeleton().invariant(), same.skeleton().invariant(), "{smiles}");
    }
}

/// `golden/scaffolds.py`: molecules have one skeleton where RDKit's `MurckoScaffold` without charges is one.
#[test]
fn skeletons_divide_molecules_as_rdkits_scaffolds_do() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = here.join("../../datasets/quickstart/molecules.tsv");
    let table = std::fs::read_to_string(table).unwrap();
    let golden = std::fs::read_to_string(here.join("tests/golden/scaffolds.txt")).unwrap();
    let classes: Vec<&str> = golden.split_whitespace().collect();
    let molecules = table.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap());
    let mut of_class = HashMap::new();
    let mut of_skeleton = HashMap::new();
    let mut count = 0;
    for (smiles, class) in molecules.zip(&classes) {
        let skeleton = parse(smiles).skeleton().invariant();
        assert_eq!(*of_class.entry(class).or_insert(skeleton), skeleton, "{smiles}");
        assert_eq!(*of_skeleton.entry(skeleton).or_insert(class), class, "{smiles}");
        count += 1;
    }
    assert_eq!(count, classes.len());
}
