use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::store::{CheckedArray, Stored, Tensor};
use rayon::prelude::*;

use super::{Coded, LARGEST, RowCodes, width};
use crate::Error;

/// Names of the tensors.
const CODES: &str = "codes";
const NUMBERS: &str = "code_numbers";

/// Codes of candidates in a mapped file, verified as they are read.
#[derive(Debug)]
pub(crate) struct StoredCodes {
    dim: usize,
    codes: CheckedArray<u8>,
    numbers: CheckedArray<f32>,
}

/// Codes of candidates that are written, in parts.
pub(crate) struct NewCodes {
    dim: usize,
    parts: Vec<Coded>,
}

impl NewCodes {
    /// Codes of rows `[k × p]` in several parts, or none for rows that are too wide.
    pub(crate) fn new(dim: usize, parts: &[&[f32]]) -> Option<Self> {
        const ROWS: usize = 4096;
        let chunks: Vec<&[f32]> = parts.iter().flat_map(|part| part.chunks(ROWS * dim)).collect();
        let parts = chunks.into_par_iter().map(|rows| Coded::new(dim, rows)).collect();
        (dim <= LARGEST).then_some(Self { dim, parts })
    }

    /// `codes` U8 `[k, width]`, the bytes of signed numbers, and `code_numbers` F32 `[k, 4]`.
    pub(crate) fn tensors(&self) -> [Tensor<'_>; 2] {
        let rows = self.parts.iter().map(|part| part.numbers.len()).sum();
        let codes = Tensor::u8(CODES, &[rows, width(self.dim)], &[]);
        let numbers = Tensor::f32(NUMBERS, &[rows, 4], &[]);
        let (codes, numbers) =
            self.parts.iter().fold((codes, numbers), |(codes, numbers), part| {
                (codes.followed_by(&part.codes), numbers.followed_by(part.numbers.as_flattened()))
            });
        [codes.in_blocks(), numbers.in_blocks()]
    }
}

impl StoredCodes {
    /// The codes of k rows of p coordinates, where the file has them.
    pub(crate) fn read(
        stored: &Arc<Stored>,
        rows: usize,
        dim: usize,
    ) -> Result<Option<Self>, Error> {
        if !stored.names().any(|name| name == CODES) {
            return Ok(None);
        }
        let codes = stored.checked_array::<u8>(CODES, 2)?;
        let numbers = stored.checked_array::<f32>(NUMBERS, 2)?;
        match (codes, numbers) {
            (Some((own, codes)), Some((shape, numbers)))
                if own == [rows, width(dim)] && shape == [rows, 4] =>
            {
                Ok(Some(Self { dim, codes, numbers }))
            }
            _ => {
                let reason = format!(
                    "{CODES} or {NUMBERS} are not those of {rows} rows of {dim} coordinates, in blocks"
                );
                Err(Error::file(stored.path(), None, reason))
            }
        }
    }

    /// The codes of some rows, or none where scores might overflow.
    pub(crate) fn block(
        &self,
        rows: Range<usize>,
        constants: &[f32],
    ) -> Result<Option<RowCodes<'_>>, Error> {
        let width = width(self.dim);
        let codes =
            self.codes.get(rows.start * width..rows.end * width, |_, _| Ok::<_, Error>(()))?;
        let numbers = self.numbers.get(4 * rows.start..4 * rows.end, |_, _| Ok::<_, Error>(()))?;
        let codes = Cow::Borrowed(bytemuck::cast_slice(codes));
        Ok(RowCodes::of(self.dim, codes, numbers.as_chunks().0, constants))
    }
}
