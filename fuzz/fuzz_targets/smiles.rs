//! Any text as a SMILES: it is refused with a place, or its canonical SMILES reads back as the same
//! molecule, with the same fingerprint and counts.

#![no_main]

use dsokr_core::random::generator;
use dsokr_fuzz::is_plain;
use dsokr_molecule::{Composition, HashedFeatures, Molecule, MoleculeFeatures, Morgan};
use libfuzzer_sys::fuzz_target;

/// Larger molecules take too long to be drawn each time.
const SMALL: usize = 20;

fuzz_target!(|text: &str| {
    let molecule = match Molecule::parse(text) {
        Ok(molecule) => molecule,
        Err(error) => {
            assert!(error.position().is_some_and(|at| at <= text.len()), "{error}");
            return;
        }
    };
    let canonical = molecule.canonical_smiles();
    let other = molecule.random_smiles(&mut generator(0, "fuzz", text.len() as u64));
    let is_plain = is_plain(&molecule);
    for written in [&canonical, &other].into_iter().filter(|_| is_plain) {
        let read = Molecule::parse(written).unwrap_or_else(|error| panic!("{written}: {error}"));
        assert_eq!(read.canonical_smiles(), canonical, "from {written}");
        let morgan = Morgan::default();
        assert_eq!(morgan.codes(&read), morgan.codes(&molecule), "{written}");
        let rows = [read, molecule.clone()];
        let rows = Composition {}.counts(&rows).unwrap_or_else(|error| panic!("{error}"));
        // The groups depend on the Kekulé structure of aromatic rings; elements do not.
        let elements = |row| {
            let (columns, values) = rows.row(row);
            let atoms = columns.iter().zip(values).filter(|(column, _)| **column < 119);
            atoms.map(|(&column, &value)| (column, value)).collect::<Vec<_>>()
        };
        assert_eq!(elements(0), elements(1));
    }
    if molecule.atoms().len() <= SMALL {
        assert!(molecule.svg().starts_with("<svg"));
    }
});
