//! Advice after the fit of a machine: why all values of λ are equally good, and what to do where a solver has not converged.

use dsokr_basis::kernel::gram;
use dsokr_machines::{Solver, Summary, TrainingInputs};

use crate::config::KernelMachineConfig;
use crate::error::Error;
use crate::targets::Problem;

/// Advises where all λ are equally good, if a cause of it is known.
pub(super) fn advice_on_equal_lambdas(
    settings: &KernelMachineConfig,
    problem: &Problem,
    inputs: &TrainingInputs,
) -> Result<Option<String>, Error> {
    match advice_on_one_group(settings, problem) {
        Some(line) => Ok(Some(line)),
        None => advice_on_unlike(settings, inputs),
    }
}

/// The most inputs that are compared with each other.
const COMPARED: usize = 200;

/// Inputs have nothing in common below this share of their own values.
const UNLIKE: f64 = 0.01;

/// Advises where all λ are equally good, if it is because most of the first training inputs have nothing in common:
/// the kernel matrix is nearly diagonal, and the predictions for a new input nearly 0.
fn advice_on_unlike(
    settings: &KernelMachineConfig,
    inputs: &TrainingInputs,
) -> Result<Option<String>, Error> {
    let n = inputs.len().min(COMPARED);
    let values = match inputs {
        TrainingInputs::Rows(rows, kernel) => {
            let first = rows.block(0..n)?;
            gram(kernel.as_ref(), &first, &first)?
        }
        TrainingInputs::Gram(gram) => gram.values().submatrix(0, 0, n, n).to_owned(),
    };
    let alike = |i: usize, j: usize| {
        i != j && values[(i, j)].abs() > UNLIKE * (values[(i, i)] * values[(j, j)]).sqrt()
    };
    let unlike = (0..n).filter(|&i| (0..n).all(|j| !alike(i, j))).count();
    if 2 * unlike <= n {
        return Ok(None);
    }
    let is_median = settings.kernel.stated().is_none();
    let cure = match (inputs, settings.kernel.gamma()) {
        (TrainingInputs::Gram(_), _) => "try other kernels".to_owned(),
        (TrainingInputs::Rows(..), Some(_)) if is_median => {
            "try a number below that of the median as encoder.kernel.gamma".into()
        }
        (TrainingInputs::Rows(..), Some(gamma)) => {
            format!("try an encoder.kernel.gamma below {gamma}")
        }
        (TrainingInputs::Rows(..), None) => "try a different encoder.kernel or other inputs".into(),
    };
    let values = settings.lambda.values().len();
    Ok(Some(format!(
        "all {values} values of encoder.lambda are equally good, since {unlike} of {n} training inputs have nothing in \
         common with the others under the kernel: {cure}"
    )))
}

/// Advises where all λ are equally good because the training pairs are one group, without which a fit has no pair.
fn advice_on_one_group(settings: &KernelMachineConfig, problem: &Problem) -> Option<String> {
    let is_one = problem.len() > 1 && problem.dataset.training_groups().len() == 1;
    if !is_one || settings.chooses_on_validation() {
        return None;
    }
    let values = settings.lambda.values().len();
    Some(format!(
        "all {values} values of encoder.lambda are equally good, since all {} training pairs are one group, which leave-one-out \
         predictions leave out together: give encoder.lambda one value, set encoder.lambda_by to \"validation\", or name \
         smaller groups in data.splits.group",
        problem.len()
    ))
}

/// Advises where the solver's iterations ended before they reached what was asked of them.
pub(super) fn advice_on_convergence(
    settings: &KernelMachineConfig,
    summary: &Summary,
) -> Option<String> {
    if summary.converged() {
        return None;
    }
    let limit = match &settings.solver {
        Solver::ConjugateGradients(options) => {
            format!("encoder.solver.iterations above {}", options.iterations)
        }
        Solver::Lipschitz(options) => {
            format!("encoder.solver.stop.steps above {}", options.stop.steps)
        }
        Solver::ClosedForm(_) | Solver::Sketched(_) | Solver::DivideAndConquer(_) => return None,
    };
    Some(format!("the solver ended before it converged: raise {limit}, or encoder.lambda"))
}
