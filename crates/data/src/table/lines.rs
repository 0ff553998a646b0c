//! Lines of a UTF-8 text file, numbered, one in memory at a time.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::Error;
use dsokr_basis::store::{BYTE_ORDER_MARK, open_input};

/// Reads lines ended by `\n` or `\r\n`; skips a byte-order mark and blank lines at the end, and
/// refuses a blank line that has anything after it.
pub(crate) struct Lines<R> {
    path: PathBuf,
    reader: BufReader<R>,
    buffer: Vec<u8>,
    number: usize,
    /// Whether the line in the buffer has not been returned yet.
    pending: bool,
}

impl Lines<File> {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = open_input(path).map_err(|source| Error::io(path, source))?;
        Ok(Self::new(path, file))
    }
}

impl<R: Read> Lines<R> {
    /// The lines of a stream, which errors call `path`.
    pub(super) fn new(path: &Path, stream: R) -> Self {
        let reader = BufReader::with_capacity(1 << 16, stream);
        Self { path: path.into(), reader, buffer: Vec::new(), number: 0, pending: false }
    }

    /// Whether the whole next line is in memory.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// The next line that is not blank, with its number from 1; `None` at the end. After an error about a
    /// line the next call returns the line behind it.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, Error> {
        let mut blank = None;
        while !std::mem::take(&mut self.pending) {
            if !self.advance()? {
                return Ok(None);
            }
            // A line of tabs is a row of empty fields, not a blank line.
            if self.buffer.iter().all(|&byte| byte == b' ') {
                blank.get_or_insert(self.number);
            } else {
                self.pending = true;
                if let Some(line) = blank {
                    return Err(Error::blank_line(&self.path, line));
                }
            }
        }
        self.current().map(Some)
    }

    /// Reads the next line, without its end; false if there is none.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        self.buffer.clear();
        let read = self.reader.read_until(b'\n', &mut self.buffer);
        if read.map_err(|source| Error::io(&self.path, source))? == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        for end in [b'\n', b'\r'] {
            self.buffer.pop_if(|byte| *byte == end);
        }
        Ok(true)
    }

    /// The line that was read last, with its number from 1.
    pub(crate) fn current(&self) -> Result<(usize, &str), Error> {
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok((self.number, text)),
            Err(error) => Err(not_utf8(&self.path, self.number, &self.buffer, error)),
        }
    }
}

/// Names the first byte of `bytes`, which start on line `line`, that is not UTF-8.
pub(super) fn not_utf8(
    path: &Path,
    line: usize,
    bytes: &[u8],
    error: std::str::Utf8Error,
) -> Error {
    let (valid, rest) = bytes.split_at(error.valid_up_to().min(bytes.len()));
    let start = valid.iter().rposition(|&byte| byte == b'\n');
    let line = line + valid.iter().filter(|&&byte| byte == b'\n').count();
    let position = valid.len() - start.map_or(0, |newline| newline + 1) + 1;
    let found = rest.first().copied().unwrap_or_default();
    let message = format!(
        "byte {found:#04x} at position {position} of the line is not UTF-8; tables must be UTF-8 text"
    );
    Error::line(path, line, message)
}
