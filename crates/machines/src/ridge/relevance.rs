//! Weights of input columns, learned by a first fit.

use dsokr_basis::features::SparseBlock;
use dsokr_basis::{Block, RowSource};
use rayon::prelude::*;

use super::linear_index::scales;
use super::model::{Map, RidgeModel};
use super::scaling::Scaling;
use crate::Error;

/// Coordinates of one task.
const COORDINATES: usize = 32;

impl Scaling {
    /// Weights of the columns of a model's training inputs: by how much its predictions change with each.
    ///
    /// Predictions of a model that is linear in sparse rows are `z(x) = Σ_j x_j W_j` with
    /// `W_j = Σ_i x_ij A_i`, a row of p numbers for each column; under the cosine kernel rows have unit length.
    /// The weight of column j is
    ///
    /// ```text
    /// s_j = ‖W_j‖ / √(mean of ‖W_l‖² over the columns l that about as many rows have)
    /// ```
    ///
    /// where "about as many" is the same `2 log₂` of the number of rows, rounded. Without the mean, columns of few
    /// rows would lose their weight: a ridge regression shrinks them. A column of no row has weight 1.
    ///
    /// `‖W_j‖²` is the diagonal of the average outer product of the model's gradients, and a fit to rows of
    /// these weights is one step of a recursive feature machine (Radhakrishnan, Beaglehole, Pandit and Belkin,
    /// Science 383, 2024) with a diagonal matrix.
    ///
    /// # Errors
    /// [`Error::Value`] for a model that is not linear in sparse rows.
    pub fn relevance(model: &RidgeModel) -> Result<Self, Error> {
        let allowed = "a model of sparse rows that is linear in them";
        let Map::Kernel { kernel, anchors } = &model.map else {
            return Err(Error::value("the model", "of a precomputed kernel", allowed));
        };
        let all = anchors.block(0..anchors.len())?;
        let (Block::Sparse(rows), Some(scales)) = (&all, scales(kernel.as_ref(), &all)) else {
            return Err(Error::value("the model's kernel", kernel.name(), allowed));
        };
        let tasks: Vec<usize> = (0..model.width).step_by(COORDINATES).collect();
        let parts: Vec<Vec<f32>> =
            tasks.into_par_iter().map(|start| squares(model, rows, &scales, start)).collect();
        let mut count = vec![0usize; rows.width()];
        for row in 0..rows.len() {
            rows.row(row).0.iter().for_each(|&column| count[column as usize] += 1);
        }
        let group = |column: usize| (2.0 * (count[column] as f64).log2()).round() as usize;
        let mut groups: Vec<(f64, f64)> = Vec::new();
        let mut norms = vec![0.0f64; rows.width()];
        for (column, norm) in norms.iter_mut().enumerate().filter(|&(column, _)| count[column] > 0)
        {
            let squared: f64 = parts.iter().map(|part| f64::from(part[column])).sum();
            let group = group(column);
            groups.resize(groups.len().max(group + 1), (0.0, 0.0));
            groups[group].0 += squared;
            groups[group].1 += 1.0;
            *norm = squared.sqrt();
        }
        let weight = |(column, norm): (usize, f64)| match count[column] {
            0 => 1.0,
            _ => {
                let (squares, columns) = groups[group(column)];
                if squares > 0.0 { (norm / (squares / columns).sqrt()) as f32 } else { 1.0 }
            }
        };
        Ok(Self::of_weights(norms.into_iter().enumerate().map(weight).collect()))
    }
}

/// The part of `‖W_j‖²` of each column that comes from some coordinates.
fn squares(model: &RidgeModel, rows: &SparseBlock, scales: &[f32], start: usize) -> Vec<f32> {
    let size = COORDINATES.min(model.width - start);
    let mut sums = vec![0.0f32; rows.width() * size];
    let mut own = vec![0.0f32; size];
    for (row, scale) in scales.iter().enumerate() {
        for (at, own) in own.iter_mut().enumerate() {
            *own = scale * model.weights.at(row * model.width + start + at) as f32;
        }
        let (columns, values) = rows.row(row);
        for (&column, value) in columns.iter().zip(values) {
            let sum = &mut sums[column as usize * size..][..size];
            sum.iter_mut().zip(&own).for_each(|(sum, own)| *sum += value * own);
        }
    }
    sums.chunks_exact(size).map(|sum| sum.iter().map(|value| value * value).sum()).collect()
}
