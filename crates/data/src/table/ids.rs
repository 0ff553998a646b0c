//! Ids of rows: each once, and none empty.

use std::collections::HashMap;
use std::path::Path;

use dsokr_core::message::shorten;

use super::Table;
use crate::error::Error;

/// Returns the row of each id of a column.
///
/// # Errors
/// An id that is empty or white space; one that occurs twice, with both lines; a column that was
/// not read.
pub fn unique_ids<'t>(table: &'t Table, column: &str) -> Result<HashMap<&'t str, usize>, Error> {
    let (rows, bad) = index_ids(&table.path, column, table.column(column)?, &table.lines);
    bad.into_iter().next().map_or(Ok(rows), |(_, error)| Err(error))
}

/// Returns the rows whose ids are empty or occur before, with what is wrong with them.
pub(crate) fn bad_ids(table: &Table, column: &str) -> Result<Vec<(usize, Error)>, Error> {
    Ok(index_ids(&table.path, column, table.column(column)?, &table.lines).1)
}

/// Returns the row of each id, of ids with their lines; and the rows whose ids are empty or occur before.
pub(crate) fn index_ids<'t>(
    path: &Path,
    column: &str,
    ids: &'t [String],
    lines: &[usize],
) -> (HashMap<&'t str, usize>, Vec<(usize, Error)>) {
    let mut rows = HashMap::with_capacity(ids.len());
    let mut bad = Vec::new();
    for ((row, id), &line) in ids.iter().enumerate().zip(lines) {
        if id.trim().is_empty() {
            bad.push((row, Error::empty_value(path, line, column)));
            continue;
        }
        let first = *rows.entry(id.as_str()).or_insert(row);
        if first != row {
            let id = shorten(id);
            let first = lines[first];
            let message = format!(
                "id {id:?} in column {column:?} is already on line {first}; ids must be unique"
            );
            bad.push((row, Error::line(path, line, message)));
        }
    }
    (rows, bad)
}

/// Returns the id of a row that has none in its file, where the file is not the one of the training pairs.
pub(crate) fn row_id(path: &Path, row: impl std::fmt::Display) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{file} row {row}")
}
