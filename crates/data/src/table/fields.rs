//! Finds the values of a row among its fields.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use dsokr_core::message::list;
use dsokr_spectra::{PARTS, Record, SPECTRUM};

use crate::error::Error;

/// Returns the line on which a row starts, and the values of its fields, which must be as many as the header has; no values of a
/// row whose spectrum states another MS level than 2.
pub(super) fn values(
    path: &Path,
    line: usize,
    header: &[String],
    positions: &[Cell],
    fields: Vec<Cow<str>>,
) -> Result<(usize, Option<Vec<String>>), Error> {
    let count = fields.len();
    let expected = header.len();
    if count != expected {
        let columns = list(header);
        let are_empty = count > expected && fields[expected..].iter().all(|field| field.is_empty());
        let remedy = if are_empty {
            "; those behind are empty: remove the separators at the ends of lines, or put as many behind the names"
        } else {
            ""
        };
        let message = format!("{count} fields; expected {expected} ({columns}){remedy}");
        return Err(Error::line(path, line, message));
    }
    let value = |cell: &Cell| match cell {
        Cell::Fields(range) => Ok(Some(fields[range.clone()].join(" "))),
        Cell::Spectrum(cells) => {
            let cells = cells.iter().map(|(name, at)| (name.as_str(), &*fields[*at]));
            let wrong = |(_, reason): (usize, String)| Error::line(path, line, reason);
            let record = Record::of_cells(cells).map_err(wrong)?;
            if !record.is_tandem() {
                return Ok(None);
            }
            record.spectrum(path.parent()).map(Some).map_err(wrong)
        }
    };
    Ok((line, positions.iter().map(value).collect::<Result<_, _>>()?))
}

/// The position of a value in a row.
pub(super) enum Cell {
    /// One field, or neighbouring fields with a space between.
    Fields(RangeInclusive<usize>),
    /// Several fields: precursor, m/z and intensities of a spectrum, and what else is known about it, by their names.
    Spectrum(Vec<(String, usize)>),
}

impl Cell {
    /// Returns whether the value has a field from this place on.
    pub(super) fn reaches(&self, place: usize) -> bool {
        match self {
            Self::Fields(range) => *range.end() >= place,
            Self::Spectrum(fields) => fields.iter().any(|(_, at)| *at >= place),
        }
    }
}

/// Returns a name as a table has it whose blanks behind separators belong to no field.
pub(super) fn without_blanks_before(name: &str) -> &str {
    name.trim_start_matches(' ')
}

/// Returns the positions of columns in a header, which must not name one that is read twice. `FIRST..LAST` is the
/// columns from one to the other, unless a column has that name. Blanks before a name need not be those of the header.
pub(super) fn positions(
    path: &Path,
    line: usize,
    header: &[String],
    columns: &[String],
) -> Result<Vec<Cell>, Error> {
    let mut seen: HashMap<&str, Vec<usize>> = HashMap::with_capacity(header.len());
    for (at, name) in header.iter().enumerate() {
        seen.entry(name).or_default().push(at);
    }
    let positions_of =
        |name: &str| seen.get(name).or_else(|| seen.get(without_blanks_before(name)));
    let position = |name: &str| match positions_of(name).map(Vec::as_slice) {
        Some(&[first, second, ..]) => {
            Err(Error::duplicate_column(path, line, name, [first + 1, second + 1]))
        }
        Some(&[at]) => Ok(at),
        Some([]) | None => Err(Error::missing_column(path, name, header)),
    };
    let cell = |name: &String| {
        let is_column = positions_of(name).is_some();
        if name == SPECTRUM && !is_column {
            PARTS.iter().try_for_each(|name| position(name).map(drop))?;
            let cells = header.iter().filter(|name| Record::has_column(name));
            let cells = cells.filter_map(|name| Some((name.clone(), position(name).ok()?)));
            return Ok(Cell::Spectrum(cells.collect()));
        }
        if let Some((first, last)) = name.split_once("..").filter(|_| !is_column) {
            let range = position(first)?..=position(last)?;
            let wrong = || Error::line(path, line, format!("{last:?} is before {first:?}"));
            return if range.is_empty() { Err(wrong()) } else { Ok(Cell::Fields(range)) };
        }
        position(name).map(|at| Cell::Fields(at..=at))
    };
    columns.iter().map(cell).collect()
}
