//! Rows of a table or a stream of texts in each of the formats, one in memory at a time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::bad_rows::{BadRows, OnBadRow};
use super::lines::{Lines, Record};
use crate::Error;
use crate::error::{extension_of, list, shorten};

/// How a table or a stream of texts is written.
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
    /// The format that the extension of a file names: that of a [`Table`](super::Table), else one text a line.
    pub fn of(path: &Path) -> Self {
        match extension_of(path).as_str() {
            "tsv" => Self::Tabs,
            "csv" => Self::Commas,
            "jsonl" | "ndjson" => Self::JsonLines,
            _ => Self::Lines,
        }
    }
}

/// The line on which a row starts, from 1, and its fields.
type Row<F> = (usize, Vec<F>);

/// Reads some columns of each row, as texts. Of [`TextFormat::Lines`] there is one, the line.
pub(super) struct Rows<R> {
    pub(super) path: PathBuf,
    pub(super) bad: BadRows,
    lines: Lines<R>,
    format: TextFormat,
    /// The columns that are read.
    pub(super) columns: Vec<String>,
    /// All columns of the file.
    pub(super) header: Vec<String>,
    /// Whether the file names them.
    pub(super) has_header: bool,
    /// The places of those that are read among them.
    positions: Vec<usize>,
    /// Whether the end of the last row is not known, so that it cannot be skipped.
    torn: bool,
}

impl<R: Read> Rows<R> {
    /// The rows of a stream, which errors call `path`, behind its header.
    pub(super) fn new(
        path: &Path,
        stream: R,
        format: TextFormat,
        columns: Vec<String>,
        on_bad_row: OnBadRow,
    ) -> Result<Self, Error> {
        let mut rows = Self::headless(path, stream, format, columns);
        rows.bad = BadRows::new(on_bad_row);
        if matches!(format, TextFormat::Tabs | TextFormat::Commas) {
            let (line, header) = match rows.header() {
                Err(error) if rows.lines.is_behind_blank() => {
                    rows.bad.take(error)?;
                    rows.header()?
                }
                header => header?,
            };
            rows.positions = positions(path, line, &header, &rows.columns)?;
            (rows.header, rows.has_header) = (header, true);
        }
        Ok(rows)
    }

    /// The rows of a stream without a header that has these columns and no others.
    pub(super) fn headless(
        path: &Path,
        stream: R,
        format: TextFormat,
        columns: Vec<String>,
    ) -> Self {
        Self {
            path: path.into(),
            bad: BadRows::default(),
            lines: Lines::new(path, stream),
            format,
            header: columns.clone(),
            has_header: false,
            positions: (0..columns.len()).collect(),
            columns,
            torn: false,
        }
    }

    /// Whether the next row has been read from the stream.
    pub(super) fn is_ready(&self) -> bool {
        self.lines.is_ready()
    }

    /// The next row; `None` at the end. After an error that
    /// [`skip`](Self::skip) takes, the next call returns the row behind it.
    pub(super) fn next(&mut self) -> Result<Option<Row<String>>, Error> {
        let Self { path, lines, format, columns, header, positions, torn, .. } = self;
        let Some((line, fields)) = fields(path, lines, *format, columns, torn)? else {
            return Ok(None);
        };
        if fields.len() != header.len() {
            let (found, expected, columns) = (fields.len(), header.len(), list(header));
            let message = format!("{found} fields; expected {expected} ({columns})");
            return Err(Error::line(path, line, message));
        }
        let values = positions.iter().map(|&at| fields[at].to_string());
        Ok(Some((line, values.collect())))
    }

    /// Keeps an error about a row if such rows are skipped.
    ///
    /// # Errors
    /// Every other error.
    pub(super) fn skip(&mut self, error: Error) -> Result<(), Error> {
        if self.torn { Err(error) } else { self.bad.take(error) }
    }

    fn header(&mut self) -> Result<(usize, Vec<String>), Error> {
        let Self { path, lines, format, columns, torn, .. } = self;
        let names = fields(path, lines, *format, columns, torn)?;
        let (line, names) = names.ok_or_else(|| Error::empty(path))?;
        Ok((line, names.into_iter().map(Cow::into_owned).collect()))
    }
}

/// The fields of the next row with its line; `torn` becomes whether the row has no end.
fn fields<'l, R: Read>(
    path: &Path,
    lines: &'l mut Lines<R>,
    format: TextFormat,
    columns: &[String],
    torn: &mut bool,
) -> Result<Option<Row<Cow<'l, str>>>, Error> {
    let mut record = Record::default();
    let read = match format {
        TextFormat::Commas => lines.next(|line| record.add(line)),
        TextFormat::Lines | TextFormat::Tabs | TextFormat::JsonLines => lines.next(|_| true),
    };
    *torn = record.is_open();
    let Some((line, text)) = read? else { return Ok(None) };
    let owned = |fields: Vec<String>| fields.into_iter().map(Cow::Owned).collect();
    let fields = match format {
        TextFormat::Lines => vec![Cow::Borrowed(text)],
        TextFormat::Tabs => text.split('\t').map(Cow::Borrowed).collect(),
        TextFormat::Commas => owned(record.fields(path, line, text)?),
        TextFormat::JsonLines => owned(json_values(path, line, text, columns)?),
    };
    Ok(Some((line, fields)))
}

/// The positions of columns in a header, which must not name a column twice.
fn positions(
    path: &Path,
    line: usize,
    header: &[String],
    columns: &[String],
) -> Result<Vec<usize>, Error> {
    let mut seen = HashMap::with_capacity(header.len());
    for (second, name) in header.iter().enumerate() {
        if let Some(first) = seen.insert(name.as_str(), second) {
            return Err(Error::duplicate_column(path, line, name, first + 1, second + 1));
        }
    }
    let place = |name: &String| {
        let place = seen.get(name.as_str()).copied();
        place.ok_or_else(|| Error::missing_column(path, name, header))
    };
    columns.iter().map(place).collect()
}

/// Reads an object with its keys in order, so that one given twice is seen, and its values as written,
/// so that a number keeps its digits.
struct Entries;

#[derive(Deserialize)]
struct Key<'l>(#[serde(borrow)] Cow<'l, str>);

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((Key(key), value)) = map.next_entry()? {
            entries.push((key, value));
        }
        Ok(entries)
    }
}

/// The values of keys of a line that is an object, in the order of `names`.
fn json_values(
    path: &Path,
    line: usize,
    text: &str,
    names: &[String],
) -> Result<Vec<String>, Error> {
    let mut values = Vec::with_capacity(names.len());
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = reader.deserialize_map(Entries).and_then(|read| reader.end().map(|()| read));
    let entries = read.map_err(|error| match error.classify() {
        Category::Data => {
            let found = shorten(text.trim());
            Error::line(path, line, format!("found {found}; each line must be one JSON object"))
        }
        Category::Io | Category::Syntax | Category::Eof => syntax(path, line, 0, &error),
    })?;
    for name in names {
        let mut places = (1..).zip(&entries).filter(|(_, (key, _))| key == name);
        let Some((first, (_, value))) = places.next() else {
            let keys: Vec<String> = entries.iter().map(|(key, _)| key.to_string()).collect();
            let message = format!("no key {name:?}; this line has: {}", list(&keys));
            return Err(Error::line(path, line, message));
        };
        if let Some((second, _)) = places.next() {
            return Err(Error::duplicate_column(path, line, name, first, second));
        }
        let raw = value.get();
        // a string's characters, or a number's digits
        values.push(match raw.as_bytes().first() {
            Some(b'"') => serde_json::from_str(raw).map_err(|error| {
                // The value is a slice of the line: its place is the difference of the addresses.
                let before = raw.as_ptr().addr().saturating_sub(text.as_ptr().addr());
                syntax(path, line, before, &error)
            })?,
            Some(b'-' | b'0'..=b'9') => raw.to_owned(),
            _ => {
                let found = shorten(raw);
                let message = format!("key {name:?} holds {found}; a string or a number is needed");
                return Err(Error::line(path, line, message));
            }
        });
    }
    Ok(values)
}

fn syntax(path: &Path, line: usize, before: usize, error: &serde_json::Error) -> Error {
    // The parser sees a single line, so that its own "at line 1 column 7" would mislead.
    let mut message = error.to_string();
    if let Some(end) = message.rfind(" at line ") {
        message.truncate(end);
    }
    let position = before + error.column();
    let message =
        format!("not JSON at position {position}: {message}; each line must be one JSON object");
    Error::line(path, line, message)
}
