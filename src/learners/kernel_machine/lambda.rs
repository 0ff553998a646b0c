//! The choice of λ: by leave-one-out errors where the solver has them, else on the validation split; and the fit for it.

use std::borrow::Cow;

use dsokr_core::Processes;
use dsokr_machines::{
    Coupling, KernelModel, LastSystem, OutputSpace as MachineSpace, PrefixFit, PreparedSolver,
    RowGroups, Targets, TrainingInputs,
};
use dsokr_train::Validation;
use tracing::info;

use super::rows::MachineRows;
use super::scaling::{Scaled, model_of_raw_rows, scaled_inputs};
use crate::config::{KernelMachineConfig, Lambda};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::{Best, EQUAL_ERRORS};

impl KernelMachineConfig {
    /// Returns the machine of the first λ, and its leave-one-out predictions for the training inputs. The fit is refused
    /// for a solver that has none in closed form.
    pub(super) fn fit_once(
        &self,
        inputs: TrainingInputs,
        targets: &Targets,
        seed: u64,
        systems: LastSystem,
        output: Option<Coupling>,
        ranks: &Processes,
    ) -> Result<(KernelModel, Vec<f32>), Error> {
        let scaled = self.scale(&inputs, targets, inputs.len(), seed, ranks)?;
        let prepared =
            self.solver.prepare(scaled_inputs(inputs, &scaled), seed, systems)?.shared_by(ranks);
        let (model, held_out) =
            prepared.with_output(output).fit(targets, self.first_lambda(), true)?;
        Ok((model_of_raw_rows(model, &scaled)?, held_out.unwrap_or_default()))
    }
}

/// A solver with the training rows, scaled, and the targets.
pub(super) struct LambdaSearch<'a> {
    pub settings: &'a KernelMachineConfig,
    pub scaled: &'a Option<Scaled<'a>>,
    /// The processes that share the search.
    pub ranks: &'a Processes,
    pub prepared: PreparedSolver<'a>,
    pub targets: &'a Targets,
    pub evaluator: &'a Evaluator<'a>,
    pub validation: &'a MachineRows<'a>,
    /// The number of first rows whose model is fitted in addition to that of all.
    pub prefix: Option<usize>,
}

/// The model of the best λ.
pub(super) struct BestModel {
    pub model: KernelModel,
    /// Leave-one-out predictions for the training rows, if they were asked for.
    pub held_out: Option<Vec<f32>>,
    /// The model of the prefix of the rows and its leave-one-out predictions for them, likewise.
    pub prefix: Option<(KernelModel, Vec<f32>)>,
    pub lambda: f64,
    pub comparison: Comparison,
}

/// How the λ that were tried compare.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// The error of each λ, in the order of the configuration; empty where only one was fitted.
    pub errors: Vec<f64>,
    /// Whether several λ were tried, and all are equally good.
    pub flat: bool,
}

impl LambdaSearch<'_> {
    /// Returns the model for one λ, and if `leave_one_out` its leave-one-out predictions for the training
    /// rows.
    pub(super) fn fit(
        &self,
        lambda: f64,
        leave_one_out: bool,
    ) -> Result<(KernelModel, Option<Vec<f32>>), Error> {
        let targets = self.targets_left_out(leave_one_out)?;
        let (model, held_out) = self.prepared.fit(&targets, lambda, leave_one_out)?;
        Ok((model_of_raw_rows(model, self.scaled)?, held_out))
    }

    /// Returns the targets with the rows that leave-one-out predictions, if there are any, leave out together. With a
    /// reranker each row is left out alone: it compares the prediction for a query with these, and its examples, which are
    /// folds of whole groups, are as new to the models as a query is.
    fn targets_left_out(&self, leave_one_out: bool) -> Result<Cow<'_, Targets>, Error> {
        let compares = leave_one_out && self.evaluator.config().decoding.reranker.is_some();
        let alone = RowGroups::alone();
        if !compares || *self.targets.groups() == alone {
            return Ok(Cow::Borrowed(self.targets));
        }
        Ok(Cow::Owned(self.targets.clone().grouped(&alone)?))
    }

    /// Returns the model for one of several λ; the error, where a process finds no model for it, such as one without a Cholesky
    /// factor, so that others of the λ are chosen from.
    pub(super) fn fit_one_of_several(
        &self,
        lambda: f64,
    ) -> Result<Result<KernelModel, Error>, Error> {
        let fitted = match self.fit(lambda, false) {
            Err(error @ Error::Core(dsokr_core::Error::Numeric(_))) => {
                info!(lambda, "not fitted: {error}");
                Err(error)
            }
            fitted => Ok(fitted?.0),
        };
        // all processes go on with the same λ
        Ok(self.ranks.agree(fitted))
    }

    /// Returns the metric that chooses, of predictions for the validation inputs, negated where smaller is better, and as it is.
    pub(super) fn score(&self, z: &[f32]) -> Result<(f64, f64), Error> {
        let metric = self.evaluator.config().evaluation.metric;
        let Validation { metrics, score, .. } = self.evaluator.validation(z)?;
        Ok((score, metric.value(&metrics)))
    }

    /// Returns the model of the given λ, or of the best of several: by leave-one-out errors if the solver
    /// has them, else on the validation split.
    pub(super) fn best(
        &self,
        space: Option<&MachineSpace>,
        leave_one_out: bool,
    ) -> Result<BestModel, Error> {
        let lambdas = match &self.settings.lambda {
            Lambda::One(lambda) if !self.settings.is_lipschitz() => {
                return self.whole(*lambda, leave_one_out, Comparison::default());
            }
            several => several.values(),
        };
        let space = space.filter(|_| !self.settings.chooses_on_validation());
        if let Some(space) = space
            && let Some(errors) = self.prepared.errors(self.targets, lambdas, space)?
        {
            let (lambda, comparison) = by_leave_one_out(lambdas, errors)?;
            return self.whole(lambda, leave_one_out, comparison);
        }
        let (lambda, model, comparison) = self.by_validation(lambdas)?;
        if leave_one_out {
            return self.whole(lambda, true, comparison);
        }
        Ok(BestModel { model, held_out: None, prefix: None, lambda, comparison })
    }

    /// Returns the λ whose model is the best on the validation split, that model, and how all λ compare.
    fn by_validation(&self, lambdas: &[f64]) -> Result<(f64, KernelModel, Comparison), Error> {
        let metric = self.evaluator.config().evaluation.metric;
        let mut best = Best::new();
        let mut failed = None;
        for &lambda in lambdas {
            let model = match self.fit_one_of_several(lambda)? {
                Ok(model) => model,
                Err(error) => {
                    best.offer_failed();
                    failed.get_or_insert(error);
                    continue;
                }
            };
            let z = self.validation.shared_predictions(&model, self.ranks)?;
            let (score, value) = self.score(&z)?;
            info!(metric = %metric, value, "{}", model.summary());
            best.offer(score, || (lambda, model));
        }
        let tie = best.tie("values of encoder.lambda", metric);
        let comparison = Comparison { errors: best.errors(), flat: best.is_flat() };
        let Some((lambda, model)) = best.value() else {
            return Err(failed.unwrap_or_else(no_lambda));
        };
        if let Some(line) = tie {
            info!(lambda, "{line}");
        }
        Ok((lambda, model, comparison))
    }

    /// Returns the model of the chosen λ with what is asked for in addition.
    fn whole(
        &self,
        lambda: f64,
        leave_one_out: bool,
        comparison: Comparison,
    ) -> Result<BestModel, Error> {
        let Some(rows) = self.prefix.filter(|_| leave_one_out) else {
            let (model, held_out) = self.fit(lambda, leave_one_out)?;
            return Ok(BestModel { model, held_out, prefix: None, lambda, comparison });
        };
        let targets = self.targets_left_out(leave_one_out)?;
        let (model, prefix) = self.prepared.fit_with_prefix(&targets, lambda, rows)?;
        let PrefixFit { model: first, held_out_of_prefix, held_out_of_all } = prefix;
        let prefix = Some((model_of_raw_rows(first, self.scaled)?, held_out_of_prefix));
        let model = model_of_raw_rows(model, self.scaled)?;
        Ok(BestModel { model, held_out: Some(held_out_of_all), prefix, lambda, comparison })
    }
}

/// Returns the λ with the least leave-one-out error, and how all of them compare.
fn by_leave_one_out(lambdas: &[f64], errors: Vec<f64>) -> Result<(f64, Comparison), Error> {
    let tried = lambdas.iter().copied().zip(errors.iter().copied());
    for (lambda, error) in tried.clone() {
        info!(lambda, error, "leave-one-out");
    }
    let finite = tried.filter(|(_, error)| error.is_finite());
    let best = finite.clone().min_by(|(_, error), (_, other)| error.total_cmp(other));
    let Some((lambda, least)) = best else { return Err(no_finite_error(lambdas)) };
    let worst = finite.map(|(_, error)| error).fold(0.0, f64::max);
    let all_finite = errors.iter().all(|error| error.is_finite());
    let flat = all_finite && lambdas.len() > 1 && worst - least <= EQUAL_ERRORS * worst;
    Ok((lambda, Comparison { errors, flat }))
}

/// Returns the error for values of λ of which none has a finite leave-one-out error.
fn no_finite_error(lambdas: &[f64]) -> Error {
    let allowed =
        "larger numbers, or inputs that are scaled: with these no leave-one-out error is finite";
    Error::value("encoder.lambda", format!("{lambdas:?}"), allowed)
}

/// Returns the error for a list without a λ.
pub(super) fn no_lambda() -> Error {
    Error::value("encoder.lambda", "[]", "at least one number above 0")
}
