use std::ops::Range;
use std::sync::{Arc, OnceLock};

use dsokr_basis::features::{SparseRows, ranges, read};
use dsokr_basis::{Basis, Block, Features, OutputKernel, RowSource};
use dsokr_core::{Cancellation, Error, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::scaling::Scaling;
use super::training_inputs::{LinearIndex, scales};
use crate::linear::Scalar;
use crate::summary::Summary;

/// Rows predicted by one task.
const ROWS: usize = 128;

/// Anchors in one product.
const ANCHORS: usize = 1024;

/// Coordinates of one task.
const COORDINATES: usize = 32;

/// Rows whose features in a basis are held at once.
const PROJECTED: usize = 8192;

/// A fitted kernel machine: `z(x) = b + Σ_j k(x, a_j) A_j`, p coordinates for each input row.
///
/// The anchors a_j are the training inputs (IOKR, ISOKR) or the inputs that the input sketch touches (SIOKR, SISOKR). A
/// model of a precomputed kernel has no anchors, and takes the kernel's values with the n training inputs. A model of a
/// [Lipschitz loss](crate::fit_lipschitz) has the coordinates of the input in a basis in the place of the kernel's
/// values.
#[derive(Clone, Debug)]
pub struct KernelModel {
    pub(crate) map: Expansion,
    pub(crate) weights: Weights,
    /// p.
    pub(crate) width: usize,
    pub(super) scaling: Option<Scaling>,
    /// b, p numbers; empty for 0.
    pub(crate) offset: Vec<f64>,
    /// The size and the accuracy of the fit.
    pub(crate) summary: Summary,
    /// The anchors by their columns, where the kernel's values come from those; made when first used.
    index: OnceLock<Option<Arc<LinearIndex>>>,
}

/// The features that the weights are multiplied by.
#[derive(Clone, Debug)]
pub(crate) enum Expansion {
    /// The kernel's values with the anchors.
    Kernel { kernel: Arc<dyn OutputKernel>, anchors: Arc<Features> },
    /// Given values with this number of training inputs.
    Precomputed { inputs: usize },
    /// The coordinates in a basis.
    Basis(Box<Basis>),
}

/// A, one row of p numbers for each anchor: p × a with p contiguous.
#[derive(Clone, Debug)]
pub(crate) enum Weights {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Weights {
    pub(super) fn at(&self, at: usize) -> f64 {
        match self {
            Self::Single(weights) => weights[at].into(),
            Self::Double(weights) => weights[at],
        }
    }

    /// Returns others of the same precision.
    fn like(&self, values: impl Iterator<Item = f64>) -> Self {
        match self {
            Self::Single(_) => Self::Single(values.map(|value| value as f32).collect()),
            Self::Double(_) => Self::Double(values.collect()),
        }
    }
}

impl KernelModel {
    /// Returns how it was fitted.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    pub(crate) fn new(map: Expansion, weights: Weights, summary: Summary) -> Self {
        let width = summary.width;
        Self {
            map,
            weights,
            width,
            scaling: None,
            offset: Vec::new(),
            summary,
            index: OnceLock::new(),
        }
    }

    /// Returns a model of the same anchors, which the two share.
    pub(super) fn with_weights(&self, weights: Weights, summary: Summary) -> Self {
        if let Weights::Single(_) = weights {
            self.index();
        }
        let truncated = Self::new(self.map.clone(), weights, summary);
        let scaling = self.scaling.clone();
        let offset = self.offset.clone();
        Self { scaling, offset, index: self.index.clone(), ..truncated }
    }

    /// p, the numbers that it predicts for a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// b, p numbers, of a [Lipschitz loss](crate::fit_lipschitz); empty for 0.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// Returns a, a row of p numbers for each anchor.
    pub fn weights(&self) -> Vec<f64> {
        (0..self.anchors() * self.width).map(|at| self.weights.at(at)).collect()
    }

    /// Returns the number of anchors; for a precomputed kernel, of training inputs; of a Lipschitz loss, of features.
    pub fn anchors(&self) -> usize {
        match &self.map {
            Expansion::Kernel { anchors, .. } => anchors.len(),
            Expansion::Precomputed { inputs } => *inputs,
            Expansion::Basis(basis) => basis.dimension(),
        }
    }

    /// Returns the number of columns of the rows that it predicts for; of a precomputed kernel, of its values with the
    /// training inputs.
    pub fn columns(&self) -> usize {
        match &self.map {
            Expansion::Kernel { anchors, .. } => anchors.width(),
            Expansion::Precomputed { inputs } => *inputs,
            Expansion::Basis(basis) => basis.width(),
        }
    }

    /// Returns the model of raw input rows, whose rows were standardised by `scaling` before the fit.
    ///
    /// # Errors
    /// [`Error::Shape`] for a scaling of a different number of columns.
    pub fn with_scaling(mut self, scaling: Scaling) -> Result<Self, Error> {
        Error::check_length("columns", scaling.width(), self.columns())?;
        self.scaling = Some(scaling);
        Ok(self)
    }

    /// Returns the model `x ↦ B z(x)` for a matrix B of p columns: in other coordinates, or projected. The summary is
    /// still the one of the fit.
    ///
    /// # Errors
    /// [`Error::Shape`] for a matrix of a different number of columns; [`Error::Value`] for one without rows.
    pub fn mapped(self, matrix: MatRef<f64>) -> Result<Self, Error> {
        let width = self.width;
        let anchors = self.anchors();
        Error::check_length("columns of the matrix", matrix.ncols(), width)?;
        Error::check_count("rows of the matrix", matrix.nrows())?;
        let wide = Mat::from_fn(width, anchors, |i, j| self.weights.at(j * width + i));
        let product = dsokr_basis::eigenbasis::multiply(matrix, wide.as_ref());
        let values = product.col_iter().flat_map(|column| column.iter().copied());
        let weights = self.weights.like(values);
        let offset = match self.offset.as_slice() {
            [] => Vec::new(),
            offset => {
                let row = |row: usize| (0..width).map(|j| matrix[(row, j)] * offset[j]).sum();
                (0..matrix.nrows()).map(row).collect()
            }
        };
        Ok(Self { weights, offset, width: matrix.nrows(), ..self })
    }

    /// Returns the sum of two models of the same anchors, scaling and width.
    pub(crate) fn plus(self, other: &Self) -> Self {
        let sum = |at: usize| self.weights.at(at) + other.weights.at(at);
        let weights = self.weights.like((0..self.anchors() * self.width).map(sum));
        let offset = match (self.offset.as_slice(), other.offset.as_slice()) {
            (offset, []) => offset.to_vec(),
            ([], other) => other.to_vec(),
            (offset, other) => {
                offset.iter().zip(other).map(|(value, other)| value + other).collect()
            }
        };
        Self { weights, offset, ..self }
    }

    /// Returns this model for rows with more columns than its anchors, which are sparse. Values in the columns behind
    /// those of the anchors change no prediction.
    ///
    /// # Errors
    /// [`Error::Value`] for a model without sparse anchors; [`Error::Shape`] for fewer columns than these have.
    pub fn widened(self, width: usize) -> Result<Self, Error> {
        let Expansion::Kernel { kernel, anchors } = &self.map else {
            return Err(Error::value(
                "the model",
                "one without anchors",
                "one with sparse anchors",
            ));
        };
        let Block::Sparse(rows) = anchors.as_ref() else {
            let kind = anchors.kind();
            return Err(Error::value("the model's anchors", kind, "sparse ones"));
        };
        let cells = |row: usize| {
            let (columns, values) = rows.row(row);
            columns.iter().copied().zip(values.iter().copied()).collect::<Vec<_>>()
        };
        let wide = SparseRows::from_rows(width, (0..rows.len()).map(cells))?;
        let kernel = Arc::clone(kernel);
        let anchors = Arc::new(Features::Sparse(wide));
        Ok(Self { map: Expansion::Kernel { kernel, anchors }, index: OnceLock::new(), ..self })
    }

    /// Computes `z(x)` of input rows, q × p row-major: rows of `dsokr_decode::Queries`.
    ///
    /// The numbers of a row do not depend on the number of threads. Dense rows are taken as rows of the anchors'
    /// kind.
    ///
    /// # Errors
    /// Rows of a different kind that are not dense, or of a different width, [`Error::Value`] for a model of a
    /// precomputed kernel, [`Error::NotFinite`] for a prediction that overflows `f32`, and errors from reading the
    /// rows.
    pub fn predict(&self, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        match &self.map {
            Expansion::Basis(basis) => self.predict_in(basis, rows),
            Expansion::Kernel { .. } | Expansion::Precomputed { .. } => {
                self.predict_range(rows, 0..rows.len())
            }
        }
    }

    /// Predicts like [`predict`](Self::predict), from the coordinates in a basis.
    fn predict_in(&self, basis: &Basis, rows: &dyn RowSource) -> Result<Vec<f32>, Error> {
        let kind = basis.kind();
        if rows.kind() != kind {
            return self.predict_in(basis, &read(rows, 0..rows.len())?.into_kind(kind)?);
        }
        let scaled = self.scaling.as_ref().map(|scaling| scaling.rows(rows)).transpose()?;
        let rows = scaled.as_ref().map_or(rows, |scaled| scaled as &dyn RowSource);
        let weights = self.weights();
        let mut predicted = Vec::with_capacity(rows.len().saturating_mul(self.width));
        basis.project_blocks(rows, PROJECTED, |range, block| {
            let features: Vec<f64> =
                block.coordinates().iter().map(|&value| value.into()).collect();
            let all = 0..basis.dimension();
            let features = MatRef::from_column_major_slice(&features, all.len(), range.len());
            let mut out = vec![0.0; range.len() * self.width];
            multiply(&weights, self.width, all, features, &mut out);
            let values = out.iter().zip(self.offset.iter().cycle());
            predicted.extend(values.map(|(value, offset)| (value + offset) as f32));
            Ok::<_, Error>(())
        })?;
        Error::check_finite("predictions", self.width, &predicted)?;
        Ok(predicted)
    }

    /// Predicts like [`predict`](Self::predict), for some of the rows.
    pub(super) fn predict_range(
        &self,
        rows: &dyn RowSource,
        range: Range<usize>,
    ) -> Result<Vec<f32>, Error> {
        let Expansion::Kernel { kernel, anchors } = &self.map else {
            let allowed = "values of the precomputed kernel with the training inputs";
            return Err(Error::value("the inputs", "feature rows", allowed));
        };
        self.by_tasks(range, |range, out| {
            let raw = read(rows, range)?;
            let scaled = self.scaling.as_ref().map(|scaling| scaling.apply(&raw)).transpose()?;
            let block = scaled.unwrap_or(raw).into_kind(anchors.kind())?;
            kernel.check(&block)?;
            if let Weights::Single(weights) = &self.weights
                && let Some(index) = self.index()
            {
                let all = index.scales.len();
                let values = index.values(kernel.as_ref(), &block, all)?;
                multiply(weights, self.width, 0..all, values.as_ref(), out);
                return Ok(());
            }
            self.expand(out, ranges(0..anchors.len(), ANCHORS), |range| {
                kernel.block(&anchors.block(range)?, &block)
            })
        })
    }

    /// Computes `z(x)` of inputs by their values, q × n, of a precomputed kernel with the training inputs: q × p
    /// row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] for a different number of columns, and for a model whose kernel was not precomputed;
    /// [`Error::NotFinite`] for a prediction that overflows `f32`.
    pub fn predict_gram(&self, values: MatRef<f64>) -> Result<Vec<f32>, Error> {
        let training = if let Expansion::Precomputed { inputs } = self.map { inputs } else { 0 };
        Error::check_length("columns of the kernel's values", values.ncols(), training)?;
        self.by_tasks(0..values.nrows(), |range, out| {
            let values = values.subrows(range.start, range.len()).transpose();
            self.expand(out, std::iter::once(0..training), |_| Ok(values.to_owned()))
        })
    }

    /// Fills the predictions of some rows; each task is given a range of them and its zeros, to which the offset is
    /// added.
    fn by_tasks(
        &self,
        rows: Range<usize>,
        task: impl Fn(Range<usize>, &mut [f32]) -> Result<(), Error> + Sync,
    ) -> Result<Vec<f32>, Error> {
        let stage = Cancellation::current().stage("predictions", rows.len());
        let mut out = vec![0.0f32; rows.len() * self.width];
        out.par_chunks_mut(ROWS * self.width).enumerate().try_for_each(|(at, out)| {
            stage.advance(out.len() / self.width)?;
            let start = rows.start + at * ROWS;
            task(start..start + out.len() / self.width, out)?;
            let offsets = out.iter_mut().zip(self.offset.iter().cycle());
            offsets.for_each(|(value, offset)| *value = (f64::from(*value) + offset) as f32);
            Ok::<_, Error>(())
        })?;
        Error::check_finite("predictions", self.width, &out)?;
        Ok(out)
    }

    /// Returns the anchors by their columns, where that is how a model of single precision was fitted.
    fn index(&self) -> Option<&LinearIndex> {
        let index = self.index.get_or_init(|| {
            let Expansion::Kernel { kernel, anchors } = &self.map else { return None };
            LinearIndex::new(kernel.as_ref(), anchors).map(Arc::new)
        });
        index.as_deref()
    }

    /// Adds the products of the weights with the kernel's values, anchors × rows, that `values` gives
    /// for each of `parts`, a range of anchors.
    fn expand(
        &self,
        out: &mut [f32],
        parts: impl Iterator<Item = Range<usize>>,
        values: impl Fn(Range<usize>) -> Result<Mat<f64>, Error>,
    ) -> Result<(), Error> {
        match &self.weights {
            Weights::Double(weights) => {
                let mut sum = vec![0.0f64; out.len()];
                for part in parts {
                    let values = values(part.clone())?;
                    multiply(weights, self.width, part, values.as_ref(), &mut sum);
                }
                out.iter_mut().zip(sum).for_each(|(out, value)| *out = value as f32);
            }
            Weights::Single(weights) => {
                for part in parts {
                    let values = values(part.clone())?;
                    let single =
                        Mat::from_fn(values.nrows(), values.ncols(), |i, j| values[(i, j)] as f32);
                    multiply(weights, self.width, part, single.as_ref(), out);
                }
            }
        }
        Ok(())
    }
}

/// Computes `out += A_range values`, p × rows.
fn multiply<T: Scalar>(
    weights: &[T],
    rank: usize,
    anchors: Range<usize>,
    values: MatRef<T>,
    out: &mut [T],
) {
    let part = &weights[anchors.start * rank..anchors.end * rank];
    matmul(
        MatMut::from_column_major_slice_mut(out, rank, values.ncols()),
        Accum::Add,
        MatRef::from_column_major_slice(part, rank, anchors.len()),
        values,
        T::from_f64(1.0),
        Par::Seq,
    );
}

impl Scaling {
    /// Creates weights of the columns of a model's training inputs: by how much its predictions change with each.
    ///
    /// Predictions of a model that is linear in sparse rows are `z(x) = Σ_j x_j W_j` with
    /// `W_j = Σ_i x_ij A_i`, a row of p numbers for each column; under the cosine kernel rows have unit length.
    /// Where the model [standardises](KernelModel::with_scaling) rows by 1/s_j, W_j is divided by s_j: weights are of
    /// columns as the model is given them. The weight of column j is
    ///
    /// ```text
    /// s_j = ‖W_j‖ / √(mean of ‖W_l‖² over the columns l that about as many rows have)
    /// ```
    ///
    /// where "about as many" is the same `2 log₂` of the sum of the rows' weights, rounded. Without the mean, columns
    /// of few rows would lose their weight: a ridge regression shrinks them. A column of no row has weight 1.
    ///
    /// `‖W_j‖²` is the diagonal of the average outer product of the model's gradients, and a fit to rows of
    /// these weights is one step of a recursive feature machine (Radhakrishnan, Beaglehole, Pandit and Belkin,
    /// Science 383, 2024) with a diagonal matrix.
    ///
    /// # Errors
    /// [`Error::Value`] for a model that is not linear in sparse rows.
    pub fn relevance(model: &KernelModel, row_weights: &RowWeights) -> Result<Self, Error> {
        let allowed = "a model of sparse rows that is linear in them";
        let Expansion::Kernel { kernel, anchors } = &model.map else {
            return Err(Error::value("the model", "one without anchors", allowed));
        };
        let all = anchors.block(0..anchors.len())?;
        let Block::Sparse(rows) = &all else {
            return Err(Error::value("the model's kernel", kernel.name(), allowed));
        };
        let Some(scales) = scales(kernel.as_ref(), &all) else {
            return Err(Error::value("the model's kernel", kernel.name(), allowed));
        };
        let columns = rows.transposed()?;
        let tasks: Vec<usize> = (0..model.width).step_by(COORDINATES).collect();
        let parts: Vec<Vec<f32>> =
            tasks.into_par_iter().map(|start| squares(model, &columns, &scales, start)).collect();
        let total = |column: usize| -> f64 {
            let (rows, _) = columns.row(column);
            rows.iter().map(|&row| row_weights.get(row as usize)).sum()
        };
        let totals: Vec<f64> = (0..columns.len()).map(total).collect();
        let group = |column: usize| (2.0 * totals[column].log2()).round().max(0.0) as usize;
        let mut groups: Vec<(f64, f64)> = Vec::new();
        let mut norms = vec![0.0f64; rows.width()];
        for (column, norm) in
            norms.iter_mut().enumerate().filter(|&(column, _)| totals[column] > 0.0)
        {
            let of_scaled: f64 = parts.iter().map(|part| f64::from(part[column])).sum();
            let scale =
                model.scaling.as_ref().map_or(1.0, |scaling| f64::from(scaling.scale[column]));
            let squared = scale * scale * of_scaled;
            let group = group(column);
            groups.resize(groups.len().max(group + 1), (0.0, 0.0));
            groups[group].0 += squared;
            groups[group].1 += 1.0;
            *norm = squared.sqrt();
        }
        let weight = |(column, norm): (usize, f64)| {
            if totals[column] == 0.0 {
                return 1.0;
            }
            let (squares, columns) = groups[group(column)];
            if squares > 0.0 { (norm / (squares / columns).sqrt()) as f32 } else { 1.0 }
        };
        Ok(Self { centre: None, scale: norms.into_iter().enumerate().map(weight).collect() })
    }
}

/// Returns the part of `‖W_j‖²` of each column that comes from some coordinates. `columns` are the rows' columns; those
/// coordinates of A fit into a core's cache.
fn squares(model: &KernelModel, columns: &SparseRows, scales: &[f32], start: usize) -> Vec<f32> {
    let size = COORDINATES.min(model.width - start);
    let mut scaled = vec![[0.0f32; COORDINATES]; scales.len()];
    for (row, (scaled, scale)) in scaled.iter_mut().zip(scales).enumerate() {
        for (at, scaled) in scaled[..size].iter_mut().enumerate() {
            *scaled = scale * model.weights.at(row * model.width + start + at) as f32;
        }
    }
    let square = |column: usize| -> f32 {
        let (rows, values) = columns.row(column);
        product(rows, values, &scaled).iter().map(|sum| sum * sum).sum()
    };
    (0..columns.len()).map(square).collect()
}

/// Computes `Σ_i x_i A_i` over some rows i. Apart from its caller it keeps the sums in vector registers.
#[inline(never)]
fn product(rows: &[u32], values: &[f32], scaled: &[[f32; COORDINATES]]) -> [f32; COORDINATES] {
    let mut sums = [0.0; COORDINATES];
    for (&row, value) in rows.iter().zip(values) {
        sums.iter_mut()
            .zip(&scaled[row as usize])
            .for_each(|(sum, column_sum)| *sum += value * column_sum);
    }
    sums
}
