//! Weights of the kernels of inputs, by a rule.

use std::borrow::Cow;

use dsokr_basis::features::Selected;
use dsokr_core::message::four_digits;
use dsokr_machines::{KernelWeighting, TargetGram};
use faer::Mat;

use super::left_out_together;
use crate::config::KernelMachineConfig;
use crate::error::Error;
use crate::run_dir::drawn_pairs;
use crate::targets::Problem;

/// The most training pairs that held-out errors weigh kernels by.
const WEIGHED: usize = 750;

/// Returns the weights by a rule of kernels of these names, of their values with some of the training pairs: with all, where the
/// rule allows it and the kernels are known whole.
pub(super) fn weights<'v>(
    settings: &KernelMachineConfig,
    rule: KernelWeighting,
    problem: &Problem,
    names: &[String],
    whole: bool,
    values: impl Fn(usize, &[usize]) -> Result<Cow<'v, Mat<f64>>, Error>,
) -> Result<Vec<f64>, Error> {
    let held_out = rule == KernelWeighting::HeldOut;
    let pairs: Vec<usize> = if whole && !held_out {
        (0..problem.len()).collect()
    } else {
        let drawn = drawn_pairs(problem.len(), problem.config.seed);
        // the time of held-out errors is cubic in their number, for each of their steps
        let every = if held_out { drawn.len().div_ceil(WEIGHED) } else { 1 };
        drawn.into_iter().step_by(every).collect()
    };
    let values = |at| values(at, &pairs);
    let grams = (0..names.len()).map(values).collect::<Result<Vec<_>, Error>>()?;
    let grams: Vec<_> = grams.iter().map(|gram| gram.as_ref().as_ref()).collect();
    let rows = problem.rows();
    let target_gram = TargetGram { kernel: problem.kernel()?, rows: &Selected::new(&rows, &pairs) };
    let pair_weights = problem.dataset.train.weights.select(&pairs);
    let pair_groups = left_out_together(problem)?.select(&pairs);
    let weights = rule
        .weights(&grams, &target_gram, &pair_weights, &pair_groups, settings.first_lambda())
        .map_err(|error| match error {
            dsokr_core::Error::Item { number, source, .. } => {
                Error::Kernel { file: names[number].clone(), source }
            }
            other => other.into(),
        })?;
    let shown: Vec<f64> = weights.iter().copied().map(four_digits).collect();
    tracing::info!(weights = ?shown, "kernels combined");
    Ok(weights)
}
