//! Equal molecules have the same canonical text, and the text reads back as the same molecule.

use std::collections::BTreeMap;

use dsokr_core::random::generator;
use dsokr_molecule::{Atom, Molecule};

use crate::support::{chebi, parse, quickstart};

/// Checks that the canonical SMILES reads back as a molecule with the same one, as do texts with the atoms in other
/// orders.
fn check(smiles: &str, orders: u64) {
    let molecule = parse(smiles);
    let canonical = molecule.canonical_smiles();
    let again = parse(&canonical);
    assert_eq!(again.canonical_smiles(), canonical, "{smiles}");
    assert_eq!(inventory(&again), inventory(&molecule), "{smiles}: {canonical}");
    for step in 0..orders {
        let other = molecule.random_smiles(&mut generator(step, "atom order", 0));
        let read = parse(&other);
        assert_eq!(read.canonical_smiles(), canonical, "{smiles} as {other}");
    }
}

/// Returns the number of atoms and bonds of each kind, which no renumbering changes.
fn inventory(molecule: &Molecule) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let kind = |atom: &Atom| {
        let Atom { element, charge, hydrogens, isotope, aromatic, .. } = *atom;
        format!("{} {charge} {hydrogens} {isotope:?} {aromatic}", element.symbol())
    };
    let atoms = molecule.atoms().iter().map(kind);
    let bonds = molecule.bonds().iter().map(|bond| {
        let mut ends = bond.atoms.map(|atom| kind(&molecule.atoms()[atom]));
        ends.sort();
        let order = if bond.aromatic { "aromatic".to_owned() } else { format!("{:?}", bond.order) };
        format!("{ends:?} {order}")
    });
    atoms.chain(bonds).for_each(|kind| *counts.entry(kind).or_insert(0) += 1);
    counts
}

#[test]
fn quickstart_molecules_have_one_text_in_any_order_of_atoms() {
    quickstart().for_each(|smiles| check(smiles, 3));
}

#[test]
fn chebi_molecules_have_one_text_in_any_order_of_atoms() {
    let test = "chebi_molecules_have_one_text_in_any_order_of_atoms";
    let Some(rows) = chebi(test) else { return };
    assert_eq!(rows.len(), 35_905);
    // `DSOKR_EVERY_ROW` takes all of them, which takes minutes.
    let step = if std::env::var_os("DSOKR_EVERY_ROW").is_some() { 1 } else { 10 };
    rows.iter().step_by(step).for_each(|smiles| check(smiles, 1));
}

/// Texts written by another program's writer, for the same molecule.
#[test]
fn texts_of_another_writer_have_the_same_canonical_text() {
    for (number, smiles) in quickstart().enumerate().step_by(3) {
        let read = chematic_smiles::parse(smiles).unwrap();
        let other =
            chematic_smiles::rdkit_random_smiles(&read, 1, 1 + number as u32, &Default::default());
        let Ok(other) = other else { continue };
        assert_eq!(
            parse(&other[0]).canonical_smiles(),
            parse(smiles).canonical_smiles(),
            "{smiles}: {}",
            other[0]
        );
    }
}

#[test]
fn symmetric_molecules_have_one_text() {
    let cubane = "C12C3C4C1C5C2C3C45";
    let dodecahedrane = "C12C3C4C5C1C6C7C2C8C3C9C4C1C5C6C2C7C8C9C12";
    let ring = format!("C1{}C1", "C".repeat(498));
    let arms = format!("[U]{}", "(CCC)".repeat(8));
    for smiles in [cubane, dodecahedrane, &ring, &arms, "CC(C)(C)C(C(C)(C)C)(C(C)(C)C)C(C)(C)C"] {
        check(smiles, 4);
    }
}

#[test]
fn configurations_tell_molecules_apart() {
    let different = [
        ("C[C@H](O)N", "C[C@@H](O)N"),
        ("F/C=C/F", "F/C=C\\F"),
        ("F/C=C/F", "FC=CF"),
        ("C[C@H](O)N", "CC(O)N"),
        // meso and one of the mirrored forms, which differ from one another
        ("C[C@H](O)[C@@H](O)C", "C[C@@H](O)[C@H](O)C"),
        ("C[C@H](O)[C@@H](O)C", "C[C@H](O)[C@H](O)C"),
        // cis and trans
        ("C[C@H]1CC[C@H](C)CC1", "C[C@H]1CC[C@@H](C)CC1"),
        ("C/C=C/C=C/C", "C/C=C/C=C\\C"),
        ("C[S@](=O)CC", "C[S@@](=O)CC"),
        ("[2H]C", "C"),
        ("[13CH4]", "C"),
        ("[O-]C", "OC"),
        ("c1ccccc1", "C1CCCCC1"),
    ];
    for (one, other) in different {
        assert_ne!(parse(one).canonical_smiles(), parse(other).canonical_smiles());
        check(one, 5);
        check(other, 5);
    }
    let equal = [
        ("C[C@H](O)N", "O[C@@H](C)N"),
        ("[C@H](C)(O)N", "[C@@H](O)(C)N"),
        // meso
        ("C[C@H](O)[C@H](O)C", "C[C@@H](O)[C@@H](O)C"),
        ("F/C=C/F", "F\\C=C\\F"),
        ("F/C=C(/F)Cl", "F/C=C(\\Cl)F"),
        ("[H]/C(C)=C/C", "C\\C=C/C"),
        ("C(/F)=C/F", "F\\C=C/F"),
    ];
    for (one, other) in equal {
        assert_eq!(parse(one).canonical_smiles(), parse(other).canonical_smiles(), "{one} {other}");
    }
}

/// Ends of a double bond that can be marked at either of two bonds: a choice is searched, and the first are not enough.
#[test]
fn long_chains_of_double_bonds_keep_their_geometries() {
    // each of the double bonds of unknown geometry must have an end without marks
    let between = "C/C=C(C)/C=C(C)C=CC(C)=C/C=C(/C)".to_owned();
    let long = format!("{}O", between.repeat(9));
    // every atom has two substituents, so either bond of each end can be marked
    let dense = format!("C/C(F)=C(\\C){}", "/C(F)=C(\\C)".repeat(20));
    let ladder = format!("F/C(C)=C(/F){}O", "\\C(C)=C(/F)".repeat(14));
    for smiles in [long, dense, ladder] {
        let molecule = parse(&smiles);
        let configured = molecule.bonds().iter().filter(|bond| bond.stereo).count();
        let again = parse(&molecule.canonical_smiles());
        assert!(configured > 12, "{smiles}");
        assert_eq!(again.bonds().iter().filter(|bond| bond.stereo).count(), configured, "{smiles}");
        check(&smiles, 8);
    }
}

/// A double bond of a small ring has marks at both ends where it lies between double bonds whose only other bonds are to
/// it. The texts of a row are RDKit's of one molecule (`Chem.MolToSmiles(mol, doRandom=True)`), and each row is another.
#[test]
fn geometries_on_both_sides_of_a_double_bond_in_a_small_ring_are_kept() {
    let rows = [
        ["C/C=C/C1=C(/C=C/C)CCCC1", "C1(/C=C/C)=C(/C=C/C)CCCC1", "C1C(=C(CCC1)/C=C/C)/C=C/C"],
        [r"C/C=C\C1=C(/C=C\C)CCCC1", r"C(/C1CCCCC=1/C=C\C)=C/C", r"C1C(=C(/C=C\C)CCC1)/C=C\C"],
        [r"C/C=C\C1=C(/C=C/C)CCCC1", "C(/C)=C/C1CCCCC=1/C=C/C", r"C1CCCC(=C1/C=C/C)/C=C\C"],
        [
            "C/C=C/C1=C(/C=C/C)C(=O)C=CC1=O",
            r"C(/C)=C\C1C(C=CC(C=1/C=C/C)=O)=O",
            r"C(=C\C)/C1C(=O)C=CC(=O)C=1/C=C/C",
        ],
        [
            r"C/C=C\C1=C(/C=C/C)C(=O)C=CC1=O",
            "C(/C)=C/C1=C(C(=O)C=CC1=O)/C=C/C",
            r"C1C(=O)C(=C(C(C=1)=O)/C=C\C)/C=C/C",
        ],
    ];
    let mut canonical = Vec::new();
    for texts in rows {
        let text = parse(texts[0]).canonical_smiles();
        let again = parse(&text);
        assert_eq!(again.bonds().iter().filter(|bond| bond.stereo).count(), 2, "{text}");
        for other in texts {
            assert_eq!(parse(other).canonical_smiles(), text, "{other}");
            check(other, 5);
        }
        assert!(!canonical.contains(&text), "{text}");
        canonical.push(text);
    }
}

#[test]
fn parts_in_branches_and_labels_in_parentheses_are_read() {
    // the second text is RDKit's
    for (smiles, plain) in [
        ("CC(C.O)N", "CC(C)N.O"),
        ("C(=O.N)C", "CC=O.N"),
        ("[C@H](F)(Cl.O)Br", "F[C@@H](Cl)Br.O"),
        ("N[C@H](C.[Na+])C(=O)[O-]", "C[C@@H](N)C(=O)[O-].[Na+]"),
        ("C(C1.C1)N", "CCCN"),
        ("C(C1.O1)C1CC1", "C1CC1CCO"),
        ("C(C(C.O)N.S)P", "CC(CP)N.O.S"),
        ("C%(10)CC%10", "C1CC1"),
        ("C%(1)CC1", "C1CC1"),
        ("C%(100)CC%(100)", "C1CC1"),
    ] {
        assert_eq!(parse(smiles).canonical_smiles(), parse(plain).canonical_smiles(), "{smiles}");
    }
    // errors name places of the text that was given
    let position = |smiles| Molecule::parse(smiles).unwrap_err().position();
    assert_eq!(position("CC(C.O(C)(C)C)N"), Some(5));
    assert_eq!(position("CC(C.O)N(C)(C)C"), Some(7));
    assert_eq!(position("C%(10)CC%(10)F(C)C"), Some(13));
}

#[test]
fn parts_are_sorted() {
    assert_eq!(parse("[Na+].[Cl-]").canonical_smiles(), parse("[Cl-].[Na+]").canonical_smiles());
    assert_eq!(parse("CC.C.CC").canonical_smiles(), "C.CC.CC");
}
