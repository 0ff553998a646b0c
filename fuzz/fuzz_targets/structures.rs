//! Any bytes as a mol block or as an SD file; the first byte says which. A molecule that is read from a block has the same
//! atoms again when it is written as one.

#![no_main]

use dsokr_data::config::OnBadRow;
use dsokr_data::table::Table;
use dsokr_fuzz::{choose, file, is_plain};
use dsokr_molecule::{Error, Molecule};
use libfuzzer_sys::fuzz_target;

/// Larger molecules take too long to be drawn each time.
const SMALL: usize = 20;

/// The most hydrogens of an atom whose number of bonds a block can state.
const HYDROGENS: u8 = 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((name, bytes)) = choose(bytes, &["block", "a.sdf"]) else { return };
    match name {
        "a.sdf" => records(bytes),
        _ => {
            if let Ok(text) = std::str::from_utf8(bytes) {
                block(text);
            }
        }
    }
});

fn block(text: &str) {
    let molecule = match Molecule::parse_mol_block(text) {
        Ok(molecule) => molecule,
        Err(Error::MolBlock { line, message }) => {
            assert!(line <= text.lines().count(), "line {line}: {message}");
            return;
        }
        Err(_) => return,
    };
    let atoms = molecule.atoms();
    if atoms.len() > SMALL {
        return;
    }
    let written = molecule.mol_block("again");
    let again = Molecule::parse_mol_block(&written);
    if is_plain(&molecule) && atoms.iter().all(|atom| atom.hydrogens <= HYDROGENS) {
        let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again.composition(), molecule.composition(), "{written}");
    }
}

fn records(bytes: &[u8]) {
    let path = file("a.sdf", bytes);
    let read = |action| Table::read_rows(&path, &["smiles", "title"], action);
    let stopped = read(OnBadRow::Stop);
    let Ok(skipped) = read(OnBadRow::Skip) else {
        assert!(stopped.is_err());
        return;
    };
    let texts = skipped.column("smiles").unwrap();
    assert_eq!([texts.len(), skipped.column("title").unwrap().len()], [skipped.len(); 2]);
    for text in texts {
        if let Ok(molecule) = Molecule::parse(text)
            && is_plain(&molecule)
        {
            assert_eq!(molecule.canonical_smiles(), *text);
        }
    }
    if skipped.skipped() == 0 {
        assert_eq!(stopped.unwrap().column("smiles").unwrap(), texts);
    }
}
