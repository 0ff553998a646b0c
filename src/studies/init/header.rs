//! Whether a table begins with the names of its columns.

use std::path::Path;

use dsokr_data::cells;
use dsokr_data::table::{OnBadRow, Table, TableOptions};
use dsokr_molecule::Molecule;

use super::guess::guessed;
use super::kind::{ColumnKind, Reading};
use crate::error::Error;

/// The fewest words, and characters, of a sentence, which is no name.
const WORDS_OF_A_SENTENCE: usize = 5;
const CHARACTERS_OF_A_SENTENCE: usize = 30;

/// Whether the first line of a table is a row: one of its cells is a SMILES, or looks like one of a row and no other is
/// unlike those below it.
///
/// # Errors
/// What reading the table reports.
pub(super) fn is_missing(path: &Path, first: &[String]) -> Result<bool, Error> {
    if !is_row(first) {
        return Ok(false);
    }
    let has_structure = first.iter().any(|cell| is_structure(cell.trim()));
    Ok(has_structure || !differs_from_rows(path)?)
}

/// Whether a cell of the first line is not what the cells below it are, as the name of a column of numbers is not.
fn differs_from_rows(path: &Path) -> Result<bool, Error> {
    let options =
        TableOptions { headless: true, on_bad_row: OnBadRow::Skip, ..TableOptions::default() };
    let names = Table::header(path, options)?.names;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = Table::read_with(path, &names, options)?;
    for (place, name) in names.iter().enumerate() {
        let Some((first, rest)) = table.column(name)?.split_first() else { continue };
        let filled = rest.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let filled: Vec<&str> = filled.collect();
        let kind = guessed(place, name, &filled);
        if is_strict(&kind) && !cells::is_missing(first) && kind.read(first) == Reading::Invalid {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the name of a column is none of what the column holds.
fn is_strict(kind: &ColumnKind) -> bool {
    match kind {
        ColumnKind::Smiles
        | ColumnKind::Inchi
        | ColumnKind::Rankings(_)
        | ColumnKind::Orders(_)
        | ColumnKind::Numbers(_)
        | ColumnKind::Vectors(_)
        | ColumnKind::Dates => true,
        ColumnKind::Nothing
        | ColumnKind::Ids
        | ColumnKind::Labels(_)
        | ColumnKind::Classes(_)
        | ColumnKind::Texts => false,
    }
}

/// Whether a cell of the first line is one of a row: a sentence, a SMILES or a number with decimals.
fn is_row(first: &[String]) -> bool {
    first.iter().map(|cell| cell.trim()).any(|cell| {
        let is_sentence = cell.split_whitespace().count() >= WORDS_OF_A_SENTENCE
            && cell.len() >= CHARACTERS_OF_A_SENTENCE;
        let is_fraction = cell.contains('.') && cell.parse::<f64>().is_ok();
        is_sentence || is_fraction || is_structure(cell)
    })
}

/// Whether a cell is a molecule that no name of a column is.
fn is_structure(cell: &str) -> bool {
    let is_marked = cell.contains(['(', '=', '#']) && !cell.contains(char::is_whitespace);
    is_marked && Molecule::parse(cells::smiles(cell)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_rows() {
        let is_row = |line: &str| is_row(&line.split('\t').map(str::to_owned).collect::<Vec<_>>());
        for names in ["id\tdescription\tsmiles", "0\t1\t2", "IC50 (nM)\tC", "Price (EUR)\t2020"] {
            assert!(!is_row(names), "{names}");
        }
        let rows = ["17\tan alcohol\tCC(C)O", "a red thing with a very long tail\twarm", "x\t3.5"];
        for row in rows {
            assert!(is_row(row), "{row}");
        }
    }
}
