//! The fit of a prepared machine: inputs are scaled, λ is chosen, and the model of that λ leaves its held-out predictions.

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_basis::features::Selected;
use dsokr_machines::{KernelModel, OutputSpace as MachineSpace, Targets, TrainingInputs};

use super::advice::{advice_on_convergence, advice_on_equal_lambdas};
use super::lambda::{BestModel, LambdaSearch};
use super::last_fold::LastFold;
use super::output_matrix::in_space;
use super::output_weights;
use super::predictor::KernelMachine;
use super::prepared::PreparedMachine;
use super::scaling::{Scaled, scaled_inputs};
use crate::config::folds::repeated;
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::choice::Choice;
use crate::learners::learner::{Fitted, FoldPredictions};
use crate::run_dir::{EmbeddingCurve, HeldOut};
use crate::targets::{OutputSpace, OutputTargets, TargetValues};

impl PreparedMachine<'_> {
    /// Returns the machine that is fitted to the targets, and its predictions without the last fold of the pairs.
    pub(super) fn fit_machine(
        &self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
    ) -> Result<(Fitted, Option<FoldPredictions>), Error> {
        let Self { settings, problem, rows, last_fold, .. } = self;
        let config = &problem.config;
        let ranks = &problem.ranks;
        let (space, values) = self.space_and_values(targets)?;

        // pairs that are predicted by a machine without them come last
        let ordered = match last_fold {
            Some(LastFold { order, .. }) => {
                Some((Selected::new(rows.features()?.0, order), values.select(order)?))
            }
            None => None,
        };
        let (inputs, values) = match &ordered {
            Some((ordered_rows, values)) => {
                let (_, kernel) = rows.features()?;
                (TrainingInputs::rows(Arc::clone(kernel), ordered_rows), values)
            }
            None => (rows.training(), values.as_ref()),
        };

        // columns are scaled by the pairs before these
        let prefix = last_fold.as_ref().map(|fold| fold.prefix);
        let first = prefix.unwrap_or(rows.len());
        let scaled = &settings.scale(&inputs, values, first, config.seed, ranks)?;
        let inputs = scaled_inputs(inputs, scaled);

        // λ is chosen, and the machine fitted with it
        let search = self.search(&inputs, scaled, values, evaluator, prefix)?;
        let output = in_space(self.output.as_ref(), &targets.space)?;
        let search = LambdaSearch { prepared: search.prepared.with_output(output), ..search };
        let leaves_held_out =
            settings.has_held_out_predictions() && config.decoding.needs_held_out();
        let best = search.best(space, leaves_held_out)?;

        // what was chosen, or why nothing was
        let mut choices = Vec::new();
        let mut advice = None;
        if best.comparison.flat {
            advice = advice_on_equal_lambdas(settings, problem, &inputs)?;
        } else {
            let lambda = Choice::new("encoder.lambda", best.lambda, settings.lambda.values());
            choices.push(Choice { errors: best.comparison.errors.clone(), ..lambda });
        }

        // predictions for training inputs, of which the machine has left the pair out
        let BestModel { model, held_out, prefix, .. } = best;
        let without_last = match (last_fold, prefix) {
            (Some(fold), Some((model, leave_one_out))) => {
                Some(self.without_fold(&model, fold.parts(), leave_one_out)?)
            }
            (Some(_) | None, _) => None,
        };
        let held_out = held_out.map(|predictions| {
            let predictions = match last_fold {
                Some(fold) => fold.in_order_of_pairs(&predictions),
                None => predictions,
            };
            HeldOut::all(&problem.dataset.train.ids, predictions)
        });
        let mut fitted = self.fitted(Arc::new(model), None, targets);
        fitted.advice.extend(advice);
        Ok((Fitted { held_out, choices, ..fitted }, without_last))
    }

    /// Returns the output space of the targets, unless they are quantiles, and their values.
    fn space_and_values<'t>(
        &self,
        targets: &'t OutputTargets,
    ) -> Result<(Option<&'t MachineSpace>, Cow<'t, Targets>), Error> {
        let problem = self.problem;
        Ok(match (&targets.space, &targets.values) {
            (OutputSpace::Machine(space), TargetValues::Points(points)) => {
                (Some(space), Cow::Borrowed(points))
            }
            (OutputSpace::Quantiles(levels), TargetValues::Numbers(observed)) => {
                let observed: Vec<f64> = observed.iter().copied().map(f64::from).collect();
                let targets = Targets::repeated(levels.len(), &observed)?;
                (None, Cow::Owned(targets.weighted(&problem.dataset.train.weights)?))
            }
            // the targets of this learner are one of the two above
            _ => return Err(targets.unexpected()),
        })
    }

    /// Returns the predictions of a model that was fitted to the pairs `rest`, without the pairs `fold`.
    pub(super) fn without_fold(
        &self,
        model: &KernelModel,
        [rest, fold]: [&[usize]; 2],
        leave_one_out: Vec<f32>,
    ) -> Result<FoldPredictions, Error> {
        let ids = &self.problem.dataset.train.ids;
        let features = self.rows.features()?.0;
        let predict = |pairs: &[usize]| model.predict(&Selected::new(features, pairs));
        let fitted_pairs = repeated(rest);
        Ok(FoldPredictions {
            fold: HeldOut::new(fold.to_vec(), ids, predict(fold)?),
            rest: HeldOut::new(rest.to_vec(), ids, leave_one_out),
            fitted_predictions: predict(&fitted_pairs)?,
            fitted_pairs,
        })
    }

    /// Returns the search for λ with scaled inputs.
    pub(super) fn search<'s>(
        &'s self,
        inputs: &TrainingInputs<'s>,
        scaled: &'s Option<Scaled<'s>>,
        targets: &'s Targets,
        evaluator: &'s Evaluator<'s>,
        prefix: Option<usize>,
    ) -> Result<LambdaSearch<'s>, Error> {
        let Self { settings, problem, validation, .. } = self;
        let seed = problem.config.seed;
        let systems = problem.factors.clone();
        let prepared =
            settings.solver.prepare(inputs.clone(), seed, systems)?.shared_by(&problem.ranks);
        let ranks = &problem.ranks;
        let search = LambdaSearch {
            settings,
            scaled,
            ranks,
            prepared,
            targets,
            evaluator,
            validation,
            prefix,
        };
        Ok(search)
    }

    /// Returns a fitted model with its summary, and the advice where its solver has not converged.
    pub(super) fn fitted(
        &self,
        model: Arc<KernelModel>,
        curve: Option<EmbeddingCurve>,
        targets: &OutputTargets,
    ) -> Fitted {
        let config = &self.problem.config;
        let dataset = &self.problem.dataset;
        let mut summary = model.summary().to_string();
        let advice = advice_on_convergence(self.settings, model.summary());
        if let Some(advice) = &advice {
            tracing::warn!("{summary}: {advice}");
        }
        if let Some(basis) = targets.space.basis()
            && config.output.weights.is_some()
        {
            summary +=
                &format!(", {}", output_weights::summary(basis, dataset.outputs.rows.as_ref()));
        }
        let machine = KernelMachine { inputs: Arc::clone(&self.inputs), model, curve };
        let advice = advice.into_iter().collect();
        Fitted { summary: Some(summary), advice, ..Fitted::new(machine) }
    }
}
