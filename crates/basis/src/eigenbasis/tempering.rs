use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::eigen::{Eigen, leading};
use super::{Basis, Map};
use crate::Error;
use crate::features::RowSource;

/// Outputs whose coordinates are held at once.
const ROWS: usize = 2048;

/// Columns of a sum of products that one task adds up, and anchors in one product.
const TILE: usize = 128;

/// Outputs are all the same where they vary by less than this share of their size, squared.
const SAME: f64 = 1e-22;

/// How the spectrum of a basis is changed: a power on it, a centre, and unit length.
///
/// With `P ψ(y)` the point of an output in the span of the basis, `μ` the mean of the training
/// outputs' points (0 unless `centred`) and `C = (1/n) Σ_i (P ψ(y_i) − μ) ⊗ (P ψ(y_i) − μ)` their
/// covariance, the tempered basis is that of the kernel
///
/// ```text
/// k_α(y, y') = ⟨P ψ(y) − μ, C^{−α} (P ψ(y') − μ)⟩,
/// ```
///
/// α the `power`, the inverse taken where C is not zero; and where `normalised` of the kernel
/// `k_α(y, y') / √(k_α(y, y) k_α(y', y'))`. In coordinates, with `C = V Λ Vᵀ`,
/// `t(y) = Λ^{−α/2} Vᵀ (ψ̃(y) − μ)` and `u(y) = t(y) / ‖t(y)‖`, 0 where `t(y)` is 0 to rounding: an
/// output at the mean has no direction. Each principal axis is divided by its standard deviation to
/// the power α: 0 keeps kernel principal components, 1 whitens them. It is a kernel whatever the
/// outputs, since it is an inner product of their images; nothing in it is an approximation beyond
/// the span of the basis.
///
/// Few directions hold nearly all of an output kernel's variance, and a squared loss spends itself on
/// them, while candidates are told apart by the others. On ChEBI-20 with Mol2vec a power of 0.5, centred
/// and normalised, raises the validation MRR of a ridge regression from .25 to .38.
///
/// In a configuration file a table; the default changes nothing:
///
/// ```
/// use dsokr_basis::Tempering;
///
/// let read: Tempering = serde_json::from_str(r#"{"power": 0.5, "centred": true, "normalised": true}"#)?;
/// assert_eq!(read, Tempering::of(0.5));
/// assert!(serde_json::from_str::<Tempering>("{}")?.changes_nothing());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tempering {
    /// α from 0 (default) to 1: each principal axis is divided by (its standard deviation)^α.
    pub power: f64,
    /// Whether coordinates count from the mean of the training outputs (default: false).
    pub centred: bool,
    /// Whether coordinates are scaled to unit length (default: false).
    pub normalised: bool,
}

impl Tempering {
    /// What is best where a power above 0 helps: centred, and normalised.
    pub fn of(power: f64) -> Self {
        Self { power, centred: true, normalised: true }
    }

    /// Whether it leaves every basis as it is: power 0, neither centred nor normalised.
    pub fn changes_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the power.
    ///
    /// # Errors
    /// [`Error::Power`] unless it is from 0 to 1.
    pub fn validate(&self) -> Result<(), Error> {
        match (0.0..=1.0).contains(&self.power) {
            true => Ok(()),
            false => Err(Error::Power { value: self.power }),
        }
    }
}

/// What a tempered basis does after its product with the kernel's values or the scaled rows.
#[derive(Clone, Debug)]
pub(super) struct Tempered {
    pub tempering: Tempering,
    /// n, the outputs whose covariance it is.
    pub rows: usize,
    /// `Λ^{−α/2} Vᵀ μ`; empty where it is not centred.
    pub offset: Vec<f64>,
    /// `(Σ_j λ_j^{1−α})^½`, the root of the mean squared length of `t(y_i)`.
    spread: f64,
}

impl Tempered {
    /// Of the covariance of `rows` outputs with the eigenvalues `spectrum`.
    pub(super) fn new(
        tempering: Tempering,
        rows: usize,
        spectrum: &[f64],
        offset: Vec<f64>,
    ) -> Self {
        let power = 1.0 - tempering.power;
        let spread = spectrum.iter().map(|value| value.powf(power)).sum::<f64>().sqrt();
        Self { tempering, rows, offset, spread }
    }

    /// From `Λ^{−α/2} Vᵀ ψ̃(y)` to the coordinates of one output, in place; returns `k(y, y)`.
    ///
    /// `noise` is the share of rounding in the product: what is no longer than that after centring
    /// is 0.
    pub(super) fn finish(&self, coordinates: &mut [f64], noise: f64) -> f64 {
        let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(coordinates) + self.spread;
        coordinates.iter_mut().zip(&self.offset).for_each(|(t, mean)| *t -= mean);
        let length = norm(coordinates);
        if !self.tempering.normalised || !length.is_finite() {
            return length * length;
        }
        if length == 0.0 || (self.tempering.centred && length <= noise * size) {
            coordinates.fill(0.0);
            return 0.0;
        }
        coordinates.iter_mut().for_each(|t| *t /= length);
        1.0
    }
}

impl Basis {
    /// The same span under a [`Tempering`], whose covariance is that of the training outputs.
    ///
    /// The result is a basis as any other: its [`rank`](Self::rank) q counts the axes of C above the
    /// basis's relative [tolerance](Self::tolerance) (at most p), its [`spectrum`](Self::spectrum) is Λ,
    /// and a projection costs what it did: `Λ^{−α/2} Vᵀ` is multiplied into the frozen matrix. Its
    /// kernel is `k_α`, which lives in the span, so that [`residuals`](super::Projection::residuals)
    /// are 0, and [`squared_norms`](super::Projection::squared_norms) are `k_α(y, y)`: 1 (or 0) where
    /// it is normalised. What [`kernel`](Self::kernel) returns stays the kernel that was fitted;
    /// [`BasisKernel`](super::BasisKernel) is `k_α`.
    ///
    /// `outputs` are usually those of the fit, but any will do that the basis can project, such as
    /// all candidates. They are projected once, block by block; what is kept of them is p × p. The result
    /// depends on their order up to rounding, and not on the number of threads. A tempering that changes
    /// nothing returns the basis as it is, bit for bit, without reading them.
    ///
    /// # Errors
    /// [`Error::Power`]; [`Error::AlreadyTempered`]; [`Error::NoRows`]; [`Error::NoVariance`] where
    /// there is nothing to divide by, all outputs being the same (or zero); as
    /// [`project`](Self::project) for rows that it cannot project.
    ///
    /// ```
    /// use dsokr_basis::{Basis, Features, Kernel, SketchKind, Tempering, features::DenseRows};
    ///
    /// let rows = Features::Dense(DenseRows::new(2, vec![9.0, 0.0, -9.0, 0.0, 0.0, 1.0, 0.0, -1.0])?);
    /// let basis = Basis::fit(Kernel::Linear, &rows, &SketchKind::Gaussian, 4, 0, 1e-10)?;
    /// let whitened = Tempering { power: 1.0, ..Tempering::default() };
    /// let projected = basis.tempered(&whitened, &rows)?.project(&rows)?;
    /// // rows at 9 and at 1 from the centre are now equally far
    /// assert!(projected.squared_norms.iter().all(|norm| (norm - 2.0).abs() < 1e-5));
    /// # Ok::<(), dsokr_basis::Error>(())
    /// ```
    pub fn tempered(self, tempering: &Tempering, outputs: &dyn RowSource) -> Result<Self, Error> {
        tempering.validate()?;
        if self.tempered.is_some() {
            return Err(Error::AlreadyTempered);
        }
        self.check_rows(outputs.kind(), outputs.width())?;
        if outputs.is_empty() {
            return Err(Error::NoRows);
        }
        if tempering.changes_nothing() {
            return Ok(self);
        }
        let (mean, covariance) = self.moments(outputs, tempering.centred)?;
        let size = mean.iter().map(|v| v * v).sum::<f64>() + diagonal(&covariance).sum::<f64>();
        let same = || Error::NoVariance { rows: outputs.len() };
        let Eigen { values, vectors } = match leading(covariance, self.tolerance) {
            Err(Error::ZeroKernel { .. }) => return Err(same()),
            found => found?,
        };
        if values.first().is_none_or(|&largest| largest <= SAME * size) {
            return Err(same());
        }
        // G = Λ^{−α/2} Vᵀ, q × p
        let scale = |j: usize| values[j].powf(-0.5 * tempering.power);
        let turn = Mat::from_fn(values.len(), self.rank(), |j, i| scale(j) * vectors[(i, j)]);
        let along = |row: faer::RowRef<f64>| row.iter().zip(&mean).map(|(g, m)| g * m).sum();
        let offset = match tempering.centred {
            true => turn.row_iter().map(along).collect(),
            false => Vec::new(),
        };
        let tempered = Tempered::new(*tempering, outputs.len(), &values, offset);
        Ok(self.turned(values, &turn, tempered))
    }

    /// With `G ψ̃(y) − offset` in the place of `ψ̃(y)`.
    fn turned(mut self, spectrum: Vec<f64>, turn: &Mat<f64>, tempered: Tempered) -> Self {
        let (rank, turned) = (self.rank(), spectrum.len());
        self.map = match self.map {
            Map::Linear { matrix, .. } => {
                let wide: Vec<f64> = matrix.iter().map(|&value| value.into()).collect();
                let wide = MatRef::from_row_major_slice(&wide, rank, self.width);
                let mut product = vec![0.0f32; turned * self.width];
                let rows = product.par_chunks_mut(TILE * self.width).enumerate();
                rows.for_each(|(tile, out)| {
                    let count = out.len() / self.width;
                    let part = turn.subrows(tile * TILE, count);
                    let found = super::fit::multiply(part, wide);
                    for (row, out) in found.row_iter().zip(out.chunks_exact_mut(self.width)) {
                        out.iter_mut().zip(row.iter()).for_each(|(out, &v)| *out = v as f32);
                    }
                });
                Map::linear(product, self.width, self.kind)
            }
            Map::Anchored { weights, anchors } => {
                let mut product = vec![0.0; weights.len() / rank * turned];
                let parts = weights.par_chunks(TILE * rank);
                product.par_chunks_mut(TILE * turned).zip(parts).for_each(|(out, part)| {
                    let count = part.len() / rank;
                    matmul(
                        faer::MatMut::from_column_major_slice_mut(out, turned, count),
                        Accum::Replace,
                        turn.as_ref(),
                        MatRef::from_column_major_slice(part, rank, count),
                        1.0,
                        Par::Seq,
                    );
                });
                Map::Anchored { weights: product, anchors }
            }
        };
        self.spectrum = spectrum;
        self.tempered = Some(tempered);
        self
    }

    /// Mean and covariance of the coordinates of outputs; about 0, and then a mean of zeros, where
    /// they are not centred.
    ///
    /// In one pass: sums are taken about the mean of the first block, which is near enough to that
    /// of all for their difference to cancel no digits that count.
    fn moments(
        &self,
        outputs: &dyn RowSource,
        centred: bool,
    ) -> Result<(Vec<f64>, Mat<f64>), Error> {
        let (rank, count) = (self.rank(), outputs.len());
        let mut shift = vec![0.0; rank];
        let mut sum = vec![0.0; rank];
        let mut products = Mat::<f64>::zeros(rank, rank);
        for start in (0..count).step_by(ROWS) {
            let range = start..count.min(start + ROWS);
            let len = range.len();
            let mut block = self.wide(outputs, range)?;
            if centred && start == 0 {
                add_rows(&mut shift, &block);
                shift.iter_mut().for_each(|value| *value /= len as f64);
            }
            if centred {
                for row in block.chunks_exact_mut(rank) {
                    row.iter_mut().zip(&shift).for_each(|(value, shift)| *value -= shift);
                }
                add_rows(&mut sum, &block);
            }
            let block = MatRef::from_column_major_slice(&block, rank, len);
            // The lower half, each column in the order of the rows whoever sums it.
            products.par_col_chunks_mut(TILE).enumerate().for_each(|(tile, out)| {
                let (first, width) = (tile * TILE, out.ncols());
                matmul(
                    out.subrows_mut(first, rank - first),
                    Accum::Add,
                    block.subrows(first, rank - first),
                    block.subrows(first, width).transpose(),
                    1.0,
                    Par::Seq,
                );
            });
        }
        let n = count as f64;
        let difference: Vec<f64> = sum.iter().map(|sum| sum / n).collect();
        let covariance = Mat::from_fn(rank, rank, |i, j| {
            products[(i.max(j), i.min(j))] / n - difference[i] * difference[j]
        });
        let mean = shift.iter().zip(&difference).map(|(shift, d)| shift + d).collect();
        Ok((mean, covariance))
    }
}

fn add_rows(sum: &mut [f64], rows: &[f64]) {
    for row in rows.chunks_exact(sum.len()) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
}

fn diagonal(matrix: &Mat<f64>) -> impl Iterator<Item = f64> {
    (0..matrix.nrows()).map(|i| matrix[(i, i)])
}
