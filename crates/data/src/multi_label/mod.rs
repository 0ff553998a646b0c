//! Files of vectors with labels or numbers: ARFF, sparse and dense, and libsvm.

pub(crate) mod arff;
pub(crate) mod libsvm;

use std::path::Path;

use dsokr_basis::Features;
use dsokr_basis::features::{BitRows, DenseRows, SparseRows};
use dsokr_core::Error::File;

pub use self::arff::read_arff;
pub use self::libsvm::read_libsvm;
use crate::error::{Error, open};
use crate::memory::{bytes_of_bits, check_memory};
use crate::table::{Lines, Pieces};

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

/// Rows by their number, from 0, with what is wrong with each.
pub(crate) type BadRows = Vec<(usize, Error)>;

/// The number of rows that an error lists.
const LISTED: usize = 10;

/// Refuses bad rows: fails with the first error, the number of rows that cannot be read, and their lines.
///
/// # Errors
/// The first error, if there is one.
pub(crate) fn check_rows(bad: BadRows) -> Result<(), Error> {
    let line = |(_, error): &(usize, Error)| match error {
        Error::Core(File { line, .. }) => *line,
        _ => None,
    };
    let lines = bad.iter().filter_map(line).take(LISTED).map(|line| line.to_string());
    let count = bad.len();
    let lines = lines.collect::<Vec<_>>().join(", ");
    let more = if count > LISTED { ", …" } else { "" };
    match bad.into_iter().next() {
        None => Ok(()),
        Some((_, Error::Core(File { path, line: Some(line), message }))) => {
            let message = format!(
                "{message}; rows that cannot be read: {count} (lines {lines}{more}); data.on_bad_row = \"skip\" leaves \
                 them out"
            );
            Err(Error::line(&path, line, message))
        }
        Some((_, error)) => Err(error),
    }
}

/// Calls `visit` with every line and its number from 1, without the line's end.
fn each_line(
    path: &Path,
    mut visit: impl FnMut(usize, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lines = Lines::new(path, open(path)?, Pieces::Lines);
    while lines.advance()? {
        let (line, text) = lines.current()?;
        visit(line, text)?;
    }
    Ok(())
}

/// Returns a finite number, or what is wrong with the text.
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
    /// Rows that cannot be read, which are empty.
    bad: BadRows,
}

impl Rows {
    /// Returns the features. A row also has `count` labels or numbers, and takes `bytes`; zeros are not stored in
    /// sparse rows.
    ///
    /// # Errors
    /// [`dsokr_core::Error::File`] for no rows, and for more rows, columns and labels than there is memory
    /// for: a short file may name many.
    fn features(self, path: &Path, count: usize, bytes: f64) -> Result<Features, Error> {
        let Self { width, inputs, dense, .. } = self;
        if inputs.is_empty() {
            return Err(Error::rows(path, dsokr_core::Error::no_rows()));
        }
        let len = inputs.len() as f64;
        let columns = if dense { 4.0 * width as f64 } else { 0.0 };
        let bytes = len * (columns + bytes) + A_NAME * count as f64;
        check_memory(
            path,
            bytes,
            format_args!("{len} rows of {width} features and {count} labels"),
        )?;
        Ok(if dense {
            let mut values = vec![0.0; inputs.len() * width];
            for (row, entries) in values.chunks_exact_mut(width.max(1)).zip(&inputs) {
                entries.iter().for_each(|&(column, value)| row[column as usize] = value);
            }
            DenseRows::new(width, values)?.into()
        } else {
            let stored = |row: Vec<(u32, f32)>| row.into_iter().filter(|entry| entry.1 != 0.0);
            SparseRows::from_rows(width, inputs.into_iter().map(stored))?.into()
        })
    }

    /// Returns the rows with a set of labels of these names each.
    fn named(
        self,
        path: &Path,
        labels: Vec<Vec<u32>>,
        names: impl ExactSizeIterator<Item = String>,
    ) -> Result<MultiLabel, Error> {
        let count = names.len();
        let inputs = self.features(path, count, bytes_of_bits(count))?;
        let labels = BitRows::from_indices(count, labels)?;
        let names = names.collect();
        Ok(MultiLabel { inputs, labels, names })
    }
}
