//! Accelerated proximal gradient steps in the space of the features, with a duality gap.
//!
//! With features z (p numbers, covariance `diag(s)`), `M = L Lᵀ` and `f(x) = L Cᵀ z(x)`, a machine is
//!
//! `min_C P(C) = Σ_i v_i ℓ_i(L Cᵀ z_i) + (λ/2) ‖C‖²`
//!
//! with the shares `v_i = w_i / Σ_i w_i` of the weights of the rows, 1/n without weights.
//!
//! Any slopes α_i with a finite conjugate give the lower bound `D(α) = −Σ_i v_i ℓ_i*(α_i) − ‖G L‖²/2λ` with
//! `G = Σ_i v_i z_i α_iᵀ`, so `P(C) − D(α)` bounds how far C is from the optimum. Every step computes both from one
//! pass over the rows.
//!
//! The Hessian is at most `c s_k m_j + λ` in the coordinate (k, j), where c bounds the curvature of ℓ and m holds the
//! eigenvalues of M. Where rows have weights the first term is multiplied by `max_i n v_i`. Steps are scaled by the
//! inverse of this bound, which makes them as long as the data allow whatever the decay of s. Momentum follows FISTA
//! (Beck and Teboulle 2009), restarted where it points uphill (O'Donoghue and Candès 2015).
//!
//! A loss with kinks is smoothed about slopes α⁰ (Moreau; Nesterov 2005), `c = 1/μ`. When the smoothed problem is
//! solved well enough, α⁰ moves to the slopes of its solution. This is the method of multipliers: its fixed point is
//! the solution of the problem itself, whatever μ is.

use dsokr_basis::eigenbasis::{Eigen, multiply, symmetric_eigen};
use dsokr_basis::{Basis, RowSource};
use dsokr_core::{Cancellation, Error, RowWeights};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::linear::sum_of_parts;
use crate::loss::Loss;
use crate::output_matrix::OutputMatrix;
use crate::summary::LipschitzSummary;
use crate::targets::Targets;

/// A smoothed problem is solved when its own gap is this share of the whole gap.
const INNER: f64 = 0.1;

/// The least number of rows of a part.
const ROWS: usize = 512;

/// The most parts that the rows are cut into. As many sums of parts as there are threads are in flight.
const PARTS: usize = 64;

/// Rows projected at once; constant, so that what meets in a product does not depend on the threads.
const PROJECTED: usize = 8192;

/// The rule that ends the iterations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// Largest duality gap, as a share of the mean loss of predicting only the offset; above 0, below 1
    /// (default: 1e-4).
    #[default(1e-4)]
    pub gap: f64,
    /// Largest number of steps, each a pass over the rows; at least 1 (default: 20,000).
    #[default(20_000)]
    pub steps: usize,
}

impl Stop {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let holds = self.gap > 0.0 && self.gap < 1.0;
        Error::ensure(holds, "gap of the stopping rule", self.gap, "above 0, below 1")?;
        Error::check_count("steps", self.steps)
    }
}

/// Returns the weights B = C Lᵀ, p × d, and how far the loss was minimised.
pub(crate) fn solve(
    features: &InputFeatures,
    targets: &Targets,
    loss: &Loss,
    output: &OutputMatrix,
    lambda: f64,
    stop: &Stop,
) -> Result<(Mat<f64>, LipschitzSummary), Error> {
    let n = targets.len();
    let d = targets.width();
    let OutputMatrix { root, values: spectrum, .. } = output;
    let p = features.rows.nrows();
    let r = spectrum.len();
    let values = targets.values()?;
    let mut smoothing = Smoothing::new(loss, targets)?;
    // α⁰ of a loss with kinks; the others have none.
    let mut centre = if smoothing.mu > 0.0 { vec![0.0; n * d] } else { Vec::new() };
    let mut alpha = vec![0.0; n * d];
    let mut point = Mat::<f64>::zeros(p, r);
    let mut last = Mat::<f64>::zeros(p, r);
    let mut momentum = 1.0f64;
    let mut weights_of_best = Mat::zeros(p, d);
    let mut best = LipschitzSummary {
        loss: loss.clone(),
        objective: f64::INFINITY,
        bound: f64::NEG_INFINITY,
        start: f64::INFINITY,
        steps: 0,
        converged: false,
    };
    let stage = Cancellation::current().stage("steps of the solver, at most", stop.steps);
    while best.steps < stop.steps {
        stage.advance(1)?;
        best.steps += 1;
        let weights = match root {
            Some(root) => multiply(point.as_ref(), root.transpose()),
            None => point.clone(),
        };
        let (gradient, [value, conjugate]) = features.pass(
            weights.as_ref(),
            &mut alpha,
            &targets.weights,
            |start, predictions, alpha| {
                let mut scratch = vec![0.0; d];
                let mut sums = [0.0; 2];
                let rows = predictions.chunks_exact(d).zip(alpha.chunks_exact_mut(d));
                for (row, (f, alpha)) in (start..).zip(rows) {
                    let y = &values[row * d..][..d];
                    let residual = targets.residual(row);
                    let centre = centre.get(row * d..row * d + d).unwrap_or(&[]);
                    let smoothing = (smoothing.mu, centre);
                    let weight = targets.weights.get(row);
                    let conjugate = loss.smoothed((f, y, residual), smoothing, alpha, &mut scratch);
                    sums[0] += weight * loss.value(f, y, residual);
                    sums[1] += weight * conjugate;
                }
                sums
            },
        );
        let gradient = match root {
            Some(root) => multiply(gradient.as_ref(), root.as_ref()),
            None => gradient,
        };
        let objective = value + 0.5 * lambda * squared_norm(&point);
        let bound = -conjugate - 0.5 / lambda * squared_norm(&gradient);
        if !objective.is_finite() || bound.is_nan() {
            return Err(Error::Numeric(format!(
                "the objective is {objective} after {} steps: values overflow; rescale the targets",
                best.steps
            )));
        }
        if best.steps == 1 {
            best.start = objective;
        }
        if objective < best.objective {
            (best.objective, weights_of_best) = (objective, weights);
        }
        best.bound = best.bound.max(bound);
        if best.objective - best.bound <= stop.gap * best.start {
            best.converged = true;
            break;
        }
        let gradient = gradient + faer::Scale(lambda) * &point;
        // The gap of the smoothed problem at this point and these slopes.
        let inner = 0.5 / lambda * squared_norm(&gradient);
        if smoothing.mu > 0.0 && inner <= INNER * (objective - bound) {
            std::mem::swap(&mut alpha, &mut centre);
            smoothing.moved(best.objective - best.bound);
            momentum = 1.0;
            last.copy_from(&point);
            continue;
        }
        // last ← the new point, point ← the new point with momentum.
        let curvature = smoothing.curvature;
        let scale = |k: usize, j: usize| curvature * features.spectrum[k] * spectrum[j] + lambda;
        let next = Mat::from_fn(p, r, |k, j| point[(k, j)] - gradient[(k, j)] / scale(k, j));
        let cells = (0..r).flat_map(|j| (0..p).map(move |k| (k, j)));
        let uphill: f64 = cells.map(|at| gradient[at] * (next[at] - last[at])).sum();
        let longer = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let carry = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / longer };
        momentum = if uphill > 0.0 { 1.0 } else { longer };
        point = Mat::from_fn(p, r, |k, j| next[(k, j)] + carry * (next[(k, j)] - last[(k, j)]));
        last = next;
    }
    Ok((weights_of_best, best))
}

/// How a loss with kinks is smoothed.
struct Smoothing {
    /// μ, in units of the targets by units of slopes; 0 for a loss without kinks.
    mu: f64,
    /// The largest `n v_i`: the factor by which a row's part in the curvature exceeds that of equal weights.
    heaviest: f64,
    curvature: f64,
    /// The whole gap when the slopes last moved.
    gap: f64,
}

impl Smoothing {
    fn new(loss: &Loss, targets: &Targets) -> Result<Self, Error> {
        let n = targets.len();
        let total = targets.total_weight();
        let heaviest = targets.weights.largest(n) * n as f64 / total;
        if let Some(curvature) = loss.curvature() {
            let curvature = curvature * heaviest;
            return Ok(Self { mu: 0.0, heaviest, curvature, gap: f64::INFINITY });
        }
        // Slopes are of the order of 1: a share of the mean size of a target.
        let width = targets.width();
        let weighted = |(at, value): (usize, &f64)| targets.weights.get(at / width) * value.abs();
        let sizes = targets.values()?.iter().enumerate().map(weighted).sum::<f64>();
        let size = sizes / (total * width as f64);
        let mu = if size > 0.0 { 0.1 * size } else { 1.0 };
        Ok(Self { mu, heaviest, curvature: heaviest / mu, gap: f64::INFINITY })
    }

    /// The slopes have moved; a smaller μ where that closed too little of the gap.
    fn moved(&mut self, gap: f64) {
        if gap > 0.5 * self.gap {
            self.mu /= 2.0;
            self.curvature = self.heaviest / self.mu;
        }
        self.gap = gap;
    }
}

/// Computes `Σ a_ij²`.
fn squared_norm(a: &Mat<f64>) -> f64 {
    a.col_iter().map(|column| column.iter().map(|value| value * value).sum::<f64>()).sum()
}

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
    pub(super) basis: Basis,
    /// Z, p × n.
    pub(super) rows: Mat<f64>,
    /// The diagonal of `Z Zᵀ / n`.
    spectrum: Vec<f64>,
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
        basis.project_blocks(inputs, PROJECTED, |range, block| {
            for (at, i) in range.enumerate() {
                let column = rows.col_mut(i);
                column.iter_mut().zip(block.row(at)).for_each(|(out, &value)| *out = value.into());
            }
            Ok(())
        })?;
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
        Ok(Self { basis, rows, spectrum, rotation, part })
    }

    /// Computes `Σ_i w_i z_i α_iᵀ / Σ_i w_i`, p × d, where `slopes(start, f, α)` is given the predictions `f = Bᵀ z` of
    /// consecutive rows from `start`, d numbers each, and writes α; and the sum of what it returns over `Σ_i w_i`.
    ///
    /// `alpha` holds the α of all rows, n × d row-major.
    fn pass(
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
