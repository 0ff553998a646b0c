use std::borrow::Cow;
use std::ops::Range;

use super::check_width;
use crate::Error;
use crate::store::{Stored, Tensor};

/// Rows of bits, packed in `u64` words: column j is bit j mod 64 (from the lowest) of word ⌊j/64⌋.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitBlock<'a> {
    width: usize,
    words: Cow<'a, [u64]>,
}

/// Rows of bits in memory of their own.
pub type BitRows = BitBlock<'static>;

impl<'a> BitBlock<'a> {
    /// Rows of `width` bits from their words, owned or borrowed.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, and when the words are not a whole number of rows;
    /// [`Error::Row`] when a bit beyond `width` is set.
    pub fn new(width: usize, words: impl Into<Cow<'a, [u64]>>) -> Result<Self, Error> {
        let words = words.into();
        check_width(width)?;
        let per_row = width.div_ceil(64);
        if !words.len().is_multiple_of(per_row) {
            return Err(Error::ragged(words.len(), per_row));
        }
        let used = width % 64;
        let mut last = words.iter().skip(width / 64).step_by(per_row);
        match last.position(|word| used > 0 && word >> used != 0) {
            None => Ok(Self { width, words }),
            Some(row) => Err(Error::row(row, format!("a padding bit beyond bit {width} is set"))),
        }
    }

    /// Rows of `width` bits from packed bytes, ⌈width/8⌉ bytes a row, the most significant bit
    /// first: column j is bit 7 − j mod 8 of byte ⌊j/8⌋ (the layout of `numpy.packbits`).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_packed(width: usize, bytes: &[u8]) -> Result<Self, Error> {
        check_width(width)?;
        let per_row = width.div_ceil(8);
        if !bytes.len().is_multiple_of(per_row) {
            return Err(Error::ragged(bytes.len(), per_row));
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

    /// Rows of `width` bits from the columns of their ones, in any order.
    ///
    /// # Errors
    /// [`Error::Shape`] for width 0, [`Error::Row`] for a column outside of the width.
    pub fn from_indices<R>(width: usize, rows: impl IntoIterator<Item = R>) -> Result<Self, Error>
    where
        R: IntoIterator<Item = u32>,
    {
        check_width(width)?;
        let mut words = Vec::new();
        for (row, ones) in rows.into_iter().enumerate() {
            let start = words.len();
            words.resize(start + width.div_ceil(64), 0u64);
            for column in ones {
                let column = column as usize;
                if column >= width {
                    return Err(Error::column(row, column, width));
                }
                words[start + column / 64] |= 1 << (column % 64);
            }
        }
        Ok(Self { width, words: Cow::Owned(words) })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.words.len() / self.words_per_row()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of columns (bits).
    pub fn width(&self) -> usize {
        self.width
    }

    /// Words in a row, ⌈width/64⌉.
    pub fn words_per_row(&self) -> usize {
        self.width.div_ceil(64)
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words of a row; empty when there is no such row.
    pub fn row(&self, row: usize) -> &[u64] {
        let per_row = self.words_per_row();
        self.words.get(row * per_row..(row + 1) * per_row).unwrap_or(&[])
    }

    /// The columns of the ones of a row, increasing; none when there is no such row.
    pub fn ones(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        self.row(row).iter().enumerate().flat_map(|(at, &word)| {
            std::iter::successors((word != 0).then_some(word), |&left| {
                let rest = left & (left - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |left| 64 * at + left.trailing_zeros() as usize)
        })
    }

    pub(super) fn slice(&self, rows: Range<usize>) -> BitBlock<'_> {
        let per_row = self.words_per_row();
        let words = &self.words[rows.start * per_row..rows.end * per_row];
        BitBlock { width: self.width, words: Cow::Borrowed(words) }
    }

    pub(super) fn append(&mut self, block: &BitBlock) {
        self.words.to_mut().extend_from_slice(&block.words);
    }

    pub(super) fn squared_norms(&self) -> Vec<f64> {
        let count = |row: &[u64]| row.iter().map(|word| word.count_ones()).sum::<u32>();
        self.words.chunks_exact(self.words_per_row()).map(|row| count(row).into()).collect()
    }

    pub(super) fn tensors(&self, prefix: &str) -> Vec<Tensor<'_>> {
        let shape = [self.len(), self.words_per_row()];
        vec![Tensor::u64(&format!("{prefix}.bits"), &shape, &self.words)]
    }

    pub(super) fn from_stored(stored: &Stored, prefix: &str, width: usize) -> Result<Self, Error> {
        check_width(width)?;
        let name = format!("{prefix}.bits");
        let (shape, words) = stored.u64(&name, 2)?;
        let per_row = width.div_ceil(64);
        if shape[1] != per_row {
            return Err(stored.bad_shape(&name, &shape, format!("[any, {per_row}]")));
        }
        Self::new(width, words.into_owned())
    }
}
