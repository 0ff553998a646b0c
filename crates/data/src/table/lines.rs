//! Lines of a UTF-8 text file, numbered, one in memory at a time.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use dsokr_core::store::BYTE_ORDER_MARK;

use super::compression::check_not_compressed;
use super::record::SEPARATORS;
use super::separators::comment_count;
use crate::error::{Error, into_new};

/// The ends of the pieces in which a text is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// Lines that end with `\n` or `\r\n`; blank ones stand at the end only.
    Lines,
    /// Lines that end with `\n`, `\r\n` or `\r`, with blank ones between.
    SpacedLines,
    /// A piece ends at each line feed, and behind each end of an element with this name, since XML may be one line.
    Elements(&'static [u8]),
}

impl Pieces {
    /// Returns whether a piece ends with these bytes.
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
    /// Creates the pieces of a stream, which errors call `path`.
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

    /// Returns the bytes at the start of the stream, which stay to be read.
    pub(super) fn first_bytes(&mut self) -> Result<&[u8], Error> {
        self.reader.fill_buf().map_err(|source| Error::io(&self.path, source))
    }

    /// Returns the bytes of the line at the start of the stream, without its end.
    fn first_line(&mut self) -> Result<&[u8], Error> {
        let start = self.first_bytes()?;
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Returns whether the first line has no tab.
    pub(super) fn lacks_tabs(&mut self) -> Result<bool, Error> {
        Ok(!self.first_line()?.contains(&b'\t'))
    }

    /// Returns whether all fields of the first line, which tabs divide, stand between quotation marks.
    pub(super) fn quotes_all(&mut self) -> Result<bool, Error> {
        let is_quoted =
            |field: &[u8]| field.len() > 1 && field.starts_with(b"\"") && field.ends_with(b"\"");
        Ok(self.first_line()?.split(|&byte| byte == b'\t').all(is_quoted))
    }

    /// Takes a first line that only says which sign separates fields, such as `sep=;`, and returns the sign; none where
    /// the first line is another one.
    pub(super) fn stated_separator(&mut self) -> Result<Option<u8>, Error> {
        let sign = match self.first_line()? {
            [b's', b'e', b'p', b'=', sign] if SEPARATORS.contains(sign) => *sign,
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(sign))
    }

    /// Takes the lines before the names of the columns, or without names before the rows, that are [comments](comment_count), and
    /// returns their number.
    pub(super) fn skip_comments(
        &mut self,
        has_tabs: bool,
        has_names: bool,
    ) -> Result<usize, Error> {
        let count = comment_count(self.first_bytes()?, has_tabs, has_names);
        for _ in 0..count {
            self.advance()?;
        }
        Ok(count)
    }

    /// Refuses a file that is compressed although its name does not say so, and one whose lines end with `\r` alone.
    pub(super) fn check_start(&mut self) -> Result<(), Error> {
        let start = self.reader.fill_buf().map_err(|source| Error::io(&self.path, source))?;
        check_not_compressed(&self.path, start)?;
        let returns = start.iter().filter(|&&byte| byte == b'\r').count();
        if returns < 2 || start.contains(&b'\n') {
            return Ok(());
        }
        let command = into_new(&self.path, r"tr '\r' '\n' <", self.path.file_name());
        let message = format!(
            "a carriage return without a line feed ends the lines, as programs of old Macs write them; convert it: {command}"
        );
        Err(Error::line(&self.path, 1, message))
    }

    /// Returns whether the whole next line is in memory.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// Returns the next text that is not blank, with the number of its first line from 1; `None` at the end. `ends`
    /// gets each of its lines, with its end, and says whether the text ends with it. After an error about a text the
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
        if self.first == 1 {
            check_not_compressed(&self.path, &self.buffer)?;
            self.check_not_wide()?;
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.drain(..BYTE_ORDER_MARK.len());
            }
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

    /// Returns the text that was read last, without its end, and the number of its first line from 1.
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
        let byte = rest.first().copied().unwrap_or_default();
        let message = format!("byte {byte:#04x} at position {position} of the line is not UTF-8");
        let remedy = self.remedy(valid, rest);
        Error::line(&self.path, line, message + "; tables must be UTF-8 text" + &remedy)
    }

    /// Refuses a first line that is UTF-8, but more likely [of wide characters](wide_encoding).
    fn check_not_wide(&self) -> Result<(), Error> {
        if std::str::from_utf8(&self.buffer).is_err() {
            return Ok(());
        }
        let Some(encoding) = wide_encoding(&self.buffer) else { return Ok(()) };
        let command = self.conversion(encoding);
        let message = format!(
            "bytes of the line are 0, as in {encoding}; tables must be UTF-8 text; convert it: {command}"
        );
        Err(Error::line(&self.path, 1, message))
    }

    /// Returns the remedy for bytes that are not UTF-8. `valid` are the bytes before the first of `rest`.
    fn remedy(&self, valid: &[u8], rest: &[u8]) -> String {
        let is_first_line = self.first == 1 && !valid.contains(&b'\n');
        let line = [valid, rest].concat();
        let line = line.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
        let wide = if is_first_line { wide_encoding(line) } else { None };
        let encoding = wide.unwrap_or("WINDOWS-1252");
        let command = self.conversion(encoding);
        // bytes of each of these are some text in the others
        let others =
            if wide.is_some() { "" } else { " (GB18030 of Chinese, SHIFT_JIS of Japanese)" };
        format!("; if it is {encoding}, as some programs write it{others}, convert it: {command}")
    }

    /// Returns the command that makes UTF-8 of a file in this encoding.
    fn conversion(&self, encoding: &str) -> String {
        let command = format!("iconv -f {encoding} -t UTF-8");
        into_new(&self.path, &command, self.path.file_name())
    }
}

/// The smallest share of bytes that are 0 in a line of wide characters that could be UTF-8, as a divisor.
const WITH_ZEROS: usize = 4;

/// Returns the encoding of a line whose characters have two or four bytes each, as marks at its start or the places of bytes that are
/// 0 say; none of a line of UTF-8, of which a few may be 0, and of other encodings.
fn wide_encoding(line: &[u8]) -> Option<&'static str> {
    if line.starts_with(b"\xff\xfe\0\0") || line.starts_with(b"\0\0\xfe\xff") {
        return Some("UTF-32");
    }
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Some("UTF-16");
    }
    // how many bytes at each place of four are 0
    let mut zeros = [0; 4];
    for (at, _) in line.iter().enumerate().filter(|(_, byte)| **byte == 0) {
        zeros[at % 4] += 1;
    }
    let all: usize = zeros.iter().sum();
    let is_utf8 = std::str::from_utf8(line).is_ok();
    if all == 0 || (is_utf8 && WITH_ZEROS * all < line.len()) {
        return None;
    }
    let fours = line.len() / 4;
    let are_all_zero = |place: usize| fours > 0 && zeros[place] >= fours;
    let encoding = if are_all_zero(2) && are_all_zero(3) {
        "UTF-32LE"
    } else if are_all_zero(0) && are_all_zero(1) {
        "UTF-32BE"
    } else if zeros[1] + zeros[3] > zeros[0] + zeros[2] {
        "UTF-16LE"
    } else {
        "UTF-16BE"
    };
    Some(encoding)
}
