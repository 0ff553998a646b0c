//! Comma-separated values, quoted as in RFC 4180.

use std::path::Path;

use crate::Error;
use crate::error::shorten;

/// The fields of one record, taken from its lines.
///
/// Unlike the csv crate it says where a record ends while its lines are read, whether a quotation mark is left
/// open, and that a `\r` outside quoted fields is not followed by a `\n`, where the crate would end a record.
#[derive(Default)]
pub(super) struct Record {
    fields: Vec<Vec<u8>>,
    place: Place,
    lines: usize,
    /// The number of lines before the first lone `\r`.
    lone: Option<usize>,
}

/// The place of a byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// The first byte of a field.
    #[default]
    Start,
    /// In a field without quotation marks around it.
    Plain,
    /// Between quotation marks.
    Quoted,
    /// After a quotation mark in a quoted field.
    Mark,
}

impl Record {
    /// Takes a line with its end; whether the record ends with it.
    pub(super) fn add(&mut self, line: &[u8]) -> bool {
        if self.fields.is_empty() {
            self.fields.push(Vec::new());
        }
        for (at, &byte) in line.iter().enumerate() {
            self.place = match (self.place, byte) {
                (Place::Quoted, b'"') => Place::Mark,
                (Place::Start, b'"') => Place::Quoted,
                (Place::Quoted, _) | (Place::Mark, b'"') => {
                    self.push(byte);
                    Place::Quoted
                }
                (_, b',') => {
                    self.fields.push(Vec::new());
                    Place::Start
                }
                (_, b'\n') => Place::Start,
                (_, b'\r') => {
                    if line.get(at + 1).is_some_and(|&next| next != b'\n') {
                        self.lone.get_or_insert(self.lines);
                    }
                    Place::Start
                }
                (Place::Start | Place::Plain | Place::Mark, _) => {
                    self.push(byte);
                    Place::Plain
                }
            };
        }
        self.lines += 1;
        !self.is_open()
    }

    fn push(&mut self, byte: u8) {
        if let Some(field) = self.fields.last_mut() {
            field.push(byte);
        }
    }

    /// Whether a quotation mark has no partner so far.
    pub(super) fn is_open(&self) -> bool {
        self.place == Place::Quoted
    }

    /// The fields of the record, whose lines are `text` from the line `line` on.
    pub(super) fn fields(self, path: &Path, line: usize, text: &str) -> Result<Vec<String>, Error> {
        if let Some(before) = self.lone {
            let message = "a carriage return without a line feed; lines end with \\n or \\r\\n, and a field with either \
                           in it is quoted (RFC 4180)";
            return Err(Error::line(path, line + before, message));
        }
        if self.is_open() {
            let message = format!(
                "the record that starts here has a quotation mark without a partner ({:?}); quote a field on both \
                 sides and double the marks inside it (RFC 4180)",
                shorten(text)
            );
            return Err(Error::line(path, line, message));
        }
        // the text is UTF-8, and so are its parts between commas and quotation marks
        let field = |field: Vec<u8>| String::from_utf8_lossy(&field).into_owned();
        Ok(self.fields.into_iter().map(field).collect())
    }
}
