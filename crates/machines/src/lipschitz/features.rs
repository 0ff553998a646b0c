//! Training inputs as features that are rotated such that they do not correlate.

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use dsokr_basis::features::ranges;
use dsokr_basis::{Basis, RowSource};
use dsokr_core::{Error, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::features::FeatureMap;
use crate::linear::sum_of_parts;

/// The least number of rows of a part.
const ROWS: usize = 512;

/// The most parts that the rows are cut into. As many sums of parts as there are threads are in flight.
const PARTS: usize = 64;

/// Rows projected at once; constant, so that what meets in a product does not depend on the threads.
const PROJECTED: usize = 8192;

/// Training inputs as features, once for many fits: to select λ, γ or the loss.
///
/// The features are `Z = Q Ψ̃`, p × n: the coordinates of the inputs in a basis, rotated such that `Z Zᵀ / n` is
/// diagonal. Creating them is the work of a fit before its steps: kernel values of all inputs with the anchors, n p²
/// multiplications, and one eigendecomposition of a p × p matrix.
///
/// Any sketch serves: a sub-sampling sketch is the Nyström approximation, one of size m = n without
/// replacement is the machine without a sketch. The basis must have been fitted on inputs of this kind,
/// usually on these ones.
#[derive(Clone, Debug)]
pub struct InputFeatures {
    /// The coordinates in a basis, before the rotation.
    pub(super) map: FeatureMap,
    /// Z, p × n.
    pub(super) rows: Mat<f64>,
    /// The diagonal of `Z Zᵀ / n`.
    pub(super) spectrum: Vec<f64>,
    /// Q, p × p orthogonal.
    pub(super) rotation: Mat<f64>,
    /// Rows of a part; it depends only on n, so sums over parts do not depend on the threads.
    part: usize,
}

impl InputFeatures {
    /// Creates the features of the training inputs in a basis; n p numbers.
    ///
    /// # Errors
    /// Rows that the basis does not project; [`Error::Value`] for no rows.
    pub fn new(basis: Basis, inputs: &dyn RowSource) -> Result<Self, Error> {
        Error::check_count("rows", inputs.len())?;
        let n = inputs.len();
        let p = basis.dimension();
        let part = n.div_ceil(PARTS).max(ROWS);
        let mut rows = Mat::<f64>::zeros(p, n);
        let map = FeatureMap::Basis(Box::new(basis));
        for range in ranges(0..n, PROJECTED) {
            let columns = map.of_rows(inputs, range.clone())?;
            rows.as_mut().subcols_mut(range.start, range.len()).copy_from(columns);
        }
        let mut covariance = sum_of_parts(p, n.div_ceil(part), |at| {
            let block = rows.as_ref().subcols(at * part, part.min(n - at * part));
            multiply(block, block.transpose())
        });
        covariance *= faer::Scale(1.0 / n as f64);
        let Eigen { values, vectors } = symmetric_eigen(covariance.as_ref())?;
        let rotation = vectors.transpose().to_owned();
        rows.as_mut().par_col_chunks_mut(part).for_each(|mut block| {
            let turned = multiply(rotation.as_ref(), block.as_ref());
            block.copy_from(turned);
        });
        let spectrum = values.into_iter().map(|value| value.max(0.0)).collect();
        Ok(Self { map, rows, spectrum, rotation, part })
    }

    /// Computes `Σ_i w_i z_i α_iᵀ / Σ_i w_i`, p × d, where `slopes(start, f, α)` is given the predictions `f = Bᵀ z` of
    /// consecutive rows from `start`, d numbers each, and writes α; and the sum of what it returns over `Σ_i w_i`.
    ///
    /// `alpha` holds the α of all rows, n × d row-major.
    pub(super) fn pass(
        &self,
        weights: MatRef<f64>,
        alpha: &mut [f64],
        row_weights: &RowWeights,
        slopes: impl Fn(usize, &[f64], &mut [f64]) -> [f64; 2] + Sync,
    ) -> (Mat<f64>, [f64; 2]) {
        let n = self.rows.ncols();
        let d = weights.ncols();
        let part = |(at, alpha): &mut (usize, &mut [f64])| {
            let start = *at * self.part;
            let len = alpha.len() / d;
            let rows = self.rows.as_ref().subcols(start, len);
            let mut predictions = vec![0.0; len * d];
            let out = MatMut::from_column_major_slice_mut(&mut predictions, d, len);
            matmul(out, Accum::Replace, weights.transpose(), rows, 1.0, Par::Seq);
            let sums = slopes(start, &predictions, alpha);
            let alpha = MatRef::from_column_major_slice(alpha, d, len);
            if row_weights.is_equal() {
                return (multiply(rows, alpha.transpose()), sums);
            }
            let weighted = Mat::from_fn(d, len, |j, i| row_weights.get(start + i) * alpha[(j, i)]);
            (multiply(rows, weighted.transpose()), sums)
        };
        let mut gradient = Mat::<f64>::zeros(self.rows.nrows(), d);
        let mut totals = [0.0; 2];
        // as many sums at a time as there are threads, added in the order of the parts
        let mut parts: Vec<_> = alpha.chunks_mut(self.part * d).enumerate().collect();
        for wave in parts.chunks_mut(rayon::current_num_threads()) {
            let gradients: Vec<(Mat<f64>, [f64; 2])> = wave.par_iter_mut().map(part).collect();
            for (part, sums) in gradients {
                gradient += part;
                totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
        }
        let total_weight = row_weights.total(n);
        gradient *= faer::Scale(1.0 / total_weight);
        (gradient, totals.map(|total| total / total_weight))
    }
}
