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
    for (smiles, place) in [
        ("CC(C)(C)(C)C", 1),
        ("CF=C", 1),
        ("O=[O]=O", 2),
        ("C[NH4]", 1),
        // RDKit refuses these too
        ("C[Cl](C)C", 1),
        ("O=Br", 2),
        ("C[Si](C)(C)(C)C", 1),
        ("CP(C)(C)(C)(C)C", 1),
        ("CS(C)(C)(C)(C)(C)C", 1),
        ("C[Al](C)(C)C", 1),
        ("C[Sn](C)(C)(C)C", 1),
        ("C[N+](C)(C)(C)C", 1),
        ("[He]C", 0),
        ("CN(=C)=C", 1),
    ] {
        let error = Molecule::parse(smiles).unwrap_err();
        assert!(error.to_string().contains(" has valence "), "{smiles}: {error}");
        assert_eq!(error.position(), Some(place), "{smiles}: {error}");
    }
    // Old ways to write charges apart, and elements that take more bonds.
    for smiles in [
        "CN(=O)=O",
        "CS(C)(=O)=O",
        "FS(F)(F)(F)(F)F",
        "OP(O)(O)=O",
        "OCl(=O)(=O)=O",
        "CI(C)C",
        "F[Xe](F)(F)F",
        "F[P-](F)(F)(F)(F)F",
        "F[Si-2](F)(F)(F)(F)F",
        "C[B-](C)(C)C",
        "C[Na]C",
        "C[Mg](C)(C)C",
        "C[Zn](C)C",
        "C[Se](C)(C)C",
    ] {
        parse(smiles);
    }
    let charged = parse("C[N+](=O)[O-]");
    assert_eq!(parse("CN(=O)=O").canonical_smiles(), charged.canonical_smiles());
}

#[test]
fn other_names_of_molecules_are_refused_with_what_to_do() {
    let refused = |text| Molecule::parse(text).unwrap_err().to_string();
    let inchi = refused("InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3");
    assert!(inchi.starts_with("position 0: an InChI, and a SMILES is expected; "), "{inchi}");
    assert!(inchi.contains("Chem.MolToSmiles(Chem.MolFromInchi(text))"), "{inchi}");
    let key = refused("LFQSCWFLJHTTHZ-UHFFFAOYSA-N");
    assert!(key.starts_with("position 0: an InChIKey, and a SMILES is expected; "), "{key}");
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
