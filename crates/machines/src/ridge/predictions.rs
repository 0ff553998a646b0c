//! Predictions of a kernel machine: products of its weights with features of input rows.

use std::ops::Range;

use dsokr_basis::features::{ranges, read};
use dsokr_basis::kernel::gram;
use dsokr_basis::{Block, RowSource};
use dsokr_core::{Cancellation, Error};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::model::{KernelModel, Weights};
use crate::features::{AnchorFeatures, FeatureMap, given_only};
use crate::linear::Scalar;

/// Rows predicted by one task.
const ROWS: usize = 128;

/// Rows whose features in a basis are held at once.
const PROJECTED: usize = 8192;

impl KernelModel {
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
        self.predict_range(rows, 0..rows.len())
    }

    /// Predicts like [`predict`](Self::predict), for some of the rows.
    fn predict_range(&self, rows: &dyn RowSource, range: Range<usize>) -> Result<Vec<f32>, Error> {
        let kind = self.map.kind().ok_or_else(given_only)?;
        match &self.map {
            FeatureMap::Anchors(features) => self.by_tasks(range, |range, out| {
                let block = read(rows, range)?;
                let scaled =
                    self.scaling.as_ref().map(|scaling| scaling.apply(&block)).transpose()?;
                let block = scaled.unwrap_or(block).into_kind(kind)?;
                self.multiply_anchors(features, &block, out)
            }),
            FeatureMap::Given { .. } | FeatureMap::Basis(_) => {
                if rows.kind() != kind {
                    let rows = read(rows, 0..rows.len())?.into_kind(kind)?;
                    return self.predict_range(&rows, range);
                }
                let scaled = self.scaling.as_ref().map(|scaling| scaling.rows(rows)).transpose()?;
                let rows = scaled.as_ref().map_or(rows, |scaled| scaled as &dyn RowSource);
                self.predict_blocks(rows, range)
            }
        }
    }

    /// Predicts like [`predict`](Self::predict), a block of features at a time.
    fn predict_blocks(&self, rows: &dyn RowSource, range: Range<usize>) -> Result<Vec<f32>, Error> {
        let weights = self.weights();
        let mut predicted = vec![0.0f32; range.len().saturating_mul(self.width)];
        let blocks = predicted.chunks_mut(PROJECTED * self.width);
        for (range, predicted) in ranges(range, PROJECTED).zip(blocks) {
            let features = self.map.of_rows(rows, range)?;
            predicted.par_chunks_mut(ROWS * self.width).enumerate().for_each(
                |(task, predicted)| {
                    let mut out = vec![0.0; predicted.len()];
                    let features = features.as_ref().subcols(task * ROWS, out.len() / self.width);
                    multiply(&weights, self.width, 0..self.anchors(), features, &mut out);
                    let values = out.iter().zip(self.offset.iter().cycle());
                    predicted.iter_mut().zip(values).for_each(|(predicted, (value, offset))| {
                        *predicted = (value + offset) as f32
                    });
                },
            );
        }
        Error::check_finite("predictions", self.width, &predicted)?;
        Ok(predicted)
    }

    /// Adds the products of the weights with the kernel values of the rows of a block.
    fn multiply_anchors(
        &self,
        features: &AnchorFeatures,
        block: &Block,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let AnchorFeatures { kernel, anchors, .. } = features;
        kernel.check(block)?;
        if features.mixing.is_some() {
            let all = std::iter::once(0..features.len());
            return self.expand(out, all, |_| features.of_block(block));
        }
        if let Weights::Single(weights) = &self.weights
            && let Some(index) = features.index()
        {
            let all = index.len();
            let values = index.values(kernel.as_ref(), block, all)?;
            multiply(weights, self.width, 0..all, values.as_ref(), out);
            return Ok(());
        }
        self.expand(out, features.parts(), |range| {
            gram(kernel.as_ref(), &anchors.block(range)?, block)
        })
    }

    /// Computes `z(x)` of inputs by their values, q × n, of a precomputed kernel with the training inputs: q × p
    /// row-major.
    ///
    /// # Errors
    /// [`Error::Shape`] for a different number of columns, and for a model whose kernel was not precomputed;
    /// [`Error::NotFinite`] for a prediction that overflows `f32`.
    pub fn predict_gram(&self, values: MatRef<f64>) -> Result<Vec<f32>, Error> {
        let training = if let FeatureMap::Given { inputs } = self.map { inputs } else { 0 };
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
