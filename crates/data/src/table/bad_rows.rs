//! Rows that cannot be read.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::path::Path;
use std::str::FromStr;

use dsokr_core::Error::File;
use dsokr_core::parse_name;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Table;
use crate::error::Error;
use crate::root::DataRoot;

/// Whether a row that cannot be read stops the reading or is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnBadRow {
    /// A mass spectrum is skipped, and every other row is an error.
    #[default]
    SkipSpectra,
    /// The row is an error, with file, line and reason.
    Stop,
    /// The row is left out. The log lists the first ones, and `metrics.json` has their number. This works for the
    /// sources `tables` and `pool`, and for .arff files, in which a missing value (`?`) makes a row bad.
    Skip,
}

impl FromStr for OnBadRow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_name(text)
    }
}

/// Skipped rows of a file that the log lists; the others are counted.
const LISTED: usize = 20;

/// The policy for rows that cannot be read, and the rows that were skipped.
#[derive(Clone, Debug, Default)]
pub(crate) struct BadRows {
    on_bad_row: OnBadRow,
    /// Whether rows are mass spectra.
    pub(super) holds_spectra: bool,
    /// The reasons, by the line on which each row starts, from 1, and the number of rows before it.
    skipped: BTreeMap<(usize, usize), String>,
}

impl BadRows {
    pub(crate) fn new(on_bad_row: OnBadRow, holds_spectra: bool) -> Self {
        Self { on_bad_row, holds_spectra, skipped: BTreeMap::new() }
    }

    /// Returns whether rows that cannot be read are skipped.
    fn skips(&self) -> bool {
        match self.on_bad_row {
            OnBadRow::Stop => false,
            OnBadRow::Skip => true,
            OnBadRow::SkipSpectra => self.holds_spectra,
        }
    }

    /// Keeps an error about a line if such rows are skipped.
    ///
    /// # Errors
    /// Every other error.
    pub(crate) fn take(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Core(File { line: Some(line), message, .. }) if self.skips() => {
                self.skipped.insert((line, self.skipped.len()), message);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Returns whether a row was skipped.
    pub(super) fn has_skipped(&self) -> bool {
        !self.skipped.is_empty()
    }

    /// Returns the error about the first row that was skipped, of a file without others.
    pub(super) fn first(&self, path: &Path) -> Option<Error> {
        let ((line, _), message) = self.skipped.first_key_value()?;
        Some(Error::line(path, *line, format!("{message}; no row of the file can be used")))
    }

    /// Lists the first skipped rows in the log, counts them, and returns their number. They are a warning unless at most `expected`
    /// rows are skipped.
    pub(super) fn log_all(&self, path: &Path, others: usize, expected: usize) -> usize {
        let is_expected = self.skipped.len() <= expected;
        for row in self.skipped.iter().take(LISTED) {
            log_row(path, row, is_expected);
        }
        self.log_count(path, others, expected);
        self.skipped.len()
    }

    /// Logs the row that was skipped last, one of the first.
    pub(super) fn log_last(&self, path: &Path) {
        let last = self.skipped.last_key_value().filter(|_| self.skipped.len() <= LISTED);
        if let Some(row) = last {
            log_row(path, row, false);
        }
    }

    /// Logs the number of skipped rows, if there are any, and the number of other ones.
    pub(super) fn log_count(&self, path: &Path, others: usize, expected: usize) {
        let count = self.skipped.len();
        if count > 0 {
            let first = if count > LISTED { "; the first ones are listed" } else { "" };
            let path = path.display();
            let all = count + others;
            log(
                count <= expected,
                format_args!("{path}: {count} of {all} rows are skipped{first}"),
            );
        }
    }
}

/// Logs one skipped row, with its line and what is wrong with it.
fn log_row(path: &Path, ((line, _), message): (&(usize, usize), &String), is_expected: bool) {
    log(is_expected, format_args!("{}:{line}: {message}; the row is skipped", path.display()));
}

/// Logs what is known as information, and everything else as a warning.
fn log(is_expected: bool, line: Arguments) {
    if is_expected {
        tracing::info!("{line}");
    } else {
        tracing::warn!("{line}");
    }
}

impl OnBadRow {
    /// Returns an error about a row that a matrix follows, which says so where others are skipped.
    pub(crate) fn refusal(self, error: Error) -> Error {
        match (self, error) {
            (Self::Skip, Error::Core(File { path, line: Some(line), message })) => {
                let message = format!("{message}; rows that a matrix follows are never skipped");
                Error::line(&path, line, message)
            }
            (Self::Skip | Self::Stop | Self::SkipSpectra, error) => error,
        }
    }
}

impl Table {
    /// Returns whether rows that cannot be read are skipped.
    pub(crate) fn skips_rows(&self) -> bool {
        self.bad.skips()
    }

    /// Returns the number of rows that were skipped.
    pub fn skipped(&self) -> usize {
        self.bad.skipped.len()
    }

    /// Returns the line on which the first skipped row starts, from 1, and what is wrong with it.
    pub fn first_skipped(&self) -> Option<(usize, &str)> {
        let first = self.bad.skipped.first_key_value();
        first.map(|(&(line, _), message)| (line, message.as_str()))
    }

    /// Returns the table without the rows that `errors` are about.
    ///
    /// # Errors
    /// The first error, unless bad rows are skipped; a table without a row left.
    pub(crate) fn without(mut self, errors: Vec<(usize, Error)>) -> Result<Self, Error> {
        if errors.is_empty() {
            return Ok(self);
        }
        let mut good = vec![true; self.len()];
        for (row, error) in errors {
            // a row with two errors is listed with the first
            if std::mem::take(&mut good[row]) {
                self.bad.take(error)?;
            }
        }
        let rows: Vec<usize> = (0..good.len()).filter(|&row| good[row]).collect();
        let left = self.into_rows(&rows);
        left.first_bad_if_empty()?;
        Ok(left)
    }

    /// Returns the table [without](Self::without) these rows where bad rows are skipped.
    pub(crate) fn skipping(self, errors: Vec<(usize, Error)>) -> Result<Self, Error> {
        Self { bad: BadRows::new(OnBadRow::Skip, false), ..self }.without(errors)
    }

    /// Refuses a table whose rows were all skipped, with what is wrong with the first.
    pub(super) fn first_bad_if_empty(&self) -> Result<(), Error> {
        match self.bad.first(&self.path) {
            Some(error) if self.is_empty() => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    /// Lists the first skipped rows in the log, and counts them: as a warning, unless at most `expected` rows are skipped.
    pub(crate) fn log_skipped(&self, expected: usize) {
        self.bad.log_all(&self.path, self.len(), expected);
    }
}

/// Returns the number of skipped rows of each table that has some, by its path under the data root.
pub(crate) fn skipped_rows<'t>(
    tables: impl IntoIterator<Item = &'t Table>,
    root: &DataRoot,
) -> BTreeMap<String, usize> {
    let skipped = tables.into_iter().filter(|table| table.skipped() > 0).map(|table| {
        let below = root.folder().and_then(|folder| table.path().strip_prefix(folder).ok());
        (below.unwrap_or(table.path()).display().to_string(), table.skipped())
    });
    skipped.collect()
}
