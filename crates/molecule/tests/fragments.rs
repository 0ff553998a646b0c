//! Parts of molecules by at most two cuts, against the removal of every set of bonds.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_molecule::{AtomSet, Fragmenter, Molecule};
use proptest::prelude::*;

/// Returns the parts of a molecule with the bonds that are broken, each of which must come once.
fn parts(molecule: &Molecule) -> BTreeMap<AtomSet, Vec<usize>> {
    let mut parts = BTreeMap::new();
    Fragmenter::new(molecule).unwrap().each(&mut |part| {
        let before = parts.insert(part.atoms, part.broken.to_vec());
        assert_eq!(before, None, "{:b} comes twice", part.atoms);
    });
    parts
}

/// `tests/golden/fragments.py` removed every set of at most four bonds, with NetworkX.
#[test]
fn parts_are_those_that_removed_bonds_leave() {
    let golden: BTreeMap<String, Vec<AtomSet>> =
        serde_json::from_str(include_str!("golden/fragments.json")).unwrap();
    assert_eq!(golden.len(), 22);
    for (smiles, expected) in golden {
        let molecule = Molecule::parse(&smiles).unwrap();
        let found = parts(&molecule);
        let sets: Vec<AtomSet> = found.keys().copied().collect();
        assert_eq!(sets, expected, "{smiles}");
        for (atoms, broken) in found {
            let is_inside = |&end: &usize| atoms >> end & 1 == 1;
            let leaves = |bond: &usize| {
                molecule.bonds()[*bond].atoms.iter().filter(|end| is_inside(end)).count() == 1
            };
            let boundary: BTreeSet<usize> = (0..molecule.bonds().len()).filter(leaves).collect();
            assert_eq!(broken.len(), boundary.len(), "{smiles} {atoms:b}");
            assert_eq!(broken.into_iter().collect::<BTreeSet<_>>(), boundary, "{smiles} {atoms:b}");
        }
    }
}

#[test]
fn molecules_that_are_too_large_are_not_broken() {
    let chain = |carbons: usize| Molecule::parse(&"C".repeat(carbons)).unwrap();
    assert!(Fragmenter::new(&chain(Fragmenter::LARGEST + 1)).is_none());
    // each of n (n + 1) / 2 stretches of a chain
    let largest = Fragmenter::LARGEST;
    assert_eq!(parts(&chain(largest)).len(), largest * (largest + 1) / 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However its atoms are numbered, a molecule has the same parts: as many of each size and number of broken bonds.
    #[test]
    fn parts_do_not_depend_on_the_numbering(seed: u64, at in 0usize..6) {
        let smiles = [
            "CC(=O)Oc1ccccc1C(=O)O",
            "CN1CCC23C4C1Cc1ccc(O)c(c12)OC3C(O)C=C4",
            "C12C3C4C1C5C2C3C45",
            "O=C1CCC2(C)C(CCC3C2CCC2(C)C3CCC2O)C1",
            "C1CC2CCC1C2.OC(=O)CN",
            "C1=CC2=CC3=CC=C(N3)C=C3C=CC(=N3)C=C1N2",
        ][at];
        let molecule = Molecule::parse(smiles).unwrap();
        let text = molecule.random_smiles(&mut dsokr_core::random::generator(seed, "test", 0));
        let sizes = |molecule: &Molecule| {
            let parts = parts(molecule).into_iter();
            let mut sizes: Vec<_> =
                parts.map(|(atoms, broken)| (atoms.count_ones(), broken.len())).collect();
            sizes.sort_unstable();
            sizes
        };
        prop_assert_eq!(sizes(&molecule), sizes(&Molecule::parse(&text).unwrap()), "{}", text);
    }
}
