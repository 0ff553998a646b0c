//! Multi-label files: ARFF, sparse and dense, and libsvm.

mod arff;
mod libsvm;

use std::io::{BufRead, BufReader};
use std::path::Path;

use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_basis::{Features, RowSource};

use crate::Error;

pub use arff::{ArffLabels, read_arff};
pub use libsvm::{LibsvmOptions, read_libsvm};

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

    /// The first row without labels, for which cosine and Tanimoto kernels have no direction.
    pub fn row_without_labels(&self) -> Option<usize> {
        let mut rows = self.labels.words().chunks_exact(self.labels.words_per_row());
        rows.position(|row| row.iter().all(|&word| word == 0))
    }
}

/// Calls `visit` with every line and its number from 1, without the line's end.
fn each_line(
    path: &Path,
    mut visit: impl FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let io = |source| Error::io(path, source);
    let mut reader = BufReader::with_capacity(1 << 20, std::fs::File::open(path).map_err(io)?);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes).map_err(io)? == 0 {
            break;
        }
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| Error::line(path, line, format!("not UTF-8: {error}")))?;
        visit(line, text.trim_end_matches(['\n', '\r']))?;
    }
    Ok(())
}

/// A finite number.
fn number(path: &Path, line: usize, text: &str) -> Result<f32, Error> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(Error::line(path, line, format!("{text:?}, allowed: a finite number"))),
    }
}

/// Rows of (column, value) pairs as feature rows; zeros are not stored.
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
