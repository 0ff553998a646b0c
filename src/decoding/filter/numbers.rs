//! Numbers in columns of candidates, by the signs before their decimals.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use dsokr_data::cells::{NumberNotation, is_missing};
use dsokr_decode::Columns;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The sign before the decimals of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decimals {
    /// A point; commas group thousands.
    Points,
    /// A comma; points group thousands.
    Commas,
    /// A point in some cells and a comma in others; no cell could be read by both.
    Either,
}

/// What a column has that is not compared with numbers, and what is expected.
pub(crate) type NotNumbers = (String, &'static str);

/// What the cells of a column, or of some of its candidates, say about how its numbers are written. The counts of parts of the
/// candidates add up to those of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NumberCounts {
    /// The cells that are not missing.
    present: usize,
    /// How many of these are no numbers.
    unread: usize,
    /// The first cell that is no number.
    first_unread: Option<String>,
    /// Whether some cell is a number with a decimal point alone.
    points: bool,
    /// The first cell that is a number with a decimal comma alone.
    comma: Option<String>,
    /// The first cell that is one number with a decimal point and another one with a decimal comma.
    both: Option<String>,
}

impl NumberCounts {
    /// Counts all cells of a column.
    pub fn from_column(columns: &Columns, column: usize) -> Self {
        let candidates = (0..columns.len()).into_par_iter();
        let counts = candidates.fold(Self::default, |counts, candidate| {
            counts.with_cell(columns.cell(column, candidate))
        });
        // in the order of the candidates, whatever the number of threads
        counts.reduce(Self::default, Self::with)
    }

    fn with_cell(mut self, cell: &str) -> Self {
        if is_missing(cell) {
            return self;
        }
        self.present += 1;
        let first = |kept: Option<String>| kept.or_else(|| Some(cell.to_owned()));
        match (Decimals::Points.read(cell), Decimals::Commas.read(cell)) {
            (None, None) => {
                self.unread += 1;
                self.first_unread = first(self.first_unread);
            }
            (Some(_), None) => self.points = true,
            (None, Some(_)) => self.comma = first(self.comma),
            (Some(one), Some(other)) if one == other => {}
            (Some(_), Some(_)) => self.both = first(self.both),
        }
        self
    }

    /// Returns these counts together with those of the candidates behind these.
    pub fn with(self, more: Self) -> Self {
        Self {
            present: self.present + more.present,
            unread: self.unread + more.unread,
            first_unread: self.first_unread.or(more.first_unread),
            points: self.points || more.points,
            comma: self.comma.or(more.comma),
            both: self.both.or(more.both),
        }
    }

    /// Returns how the numbers are written.
    ///
    /// # Errors
    /// A column fewer than half of whose cells are numbers, missing ones not counted; one with decimal points and decimal
    /// commas in which some cell has a sign that may be either.
    pub fn decimals(&self) -> Result<Decimals, NotNumbers> {
        if 2 * self.unread > self.present {
            let example = self.first_unread.as_deref().unwrap_or_default();
            let column = format!("a number, of a column with cells such as {example:?}");
            return Err((column, "a text in quotation marks, or a column of plain numbers"));
        }
        match (self.points, &self.comma, &self.both) {
            (true, Some(comma), Some(both)) => {
                let column =
                    format!("a number, of a column with cells such as {comma:?} and {both:?}");
                Err((column, "a column whose decimals have points in all cells, or commas in all"))
            }
            (true, Some(_), None) => Ok(Decimals::Either),
            (false, Some(_), _) => Ok(Decimals::Commas),
            (_, None, _) => Ok(Decimals::Points),
        }
    }
}

/// How the numbers of the columns of a run's candidates are written, each found when a filter first compares it with a number.
#[derive(Default)]
pub(crate) struct ColumnDecimals(Mutex<BTreeMap<usize, Result<Decimals, NotNumbers>>>);

impl ColumnDecimals {
    /// Returns how the numbers of a column are written. `count` counts the cells of all candidates, and is called where it is
    /// not known yet.
    ///
    /// # Errors
    /// Errors of `count`.
    pub fn find(
        &self,
        column: usize,
        count: impl FnOnce() -> Result<NumberCounts, Error>,
    ) -> Result<Result<Decimals, NotNumbers>, Error> {
        let locked = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(decimals) = locked().get(&column) {
            return Ok(decimals.clone());
        }
        // not locked meanwhile: a thread that counts may take up another request, which would wait for itself
        let decimals = count()?.decimals();
        locked().insert(column, decimals.clone());
        Ok(decimals)
    }
}

impl Decimals {
    /// Returns the number of a cell; none of a cell that holds anything else.
    pub fn read(self, cell: &str) -> Option<f64> {
        let cell = cell.trim();
        let number = match self {
            // as a program writes it, or with commas that group thousands
            Self::Points => cell.parse().ok().or_else(|| normalised(cell, '.')),
            Self::Commas => normalised(cell, ','),
            Self::Either => Self::Points.read(cell).or_else(|| Self::Commas.read(cell)),
        };
        number.filter(|number| number.is_finite())
    }
}

/// Returns the number of a cell by the sign before its decimals.
fn normalised(cell: &str, decimal: char) -> Option<f64> {
    NumberNotation { decimal, ..NumberNotation::default() }.normalised(cell)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cells: &[&str]) -> NumberCounts {
        let ids = (0..cells.len()).map(|id| id.to_string()).collect();
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        let columns = Columns::new(ids, Vec::new()).unwrap().with("price", cells).unwrap();
        NumberCounts::from_column(&columns, columns.find("price").unwrap())
    }

    fn decimals(cells: &[&str]) -> Result<Decimals, NotNumbers> {
        counts(cells).decimals()
    }

    #[test]
    fn the_sign_before_decimals_is_that_of_the_column() {
        for (cells, expected, numbers) in [
            (&["1,250", "70.4", "", "2e3"][..], Decimals::Points, [1250.0, 70.4]),
            (&["1,250", "12,50"], Decimals::Commas, [1.25, 12.5]),
            (&["1.250,5", "12,50", "n/a"], Decimals::Commas, [1250.5, 12.5]),
            (&["0.5", "12,50"], Decimals::Either, [0.5, 12.5]),
        ] {
            let decimals = decimals(cells).unwrap();
            assert_eq!(decimals, expected, "{cells:?}");
            let read: Vec<f64> = cells.iter().filter_map(|cell| decimals.read(cell)).collect();
            assert_eq!(read[..2], numbers, "{cells:?}");
        }
    }

    #[test]
    fn columns_of_unclear_numbers_are_refused() {
        for (cells, says) in [
            (&["12,50", "1,250", "70.4"][..], "\"12,50\" and \"1,250\""),
            (&["15 €", "12 €", "3"], "\"15 €\""),
            (&["Acme", "A & B"], "\"Acme\""),
        ] {
            let (column, _) = decimals(cells).unwrap_err();
            assert!(column.contains(says), "{column}");
        }
    }

    #[test]
    fn parts_of_a_column_decide_together() {
        for (cells, expected) in [
            (&["1,250", "2,500", "12,50", ""][..], Ok(Decimals::Commas)),
            (&["12,50", "n/a", "0.5", "7"], Ok(Decimals::Either)),
            (&["5", "5", "5", "x", "y"], Ok(Decimals::Points)),
            (&["12,50", "1,250", "70.4"], decimals(&["12,50", "1,250", "70.4"])),
            (&["3", "15 €", "12 €"], decimals(&["15 €", "12 €"])),
        ] {
            let all = counts(cells);
            assert_eq!(all.decimals(), expected, "{cells:?}");
            for first in 0..=cells.len() {
                let parts = counts(&cells[..first]).with(counts(&cells[first..]));
                assert_eq!(parts, all, "{cells:?} in parts, the first of {first}");
            }
        }
    }

    #[test]
    fn cells_of_a_column_are_counted_once() {
        let columns = ColumnDecimals::default();
        let mut times = 0;
        for _ in 0..3 {
            let decimals = columns.find(2, || {
                times += 1;
                Ok(counts(&["12,50"]))
            });
            assert_eq!(decimals.unwrap(), Ok(Decimals::Commas));
        }
        assert_eq!(times, 1);
        let refused = columns.find(3, || Ok(counts(&["Acme"]))).unwrap().unwrap_err();
        assert_eq!(columns.find(3, || unreachable!("it is known")).unwrap(), Err(refused));
    }
}
