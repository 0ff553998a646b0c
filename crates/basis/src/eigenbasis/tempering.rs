//! Bases whose axes are divided by a power of their spread, or centred.

use dsokr_core::{Error, Processes, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::algebra::{Eigen, Number, add_gram_of_rows, leading, multiply, sum_over_ranks};
use super::{Basis, Projector};
use crate::features::{RowSource, Spread, product};
use crate::kernel::Kernel;

/// Outputs whose products are added up at once.
const ROWS: usize = 2048;

/// Outputs whose coordinates are held at once: sixteen tasks of a projection.
const AT_ONCE: usize = 2 * ROWS;

/// Columns of a sum of products that one task adds up, and anchors in one product.
const TILE: usize = 128;

/// Outputs are all the same where they vary by less than this share of their size, squared.
const SAME: f64 = 1e-22;

/// The squared mean, as a multiple of the variance, above which the eigenvalues of outputs that are not centred may leave
/// out directions in which the outputs vary.
const FAR: f64 = 1e6;

/// The share of the variance that a centred basis keeps at least, where such directions are left out.
const KEPT: f64 = 0.99;

/// Share of rounding in a product with a matrix in `f32`, and in one in `f64` with weights that cancel.
pub(super) const SINGLE: f64 = 1e-6;
pub(super) const DOUBLE: f64 = 1e-12;

/// A change of the spectrum of a basis: a power on it, a centre, and unit length.
///
/// Let `P ψ(y)` be the point of an output in the span of the basis, `μ` the mean of the training outputs' points (0
/// unless `centred`) and `C = (1/n) Σ_i (P ψ(y_i) − μ) ⊗ (P ψ(y_i) − μ)` their covariance. The tempered basis belongs
/// to the kernel
/// ```text
/// k_α(y, y') = ⟨P ψ(y) − μ, C^{−α} (P ψ(y') − μ)⟩,
/// ```
///
/// where α is the `power`, and the inverse is taken where C is not zero. If `normalised`, the kernel is
/// `k_α(y, y') / √(k_α(y, y) k_α(y', y'))`. In coordinates, with `C = V Λ Vᵀ`, `t(y) = Λ^{−α/2} Vᵀ (ψ̃(y) − μ)` and
/// `u(y) = t(y) / ‖t(y)‖`. Each principal axis is divided by its standard deviation to the power α: 0 keeps kernel
/// principal components, 1 whitens them. This is a kernel whatever the outputs, since it is an inner product of their
/// images. Nothing in it is an approximation beyond the span of the basis.
///
/// An output without a direction, whose `t(y)` is numerically 0 (one at the mean, or one that has
/// nothing in common with any training output), is normalised to a unit vector outside of the span,
/// the same for all such outputs: its coordinates are 0, `k(y, y)` is 1 and its residual 1. So a
/// normalised tempered kernel has `k(y, y) = 1` without exception, and no candidate is ever at a
/// distance from predictions that makes it win by itself.
///
/// Few directions hold nearly all of an output kernel's variance, and a squared loss spends itself on
/// them, while the others distinguish the candidates. On ChEBI-20 with Mol2vec a power of 0.5, centred
/// and normalised, raises the validation MRR of a ridge regression from .25 to .38. Where a sketch
/// holds half of the kernel (Tanimoto on fingerprints, m = 1,000), only unit length raises it from .14
/// to .33: what is left of a candidate in the span no longer counts by its length.
///
/// In a configuration file a table; the default changes nothing:
///
/// ```
/// use dsokr_basis::Tempering;
///
/// let read: Tempering = serde_json::from_str(r#"{"power": 0.5, "centred": true, "normalised": true}"#)?;
/// assert_eq!(read, Tempering { power: 0.5, centred: true, normalised: true });
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
    /// Returns whether it leaves every basis as it is: power 0, neither centred nor normalised.
    pub fn changes_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the power.
    ///
    /// # Errors
    /// [`Error::Value`] unless it is from 0 to 1.
    pub fn validate(&self) -> Result<(), Error> {
        let holds = (0.0..=1.0).contains(&self.power);
        Error::ensure(holds, "tempering: power", self.power, "0 to 1")
    }
}

/// The steps of a tempered basis after its product with the kernel's values or the scaled rows.
#[derive(Clone, Debug)]
pub(super) struct Tempered {
    pub tempering: Tempering,
    /// n, the outputs whose covariance it is.
    pub rows: usize,
    /// `Λ^{−α/2} Vᵀ μ`; empty where it is not centred.
    pub offset: Vec<f64>,
    /// The length that rounding is relative to: `‖offset‖ + (Σ_j λ_j^{1−α})^½`, the latter the root
    /// of the mean squared length of `t(y_i)`.
    size: f64,
}

impl Tempered {
    /// Creates the change for the covariance of `rows` outputs with the eigenvalues `spectrum`.
    pub(super) fn new(
        tempering: Tempering,
        rows: usize,
        spectrum: &[f64],
        offset: Vec<f64>,
    ) -> Self {
        let power = 1.0 - tempering.power;
        let spread = spectrum.iter().map(|value| value.powf(power)).sum::<f64>().sqrt();
        let size = f64::squared_length(&offset).sqrt() + spread;
        Self { tempering, rows, offset, size }
    }

    /// Turns `Λ^{−α/2} Vᵀ ψ̃(y)` into the coordinates of one output, in place; returns `k(y, y)`.
    ///
    /// `noise` is the share of rounding in the product: [`SINGLE`] or [`DOUBLE`].
    pub(super) fn finish<T: Number>(&self, coordinates: &mut [T], noise: f64) -> f64 {
        coordinates.iter_mut().zip(&self.offset).for_each(|(t, &mean)| *t -= T::from_f64(mean));
        let squared = T::squared_length(coordinates);
        if !self.tempering.normalised || !squared.is_finite() {
            return squared;
        }
        let floor = if self.tempering.centred { noise * self.size } else { 0.0 };
        match squared.sqrt() {
            // nothing but rounding is left of them after centring
            length if length <= floor => coordinates.fill(T::default()),
            length => T::divide(coordinates, length),
        }
        1.0
    }
}

impl Basis {
    /// Returns a basis of the same span under a [`Tempering`], with the covariance of the training outputs.
    ///
    /// The result is an ordinary basis. Its [`dimension`](Self::dimension) q counts the axes of C above the relative
    /// tolerance of the basis's [options](Self::options) (at most p), its [`spectrum`](Self::spectrum) is Λ, and a
    /// projection costs as much as before: `Λ^{−α/2} Vᵀ` is multiplied into the frozen matrix. Its kernel is `k_α`,
    /// which lives in the span. So [`residuals`](super::Projection::residuals) are 0, and
    /// [`squared_norms`](super::Projection::squared_norms) are `k_α(y, y)`: 1 where it is normalised. (Outputs without
    /// a direction are the exception, see [`Tempering`].) [`kernel`](Self::kernel) still returns the kernel that was
    /// fitted.
    ///
    /// `outputs` are usually the outputs of the fit, but any outputs that the basis can project will do, such as
    /// all candidates. They are projected once, block by block, and only p × p numbers are kept. The result
    /// depends on their order up to rounding, and not on the number of threads. A tempering that changes nothing
    /// returns the basis as it is, bit for bit, without reading the outputs.
    ///
    /// # Errors
    /// The errors of [`Tempering::validate`]; [`Error::Unsupported`] for a basis that is tempered already;
    /// [`Error::Shape`] for no outputs; [`Error::Numeric`] when all outputs are the same (or zero), and for dense outputs
    /// so far from zero that little of their variance is in the span of the basis; the errors of
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
    /// assert!(projected.squared_norms().iter().all(|norm| (norm - 2.0).abs() < 1e-5));
    /// # Ok::<(), dsokr_core::Error>(())
    /// ```
    pub fn tempered(self, tempering: &Tempering, outputs: &dyn RowSource) -> Result<Self, Error> {
        self.tempered_weighted(tempering, outputs, &RowWeights::equal(), &Processes::default())
    }

    /// Tempers like [`tempered`](Self::tempered), where an output counts in mean and covariance as often as its weight
    /// says: `μ = Σ_i w_i P ψ(y_i) / Σ_i w_i`. The processes share the work, as in [`Basis::fit_shared`].
    ///
    /// # Errors
    /// The errors of [`tempered`](Self::tempered); [`Error::Shape`] unless there is one weight for each output, or
    /// none.
    pub fn tempered_weighted(
        self,
        tempering: &Tempering,
        outputs: &dyn RowSource,
        weights: &RowWeights,
        processes: &Processes,
    ) -> Result<Self, Error> {
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
        let (mean, covariance) = self.moments(outputs, weights, tempering.centred, processes)?;
        if tempering.centred {
            let kept = covariance.diagonal().column_vector().iter().sum::<f64>();
            self.check_kept(kept, outputs)?;
        }
        let size = mean.iter().map(|v| v * v).sum::<f64>()
            + covariance.diagonal().column_vector().iter().sum::<f64>();
        let same = || {
            let rows = outputs.len();
            Error::Numeric(format!(
                "tempering: the coordinates of {rows} outputs do not vary; leave power and centring out, or check \
                 the outputs"
            ))
        };
        let Eigen { values, vectors } = match leading(covariance, self.options.tolerance) {
            Err(Error::ZeroMatrix { .. }) => return Err(same()),
            eigen => eigen?,
        };
        if values.first().is_none_or(|&largest| largest <= SAME * size) {
            return Err(same());
        }
        // G = Λ^{−α/2} Vᵀ, q × p
        let scale = |j: usize| values[j].powf(-0.5 * tempering.power);
        let turn = Mat::from_fn(values.len(), self.dimension(), |j, i| scale(j) * vectors[(i, j)]);
        let along = |row: faer::RowRef<f64>| row.iter().zip(&mean).map(|(g, m)| g * m).sum();
        let means = turn.row_iter().map(along);
        let offset = if tempering.centred { means.collect() } else { Vec::new() };
        let tempered = Tempered::new(*tempering, outputs.len(), &values, offset);
        Ok(self.turned(values, &turn, Some(tempered)))
    }

    /// Refuses outputs so far from zero that the cut of small eigenvalues, which comes before they are centred, has left
    /// out directions in which they vary; `kept` is the variance that is left.
    fn check_kept(&self, kept: f64, outputs: &dyn RowSource) -> Result<(), Error> {
        let is_cut = self.dimension() < self.options.size.min(self.width);
        if !is_cut || self.kernel.built_in() != Some(&Kernel::Linear) {
            return Ok(());
        }
        let Some(spread) = Spread::of(outputs)? else { return Ok(()) };
        let variance = spread.variance;
        // outputs that are all the same have an error of their own
        let is_near = variance <= 0.0 || spread.squared_mean <= FAR * variance;
        if is_near || kept >= KEPT * variance {
            return Ok(());
        }
        let share = (100.0 * kept / variance).floor();
        let offset = spread.offset().round();
        Err(Error::Numeric(format!(
            "tempering: the basis keeps {share} % of the variance of outputs whose mean is {offset} times as far from zero \
             as they are from it: subtract the mean of each column before, in a configuration by output.scaling = \
             \"standard\""
        )))
    }

    /// Returns the projector with `G ψ̃(y) − offset` in the place of `ψ̃(y)`.
    pub(super) fn turned(
        mut self,
        spectrum: Vec<f64>,
        turn: &Mat<f64>,
        tempered: Option<Tempered>,
    ) -> Self {
        let dimension = self.dimension();
        let turned = spectrum.len();
        self.map = match self.map {
            Projector::Linear { matrix, zero, .. } => {
                let zero = if zero.is_empty() { zero } else { times(turn, &zero, dimension, 1) };
                let matrix = times(turn, &matrix, dimension, self.width);
                Projector::linear(matrix, zero, self.width, self.kind)
            }
            Projector::Sum { sum, turn: before } => {
                let turn = if before.is_empty() {
                    turn.row_iter().flat_map(|row| row.iter()).map(|&v| v as f32).collect()
                } else {
                    times(turn, &before, dimension, sum.coordinates())
                };
                Projector::Sum { sum, turn }
            }
            Projector::Anchored { weights, mixing, anchors } => {
                let mut product = vec![0.0; weights.len() / dimension * turned];
                let parts = weights.par_chunks(TILE * dimension);
                product.par_chunks_mut(TILE * turned).zip(parts).for_each(|(out, part)| {
                    let count = part.len() / dimension;
                    let out = MatMut::from_column_major_slice_mut(out, turned, count);
                    let part = MatRef::from_column_major_slice(part, dimension, count);
                    matmul(out, Accum::Replace, turn.as_ref(), part, 1.0, Par::Seq);
                });
                Projector::Anchored { weights: product, mixing, anchors }
            }
        };
        self.spectrum = spectrum;
        self.tempered = tempered;
        self
    }

    /// Returns weighted mean and covariance of the coordinates of outputs. If they are not centred, the covariance is
    /// about 0 and the mean is zeros.
    ///
    /// This takes one pass: sums are taken about the mean of the first block. It is near enough to the mean of all for
    /// their difference to cancel no digits that count.
    pub(super) fn moments(
        &self,
        outputs: &dyn RowSource,
        weights: &RowWeights,
        centred: bool,
        processes: &Processes,
    ) -> Result<(Vec<f64>, Mat<f64>), Error> {
        weights.check(outputs.len())?;
        let dimension = self.dimension();
        let count = outputs.len();
        let mut shift = vec![0.0; dimension];
        let mut sum = vec![0.0; dimension];
        let mut products = Mat::<f64>::zeros(dimension, dimension);
        let place = processes.rank();
        let size = processes.size();
        // some blocks of each process at once, and every process adds up its tiles
        for start in (0..count).step_by(AT_ONCE * size) {
            let first_row = count.min(start + AT_ONCE * place);
            let rank_points = self.wide(outputs, first_row..count.min(first_row + AT_ONCE))?;
            let mut first = start;
            for mut points in processes.gather_numbers(&rank_points)? {
                for block in points.chunks_mut(ROWS * dimension) {
                    let len = block.len() / dimension;
                    let roots = weights.roots(first..first + len);
                    if centred && first == 0 {
                        add_rows(&mut shift, block, None);
                        shift.iter_mut().for_each(|value| *value /= len as f64);
                    }
                    first += len;
                    if centred {
                        block.par_chunks_exact_mut(dimension).for_each(|row| {
                            row.iter_mut().zip(&shift).for_each(|(value, shift)| *value -= shift);
                        });
                    }
                    // rows times √w: the sum of products needs nothing else, and the sum of rows one √w more
                    scale_rows(block, dimension, roots.as_deref());
                    if centred {
                        add_rows(&mut sum, block, roots.as_deref());
                    }
                    let block = MatRef::from_column_major_slice(block, dimension, len);
                    // The lower half, each column in the order of the rows whoever sums it.
                    add_gram_of_rows(&mut products, block, |tile| tile % size == place);
                }
            }
        }
        sum_over_ranks(processes, &mut products)?;
        let n = weights.total(count);
        let difference: Vec<f64> = sum.iter().map(|sum| sum / n).collect();
        let covariance = Mat::from_fn(dimension, dimension, |i, j| {
            products[(i.max(j), i.min(j))] / n - difference[i] * difference[j]
        });
        let mean = shift.iter().zip(&difference).map(|(shift, d)| shift + d).collect();
        Ok((mean, covariance))
    }
}

/// Returns the product of a matrix with one of `inner` rows and `width` columns in `f32`, row-major.
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

/// Adds rows, each times its factor where there are some.
fn add_rows(sum: &mut [f64], rows: &[f64], factors: Option<&[f64]>) {
    for (at, row) in rows.chunks_exact(sum.len()).enumerate() {
        let factor = factors.map_or(1.0, |factors| factors[at]);
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
    }
}

/// Multiplies rows by their factors, where there are some.
fn scale_rows(rows: &mut [f64], width: usize, factors: Option<&[f64]>) {
    for (row, factor) in rows.chunks_exact_mut(width).zip(factors.unwrap_or_default()) {
        row.iter_mut().for_each(|value| *value *= factor);
    }
}
