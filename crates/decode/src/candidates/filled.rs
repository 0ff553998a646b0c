//! Rows whose coordinates and codes are written while they are made, so that they need not be in memory.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_core::Error;
use dsokr_core::store::{Filling, Tensor};
use half::f16;
use half::slice::HalfFloatSliceExt;
use half::vec::HalfFloatVecExt;
use rayon::prelude::*;

use super::check_constants;
use super::coordinates::check_finite;
use crate::blocks::{CandidateBlocks, ScoreBlock, fetch};
use crate::codes::Coded;
use crate::error::ensure_allowed;

/// Blocks of rows, of a MiB of coordinates each, that are made before they are written.
const BLOCKS: usize = 16;

/// Rows whose numbers are written while they are read or made.
pub(crate) struct FilledRows<'a> {
    pub source: &'a dyn CandidateBlocks,
    pub rows: Range<usize>,
    /// Whether coordinates are rounded to 16 bits.
    pub rounded: bool,
    /// Whether there are codes of 8 bits.
    pub coded: bool,
    /// Whether `weights` are filled too.
    pub weights: bool,
}

/// The written parts of some rows.
struct FilledBlock<'a> {
    block: ScoreBlock<'a>,
    /// Coordinates in 16 bits, where they are rounded.
    halves: Vec<f16>,
    codes: Option<Coded>,
}

impl FilledRows<'_> {
    /// Returns the tensors that [`fill`](Self::fill) fills.
    pub fn tensors(&self) -> Vec<Tensor<'static>> {
        let rows = self.rows.len();
        let dim = self.source.dim();
        let coordinates = if self.rounded {
            Tensor::to_fill::<f16>("coordinates", &[rows, dim])
        } else {
            Tensor::to_fill::<f32>("coordinates", &[rows, dim])
        };
        // few of them are read where there are codes
        let coordinates = if self.coded { coordinates.in_small_blocks() } else { coordinates };
        let mut tensors = vec![coordinates];
        if self.coded {
            tensors.extend(Coded::tensors(rows, dim));
        }
        if self.weights {
            tensors.push(Tensor::to_fill::<f32>("weights", &[rows, 2]));
        }
        tensors
    }

    /// Appends the numbers of all rows. The next rows are made while some are written.
    pub fn fill(&self, filling: &mut Filling) -> Result<(), Error> {
        let mut now = self.wave(self.rows.start)?;
        let rows = self.rows_at_once();
        for start in self.rows.clone().step_by(rows) {
            let write = || now.iter().try_for_each(|filled| self.append(filled, filling));
            let (written, next) = rayon::join(write, || self.wave(start + rows));
            written?;
            now = next?;
        }
        Ok(())
    }

    fn append(&self, filled: &FilledBlock, filling: &mut Filling) -> Result<(), Error> {
        if self.rounded {
            filling.append("coordinates", &filled.halves)?
        } else {
            filling.append("coordinates", &filled.block.coordinates)?
        }
        if let Some(codes) = &filled.codes {
            codes.append(filling)?;
        }
        if self.weights {
            let counts = filled.block.multiplicities.iter().map(|&count| count as f32);
            filling.append("weights", &interleaved(&filled.block.constants, counts))?;
        }
        Ok(())
    }

    /// Returns the number of rows that are made before they are written.
    pub fn rows_at_once(&self) -> usize {
        BLOCKS * self.block()
    }

    /// Returns the number of rows of a block.
    fn block(&self) -> usize {
        ((1 << 20) / (4 * self.source.dim())).max(1)
    }

    /// Returns some blocks of rows, from `start` on.
    fn wave(&self, start: usize) -> Result<Vec<FilledBlock<'_>>, Error> {
        let rows = self.block();
        let end = self.rows.end.min(start + self.rows_at_once());
        let starts: Vec<usize> = (start..end).step_by(rows).collect();
        let blocks =
            starts.into_par_iter().map(|start| self.filled_block(start..end.min(start + rows)));
        // the first error, not that of the first thread
        blocks.collect::<Vec<_>>().into_iter().collect()
    }

    fn filled_block(&self, rows: Range<usize>) -> Result<FilledBlock<'_>, Error> {
        let dim = self.source.dim();
        let block = fetch(self.source, rows.clone())?;
        check_finite(rows.start * dim, &block.coordinates, dim)?;
        check_constants(rows.start, &block.constants)?;
        let mut written = Cow::Borrowed(&*block.coordinates);
        let mut halves = Vec::new();
        if self.rounded {
            halves = Vec::from_f32_slice(&written);
            let rounded = halves.to_f32_vec();
            let wrong = rounded.iter().position(|value| !value.is_finite());
            let at = wrong.unwrap_or(0);
            let row = rows.start + at / dim;
            let column = at % dim;
            let value = written[at];
            let place = format_args!("candidate row {row}, coordinate {column}");
            let allowed = format_args!("-{0} to {0}", f16::MAX);
            ensure_allowed(wrong.is_none(), format_args!("{place}: {value} in 16 bits"), allowed)?;
            written = rounded.into();
        }
        let codes = self.coded.then(|| Coded::new(dim, &written));
        drop(written);
        Ok(FilledBlock { block, halves, codes })
    }
}

/// Returns two columns, row by row.
pub(super) fn interleaved(first: &[f32], second: impl Iterator<Item = f32>) -> Vec<f32> {
    first.iter().zip(second).flat_map(|(&first, second)| [first, second]).collect()
}
