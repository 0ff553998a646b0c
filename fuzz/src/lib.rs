//! What the targets share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use dsokr_molecule::{Bond, BondOrder, Molecule};

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("dsokr-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
});

/// Returns the folder of this process.
pub fn folder() -> &'static Path {
    &FOLDER
}

/// Writes a file of the folder of this process.
pub fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = FOLDER.join(name);
    fs::create_dir_all(path.parent().unwrap_or(&FOLDER)).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

/// Returns one of several names, which the first byte chooses, and the bytes behind it.
pub fn choose<'a, 'n>(bytes: &'a [u8], names: &[&'n str]) -> Option<(&'n str, &'a [u8])> {
    let (&first, rest) = bytes.split_first()?;
    Some((names[usize::from(first) % names.len()], rest))
}

/// Returns whether a molecule is perceived in one way, however it is written. Aromatic rings with radicals, bonds to
/// metals, and multiple bonds to halogens are not: see `canonical_smiles`.
pub fn is_plain(molecule: &Molecule) -> bool {
    const ORGANIC: [u8; 11] = [0, 1, 5, 6, 7, 8, 9, 16, 17, 35, 53];
    let mut atoms = molecule.atoms().iter();
    let are_organic =
        atoms.all(|atom| !atom.aromatic && ORGANIC.contains(&atom.element.atomic_number()));
    let is_halogen = |&atom: &usize| molecule.atoms()[atom].element.is_halogen();
    let is_usual =
        |bond: &Bond| bond.order == BondOrder::Single || !bond.atoms.iter().any(is_halogen);
    are_organic && molecule.bonds().iter().all(is_usual)
}
