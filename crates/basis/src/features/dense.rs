use std::borrow::Cow;
use std::ops::Range;

use super::{check_width, simd};
use crate::Error;
use crate::store::{Stored, Tensor};

/// Rows of d finite `f32` numbers, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseBlock<'a> {
    width: usize,
    values: Cow<'a, [f32]>,
}

/// Dense rows in memory of their own.
pub type DenseRows = DenseBlock<'static>;

impl<'a> DenseBlock<'a> {
    /// Rows of `width` numbers from their concatenation, owned or borrowed.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, and when the values are not a whole number of rows;
    /// [`Error::NotFinite`] with row and column of a NaN or an infinity.
    pub fn new(width: usize, values: impl Into<Cow<'a, [f32]>>) -> Result<Self, Error> {
        let values = values.into();
        check_width(width)?;
        if !values.len().is_multiple_of(width) {
            return Err(Error::ragged(values.len(), width));
        }
        match first_not_finite(&values) {
            None => Ok(Self { width, values }),
            Some(at) => {
                Err(Error::NotFinite { row: at / width, column: at % width, value: values[at] })
            }
        }
    }

    /// Rows that the caller has checked.
    pub(super) fn checked(width: usize, values: Vec<f32>) -> Self {
        Self { width, values: Cow::Owned(values) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All numbers, row-major.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The numbers of a row; empty when there is no such row.
    pub fn row(&self, row: usize) -> &[f32] {
        self.values.get(row * self.width..(row + 1) * self.width).unwrap_or(&[])
    }

    pub(super) fn slice(&self, rows: Range<usize>) -> DenseBlock<'_> {
        let values = &self.values[rows.start * self.width..rows.end * self.width];
        DenseBlock { width: self.width, values: Cow::Borrowed(values) }
    }

    pub(super) fn append(&mut self, block: &DenseBlock) {
        self.values.to_mut().extend_from_slice(&block.values);
    }

    /// Each row times its scale.
    pub(super) fn scaled(mut self, scales: &[f64]) -> Self {
        let rows = self.values.to_mut().chunks_exact_mut(self.width);
        for (row, &scale) in rows.zip(scales) {
            row.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
        self
    }

    pub(super) fn squared_norms(&self) -> Vec<f64> {
        self.values.chunks_exact(self.width).map(simd::squared_norm).collect()
    }

    pub(super) fn tensors(&self, prefix: &str) -> Vec<Tensor<'_>> {
        vec![Tensor::f32(&format!("{prefix}.dense"), &[self.len(), self.width], &self.values)]
    }

    pub(super) fn from_stored(stored: &Stored, prefix: &str, width: usize) -> Result<Self, Error> {
        let name = format!("{prefix}.dense");
        let (shape, values) = stored.f32(&name, 2)?;
        if shape[1] != width {
            return Err(stored.bad_shape(&name, &shape, format!("[any, {width}]")));
        }
        Self::new(width, values.into_owned())
    }
}

/// Where the first NaN or infinity is. Scans in chunks without branches inside, so that it vectorises.
pub(super) fn first_not_finite(values: &[f32]) -> Option<usize> {
    const CHUNK: usize = 1024;
    let finite = |chunk: &[f32]| chunk.iter().fold(true, |all, value| all & value.is_finite());
    let chunk = values.chunks(CHUNK).position(|chunk| !finite(chunk))?;
    let start = chunk * CHUNK;
    values[start..].iter().position(|value| !value.is_finite()).map(|within| start + within)
}
