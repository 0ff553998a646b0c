//! Accelerated proximal gradient steps in the space of the features, with a duality gap.
//!
//! With features z (p numbers, covariance `diag(s)`), `M = L Lᵀ` and `f(x) = L Cᵀ z(x)`, a machine is
//!
//! `min_C P(C) = (1/n) Σ_i ℓ_i(L Cᵀ z_i) + (λ/2) ‖C‖²`.
//!
//! Any slopes α_i with a finite conjugate bound it from below,
//! `D(α) = −(1/n) Σ_i ℓ_i*(α_i) − ‖G L‖²/2λ` with `G = (1/n) Σ_i z_i α_iᵀ`, so `P(C) − D(α)` bounds what
//! C lacks. Every step computes both from one pass over the rows.
//!
//! The Hessian is at most `c s_k m_j + λ` in the coordinate (k, j), where c bounds the curvature of ℓ
//! and m holds the eigenvalues of M: steps are scaled by its inverse, which makes them as long as the
//! data allow whatever the decay of s. Momentum is that of FISTA (Beck and Teboulle 2009), restarted
//! where it points uphill (O'Donoghue and Candès 2015).
//!
//! A loss with kinks is smoothed about slopes α⁰ (Moreau, Nesterov 2005), `c = 1/μ`; when the smoothed
//! problem is solved well enough, α⁰ moves to the slopes found: the method of multipliers, whose fixed
//! point is the solution of the problem itself, whatever μ is.

use dsokr_basis::eigenbasis::multiply;
use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

use crate::lipschitz::design::Design;
use crate::lipschitz::{Error, Loss, OutputMatrix, Targets};

/// A smoothed problem is solved when its own gap is this share of the whole gap.
const INNER: f64 = 0.1;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// Largest duality gap, as a share of the mean loss of the offset alone; above 0, below 1
    /// (default: 1e-4).
    pub gap: f64,
    /// Largest number of steps, each a pass over the rows; at least 1 (default: 20,000).
    pub steps: usize,
}

impl Default for Stop {
    fn default() -> Self {
        Self { gap: 1e-4, steps: 20_000 }
    }
}

impl Stop {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        let (of, value) = ("stopping rule", self.gap);
        if !(value > 0.0 && value < 1.0) {
            return Err(Error::Parameter {
                of,
                parameter: "gap",
                value,
                allowed: "above 0, below 1",
            });
        }
        if self.steps == 0 {
            return Err(Error::Range { what: "steps", found: 0, low: 1, high: usize::MAX });
        }
        Ok(())
    }
}

/// What the solver found.
pub(crate) struct Solution {
    /// B = C Lᵀ, p × d.
    pub(crate) weights: Mat<f64>,
    /// P of the weights.
    pub(crate) objective: f64,
    /// The largest D found.
    pub(crate) bound: f64,
    /// P of no weights.
    pub(crate) start: f64,
    pub(crate) steps: usize,
    pub(crate) converged: bool,
}

pub(crate) fn solve(
    design: &Design,
    targets: &Targets,
    loss: &Loss,
    output: &OutputMatrix,
    lambda: f64,
    stop: &Stop,
) -> Result<Solution, Error> {
    let (n, d) = (design.len(), targets.width());
    let root = output.root();
    let spread = |c: MatRef<f64>| match root {
        Some(root) => multiply(c, root.transpose()),
        None => c.to_owned(),
    };
    let (p, r) = (design.rank(), output.values().len());
    let mut smoothing = Smoothing::new(loss, targets);
    // α⁰ of a loss with kinks; the others have none.
    let mut centre = if smoothing.mu > 0.0 { vec![0.0; n * d] } else { Vec::new() };
    let mut alpha = vec![0.0; n * d];
    let (mut point, mut last) = (Mat::<f64>::zeros(p, r), Mat::<f64>::zeros(p, r));
    let mut momentum = 1.0f64;
    let mut best = Solution {
        weights: Mat::zeros(p, d),
        objective: f64::INFINITY,
        bound: f64::NEG_INFINITY,
        start: f64::INFINITY,
        steps: 0,
        converged: false,
    };
    while best.steps < stop.steps {
        best.steps += 1;
        let weights = spread(point.as_ref());
        let (gradient, [value, conjugate]) =
            design.pass(weights.as_ref(), &mut alpha, |start, predictions, alpha| {
                slopes(loss, targets, smoothing.mu, &centre, start, predictions, alpha)
            });
        let gradient = match root {
            Some(root) => multiply(gradient.as_ref(), root),
            None => gradient,
        };
        let objective = value + 0.5 * lambda * squared_norm(&point);
        let bound = -conjugate - 0.5 / lambda * squared_norm(&gradient);
        if !objective.is_finite() || bound.is_nan() {
            return Err(Error::Overflow { value: objective, steps: best.steps });
        }
        if best.steps == 1 {
            best.start = objective;
        }
        if objective < best.objective {
            (best.objective, best.weights) = (objective, weights);
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
        let scale =
            |k: usize, j: usize| curvature * design.spectrum[k] * output.values()[j] + lambda;
        let mut uphill = 0.0;
        let next = Mat::from_fn(p, r, |k, j| point[(k, j)] - gradient[(k, j)] / scale(k, j));
        for j in 0..r {
            for k in 0..p {
                uphill += gradient[(k, j)] * (next[(k, j)] - last[(k, j)]);
            }
        }
        let longer = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let carry = if uphill > 0.0 { 0.0 } else { (momentum - 1.0) / longer };
        momentum = if uphill > 0.0 { 1.0 } else { longer };
        point = Mat::from_fn(p, r, |k, j| next[(k, j)] + carry * (next[(k, j)] - last[(k, j)]));
        last = next;
    }
    Ok(best)
}

/// Slopes of consecutive rows; returns the sums of the losses and of their conjugates.
fn slopes(
    loss: &Loss,
    targets: &Targets,
    mu: f64,
    centre: &[f64],
    start: usize,
    predictions: &[f64],
    alpha: &mut [f64],
) -> [f64; 2] {
    let d = targets.width();
    let mut scratch = vec![0.0; d];
    let mut sums = [0.0; 2];
    let rows = predictions.chunks_exact(d).zip(alpha.chunks_exact_mut(d));
    for (at, (f, alpha)) in rows.enumerate() {
        let row = start + at;
        let (y, residual) = (&targets.values()[row * d..][..d], targets.residuals()[row]);
        let centre = centre.get(row * d..row * d + d).unwrap_or(&[]);
        sums[0] += loss.value(f, y, residual);
        sums[1] += loss.smoothed(f, y, residual, (mu, centre), alpha, &mut scratch);
    }
    sums
}

/// How a loss with kinks is smoothed.
struct Smoothing {
    /// μ, in units of the targets by units of slopes; 0 for a loss without kinks.
    mu: f64,
    curvature: f64,
    /// The whole gap when the slopes last moved.
    gap: f64,
}

impl Smoothing {
    fn new(loss: &Loss, targets: &Targets) -> Self {
        if let Some(curvature) = loss.curvature() {
            return Self { mu: 0.0, curvature, gap: f64::INFINITY };
        }
        // Slopes are of the order of 1: a share of the mean size of a target.
        let sizes = targets.values().iter().map(|value| value.abs()).sum::<f64>();
        let size = sizes / targets.values().len() as f64;
        let mu = if size > 0.0 { 0.1 * size } else { 1.0 };
        Self { mu, curvature: 1.0 / mu, gap: f64::INFINITY }
    }

    /// The slopes have moved; a smaller μ where that closed too little of the gap.
    fn moved(&mut self, gap: f64) {
        if gap > 0.5 * self.gap {
            self.mu /= 2.0;
            self.curvature = 1.0 / self.mu;
        }
        self.gap = gap;
    }
}

/// `Σ a_ij²`.
fn squared_norm(a: &Mat<f64>) -> f64 {
    a.col_iter().map(|column| column.iter().map(|value| value * value).sum::<f64>()).sum()
}
