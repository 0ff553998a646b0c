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

use dsokr_basis::eigenbasis::multiply;
use dsokr_core::{Cancellation, Error};
use faer::{Mat, Scale};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::features::InputFeatures;
use crate::loss::{Loss, Prediction};
use crate::output_matrix::OutputMatrix;
use crate::summary::LipschitzSummary;
use crate::targets::Targets;

/// A smoothed problem is solved when its own gap is this share of the whole gap.
const INNER: f64 = 0.1;

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
    let values = &targets.values()?;
    let problem = Problem { features, targets, values, loss, output, lambda };
    let mut slopes = Slopes::new(&problem)?;
    let mut iterate = Iterate::new(&problem);
    let mut best = Best::new(&problem);
    let stage = Cancellation::current().stage("steps of the solver, at most", stop.steps);
    while best.summary.steps < stop.steps {
        stage.advance(1)?;
        // one pass over the rows gives the objective, the bound and the gradient
        let evaluated = problem.evaluate(&iterate.point, &mut slopes);
        best.summary.steps += 1;
        let gap = best.take(&evaluated)?;
        if gap <= stop.gap * best.summary.start {
            best.summary.converged = true;
            break;
        }
        let gradient = evaluated.gradient + Scale(lambda) * &iterate.point;
        // the gap of the smoothed problem at this point and these slopes
        let inner = 0.5 / lambda * squared_norm(&gradient);
        let is_solved = inner <= INNER * (evaluated.objective - evaluated.bound);
        if slopes.smoothing.mu > 0.0 && is_solved {
            slopes.take_as_centre(gap);
            iterate.stand_still();
        } else {
            iterate.step(&gradient, problem.curvature_bound(slopes.smoothing.curvature));
        }
    }
    Ok((best.weights, best.summary))
}

/// What is minimised.
struct Problem<'a> {
    features: &'a InputFeatures,
    targets: &'a Targets,
    /// The values of the targets, n × d row-major.
    values: &'a [f64],
    loss: &'a Loss,
    output: &'a OutputMatrix,
    lambda: f64,
}

/// The objective and its bound at a point C.
struct Evaluated {
    /// B = C Lᵀ.
    weights: Mat<f64>,
    /// `P(C)`.
    objective: f64,
    /// `D(α)` of the slopes α there.
    bound: f64,
    /// `G L`, the gradient of the loss.
    gradient: Mat<f64>,
}

impl Problem<'_> {
    /// Returns p and the rank of M, the sizes of C.
    fn sizes(&self) -> [usize; 2] {
        [self.features.rows.nrows(), self.output.values.len()]
    }

    /// Computes the objective and the slopes in one pass over the rows.
    fn evaluate(&self, point: &Mat<f64>, slopes: &mut Slopes) -> Evaluated {
        let Self { features, targets, values, loss, output, lambda } = *self;
        let d = targets.width();
        let weights = match &output.root {
            Some(root) => multiply(point.as_ref(), root.transpose()),
            None => point.clone(),
        };
        let Slopes { smoothing, centre, alpha } = slopes;
        let slopes_of_rows = |start: usize, predictions: &[f64], alpha: &mut [f64]| {
            let mut scratch = vec![0.0; d];
            let mut sums = [0.0; 2];
            let rows = predictions.chunks_exact(d).zip(alpha.chunks_exact_mut(d));
            for (row, (f, alpha)) in (start..).zip(rows) {
                let y = &values[row * d..][..d];
                let residual = targets.residual(row);
                let centre = centre.get(row * d..row * d + d).unwrap_or(&[]);
                let weight = targets.weights.get(row);
                let prediction = Prediction { values: f, target: y, residual };
                let conjugate =
                    loss.smoothed(&prediction, smoothing.mu, centre, alpha, &mut scratch);
                sums[0] += weight * loss.value(f, y, residual);
                sums[1] += weight * conjugate;
            }
            sums
        };
        let (gradient, [value, conjugate]) =
            features.pass(weights.as_ref(), alpha, &targets.weights, slopes_of_rows);
        let gradient = match &output.root {
            Some(root) => multiply(gradient.as_ref(), root.as_ref()),
            None => gradient,
        };
        let objective = value + 0.5 * lambda * squared_norm(point);
        let bound = -conjugate - 0.5 / lambda * squared_norm(&gradient);
        Evaluated { weights, objective, bound, gradient }
    }

    /// Returns the bound of the Hessian in each coordinate, by which steps are divided.
    fn curvature_bound(&self, curvature: f64) -> impl Fn(usize, usize) -> f64 {
        let features = &self.features.spectrum;
        let outputs = &self.output.values;
        move |k, j| curvature * features[k] * outputs[j] + self.lambda
    }
}

/// The slopes of the loss.
struct Slopes {
    smoothing: Smoothing,
    /// α⁰ of a loss with kinks; the others have none.
    centre: Vec<f64>,
    /// α at the last point, n × d row-major.
    alpha: Vec<f64>,
}

impl Slopes {
    fn new(problem: &Problem) -> Result<Self, Error> {
        let count = problem.targets.len() * problem.targets.width();
        let smoothing = Smoothing::new(problem.loss, problem.targets)?;
        let centre = if smoothing.mu > 0.0 { vec![0.0; count] } else { Vec::new() };
        Ok(Self { smoothing, centre, alpha: vec![0.0; count] })
    }

    /// Smooths about the slopes of the last point from now on.
    fn take_as_centre(&mut self, gap: f64) {
        std::mem::swap(&mut self.alpha, &mut self.centre);
        self.smoothing.moved(gap);
    }
}

/// C with its momentum.
struct Iterate {
    /// C, p × r.
    point: Mat<f64>,
    /// The last point before its momentum.
    last: Mat<f64>,
    momentum: f64,
}

impl Iterate {
    fn new(problem: &Problem) -> Self {
        let [p, r] = problem.sizes();
        Self { point: Mat::zeros(p, r), last: Mat::zeros(p, r), momentum: 1.0 }
    }

    /// Begins anew from the same point.
    fn stand_still(&mut self) {
        self.momentum = 1.0;
        self.last.copy_from(&self.point);
    }

    /// Steps down the gradient, divided by `scale` in each coordinate, and on with momentum unless that points uphill.
    fn step(&mut self, gradient: &Mat<f64>, scale: impl Fn(usize, usize) -> f64) {
        let Self { point, last, momentum } = self;
        let p = point.nrows();
        let r = point.ncols();
        let next = Mat::from_fn(p, r, |k, j| point[(k, j)] - gradient[(k, j)] / scale(k, j));
        let cells = (0..r).flat_map(|j| (0..p).map(move |k| (k, j)));
        let uphill: f64 = cells.map(|at| gradient[at] * (next[at] - last[at])).sum();
        let longer = 0.5 * (1.0 + (1.0 + 4.0 * *momentum * *momentum).sqrt());
        let carry = if uphill > 0.0 { 0.0 } else { (*momentum - 1.0) / longer };
        *momentum = if uphill > 0.0 { 1.0 } else { longer };
        *point = Mat::from_fn(p, r, |k, j| next[(k, j)] + carry * (next[(k, j)] - last[(k, j)]));
        *last = next;
    }
}

/// The best weights so far, and the best bound.
struct Best {
    weights: Mat<f64>,
    summary: LipschitzSummary,
}

impl Best {
    fn new(problem: &Problem) -> Self {
        let [p, _] = problem.sizes();
        let summary = LipschitzSummary {
            loss: problem.loss.clone(),
            objective: f64::INFINITY,
            bound: f64::NEG_INFINITY,
            start: f64::INFINITY,
            steps: 0,
            converged: false,
        };
        Self { weights: Mat::zeros(p, problem.targets.width()), summary }
    }

    /// Takes the weights of a step where they are better, and its bound; returns the gap that is left.
    ///
    /// # Errors
    /// [`Error::Numeric`] where values overflow.
    fn take(&mut self, evaluated: &Evaluated) -> Result<f64, Error> {
        let Self { weights, summary } = self;
        let Evaluated { objective, bound, .. } = *evaluated;
        if !objective.is_finite() || bound.is_nan() {
            return Err(Error::Numeric(format!(
                "the objective is {objective} after {} steps: values overflow; rescale the targets",
                summary.steps
            )));
        }
        if summary.steps == 1 {
            summary.start = objective;
        }
        if objective < summary.objective {
            summary.objective = objective;
            weights.clone_from(&evaluated.weights);
        }
        summary.bound = summary.bound.max(bound);
        Ok(summary.objective - summary.bound)
    }
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

    /// Notes that the slopes have moved, and takes a smaller μ where that closed too little of the gap.
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
