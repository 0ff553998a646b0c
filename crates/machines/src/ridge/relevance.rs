//! Weights of input columns, learned by a first fit.

use dsokr_basis::features::SparseRows;
use dsokr_basis::{Block, RowSource};
use rayon::prelude::*;

use super::linear_index::scales;
use super::model::{Expansion, RidgeModel};
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
        let Expansion::Kernel { kernel, anchors } = &model.map else {
            return Err(Error::value("the model", "of a precomputed kernel", allowed));
        };
        let all = anchors.block(0..anchors.len())?;
        let (Block::Sparse(rows), Some(scales)) = (&all, scales(kernel.as_ref(), &all)) else {
            return Err(Error::value("the model's kernel", kernel.name(), allowed));
        };
        let columns = rows.transposed()?;
        let tasks: Vec<usize> = (0..model.width).step_by(COORDINATES).collect();
        let parts: Vec<Vec<f32>> =
            tasks.into_par_iter().map(|start| squares(model, &columns, &scales, start)).collect();
        let count: Vec<usize> = (0..columns.len()).map(|at| columns.row(at).0.len()).collect();
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

/// The part of `‖W_j‖²` of each column that comes from some coordinates. `columns` are the rows' columns; those
/// coordinates of A fit into a core's cache.
fn squares(model: &RidgeModel, columns: &SparseRows, scales: &[f32], start: usize) -> Vec<f32> {
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

/// `Σ_i x_i A_i` over some rows i. Apart from its caller it keeps the sums in vector registers.
#[inline(never)]
fn product(rows: &[u32], values: &[f32], scaled: &[[f32; COORDINATES]]) -> [f32; COORDINATES] {
    let mut sums = [0.0; COORDINATES];
    for (&row, value) in rows.iter().zip(values) {
        sums.iter_mut().zip(&scaled[row as usize]).for_each(|(sum, own)| *sum += value * own);
    }
    sums
}
