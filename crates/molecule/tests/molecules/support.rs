//! Real molecules, from the data root.

use dsokr_molecule::Molecule;

use crate::data::data;

/// Returns the SMILES of all rows of ChEBI.
pub fn chebi(test: &str) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(data(test, "chebi20/molecules.tsv")?).unwrap();
    let smiles = text.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap().to_owned());
    Some(smiles.collect())
}

/// Returns the SMILES of the committed quickstart set.
pub fn quickstart() -> impl Iterator<Item = &'static str> {
    let table = include_str!("../../../../datasets/quickstart/molecules.tsv");
    table.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap())
}

pub fn parse(smiles: &str) -> Molecule {
    Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"))
}
