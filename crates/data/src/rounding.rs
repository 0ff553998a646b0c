//! What rounding to 32 bits leaves of numbers.

use std::fmt::Display;
use std::path::Path;

use crate::error::Error;

/// The largest error of rounding to 32 bits, as a share of the range of the numbers.
const MOST: f64 = 1e-3;

/// A range below this share of the largest number is what rounding to 64 bits leaves of a constant.
const CONSTANT: f64 = 1e-12;

/// Two numbers alone may be close to each other by chance.
const FEWEST: usize = 3;

/// The range of some numbers, and the largest error of rounding one of them to 32 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    count: usize,
    least: f64,
    most: f64,
    error: f64,
}

impl Default for Rounding {
    fn default() -> Self {
        Self { count: 0, least: f64::INFINITY, most: f64::NEG_INFINITY, error: 0.0 }
    }
}

impl Rounding {
    /// Adds a number, in 32 and in 64 bits.
    pub(crate) fn add(&mut self, narrow: f32, wide: f64) {
        self.count += 1;
        self.least = self.least.min(wide);
        self.most = self.most.max(wide);
        self.error = self.error.max((f64::from(narrow) - wide).abs());
    }

    /// Returns how many numbers have been added.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Refuses numbers that 32 bits do not tell apart; `place` says where in the file they are.
    pub(crate) fn check(&self, path: &Path, place: impl Display) -> Result<(), Error> {
        let Self { count, least, most, error } = self;
        let range = most - least;
        let varies = *count >= FEWEST && range > CONSTANT * least.abs().max(most.abs());
        if varies && *error > MOST * range {
            let message = format!(
                "the numbers {place} lie between {least} and {most}, and rounding to 32 bits changes them by up to \
                 {error}: subtract a constant from all of them"
            );
            return Err(Error::file(path, message));
        }
        Ok(())
    }
}

/// What rounding to 32 bits leaves of each column of a matrix.
#[derive(Debug)]
pub(crate) struct ColumnRoundings(Vec<Rounding>);

impl ColumnRoundings {
    pub(crate) fn new(width: usize) -> Self {
        Self(vec![Rounding::default(); width])
    }

    /// Adds a number of a column.
    pub(crate) fn add(&mut self, column: usize, wide: f64) {
        self.0[column].add(wide as f32, wide);
    }

    /// Refuses the first column whose numbers 32 bits do not tell apart.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        let mut columns = self.0.iter().enumerate();
        columns.try_for_each(|(column, rounding)| {
            rounding.check(path, format_args!("in column {column}"))
        })
    }
}
