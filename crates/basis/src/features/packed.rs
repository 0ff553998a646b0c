use std::borrow::Cow;
use std::ops::Range;

use super::check_width;
use crate::Error;
use crate::store::{Element, Stored, Tensor};

/// Rows of one number of values each, row after row: `f32` numbers ([`DenseBlock`](super::DenseBlock)) or words of
/// bits ([`BitBlock`](super::BitBlock)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBlock<'a, T: Packed> {
    pub(super) width: usize,
    pub(super) values: Cow<'a, [T]>,
}

/// What rows are packed in.
pub trait Packed: Element + PartialEq {
    /// How the name of the tensor ends that holds the rows in a file.
    const TENSOR: &'static str;

    /// The number of values in a row of so many columns.
    fn per_row(width: usize) -> usize;

    /// Checks the values of whole rows.
    ///
    /// # Errors
    /// The first value that no row holds.
    fn check(width: usize, values: &[Self]) -> Result<(), Error>;
}

impl<'a, T: Packed> PackedBlock<'a, T> {
    /// Rows of `width` columns from their values, owned or borrowed.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, and when the values are not a whole number of rows;
    /// [`Error::NotFinite`] with row and column of a NaN or an infinity; [`Error::Row`] when a bit beyond `width` is
    /// set.
    pub fn new(width: usize, values: impl Into<Cow<'a, [T]>>) -> Result<Self, Error> {
        let values = values.into();
        check_width(width)?;
        let per_row = T::per_row(width);
        if !values.len().is_multiple_of(per_row) {
            return Err(Error::ragged(values.len(), per_row));
        }
        T::check(width, &values)?;
        Ok(Self { width, values })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.per_row()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The values of a row; empty when there is no such row.
    pub fn row(&self, row: usize) -> &[T] {
        let per_row = self.per_row();
        self.values.get(row * per_row..(row + 1) * per_row).unwrap_or(&[])
    }

    pub(super) fn per_row(&self) -> usize {
        T::per_row(self.width)
    }

    pub(super) fn slice(&self, rows: Range<usize>) -> PackedBlock<'_, T> {
        let per_row = self.per_row();
        let values = &self.values[rows.start * per_row..rows.end * per_row];
        PackedBlock { width: self.width, values: Cow::Borrowed(values) }
    }

    pub(super) fn append(&mut self, block: &PackedBlock<T>) {
        self.values.to_mut().extend_from_slice(&block.values);
    }

    pub(super) fn tensors(&self, prefix: &str) -> Vec<Tensor<'_>> {
        let name = format!("{prefix}.{}", T::TENSOR);
        vec![Tensor::of(&name, &[self.len(), self.per_row()], &self.values)]
    }

    pub(super) fn from_stored(stored: &Stored, prefix: &str, width: usize) -> Result<Self, Error> {
        check_width(width)?;
        let name = format!("{prefix}.{}", T::TENSOR);
        let (shape, values) = stored.read::<T>(&name, 2)?;
        let per_row = T::per_row(width);
        if shape[1] != per_row {
            return Err(stored.bad_shape(&name, &shape, format!("[any, {per_row}]")));
        }
        Self::new(width, values.into_owned())
    }
}
