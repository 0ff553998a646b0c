use std::borrow::Cow;

use super::packed::{Packed, PackedBlock};
use super::simd;
use crate::Error;

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
            Some(at) => {
                Err(Error::NotFinite { row: at / width, column: at % width, value: values[at] })
            }
        }
    }
}

impl DenseBlock<'_> {
    /// Rows that the caller has checked.
    pub(super) fn checked(width: usize, values: Vec<f32>) -> Self {
        Self { width, values: Cow::Owned(values) }
    }

    /// All numbers, row-major.
    pub fn values(&self) -> &[f32] {
        &self.values
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
}

/// Where the first NaN or infinity is. Scans in chunks without branches inside, so that it vectorises.
pub(super) fn first_not_finite(values: &[f32]) -> Option<usize> {
    const CHUNK: usize = 1024;
    let finite = |chunk: &[f32]| chunk.iter().fold(true, |all, value| all & value.is_finite());
    let chunk = values.chunks(CHUNK).position(|chunk| !finite(chunk))?;
    let start = chunk * CHUNK;
    values[start..].iter().position(|value| !value.is_finite()).map(|within| start + within)
}
