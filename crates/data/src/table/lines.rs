//! Lines of a UTF-8 text file, numbered, one in memory at a time, and records of separated values, quoted as in RFC
//! 4180.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use dsokr_core::message::shorten;
use dsokr_core::store::BYTE_ORDER_MARK;

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

    /// Returns the remedy for bytes that are not UTF-8. `valid` are the bytes before the first of `rest`.
    fn remedy(&self, valid: &[u8], rest: &[u8]) -> String {
        let is_wide = self.first == 1
            && valid.is_empty()
            && (rest.starts_with(b"\xff\xfe") || rest.starts_with(b"\xfe\xff"));
        let encoding = if is_wide { "UTF-16" } else { "WINDOWS-1252" };
        let command = format!("iconv -f {encoding} -t UTF-8");
        let command = into_new(&self.path, &command, self.path.file_name());
        // bytes of each of these are some text in the others
        let others = if is_wide { "" } else { " (GB18030 of Chinese, SHIFT_JIS of Japanese)" };
        format!("; if it is {encoding}, as some programs write it{others}, convert it: {command}")
    }
}

/// A way to compress files.
struct Compression {
    name: &'static str,
    /// Whether a file with these first bytes is such a file.
    begins: fn(&[u8]) -> bool,
    /// What to do about a file whose name does not say so.
    remedy: &'static str,
    /// The command that decompresses it.
    command: &'static str,
    /// Whether files are read whose names say so.
    is_read: bool,
}

impl Compression {
    /// Creates a way to compress whose files a command decompresses.
    const fn with_command(
        name: &'static str,
        begins: fn(&[u8]) -> bool,
        command: &'static str,
    ) -> Self {
        Self { name, begins, remedy: "decompress the file", command, is_read: false }
    }
}

static COMPRESSIONS: [Compression; 5] = [
    Compression {
        name: "gzip",
        begins: |start| start.starts_with(b"\x1f\x8b"),
        remedy: "let it end with .gz",
        command: "gzip -dc",
        is_read: true,
    },
    Compression::with_command("bzip2", begins_as_bzip2, "bzip2 -dc"),
    Compression::with_command("xz", |start| start.starts_with(b"\xfd7zXZ"), "xz -dc"),
    Compression::with_command("zstd", |start| start.starts_with(b"\x28\xb5\x2f\xfd"), "zstd -dc"),
    Compression {
        name: "zip, as workbooks of Excel are",
        begins: |start| start.starts_with(b"PK\x03\x04"),
        remedy: "save a workbook as .csv, or decompress the file",
        command: "unzip -p",
        is_read: false,
    },
];

/// Returns whether a file begins as those of bzip2 do: a digit, the level, follows the letters.
fn begins_as_bzip2(start: &[u8]) -> bool {
    let behind_letters = start.strip_prefix(b"BZh").and_then(|rest| rest.get(1..));
    behind_letters.is_some_and(|rest| rest.starts_with(b"1AY&SY"))
}

/// Refuses a file that begins as compressed ones do.
fn check_not_compressed(path: &Path, start: &[u8]) -> Result<(), Error> {
    let found = COMPRESSIONS.iter().find(|compression| (compression.begins)(start));
    let Some(Compression { name, remedy, command, is_read, .. }) = found else {
        return Ok(());
    };
    let command = into_new(path, command, path.file_name());
    let message = if !path.exists() {
        format!("the contents are compressed ({name}): decompress them before: {command}")
    } else if *is_read {
        format!("the contents are compressed ({name}), and the name does not say so: {remedy}")
    } else {
        format!(
            "the contents are compressed ({name}), and the name does not say so: {remedy}: {command}"
        )
    };
    Err(Error::file(path, message))
}

/// The separators of fields, the usual one first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The most records that tell the separator.
const RECORDS: usize = 50;

/// Returns the sign that separates the fields of the records at the start of a file: of those that divide the first
/// record, the one that divides most others into as many fields. A comma where there is none.
pub(super) fn separator(start: &[u8]) -> u8 {
    let share = |separator: u8| {
        let counts = field_counts(start, separator);
        let first = counts.first().copied().filter(|&count| count > 1)?;
        let equal = counts.iter().filter(|&&count| count == first).count();
        Some(equal as f64 / counts.len() as f64)
    };
    let mut best = (b',', 0.0);
    for separator in SEPARATORS {
        if let Some(share) = share(separator).filter(|&share| share > best.1) {
            best = (separator, share);
        }
    }
    best.0
}

/// Returns the number of lines at the start that are comments: they begin with `#`, and the line behind them has several fields.
/// The last one that begins with `#` may have the names of the columns: as many fields as the line behind it, and no blank
/// behind the mark, unless it is alone. Where one of the others is like it, these are rows, and without a line of names so are they
/// where one has as many fields, whatever is behind the mark.
fn comment_count(start: &[u8], has_tabs: bool, has_names: bool) -> usize {
    let mut rest = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut marked = Vec::new();
    while rest.starts_with(b"#") {
        let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
        let (line, behind) = rest.split_at(end);
        marked.push(line);
        rest = behind;
    }
    let Some((last, before)) = marked.split_last() else { return 0 };
    let separator = if has_tabs { b'\t' } else { separator(rest) };
    let width = |text: &[u8]| field_counts(text, separator).first().copied().unwrap_or_default();
    let expected = width(rest);
    let has_width = |line: &[u8]| width(line) == expected;
    let is_remark = |line: &[u8]| [b"# ", b"##"].iter().any(|m| line.starts_with(*m));
    let is_row = |line: &&[u8]| has_width(line) && !(has_names && is_remark(line));
    if expected < 2 || before.iter().any(is_row) {
        return 0;
    }
    let is_last_comment = !has_width(last) || (!before.is_empty() && is_remark(last));
    before.len() + usize::from(is_last_comment)
}

/// Returns whether blanks follow each separator of the first record, at least one, as in tables of the UCI repository.
pub(super) fn blanks_follow(start: &[u8], dialect: Dialect) -> bool {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut record = Record::new(Dialect { skips_blanks: true, ..dialect });
    for line in start.split_inclusive(|&byte| byte == b'\n') {
        if record.add(line) {
            break;
        }
    }
    record.skipped > 0 && record.skipped + 1 == record.fields.len()
}

/// Returns whether a separator divides all of the first records into as many fields, at least two.
pub(super) fn separator_divides_all(start: &[u8], separator: u8) -> bool {
    let counts = field_counts(start, separator);
    let first = counts.first().copied().unwrap_or_default();
    first > 1 && counts.len() > 1 && counts.iter().all(|&count| count == first)
}

/// Returns whether each of the first records, at least two, has a field more than the names of the columns before them: a name of
/// its own in front, as R writes them. Fields behind the last separators of lines are empty.
pub(super) fn have_names_of_rows(start: &[u8], dialect: Dialect) -> bool {
    let records = first_records(start, dialect);
    let Some((names, rows)) = records.split_first() else { return false };
    let columns = names.fields.len();
    let have_one_more = rows.iter().all(|row| row.fields.len() == columns + 1);
    let own: HashSet<&Vec<u8>> = rows.iter().filter_map(|row| row.fields.first()).collect();
    let are_names = own.len() == rows.len() && own.iter().all(|name| !name.is_empty());
    let ends_filled = rows.iter().filter_map(|row| row.fields.last()).any(|end| !end.is_empty());
    columns > 1 && rows.len() > 1 && have_one_more && are_names && ends_filled
}

/// Returns the number of fields of each of the first records.
fn field_counts(start: &[u8], separator: u8) -> Vec<usize> {
    let records = first_records(start, Dialect { separator, ..Dialect::default() });
    records.iter().map(|record| record.fields.len()).collect()
}

/// Returns the first records.
fn first_records(start: &[u8], dialect: Dialect) -> Vec<Record> {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let mut records = Vec::new();
    let mut record = Record::new(dialect);
    for line in start.split_inclusive(|&byte| byte == b'\n') {
        let is_blank = record.fields.is_empty() && line.trim_ascii().is_empty();
        // the last line may be cut
        let is_whole = line.ends_with(b"\n") || records.is_empty();
        if !is_blank && is_whole && record.add(line) {
            records.push(std::mem::replace(&mut record, Record::new(dialect)));
        }
        if records.len() == RECORDS {
            break;
        }
    }
    records
}

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
    fields: Vec<Vec<u8>>,
    /// The number of fields before which blanks are skipped.
    skipped: usize,
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

    /// Takes a line with its end; whether the record ends with it.
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
