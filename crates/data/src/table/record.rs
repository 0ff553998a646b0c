//! Records of separated values, quoted as in RFC 4180.

use std::path::Path;

use dsokr_core::message::shorten;

use crate::error::Error;

/// The separators of fields, the usual one first.
pub(super) const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How the fields of a table are divided and quoted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    pub separator: u8,
    /// Whether a mark inside a quoted field may have a backslash before it, in the place of a second mark, as R writes them.
    pub escapes: bool,
    /// Whether blanks behind a separator are no part of the field.
    pub skips_blanks: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self { separator: SEPARATORS[0], escapes: false, skips_blanks: false }
    }
}

/// The fields of one record, taken from its lines.
///
/// Unlike the csv crate it says where a record ends while its lines are read, whether a quotation mark is left
/// open, and that a `\r` outside quoted fields is not followed by a `\n`, where the crate would end a record.
pub(super) struct Record {
    dialect: Dialect,
    pub(super) fields: Vec<Vec<u8>>,
    /// The number of fields before which blanks are skipped.
    pub(super) skipped: usize,
    state: FieldState,
    lines: usize,
    /// The number of lines before the first lone `\r`.
    lone: Option<usize>,
}

/// The state of a field after a byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum FieldState {
    /// The first byte of a field.
    #[default]
    Start,
    /// A byte within a field without quotation marks.
    Plain,
    /// A byte between quotation marks.
    Quoted,
    /// The byte after a quotation mark in a quoted field.
    Mark,
}

impl Record {
    /// Creates a record before its first line.
    pub(super) fn new(dialect: Dialect) -> Self {
        let fields = Vec::new();
        Self { dialect, fields, skipped: 0, state: FieldState::Start, lines: 0, lone: None }
    }

    /// Returns whether a mark, with these bytes behind it, is a character of its field, after a backslash.
    fn is_escaped(&self, behind: &[u8]) -> bool {
        let after = self.fields.last().is_some_and(|field| field.last() == Some(&b'\\'));
        let ends = |&byte: &u8| byte == self.dialect.separator || byte == b'\n' || byte == b'\r';
        self.dialect.escapes && after && !behind.first().is_none_or(ends)
    }

    /// Takes a line with its end, and returns whether the record ends with it.
    pub(super) fn add(&mut self, line: &[u8]) -> bool {
        if self.fields.is_empty() {
            self.fields.push(Vec::new());
        }
        let mut last = self.fields.len() - 1;
        for (at, &byte) in line.iter().enumerate() {
            self.state = match (self.state, byte) {
                (FieldState::Quoted, b'"') if self.is_escaped(&line[at + 1..]) => {
                    self.fields[last].pop();
                    self.fields[last].push(byte);
                    FieldState::Quoted
                }
                (FieldState::Quoted, b'"') => FieldState::Mark,
                (FieldState::Start, b'"') => FieldState::Quoted,
                (FieldState::Start, b' ') if self.dialect.skips_blanks && last > 0 => {
                    let is_first = at > 0 && line[at - 1] == self.dialect.separator;
                    self.skipped += usize::from(is_first);
                    FieldState::Start
                }
                (FieldState::Quoted, _) | (FieldState::Mark, b'"') => {
                    self.fields[last].push(byte);
                    FieldState::Quoted
                }
                (_, byte) if byte == self.dialect.separator => {
                    self.fields.push(Vec::new());
                    last += 1;
                    FieldState::Start
                }
                (_, b'\n') => FieldState::Start,
                (_, b'\r') => {
                    if line.get(at + 1).is_some_and(|&next| next != b'\n') {
                        self.lone.get_or_insert(self.lines);
                    }
                    FieldState::Start
                }
                (FieldState::Start | FieldState::Plain | FieldState::Mark, _) => {
                    self.fields[last].push(byte);
                    FieldState::Plain
                }
            };
        }
        self.lines += 1;
        !self.is_open()
    }

    /// Returns whether a quotation mark has no partner so far.
    pub(super) fn is_open(&self) -> bool {
        self.state == FieldState::Quoted
    }

    /// Returns the fields of the record, whose lines are `text` from the line `line` on.
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
