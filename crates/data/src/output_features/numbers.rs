//! Numbers, one for each output.

use dsokr_basis::features::DenseRows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FeatureFacts, FittedRows, OutputKind, OutputTable, bad, own};
use crate::Error;
use crate::table::Table;

/// Numbers of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberFeatures {
    /// The column.
    pub column: String,
}

/// The largest error of rounding to 32 bits, as a share of the range of the numbers.
const ROUNDING: f64 = 1e-3;

impl NumberFeatures {
    /// The numbers of 32 and of 64 bits; [`Error::Line`] for a cell that holds no finite number.
    fn numbers<'t>(
        &'t self,
        table: &'t Table,
    ) -> Result<impl Iterator<Item = Result<(f32, f64), Error>> + 't, Error> {
        let number = |(row, cell): (usize, &String)| {
            let (cell, column) = (cell.trim(), &self.column);
            let number = cell.parse::<f32>().ok().filter(|number| number.is_finite());
            number.zip(cell.parse::<f64>().ok()).ok_or_else(|| {
                let message =
                    format!("{cell:?} in the column {column:?}: allowed is a finite number");
                table.error(row, message)
            })
        };
        Ok(table.column(&self.column)?.iter().enumerate().map(number))
    }
}

impl OutputKind for NumberFeatures {
    fn facts(&self) -> FeatureFacts<'_> {
        FeatureFacts { column: Some(&self.column), ..Default::default() }
    }

    fn bad_rows(&self, table: &Table) -> Result<Vec<(usize, Error)>, Error> {
        Ok(bad(self.numbers(table)?))
    }

    /// Refuses numbers that 32 bits do not tell apart.
    fn read(&self, from: &mut OutputTable) -> Result<FittedRows, Error> {
        let (narrow, wide): (Vec<f32>, Vec<f64>) =
            self.numbers(from.table)?.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let least = wide.iter().copied().fold(f64::INFINITY, f64::min);
        let most = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let errors =
            narrow.iter().zip(&wide).map(|(&narrow, wide)| (f64::from(narrow) - wide).abs());
        let error = errors.fold(0.0, f64::max);
        if most > least && error > ROUNDING * (most - least) {
            let column = &self.column;
            let message = format!(
                "the numbers in the column {column:?} lie between {least} and {most}, and rounding to 32 bits \
                 changes them by up to {error}: subtract a constant from all of them"
            );
            return Err(Error::file(from.table.path(), message));
        }
        Ok(own(DenseRows::new(1, narrow)?))
    }
}
