//! Candidates as points of an output space.

use dsokr_basis::RowSource;
use dsokr_basis::eigenbasis::multiply;
use dsokr_basis::features::{ranges, read};
use dsokr_basis::kernel::{candidate_constant, diagonal};
use dsokr_core::processes::Held;
use dsokr_core::{Error, Processes};
use rayon::prelude::*;

use super::output::{AT_ONCE, OutputSpace, ROWS, SpaceKind, TASK};

/// Numbers of points that are computed at once.
const NUMBERS: usize = 16 << 20;

/// Candidates as the decoder takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// p, the numbers of a point.
    pub dimension: usize,
    /// `ψ̃(c) − μ` of each, row-major; μ is the weighted mean over the training outputs.
    pub coordinates: Vec<f32>,
    /// `b(c) = −½ k(c, c)`, shifted by ½ for normalised kernels, where it then vanishes. k is the
    /// tempered kernel where the basis is tempered.
    pub constants: Vec<f32>,
}

impl OutputSpace {
    /// Returns candidates as points with constants, to be handed to `dsokr_decode::Candidates`.
    ///
    /// Points are centred at the mean of the training outputs, in `f64` and before they are rounded:
    /// the score of every candidate of a query moves by the same amount, and where the kernel is
    /// nearly constant (a Gaussian much wider than outputs are apart), what is left is what tells
    /// candidates apart. Equal rows get equal points. This process works alone.
    ///
    /// # Errors
    /// Rows of a different kind or width, values that the kernel has no meaning for, and errors
    /// from reading the rows.
    pub fn points(&self, candidates: &dyn RowSource) -> Result<Points, Error> {
        Ok(self.points_part(&Processes::default(), candidates)?.1)
    }

    /// Returns this process's part of the candidates as points like [`points`](Self::points), and says which they are:
    /// consecutive rows, behind those of the ranks before it.
    ///
    /// # Errors
    /// As [`points`](Self::points), for candidates of the part.
    pub fn points_part(
        &self,
        processes: &Processes,
        candidates: &dyn RowSource,
    ) -> Result<(Held, Points), Error> {
        let dimension = self.dimension();
        let rank_rows = processes.part_in_blocks(candidates.len(), ROWS);
        let held = Held::new(candidates.len(), std::iter::once(rank_rows.clone()));
        let mut coordinates = vec![0.0f32; rank_rows.len() * dimension];
        let first_row = rank_rows.start;
        let mut constants = Vec::with_capacity(rank_rows.len());
        let normalised = match &self.map {
            SpaceKind::Basis(basis) => basis.is_normalised(),
            SpaceKind::Training { kernel, .. } => kernel.is_normalised(),
        };
        for range in ranges(rank_rows, self.rows_at_once()) {
            let columns = self.wide(candidates, range.clone())?;
            let first = (range.start - first_row) * dimension;
            let out = &mut coordinates[first..first + range.len() * dimension];
            let squared_norms: Vec<f64> = match self.as_basis() {
                Some(basis) if !basis.tempering().changes_nothing() => {
                    if normalised {
                        vec![1.0; columns.ncols()]
                    } else {
                        columns.col_iter().map(|c| c.squared_norm_l2()).collect()
                    }
                }
                _ => diagonal(self.kernel(), &read(candidates, range)?)?,
            };
            let constant = |squared_norm| candidate_constant(squared_norm, normalised) as f32;
            constants.extend(squared_norms.into_iter().map(constant));
            out.par_chunks_mut(TASK * dimension).enumerate().for_each(|(task, out)| {
                let columns = columns.as_ref().subcols(task * TASK, out.len() / dimension);
                let turned;
                let projected = match &self.directions {
                    Some(directions) => {
                        turned = multiply(directions.transpose(), columns);
                        turned.as_ref()
                    }
                    None => columns,
                };
                // The leading coordinates, where not all are used.
                let rows = out.chunks_exact_mut(dimension).zip(projected.col_iter());
                for (out, column) in rows {
                    let centred = column.iter().zip(&self.centre).map(|(value, mean)| value - mean);
                    out.iter_mut().zip(centred).for_each(|(out, value)| *out = value as f32);
                }
            });
        }
        Ok((held, Points { dimension, coordinates, constants }))
    }

    /// Returns the number of outputs whose points are computed at once: many tasks, within 128 MiB.
    fn rows_at_once(&self) -> usize {
        let numbers = match &self.map {
            SpaceKind::Basis(basis) => basis.dimension(),
            SpaceKind::Training { outputs, .. } => outputs.len(),
        };
        (NUMBERS / numbers.max(1)).clamp(ROWS, AT_ONCE)
    }
}
