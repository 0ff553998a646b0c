//! The cells of a column, with the kind that is stated or found.

use dsokr_core::Argument;
use dsokr_data::table::Table;

use super::guess::labels::unread_list;
use super::guess::{guessed, guessed_of_lists, stated};
use super::kind::{ColumnKind, KindName, Lists, Reading};
use crate::error::Error;

/// Cells of a column that are different from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// Their number.
    pub count: usize,
    /// The line of the first one, from 1, and the cell.
    pub first: Option<(usize, String)>,
}

impl Exceptions {
    pub(super) fn add(&mut self, line: usize, cell: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (line, cell.to_owned()));
    }
}

/// The cells of a column whose kind is known.
pub(super) struct Cells<'a> {
    pub table: &'a Table,
    /// The place of the column among those of the table, from 0.
    pub position: usize,
    /// The name of the column.
    pub name: &'a str,
    /// The cells that are not empty, with their rows.
    pub filled: Vec<(usize, &'a str)>,
    /// The cells that are not empty.
    pub texts: Vec<&'a str>,
    /// The rows of the empty cells.
    pub empty: Vec<usize>,
    pub kind: ColumnKind,
    /// Whether nobody has stated the kind.
    pub is_guessed: bool,
}

impl<'a> Cells<'a> {
    /// Divides the cells of a column into empty ones and others, of which it finds the kind that nobody has stated.
    ///
    /// # Errors
    /// A column that the table was not read with; label sets whose lists are in a notation that is not read.
    pub fn read(
        table: &'a Table,
        position: usize,
        name: &'a str,
        kind: Option<KindName>,
        lists: Option<Lists>,
    ) -> Result<Self, Error> {
        let mut cells = Self::of_kind(table, position, name, ColumnKind::Nothing)?;
        cells.is_guessed = kind.is_none();
        cells.kind = match kind {
            Some(kind) => stated_kind(kind, name, lists, &cells.texts)?,
            None => guessed_kind(position, name, lists, &cells.texts),
        };
        Ok(cells)
    }

    /// Divides the cells of a column of this kind into empty ones and others.
    ///
    /// # Errors
    /// A column that the table was not read with.
    pub fn of_kind(
        table: &'a Table,
        position: usize,
        name: &'a str,
        kind: ColumnKind,
    ) -> Result<Self, Error> {
        let rows = table.column(name)?.iter().map(|cell| cell.trim()).enumerate();
        let (filled, empty): (Vec<_>, Vec<_>) = rows.partition(|(_, cell)| !cell.is_empty());
        let texts: Vec<&str> = filled.iter().map(|&(_, cell)| cell).collect();
        let empty = empty.into_iter().map(|(row, _)| row).collect();
        Ok(Self { table, position, name, filled, texts, empty, kind, is_guessed: false })
    }

    /// Returns whether the cells are read as texts.
    pub fn are_texts(&self) -> bool {
        self.kind == ColumnKind::Texts
    }

    /// Returns whether the cells are read as classes.
    pub fn are_classes(&self) -> bool {
        matches!(self.kind, ColumnKind::Classes(_))
    }

    /// Returns the cells for which something holds.
    pub fn exceptions(&self, holds: impl Fn(&str) -> bool) -> Exceptions {
        let mut found = Exceptions::default();
        for &(row, cell) in self.filled.iter().filter(|(_, cell)| holds(cell)) {
            found.add(self.table.line(row), cell);
        }
        found
    }
}

/// Returns the kind that a caller states, of a column whose values may be lists.
fn stated_kind(
    kind: KindName,
    name: &str,
    lists: Option<Lists>,
    texts: &[&str],
) -> Result<ColumnKind, Error> {
    if kind != KindName::Labels {
        return Ok(stated(kind, texts));
    }
    if lists == Some(Lists::Texts) {
        return Ok(ColumnKind::Labels(';'));
    }
    if let Some(cell) = unread_list(texts) {
        let allowed = format!(
            "labels with a sign between, as in a;b, or lists such as [\"a\", \"b\"]: cells such as {cell:?} are in a \
             notation that is not read"
        );
        return Err(Error::value(Argument::new("as"), format!("{name}=labels"), allowed));
    }
    Ok(stated(kind, texts))
}

/// Returns the kind of a column that nobody has stated, whose values may be lists.
fn guessed_kind(position: usize, name: &str, lists: Option<Lists>, texts: &[&str]) -> ColumnKind {
    let mut kind = guessed(position, name, texts);
    if let Some(lists) = lists {
        kind = guessed_of_lists(lists, kind, name, texts);
    }
    // bounds alone are no numbers
    let is_none = texts.iter().all(|cell| kind.read(cell) == Reading::Invalid);
    if is_none { ColumnKind::Texts } else { kind }
}
