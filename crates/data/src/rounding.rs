//! What rounding to 32 bits leaves of numbers.

use std::fmt::Display;
use std::path::Path;

use crate::error::Error;

/// The largest error of rounding to 32 bits, as a share of the range of the numbers.
const MOST: f64 = 1e-3;

/// The range of some numbers, and the largest error of rounding one of them to 32 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    least: f64,
    most: f64,
    error: f64,
}

impl Default for Rounding {
    fn default() -> Self {
        Self { least: f64::INFINITY, most: f64::NEG_INFINITY, error: 0.0 }
    }
}

impl Rounding {
    /// Adds a number, in 32 and in 64 bits.
    pub(crate) fn add(&mut self, narrow: f32, wide: f64) {
        self.least = self.least.min(wide);
        self.most = self.most.max(wide);
        self.error = self.error.max((f64::from(narrow) - wide).abs());
    }

    /// Refuses numbers that 32 bits do not tell apart; `place` says where in the file they are.
    pub(crate) fn check(&self, path: &Path, place: impl Display) -> Result<(), Error> {
        let Self { least, most, error } = self;
        if most > least && *error > MOST * (most - least) {
            let message = format!(
                "the numbers {place} lie between {least} and {most}, and rounding to 32 bits changes them by up to \
                 {error}: subtract a constant from all of them"
            );
            return Err(Error::file(path, message));
        }
        Ok(())
    }
}
