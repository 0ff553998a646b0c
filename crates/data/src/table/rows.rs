//! Rows of a table or a stream of texts in each of the formats, one in memory at a time.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use dsokr_core::message::list;
use dsokr_spectra::{FileContext, Record as SpectrumRecord, SpectrumFormat};

use super::bad_rows::{BadRows, OnBadRow};
use super::fields::{Cell, positions, values};
use super::formats::TextFormat;
use super::json::{Keys, json_row};
use super::layout::{Header, Layout};
use super::lines::{Lines, Pieces};
use super::paired::PairColumn;
use super::record::{Dialect, Record};
use super::structures::{self, StructureRecord};
use super::unread::{DOUBLE_COLON, remedy_of_double_colons};
use crate::error::Error;

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
    pub(super) comments: usize,
    /// How the fields of [`TextFormat::Commas`] are divided and quoted.
    dialect: Dialect,
    /// The first record, where it was read for its number of fields.
    first: Option<(usize, Vec<String>)>,
    /// The positions of `columns` among all columns of the file.
    positions: Vec<Cell>,
    /// The column of peaks that are pairs, whose columns of lists are behind those of the file.
    pairs: Option<PairColumn>,
    /// Whether the end of the last row is not known, so that it cannot be skipped: a quotation mark is left open.
    torn: bool,
    /// Whether the last field of the last row, of [`TextFormat::Tabs`], begins with a quotation mark without a partner.
    opens: bool,
    /// What a file of spectra says about all of them.
    context: FileContext,
    /// What follows a spectrum or a structure without its end.
    pub(super) rest: Option<Rest>,
    /// Whether lines of JSON may lack keys, which are then empty.
    optional_keys: bool,
    /// The key that lines of JSON may lack in any case.
    optional_key: Option<String>,
    /// The separator of labels, of each column; none of columns that are no sets of labels.
    separators: Vec<Option<char>>,
    /// Whether spectra of tables were left out, since they state other MS levels than 2.
    pub(super) has_other_levels: bool,
}

/// The line on which a row starts, and its cells; none of a row whose spectrum states another MS level than 2.
type ReadRow = (usize, Option<Vec<String>>);

/// Spectra or structures that follow one without its end.
pub(super) struct Rest {
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
pub(super) fn next_structure_text<'l, R: Read>(
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
    /// The column, behind all others, that is not read where the first record does not name it once; as a key, it is empty on the
    /// lines of JSON that lack it.
    pub optional_column: Option<&'a str>,
    /// The column of sets of labels and their separator.
    pub sets: Option<(&'a str, char)>,
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
            bad: BadRows::new(on_bad_row, format.is_of_spectra()),
            lines,
            format: layout.format,
            header: columns.clone(),
            has_header: layout.header == Header::FirstRecord,
            comments: layout.comments,
            dialect: layout.dialect,
            first: None,
            positions: (0..columns.len()).map(|at| Cell::Fields(at..=at)).collect(),
            pairs: None,
            separators: columns.iter().map(separator).collect(),
            columns,
            torn: false,
            opens: false,
            context: FileContext::default(),
            rest: None,
            optional_keys,
            optional_key: optional_column.map(str::to_owned),
            has_other_levels: false,
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
        self.pairs = PairColumn::of(&names);
        names.extend(self.pairs.iter().flat_map(PairColumn::names));
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
            TextFormat::Tabs | TextFormat::Commas => self.next_tandem(Self::next_record),
            TextFormat::JsonLines => self.next_tandem(Self::next_object),
            TextFormat::Structures => self.next_structure(),
            TextFormat::Spectra(format) => self.next_cells_of_spectrum(format),
        }
    }

    /// Returns the next of the rows that `next` reads, without those of spectra of other MS levels than 2.
    fn next_tandem(
        &mut self,
        next: impl Fn(&mut Self) -> Result<Option<ReadRow>, Error>,
    ) -> Result<Option<(usize, Vec<String>)>, Error> {
        while let Some((line, cells)) = next(self)? {
            match cells {
                Some(cells) => return Ok(Some((line, cells))),
                None => self.has_other_levels = true,
            }
        }
        Ok(None)
    }

    /// Returns the next record of fields that a separator divides, or its fields in the columns that are read, once these are
    /// known.
    fn next_record(&mut self) -> Result<Option<ReadRow>, Error> {
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
            let names = fields.into_iter().map(Cow::into_owned).collect();
            return Ok(Some((line, Some(names))));
        }
        let added = self.pairs.as_ref().map_or(0, |pairs| pairs.names().len());
        let width = self.header.len() - added;
        let header = &self.header[..width];
        if self.has_header && fields.len() > 1 && fields.iter().eq(header.iter()) {
            let message = "the names of the columns again, as where one file was put behind another; remove the line";
            return Err(Error::line(path, line, message));
        }
        let opens = !is_quoted && fields.last().is_some_and(|field| has_open_quotation(field));
        let follows = std::mem::replace(&mut self.opens, opens);
        if (opens || follows) && fields.len() < width {
            self.torn = true;
            let message = format!(
                "{} fields; expected {} ({}); a field that begins with a quotation mark goes on in the next line: fields of \
                 .tsv files are not quoted unless the names of the columns are, so save the table as .csv, or quote the \
                 names too",
                fields.len(),
                width,
                list(header),
            );
            return Err(Error::line(path, line, message));
        }
        let Some(pairs) = self.pairs.as_ref().filter(|_| fields.len() == width) else {
            return values(path, line, header, &self.positions, fields).map(Some);
        };
        let needed = self.positions.iter().any(|cell| cell.reaches(width));
        let fields = pairs.extended(fields, needed).map_err(|reason| {
            let column = &header[pairs.place()];
            Error::line(path, line, format!("column {column:?} holds {reason}"))
        })?;
        values(path, line, &self.header, &self.positions, fields).map(Some)
    }

    /// Returns the values of the next line of JSON.
    fn next_object(&mut self) -> Result<Option<ReadRow>, Error> {
        let Some((line, text)) = self.lines.next(|_| true)? else { return Ok(None) };
        let keys = Keys {
            names: &self.columns,
            separators: &self.separators,
            are_optional: self.optional_keys,
            optional: self.optional_key.as_deref(),
        };
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
    pub(super) fn next_spectrum(
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

    /// Returns the tandem spectrum of the next row that has one, whose columns are fields of spectra in a table, and the line on which it starts.
    fn next_row_of_spectrum(&mut self) -> Result<Option<(usize, SpectrumRecord)>, Error> {
        if let TextFormat::Spectra(format) = self.format {
            return self.next_spectrum(format);
        }
        while let Some((line, cells)) = self.next()? {
            let names = self.columns.iter().map(String::as_str);
            let record = SpectrumRecord::of_cells(names.zip(cells.iter().map(String::as_str)));
            let record = record.map_err(|(_, reason)| Error::line(&self.path, line, reason))?;
            if record.is_tandem() {
                return Ok(Some((line, record)));
            }
            self.has_other_levels = true;
        }
        Ok(None)
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

    /// Returns the error about a file of which no row was read.
    pub(super) fn no_rows(&self) -> Error {
        let none = || {
            let is_of_spectra = self.has_other_levels || self.format.is_of_spectra();
            if is_of_spectra {
                Error::file(&self.path, "no tandem spectra; at least one is needed")
            } else {
                Error::empty(&self.path)
            }
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
