//! The rows that the inputs of pairs have in a table of their own.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::Error;
use crate::table::{OnBadRow, Table, unique_ids};

/// The row of each id in a table that feature files follow.
pub(super) struct RowIndex {
    path: PathBuf,
    rows: HashMap<String, usize>,
}

impl RowIndex {
    /// Reads the table, whose ids may not repeat, and of which no row is skipped.
    pub(super) fn read(
        path: PathBuf,
        id: &str,
        on_bad_row: OnBadRow,
    ) -> Result<(Self, Table), Error> {
        let table = Table::read(&path, &[id]).map_err(|error| on_bad_row.refusal(error))?;
        let rows = unique_ids(&table, id)?;
        let rows = rows.into_iter().map(|(id, row)| (id.to_owned(), row)).collect();
        Ok((Self { path, rows }, table))
    }

    /// The row of each id of another table's column.
    pub(super) fn of(&self, table: &Table, column: &str) -> Result<Vec<usize>, Error> {
        let row = |(row, id): (usize, &String)| {
            self.rows.get(id).copied().ok_or_else(|| {
                let message = format!("id {id:?} is not among the rows of {}", self.path.display());
                table.error(row, message)
            })
        };
        table.column(column)?.iter().enumerate().map(row).collect()
    }
}
