//! Rows of a table or a stream of texts in each of the formats, one in memory at a time.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use dsokr_core::message::list;
use dsokr_spectra::{FileContext, Record as SpectrumRecord, SpectrumFormat};

use super::TableHeader;
use super::bad_rows::{BadRows, OnBadRow};
use super::fields::{Cell, positions, values};
use super::formats::{DOUBLE_COLON, TextFormat, remedy_of_double_colons};
use super::json::{ValueKind, json_names, json_row};
use super::lines::{Lines, Pieces};
use super::record::{Dialect, Record};
use super::separators::{blanks_follow, have_names_of_rows, separator, separator_divides_all};
use super::structures::{self, StructureRecord};
use crate::error::Error;

/// A key of JSON lines is a column where cells hold its values on at least so many lines for each line on which they do not, and
/// it holds lists where these are on at least so many for each line with another value.
const LINES_OF_A_NESTED: usize = 10;

impl TextFormat {
    /// Returns the pieces of a file in which its rows are read.
    fn pieces(self) -> Pieces {
        match self {
            Self::Lines | Self::Tabs | Self::Commas | Self::JsonLines => Pieces::Lines,
            Self::Structures => Pieces::SpacedLines,
            Self::Spectra(format) => {
                format.inner_end().map_or(Pieces::SpacedLines, Pieces::Elements)
            }
        }
    }
}

/// The names of columns of fields that a separator divides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// The first record.
    FirstRecord,
    /// The reader: its columns are all that there are.
    Columns,
    /// The columns are named by their position: `column_1`, `column_2` and so on.
    Places,
}

/// Reads some columns of each row, as texts. [`TextFormat::Lines`] has one column, the line.
pub(crate) struct Rows<R> {
    pub(super) path: PathBuf,
    pub(super) bad: BadRows,
    pub(super) lines: Lines<R>,
    pub(super) format: TextFormat,
    /// The columns that are read.
    pub(super) columns: Vec<String>,
    /// All columns of the file; none before its header is read.
    pub(super) header: Vec<String>,
    /// Whether the file names them.
    pub(super) has_header: bool,
    /// Number of lines before the header that are comments.
    comments: usize,
    /// How the fields of [`TextFormat::Commas`] are divided and quoted.
    dialect: Dialect,
    /// The first record, where it was read for its number of fields.
    first: Option<(usize, Vec<String>)>,
    /// The positions of `columns` among all columns of the file.
    positions: Vec<Cell>,
    /// Whether the end of the last row is not known, so that it cannot be skipped: a quotation mark is left open.
    torn: bool,
    /// Whether the last field of the last row, of [`TextFormat::Tabs`], begins with a quotation mark without a partner.
    opens: bool,
    /// What a file of spectra says about all of them.
    context: FileContext,
    /// What follows a spectrum or a structure without its end.
    rest: Option<Rest>,
    /// Whether lines of JSON may lack keys, which are then empty.
    optional_keys: bool,
    /// The separator of labels, of each column; none of columns that are no sets of labels.
    separators: Vec<Option<char>>,
}

/// Spectra or structures that follow one without its end.
struct Rest {
    /// A text with all of them, which is kept whole: as many may follow as a file has.
    text: String,
    /// Number of its bytes that have been read.
    start: usize,
    /// The line on which the next one starts.
    line: usize,
}

/// Returns the text of the next spectrum or structure, and the line on which it starts. `ends` says whether one ends with a line,
/// and `second_start` where another one begins in a text, as where the first lacks its end: it goes to `rest`.
fn next_text<'l, R: Read>(
    lines: &'l mut Lines<R>,
    rest: &mut Option<Rest>,
    ends: impl Fn(&[u8]) -> bool,
    second_start: impl Fn(&str) -> Option<[usize; 2]>,
) -> Result<Option<(usize, Cow<'l, str>)>, Error> {
    let (line, mut text, start) = match rest.take() {
        Some(Rest { text, start, line }) => (line, Cow::Owned(text), start),
        None => match lines.next(ends)? {
            Some((line, text)) => (line, Cow::Borrowed(text), 0),
            None => return Ok(None),
        },
    };
    let Some([bytes, count]) = second_start(&text[start..]) else {
        if start > 0 {
            text.to_mut().drain(..start);
        }
        return Ok(Some((line, text)));
    };
    let end = start + bytes;
    let first = text[start..end].to_owned();
    *rest = Some(Rest { text: text.into_owned(), start: end, line: line + count });
    Ok(Some((line, Cow::Owned(first))))
}

/// Returns the text of the next record of an SD file, and the line on which it starts.
fn next_structure_text<'l, R: Read>(
    lines: &'l mut Lines<R>,
    rest: &mut Option<Rest>,
) -> Result<Option<(usize, Cow<'l, str>)>, Error> {
    next_text(lines, rest, structures::ends, structures::second_start)
}

/// How rows are read.
#[derive(Clone, Copy)]
pub(crate) struct RowOptions<'a> {
    /// What to do about a row that cannot be read.
    pub on_bad_row: OnBadRow,
    /// The names of columns of fields.
    pub header: Header,
    /// Whether lines of JSON may lack keys, which are then empty.
    pub optional_keys: bool,
    /// The column, behind all others, that is not read where the first record does not name it once.
    pub optional_column: Option<&'a str>,
    /// The column of sets of labels and their separator.
    pub sets: Option<(&'a str, char)>,
}

/// How a stream is written, as its first bytes say.
#[derive(Clone, Copy)]
struct Layout {
    format: TextFormat,
    /// How the fields of [`TextFormat::Commas`] are divided and quoted.
    dialect: Dialect,
    /// The names of the columns: those of the reader where no separator divides fields.
    header: Header,
    /// Number of lines before the header that are comments.
    comments: usize,
    /// Whether each row has a name of its own before its fields, which the header does not name.
    has_row_names: bool,
}

impl Layout {
    /// Looks at the first bytes of a stream, and takes the lines before the names of the columns.
    fn detect<R: Read>(
        lines: &mut Lines<R>,
        format: TextFormat,
        header: Header,
    ) -> Result<Self, Error> {
        if !matches!(format, TextFormat::Tabs | TextFormat::Commas) {
            let dialect = Dialect::default();
            let header = Header::Columns;
            return Ok(Self { format, dialect, header, comments: 0, has_row_names: false });
        }
        lines.check_start()?;
        let has_names = header != Header::Columns;
        let is_first_names = header == Header::FirstRecord;
        let has_tabs = format == TextFormat::Tabs;
        let comments = if has_names { lines.skip_comments(has_tabs, is_first_names)? } else { 0 };
        let stated = if has_names { lines.stated_separator()? } else { None };
        let separator = match stated {
            Some(stated) => stated,
            None => separator(lines.first_bytes()?),
        };
        let (format, separator, escapes) = match format {
            // a .tsv file that others separate all of its lines by has the wrong extension
            TextFormat::Tabs
                if lines.lacks_tabs()?
                    && separator_divides_all(lines.first_bytes()?, separator) =>
            {
                (TextFormat::Commas, separator, false)
            }
            // as R writes them
            TextFormat::Tabs if has_names && lines.quotes_all()? => {
                (TextFormat::Commas, b'\t', true)
            }
            format => (format, separator, false),
        };
        let mut dialect = Dialect { separator, escapes, skips_blanks: false };
        if has_names && format == TextFormat::Commas {
            dialect.skips_blanks = blanks_follow(lines.first_bytes()?, dialect);
        }
        let is_tabbed = format == TextFormat::Tabs || separator == b'\t';
        let has_row_names = is_first_names
            && is_tabbed
            && have_names_of_rows(lines.first_bytes()?, Dialect { separator: b'\t', ..dialect });
        Ok(Self { format, dialect, header, comments, has_row_names })
    }
}

impl<R: Read> Rows<R> {
    /// Creates the rows of a stream, which errors call `path`.
    pub(crate) fn new(
        path: &Path,
        stream: R,
        format: TextFormat,
        columns: Vec<String>,
        options: RowOptions,
    ) -> Result<Self, Error> {
        let RowOptions { on_bad_row, header, optional_keys, optional_column, sets } = options;
        let separator =
            |name: &String| sets.filter(|(column, _)| name == column).map(|(_, sign)| sign);
        let mut lines = Lines::new(path, stream, format.pieces());
        let layout = Layout::detect(&mut lines, format, header)?;
        let mut rows = Self {
            path: path.into(),
            bad: BadRows::new(on_bad_row, matches!(format, TextFormat::Spectra(_))),
            lines,
            format: layout.format,
            header: columns.clone(),
            has_header: layout.header == Header::FirstRecord,
            comments: layout.comments,
            dialect: layout.dialect,
            first: None,
            positions: (0..columns.len()).map(|at| Cell::Fields(at..=at)).collect(),
            separators: columns.iter().map(separator).collect(),
            columns,
            torn: false,
            opens: false,
            context: FileContext::default(),
            rest: None,
            optional_keys,
        };
        if layout.header != Header::Columns {
            rows.read_header(layout, optional_column)?;
        }
        Ok(rows)
    }

    /// Reads the first record, which has the names of the columns or tells their number.
    fn read_header(&mut self, layout: Layout, optional: Option<&str>) -> Result<(), Error> {
        self.header.clear();
        let first = match self.next() {
            Err(error) if self.lines.pending => {
                // a line follows the blank ones that the error is about
                self.bad.take(error)?;
                self.next()?
            }
            first => first?,
        };
        let (line, first) = first.ok_or_else(|| Error::empty(&self.path))?;
        if has_double_colons(&first) {
            return Err(Error::line(&self.path, line, remedy_of_double_colons(&self.path)));
        }
        let mut names: Vec<String> = match layout.header {
            Header::Places => (1..=first.len()).map(|at| format!("column_{at}")).collect(),
            Header::FirstRecord | Header::Columns => first.clone(),
        };
        if layout.has_row_names {
            // R names all columns but theirs
            names.insert(0, String::new());
        }
        let is_named = |column: &str| names.iter().filter(|name| *name == column).count() == 1;
        if optional.is_some_and(|column| !is_named(column)) {
            self.columns.pop();
            self.separators.pop();
        }
        self.positions = positions(&self.path, line, &names, &self.columns)?;
        self.bad.holds_spectra =
            self.positions.iter().any(|cell| matches!(cell, Cell::Spectrum(_)));
        self.header = names;
        self.first = (!self.has_header).then_some((line, first));
        Ok(())
    }

    /// Returns the line on which the next row starts, from 1, and its fields; `None` at the end. After an error that
    /// [`skip`](Self::skip) takes, the next call returns the row behind it.
    pub(crate) fn next(&mut self) -> Result<Option<(usize, Vec<String>)>, Error> {
        match self.format {
            TextFormat::Lines => {
                let read = self.lines.next(|_| true)?;
                Ok(read.map(|(line, text)| (line, vec![text.to_owned()])))
            }
            TextFormat::Tabs | TextFormat::Commas => self.next_record(),
            TextFormat::JsonLines => self.next_object(),
            TextFormat::Structures => self.next_structure(),
            TextFormat::Spectra(format) => self.next_cells_of_spectrum(format),
        }
    }

    /// Returns the next record of fields that a separator divides, or its fields in the columns that are read, once these are
    /// known.
    fn next_record(&mut self) -> Result<Option<(usize, Vec<String>)>, Error> {
        if let Some((line, fields)) = self.first.take() {
            let fields = fields.into_iter().map(Cow::Owned).collect();
            return values(&self.path, line, &self.header, &self.positions, fields).map(Some);
        }
        let is_quoted = self.format == TextFormat::Commas;
        let mut record = Record::new(self.dialect);
        let read = self.lines.next(|line| !is_quoted || record.add(line));
        self.torn = record.is_open();
        let Some((line, text)) = read? else { return Ok(None) };
        let path = &self.path;
        let fields: Vec<Cow<str>> = if is_quoted {
            record.fields(path, line, text)?.into_iter().map(Cow::Owned).collect()
        } else {
            text.split('\t').map(unquoted).collect()
        };
        if self.header.is_empty() {
            // the header itself
            return Ok(Some((line, fields.into_iter().map(Cow::into_owned).collect())));
        }
        if self.has_header && fields.len() > 1 && fields.iter().eq(self.header.iter()) {
            let message = "the names of the columns again, as where one file was put behind another; remove the line";
            return Err(Error::line(path, line, message));
        }
        let opens = !is_quoted && fields.last().is_some_and(|field| has_open_quotation(field));
        let follows = std::mem::replace(&mut self.opens, opens);
        if (opens || follows) && fields.len() < self.header.len() {
            self.torn = true;
            let message = format!(
                "{} fields; expected {} ({}); a field that begins with a quotation mark goes on in the next line: fields of \
                 .tsv files are not quoted unless the names of the columns are, so save the table as .csv, or quote the \
                 names too",
                fields.len(),
                self.header.len(),
                list(&self.header),
            );
            return Err(Error::line(path, line, message));
        }
        values(path, line, &self.header, &self.positions, fields).map(Some)
    }

    /// Returns the values of the next line of JSON.
    fn next_object(&mut self) -> Result<Option<(usize, Vec<String>)>, Error> {
        let Some((line, text)) = self.lines.next(|_| true)? else { return Ok(None) };
        let keys = (self.columns.as_slice(), self.separators.as_slice(), self.optional_keys);
        let holds_spectra = &mut self.bad.holds_spectra;
        Ok(Some((line, json_row(&self.path, line, text, keys, holds_spectra)?)))
    }

    /// Returns the cells of the next record of an SD file.
    fn next_structure(&mut self) -> Result<Option<(usize, Vec<String>)>, Error> {
        let Some((line, text)) = next_structure_text(&mut self.lines, &mut self.rest)? else {
            return Ok(None);
        };
        let cells = StructureRecord::new(&text).cells(&self.path, line, &self.columns)?;
        Ok(Some((line, cells)))
    }

    /// Returns the cells of the next spectrum, and the line on which it starts.
    fn next_cells_of_spectrum(
        &mut self,
        format: SpectrumFormat,
    ) -> Result<Option<(usize, Vec<String>)>, Error> {
        let Some((line, record)) = self.next_spectrum(format)? else { return Ok(None) };
        Ok(Some((line + record.start, record.cells(&self.path, line, &self.columns)?)))
    }

    /// Returns the next spectrum, and the line on which its text starts.
    fn next_spectrum(
        &mut self,
        format: SpectrumFormat,
    ) -> Result<Option<(usize, SpectrumRecord)>, Error> {
        loop {
            let ends = |line: &[u8]| format.ends(line);
            let second_start = |text: &str| format.second_start(text);
            let text = next_text(&mut self.lines, &mut self.rest, ends, second_start)?;
            let Some((line, text)) = text else { return Ok(None) };
            let wrong = |(at, reason): (usize, String)| Error::line(&self.path, line + at, reason);
            let record = format.record(&text, &mut self.context).map_err(wrong);
            if let Some(record) = record? {
                return Ok(Some((line, record)));
            }
        }
    }

    /// Returns the spectrum of the next row, whose columns are fields of spectra in a table, and the line on which it starts.
    fn next_row_of_spectrum(&mut self) -> Result<Option<(usize, SpectrumRecord)>, Error> {
        if let TextFormat::Spectra(format) = self.format {
            return self.next_spectrum(format);
        }
        let Some((line, cells)) = self.next()? else { return Ok(None) };
        let names = self.columns.iter().map(String::as_str);
        let record = SpectrumRecord::of_cells(names.zip(cells.iter().map(String::as_str)));
        let record = record.map_err(|(_, reason)| Error::line(&self.path, line, reason))?;
        Ok(Some((line, record)))
    }

    /// Returns the next tandem spectrum that can be used; spectra before it that cannot are skipped, if they may be.
    pub(crate) fn next_good_spectrum(&mut self) -> Result<Option<SpectrumRecord>, Error> {
        loop {
            let usable = self.next_row_of_spectrum().and_then(|read| {
                let Some((line, record)) = read else { return Ok(None) };
                let text = record.spectrum(self.path.parent());
                text.map_err(|(at, reason)| Error::line(&self.path, line + at, reason))?;
                Ok(Some(record))
            });
            match usable {
                Ok(record) => return Ok(record),
                Err(error) => self.skip(error)?,
            }
        }
    }

    /// Lists the first skipped rows in the log, and counts them: beside so many others.
    pub(crate) fn log_skipped(&self, others: usize) -> usize {
        self.bad.log_all(&self.path, others, 0)
    }

    /// Returns the names of all columns: of the header, or those keys of the objects that hold what a cell can hold, or
    /// the fields of the first spectrum; and the other keys of the objects.
    pub(super) fn names(mut self) -> Result<TableHeader, Error> {
        if let TextFormat::Spectra(format) = self.format {
            loop {
                match self.next_spectrum(format) {
                    Ok(Some((_, record))) => return Ok(TableHeader::of(record.names())),
                    Ok(None) => return Err(self.no_rows()),
                    Err(error) => self.skip(error)?,
                }
            }
        }
        if self.format == TextFormat::Structures {
            return self.names_of_structures();
        }
        if self.format == TextFormat::JsonLines {
            return self.names_of_objects();
        }
        Ok(TableHeader { comments: self.comments, ..TableHeader::of(self.header) })
    }

    /// Returns the keys of all lines, in the order of their first occurrence: those whose value a cell can hold on nearly all
    /// lines that have one, and the others. Lines that are no objects are left out, unless there is no other.
    fn names_of_objects(mut self) -> Result<TableHeader, Error> {
        self.bad = BadRows::new(OnBadRow::Skip, false);
        // the numbers of lines on which the value of a key is a list of texts, one of numbers, another cell, neither, and an
        // empty list
        let mut names: Vec<(String, [usize; 5])> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut count = 0;
        loop {
            let keys = match self.lines.next(|_| true) {
                Ok(Some((line, text))) => json_names(&self.path, line, text),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            let keys = match keys {
                Ok(keys) => keys,
                Err(error) => {
                    self.skip(error)?;
                    continue;
                }
            };
            count += 1;
            for (key, kind) in keys {
                let kinds = [
                    ValueKind::List,
                    ValueKind::Numbers,
                    ValueKind::Cell,
                    ValueKind::Nested,
                    ValueKind::EmptyList,
                ];
                let lines = kinds.map(|other| usize::from(kind == other));
                match places.get(&key) {
                    Some(&place) => {
                        let (_, seen) = &mut names[place];
                        *seen = [0, 1, 2, 3, 4].map(|at| seen[at] + lines[at]);
                    }
                    None => {
                        places.insert(key.clone(), names.len());
                        names.push((key, lines));
                    }
                }
            }
        }
        if count == 0 {
            return Err(self.no_rows());
        }
        let mut header = TableHeader::default();
        for (key, [lists, numbers, cells, others, empty_lists]) in names {
            if LINES_OF_A_NESTED * others > lists + numbers + cells {
                header.nested.push(key);
                continue;
            }
            if lists > 0 && LINES_OF_A_NESTED * (numbers + cells) <= lists {
                header.lists.push(key.clone());
            }
            if numbers > 0 && LINES_OF_A_NESTED * (lists + cells) <= numbers {
                header.number_lists.push(key.clone());
            }
            if empty_lists > 0 {
                header.empty_lists.push(key.clone());
            }
            header.names.push(key);
        }
        Ok(header)
    }

    /// Returns the names of the data of all records, in the order of their first occurrence.
    fn names_of_structures(mut self) -> Result<TableHeader, Error> {
        let mut names: Vec<String> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        while let Some((_, text)) = next_structure_text(&mut self.lines, &mut self.rest)? {
            for name in StructureRecord::new(&text).names() {
                if !seen.contains(name) {
                    seen.insert(name.to_owned());
                    names.push(name.to_owned());
                }
            }
        }
        if names.is_empty() { Err(Error::empty(&self.path)) } else { Ok(TableHeader::of(names)) }
    }

    /// Returns the error about a file of which no row was read.
    pub(super) fn no_rows(&self) -> Error {
        let none = || match self.format {
            TextFormat::Spectra(_) => {
                Error::file(&self.path, "no tandem spectra; at least one is needed")
            }
            TextFormat::Lines
            | TextFormat::Tabs
            | TextFormat::Commas
            | TextFormat::JsonLines
            | TextFormat::Structures => Error::empty(&self.path),
        };
        self.bad.first(&self.path).unwrap_or_else(none)
    }

    /// Keeps an error about a row if such rows are skipped.
    ///
    /// # Errors
    /// Every other error.
    pub(super) fn skip(&mut self, error: Error) -> Result<(), Error> {
        if self.torn { Err(error) } else { self.bad.take(error) }
    }
}

/// Returns whether `::` divides what a record has as its first field: the only one, or, where a title or genres behind it have signs
/// that separate fields too, one that begins with a number.
fn has_double_colons(fields: &[String]) -> bool {
    let Some((first, others)) = fields.split_first() else { return false };
    let begins_with_number = first.starts_with(|c: char| c.is_ascii_digit());
    first.matches(DOUBLE_COLON).count() > 1 && (others.is_empty() || begins_with_number)
}

/// Returns whether a field begins with a quotation mark without a partner in it.
fn has_open_quotation(field: &str) -> bool {
    field.starts_with('"') && field.matches('"').count() % 2 == 1
}

/// Returns a field of [`TextFormat::Tabs`] without the quotation marks that a program put around it, as pandas does where it has some: it
/// begins and ends with a mark, and those between, two at least, are all doubled, which they are in no text.
fn unquoted(field: &str) -> Cow<'_, str> {
    let inner = field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if inner.contains("\"\"") && !inner.replace("\"\"", "").contains('"') => {
            Cow::Owned(inner.replace("\"\"", "\""))
        }
        Some(_) | None => Cow::Borrowed(field),
    }
}
