use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use dsokr_basis::store::{CheckedArray, Filling, Stored, Tensor};

use super::{Coded, RowCodes, width};
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

impl Coded {
    /// `codes` U8 `[k, width]`, the bytes of signed numbers, and `code_numbers` F32 `[k, 4]` of k rows, to be filled.
    pub(crate) fn tensors(rows: usize, dim: usize) -> [Tensor<'static>; 2] {
        [
            Tensor::to_fill::<u8>(CODES, &[rows, width(dim)]),
            Tensor::to_fill::<f32>(NUMBERS, &[rows, 4]),
        ]
    }

    /// Appends these rows to the tensors.
    pub(crate) fn append(&self, filling: &mut Filling) -> Result<(), Error> {
        filling.append(CODES, &self.codes)?;
        Ok(filling.append(NUMBERS, self.numbers.as_flattened())?)
    }
}

impl StoredCodes {
    /// Whether a file has codes.
    pub(crate) fn are_in(stored: &Stored) -> bool {
        stored.names().any(|name| name == CODES)
    }

    /// The codes of k rows of p coordinates, where the file has them.
    pub(crate) fn read(
        stored: &Arc<Stored>,
        rows: usize,
        dim: usize,
    ) -> Result<Option<Self>, Error> {
        if !Self::are_in(stored) {
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
        Ok(RowCodes::of(self.dim, codes, numbers.as_chunks().0.into(), constants))
    }
}
