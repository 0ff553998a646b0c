//! Molecules that few programs expect: what is read and what is refused.

use dsokr_molecule::{Element, HashedFeatures, Molecule, Morgan, functional_groups, graph::Graph};

use crate::support::parse;

#[test]
fn parts_are_one_molecule() {
    let salt = parse("[Na+].CC(=O)[O-]");
    assert_eq!(salt.components(), [vec![0], vec![1, 2, 3, 4]]);
    assert_eq!(salt.charge(), 0);
    assert_eq!(Graph::from(&salt).edge_count(), 3);
    assert!(!salt.svg().is_empty());
    // A ring label may join parts.
    assert_eq!(parse("C1.C1").canonical_smiles(), "CC");
}

#[test]
fn isotopes_are_kept() {
    let water = parse("[2H]O[2H]");
    assert_eq!(water.atoms().len(), 3);
    assert_eq!(water.count(Element::H), 2);
    let carbon = parse("[13CH3]C");
    assert_eq!(carbon.atoms()[0].isotope, Some(13));
    assert_eq!(carbon.canonical_smiles(), parse("C[13CH3]").canonical_smiles());
    assert_eq!(parse("[1H]C").atoms().len(), 2);
    assert_eq!(parse("[H]C").atoms().len(), 1);
}

#[test]
fn wildcards_are_atoms_without_an_element() {
    let rest = parse("*c1ccccc1");
    assert_eq!(rest.atoms()[0].element, Element::WILDCARD);
    assert_eq!(rest.atoms()[0].element.atomic_number(), 0);
    assert_eq!(parse(&rest.canonical_smiles()).canonical_smiles(), rest.canonical_smiles());
    assert_eq!(parse("*").canonical_smiles(), "*");
    assert!(functional_groups(&parse("*C(=O)O*")).len() <= 1);
}

#[test]
fn hydrogen_alone_is_an_atom() {
    for (smiles, atoms) in [("[H][H]", 2), ("[H+]", 1), ("[H]", 1), ("[2H]", 1)] {
        let molecule = parse(smiles);
        assert_eq!(molecule.atoms().len(), atoms, "{smiles}");
        assert_eq!(parse(&molecule.canonical_smiles()), molecule, "{smiles}");
    }
}

#[test]
fn impossible_valences_are_refused_with_their_place() {
    for (smiles, place) in [("CC(C)(C)(C)C", 1), ("CF=C", 1), ("O=[O]=O", 2), ("C[NH4]", 1)] {
        let error = Molecule::parse(smiles).unwrap_err();
        assert!(error.to_string().contains(" has valence "), "{smiles}: {error}");
        assert_eq!(error.position(), Some(place), "{smiles}: {error}");
    }
    // Old ways to write charges apart, and elements that take more bonds.
    for smiles in ["CN(=O)=O", "CS(C)(=O)=O", "FS(F)(F)(F)(F)F", "OP(O)(O)=O", "OCl(=O)(=O)=O"] {
        parse(smiles);
    }
}

#[test]
fn nothing_is_no_molecule() {
    let error = Molecule::parse("").unwrap_err();
    assert_eq!(error.to_string(), "position 0: the SMILES is empty; at least one atom is needed");
    assert_eq!(Morgan::default().bits(&[]).unwrap().len(), 0);
}

/// Large molecules of several shapes are read, made canonical and hashed; a search without bounds would not end.
#[test]
fn a_thousand_atoms_are_read_and_written() {
    let shapes = [
        ("chain", "C".repeat(1_000)),
        ("ring", format!("C1{}C1", "C".repeat(998))),
        ("peptide", "N[C@@H](C)C(=O)".repeat(200) + "O"),
        ("arms", format!("C{}", "(C(F)(F)F)C".repeat(199))),
        ("phenyls", format!("C{}", "C(c1ccccc1)".repeat(142))),
        ("parts", vec!["CCCCC"; 200].join(".")),
        ("pseudo-centres", format!("C{}", "[C@](CC)(CC)".repeat(200))),
        ("polyene", "C/C=C".to_owned() + &"/C=C".repeat(498)),
    ];
    for (shape, smiles) in shapes {
        let molecule = parse(&smiles);
        assert!(
            (990..=1_010).contains(&molecule.atoms().len()),
            "{shape}: {}",
            molecule.atoms().len()
        );
        let canonical = molecule.canonical_smiles();
        let codes = Morgan::default().codes(&molecule);
        assert!(!codes.is_empty());
        assert_eq!(parse(&canonical).canonical_smiles(), canonical, "{shape}");
    }
}
