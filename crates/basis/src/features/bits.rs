use std::borrow::Cow;

use super::check_width;
use super::packed::{Packed, PackedBlock};
use crate::Error;

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
}

impl BitBlock<'_> {
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
        Ok(Self { width, values: Cow::Owned(words) })
    }

    /// All words, row after row.
    pub fn words(&self) -> &[u64] {
        &self.values
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

    pub(super) fn squared_norms(&self) -> Vec<f64> {
        let count = |row: &[u64]| row.iter().map(|word| word.count_ones()).sum::<u32>();
        self.values.chunks_exact(self.per_row()).map(|row| count(row).into()).collect()
    }
}
