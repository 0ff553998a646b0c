//! Weights of the columns of inputs, by how much a model's predictions change with each.

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Block, RowSource};
use dsokr_core::{Error, RowWeights};
use faer::MatRef;
use rayon::prelude::*;

use super::model::KernelModel;
use super::scaling::Scaling;
use crate::features::{AnchorFeatures, FeatureMap, scales};

/// Coordinates of one task.
const COORDINATES: usize = 32;

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
        let FeatureMap::Anchors(features) = &model.map else {
            return Err(Error::value("the model", "one without anchors", allowed));
        };
        let AnchorFeatures { kernel, anchors, .. } = features;
        let all = anchors.block(0..anchors.len())?;
        let Block::Sparse(rows) = &all else {
            return Err(Error::value("the model's kernel", kernel.name(), allowed));
        };
        let Some(scales) = scales(kernel.as_ref(), &all) else {
            return Err(Error::value("the model's kernel", kernel.name(), allowed));
        };
        let columns = rows.transposed()?;
        let weights = model.anchor_weights();
        let tasks: Vec<usize> = (0..model.width).step_by(COORDINATES).collect();
        let squares = |start| squares(weights.as_ref(), &columns, &scales, start);
        let parts: Vec<Vec<f32>> = tasks.into_par_iter().map(squares).collect();
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
fn squares(weights: MatRef<f64>, columns: &SparseRows, scales: &[f32], start: usize) -> Vec<f32> {
    let size = COORDINATES.min(weights.ncols() - start);
    let mut scaled = vec![[0.0f32; COORDINATES]; scales.len()];
    for (row, (scaled, scale)) in scaled.iter_mut().zip(scales).enumerate() {
        for (at, scaled) in scaled[..size].iter_mut().enumerate() {
            *scaled = scale * weights[(row, start + at)] as f32;
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
