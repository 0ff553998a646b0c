use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use dsokr_basis::store::CheckedArray;
use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::Error;

/// Coordinates `ψ̃(c)` of distinct rows, row-major.
#[derive(Clone, Debug)]
pub(super) enum Coordinates {
    /// In memory.
    Owned(Vec<f32>),
    /// In a mapped file, verified as they are read.
    Mapped(Arc<CheckedArray<f32>>),
    /// The same, rounded to 16 bits.
    Rounded(Arc<CheckedArray<f16>>),
    /// Those of a file with more behind them.
    Joined(Arc<CheckedArray<f32>>, Vec<f32>),
}

impl Coordinates {
    pub fn len(&self) -> usize {
        match self {
            Self::Owned(values) => values.len(),
            Self::Mapped(file) => file.len(),
            Self::Rounded(file) => file.len(),
            Self::Joined(file, more) => file.len() + more.len(),
        }
    }

    /// Those of a range, which there is, of rows of `dim`.
    pub fn get(&self, range: Range<usize>, dim: usize) -> Result<Cow<'_, [f32]>, Error> {
        match self {
            Self::Owned(values) => Ok(values[range].into()),
            Self::Mapped(file) => verified(file, range, dim).map(Cow::Borrowed),
            Self::Rounded(file) => Ok(verified(file, range, dim)?.to_f32_vec().into()),
            Self::Joined(file, more) => {
                let end = file.len();
                if range.start >= end {
                    return Ok(more[range.start - end..range.end - end].into());
                }
                let first = verified(file, range.start..range.end.min(end), dim)?;
                match range.end.saturating_sub(end) {
                    0 => Ok(first.into()),
                    rest => Ok([first, &more[..rest]].concat().into()),
                }
            }
        }
    }

    /// These, and more behind them. Those of a file that rounds them come into memory.
    pub fn with_more(self, more: &[f32], dim: usize) -> Result<Self, Error> {
        Ok(match self {
            Self::Owned(mut values) => {
                values.extend_from_slice(more);
                Self::Owned(values)
            }
            Self::Mapped(file) => Self::Joined(file, more.to_vec()),
            Self::Rounded(_) => Self::Owned([&*self.get(0..self.len(), dim)?, more].concat()),
            Self::Joined(file, mut rest) => {
                rest.extend_from_slice(more);
                Self::Joined(file, rest)
            }
        })
    }
}

fn verified<T: Pod + Into<f32>>(
    file: &CheckedArray<T>,
    range: Range<usize>,
    dim: usize,
) -> Result<&[T], Error> {
    file.get(range, |start, values| check_finite(start, values, dim))
}

/// Refuses a coordinate that is not finite; the first value is that of `start`, of rows of `dim`.
pub(super) fn check_finite<T: Copy + Into<f32>>(
    start: usize,
    values: &[T],
    dim: usize,
) -> Result<(), Error> {
    match values.iter().position(|&value| !value.into().is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = ((start + at) / dim, (start + at) % dim);
            let place = format!("candidate row {row}, coordinate {column}");
            Err(Error::NotFinite { place, value: values[at].into() })
        }
    }
}
