//! Real molecules, from the data root.

use std::path::PathBuf;

use dsokr_molecule::Molecule;

/// A file under the data root, or `None` with a line that says which test is skipped.
pub fn data(test: &str, file: &str) -> Option<PathBuf> {
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped {test}: {} is not there", path.display());
    None
}

/// The SMILES of all rows of ChEBI.
pub fn chebi(test: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(data(test, "chebi20/molecules.tsv")?).unwrap();
    let smiles = text.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap().to_owned());
    Some(smiles.collect())
}

/// The SMILES of the committed quickstart set.
pub fn quickstart() -> impl Iterator<Item = &'static str> {
    let table = include_str!("../../../../datasets/quickstart/molecules.tsv");
    table.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap())
}

pub fn parse(smiles: &str) -> Molecule {
    Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"))
}
