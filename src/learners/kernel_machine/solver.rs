//! The choice of λ, and the fit for it.

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_basis::RowSource;
use dsokr_basis::features::{HeldRows, Selected};
use dsokr_basis::kernel::gram;
use dsokr_core::Processes;
use dsokr_machines::{
    Cost, Coupling, FitSize, KernelModel, LastSystem, OutputEmbedding, OutputSpace, PrefixFit,
    PreparedSolver, RowGroups, ScaledRows, Scaling, Solver, Summary, Targets, TrainingInputs,
};
use dsokr_train::Validation;
use tracing::info;

use super::rows::MachineRows;
use crate::config::{
    BinWeights, EmbeddingConfig, KernelMachineConfig, Lambda, MachineInputsConfig, NgramWeights,
};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::{Best, EQUAL_ERRORS};
use crate::run_dir::{EmbeddingCurve, EmbeddingPoint};
use crate::targets::Problem;

impl KernelMachineConfig {
    /// Returns the cost of a fit, including that of the weights of n-grams.
    pub(super) fn cost(&self, size: &FitSize) -> Cost {
        let cost = self.solver.cost(size);
        let first = if self.learns_columns() {
            self.solver.cost(&FitSize { lambdas: 1, ..*size }).multiplications
        } else {
            0.0
        };
        Cost { multiplications: cost.multiplications + first, ..cost }
    }

    /// Returns how columns of vectors are standardised, or the weights that n-grams and bins learn, by the first `prefix` of the
    /// rows, with the rows that this gives; none where the settings say nothing of it.
    pub(super) fn scale<'s>(
        &self,
        inputs: &TrainingInputs<'s>,
        targets: &Targets,
        prefix: usize,
        seed: u64,
        ranks: &Processes,
    ) -> Result<Option<Scaled<'s>>, Error> {
        let TrainingInputs::Rows(rows, kernel) = inputs else { return Ok(None) };
        let first: Vec<usize> = (0..prefix).collect();
        let part = Selected::new(*rows, &first);
        let (scaled_by, targets) = if prefix == rows.len() {
            (*rows, Cow::Borrowed(targets))
        } else {
            (&part as &dyn RowSource, Cow::Owned(targets.select(&first)?))
        };
        let scaling = match &self.inputs {
            MachineInputsConfig::Vectors { scaling } => {
                scaling.fit(scaled_by, targets.weights())?
            }
            MachineInputsConfig::Ngrams { weights: NgramWeights::Learned, .. }
            | MachineInputsConfig::Spectra { weights: BinWeights::Learned, .. } => {
                let inputs = TrainingInputs::rows(Arc::clone(kernel), scaled_by);
                let solver =
                    self.solver.prepare(inputs, seed, LastSystem::default())?.shared_by(ranks);
                let (model, _) = solver.fit(&targets, self.first_lambda(), false)?;
                info!("columns of inputs weighted by a first fit");
                Some(Scaling::relevance(&model, targets.weights())?)
            }
            MachineInputsConfig::Ngrams { weights: NgramWeights::TfIdf, .. }
            | MachineInputsConfig::Spectra { weights: BinWeights::Equal, .. }
            | MachineInputsConfig::Features { .. }
            | MachineInputsConfig::Mixtures(_)
            | MachineInputsConfig::Kernels { .. } => None,
        };
        let Some(scaling) = scaling else { return Ok(None) };
        let held = self.solver.held(ranks, rows.len(), targets.weights());
        let rows = scaling.held_rows(*rows, &held)?;
        Ok(Some(Scaled { scaling, rows }))
    }

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
        Ok((of_raw_rows(model, &scaled)?, held_out.unwrap_or_default()))
    }
}

/// Returns the size of a fit of one λ on all threads, to pairs that have a target each.
pub(super) fn fit_size(pairs: usize, coordinates: usize) -> FitSize {
    let threads = rayon::current_num_threads();
    FitSize { pairs, targets: pairs, coordinates, lambdas: 1, threads }
}

/// Rows whose columns are standardised or weighted, and how.
pub(super) struct Scaled<'a> {
    scaling: Scaling,
    rows: HeldRows<'static, ScaledRows<'a>>,
}

/// Returns the inputs with the rows that are standardised in the place of their own.
pub(super) fn scaled_inputs<'a>(
    inputs: TrainingInputs<'a>,
    scaled: &'a Option<Scaled<'a>>,
) -> TrainingInputs<'a> {
    match (inputs, scaled) {
        (TrainingInputs::Rows(_, kernel), Some(Scaled { rows, .. })) => {
            TrainingInputs::Rows(rows, kernel)
        }
        (inputs, _) => inputs,
    }
}

/// Returns the model of rows as they are, of one that was fitted to standardised rows.
fn of_raw_rows(model: KernelModel, scaled: &Option<Scaled<'_>>) -> Result<KernelModel, Error> {
    Ok(match scaled {
        Some(Scaled { scaling, .. }) => model.with_scaling(scaling.clone())?,
        None => model,
    })
}

/// The most inputs that are compared with each other.
const COMPARED: usize = 200;

/// Inputs have nothing in common below this share of their own values.
const UNLIKE: f64 = 0.01;

/// Advises where all λ are equally good, if it is because most of the first training inputs have nothing in common:
/// the kernel matrix is nearly diagonal, and the predictions for a new input nearly 0.
pub(super) fn advice_on_unlike(
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
pub(super) fn advice_on_one_group(
    settings: &KernelMachineConfig,
    problem: &Problem,
) -> Option<String> {
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
        Ok((of_raw_rows(model, self.scaled)?, held_out))
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
    fn fit_one_of_several(&self, lambda: f64) -> Result<Result<KernelModel, Error>, Error> {
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
    fn score(&self, z: &[f32]) -> Result<(f64, f64), Error> {
        let metric = self.evaluator.config().evaluation.metric;
        let Validation { metrics, score, .. } = self.evaluator.validation(z)?;
        Ok((score, metric.value(&metrics)))
    }

    /// Returns the best model of those of several λ, each embedded in every way, its embedding, and the curve; `unlabelled` are
    /// coordinates of outputs without pairs.
    pub(super) fn best_embedding(
        &self,
        settings: &EmbeddingConfig,
        training: &MachineRows,
        unlabelled: &[f32],
    ) -> Result<(KernelModel, OutputEmbedding, EmbeddingCurve), Error> {
        let metric = self.evaluator.config().evaluation.metric;
        // an embedding for every c
        let learned = |model: &KernelModel, lambda| {
            let predicted = training.predictions(model)?;
            let one = |&supervised: &f64| {
                let unlabelled = if supervised < 1.0 { unlabelled } else { &[] };
                let width = model.width();
                let weights = self.targets.weights();
                let whole = OutputEmbedding::learn_weighted(
                    width, &predicted, weights, unlabelled, supervised, width,
                )?;
                Ok((lambda, supervised, whole))
            };
            settings.supervised.iter().map(one).collect::<Result<Vec<_>, Error>>()
        };
        let first = settings.lambda.as_ref().map_or(&[][..], Lambda::values).iter();
        let first = first.map(|&lambda| learned(&self.fit(lambda, false)?.0, Some(lambda)));
        let first = first.collect::<Result<Vec<_>, Error>>()?.concat();
        let mut points = Vec::new();
        let mut best = Best::new();
        let mut failed = None;
        for &lambda in self.settings.lambda.values() {
            let model = match self.fit_one_of_several(lambda)? {
                Ok(model) => model,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            let validation = self.validation.shared_predictions(&model, self.ranks)?;
            let by_model = if first.is_empty() { learned(&model, None)? } else { Vec::new() };
            for (embedding_lambda, supervised, whole) in first.iter().chain(&by_model) {
                let embedding_lambda = *embedding_lambda;
                let supervised = *supervised;
                for rank in settings.ranks_in(model.width())? {
                    let embedding = whole.truncate(rank)?;
                    let z = embedding.restore(&embedding.project(&validation)?)?;
                    let (score, value) = self.score(&z)?;
                    info!(lambda, embedding_lambda, supervised, rank, metric = %metric, value, "embedding");
                    let point =
                        EmbeddingPoint { lambda, embedding_lambda, supervised, rank, value };
                    points.push(point);
                    best.offer(score, || (point, model.clone(), embedding));
                }
            }
        }
        let tie = best.tie("embeddings", metric);
        let Some((chosen, model, embedding)) = best.value() else {
            return Err(failed.unwrap_or_else(no_lambda));
        };
        if let Some(line) = tie {
            info!("{line}");
        }
        let larger_is_better = metric.larger_is_better();
        let metric = metric.to_string();
        let curve = EmbeddingCurve { metric, larger_is_better, points, chosen };
        Ok((model.mapped(embedding.directions().transpose())?, embedding, curve))
    }

    /// Returns the model of the given λ, or of the best of several: by leave-one-out errors if the solver
    /// has them, else on the validation split.
    pub(super) fn best(
        &self,
        space: Option<&OutputSpace>,
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
        let prefix = Some((of_raw_rows(first, self.scaled)?, held_out_of_prefix));
        let model = of_raw_rows(model, self.scaled)?;
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

fn no_lambda() -> Error {
    Error::value("encoder.lambda", "[]", "at least one number above 0")
}

/// Returns rows in their places, of those that are in `order`.
pub(super) fn in_places(rows: &[f32], order: &[usize]) -> Vec<f32> {
    let mut placed = vec![0.0; rows.len()];
    let width = rows.len() / order.len().max(1);
    for (row, &place) in rows.chunks_exact(width.max(1)).zip(order) {
        placed[place * width..][..width].copy_from_slice(row);
    }
    placed
}
