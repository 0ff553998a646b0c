//! Columns of files whose numbers 32 bits do not tell apart.

use std::path::Path;

use dsokr_core::rounding::{self, Rounding};

use crate::error::Error;

/// Refuses columns of numbers that 32 bits do not tell apart, and warns of those of which they leave next to nothing, by the rule of
/// [`rounding::check`]. `others` says that there are columns beside `columns`, and `place` where in the file a column is.
///
/// # Errors
/// An error of the file that names all such columns.
pub(crate) fn check_rounding(
    path: &Path,
    columns: &[Rounding],
    others: bool,
    place: impl Fn(usize) -> String,
) -> Result<(), Error> {
    let warnings =
        rounding::check(columns, others, place).map_err(|message| Error::file(path, message))?;
    for warning in warnings {
        tracing::warn!("{}: {warning}", path.display());
    }
    Ok(())
}

/// What rounding to 32 bits leaves of each column of a matrix.
#[derive(Debug)]
pub(crate) struct ColumnRoundings(Vec<Rounding>);

impl ColumnRoundings {
    pub(crate) fn new(width: usize) -> Self {
        Self(vec![Rounding::default(); width])
    }

    /// Adds a number of a column.
    pub(crate) fn add(&mut self, column: usize, wide: f64) {
        self.0[column].add(wide as f32, wide);
    }

    /// Refuses columns whose numbers 32 bits do not tell apart, as [`check_rounding`] does.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        check_rounding(path, &self.0, false, |column| format!("in column {column}"))
    }
}
