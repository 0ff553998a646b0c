//! The columns of a table: what they hold, with exceptions.

use std::borrow::Cow;
use std::collections::HashSet;

use dsokr_core::Argument;
use dsokr_data::cells;
use dsokr_data::table::Table;
use rayon::prelude::*;

use super::column_cells::{Cells, Exceptions};
use super::guess::most;
use super::guess::names::names_years;
use super::guess::numbers::are_times;
use super::kind::{ColumnKind, KindName, Lists, Reading, is_year};
use super::remarks::{ClassRemarks, ListRemarks, NumberRemarks, WordRemarks};
use crate::error::Error;

/// What a column says of the numbers of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qualifier {
    /// The name of the column of numbers.
    pub of: String,
    /// Whether its cells are signs of bounds, and not units.
    pub are_signs: bool,
    /// Its different cells, with the number of rows of each that have a number, the most frequent one first.
    pub counts: Vec<(String, usize)>,
}

/// The most characters of an example that is shown as the text of a search.
pub const LONGEST_EXAMPLE: usize = 80;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub kind: ColumnKind,
    /// Number of cells that are not empty.
    pub filled: usize,
    /// Number of different cells that are not empty.
    pub distinct: usize,
    /// Number of empty cells.
    pub empty: usize,
    /// The first cell that is not empty.
    pub example: String,
    /// What the kind makes of the cells.
    pub readings: Readings,
    /// What is to be said of the cells as numbers.
    pub numbers: NumberRemarks,
    /// What is to be said of the cells as classes or labels.
    pub classes: ClassRemarks,
    /// What is to be said of the cells as lists.
    pub lists: ListRemarks,
    /// What is to be said of the words of the cells.
    pub words: WordRemarks,
    /// Whether cells are points in time, as numbers or in a notation that looks like labels.
    pub(super) are_times: bool,
    /// Whether the column has the name and the cells of one with years.
    pub(super) are_years: bool,
    /// What the column says of the numbers of another one: their units, or the signs of bounds.
    pub qualifies: Option<Qualifier>,
}

impl Column {
    /// Looks at the cells of the column at a position, from 0, whose kind may be stated, and whose values may be lists.
    ///
    /// # Errors
    /// A column that the table was not read with; a stated kind that no cell is of; label sets whose lists are in a notation that
    /// is not read.
    pub fn read(
        table: &Table,
        position: usize,
        name: &str,
        kind: Option<KindName>,
        lists: Option<Lists>,
    ) -> Result<Self, Error> {
        Self::of(Cells::read(table, position, name, kind, lists)?)
    }

    /// Looks at the cells of the column at a position, from 0, whose kind is known.
    ///
    /// # Errors
    /// A column that the table was not read with; no cell of the kind.
    pub(super) fn read_as(
        table: &Table,
        position: usize,
        name: &str,
        kind: ColumnKind,
    ) -> Result<Self, Error> {
        Self::of(Cells::of_kind(table, position, name, kind)?)
    }

    /// Looks at cells.
    ///
    /// # Errors
    /// A kind that no cell is of.
    fn of(cells: Cells) -> Result<Self, Error> {
        let readings = Readings::of(&cells)?;
        let distinct: HashSet<&str> = cells.texts.iter().copied().collect();
        let written: Vec<Cow<str>> =
            cells.texts.iter().map(|cell| cells::with_ascii_digits(cell)).collect();
        let written: Vec<&str> = written.iter().map(Cow::as_ref).collect();
        Ok(Self {
            name: cells.name.to_owned(),
            filled: cells.texts.len(),
            distinct: distinct.len(),
            empty: cells.empty.len(),
            example: cells.texts.first().copied().unwrap_or_default().to_owned(),
            readings,
            numbers: NumberRemarks::of(&cells, &written),
            classes: ClassRemarks::of(&cells, &written),
            lists: ListRemarks::of(&cells),
            words: WordRemarks::of(&cells),
            are_times: are_times(&cells.kind, cells.name, &written),
            are_years: names_years(cells.name) && most(&written, is_year),
            // found later, among all columns
            qualifies: None,
            kind: cells.kind,
        })
    }

    /// Returns the number of rows that cannot be learned from where the column is the output.
    pub fn unusable(&self) -> usize {
        self.unusable_rows().len()
    }

    /// Returns the rows that cannot be learned from where the column is the input. Any cell is a text, but for the marks of
    /// missing values.
    pub(super) fn unusable_inputs(&self) -> &[usize] {
        match self.kind {
            ColumnKind::Smiles
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Texts => &self.readings.bad_rows,
            ColumnKind::Inchi
            | ColumnKind::Dates
            | ColumnKind::Classes(_)
            | ColumnKind::Rankings(_)
            | ColumnKind::Orders(_)
            | ColumnKind::Labels(_)
            | ColumnKind::Ids
            | ColumnKind::Nothing => &[],
        }
    }

    /// Returns the rows that cannot be learned from where the column is the output.
    pub(super) fn unusable_rows(&self) -> &[usize] {
        match self.kind {
            ColumnKind::Smiles
            | ColumnKind::Inchi
            | ColumnKind::Numbers(_)
            | ColumnKind::Vectors(_)
            | ColumnKind::Dates
            | ColumnKind::Classes(_)
            | ColumnKind::Rankings(_)
            | ColumnKind::Orders(_) => self.readings.bad_rows.as_slice(),
            ColumnKind::Labels(_) | ColumnKind::Texts | ColumnKind::Ids | ColumnKind::Nothing => {
                &[]
            }
        }
    }
}

/// What the kind of a column makes of its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readings {
    /// Cells that are neither empty nor what the column holds.
    pub invalid: Exceptions,
    /// Cells a part of which is what the column holds: SMILES with names or extensions behind.
    pub repaired: Exceptions,
    /// The first cell that is what the column holds and has at most [`LONGEST_EXAMPLE`] characters.
    pub short_example: Option<String>,
    /// The rows whose cells are empty, unless they are texts, and those whose cells are not what the column holds.
    bad_rows: Vec<usize>,
}

impl Readings {
    /// Reads all cells.
    ///
    /// # Errors
    /// A kind that no cell is of.
    fn of(cells: &Cells) -> Result<Self, Error> {
        let Cells { table, name, filled, texts, kind, .. } = cells;
        let has_signs = cells.are_classes() && cells::are_signs(texts.iter().copied());
        let reading = |cell: &&str| {
            if has_signs && cells::is_minus(cell) { Reading::Valid } else { kind.read(cell) }
        };
        let readings: Vec<Reading> = texts.par_iter().map(reading).collect();

        let mut invalid = Exceptions::default();
        let mut repaired = Exceptions::default();
        // an empty text is a text
        let mut bad_rows = if cells.are_texts() { Vec::new() } else { cells.empty.clone() };
        for (&(row, cell), reading) in filled.iter().zip(&readings) {
            match reading {
                Reading::Valid => {}
                Reading::Repaired => repaired.add(table.line(row), cell),
                Reading::Invalid => {
                    invalid.add(table.line(row), cell);
                    bad_rows.push(row);
                }
            }
        }
        if invalid.count == filled.len() && !filled.is_empty() {
            let given = format!("{name}={kind}");
            let example = if matches!(kind, ColumnKind::Rankings(_)) {
                ", such as \"2 1 3\", the ranks of the items, or \"tea>milk>water\""
            } else {
                ""
            };
            let allowed = format!("a kind that its cells are of: none is {}{example}", kind.one());
            return Err(Error::value(Argument::new("as"), given, allowed));
        }

        let is_short = |cell: &str| cell.chars().nth(LONGEST_EXAMPLE).is_none();
        let mut read = texts.iter().zip(&readings);
        let short = read.find(|&(&cell, &reading)| reading == Reading::Valid && is_short(cell));
        let short_example = short.map(|(&cell, _)| cell.to_owned());
        Ok(Self { invalid, repaired, short_example, bad_rows })
    }
}
