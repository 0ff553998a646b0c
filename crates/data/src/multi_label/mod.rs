//! Multi-label files: ARFF, sparse and dense, and libsvm.

mod arff;
mod libsvm;

use std::path::Path;

use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_basis::memory::{Bytes, available};
use dsokr_basis::{Features, RowSource};

use crate::Error;
use crate::table::Lines;

pub use arff::read_arff;
pub use libsvm::read_libsvm;

/// Bytes of the name of a label.
const A_NAME: f64 = 56.0;

/// Input rows and the label set of each.
#[derive(Clone, Debug, PartialEq)]
pub struct MultiLabel {
    /// Input features: dense or sparse, as the file is.
    pub inputs: Features,
    /// A bit for each label.
    pub labels: BitRows,
    /// Names of the labels, in the order of their bits.
    pub names: Vec<String>,
}

impl MultiLabel {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The rows of the given indices, in their order.
    ///
    /// # Errors
    /// `RowRange` of the crate `dsokr-basis` for a row out of range.
    pub fn select(&self, rows: &[usize]) -> Result<Self, Error> {
        let labels = Features::Bits(self.labels.clone()).select(rows)?;
        let Features::Bits(labels) = labels else {
            let (found, expected) = (labels.kind(), dsokr_basis::RowKind::Bits);
            return Err(dsokr_basis::Error::kind(found, expected).into());
        };
        Ok(Self { inputs: self.inputs.select(rows)?, labels, names: self.names.clone() })
    }
}

/// Calls `visit` with every line and its number from 1, without the line's end.
fn each_line(
    path: &Path,
    mut visit: impl FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lines = Lines::open(path)?;
    while lines.advance()? {
        let (line, text) = lines.current()?;
        visit(line, text)?;
    }
    Ok(())
}

/// A finite number, or what is wrong with the text.
fn number(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|value: &f32| value.is_finite());
    number.ok_or_else(|| format!("{text:?}, allowed: a finite number"))
}

/// The rows of a file while they are read: inputs as (column, value), by column, and numbers of labels.
#[derive(Default)]
struct Rows {
    /// Number of columns of inputs.
    width: usize,
    inputs: Vec<Vec<(u32, f32)>>,
    /// Whether inputs become dense rows.
    dense: bool,
    labels: Vec<Vec<u32>>,
}

impl Rows {
    /// The rows with `count` labels of these names; zeros are not stored in sparse rows.
    ///
    /// # Errors
    /// `NoRows` of the crate `dsokr-basis`; [`Error::File`] for more rows, columns and labels than there is memory
    /// for: a short file may name many.
    fn named(
        self,
        path: &Path,
        count: usize,
        names: impl Iterator<Item = String>,
    ) -> Result<MultiLabel, Error> {
        let Self { width, inputs, dense, labels } = self;
        if inputs.is_empty() {
            return Err(Error::rows(path, dsokr_basis::Error::no_rows()));
        }
        let len = inputs.len() as f64;
        let columns = if dense { 4.0 * width as f64 } else { 0.0 };
        let bits = (count as f64 / 64.0).ceil() * 8.0;
        let bytes = len * (columns + bits) + A_NAME * count as f64;
        if let Some(limit) = available().filter(|limit| bytes > limit.bytes) {
            let bytes = Bytes(bytes);
            let message = format!(
                "{len} rows of {width} features and {count} labels need about {bytes}, available is {limit}"
            );
            return Err(Error::file(path, message));
        }
        let inputs = if dense {
            let mut values = vec![0.0; inputs.len() * width];
            for (row, entries) in values.chunks_exact_mut(width.max(1)).zip(&inputs) {
                entries.iter().for_each(|&(column, value)| row[column as usize] = value);
            }
            DenseRows::new(width, values)?.into()
        } else {
            let stored = |row: Vec<(u32, f32)>| row.into_iter().filter(|entry| entry.1 != 0.0);
            SparseRows::from_rows(width, inputs.into_iter().map(stored))?.into()
        };
        let (labels, names) = (BitRows::from_indices(count, labels)?, names.collect());
        Ok(MultiLabel { inputs, labels, names })
    }
}
