//! Real molecules, from the data root.

use std::path::PathBuf;

/// The text of a file under the data root, or `None` with a line that says which test is skipped.
pub fn read(test: &str, file: &str) -> Option<String> {
    let root = std::env::var_os("DSOKR_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(file);
    if path.exists() {
        return Some(std::fs::read_to_string(path).unwrap());
    }
    eprintln!("skipped {test}: {} is not there", path.display());
    None
}

/// The SMILES of all rows of ChEBI.
pub fn chebi(test: &str) -> Option<Vec<String>> {
    let text = read(test, "chebi20/molecules.tsv")?;
    let smiles = text.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap().to_owned());
    Some(smiles.collect())
}
