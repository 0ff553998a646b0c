//! Texts of a file or a stream, some at a time.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::line_ends::LineEnds;
use super::lines::Lines;
use super::{BadRows, Table, json_lines};
use crate::Error;
use crate::config::OnBadRow;
use crate::error::extension_of;

/// How a stream of texts is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// One text a line.
    Lines,
    /// Fields separated by tabs; the first line has the names of the columns.
    Tabs,
    /// Fields separated by commas, quoted as in RFC 4180; the first record has the names of the columns.
    Commas,
    /// One JSON object a line.
    JsonLines,
}

impl TextFormat {
    /// The format that the extension of a file names: that of a [`Table`], else one text a line.
    pub fn of(path: &Path) -> Self {
        match extension_of(path).as_str() {
            "tsv" => Self::Tabs,
            "csv" => Self::Commas,
            "jsonl" | "ndjson" => Self::JsonLines,
            _ => Self::Lines,
        }
    }
}

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
    path: PathBuf,
    rows: Rows<R>,
    /// The column of the texts, then that of the ids if there is one.
    columns: Vec<String>,
    count: usize,
    /// An error behind texts that were returned before it.
    pending: Option<Error>,
    bad: BadRows,
}

enum Rows<R> {
    Lines(Lines<R>),
    /// The number of fields and the positions of the columns.
    Tabs(Lines<R>, Vec<String>, Vec<usize>),
    Commas(csv::Reader<LineEnds<R>>, Vec<usize>),
    JsonLines(Lines<R>),
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
        let mut columns = vec![text.to_owned()];
        columns.extend(id.map(str::to_owned));
        let header = |line, names: &[String]| {
            let table = Table {
                path: path.into(),
                names: columns.clone(),
                columns: Vec::new(),
                lines: Vec::new(),
                bad: BadRows::default(),
            };
            table.positions(line, names)
        };
        let rows = match format {
            TextFormat::Lines => {
                if let Some(id) = id {
                    let allowed = "absent: lines of text have no columns";
                    return Err(Error::value("the column of ids", format!("{id:?}"), allowed));
                }
                Rows::Lines(Lines::new(path, stream))
            }
            TextFormat::Tabs => {
                let mut lines = Lines::new(path, stream);
                let Some((line, names)) = lines.next()? else { return Err(Error::empty(path)) };
                let names: Vec<String> = names.split('\t').map(str::to_owned).collect();
                let positions = header(line, &names)?;
                Rows::Tabs(lines, names, positions)
            }
            TextFormat::Commas => {
                let mut reader = csv::Reader::from_reader(LineEnds::new(stream));
                let names = reader.headers().map_err(|error| bad_record(path, &error))?.clone();
                let read = reader.position().byte();
                reader.get_mut().check(path, read)?;
                let strip = |(at, name): (usize, &str)| match at {
                    0 => name.trim_start_matches('\u{feff}').to_owned(),
                    _ => name.to_owned(),
                };
                let names: Vec<String> = names.iter().enumerate().map(strip).collect();
                if names.is_empty() {
                    return Err(Error::empty(path));
                }
                let positions = header(1, &names)?;
                Rows::Commas(reader, positions)
            }
            TextFormat::JsonLines => Rows::JsonLines(Lines::new(path, stream)),
        };
        let bad = BadRows::default();
        Ok(Self { path: path.into(), rows, columns, count: 0, pending: None, bad })
    }

    /// The same reader with a different action at texts that cannot be read; at first they are errors.
    pub fn on_bad_row(self, on_bad_row: OnBadRow) -> Self {
        Self { bad: BadRows::new(on_bad_row), ..self }
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
        while rows.len() < most && (rows.is_empty() || self.is_ready()) {
            match self.row() {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => {
                    if rows.is_empty() {
                        self.bad.log_count(&self.path, self.count);
                    }
                    break;
                }
                Err(error) => match self.bad.take(error) {
                    Ok(()) => self.bad.log_last(&self.path),
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

    /// Whether the next row has been read from the stream.
    fn is_ready(&self) -> bool {
        match &self.rows {
            Rows::Lines(lines) | Rows::Tabs(lines, ..) | Rows::JsonLines(lines) => lines.is_ready(),
            // the csv crate does not say what it has read
            Rows::Commas(..) => true,
        }
    }

    fn row(&mut self) -> Result<Option<TextRow>, Error> {
        let (path, columns) = (&self.path, &self.columns);
        let (line, mut values) = match &mut self.rows {
            Rows::Lines(lines) => match lines.next()? {
                Some((line, text)) => (line, vec![text.to_owned()]),
                None => return Ok(None),
            },
            Rows::Tabs(lines, names, positions) => match lines.next()? {
                Some((line, text)) => {
                    let fields: Vec<&str> = text.split('\t').collect();
                    if fields.len() != names.len() {
                        return Err(Error::ragged(path, line, fields.len(), names));
                    }
                    (line, positions.iter().map(|&at| fields[at].to_owned()).collect())
                }
                None => return Ok(None),
            },
            Rows::Commas(reader, positions) => {
                let mut record = csv::StringRecord::new();
                let more = reader.read_record(&mut record);
                let read = reader.position().byte();
                reader.get_mut().check(path, read)?;
                if !more.map_err(|e| bad_record(path, &e))? {
                    return Ok(None);
                }
                let line = record.position().map_or(0, |place| place.line() as usize);
                (line, positions.iter().map(|&at| record[at].to_owned()).collect())
            }
            Rows::JsonLines(lines) => match lines.next()? {
                Some((line, text)) => (line, json_lines::values(path, line, text, columns)?),
                None => return Ok(None),
            },
        };
        self.count += 1;
        let id = match columns.len() {
            1 => self.count.to_string(),
            _ => values.pop().unwrap_or_default(),
        };
        let text = values.pop().unwrap_or_default();
        if text.trim().is_empty() {
            return Err(Error::empty_value(path, line, &columns[0]));
        }
        Ok(Some(TextRow { line, id, text }))
    }
}

fn bad_record(path: &Path, error: &csv::Error) -> Error {
    let line = error.position().map_or(1, |place| place.line() as usize);
    match error.kind() {
        csv::ErrorKind::Io(source) => {
            Error::io(path, std::io::Error::new(source.kind(), source.to_string()))
        }
        csv::ErrorKind::Utf8 { err, .. } => {
            let (field, byte) = (err.field() + 1, err.valid_up_to() + 1);
            let message = format!(
                "field {field} is not UTF-8 from byte {byte} on; tables must be UTF-8 text"
            );
            Error::line(path, line, message)
        }
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Error::line(path, line, format!("{len} fields; expected {expected_len}"))
        }
        _ => Error::line(path, line, error.to_string()),
    }
}
