//! The coordinates of outputs in a basis.

use std::ops::Range;

use dsokr_core::processes::Held;
use dsokr_core::{Cancellation, Error, Processes, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::algebra::{self, Number, not_finite};
use super::tempering::{DOUBLE, SINGLE};
use super::{Basis, Projector};
use crate::features::{self, Block, RowSource, product, simd};
use crate::kernel::{self, zero_rows};

/// Rows projected by one task.
const ROWS: usize = 256;

/// Coordinates whose mean one task adds up, a cache line or more of each row.
const SUMMED: usize = 32;

/// Anchors in one product.
const ANCHORS: usize = 1024;

/// Coordinates of outputs in a basis: p of each output, with its squared norm and its distance from the span.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    dimension: usize,
    coordinates: Vec<f32>,
    squared_norms: Vec<f64>,
    residuals: Vec<f64>,
}

impl Projection {
    /// Returns p, the number of coordinates of an output.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns `ψ̃(y)` of each output, n × p row-major.
    pub fn coordinates(&self) -> &[f32] {
        &self.coordinates
    }

    /// Returns `k(y, y)` of each output, of the tempered kernel where the basis is tempered.
    pub fn squared_norms(&self) -> &[f64] {
        &self.squared_norms
    }

    /// Returns `r(y) = max(0, k(y,y) − ‖ψ̃(y)‖²)`, the squared distance of ψ(y) from the span of the basis.
    /// Coordinates are `f32`, so values below about 1e-6 · k(y,y) are rounding. 0 where the basis is
    /// tempered, whose kernel lives in the span, but 1 for an output that has no direction in it
    /// ([`Tempering`](super::Tempering)).
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Returns the [coordinates](Self::coordinates) alone.
    pub fn into_coordinates(self) -> Vec<f32> {
        self.coordinates
    }

    /// Returns the number of outputs.
    pub fn len(&self) -> usize {
        self.squared_norms.len()
    }

    /// Returns whether there are no outputs.
    pub fn is_empty(&self) -> bool {
        self.squared_norms.is_empty()
    }

    /// Returns the weighted mean of the coordinates over the outputs, `Σ_i w_i ψ̃(y_i) / Σ_i w_i`, p numbers: where an
    /// encoder best starts.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one weight for each output, or none.
    pub fn mean(&self, weights: &RowWeights) -> Result<Vec<f32>, Error> {
        weights.check(self.len())?;
        let mut sum = vec![0.0f64; self.dimension];
        sum.par_chunks_mut(SUMMED).enumerate().for_each(|(chunk, sum)| {
            for (at, row) in self.coordinates.chunks_exact(self.dimension).enumerate() {
                let weight = weights.get(at);
                let values = sum.iter_mut().zip(&row[chunk * SUMMED..]);
                values.for_each(|(sum, &value)| *sum += weight * f64::from(value));
            }
        });
        let total = weights.total(self.len().max(1));
        Ok(sum.into_iter().map(|sum| (sum / total) as f32).collect())
    }

    /// Returns the given outputs, in that order.
    ///
    /// # Panics
    /// With an output that there is not.
    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |all: &[f64]| rows.iter().map(|&row| all[row]).collect();
        let coordinates = rows.iter().flat_map(|&row| {
            let start = row * self.dimension;
            &self.coordinates[start..start + self.dimension]
        });
        Self {
            dimension: self.dimension,
            coordinates: coordinates.copied().collect(),
            squared_norms: pick(&self.squared_norms),
            residuals: pick(&self.residuals),
        }
    }

    /// Returns `ψ̃` of one output: p coordinates, none when there is no such output.
    pub fn row(&self, row: usize) -> &[f32] {
        let start = row.saturating_mul(self.dimension);
        self.coordinates.get(start..start.saturating_add(self.dimension)).unwrap_or(&[])
    }
}

impl Basis {
    /// Returns coordinates of the given outputs, all at once, in parallel.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows that differ in kind or width from the rows of the fit, [`Error::Row`],
    /// [`Error::Numeric`] for coordinates that are not finite, and errors from reading the rows.
    pub fn project(&self, rows: &dyn RowSource) -> Result<Projection, Error> {
        self.project_range(rows, 0..rows.len())
    }

    /// Projects like [`project`](Self::project), where each of these processes computes its part and gives it to the
    /// others. All of them call it with the same rows, and get what one process would get, bit for bit.
    ///
    /// # Errors
    /// The errors of [`project`](Self::project), for rows of its part; the errors of [`Processes::gather`].
    pub fn project_shared(
        &self,
        processes: &Processes,
        rows: &dyn RowSource,
    ) -> Result<Projection, Error> {
        let (_, part) = self.project_part(processes, rows)?;
        Ok(Projection {
            dimension: part.dimension,
            coordinates: processes.join(part.coordinates)?,
            squared_norms: processes.join(part.squared_norms)?,
            residuals: processes.join(part.residuals)?,
        })
    }

    /// Projects this process's part of the outputs, and says which they are: consecutive rows, behind those of the ranks
    /// before it. The coordinates are those of [`project`](Self::project), bit for bit.
    ///
    /// # Errors
    /// The errors of [`project`](Self::project), for rows of the part.
    pub fn project_part(
        &self,
        processes: &Processes,
        rows: &dyn RowSource,
    ) -> Result<(Held, Projection), Error> {
        let part = processes.part_in_blocks(rows.len(), ROWS);
        let held = Held::new(rows.len(), std::iter::once(part.clone()));
        Ok((held, self.project_range(rows, part)?))
    }

    /// Returns the share of each output that the basis does not know: `‖ψ(y) − P ψ(y)‖² / ‖ψ(y)‖²` from 0 to 1, with
    /// P ψ(y) the nearest point of the span; 1 for an output with ψ(y) = 0. Values below about 1e-6 are
    /// rounding.
    ///
    /// ψ belongs to the [`kernel`](Self::kernel) that was fitted, before any tempering: from `t = Λ^{−α/2} Vᵀ ψ̃(y)` of
    /// a tempered basis, `‖P ψ(y)‖² = Σ_j λ_j^α t_j²`, over the axes that it kept. The kernel of a sum is the sum of
    /// the kernels of its parts as they are, tempered or not.
    ///
    /// # Errors
    /// The errors of [`project`](Self::project).
    pub fn unknown_shares(&self, rows: &dyn RowSource) -> Result<Vec<f64>, Error> {
        let power = self.tempering().power;
        let scales: Vec<f64> = self.spectrum.iter().map(|value| value.powf(power)).collect();
        let fitted = Self { tempered: None, ..self.clone() };
        let Projection { coordinates, squared_norms, .. } = fitted.project(rows)?;
        let share = |(row, squared_norm): (&[f32], &f64)| {
            let terms = row.iter().zip(&scales);
            let within: f64 = terms.map(|(&t, scale)| scale * f64::from(t) * f64::from(t)).sum();
            if *squared_norm > 0.0 { (1.0 - within / squared_norm).clamp(0.0, 1.0) } else { 1.0 }
        };
        let rows = coordinates.chunks_exact(self.dimension().max(1));
        Ok(rows.zip(&squared_norms).map(share).collect())
    }

    /// Returns the coordinates of a range of the given outputs; see [`project`](Self::project). Range by range, outputs of any
    /// number take the memory of one range.
    ///
    /// # Errors
    /// The errors of [`project`](Self::project).
    pub fn project_range(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Projection, Error> {
        let dimension = self.dimension();
        let mut coordinates = vec![0.0f32; range.len() * dimension];
        let parts =
            self.each_block(rows, range, &mut coordinates, |start, coordinates, norms| {
                let mut residuals = vec![0.0; norms.len()];
                for (at, coordinates) in coordinates.chunks_exact(dimension).enumerate() {
                    let projected = simd::squared_norm(coordinates);
                    let squared_norm = norms[at];
                    let both = [projected, squared_norm];
                    if let Some(&value) = both.iter().find(|value| !value.is_finite()) {
                        let place = format!(" in row {}", start + at);
                        return Err(not_finite(self.kernel(), place, value));
                    }
                    // A tempered output is orthogonal to the span, or lies in it but for rounding errors.
                    if self.tempered.is_none() || projected == 0.0 {
                        residuals[at] = (squared_norm - projected).max(0.0);
                    }
                }
                Ok((norms, residuals))
            })?;
        let (squared_norms, residuals): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let squared_norms = squared_norms.concat();
        let residuals = residuals.concat();
        Ok(Projection { dimension, coordinates, squared_norms, residuals })
    }

    /// Fills in the coordinates of the rows of `range`, p numbers a row, a block in a task. `finish` is given the first
    /// row of a block, its coordinates and k(y, y) of each of its rows; what it returns comes in the order of the
    /// blocks.
    fn each_block<T: Number, R: Send>(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
        out: &mut [T],
        finish: impl Fn(usize, &[T], Vec<f64>) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        self.check_rows(rows.kind(), rows.width())?;
        let dimension = self.dimension();
        let stage = Cancellation::current().stage("projection", range.len());
        let blocks = out.par_chunks_mut(ROWS * dimension).enumerate().map(|(task, out)| {
            stage.advance(out.len() / dimension)?;
            let start = range.start + task * ROWS;
            let block = features::read(rows, start..start + out.len() / dimension)?;
            self.kernel.check(&block).map_err(|error| error.at_rows(|row| start + row))?;
            let norms = self.coordinates(block, out)?;
            finish(start, out, norms)
        });
        blocks.collect()
    }

    /// Returns coordinates of one block, on one thread, p numbers a row, and k(y, y) of each row.
    pub(super) fn coordinates<T: Number>(
        &self,
        rows: Block,
        out: &mut [T],
    ) -> Result<Vec<f64>, Error> {
        let dimension = self.dimension();
        let mut norms = match (&self.tempered, &self.map) {
            (Some(_), _) | (None, Projector::Sum { .. }) => vec![0.0; rows.len()],
            (None, Projector::Linear { .. } | Projector::Anchored { .. }) => {
                kernel::diagonal(self.kernel(), &rows)?
            }
        };
        match &self.map {
            Projector::Linear { matrix, transposed, zero } => {
                let zeros = if zero.is_empty() {
                    Vec::new()
                } else {
                    zero_rows(self.kernel.as_ref(), &rows)
                };
                let (scales, rows) = T::scales_and_rows(self.kernel.as_ref(), rows);
                algebra::project(matrix, transposed, &rows, out);
                for (out, scale) in out.chunks_exact_mut(dimension).zip(scales) {
                    out.iter_mut().for_each(|value| *value *= scale);
                }
                for row in zeros {
                    out[row * dimension..][..dimension].copy_from_slice(&T::numbers(zero));
                }
            }
            Projector::Sum { sum, turn } => {
                let squared = sum.project(turn, &rows, out)?;
                if self.tempered.is_none() {
                    norms = squared;
                }
            }
            Projector::Anchored { weights, mixing, anchors } => {
                let mut wide = vec![0.0f64; out.len()];
                let size = weights.len() / dimension;
                let all = MatRef::from_column_major_slice(weights, dimension, size);
                let count = rows.len();
                let mut out_wide = MatMut::from_column_major_slice_mut(&mut wide, dimension, count);
                let mut mixed = mixing.as_ref().map(|_| Mat::<f64>::zeros(size, count));
                for range in features::ranges(0..anchors.len(), ANCHORS) {
                    let gram = kernel::gram(self.kernel(), &anchors.block(range.clone())?, &rows)?;
                    match (mixing, &mut mixed) {
                        (Some(mixing), Some(mixed)) => {
                            mixing.add_mixed(range, gram.as_ref(), mixed.as_mut());
                        }
                        _ => {
                            let weights = all.subcols(range.start, range.len());
                            let out = out_wide.as_mut();
                            matmul(out, Accum::Add, weights, gram.as_ref(), 1.0, Par::Seq);
                        }
                    }
                }
                if let Some(mixed) = mixed {
                    matmul(out_wide, Accum::Replace, all, mixed.as_ref(), 1.0, Par::Seq);
                }
                self.finish(&mut wide, &mut norms, DOUBLE);
                out.iter_mut().zip(wide).for_each(|(out, value)| *out = T::from_f64(value));
                return Ok(norms);
            }
        }
        self.finish(out, &mut norms, SINGLE);
        Ok(norms)
    }

    /// Centres and scales coordinates where the basis is tempered, which gives k(y, y) of each row.
    fn finish<T: Number>(&self, out: &mut [T], norms: &mut [f64], noise: f64) {
        if let Some(tempered) = &self.tempered {
            let rows = out.chunks_exact_mut(self.dimension()).zip(norms);
            rows.for_each(|(out, norm)| *norm = tempered.finish(out, noise));
        }
    }

    /// Returns coordinates of the rows of `range` in `f64`, p × len, one output a column.
    ///
    /// Where the kernel is nearly constant (a Gaussian much wider than the outputs are apart), the
    /// differences of outputs are below the rounding of `f32` coordinates. With anchors, and
    /// for a tempered basis, these are the sums before that rounding; any other basis that is one matrix
    /// has `f32` coordinates, widened.
    ///
    /// # Errors
    /// The errors of [`project`](Self::project).
    pub fn project_wide(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Mat<f64>, Error> {
        let dimension = self.dimension();
        let count = range.len();
        let is_one_matrix = matches!(self.map, Projector::Linear { .. });
        let out = if is_one_matrix && self.tempered.is_none() {
            product::widen(&self.project_range(rows, range)?.coordinates)
        } else {
            self.wide(rows, range)?
        };
        let mut columns = Mat::zeros(dimension, count);
        let parts = columns.par_col_chunks_mut(ROWS).zip(out.par_chunks(ROWS * dimension));
        parts.for_each(|(mut columns, part)| {
            let count = columns.ncols();
            columns.copy_from(MatRef::from_column_major_slice(part, dimension, count));
        });
        Ok(columns)
    }

    /// Returns coordinates of the rows of `range` in `f64`, p numbers a row.
    pub(super) fn wide(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Vec<f64>, Error> {
        let dimension = self.dimension();
        let mut out = vec![0.0f64; range.len() * dimension];
        self.each_block(rows, range, &mut out, |start, out, _| {
            match out.iter().position(|value| !value.is_finite()) {
                Some(at) => {
                    let place = format!(" in row {}", start + at / dimension);
                    Err(not_finite(self.kernel(), place, out[at]))
                }
                None => Ok(()),
            }
        })?;
        Ok(out)
    }
}
