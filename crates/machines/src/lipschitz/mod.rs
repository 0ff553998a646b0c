//! Sketched kernel machines with Lipschitz losses.

mod features;
mod solver;

use dsokr_basis::eigenbasis::multiply;
use dsokr_core::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::loss::{Loss, check_levels};
use crate::output_matrix::OutputMatrix;
use crate::ridge::{KernelModel, Weights};
use crate::summary::{Solution, Summary};
use crate::targets::{Targets, check};

pub use features::InputFeatures;
pub use solver::Stop;

/// The problem of a machine: minimise `Σ_i w_i ℓ(f(x_i), y_i) / Σ_i w_i + c λ ‖f − b‖²`, c being [`Loss::penalty`] and
/// w the [weights](Targets::with_weights) of the targets.
#[derive(Clone, Debug)]
pub struct LipschitzProblem {
    /// ℓ.
    pub loss: Loss,
    /// The output matrix M of the kernel `k M`, in whose norm `f − b` is penalised.
    pub output: OutputMatrix,
    /// λ, above 0. With the square loss and M = I it is the λ of a ridge regression.
    pub lambda: f64,
    /// b.
    pub offset: Offset,
}

/// Fits a machine on the features of the training inputs,
/// `f(x) = b + Σ_i k(x, x_i) M [Rᵀ Γ]_i = b + Vᵀ z(x)` (thesis, sections 3.2.2 and 3.2.3).
///
/// `z(x) = D^{-1/2} Uᵀ R k^x` are the coordinates of the input in the basis of a sketch R, which is the
/// [`Basis`](dsokr_basis::Basis) of the crate `dsokr-basis`, fitted on the training *inputs*.
///
/// Memory: n (p + 2 d) numbers. Time: 2 n p d multiplications a step. The numbers do not depend on
/// the number of threads. A fit that reaches the step limit is not an error: see
/// [`LipschitzSummary::converged`](crate::LipschitzSummary::converged).
///
/// ```
/// use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, features::DenseRows};
/// use dsokr_machines::{
///     InputFeatures, LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets, fit_lipschitz,
/// };
///
/// // The median of y given x, where one y is wrong.
/// let x: Vec<f32> = (0..40).map(|i| i as f32 / 10.0).collect();
/// let mut y: Vec<f64> = x.iter().map(|&x| f64::from(x).sin()).collect();
/// y[20] = 1000.0;
/// let x = Features::Dense(DenseRows::new(1, x)?);
/// let every = SketchKind::Subsampling { replacement: false };
/// let basis = Basis::fit(Kernel::Gaussian { gamma: 1.0 }, &x, &SketchOptions::new(every.clone(), 20))?;
/// let problem = LipschitzProblem {
///     loss: Loss::pinball([0.5]),
///     output: OutputMatrix::identity(1)?,
///     lambda: 1e-4,
///     offset: Offset::Constant,
/// };
/// let targets = Targets::new(1, y)?;
/// let features = InputFeatures::new(basis, &x)?;
/// let machine = fit_lipschitz(&features, &targets, &problem, &Stop::default())?;
/// assert!(machine.summary().lipschitz().is_some_and(|solution| solution.converged));
/// assert!((machine.predict(&x)?[20] - 2.0f32.sin()).abs() < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Value`] for a λ that is not above 0; [`Error::Shape`] unless there are targets for each
/// input and as many outputs as M has; the errors of the loss and of the stopping rule;
/// [`Error::Numeric`] where values overflow.
pub fn fit_lipschitz(
    features: &InputFeatures,
    targets: &Targets,
    problem: &LipschitzProblem,
    stop: &Stop,
) -> Result<KernelModel, Error> {
    let LipschitzProblem { loss, output, lambda, offset } = problem;
    check(features.rows.ncols(), targets, *lambda)?;
    Error::check_length("targets a row", targets.width(), output.width)?;
    loss.validate(targets.width())?;
    stop.validate()?;
    let offset = offset.of(loss, targets)?;
    // the solver's penalty is (λ/2) ‖f − b‖²
    let penalty = 2.0 * loss.penalty() * lambda;
    let (solved, solution) =
        solver::solve(features, &targets.minus(&offset)?, loss, output, penalty, stop)?;
    // V = Qᵀ B: back to the coordinates of the basis.
    let turned = multiply(features.rotation.transpose(), solved.as_ref());
    let p = turned.nrows();
    let d = turned.ncols();
    let weights = Weights::Double((0..p * d).map(|at| turned[(at / d, at % d)]).collect());
    let rows = targets.len();
    let lambda = *lambda;
    let solution = Solution::Lipschitz(solution);
    let summary = Summary { rows, unknowns: p, width: d, lambda, solution };
    let mut model = KernelModel::new(features.map.clone(), weights, summary);
    model.offset = offset;
    Ok(model)
}

/// The constant b of `f(x) = b + h(x)`, which is not regularised, nor fitted further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Offset {
    /// 0, as in the thesis, equation 3.8.
    #[default]
    Zero,
    /// A constant for each output: its empirical τ-quantile with the pinball loss, its mean with the
    /// square loss, its median with the others.
    Constant,
}

impl Offset {
    /// Returns b of the given loss and targets, d numbers.
    pub(crate) fn of(self, loss: &Loss, targets: &Targets) -> Result<Vec<f64>, Error> {
        let d = targets.width();
        let values = targets.values()?;
        let total = targets.total_weight();
        let column = |j: usize| {
            let values = values.iter().skip(j).step_by(d).copied().enumerate();
            values.map(|(row, value)| (value, targets.weights.get(row)))
        };
        let offset = |j: usize| match self {
            Self::Zero => 0.0,
            Self::Constant if loss.is_fitted_by_mean() => {
                column(j).map(|(value, weight)| weight * value).sum::<f64>() / total
            }
            Self::Constant => quantile(column(j), loss.levels().map_or(0.5, |levels| levels[j])),
        };
        Ok((0..d).map(offset).collect())
    }
}

/// Returns the τ-quantile `inf {z : F(z) ≥ τ}` of the empirical distribution F of values with weights.
fn quantile(values: impl Iterator<Item = (f64, f64)>, level: f64) -> f64 {
    let mut sorted: Vec<(f64, f64)> = values.collect();
    sorted.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    for (value, weight) in &sorted {
        sum += weight;
        // F(z) as a quotient: a product τ Σw is rounded and may be above the sum that it stands for
        if sum / total >= level {
            return *value;
        }
    }
    sorted.last().map_or(0.0, |(value, _)| *value)
}

/// Returns the mean pinball loss, summed over the levels, of predicted quantiles (n × d row-major) of n
/// numbers.
///
/// # Errors
/// [`Error::Value`] for bad levels, [`Error::Shape`] unless there are d predictions for each number,
/// [`Error::NotFinite`] for a prediction or a number that is not finite.
pub fn pinball_loss(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<f64, Error> {
    check_quantiles(levels, predictions, observed)?;
    let loss = Loss::pinball(levels);
    let losses = predictions.chunks_exact(levels.len()).zip(observed).map(|(row, &y)| {
        let row: Vec<f64> = row.iter().map(|&value| value.into()).collect();
        loss.value(&row, &vec![y; row.len()], 0.0)
    });
    Ok(losses.sum::<f64>() / observed.len() as f64)
}

/// Returns the crossing loss `(1/n) Σ_i Σ_j max(0, f_j(x_i) − f_{j+1}(x_i))` of predicted quantiles, n × d
/// row-major with increasing levels: 0 where no two neighbours cross (Sangnier et al. 2016).
///
/// # Errors
/// [`Error::Value`] for no levels or no rows, [`Error::Shape`] for values that are not whole rows, [`Error::NotFinite`] for a
/// prediction that is not finite.
///
/// ```
/// // The first row is in order, in the second the upper quantile is 0.5 below the lower one.
/// let crossing = dsokr_machines::crossing_loss(2, &[0.0, 1.0, 1.0, 0.5])?;
/// assert_eq!(crossing, 0.25);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn crossing_loss(levels: usize, predictions: &[f32]) -> Result<f64, Error> {
    Error::check_count("quantile levels", levels)?;
    Error::check_count("predictions", predictions.len())?;
    let expected = predictions.len().next_multiple_of(levels);
    Error::check_length("predictions", predictions.len(), expected)?;
    Error::check_finite("predictions", levels, predictions)?;
    let rows = predictions.chunks_exact(levels);
    let crossed =
        rows.flat_map(|row| row.windows(2)).map(|pair| f64::from((pair[0] - pair[1]).max(0.0)));
    Ok(crossed.sum::<f64>() / (predictions.len() / levels) as f64)
}

/// Returns the share of observed numbers that are at most the predicted quantile, for each level: τ_j for
/// calibrated quantiles.
///
/// # Errors
/// The errors of [`pinball_loss`].
pub fn coverage(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<Vec<f64>, Error> {
    check_quantiles(levels, predictions, observed)?;
    let share = |j: usize| {
        let quantiles = predictions.iter().skip(j).step_by(levels.len());
        let covered = quantiles.zip(observed).filter(|(quantile, y)| **y <= f64::from(**quantile));
        covered.count() as f64 / observed.len() as f64
    };
    Ok((0..levels.len()).map(share).collect())
}

fn check_quantiles(levels: &[f64], predictions: &[f32], observed: &[f64]) -> Result<(), Error> {
    let n = observed.len();
    check_levels(levels)?;
    Error::check_count("quantile levels", levels.len())?;
    Error::check_count("observed numbers", n)?;
    Error::check_length("predictions", predictions.len(), n.saturating_mul(levels.len()))?;
    Error::check_finite("predictions", levels.len(), predictions)?;
    Error::check_finite("observed numbers", 1, observed)
}
