//! Candidates in the order of their distances to a point.

use std::borrow::Cow;
use std::ops::Range;

use dsokr_decode::{CandidateBlocks, Candidates, ScoreBlock};

/// Candidates with constants `−½‖ψ̃(c)‖²`, so that `⟨z, ψ̃(c)⟩ − ½‖ψ̃(c)‖²` is the larger the nearer ψ̃(c) is to z: it is
/// `½‖z‖² − ½‖z − ψ̃(c)‖²`.
pub(super) struct ByDistance<'c>(pub &'c Candidates);

impl CandidateBlocks for ByDistance<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn candidates(&self) -> u64 {
        self.0.candidates()
    }

    fn block(&self, rows: Range<usize>) -> Result<ScoreBlock<'_>, dsokr_core::Error> {
        let block = self.0.block(rows)?;
        let half_square = |point: &[f32]| {
            let square: f64 = point.iter().map(|&value| f64::from(value).powi(2)).sum();
            (-0.5 * square) as f32
        };
        let points = block.coordinates.chunks_exact(self.dim().max(1));
        let constants: Vec<f32> = points.map(half_square).collect();
        Ok(ScoreBlock { constants: Cow::Owned(constants), ..block })
    }
}
