use dsokr_basis::Cancellation;
use dsokr_basis::eigenbasis::cholesky;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, Par};
use rayon::prelude::*;

use super::panels::rows_of;
use super::{PANEL, Panels, Scalar};
use crate::Error;

/// `L` of `A = L Lᵀ`, lower triangular, in the panels of A; what is above the diagonal is not read.
#[derive(Clone, Debug)]
pub(crate) struct Factor<T> {
    pub(super) lower: Panels<T>,
}

/// Why a matrix has no factor.
#[derive(Debug)]
pub(crate) enum NoFactor {
    /// At this row it was found not to be positive definite.
    NotPositive { row: usize },
    /// The factorisation was cancelled.
    Cancelled(dsokr_basis::Error),
}

impl NoFactor {
    /// The error for a system of `size` unknowns with `ridge` = nλ.
    pub(crate) fn error(self, size: usize, ridge: f64) -> Error {
        match self {
            Self::NotPositive { row } => Error::numeric(format!(
                "the system of {size} unknowns is not numerically positive definite (row {row}, n·lambda = {ridge}); \
                 raise lambda, or solve in double precision"
            )),
            Self::Cancelled(error) => error.into(),
        }
    }
}

impl<T: Scalar> Factor<T> {
    /// Factors a matrix in its own memory, `n³/3` multiplications and additions.
    ///
    /// Left-looking: a column of blocks takes one long product for each block below the diagonal,
    /// then its diagonal block is factored and the others are solved with it.
    pub(crate) fn new(mut matrix: Panels<T>) -> Result<Self, NoFactor> {
        let size = matrix.size;
        let cancellation = Cancellation::current();
        for at in 0..matrix.panels.len() {
            if at > 0 {
                cancellation.check().map_err(NoFactor::Cancelled)?;
            }
            let columns = rows_of(at, size);
            let (done, below) = matrix.panels.split_at_mut(at);
            let _ = done;
            let Some((current, below)) = below.split_first_mut() else {
                break;
            };
            let (left, diagonal) = current.as_mut().split_at_col_mut(columns.start);
            let left = left.as_ref();
            // The diagonal block is one of the tasks.
            let update = |panel: MatMut<T>| {
                let (known, rest) = panel.split_at_col_mut(columns.start);
                let out = rest.subcols_mut(0, columns.len());
                let (known, minus) = (known.as_ref(), T::of(-1.0));
                matmul(out, Accum::Add, known, left.transpose(), minus, Par::Seq);
            };
            let mut diagonal = diagonal.subcols_mut(0, columns.len());
            rayon::join(
                || {
                    let minus = T::of(-1.0);
                    let out = diagonal.as_mut();
                    matmul(out, Accum::Add, left, left.transpose(), minus, Par::Seq);
                },
                || below.par_iter_mut().for_each(|panel| update(panel.as_mut())),
            );
            cholesky(diagonal.as_mut())
                .map_err(|row| NoFactor::NotPositive { row: at * PANEL + row })?;
            let diagonal = diagonal.as_ref();
            // X = C L⁻ᵀ, that is L Xᵀ = Cᵀ.
            below.par_iter_mut().for_each(|panel| {
                let block = panel.as_mut().subcols_mut(columns.start, columns.len());
                solve_lower_triangular_in_place(diagonal, block.transpose_mut(), Par::Seq);
            });
        }
        Ok(Self { lower: matrix })
    }

    /// The number of rows.
    pub(crate) fn size(&self) -> usize {
        self.lower.size
    }
}
