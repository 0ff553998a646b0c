//! What a fitted machine says of its fit.

use dsokr_core::message::{four_digits, number};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::loss::Loss;

/// The numbers that a system is solved in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arithmetic {
    /// `f32`: half the memory and time. For condition numbers up to about 1e5, which a large nλ
    /// ensures; see [`RidgeSummary::condition`].
    Single,
    /// `f64`.
    #[default]
    Double,
}

/// The rows that carry a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Inputs {
    /// Every training input.
    Full,
    /// The inputs that a sketch touches.
    Sketched,
    /// Every training input, through a Gram matrix that the user gives.
    Precomputed,
}

/// The size and the accuracy of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// n, the number of training rows.
    pub rows: usize,
    /// Number of unknowns for each output: n, m with an input sketch, or the rank of the sketched
    /// Gram matrix of the inputs under a Lipschitz loss.
    pub unknowns: usize,
    /// p, the numbers predicted for a row.
    #[serde(rename = "rank")]
    pub width: usize,
    /// λ.
    pub lambda: f64,
    /// The solver's report.
    #[serde(flatten)]
    pub solution: Solution,
}

/// A solver's report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Solution {
    /// Kernel ridge regression.
    Ridge(RidgeSummary),
    /// A Lipschitz loss.
    Lipschitz(LipschitzSummary),
}

/// How a ridge regression was solved, and how well conditioned it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RidgeSummary {
    /// The rows that carry the model.
    pub inputs: Inputs,
    /// Condition number of the system that was solved, estimated from below (power iteration); infinite where it is
    /// beyond the range of numbers.
    #[serde(deserialize_with = "finite_or_infinite")]
    pub condition: f64,
    /// The number added to the diagonal to make the system numerically positive definite.
    pub jitter: f64,
    /// The numbers that it was solved in.
    pub precision: Arithmetic,
    /// How far conjugate gradients came; none for a system that was factored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence: Option<Convergence>,
}

/// How far conjugate gradients came.
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Serialize, Deserialize)]
#[display(
    "{}converged in {iterations} iterations to a residual of {residual:.1e} (asked for: {tolerance:.1e})",
    if self.converged() { "" } else { "not " }
)]
pub struct Convergence {
    /// Iterations taken, each one pass over the rows.
    pub iterations: usize,
    /// The largest relative residual of a coordinate, by the recurrence.
    #[serde(deserialize_with = "finite_or_infinite")]
    pub residual: f64,
    /// The tolerance asked for.
    pub tolerance: f64,
}

/// Returns a number as JSON holds it, which has `null` for one that is not finite.
fn finite_or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// Reads a number like [`finite_or_infinite`], but one that is not finite is below all others.
fn finite_or_minus_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
}

/// How far a Lipschitz loss was minimised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LipschitzSummary {
    /// The loss.
    pub loss: Loss,
    /// The objective reached.
    pub objective: f64,
    /// The least that the objective can be on these features: the best dual objective, −∞ where none was found.
    #[serde(deserialize_with = "finite_or_minus_infinite")]
    pub bound: f64,
    /// The mean loss of predicting only the offset, which [`Stop::gap`](crate::Stop::gap) is a share of.
    pub start: f64,
    /// Number of steps.
    pub steps: usize,
    /// Whether the gap closed; if not, the step limit ended the fit.
    pub converged: bool,
}

impl RidgeSummary {
    /// Creates the summary of a system that was factored in double precision as it was.
    pub(crate) fn new(inputs: Inputs, condition: f64) -> Self {
        let precision = Arithmetic::Double;
        Self { inputs, condition, jitter: 0.0, precision, convergence: None }
    }
}

impl Summary {
    /// Returns the report of a ridge regression; none for a Lipschitz loss.
    pub fn ridge(&self) -> Option<&RidgeSummary> {
        if let Solution::Ridge(ridge) = &self.solution { Some(ridge) } else { None }
    }

    /// Returns the report of a Lipschitz loss; none for a ridge regression.
    pub fn lipschitz(&self) -> Option<&LipschitzSummary> {
        if let Solution::Lipschitz(lipschitz) = &self.solution { Some(lipschitz) } else { None }
    }

    /// Returns whether the iterations, where there were any, reached what was asked of them.
    pub fn converged(&self) -> bool {
        match &self.solution {
            Solution::Ridge(ridge) => {
                ridge.convergence.is_none_or(|convergence| convergence.converged())
            }
            Solution::Lipschitz(lipschitz) => lipschitz.converged,
        }
    }
}

impl LipschitzSummary {
    /// Returns the duality gap: an upper bound of the excess of the objective, in its units.
    pub fn gap(&self) -> f64 {
        self.objective - self.bound
    }
}

impl Convergence {
    /// Returns whether every coordinate reached the tolerance.
    pub fn converged(&self) -> bool {
        self.residual <= self.tolerance
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { rows, unknowns, width, lambda, solution } = self;
        match solution {
            Solution::Ridge(ridge) => {
                write!(
                    out,
                    "{rows} rows, {unknowns} unknowns, {width} coordinates, lambda {lambda:e}, \
                     condition about {:.1e}",
                    ridge.condition
                )?;
                if ridge.jitter != 0.0 {
                    write!(out, ", {:.1e} added to the diagonal", ridge.jitter)?;
                }
                match &ridge.convergence {
                    Some(convergence) => write!(out, ", {convergence}"),
                    None => Ok(()),
                }
            }
            Solution::Lipschitz(solution) => {
                let LipschitzSummary { loss, objective, steps, converged, .. } = solution;
                let limit = if *converged { "" } else { " (the step limit; not converged)" };
                write!(
                    out,
                    "{rows} rows, {unknowns} features, {width} outputs, {} loss, lambda \
                     {lambda:e}: objective {}, gap {:.1e} after {steps} steps{limit}",
                    loss.name(),
                    number(four_digits(*objective)),
                    solution.gap(),
                )
            }
        }
    }
}
