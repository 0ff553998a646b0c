//! The rows that the inputs of pairs have in a table of their own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::table::{Table, unique_ids};

/// The ids by which the pairs of a file name their inputs.
#[derive(Clone, Copy)]
pub(super) struct InputIds<'a> {
    pub ids: &'a [String],
    /// The file, and the line of each id in it.
    pub path: &'a Path,
    pub lines: &'a [usize],
}

/// The row of each id in a table that feature files follow.
pub(super) struct RowIndex {
    pub path: PathBuf,
    rows: HashMap<String, usize>,
}

impl RowIndex {
    /// Reads the table, whose ids may not repeat.
    pub(super) fn read(path: PathBuf, id: &str) -> Result<(Self, Table), Error> {
        let table = Table::read(&path, &[id])?;
        let rows = unique_ids(&table, id)?;
        let rows = rows.into_iter().map(|(id, row)| (id.to_owned(), row)).collect();
        Ok((Self { path, rows }, table))
    }

    pub(super) fn of(&self, InputIds { ids, path, lines }: InputIds) -> Result<Vec<usize>, Error> {
        let place = |(id, &line): (&String, &usize)| {
            self.rows.get(id).copied().ok_or_else(|| {
                let table = self.path.display();
                let message = format!("id {id:?} is not among the rows of {table}");
                Error::line(path, line, message)
            })
        };
        ids.iter().zip(lines).map(place).collect()
    }
}
