//! Whether a table begins with the names of its columns.

use std::collections::HashSet;
use std::path::Path;

use dsokr_data::cells;
use dsokr_data::table::{OnBadRow, Table, TableOptions};
use dsokr_molecule::Molecule;

use super::guess::{ROWS_OF_A_CLASS, guessed, most};
use super::kind::{ColumnKind, Reading};
use crate::error::Error;

/// The fewest words, and characters, of a sentence, which is no name.
const WORDS_OF_A_SENTENCE: usize = 5;
const CHARACTERS_OF_A_SENTENCE: usize = 30;

/// Whether the first line of a table is a row: one of its cells is a SMILES, or looks like one of a row, as those below it do, and
/// no other is unlike those below it.
///
/// # Errors
/// What reading the table reports.
pub(super) fn is_missing(path: &Path, first: &[String]) -> Result<bool, Error> {
    if !is_row(first) {
        return Ok(false);
    }
    let has_structure = first.iter().any(|cell| is_structure(cell.trim()));
    Ok(has_structure || is_like_rows(path)?)
}

/// What begins a cell by which Qualtrics names a column again.
const IMPORT_ID: &str = "{\"ImportId\"";

/// The line of a table that names its columns again, as the third one of Qualtrics does; none of other tables.
///
/// # Errors
/// Columns that the table was not read with.
pub(super) fn named_again(table: &Table, names: &[&str]) -> Result<Option<usize>, Error> {
    for name in names {
        let mut rows = table.column(name)?.iter().take(2);
        if let Some(row) = rows.position(|cell| cell.starts_with(IMPORT_ID)) {
            return Ok(Some(table.line(row)));
        }
    }
    Ok(None)
}

/// Whether no cell of the first line is unlike the cells below it, as the name of a column of numbers is, and one is no name: it
/// occurs below, or it looks like that of a row and is neither a question above answers nor a sentence above a few values that
/// recur.
fn is_like_rows(path: &Path) -> Result<bool, Error> {
    let options =
        TableOptions { headless: true, on_bad_row: OnBadRow::Skip, ..TableOptions::default() };
    let names = Table::header(path, options)?.names;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = Table::read_with(path, &names, options)?;
    let mut has_cell_of_row = false;
    let mut recurs = false;
    for (place, name) in names.iter().enumerate() {
        let Some((first, rest)) = table.column(name)?.split_first() else { continue };
        let filled = rest.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let filled: Vec<&str> = filled.collect();
        let kind = guessed(place, name, &filled);
        if is_strict(&kind) && !cells::is_missing(first) && kind.read(first) == Reading::Invalid {
            return Ok(false);
        }
        has_cell_of_row |= is_cell_of_row(first.trim()) && !is_name_of(first.trim(), &filled);
        // cells below are not empty
        recurs |= filled.contains(&first.trim());
    }
    Ok(has_cell_of_row || recurs)
}

/// Whether a sentence is the name of the column of these cells: a question, where they are none, or a text that none of them is,
/// where they are few that recur.
fn is_name_of(sentence: &str, cells: &[&str]) -> bool {
    if !is_sentence(sentence) {
        return false;
    }
    let is_question = |cell: &str| cell.ends_with('?');
    let distinct: HashSet<&str> = cells.iter().copied().collect();
    let recur = ROWS_OF_A_CLASS * distinct.len() <= cells.len();
    (is_question(sentence) && !most(cells, is_question)) || (recur && !distinct.contains(sentence))
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

/// Whether a cell of the first line looks like one of a row.
fn is_row(first: &[String]) -> bool {
    first.iter().any(|cell| is_cell_of_row(cell.trim()))
}

/// Whether a cell looks like one of a row: a sentence, a SMILES or a number with decimals.
fn is_cell_of_row(cell: &str) -> bool {
    let is_fraction = cell.contains('.') && cell.parse::<f64>().is_ok();
    is_sentence(cell) || is_fraction || is_structure(cell)
}

/// Whether a cell has as many words and characters as a sentence.
fn is_sentence(cell: &str) -> bool {
    cell.split_whitespace().count() >= WORDS_OF_A_SENTENCE && cell.len() >= CHARACTERS_OF_A_SENTENCE
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

    #[test]
    fn questions_above_answers_and_sentences_above_values_that_recur_are_names() {
        let question = "How satisfied are you with the service overall?";
        let sentence = "Please rate the service of the last month";
        let rates = ["good", "bad", "good", "good", "bad"].repeat(2);
        let texts = ["it was good", "it was bad and late", "nothing to say"];
        let names: [(&str, &[&str]); 3] =
            [(question, &rates), (question, &texts), (sentence, &rates)];
        for (name, cells) in names {
            assert!(is_name_of(name, cells), "{name}");
        }
        assert!(!is_name_of(sentence, &[sentence, "Please rate the food"].repeat(5)));
        let questions = ["What is the name of the river?", "Who was the first in space?"];
        let rows: [(&str, &[&str]); 3] =
            [(sentence, &texts), (question, &questions), ("good", &rates)];
        for (row, cells) in rows {
            assert!(!is_name_of(row, cells), "{row}");
        }
    }
}
