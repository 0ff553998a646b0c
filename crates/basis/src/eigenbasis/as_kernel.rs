use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::Basis;
use crate::features::{Block, RowKind, RowSource};
use crate::{Error, OutputKernel};

/// Columns of a Gram matrix in one task.
const TILE: usize = 128;

/// The kernel of a basis's coordinates, `k(y, y') = ⟨ψ̃(y), ψ̃(y')⟩`, on any rows that it projects.
///
/// For a tempered basis it is the tempered kernel `k_α` (see [`Tempering`](crate::Tempering), also for
/// outputs without a direction); for others the sketched approximation of the kernel that was fitted. Coordinates are computed in `f64`.
/// A kernel as any other, it can be sketched again.
///
/// ```
/// use dsokr_basis::eigenbasis::BasisKernel;
/// use dsokr_basis::kernel::{OutputKernel, contract};
/// use dsokr_basis::{
///     Basis, Features, Kernel, SketchKind, SketchOptions, Tempering, features::DenseRows,
/// };
///
/// let values = vec![1.0, 0.0, 0.5, 0.8, 0.1, 2.0, 0.3, 0.3];
/// let rows = Features::Dense(DenseRows::new(2, values)?);
/// let basis = Basis::fit(Kernel::Linear, &rows, &SketchOptions::new(SketchKind::Gaussian, 4))?;
/// let kernel = BasisKernel::new(basis.tempered(&Tempering::of(0.5), &rows)?);
/// contract::check(&kernel, &rows).expect("a kernel");
/// assert!(kernel.is_normalised());
/// # Ok::<(), dsokr_basis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BasisKernel {
    basis: Arc<Basis>,
}

impl BasisKernel {
    /// The kernel of a basis, owned or shared.
    pub fn new(basis: impl Into<Arc<Basis>>) -> Self {
        Self { basis: basis.into() }
    }

    /// The basis.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Coordinates of a block, p × len with p contiguous, and `k(y, y)` of each row.
    fn coordinates(&self, rows: &Block) -> Result<(Vec<f64>, Vec<f64>), Error> {
        self.basis.check_rows(rows.kind(), rows.width())?;
        let rank = self.basis.rank();
        let mut coordinates = vec![0.0; rows.len() * rank];
        let mut norms = vec![0.0; rows.len()];
        let tasks = (coordinates.par_chunks_mut(TILE * rank), norms.par_chunks_mut(TILE));
        tasks.into_par_iter().enumerate().try_for_each(|(task, (out, norms))| {
            let start = task * TILE;
            self.basis.wide_block(&rows.block(start..start + norms.len())?, out, norms)
        })?;
        Ok((coordinates, norms))
    }
}

impl OutputKernel for BasisKernel {
    /// Names the basis by its fingerprint.
    fn name(&self) -> String {
        let (basis, kernel) = (self.basis.fingerprint(), self.basis.kernel().name());
        match self.basis.tempering() {
            tempering if tempering.changes_nothing() => format!("basis {basis} of {kernel}"),
            tempering => format!("basis {basis} of {kernel}, tempered by {}", tempering.power),
        }
    }

    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        match self.basis.row_kind() {
            kind if kind != rows => Err(Error::kind(rows, kind)),
            _ => self.basis.kernel().validate(rows),
        }
    }

    fn check(&self, rows: &Block) -> Result<(), Error> {
        self.basis.kernel().check(rows)
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let rank = self.basis.rank();
        let ((x, _), (y, _)) = (self.coordinates(a)?, self.coordinates(b)?);
        let mut gram = Mat::zeros(a.len(), b.len());
        if a.is_empty() || b.is_empty() {
            return Ok(gram);
        }
        let x = MatRef::from_column_major_slice(&x, rank, a.len());
        let y = MatRef::from_column_major_slice(&y, rank, b.len());
        gram.par_col_chunks_mut(TILE).enumerate().for_each(|(tile, out)| {
            let y = y.subcols(tile * TILE, out.ncols());
            matmul(out, Accum::Replace, x.transpose(), y, 1.0, Par::Seq);
        });
        if self.is_normalised() {
            // Those without a direction share one that is outside of the span.
            let none = |rows: MatRef<f64>| -> Vec<usize> {
                let zero = |&i: &usize| rows.col(i).iter().all(|&value| value == 0.0);
                (0..rows.ncols()).filter(zero).collect()
            };
            let rows = none(x);
            for j in none(y) {
                rows.iter().for_each(|&i| gram[(i, j)] = 1.0);
            }
        }
        Ok(gram)
    }

    /// NaN for rows that the basis does not project.
    fn diagonal(&self, rows: &Block) -> Vec<f64> {
        if self.is_normalised() && self.basis.check_rows(rows.kind(), rows.width()).is_ok() {
            return vec![1.0; rows.len()];
        }
        self.coordinates(rows).map_or_else(|_| vec![f64::NAN; rows.len()], |(_, norms)| norms)
    }

    /// Where the tempering is: then `k(y, y) = 1` for every output.
    fn is_normalised(&self) -> bool {
        self.basis.tempering().normalised
    }
}
