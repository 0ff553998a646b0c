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

/// The bits of the labels of each row, and rows of (column, value) pairs as feature rows, in which zeros
/// are not stored.
///
/// # Errors
/// [`Error::File`] for more rows, columns and labels than there is memory for: a short file may name many.
fn rows(
    path: &Path,
    (width, inputs, dense): (usize, Vec<Vec<(u32, f32)>>, bool),
    (count, labels): (usize, Vec<Vec<u32>>),
) -> Result<(Features, BitRows), Error> {
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
    Ok((features(width, inputs, dense)?, BitRows::from_indices(count, labels)?))
}

fn features(width: usize, rows: Vec<Vec<(u32, f32)>>, dense: bool) -> Result<Features, Error> {
    if dense {
        let mut values = vec![0.0; rows.len() * width];
        for (row, entries) in values.chunks_exact_mut(width.max(1)).zip(&rows) {
            entries.iter().for_each(|&(column, value)| row[column as usize] = value);
        }
        return Ok(DenseRows::new(width, values)?.into());
    }
    let stored = rows.into_iter().map(|row| row.into_iter().filter(|entry| entry.1 != 0.0));
    Ok(SparseRows::from_rows(width, stored)?.into())
}
