//! Whether a table begins with the names of its columns, and which further lines are no rows.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use dsokr_data::cells;
use dsokr_data::table::{OnBadRow, Table, TableOptions};
use dsokr_molecule::Molecule;

use super::guess::names::{
    CLASS_NAMES, has_word_of_texts, is_name_of_any_texts, names_ids, names_numbers, words_of,
};
use super::guess::{guessed, most, recur_as_classes};
use super::kind::{ColumnKind, Reading};
use crate::error::Error;

/// The fewest words, and characters, of a sentence, which is no name.
const WORDS_OF_A_SENTENCE: usize = 5;
const CHARACTERS_OF_A_SENTENCE: usize = 30;

/// Returns whether the first line of a table is a row: one of its cells is a SMILES, looks like one of a row, as those below it do,
/// or recurs below it as classes do, and no other is unlike those below it.
///
/// # Errors
/// What reading the table reports.
pub(super) fn is_missing(path: &Path, first: &[String]) -> Result<bool, Error> {
    if is_row(first) {
        let has_structure = first.iter().any(|cell| is_structure(cell.trim()));
        return Ok(has_structure || is_like_rows(path)?);
    }
    // most tables are known by a name, without a look at their rows
    let is_none_of_a_row = |cell: &String| cell.trim().is_empty() || is_usual_name(cell.trim());
    if first.iter().any(is_none_of_a_row) {
        return Ok(false);
    }
    recurs_below(path)
}

/// Returns whether a text is a usual name of a column. Classes such as `valid` and `acid` end as names of ids do.
fn is_usual_name(text: &str) -> bool {
    let is_of_class = CLASS_NAMES.contains(&text.to_lowercase().as_str());
    names_ids(text) || names_numbers(text) || is_name_of_any_texts(text) || is_of_class
}

/// The share of cells below a cell of the first line in which it must recur, as a divisor.
const RECURRING: usize = 20;

/// The fewest words that a cell of the first line has which blanks tell from the name of a column.
const WORDS_OF_A_CELL: usize = 3;

/// Returns whether a cell of the first line is in several cells below it, in rows that do not have all of the first line again, and
/// no cell is unlike those below it: in what their column holds, or in blanks, digits, capitals and small letters. Each other cell
/// must have what names of columns have not, since the name of a class often stands above it, as in `domain,dga`.
fn recurs_below(path: &Path) -> Result<bool, Error> {
    let (names, table) = without_names(path)?;
    let columns: Vec<&[String]> =
        names.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?;
    // files that are put behind one another repeat the names
    let is_other = |row: &usize| columns.iter().any(|column| column[*row] != column[0]);
    let others: Vec<usize> = (0..table.len()).filter(is_other).collect();
    let mut recurs = false;
    for (position, (name, column)) in names.iter().zip(&columns).enumerate() {
        let Some(first) = column.first().map(|cell| cell.trim()) else { continue };
        let cells = others.iter().map(|&row| column[row].trim()).filter(|cell| !cell.is_empty());
        let cells: Vec<&str> = cells.collect();
        let kind = guessed(position, name, &cells);
        let is_none = is_strict(&kind) && kind.read(first) == Reading::Invalid;
        if is_none || is_written_otherwise(first, &cells) {
            return Ok(false);
        }
        let count = cells.iter().filter(|&&cell| cell == first).count();
        let is_frequent = count > 1 && RECURRING * count >= cells.len();
        if !is_frequent && !is_no_name(first, &cells) {
            return Ok(false);
        }
        // `x` and `y` are names above letters too
        let is_word = first.chars().filter(|c| c.is_alphabetic()).count() > 1;
        recurs |= is_word && is_frequent;
    }
    Ok(recurs)
}

/// Returns whether a text has what most of the cells have, and names of columns have not: digits, a sign such as the point of a
/// domain, or several words, half as many as these, of which none is one of names such as `text of review`.
fn is_no_name(text: &str, cells: &[&str]) -> bool {
    let is_sign = |c: &char| !c.is_alphanumeric() && !c.is_whitespace() && !['_', '-'].contains(c);
    let is_shared = |sign: char| most(cells, |cell| cell.contains(sign));
    let have_digits = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let words = |text: &str| text.split_whitespace().count();
    let are_longer = || most(cells, |cell| words(cell) > 2 * words(text));
    let names_texts = has_word_of_texts(text) || words_of(text).iter().any(|word| word == "name");
    let has_words = !names_texts && words(text) >= WORDS_OF_A_CELL && !are_longer();
    has_words
        || (have_digits(text) && most(cells, have_digits))
        || text.chars().filter(is_sign).any(is_shared)
}

/// Returns whether a text has blanks, digits, capitals or small letters that most cells have not, or has none where most
/// have some.
fn is_written_otherwise(text: &str, cells: &[&str]) -> bool {
    let kinds: [fn(char) -> bool; 4] =
        [char::is_whitespace, |c: char| c.is_ascii_digit(), char::is_uppercase, char::is_lowercase];
    kinds.into_iter().any(|is_of_kind| {
        most(cells, |cell| cell.contains(is_of_kind) != text.contains(is_of_kind))
    })
}

/// Returns a table whose first line is read as a row, and the names of its columns.
fn without_names(path: &Path) -> Result<(Vec<String>, Table), Error> {
    let options =
        TableOptions { headless: true, on_bad_row: OnBadRow::Skip, ..TableOptions::default() };
    let names = Table::header(path, options)?.names;
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = Table::read_with(path, &columns, options)?;
    Ok((names, table))
}

/// What begins a cell by which Qualtrics names a column again.
const IMPORT_ID: &str = "{\"ImportId\"";

/// What begins the lines of PubChem BioAssay that say what columns are, and the first of these lines.
const RESULT: &str = "RESULT_";
const RESULT_TYPE: &str = "RESULT_TYPE";

/// Words for the types of columns.
const TYPES: [&str; 20] = [
    "string",
    "str",
    "text",
    "varchar",
    "category",
    "categorical",
    "nominal",
    "factor",
    "discrete",
    "continuous",
    "numeric",
    "number",
    "float",
    "float64",
    "double",
    "int",
    "int64",
    "integer",
    "boolean",
    "datetime",
];

/// Words by which Orange says what a column is for.
const PURPOSES: [&str; 4] = ["class", "meta", "ignore", "weight"];

/// A line below that of the names which is read as a row, and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderLine {
    /// Its place in the file, from 1.
    pub line: usize,
    /// What it says of the columns.
    pub content: HeaderContent,
}

/// What a line says of the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderContent {
    /// Their names again, as the third line of Qualtrics does.
    Names,
    /// Their types.
    Types,
    /// Their types, and the next line what they are for, as the second line of Orange does.
    TypesAndPurposes,
    /// Their types, and the next lines descriptions and units, as the second line of PubChem BioAssay does.
    TypesAndUnits,
}

impl fmt::Display for HeaderLine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let line = self.line;
        match self.content {
            HeaderContent::Names => write!(
                f,
                "line {line} names the columns again, as surveys of Qualtrics do: remove it, and the questions in the line \
                 before it"
            ),
            HeaderContent::Types => write!(
                f,
                "line {line} has the types of the columns, and is read as a row: remove it"
            ),
            HeaderContent::TypesAndPurposes => write!(
                f,
                "line {line} has the types of the columns, and the next one what they are for, as files of Orange do; both are \
                 read as rows: remove them"
            ),
            HeaderContent::TypesAndUnits => write!(
                f,
                "line {line} has the types of the columns, and the next ones that begin with {RESULT} their descriptions and units, \
                 as tables of PubChem BioAssay do; all are read as rows: remove them"
            ),
        }
    }
}

/// Returns the line of a table that is a further one of its header; none of other tables.
///
/// # Errors
/// Columns that the table was not read with.
pub(super) fn further_line(table: &Table, names: &[&str]) -> Result<Option<HeaderLine>, Error> {
    let mut rows = [Vec::new(), Vec::new()];
    for name in names {
        for (row, cell) in rows.iter_mut().zip(table.column(name)?) {
            row.push(cell.trim());
        }
    }
    let content =
        |row: usize, content: HeaderContent| Some(HeaderLine { line: table.line(row), content });
    let names_again = |row: &Vec<&str>| row.iter().any(|cell| cell.starts_with(IMPORT_ID));
    if let Some(row) = rows.iter().position(names_again) {
        return Ok(content(row, HeaderContent::Names));
    }
    let [first, second] = &rows;
    let is_one_of = |words: &[&str], cell: &str| words.contains(&cell.to_lowercase().as_str());
    let are_all_of = |words: &[&str], cells: &[&str], least: usize| {
        let mut filled = cells.iter().filter(|cell| !cell.is_empty());
        filled.clone().count() >= least && filled.all(|cell| is_one_of(words, cell))
    };
    // Orange writes the values of classes in the place of a type
    let has_type = first.iter().any(|cell| is_one_of(&TYPES, cell));
    if has_type && are_all_of(&PURPOSES, second, 1) {
        return Ok(content(0, HeaderContent::TypesAndPurposes));
    }
    if first.first() == Some(&RESULT_TYPE) {
        return Ok(content(0, HeaderContent::TypesAndUnits));
    }
    let are_types = are_all_of(&TYPES, first, 2);
    Ok(if are_types { content(0, HeaderContent::Types) } else { None })
}

/// Returns whether no cell of the first line is unlike the cells below it, as the name of a column of numbers is, and one is no
/// name: it occurs below, or it looks like that of a row and is neither a question above answers nor a sentence above a few
/// values that recur.
fn is_like_rows(path: &Path) -> Result<bool, Error> {
    let (names, table) = without_names(path)?;
    let mut has_cell_of_row = false;
    let mut recurs = false;
    for (position, name) in names.iter().enumerate() {
        let Some((first, rest)) = table.column(name)?.split_first() else { continue };
        let filled = rest.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
        let filled: Vec<&str> = filled.collect();
        let kind = guessed(position, name, &filled);
        if is_strict(&kind) && !cells::is_missing(first) && kind.read(first) == Reading::Invalid {
            return Ok(false);
        }
        has_cell_of_row |= is_cell_of_row(first.trim()) && !is_name_of(first.trim(), &filled);
        // cells below are not empty
        recurs |= filled.contains(&first.trim());
    }
    Ok(has_cell_of_row || recurs)
}

/// Returns whether a sentence is the name of the column of these cells: a question, where they are none, or a text that none of
/// them is, where they are few that recur.
fn is_name_of(sentence: &str, cells: &[&str]) -> bool {
    if !is_sentence(sentence) {
        return false;
    }
    let is_question = |cell: &str| cell.ends_with('?');
    let distinct: HashSet<&str> = cells.iter().copied().collect();
    let recur = recur_as_classes(distinct.len(), cells.len());
    (is_question(sentence) && !most(cells, is_question)) || (recur && !distinct.contains(sentence))
}

/// Returns whether the name of a column is none of what the column holds.
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

/// Returns whether a cell of the first line looks like one of a row.
fn is_row(first: &[String]) -> bool {
    first.iter().any(|cell| is_cell_of_row(cell.trim()))
}

/// Returns whether a cell looks like one of a row: a sentence, a SMILES or a number with decimals.
fn is_cell_of_row(cell: &str) -> bool {
    let is_fraction = cell.contains('.') && cell.parse::<f64>().is_ok();
    is_sentence(cell) || is_fraction || is_structure(cell)
}

/// Returns whether a cell has as many words and characters as a sentence.
fn is_sentence(cell: &str) -> bool {
    cell.split_whitespace().count() >= WORDS_OF_A_SENTENCE && cell.len() >= CHARACTERS_OF_A_SENTENCE
}

/// Returns whether a cell is a molecule that no name of a column is.
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
