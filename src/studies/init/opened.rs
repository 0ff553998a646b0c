//! A table that has been read: its rows, its columns, and what its first lines say of these.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::message::list;
use dsokr_data::table::{OnBadRow, Table, TableHeader, TableOptions, TextFormat};
use rayon::prelude::*;

use super::column_cells::Exceptions;
use super::columns::Column;
use super::header::{self, HeaderLine};
use super::kind::{ColumnKind, Lists, StatedKind};
use super::nested::remedy_of_nested;
use super::qualifiers::find_qualifiers;
use super::roles::Roles;
use super::{Choices, LEAST, Nameless};
use crate::error::{Error, ensure};

/// The largest share of lines that are not rows, as a divisor: where more are not, the table is not what it seems.
const MALFORMED: usize = 10;

/// How a table was read: its rows, its first lines, and what is left out.
#[derive(Clone, Debug)]
pub struct TableFacts {
    /// Number of rows, with those that cannot be read.
    pub rows: usize,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
    /// Number of lines before the names of the columns that are comments.
    pub comments: usize,
    /// Lines that are not rows: blank ones, and those with more or fewer fields.
    pub malformed: Exceptions,
    /// The names of columns that are left out: their values are not texts, numbers or lists of these.
    pub nested: Vec<String>,
    /// The names of several columns each, which are left out.
    pub repeated: Vec<String>,
    /// Which columns without a name are left out; none if there are none.
    pub nameless: Option<Nameless>,
    /// The line below the names of the columns that is no row either, but read as one.
    pub header_line: Option<HeaderLine>,
}

/// Neighbouring columns of numbers that are one input, a vector in each row. They are read as one column, which is the last one.
struct InputRange {
    /// `FIRST..LAST`.
    name: String,
    /// The names of the columns.
    columns: Vec<String>,
}

impl InputRange {
    /// Finds the columns that a name stands for; none of the name of one column.
    fn of(header: &TableHeader, name: &str) -> Option<Self> {
        let columns = header.range(name)?.to_vec();
        Some(Self { name: name.to_owned(), columns })
    }
}

/// A table that has been read.
pub(super) struct OpenTable {
    /// Its path.
    path: PathBuf,
    /// The rows, with the columns whose names are not repeated.
    pub table: Table,
    /// Whether it has fields with tabs or commas between.
    has_fields: bool,
    /// The names of the columns that are read.
    names: Vec<String>,
    /// `FIRST..LAST`, where the input is the columns from one to the other.
    input_range: Option<InputRange>,
    /// What the columns hold whose values are lists.
    lists: HashMap<String, Lists>,
    /// How it was read.
    pub facts: TableFacts,
}

impl OpenTable {
    /// Reads a table. `header` says whether its first line has the names of the columns, where the caller knows it; `input` is the
    /// column of the inputs, or several, where the caller has chosen.
    ///
    /// # Errors
    /// A file that is not a table; fewer than ten rows.
    pub fn read(path: &Path, header: Option<bool>, input: Option<&str>) -> Result<Self, Error> {
        let named = Table::header(path, TableOptions::default())?;
        let has_fields = TextFormat::from_path(path).has_separators();
        let headless = has_fields
            && match header {
                Some(header) => !header,
                None => header::is_missing(path, &named.names)?,
            };
        let options = TableOptions { headless, optional_keys: true, ..TableOptions::default() };
        let read = if headless { Table::header(path, options)? } else { named };
        let lists = lists_of(&read);
        let input_range =
            input.filter(|_| has_fields).and_then(|input| InputRange::of(&read, input));
        let TableHeader { names: all, nested, comments, .. } = read;
        let nameless = Nameless::among(&all);
        let [mut names, repeated] = once_and_repeated(&all);
        if let Some(InputRange { name: range, columns }) = &input_range {
            names.retain(|name| !columns.contains(name));
            names.push(range.clone());
        }
        let read_names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (table, malformed) = read_rows(path, &read_names, options)?;
        let valid = table.len();
        let allowed = format!("at least {LEAST}, to have training, validation and test pairs");
        ensure(valid >= LEAST, "rows of the table", valid, allowed)?;
        let header_line = header::further_line(&table, &read_names)?;
        let facts = TableFacts {
            rows: valid + malformed.count,
            has_header: !headless,
            comments,
            malformed,
            nested,
            repeated,
            nameless,
            header_line,
        };
        let path = path.to_path_buf();
        Ok(Self { path, table, has_fields, names, input_range, lists, facts })
    }

    /// Looks at the columns, some of which are of `stated` kinds.
    ///
    /// # Errors
    /// A stated kind of no column; the errors of [`Column::read`].
    pub fn columns(&self, stated: &[StatedKind]) -> Result<Vec<Column>, Error> {
        for StatedKind { column, .. } in stated {
            let nested = &self.facts.nested;
            if nested.contains(column) {
                let remedy = remedy_of_nested(&self.path, nested).unwrap_or_default();
                let message = format!("no column {column:?}{}{remedy}", left_out(nested, None));
                return Err(Error::run(&self.path, message));
            }
            // the error names the columns that are there
            self.table.column(column)?;
        }
        let column = |(position, name): (usize, &String)| {
            if let Some(range) = self.input_range.as_ref().filter(|range| range.name == *name) {
                let kind = ColumnKind::Vectors(range.columns.len());
                let allowed = "columns of numbers alone: no row has one in each";
                let none = |_| Error::value(Argument::new("input"), format!("{name:?}"), allowed);
                return Column::read_as(&self.table, position, name, kind).map_err(none);
            }
            let kind = stated.iter().find(|stated| stated.column == *name);
            let kind = kind.map(|stated| stated.kind);
            Column::read(&self.table, position, name, kind, self.lists.get(name).copied())
        };
        let columns: Vec<Result<Column, Error>> =
            self.names.par_iter().enumerate().map(column).collect();
        let mut columns = columns.into_iter().collect::<Result<Vec<Column>, Error>>()?;
        find_qualifiers(&self.table, &mut columns)?;
        Ok(columns)
    }

    /// Chooses inputs, outputs and ids among columns that can be learned.
    ///
    /// # Errors
    /// The errors of [`Roles::choose`], in whose place is that of a repeated name where there is one.
    pub fn roles(&self, learned: &[Column], choices: &Choices) -> Result<Roles, Error> {
        let TableFacts { has_header, nested, repeated, nameless, .. } = &self.facts;
        let left_out = || {
            let remedy = remedy_of_nested(&self.path, nested).unwrap_or_default();
            left_out(nested, nameless.as_ref()) + &remedy
        };
        let input = choices.input.as_deref();
        let roles = Roles::choose(learned, &self.table, input, &choices.outputs, &left_out);
        let (Err(_), Some(name)) = (&roles, repeated.first()) else { return roles };
        let mut message = format!("several columns are named {name:?}; give them different names");
        if self.has_fields && *has_header {
            let switch = Argument::switch("no-header");
            message += &format!(", or {switch} where the first line is a row");
        }
        Err(Error::run(&self.path, message))
    }

    /// Refuses a table of which fewer than ten rows are pairs, since so many lack an input or output.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`].
    pub fn check_pairs(&self, unusable: usize) -> Result<(), Error> {
        let rows = self.table.len();
        let pairs = rows - unusable;
        let found = format!("{pairs}, since {unusable} of {rows} rows lack an input or output");
        let allowed = format!("at least {LEAST}: name different columns");
        ensure(pairs >= LEAST, "pairs of the table", found, allowed)
    }
}

/// Returns what the columns hold whose values are lists, by their names.
pub(super) fn lists_of(header: &TableHeader) -> HashMap<String, Lists> {
    let of_numbers = header.number_lists.iter().map(|name| {
        let some_empty = header.empty_lists.contains(name);
        (name.clone(), if some_empty { Lists::NumbersOrNone } else { Lists::Numbers })
    });
    let of_texts = header.lists.iter().map(|name| (name.clone(), Lists::Texts));
    of_numbers.chain(of_texts).collect()
}

/// Returns the names that one column has, in their order, and those that several have.
fn once_and_repeated(names: &[String]) -> [Vec<String>; 2] {
    let mut counts: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let named = names.iter().filter(|name| !name.is_empty()).cloned();
    let (once, mut repeated): (Vec<String>, Vec<String>) =
        named.partition(|name| counts[name.as_str()] == 1);
    repeated.sort();
    repeated.dedup();
    [once, repeated]
}

/// Returns what errors about columns say of those that are left out: nothing where none is.
fn left_out(nested: &[String], nameless: Option<&Nameless>) -> String {
    let mut text = String::new();
    if !nested.is_empty() {
        let names = list(nested);
        text += &format!(
            "; left out, since their values are objects, or lists that are not of texts alone or numbers \
             alone: {names}"
        );
    }
    if let Some(nameless) = nameless {
        text += &format!("; {nameless}");
    }
    text
}

/// Returns the rows of a table, and the lines that are none, which must be few.
fn read_rows(
    path: &Path,
    names: &[&str],
    options: TableOptions,
) -> Result<(Table, Exceptions), Error> {
    let skipping = TableOptions { on_bad_row: OnBadRow::Skip, ..options };
    let table = Table::read_with(path, names, skipping)?;
    let count = table.skipped();
    if MALFORMED * count > table.len() {
        // the first of them is the error
        return Ok((Table::read_with(path, names, options)?, Exceptions::default()));
    }
    let first = table.first_skipped().map(|(line, message)| (line, message.to_owned()));
    Ok((table, Exceptions { count, first }))
}
