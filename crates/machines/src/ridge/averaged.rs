//! The mean of models on parts of the rows (thesis, perspectives).

use std::sync::Arc;

use dsokr_basis::Features;
use dsokr_basis::kernel::IntoKernel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{Expansion, RidgeModel, Weights};
use super::problem::{InputSketch, RidgeProblem};
use super::row_range::RowRange;
use super::sketched::solve;
use crate::Error;
use crate::summary::{RidgeSummary, Solution, Summary};
use crate::targets::check;

/// The mean of models on parts of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Averaged {
    /// The sketch of the inputs of each part.
    pub sketch: InputSketch,
    /// B, the number of parts, 1 to n.
    pub parts: usize,
}

/// Fits the mean `ĥ = (1/B) Σ ĥ_b` of models on B runs of consecutive rows, of sizes that differ by one
/// at most; part b is sketched with seed + b. Rows should be in no order. The ranks of the scope share the
/// fit of each part, as in [`fit_sketched`](crate::fit_sketched).
///
/// The summary holds the sum of the unknowns of the parts, and the largest of their condition numbers
/// and jitters.
///
/// # Errors
/// [`Error::Value`] unless there are from 1 to n parts; as [`fit_sketched`](crate::fit_sketched), m being at most the
/// number of rows in a part.
pub fn fit_averaged(
    problem: RidgeProblem<impl IntoKernel>,
    Averaged { sketch, parts }: &Averaged,
) -> Result<RidgeModel, Error> {
    let RidgeProblem { kernel, rows, targets, lambda, seed } = problem;
    let (n, parts) = (rows.len(), *parts);
    check(n, targets, lambda)?;
    Error::check_range("number of parts", parts, 1, n)?;
    let kernel = kernel.into_kernel();
    let mut anchors = Features::empty(rows.kind(), rows.width())?;
    let (mut weights, mut unknowns) = (Vec::new(), 0);
    let mut worst: Option<RidgeSummary> = None;
    for part in 0..parts {
        let range = part * n / parts..(part + 1) * n / parts;
        let problem = RidgeProblem {
            kernel: Arc::clone(&kernel),
            rows: &RowRange { of: rows, range: range.clone() },
            targets: &targets.select(&range.collect::<Vec<_>>())?,
            lambda,
            seed: seed.wrapping_add(part as u64),
        };
        let solved = solve(problem, sketch)?;
        anchors.append(&solved.inputs.anchors)?;
        weights.extend(solved.weights.iter().map(|weight| weight / parts as f64));
        unknowns += solved.inputs.len();
        worst = Some(match worst {
            Some(worst) => RidgeSummary {
                condition: worst.condition.max(solved.solution.condition),
                jitter: worst.jitter.max(solved.solution.jitter),
                ..worst
            },
            None => solved.solution,
        });
    }
    let solution = Solution::Ridge(worst.ok_or_else(|| Error::none("number of parts"))?);
    let summary = Summary { rows: n, unknowns, width: targets.width(), lambda, solution };
    Ok(RidgeModel::new(
        Expansion::Kernel { kernel, anchors: Arc::new(anchors) },
        Weights::Double(weights),
        summary,
    ))
}
