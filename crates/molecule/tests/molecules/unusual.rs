//! Molecules that few programs expect: what is read and what is refused.

use dsokr_molecule::{
    Element, Formula, HashedFeatures, Molecule, Morgan, functional_groups, graph::Graph,
};

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

/// RDKit 2026.09 reads the same.
#[test]
fn saturated_atoms_give_metals_pairs_wherever_the_metal_is_written() {
    for (written, read) in [
        ("[NH3][Pt](Cl)(Cl)[NH3]", "[NH3]->[Pt](<-[NH3])([Cl])[Cl]"),
        ("[H][N]([H])([H])[Pt](Cl)(Cl)[N]([H])([H])[H]", "[NH3]->[Pt](<-[NH3])([Cl])[Cl]"),
        (
            "[Co]([NH3])([NH3])([NH3])([NH3])([NH3])[NH3]",
            "[NH3]->[Co](<-[NH3])(<-[NH3])(<-[NH3])(<-[NH3])<-[NH3]",
        ),
        ("[Cu][NH2]C", "C[NH2]->[Cu]"),
        ("[Cu]N(C)(C)C", "C[N](C)(C)->[Cu]"),
        ("[Fe][OH2]", "[OH2]->[Fe]"),
        ("[Pt]O(C)C", "C[O](C)->[Pt]"),
        ("[Pt][NH2][Pt]", "[Pt][NH2]->[Pt]"),
        ("[Pt]1[NH2]CC[NH2]1", "C1C[NH2]->[Pt]<-[NH2]1"),
        ("[Pt]1[NH2]CC(=O)O1", "O=C1C[NH2]->[Pt][O]1"),
        ("[NH3][Sn]", "[NH3]->[Sn]"),
        ("[Sn][NH3]", "[NH3]->[Sn]"),
    ] {
        let molecule = parse(written);
        let expected = parse(read);
        assert_eq!(molecule.canonical_smiles(), expected.canonical_smiles(), "{written}");
        assert_eq!(molecule.rings().len(), expected.rings().len(), "{written}");
        assert_eq!(molecule.formula(), expected.formula(), "{written}");
        assert_eq!(Formula::parse(written).unwrap(), Formula::from(&molecule), "{written}");
        let again = parse(&molecule.canonical_smiles());
        assert_eq!(again.canonical_smiles(), molecule.canonical_smiles(), "{written}");
    }
    // of others the message says how the bond is written
    let error = Molecule::parse("[Ru](Cl)[N]1=CC=CC=C1").unwrap_err().to_string();
    assert!(error.contains("N has valence 4") && error.contains("written `->`"), "{error}");
    let error = Molecule::parse("C[NH4]").unwrap_err().to_string();
    assert!(!error.contains("`->`"), "{error}");
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
