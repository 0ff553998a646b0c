use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::eigen::{Eigen, leading, multiply};
use super::tempering::Tempered;
use super::{Basis, Projector, Tempering};
use crate::features::{RowSource, product};
use crate::{Error, Processes};

/// Outputs whose coordinates are held at once.
const ROWS: usize = 2048;

/// Columns of a sum of products that one task adds up, and anchors in one product.
const TILE: usize = 128;

/// Outputs are all the same where they vary by less than this share of their size, squared.
const SAME: f64 = 1e-22;

impl Basis {
    /// The same span under a [`Tempering`], whose covariance is that of the training outputs.
    ///
    /// The result is a basis as any other: its [`dimension`](Self::dimension) q counts the axes of C above the
    /// relative tolerance of the basis's [options](Self::options) (at most p), its [`spectrum`](Self::spectrum) is Λ,
    /// and a projection costs what it did: `Λ^{−α/2} Vᵀ` is multiplied into the frozen matrix. Its
    /// kernel is `k_α`, which lives in the span, so that [`residuals`](super::Projection::residuals)
    /// are 0, and [`squared_norms`](super::Projection::squared_norms) are `k_α(y, y)`: 1 where it is
    /// normalised. (The exception are outputs without a direction, see [`Tempering`].) What [`kernel`](Self::kernel)
    /// returns stays the kernel that was fitted.
    ///
    /// `outputs` are usually those of the fit, but any will do that the basis can project, such as
    /// all candidates. They are projected once, block by block; what is kept of them is p × p. The result
    /// depends on their order up to rounding, and not on the number of threads. The [`Processes`] of the scope
    /// share the work, as in [`Basis::fit`]. A tempering that changes nothing returns the basis as it is, bit
    /// for bit, without reading the outputs.
    ///
    /// # Errors
    /// As [`Tempering::validate`]; [`Error::Unsupported`] for a basis that is tempered already;
    /// [`Error::Shape`] for no outputs; [`Error::Numeric`] when all outputs are the same (or zero); as
    /// [`project`](Self::project) for rows that it cannot project.
    ///
    /// ```
    /// use dsokr_basis::{
    ///     Basis, Features, Kernel, SketchKind, SketchOptions, Tempering, features::DenseRows,
    /// };
    ///
    /// let rows = Features::Dense(DenseRows::new(2, vec![9.0, 0.0, -9.0, 0.0, 0.0, 1.0, 0.0, -1.0])?);
    /// let basis = Basis::fit(Kernel::Linear, &rows, &SketchOptions::new(SketchKind::Gaussian, 4))?;
    /// let whitened = Tempering { power: 1.0, ..Tempering::default() };
    /// let projected = basis.tempered(&whitened, &rows)?.project(&rows)?;
    /// // rows at 9 and at 1 from the centre are now equally far
    /// assert!(projected.squared_norms.iter().all(|norm| (norm - 2.0).abs() < 1e-5));
    /// # Ok::<(), dsokr_basis::Error>(())
    /// ```
    pub fn tempered(self, tempering: &Tempering, outputs: &dyn RowSource) -> Result<Self, Error> {
        tempering.validate()?;
        if self.tempered.is_some() {
            let message = "the basis is tempered already; temper the one that was fitted";
            return Err(Error::Unsupported(message.into()));
        }
        self.check_rows(outputs.kind(), outputs.width())?;
        if outputs.is_empty() {
            return Err(Error::no_rows());
        }
        if tempering.changes_nothing() {
            return Ok(self);
        }
        let (mean, covariance) = self.moments(outputs, tempering.centred)?;
        let size = mean.iter().map(|v| v * v).sum::<f64>() + diagonal(&covariance).sum::<f64>();
        let same = || {
            let rows = outputs.len();
            Error::Numeric(format!("tempering: the coordinates of {rows} outputs do not vary"))
        };
        let Eigen { values, vectors } = match leading(covariance, self.options.tolerance) {
            Err(Error::ZeroKernel { .. }) => return Err(same()),
            found => found?,
        };
        if values.first().is_none_or(|&largest| largest <= SAME * size) {
            return Err(same());
        }
        // G = Λ^{−α/2} Vᵀ, q × p
        let scale = |j: usize| values[j].powf(-0.5 * tempering.power);
        let turn = Mat::from_fn(values.len(), self.dimension(), |j, i| scale(j) * vectors[(i, j)]);
        let along = |row: faer::RowRef<f64>| row.iter().zip(&mean).map(|(g, m)| g * m).sum();
        let offset = match tempering.centred {
            true => turn.row_iter().map(along).collect(),
            false => Vec::new(),
        };
        let tempered = Tempered::new(*tempering, outputs.len(), &values, offset);
        Ok(self.turned(values, &turn, Some(tempered)))
    }

    /// With `G ψ̃(y) − offset` in the place of `ψ̃(y)`.
    pub(super) fn turned(
        mut self,
        spectrum: Vec<f64>,
        turn: &Mat<f64>,
        tempered: Option<Tempered>,
    ) -> Self {
        let (dimension, turned) = (self.dimension(), spectrum.len());
        self.map = match self.map {
            Projector::Linear { matrix, zero, .. } => {
                let zero = if zero.is_empty() { zero } else { times(turn, &zero, dimension, 1) };
                Projector::linear(
                    times(turn, &matrix, dimension, self.width),
                    zero,
                    self.width,
                    self.kind,
                )
            }
            Projector::Sum { sum, turn: before } => {
                let turn = match before.is_empty() {
                    true => turn
                        .row_iter()
                        .flat_map(|row| row.iter().map(|&v| v as f32).collect::<Vec<_>>())
                        .collect(),
                    false => times(turn, &before, dimension, sum.coordinates()),
                };
                Projector::Sum { sum, turn }
            }
            Projector::Anchored { weights, anchors } => {
                let mut product = vec![0.0; weights.len() / dimension * turned];
                let parts = weights.par_chunks(TILE * dimension);
                product.par_chunks_mut(TILE * turned).zip(parts).for_each(|(out, part)| {
                    let count = part.len() / dimension;
                    let out = MatMut::from_column_major_slice_mut(out, turned, count);
                    let part = MatRef::from_column_major_slice(part, dimension, count);
                    matmul(out, Accum::Replace, turn.as_ref(), part, 1.0, Par::Seq);
                });
                Projector::Anchored { weights: product, anchors }
            }
        };
        self.spectrum = spectrum;
        self.tempered = tempered;
        self
    }

    /// Mean and covariance of the coordinates of outputs; about 0, and then a mean of zeros, where
    /// they are not centred.
    ///
    /// In one pass: sums are taken about the mean of the first block, which is near enough to that
    /// of all for their difference to cancel no digits that count.
    pub(super) fn moments(
        &self,
        outputs: &dyn RowSource,
        centred: bool,
    ) -> Result<(Vec<f64>, Mat<f64>), Error> {
        let (dimension, count, ranks) = (self.dimension(), outputs.len(), Processes::current());
        let mut shift = vec![0.0; dimension];
        let mut sum = vec![0.0; dimension];
        let mut products = Mat::<f64>::zeros(dimension, dimension);
        let (place, size) = (ranks.rank(), ranks.size());
        // a block of each process at once, and every process adds up its tiles
        for start in (0..count).step_by(ROWS * size) {
            let own = count.min(start + ROWS * place);
            let own = self.wide(outputs, own..count.min(own + ROWS))?;
            for (at, mut block) in ranks.gather_numbers(&own)?.into_iter().enumerate() {
                let len = block.len() / dimension;
                if centred && start + at == 0 {
                    add_rows(&mut shift, &block);
                    shift.iter_mut().for_each(|value| *value /= len as f64);
                }
                if centred {
                    for row in block.chunks_exact_mut(dimension) {
                        row.iter_mut().zip(&shift).for_each(|(value, shift)| *value -= shift);
                    }
                    add_rows(&mut sum, &block);
                }
                let block = MatRef::from_column_major_slice(&block, dimension, len);
                // The lower half, each column in the order of the rows whoever sums it.
                let tiles = products.par_col_chunks_mut(TILE).enumerate();
                tiles.filter(|(tile, _)| tile % size == place).for_each(|(tile, out)| {
                    let (first, width) = (tile * TILE, out.ncols());
                    let lower = block.subrows(first, dimension - first);
                    let own = block.subrows(first, width).transpose();
                    let out = out.subrows_mut(first, dimension - first);
                    matmul(out, Accum::Add, lower, own, 1.0, Par::Seq);
                });
            }
        }
        ranks.sum_matrix(&mut products)?;
        let n = count as f64;
        let difference: Vec<f64> = sum.iter().map(|sum| sum / n).collect();
        let covariance = Mat::from_fn(dimension, dimension, |i, j| {
            products[(i.max(j), i.min(j))] / n - difference[i] * difference[j]
        });
        let mean = shift.iter().zip(&difference).map(|(shift, d)| shift + d).collect();
        Ok((mean, covariance))
    }
}

/// The product of a matrix with one of `inner` rows and `width` columns in `f32`, row-major.
fn times(turn: &Mat<f64>, matrix: &[f32], inner: usize, width: usize) -> Vec<f32> {
    let wide = product::widen(matrix);
    let wide = MatRef::from_row_major_slice(&wide, inner, width);
    let mut product = vec![0.0f32; turn.nrows() * width];
    let rows = product.par_chunks_mut(TILE * width).enumerate();
    rows.for_each(|(tile, out)| {
        let count = out.len() / width;
        let part = multiply(turn.subrows(tile * TILE, count), wide);
        for (row, out) in part.row_iter().zip(out.chunks_exact_mut(width)) {
            out.iter_mut().zip(row.iter()).for_each(|(out, &v)| *out = v as f32);
        }
    });
    product
}

fn add_rows(sum: &mut [f64], rows: &[f64]) {
    for row in rows.chunks_exact(sum.len()) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
}

fn diagonal(matrix: &Mat<f64>) -> impl Iterator<Item = f64> {
    (0..matrix.nrows()).map(|i| matrix[(i, i)])
}
