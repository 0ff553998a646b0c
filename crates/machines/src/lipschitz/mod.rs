//! Sketched kernel machines with Lipschitz losses.

mod output;
mod solver;

use dsokr_basis::eigenbasis::multiply;

pub use output::{Offset, coverage, crossing_loss, pinball_loss};
pub use solver::{InputFeatures, Stop};

use crate::loss::Loss;
use crate::ridge::{Expansion, KernelModel, Weights};
use crate::summary::{Solution, Summary};
use crate::targets::check;
use crate::{Error, OutputMatrix, Targets};

/// What a machine minimises: `(1/n) Σ_i ℓ(f(x_i), y_i) + c λ ‖f − b‖²`, c being [`Loss::penalty`].
#[derive(Clone, Debug)]
pub struct LipschitzProblem {
    /// ℓ.
    pub loss: Loss,
    /// M of the kernel `k M`, whose norm is that of `f − b`.
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
/// the number of threads. A fit that reaches the step limit is no error: see
/// [`LipschitzSummary::converged`](crate::LipschitzSummary::converged).
///
/// ```
/// use dsokr_basis::{Basis, Features, Kernel, SketchKind, SketchOptions, features::DenseRows};
/// use dsokr_machines::{
///     InputFeatures, LipschitzProblem, Loss, Offset, OutputMatrix, Stop, Targets, fit_lipschitz,
/// };
///
/// // The median of y given x, of which one y is wrong.
/// let x: Vec<f32> = (0..40).map(|i| i as f32 / 10.0).collect();
/// let mut y: Vec<f64> = x.iter().map(|&x| f64::from(x).sin()).collect();
/// y[20] = 1000.0;
/// let x = Features::Dense(DenseRows::new(1, x)?);
/// let every = SketchKind::Subsampling { replacement: false };
/// let basis = Basis::fit(Kernel::Gaussian { gamma: 1.0 }, &x, &SketchOptions::new(&every, 20))?;
/// let problem = LipschitzProblem {
///     loss: Loss::pinball([0.5]),
///     output: OutputMatrix::identity(1)?,
///     lambda: 1e-4,
///     offset: Offset::Constant,
/// };
/// let targets = Targets::new(1, y)?;
/// let features = InputFeatures::new(basis, &x)?;
/// let machine = fit_lipschitz(&features, &targets, &problem, &Stop::default())?;
/// assert!(machine.summary.lipschitz().is_some_and(|solution| solution.converged));
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
    targets.check_unweighted("lipschitz")?;
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
    let (p, d) = (turned.nrows(), turned.ncols());
    let weights = Weights::Double((0..p * d).map(|at| turned[(at / d, at % d)]).collect());
    let (rows, lambda, solution) = (targets.len(), *lambda, Solution::Lipschitz(solution));
    let summary = Summary { rows, unknowns: p, width: d, lambda, solution };
    let map = Expansion::Basis(Box::new(features.basis.clone()));
    let mut model = KernelModel::new(map, weights, summary);
    model.offset = offset;
    Ok(model)
}
