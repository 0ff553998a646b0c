//! Columns that write the molecules of another one anew.

use dsokr_data::cells;
use dsokr_data::table::Table;
use dsokr_molecule::Molecule;
use rayon::prelude::*;

use super::columns::Column;
use super::kind::ColumnKind;
use crate::error::Error;

/// The most rows whose molecules are compared.
const COMPARED: usize = 10_000;

/// The largest share of rows with different molecules in a column and its copy, as a divisor.
const DIFFERENT: usize = 10;

/// Returns the names of the columns whose molecules are those of this one, in any SMILES of them.
///
/// # Errors
/// Columns that the table was not read with.
pub(super) fn copies_of(
    column: &Column,
    columns: &[Column],
    table: &Table,
) -> Result<Vec<String>, Error> {
    let mut copies = Vec::new();
    if column.kind != ColumnKind::Smiles {
        return Ok(copies);
    }
    let cells = table.column(&column.name)?;
    let is_other = |other: &&Column| other.kind == ColumnKind::Smiles && other.name != column.name;
    for other in columns.iter().filter(is_other) {
        if have_the_same(cells, table.column(&other.name)?) {
            copies.push(other.name.clone());
        }
    }
    Ok(copies)
}

/// Returns whether nearly all rows have the same molecule in both columns.
fn have_the_same(first: &[String], second: &[String]) -> bool {
    let step = first.len().div_ceil(COMPARED).max(1);
    let rows: Vec<(&String, &String)> = first.iter().zip(second).step_by(step).collect();
    let compared = rows.par_iter().filter_map(|(first, second)| are_same(first, second));
    let compared: Vec<bool> = compared.collect();
    let different = compared.iter().filter(|are_same| !**are_same).count();
    !compared.is_empty() && DIFFERENT * different <= compared.len()
}

/// Returns whether two cells are the same molecule, apart from configurations where one of them has none. None where one is no
/// molecule.
fn are_same(first: &str, second: &str) -> Option<bool> {
    let molecule = |cell: &str| {
        let smiles = cells::smiles(cell);
        if smiles.is_empty() { None } else { Molecule::parse(smiles).ok() }
    };
    let molecules = [molecule(first)?, molecule(second)?];
    let texts = molecules.each_ref().map(Molecule::canonical_smiles);
    if texts[0] == texts[1] {
        return Some(true);
    }
    let plain = molecules.map(|molecule| molecule.without_stereo().canonical_smiles());
    let is_plain = texts.iter().zip(&plain).any(|(text, plain)| text == plain);
    Some(is_plain && plain[0] == plain[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn molecules_are_compared_apart_from_configurations_that_one_lacks() {
        for (first, second, same) in [
            ("OCC", "CCO ethanol", Some(true)),
            ("C[C@H](N)C(=O)O", "CC(N)C(=O)O", Some(true)),
            ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", Some(false)),
            ("CCO", "CC=O", Some(false)),
            ("CCO", "", None),
            ("C(C", "CCO", None),
        ] {
            assert_eq!(are_same(first, second), same, "{first} {second}");
        }
        let column = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let own = column(&["CCO", "CCN", ""]);
        assert!(have_the_same(&own, &column(&["OCC", "NCC", "C"])));
        assert!(!have_the_same(&own, &column(&["OCC", "CC", "C"])));
        assert!(!have_the_same(&own, &column(&["", "", ""])));
    }
}
