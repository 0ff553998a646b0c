//! Texts of a file or a stream, some at a time.

use std::io::Read;
use std::path::Path;

use super::bad_rows::{BadRows, OnBadRow};
use super::rows::{Rows, TextFormat};
use crate::Error;

/// A text of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRow {
    /// The line on which it starts, from 1.
    pub line: usize,
    /// Its id; the number of the text, from 1, where no column of ids is read.
    pub id: String,
    /// The text, not empty.
    pub text: String,
}

/// Reads texts some at a time, so that a stream of any length needs the memory of a few.
///
/// ```
/// use std::path::Path;
/// use dsokr_data::table::{TextFormat, TextReader};
///
/// let stream = "name\tdescription\na\tan alcohol\nb\tan acid\n".as_bytes();
/// let mut texts =
///     TextReader::new(Path::new("-"), stream, TextFormat::Tabs, "description", Some("name"))?;
/// let rows = texts.batch(10)?;
/// assert_eq!((&*rows[1].id, &*rows[1].text, rows[1].line), ("b", "an acid", 3));
/// assert!(texts.batch(10)?.is_empty());
/// # Ok::<(), dsokr_data::Error>(())
/// ```
pub struct TextReader<R> {
    rows: Rows<R>,
    count: usize,
    /// An error behind texts that were returned before it.
    pending: Option<Error>,
}

impl<R: Read> TextReader<R> {
    /// A reader of the column (or the key) `text`, and of ids in the column `id`. Of
    /// [`TextFormat::Lines`] a line is the text. Errors call the stream `path`.
    ///
    /// # Errors
    /// A stream that cannot be read, is empty, or has no such column; [`Error::Value`] for a column of
    /// ids of [`TextFormat::Lines`].
    pub fn new(
        path: &Path,
        stream: R,
        format: TextFormat,
        text: &str,
        id: Option<&str>,
    ) -> Result<Self, Error> {
        if let Some(id) = id.filter(|_| format == TextFormat::Lines) {
            let allowed = "absent: lines of text have no columns";
            return Err(Error::value("the column of ids", format!("{id:?}"), allowed));
        }
        let columns = std::iter::once(text).chain(id).map(str::to_owned).collect();
        let rows = Rows::new(path, stream, format, columns, OnBadRow::Stop)?;
        Ok(Self { rows, count: 0, pending: None })
    }

    /// The same reader with a different action at texts that cannot be read; at first they are errors.
    pub fn on_bad_row(mut self, on_bad_row: OnBadRow) -> Self {
        self.rows.bad = BadRows::new(on_bad_row);
        self
    }

    /// The next texts, `most` of them at the most; none at the end. There are fewer where the stream
    /// has no more ready, so that nobody waits for texts that come later.
    ///
    /// # Errors
    /// A line that is not UTF-8, does not have the columns, or whose text is empty, unless such lines are
    /// skipped; the texts before it are returned first.
    pub fn batch(&mut self, most: usize) -> Result<Vec<TextRow>, Error> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let mut rows = Vec::new();
        while rows.len() < most && (rows.is_empty() || self.rows.is_ready()) {
            match self.row() {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => {
                    if rows.is_empty() {
                        self.rows.bad.log_count(&self.rows.path, self.count);
                    }
                    break;
                }
                Err(error) => match self.rows.skip(error) {
                    Ok(()) => self.rows.bad.log_last(&self.rows.path),
                    Err(error) if rows.is_empty() => return Err(error),
                    Err(error) => {
                        self.pending = Some(error);
                        break;
                    }
                },
            }
        }
        Ok(rows)
    }

    fn row(&mut self) -> Result<Option<TextRow>, Error> {
        let Some((line, values)) = self.rows.next()? else { return Ok(None) };
        self.count += 1;
        let mut values = values.into_iter();
        let text = values.next().unwrap_or_default();
        let id = values.next().unwrap_or_else(|| self.count.to_string());
        if text.trim().is_empty() {
            return Err(Error::empty_value(&self.rows.path, line, &self.rows.columns[0]));
        }
        Ok(Some(TextRow { line, id, text }))
    }
}
