//! Tables with named columns, from CSV, TSV and JSON-lines files, and [files of spectra](dsokr_spectra).
//!
//! | extension | fields | names of columns |
//! |---|---|---|
//! | `.csv` | separated by commas, or by `;`, tabs or `\|` where the first records are or a line `sep=;` says so, quoted as in RFC 4180 | first record |
//! | `.tsv` | separated by tabs, not quoted; as `.csv`, where no line has tabs and another sign separates all | first line |
//! | `.jsonl`, `.ndjson` | one JSON object a line; strings, or numbers kept as written | keys of each object |
//! | `.parquet`, with the feature `parquet` | as of JSON lines, numbered as rows | names of columns |
//! | `.sdf`, `.sd`, `.mol` | molecules, as SMILES, with their data | `smiles`, `title` and the names of the data |
//! | `.mgf`, `.msp`, `.massbank`, `.mzml` | fields of mass spectra | names of fields |
//!
//! Where blanks follow each separator of the first record of a .csv file, those behind separators are no part of fields. In
//! lines of JSON, bare `NaN` and `Infinity` are null.
//!
//! A `"` in a .tsv file is a character like others, unless the names of all columns stand between two, or a field does and all
//! marks within it are doubled, two at least.
//!
//! Lines at the start of a .csv or .tsv file that begin with `#` are comments, where the line behind them has several fields. One
//! with as many fields has the names of the columns, unless there are several and a blank follows its `#`.
//!
//! Where tabs separate fields, and each of the first records has a name of its own before as many fields as there are names of
//! columns, as R writes them, the name of the column of these is empty.
//!
//! In a .csv or .tsv file `FIRST..LAST` is one column too: the cells of the columns from one to the other, with a space
//! between.
//!
//! Files of text whose name ends with a further `.gz` are decompressed while they are read. Text is UTF-8, with or without
//! a byte-order mark; lines end with `\n` or `\r\n`; blank lines are allowed at the end only, and between spectra. A
//! single `\r` is an error in CSV, unless it is quoted, and a character elsewhere.

mod bad_rows;
mod compression;
mod fields;
mod formats;
mod ids;
mod json;
mod layout;
mod lines;
mod names;
mod paired;
mod record;
mod rows;
mod separators;
mod structures;
mod text_reader;
mod unread;

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;
use std::path::{Path, PathBuf};

use dsokr_core::Cancellation;
use dsokr_core::message::{list, shorten};
use dsokr_molecule::Molecule;
use rayon::prelude::*;

use crate::error::Error;
use crate::joined::parts;
use bad_rows::BadRows;
use fields::without_blanks_before;
use unread::named_format;

pub use bad_rows::OnBadRow;
pub(crate) use bad_rows::skipped_rows;
pub use formats::{TABLE_FORMATS, TableFormat, TextFormat, all_extensions, extensions, open_text};
pub use ids::unique_ids;
pub(crate) use ids::{bad_ids, index_ids, row_id};
pub(crate) use layout::Header;
pub(crate) use lines::{Lines, Pieces};
pub(crate) use rows::{RowOptions, Rows};
pub use text_reader::{TextReader, TextRow};

/// How a table is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    /// What to do about a row that cannot be read.
    pub on_bad_row: OnBadRow,
    /// The name of a column of the numbers of the lines, if there is to be one.
    pub numbers: Option<&'a str>,
    /// Whether the first line of a .csv or .tsv file is a row as others; columns are then `column_1`, `column_2` and so
    /// on.
    pub headless: bool,
    /// Whether lines of JSON may lack keys, whose cells are then empty.
    pub optional_keys: bool,
    /// The column of sets of labels and their separator, if there is one: its cells have the lists of JSON lines as
    /// [`cells::of_labels`](crate::cells::of_labels) writes them.
    pub sets: Option<(&'a str, char)>,
}

impl<'a> TableOptions<'a> {
    /// Returns the options of the rows of such a table.
    pub(crate) fn of_rows(self) -> RowOptions<'a> {
        let Self { on_bad_row, headless, optional_keys, sets, numbers: _ } = self;
        let header = if headless { Header::Places } else { Header::FirstRecord };
        RowOptions { on_bad_row, header, optional_keys, optional_column: None, sets }
    }
}

/// The names of a table's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableHeader {
    /// The names of all columns.
    pub names: Vec<String>,
    /// Keys of JSON lines that are no columns, since no cell holds their values: on more than a few lines, these are neither
    /// strings, numbers nor lists of these.
    pub nested: Vec<String>,
    /// The names of columns whose values are lists of texts in JSON lines, but for a few lines; a cell has the texts of a list
    /// with `;` between, or the list as JSON where these would be read as others.
    pub lists: Vec<String>,
    /// The names of columns whose values are lists of numbers in JSON lines, but for a few lines; a cell has the numbers of a list
    /// with spaces between.
    pub number_lists: Vec<String>,
    /// The names of columns that have an empty list on some line of JSON lines.
    pub empty_lists: Vec<String>,
    /// Number of lines before the names that are comments, which begin with `#`.
    pub comments: usize,
}

impl TableHeader {
    /// Returns whether a column has a name. Blanks before it need not be those of the file.
    pub(crate) fn has(&self, name: &str) -> bool {
        let plain = without_blanks_before(name);
        self.names.iter().any(|column| column == name || column == plain)
    }

    /// Returns the names of the columns that `FIRST..LAST` stands for; none of the name of one column.
    pub fn range(&self, column: &str) -> Option<&[String]> {
        let (first, last) = column.split_once("..").filter(|_| !self.has(column))?;
        let position = |name: &str| {
            let plain = without_blanks_before(name);
            self.names.iter().position(|column| column == name || column == plain)
        };
        self.names.get(position(first)?..=position(last)?)
    }

    /// Creates the header of columns whose values are no lists.
    fn of(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }
}

/// Some columns of a table file, as text, with the line of each row.
///
/// ```
/// use dsokr_data::table::{Table, unique_ids};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("queries.tsv");
/// std::fs::write(&path, "cid\tdescription\n7\tThe \"molecule\" is an acid.\n9\tAn alcohol.\n")?;
///
/// let table = Table::read(&path, &["description", "cid"])?;
/// assert_eq!(table.len(), 2);
/// assert_eq!(table.column("description")?[0], "The \"molecule\" is an acid.");
/// assert_eq!(table.line(1), 3);
/// assert_eq!(unique_ids(&table, "cid")?["9"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    path: PathBuf,
    names: Vec<String>,
    columns: Vec<Vec<String>>,
    lines: Vec<usize>,
    bad: BadRows,
    /// The further files that rows are from.
    others: Vec<PathBuf>,
    /// The file of each row: 0 for `path`, else one of the others, from 1; empty where there are none.
    files: Vec<u32>,
    /// The connectivity of each molecule, of columns whose SMILES have been read.
    molecules: BTreeMap<String, Vec<Option<u64>>>,
}

impl Table {
    /// Reads the named columns of a table; the extension, in any case, says which format it has.
    ///
    /// Other columns are checked for their number and dropped. A name given twice is read once.
    ///
    /// # Errors
    /// Whatever is wrong with the file, with its line.
    pub fn read(path: &Path, columns: &[&str]) -> Result<Table, Error> {
        Self::read_rows(path, columns, OnBadRow::Stop)
    }

    /// Reads a table like [`read`](Self::read). With [`OnBadRow::Skip`] it leaves out blank lines, lines with the names of
    /// several columns again, rows with a wrong number of fields, rows with a carriage return that no line feed
    /// follows, and rows that are not UTF-8 or not JSON objects with these keys. In a CSV file a quotation mark without a
    /// partner is an error nevertheless, since the end of the row is unknown.
    ///
    /// # Errors
    /// Whatever else is wrong with the file, with its line.
    pub fn read_rows(path: &Path, columns: &[&str], on_bad_row: OnBadRow) -> Result<Table, Error> {
        Self::read_with(path, columns, TableOptions { on_bad_row, ..TableOptions::default() })
    }

    /// Reads a table like [`read_rows`](Self::read_rows), with further options.
    ///
    /// # Errors
    /// The errors of [`read_rows`](Self::read_rows).
    pub fn read_with(path: &Path, columns: &[&str], options: TableOptions) -> Result<Table, Error> {
        let names = columns.iter().copied().filter(|&name| options.numbers != Some(name));
        Self::collect(path, named_format(path)?, distinct(names), options)
    }

    /// Returns the names of a table's columns. Lines of JSON and records of SD files are all read, since one may lack what others
    /// have. Blank lines before the names are skipped where bad rows are.
    ///
    /// # Errors
    /// A file that is not a table, cannot be read or is empty.
    pub fn header(path: &Path, options: TableOptions) -> Result<TableHeader, Error> {
        let format = named_format(path)?;
        Rows::new(path, open_text(path)?, format, Vec::new(), options.of_rows())?.names()
    }

    /// Reads a file with one text a line and nothing else: the column `text`, and the column `id`, which
    /// holds the numbers of the lines, from 1.
    ///
    /// # Errors
    /// A file that cannot be read or is empty; a line that is not UTF-8 or is blank, unless such lines are
    /// skipped.
    pub fn read_lines(
        path: &Path,
        id: &str,
        text: &str,
        on_bad_row: OnBadRow,
    ) -> Result<Table, Error> {
        let options = TableOptions { on_bad_row, numbers: Some(id), ..TableOptions::default() };
        Self::collect(path, TextFormat::Lines, vec![text.to_owned()], options)
    }

    /// Creates a table of columns, all of one length, and one of ids, the numbers of the rows from 1, which count as
    /// their lines.
    pub(crate) fn numbered<const N: usize>(
        path: &Path,
        id: &str,
        columns: [(&str, Vec<String>); N],
    ) -> Self {
        let lines: Vec<usize> = (1..=columns.first().map_or(0, |(_, all)| all.len())).collect();
        let ids = lines.iter().map(usize::to_string).collect();
        let columns = std::iter::once((id, ids)).chain(columns);
        let (names, columns) = columns.map(|(name, values)| (name.to_owned(), values)).unzip();
        Self::of_file(path, names, columns, lines, BadRows::default())
    }

    /// Creates the columns `names` of a file, behind a column of the numbers of their lines, if there is to be one.
    fn collect(
        path: &Path,
        format: TextFormat,
        names: Vec<String>,
        options: TableOptions,
    ) -> Result<Self, Error> {
        let parts = distinct(names.iter().flat_map(|name| parts(name)));
        let mut rows = Rows::new(path, open_text(path)?, format, parts, options.of_rows())?;
        let mut columns = vec![Vec::new(); rows.columns.len()];
        let mut lines = Vec::new();
        loop {
            match rows.next() {
                Ok(None) => break,
                Ok(Some((line, row))) => {
                    lines.push(line);
                    columns.iter_mut().zip(row).for_each(|(all, one)| all.push(one));
                }
                Err(error) => rows.skip(error)?,
            }
        }
        if lines.is_empty() && (!rows.has_header || rows.has_other_levels) {
            return Err(rows.no_rows());
        }
        let mut columns = joined(&names, &rows.columns, columns);
        let mut names = names;
        if let Some(name) = options.numbers {
            names.insert(0, name.to_owned());
            columns.insert(0, lines.iter().map(usize::to_string).collect());
        }
        let table = Self::of_file(&rows.path, names, columns, lines, rows.bad);
        table.first_bad_if_empty()?;
        if table.is_empty() {
            let found = format!("zero rows after the header (columns: {})", list(&rows.header));
            return Err(Error::file(&table.path, found + "; at least one is needed"));
        }
        Ok(table)
    }

    /// Returns the error about a row.
    pub(crate) fn error(&self, row: usize, message: impl std::fmt::Display) -> Error {
        Error::line(self.path_of(row), self.lines[row], message)
    }

    /// Returns the file of a row.
    fn path_of(&self, row: usize) -> &Path {
        match self.files.get(row) {
            Some(&file) if file > 0 => &self.others[file as usize - 1],
            Some(_) | None => &self.path,
        }
    }

    /// Returns the same table with `FILE row LINE` for the id of each row.
    pub(crate) fn with_row_ids(mut self, id: &str) -> Result<Self, Error> {
        let position = self.position(id)?;
        let ids = (0..self.len()).map(|row| row_id(self.path_of(row), self.lines[row]));
        self.columns[position] = ids.collect();
        Ok(self)
    }

    /// Returns the rows of two files, one file behind the other; ids in a column are unique. The second file has no other
    /// columns than the first, and its cells are empty in those that it lacks.
    ///
    /// # Errors
    /// An id that both files have.
    pub(crate) fn followed_by(mut self, other: Self, id: &str) -> Result<Self, Error> {
        let rows_of_ids = unique_ids(&self, id)?;
        for (row, name) in other.column(id)?.iter().enumerate() {
            if let Some(&first) = rows_of_ids.get(name.as_str()) {
                let place = format!("{}:{}", self.path_of(first).display(), self.lines[first]);
                let message = format!(
                    "id {:?} in column {id:?} is that of {place} too; outputs of all files are candidates together, so \
                     ids must be unique: without them, data.numbered = true makes some",
                    shorten(name)
                );
                return Err(other.error(row, message));
            }
        }
        drop(rows_of_ids);
        self.files.resize(self.len(), 0);
        self.others.push(other.path);
        self.files.resize(self.lines.len() + other.lines.len(), self.others.len() as u32);
        self.lines.extend(other.lines);
        for (name, values) in other.names.iter().zip(other.columns) {
            let position = self.position(name)?;
            self.columns[position].extend(values);
        }
        let rows = self.lines.len();
        self.columns.iter_mut().for_each(|column| column.resize(rows, String::new()));
        // those of the other file may not have been read
        self.molecules.clear();
        Ok(self)
    }

    /// Returns the place of each id of a column in an index of all of `what`, or the error about its row.
    pub(crate) fn places<'t, K: Borrow<str> + Eq + Hash>(
        &'t self,
        column: &str,
        index: &'t HashMap<K, usize>,
        what: String,
    ) -> Result<impl Iterator<Item = Result<usize, Error>> + 't, Error> {
        Ok(self.column(column)?.iter().enumerate().map(move |(row, id)| {
            let unknown = || self.error(row, format!("id {id:?} is not among {what}"));
            index.get(id.as_str()).copied().ok_or_else(unknown)
        }))
    }

    /// Creates the rows of one file.
    fn of_file(
        path: &Path,
        names: Vec<String>,
        columns: Vec<Vec<String>>,
        lines: Vec<usize>,
        bad: BadRows,
    ) -> Self {
        let others = Vec::new();
        let files = Vec::new();
        let molecules = BTreeMap::new();
        Self { path: path.into(), names, columns, lines, bad, others, files, molecules }
    }

    /// Returns some rows, in a given order.
    ///
    /// # Panics
    /// If a row is not below [`Table::len`].
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |column: &Vec<String>| rows.iter().map(|&row| column[row].clone()).collect();
        self.with_columns(self.columns.iter().map(pick).collect(), rows.iter().copied())
    }

    /// Returns some rows, each given once, in a given order, without a copy of their cells.
    ///
    /// # Panics
    /// If a row is not below [`Table::len`].
    pub(crate) fn into_rows(mut self, rows: &[usize]) -> Self {
        let take = |mut column: Vec<String>| {
            rows.iter().map(|&row| std::mem::take(&mut column[row])).collect()
        };
        let columns = std::mem::take(&mut self.columns).into_iter().map(take).collect();
        self.with_columns(columns, rows.iter().copied())
    }

    /// Takes some rows without a copy of their cells. The table has empty cells in them afterwards.
    ///
    /// # Panics
    /// If a row is not below [`Table::len`].
    pub(crate) fn take_rows(&mut self, rows: Range<usize>) -> Self {
        let take = |column: &mut Vec<String>| {
            column[rows.clone()].iter_mut().map(std::mem::take).collect()
        };
        let columns = self.columns.iter_mut().map(take).collect();
        self.with_columns(columns, rows)
    }

    /// Returns a table with these cells, which are those of some of the rows.
    fn with_columns(
        &self,
        columns: Vec<Vec<String>>,
        rows: impl Iterator<Item = usize> + Clone,
    ) -> Self {
        Self {
            path: self.path.clone(),
            names: self.names.clone(),
            columns,
            lines: rows.clone().map(|row| self.lines[row]).collect(),
            bad: self.bad.clone(),
            others: self.others.clone(),
            files: rows.clone().filter_map(|row| self.files.get(row).copied()).collect(),
            molecules: self
                .molecules
                .iter()
                .map(|(name, all)| (name.clone(), rows.clone().map(|row| all[row]).collect()))
                .collect(),
        }
    }

    /// Reads the SMILES of a column, whose [`molecules`](Self::molecules) are known as long as its cells do not change.
    pub(crate) fn read_molecules(&mut self, column: &str) -> Result<(), Error> {
        let cells = self.column(column)?;
        let stage = Cancellation::current().stage("molecules of the table", cells.len());
        let connectivity = |cell: &String| {
            stage.advance(1)?;
            Ok(Molecule::parse(cell).ok().map(|molecule| molecule.connectivity()))
        };
        let all: Result<_, Error> = cells.par_iter().map(connectivity).collect();
        self.molecules.insert(column.to_owned(), all?);
        Ok(())
    }

    /// Returns the [connectivity](Molecule::connectivity) of the molecule in each cell of a column, where the column
    /// [has been read](Self::read_molecules). A cell that is not a SMILES has none.
    pub(crate) fn molecules(&self, column: &str) -> Option<&[Option<u64>]> {
        self.molecules.get(column).map(Vec::as_slice)
    }

    /// Returns the file that was read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of rows; at least one.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns false: a table without rows is refused when it is read.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the values of a column, in the order of the file.
    ///
    /// # Errors
    /// [`Error::Column`] if the column was not among those read.
    pub fn column(&self, name: &str) -> Result<&[String], Error> {
        Ok(&self.columns[self.position(name)?])
    }

    /// Takes the values of a [`column`](Self::column) without a copy. The table has empty values in it afterwards.
    pub(crate) fn take_column(&mut self, name: &str) -> Result<Vec<String>, Error> {
        let position = self.position(name)?;
        self.molecules.remove(name);
        Ok(self.columns[position].iter_mut().map(std::mem::take).collect())
    }

    /// Replaces each cell of a column by a part of it, and returns the number of cells that change.
    pub(crate) fn shorten_cells(
        &mut self,
        column: &str,
        part: impl Fn(&str) -> &str,
    ) -> Result<usize, Error> {
        let position = self.position(column)?;
        self.molecules.remove(column);
        let mut changed = 0;
        for cell in &mut self.columns[position] {
            let left = part(cell);
            if left.len() < cell.len() {
                *cell = left.to_owned();
                changed += 1;
            }
        }
        Ok(changed)
    }

    /// Puts other values into a column, one for each row.
    pub(crate) fn replace(&mut self, name: &str, values: Vec<String>) -> Result<(), Error> {
        let position = self.position(name)?;
        self.molecules.remove(name);
        self.columns[position] = values;
        Ok(())
    }

    /// Returns the position of a column among those that were read.
    fn position(&self, name: &str) -> Result<usize, Error> {
        let position = self.names.iter().position(|column| column == name);
        position.ok_or_else(|| Error::missing_column(&self.path, name, &self.names))
    }

    /// Returns the line of the file, from 1, on which a row starts: for messages about the row.
    ///
    /// # Panics
    /// If `row` is not below [`Table::len`].
    pub fn line(&self, row: usize) -> usize {
        self.lines[row]
    }
}

/// Returns the columns of `names`, of which some stand for several of those that were read.
fn joined(names: &[String], read: &[String], columns: Vec<Vec<String>>) -> Vec<Vec<String>> {
    if names == read {
        return columns;
    }
    let position = |part: &str| read.iter().position(|name| name == part);
    let column = |name: &String| {
        let cells: Vec<&Vec<String>> =
            parts(name).filter_map(position).map(|at| &columns[at]).collect();
        let row = |row: usize| {
            let cells: Vec<&str> = cells.iter().map(|column| column[row].as_str()).collect();
            cells.join(" ")
        };
        (0..cells.first().map_or(0, |column| column.len())).map(row).collect()
    };
    names.iter().map(column).collect()
}

/// Returns the names without those that stand before.
fn distinct<'c>(names: impl Iterator<Item = &'c str>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.filter(|&name| seen.insert(name)).map(str::to_owned).collect()
}
