//! Texts of a stream, some at a time.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use dsokr_core::message::shorten;

use super::TableOptions;
use super::bad_rows::OnBadRow;
use super::formats::TextFormat;
use super::rows::{RowOptions, Rows};
use crate::error::Error;

/// A text of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRow {
    /// The line on which it starts, from 1.
    pub line: usize,
    /// The id of the text; its number among all rows, from 1, where no column of ids is read, or
    /// [`with_ids_if_named`](TextReader::with_ids_if_named) reads an empty one or one that a row before has.
    pub id: String,
    /// The text, not empty.
    pub text: String,
}

/// Says in words what is wrong with a text.
type TextCheck = Box<dyn Fn(&str) -> Result<(), String>>;

/// Reads texts some at a time, so that a stream of any length needs the memory of a few.
///
/// ```
/// use std::path::Path;
/// use dsokr_data::table::{OnBadRow, TextFormat, TextReader};
///
/// let stream = "name\tdescription\na\tan alcohol\nb\tan acid\n".as_bytes();
/// let name = Path::new("-");
/// let (column, id) = ("description", Some("name"));
/// let mut texts =
///     TextReader::new(name, stream, TextFormat::Tabs, column, id, OnBadRow::Stop)?;
/// let rows = texts.batch(10)?;
/// assert_eq!((&*rows[1].id, &*rows[1].text, rows[1].line), ("b", "an acid", 3));
/// assert!(texts.batch(10)?.is_empty());
/// # Ok::<(), dsokr_data::Error>(())
/// ```
#[derive(derive_more::Debug)]
#[debug("TextReader({})", rows.path.display())]
pub struct TextReader<R> {
    rows: Rows<R>,
    /// Says what is wrong with a text; none where every text will do.
    check: Option<TextCheck>,
    /// The ids so far, where a text has its number in the place of an empty id or one of these; else none.
    distinct_ids: Option<HashSet<String>>,
    /// Number of rows so far, with those that could not be read.
    count: usize,
    /// Number of texts so far.
    read: usize,
    /// An error behind texts that were returned before it.
    pending: Option<Error>,
}

impl<R: Read> TextReader<R> {
    /// Creates a reader of the column (or the key) `text`, and of ids in the column `id`. In [`TextFormat::Lines`] a
    /// line is the text. Errors call the stream `path`. `on_bad_row` says what is done about texts that cannot be read, and
    /// about blank lines before the names of the columns.
    ///
    /// # Errors
    /// A stream that cannot be read, is empty, or has no such column; [`dsokr_core::Error::Value`] for a column of ids
    /// with [`TextFormat::Lines`].
    pub fn new(
        path: &Path,
        stream: R,
        format: TextFormat,
        text: &str,
        id: Option<&str>,
        on_bad_row: OnBadRow,
    ) -> Result<Self, Error> {
        if let Some(id) = id.filter(|_| format == TextFormat::Lines) {
            let allowed = "absent: lines of text have no columns";
            return Err(Error::value("the column of ids", format!("{id:?}"), allowed));
        }
        let options = TableOptions { on_bad_row, ..TableOptions::default() };
        Self::with_options(path, stream, format, [Some(text), id], options.of_rows())
    }

    /// Creates a reader like [`new`](Self::new), which reads ids in the column `id` only where the first record of fields names
    /// it once, or in the key `id` of the lines of JSON that have it. Of other tables and formats the ids are numbers, and so are
    /// those of rows whose id is empty or that of a row before, so that ids tell rows apart. It needs the memory of all ids.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new) without a column of ids.
    pub fn with_ids_if_named(
        path: &Path,
        stream: R,
        format: TextFormat,
        text: &str,
        id: &str,
        on_bad_row: OnBadRow,
    ) -> Result<Self, Error> {
        let may_have_ids = format.has_separators() || format == TextFormat::JsonLines;
        let id = Some(id).filter(|_| may_have_ids);
        let options = TableOptions { on_bad_row, ..TableOptions::default() };
        let options = RowOptions { optional_column: id, ..options.of_rows() };
        let reader = Self::with_options(path, stream, format, [Some(text), id], options)?;
        Ok(Self { distinct_ids: id.map(|_| HashSet::new()), ..reader })
    }

    fn with_options(
        path: &Path,
        stream: R,
        format: TextFormat,
        columns: [Option<&str>; 2],
        options: RowOptions,
    ) -> Result<Self, Error> {
        let columns = columns.into_iter().flatten().map(str::to_owned).collect();
        let rows = Rows::new(path, stream, format, columns, options)?;
        rows.bad.log_last(path);
        Ok(Self { rows, check: None, distinct_ids: None, count: 0, read: 0, pending: None })
    }

    /// Returns the same reader, for which a text that `check` finds wrong is one that cannot be read.
    pub fn checked_by(mut self, check: impl Fn(&str) -> Result<(), String> + 'static) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Returns the next texts, `most` of them at the most; none at the end. There are fewer where the stream
    /// has no more ready, so that nobody waits for texts that come later.
    ///
    /// # Errors
    /// A line that is not UTF-8, does not have the columns, or whose text is empty or not what it must be, unless such lines are
    /// skipped; the texts before it are returned first.
    pub fn batch(&mut self, most: usize) -> Result<Vec<TextRow>, Error> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let mut rows = Vec::new();
        while rows.len() < most && (rows.is_empty() || self.rows.lines.is_ready()) {
            match self.row() {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => {
                    if self.read == 0 && !self.may_be_empty() {
                        return Err(self.rows.no_rows());
                    }
                    if rows.is_empty() {
                        self.rows.bad.log_count(&self.rows.path, self.read, 0);
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

    /// Returns whether a stream without a text is no error: a stream of lines may end before the first, but not where all of
    /// its lines are skipped.
    fn may_be_empty(&self) -> bool {
        let is_of_spectra = self.rows.has_other_levels || self.rows.format.is_of_spectra();
        !self.rows.bad.has_skipped() && !is_of_spectra
    }

    fn row(&mut self) -> Result<Option<TextRow>, Error> {
        let read = self.rows.next();
        // blank lines are no row, and the error about them precedes the next one
        let is_row = !self.rows.lines.pending && !matches!(read, Ok(None));
        self.count += usize::from(is_row);
        let Some((line, values)) = read? else { return Ok(None) };
        let mut values = values.into_iter();
        let text = values.next().unwrap_or_default();
        let number = self.count.to_string();
        let id = match (values.next(), &self.distinct_ids) {
            (None, _) => number,
            (Some(id), None) => id,
            (Some(id), Some(ids)) => distinct_id(id, number, ids),
        };
        let path = &self.rows.path;
        if text.trim().is_empty() {
            return Err(Error::empty_value(path, line, &self.rows.columns[0]));
        }
        if let Some(check) = &self.check
            && let Err(reason) = check(&text)
        {
            let column = &self.rows.columns[0];
            let text = shorten(text.trim());
            return Err(Error::line(path, line, format!("column {column:?}: {text:?}: {reason}")));
        }
        if let Some(ids) = &mut self.distinct_ids {
            ids.insert(id.clone());
        }
        self.read += 1;
        Ok(Some(TextRow { line, id, text }))
    }
}

/// Returns the id of a row that no row before has: its own, else its number, else words with the number.
fn distinct_id(id: String, number: String, ids: &HashSet<String>) -> String {
    if !id.trim().is_empty() && !ids.contains(&id) {
        return id;
    }
    if ids.contains(&number) { format!("row {number}") } else { number }
}
