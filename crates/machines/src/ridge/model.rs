//! A fitted kernel machine: weights of features.

use std::sync::Arc;

use dsokr_basis::eigenbasis::multiply;
use dsokr_core::Error;
use faer::{Mat, MatRef};

use super::scaling::Scaling;
use crate::features::FeatureMap;
use crate::linear::row_major;
use crate::summary::Summary;

/// A fitted kernel machine: `z(x) = b + Σ_j k(x, a_j) A_j`, p coordinates for each input row.
///
/// A model of an input sketch with few entries keeps these, W of `t(x) = W k^x`, and has weights of the m features t(x) in
/// the place of weights of anchors: `z(x) = b + Σ_i t_i(x) B_i`.
///
/// The anchors a_j are the training inputs (IOKR, ISOKR) or the inputs that the input sketch touches (SIOKR, SISOKR). A
/// model of a precomputed kernel has no anchors, and takes the kernel's values with the n training inputs. A model of a
/// [Lipschitz loss](crate::fit_lipschitz) has the coordinates of the input in a basis in the place of the kernel's
/// values.
#[derive(Clone, Debug)]
pub struct KernelModel {
    pub(crate) map: FeatureMap,
    pub(crate) weights: Weights,
    /// p.
    pub(crate) width: usize,
    pub(super) scaling: Option<Scaling>,
    /// b, p numbers; empty for 0.
    pub(crate) offset: Vec<f64>,
    /// The size and the accuracy of the fit.
    pub(crate) summary: Summary,
}

/// A or B, one row of p numbers for each feature: p × a with p contiguous.
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

    pub(crate) fn new(map: FeatureMap, weights: Weights, summary: Summary) -> Self {
        let width = summary.width;
        Self { map, weights, width, scaling: None, offset: Vec::new(), summary }
    }

    /// Returns a model of the same anchors, which the two share.
    pub(super) fn with_weights(&self, weights: Weights, summary: Summary) -> Self {
        if let (Weights::Single(_), FeatureMap::Anchors(features)) = (&weights, &self.map) {
            // made once for both
            features.index();
        }
        let scaling = self.scaling.clone();
        let offset = self.offset.clone();
        Self { scaling, offset, ..Self::new(self.map.clone(), weights, summary) }
    }

    /// Returns p, the numbers that it predicts for a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns b, p numbers, of a [Lipschitz loss](crate::fit_lipschitz); empty for 0.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// Returns A or B, a row of p numbers for each of [`anchors`](Self::anchors).
    pub fn weights(&self) -> Vec<f64> {
        (0..self.anchors() * self.width).map(|at| self.weights.at(at)).collect()
    }

    /// Returns the weights of the kernel's values with the anchors, a × p; those of the features of a model without
    /// anchors.
    pub(crate) fn anchor_weights(&self) -> Mat<f64> {
        let weight = |at: usize, j: usize| self.weights.at(at * self.width + j);
        let weights = Mat::from_fn(self.anchors(), self.width, weight);
        match &self.map {
            FeatureMap::Anchors(features) => features.pulled_back(weights),
            FeatureMap::Given { .. } | FeatureMap::Basis(_) => weights,
        }
    }

    /// Returns the number of features that the weights multiply: of anchors, or of the rows of a sketch with few entries
    /// that mixes them; for a precomputed kernel, of training inputs; of a Lipschitz loss, of coordinates.
    pub fn anchors(&self) -> usize {
        self.map.len()
    }

    /// Returns the number of columns of the rows that it predicts for; of a precomputed kernel, of its values with the
    /// training inputs.
    pub fn columns(&self) -> usize {
        self.map.columns()
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
        let product = multiply(matrix, wide.as_ref());
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
    pub(crate) fn plus(self, other: Self) -> Self {
        // the entries of a sketch are kept or not by the number of coordinates that a part was fitted for
        if self.anchors() != other.anchors() {
            return self.with_anchor_weights().plus(other.with_anchor_weights());
        }
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

    /// Returns the same model with a weight for each anchor, without the entries of a sketch.
    fn with_anchor_weights(self) -> Self {
        let FeatureMap::Anchors(features) = &self.map else { return self };
        let map = FeatureMap::anchors(Arc::clone(&features.kernel), Arc::clone(&features.anchors));
        let of_anchors = self.anchor_weights();
        let rows = of_anchors.row_iter().flat_map(|row| row.iter().copied());
        let weights = self.weights.like(rows);
        Self { map, weights, ..self }
    }

    /// Returns the model of a precomputed kernel of n inputs, for a model whose anchors are
    /// [numbers](FeatureMap::by_numbers) of inputs.
    pub(crate) fn by_numbers(self, n: usize) -> Result<Self, Error> {
        let weights = |at: usize, j: usize| self.weights.at(at * self.width + j);
        let weights = Mat::from_fn(self.anchors(), self.width, weights);
        let Some((map, weights)) = self.map.by_numbers(weights, n) else { return Ok(self) };
        let weights = Weights::Double(row_major(weights.as_ref())?);
        let offset = self.offset;
        Ok(Self { offset, ..Self::new(map, weights, self.summary) })
    }
}
