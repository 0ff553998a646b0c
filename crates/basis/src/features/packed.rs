use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::store::{Element, Stored, Tensor};
use dsokr_core::{Error, Misfit};

use super::{check_width, simd};

/// Rows of one number of values each, row after row: `f32` numbers ([`DenseBlock`]) or words of
/// bits ([`BitBlock`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBlock<'a, T: Packed> {
    pub(super) width: usize,
    pub(super) values: Cow<'a, [T]>,
}

/// A type that rows are packed in.
pub trait Packed: Element + PartialEq {
    /// How the name of the tensor ends that holds the rows in a file.
    const TENSOR: &'static str;

    /// Returns the number of values in a row of so many columns.
    fn per_row(width: usize) -> usize;

    /// Checks the values of whole rows.
    ///
    /// # Errors
    /// The first value that no row holds.
    fn check(width: usize, values: &[Self]) -> Result<(), Error>;

    /// Computes `⟨y, y⟩` of a row.
    fn squared_norm(row: &[Self]) -> f64;
}

impl<'a, T: Packed> PackedBlock<'a, T> {
    /// Creates rows of `width` columns from their values, owned or borrowed.
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
            return Err(ragged(values.len(), per_row));
        }
        T::check(width, &values)?;
        Ok(Self { width, values })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.per_row()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the values of a row; empty when there is no such row.
    pub fn row(&self, row: usize) -> &[T] {
        let per_row = self.per_row();
        self.values.get(row * per_row..(row + 1) * per_row).unwrap_or(&[])
    }

    /// Returns all values, row after row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    pub(super) fn per_row(&self) -> usize {
        T::per_row(self.width)
    }

    pub(super) fn squared_norms(&self) -> Vec<f64> {
        self.values.chunks_exact(self.per_row()).map(T::squared_norm).collect()
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
        vec![Tensor::from_slice(&name, &[self.len(), self.per_row()], &self.values)]
    }

    pub(super) fn from_stored(stored: &Stored, prefix: &str, width: usize) -> Result<Self, Error> {
        check_width(width)?;
        let name = format!("{prefix}.{}", T::TENSOR);
        let (shape, values) = stored.read::<T>(&name, 2)?;
        let per_row = T::per_row(width);
        if shape[1] != per_row {
            return Err(stored.bad_shape(&name, &shape, format!("[any, {per_row}]")));
        }
        Self::new(width, values.to_vec())
    }
}

/// Rows of d finite `f32` numbers, row-major.
pub type DenseBlock<'a> = PackedBlock<'a, f32>;

/// Dense rows in memory of their own.
pub type DenseRows = DenseBlock<'static>;

impl Packed for f32 {
    const TENSOR: &'static str = "dense";

    fn per_row(width: usize) -> usize {
        width
    }

    fn check(width: usize, values: &[Self]) -> Result<(), Error> {
        match first_not_finite(values) {
            None => Ok(()),
            Some(at) => Error::check_finite("", width, &values[..=at]),
        }
    }

    fn squared_norm(row: &[Self]) -> f64 {
        simd::squared_norm(row)
    }
}

impl DenseRows {
    /// Creates rows from numbers that are finite, which a sketch has drawn; the width is one that rows may have.
    pub(crate) fn drawn(width: usize, values: Vec<f32>) -> Self {
        Self { width, values: values.into() }
    }
}

impl DenseBlock<'_> {
    /// Returns each row times its scale.
    pub(super) fn scaled(mut self, scales: &[f64]) -> Self {
        let rows = self.values.to_mut().chunks_exact_mut(self.width);
        for (row, &scale) in rows.zip(scales) {
            row.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
        self
    }
}

/// Returns the position of the first NaN or infinity. Scans in chunks without branches inside, so that it vectorises.
pub(super) fn first_not_finite(values: &[f32]) -> Option<usize> {
    const CHUNK: usize = 1024;
    let finite = |chunk: &[f32]| chunk.iter().fold(true, |all, value| all & value.is_finite());
    let chunk = values.chunks(CHUNK).position(|chunk| !finite(chunk))?;
    let start = chunk * CHUNK;
    values[start..].iter().position(|value| !value.is_finite()).map(|within| start + within)
}

/// Rows of bits, packed in `u64` words: column j is bit j mod 64 (from the lowest) of word ⌊j/64⌋.
pub type BitBlock<'a> = PackedBlock<'a, u64>;

/// Rows of bits in memory of their own.
pub type BitRows = BitBlock<'static>;

impl Packed for u64 {
    const TENSOR: &'static str = "bits";

    fn per_row(width: usize) -> usize {
        width.div_ceil(64)
    }

    fn check(width: usize, words: &[Self]) -> Result<(), Error> {
        let used = width % 64;
        let mut last = words.iter().skip(width / 64).step_by(Self::per_row(width));
        match last.position(|word| used > 0 && word >> used != 0) {
            None => Ok(()),
            Some(row) => Err(Error::row(row, format!("a padding bit beyond bit {width} is set"))),
        }
    }

    fn squared_norm(row: &[Self]) -> f64 {
        row.iter().map(|word| word.count_ones()).sum::<u32>().into()
    }
}

impl BitBlock<'_> {
    /// Creates rows of `width` bits from packed bytes, ⌈width/8⌉ bytes a row, the most significant bit
    /// first: column j is bit 7 − j mod 8 of byte ⌊j/8⌋ (the layout of `numpy.packbits`).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn from_packed(width: usize, bytes: &[u8]) -> Result<Self, Error> {
        check_width(width)?;
        let per_row = width.div_ceil(8);
        if !bytes.len().is_multiple_of(per_row) {
            return Err(ragged(bytes.len(), per_row));
        }
        let mut words = Vec::with_capacity(bytes.len() / per_row * width.div_ceil(64));
        for row in bytes.chunks_exact(per_row) {
            for chunk in row.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                words.push(u64::from_be_bytes(word).reverse_bits());
            }
        }
        Self::new(width, words)
    }

    /// Creates rows of `width` bits from the columns of their ones, in any order.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, [`Error::Row`] for a column outside of the width.
    pub fn from_indices<R>(width: usize, rows: impl IntoIterator<Item = R>) -> Result<Self, Error>
    where
        R: IntoIterator<Item = u32>,
    {
        check_width(width)?;
        let per_row = width.div_ceil(64);
        let rows = rows.into_iter();
        // a vector that grows takes up to three times what it holds
        let mut words = Vec::with_capacity(rows.size_hint().0 * per_row);
        for (row, ones) in rows.enumerate() {
            let start = words.len();
            words.resize(start + per_row, 0u64);
            for column in ones {
                let column = column as usize;
                if column >= width {
                    return Err(Error::column(row, column, width));
                }
                words[start + column / 64] |= 1 << (column % 64);
            }
        }
        Ok(Self { width, values: Cow::Owned(words) })
    }

    /// Returns the columns of the ones of a row, increasing; none when there is no such row.
    pub fn ones(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        let words = self.row(row).iter().enumerate();
        let is_one = |word: u64| move |bit: &usize| word >> bit & 1 == 1;
        words
            .flat_map(move |(at, &word)| (0..64).filter(is_one(word)).map(move |bit| 64 * at + bit))
    }
}

/// Returns the error for values that do not fill their last row.
fn ragged(values: usize, per_row: usize) -> Error {
    Error::Shape(Misfit::Ragged { values, per_row })
}
