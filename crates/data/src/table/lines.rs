//! Lines of a UTF-8 text file, numbered, one in memory at a time, and records of comma-separated values, quoted as in
//! RFC 4180.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use dsokr_basis::store::BYTE_ORDER_MARK;

use crate::Error;
use crate::error::shorten;

/// Where the pieces of a text end that are read one at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// Lines that end with `\n` or `\r\n`; blank ones stand at the end only.
    Lines,
    /// Lines that end with `\n`, `\r\n` or `\r`, with blank ones between.
    SpacedLines,
    /// The same, and behind each end of an element with this name, since XML may be one line.
    Elements(&'static [u8]),
}

impl Pieces {
    /// Whether a piece ends with these bytes.
    fn ends(self, bytes: &[u8]) -> bool {
        match (self, bytes.last()) {
            (_, Some(b'\n')) => true,
            (Self::Elements(end), Some(_)) => bytes.ends_with(end),
            (Self::Lines | Self::SpacedLines, Some(_)) | (_, None) => false,
        }
    }
}

/// Reads lines ended by `\n` or `\r\n`, or other [`Pieces`]; skips a byte-order mark and blank lines at the end, and
/// refuses a blank line that has anything after it.
pub(crate) struct Lines<R> {
    path: PathBuf,
    reader: BufReader<R>,
    /// The lines of the text that was read last, with their ends.
    buffer: Vec<u8>,
    /// The numbers of the first and the last of them.
    first: usize,
    last: usize,
    /// Whether the line in the buffer has not been returned yet.
    pub(super) pending: bool,
    pieces: Pieces,
    /// Whether the next piece starts a line.
    line_starts: bool,
}

impl<R: Read> Lines<R> {
    /// The pieces of a stream, which errors call `path`.
    pub(crate) fn new(path: &Path, stream: R, pieces: Pieces) -> Self {
        Self {
            path: path.into(),
            reader: BufReader::with_capacity(1 << 16, stream),
            buffer: Vec::new(),
            first: 0,
            last: 0,
            pending: false,
            pieces,
            line_starts: true,
        }
    }

    /// Whether the whole next line is in memory.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The next text that is not blank, with the number of its first line from 1; `None` at the end. `ends` gets
    /// each of its lines, with its end, and says whether the text ends with it. After an error about a text the
    /// next call returns the text behind it.
    pub(super) fn next(
        &mut self,
        mut ends: impl FnMut(&[u8]) -> bool,
    ) -> Result<Option<(usize, &str)>, Error> {
        let mut blank = None;
        while !std::mem::take(&mut self.pending) {
            if !self.advance()? {
                return Ok(None);
            }
            // A line of tabs is a row of empty fields, not a blank line.
            if self.text().iter().all(|&byte| byte == b' ') {
                blank.get_or_insert(self.first);
            } else {
                self.pending = true;
                if let Some(line) = blank.filter(|_| self.pieces == Pieces::Lines) {
                    let allowed = "blank lines are allowed only at the end";
                    let message = format!("blank line inside the table; {allowed}");
                    return Err(Error::line(&self.path, line, message));
                }
            }
        }
        let mut start = 0;
        while !ends(&self.buffer[start..]) {
            start = self.buffer.len();
            if !self.append()? {
                break;
            }
        }
        self.current().map(Some)
    }

    /// Reads the next line; false if there is none.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        self.buffer.clear();
        let more = self.append()?;
        self.first = self.last;
        if self.first == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(more)
    }

    /// Reads one piece more of the same text.
    fn append(&mut self) -> Result<bool, Error> {
        let start = self.buffer.len();
        self.read_piece().map_err(|source| Error::io(&self.path, source))?;
        let more = self.buffer.len() > start;
        self.last += usize::from(more && self.line_starts);
        self.line_starts = !more || self.buffer.ends_with(b"\n");
        Ok(more)
    }

    /// Puts the next piece behind the buffer, with `\n` in the place of a single `\r` that ends it.
    fn read_piece(&mut self) -> std::io::Result<()> {
        let start = self.buffer.len();
        loop {
            let delimiter = match self.pieces {
                Pieces::Lines => {
                    return self.reader.read_until(b'\n', &mut self.buffer).map(drop);
                }
                Pieces::SpacedLines | Pieces::Elements(_) => self.take_to_delimiter()?,
            };
            if delimiter == Some(b'\r') {
                self.buffer.pop();
                if self.reader.fill_buf()?.first() == Some(&b'\n') {
                    self.reader.consume(1);
                }
                self.buffer.push(b'\n');
            }
            if delimiter.is_none() || self.pieces.ends(&self.buffer[start..]) {
                return Ok(());
            }
        }
    }

    /// Puts the next bytes behind the buffer, to one that may end a piece, and returns that one; none at the end.
    fn take_to_delimiter(&mut self) -> std::io::Result<Option<u8>> {
        loop {
            let bytes = match self.reader.fill_buf() {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = bytes.iter().position(|byte| [b'\n', b'\r', b'>'].contains(byte));
            let count = end.map_or(bytes.len(), |end| end + 1);
            let last = bytes[count - 1];
            self.buffer.extend_from_slice(&bytes[..count]);
            self.reader.consume(count);
            if end.is_some() {
                return Ok(Some(last));
            }
        }
    }

    /// The text that was read last, without its end, and the number of its first line from 1.
    pub(crate) fn current(&self) -> Result<(usize, &str), Error> {
        match std::str::from_utf8(self.text()) {
            Ok(text) => Ok((self.first, text)),
            Err(error) => Err(self.not_utf8(error)),
        }
    }

    fn text(&self) -> &[u8] {
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        text.strip_suffix(b"\r").unwrap_or(text)
    }

    /// Names the first byte that is not UTF-8.
    fn not_utf8(&self, error: std::str::Utf8Error) -> Error {
        let (valid, rest) = self.buffer.split_at(error.valid_up_to());
        let start = valid.iter().rposition(|&byte| byte == b'\n');
        let line = self.first + valid.iter().filter(|&&byte| byte == b'\n').count();
        let position = valid.len() - start.map_or(0, |newline| newline + 1) + 1;
        let found = rest.first().copied().unwrap_or_default();
        let found = format!("byte {found:#04x} at position {position} of the line is not UTF-8");
        Error::line(&self.path, line, found + "; tables must be UTF-8 text")
    }
}

/// The fields of one record, taken from its lines.
///
/// Unlike the csv crate it says where a record ends while its lines are read, whether a quotation mark is left
/// open, and that a `\r` outside quoted fields is not followed by a `\n`, where the crate would end a record.
#[derive(Default)]
pub(super) struct Record {
    fields: Vec<Vec<u8>>,
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
        let mut last = self.fields.len() - 1;
        for (at, &byte) in line.iter().enumerate() {
            self.state = match (self.state, byte) {
                (FieldState::Quoted, b'"') => FieldState::Mark,
                (FieldState::Start, b'"') => FieldState::Quoted,
                (FieldState::Quoted, _) | (FieldState::Mark, b'"') => {
                    self.fields[last].push(byte);
                    FieldState::Quoted
                }
                (_, b',') => {
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

    /// Whether a quotation mark has no partner so far.
    pub(super) fn is_open(&self) -> bool {
        self.state == FieldState::Quoted
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
