//! The further fits that a plan lists, and the held-out predictions that are gathered of them.

use dsokr_train::Observer;
use tracing::info;

use super::plan::{Fold, FurtherFit, FurtherFits, Source};
use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::{Fitted, FoldPredictions};
use crate::run_dir::{HeldOut, RunDir};
use crate::targets::OutputTargets;

/// All held-out predictions that a configuration needs.
#[derive(Default)]
pub(crate) struct AllHeldOut {
    /// The predictions that correct candidates for hubs, and that queries are compared with; none where the configuration
    /// does not need them.
    pub pairs: Option<HeldOut>,
    /// The predictions for each fold that a reranker learns from; none where the learner gives them by itself.
    pub folds: Option<Vec<FoldPredictions>>,
}

/// The predictions of a further model.
struct FurtherPredictions {
    /// The predictions for pairs that it predicts.
    predicted: HeldOut,
    /// The held-out predictions for the pairs that it learned, where its fit leaves them.
    left_by_fit: Option<HeldOut>,
}

impl FurtherFits {
    /// Makes the fits, and gathers their predictions with those that the run's model has left or makes. `run` keeps the
    /// predictions of each fit until the run is complete, so that a resumed run does not make it again. A fit that leaves
    /// held-out predictions of its own ([`HeldOutPredictions::Pairs`](crate::config::HeldOutPredictions::Pairs)) is not kept, and
    /// made again.
    ///
    /// # Errors
    /// Errors from the learner; a learner that leaves no predictions, although it says so; pretrained weights that have
    /// changed since the run was started.
    pub fn predict_held_out(
        &self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        fitted: &mut Fitted,
        run: Option<&RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<AllHeldOut, Error> {
        if !evaluator.config().decoding.needs_held_out() {
            return Ok(AllHeldOut::default());
        }
        let further_predictions = self.refit_all(targets, evaluator, run, observer)?;
        let pairs = self.model_predictions(evaluator, fitted, &further_predictions)?;
        let folds = self.fold_predictions(evaluator, &further_predictions)?;
        Ok(AllHeldOut { pairs: Some(pairs), folds: Some(folds).filter(|all| !all.is_empty()) })
    }

    /// Makes each further fit, or reads the predictions that the run keeps of it.
    fn refit_all(
        &self,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        run: Option<&RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<FurtherPredictions>, Error> {
        let mut further_predictions = Vec::new();
        for number in 0..self.fits.len() {
            let width = targets.space.width();
            let kept = run.map(|run| run.kept_fit(number, width)).transpose()?.flatten();
            let fit = match kept {
                Some(predicted) => FurtherPredictions { predicted, left_by_fit: None },
                None => self.refit(number, targets, evaluator, run, observer)?,
            };
            further_predictions.push(fit);
        }
        Ok(further_predictions)
    }

    /// Fits the learner to some of the pairs, on this process alone, from the weights that the training of `run` started
    /// from, and predicts others. The run keeps the predictions of a fit that leaves no other ones.
    fn refit(
        &self,
        number: usize,
        targets: &OutputTargets,
        evaluator: &Evaluator,
        run: Option<&RunDir>,
        observer: &mut dyn Observer,
    ) -> Result<FurtherPredictions, Error> {
        let FurtherFit { learned, predicted: pairs } = &self.fits[number];
        let count = self.fits.len();
        info!(
            pairs = learned.len(),
            predicted = pairs.len(),
            "further fit {} of {count}",
            number + 1
        );
        let all = evaluator.problem;
        let problem = all.without_corrections(learned, self.fits_leave_predictions)?;
        let targets = targets.select(learned)?;
        let mut learner = problem.config.encoder.learner().prepare(&problem)?;
        learner.start(&targets)?;
        if let Some(run) = run {
            run.check_initial_weights(learner.initial_weights().as_deref())?;
        }
        let fitted = learner.fit(&targets, evaluator, None, observer).map_err(without_state)?;

        let split = all.dataset.pairs_among(pairs, learned)?;
        let predictions = fitted.predictor.predict_checked(&split, evaluator.candidates())?;
        let predicted = HeldOut::new(pairs.clone(), &all.dataset.train.ids, predictions);
        let left_by_fit = fitted.held_out.filter(|_| self.fits_leave_predictions).map(|left| {
            let pairs = left.pairs.iter().map(|&pair| learned[pair]).collect();
            HeldOut { pairs, ..left }
        });
        if let (Some(run), None) = (run, &left_by_fit) {
            run.keep_fit(number, &predicted)?;
        }
        Ok(FurtherPredictions { predicted, left_by_fit })
    }

    /// Gathers the held-out predictions of the run's model, with the groups of their pairs.
    fn model_predictions(
        &self,
        evaluator: &Evaluator,
        fitted: &mut Fitted,
        further_predictions: &[FurtherPredictions],
    ) -> Result<HeldOut, Error> {
        let problem = evaluator.problem;
        let train = &problem.dataset.train;
        let left_by_fit = fitted.held_out.take();
        let predictions = match &self.model.source {
            Source::Fit => left_by_fit.ok_or_else(leaves_none)?,
            Source::Model(part) => {
                let split = problem.dataset.pairs_among(part, &self.model.learned)?;
                let predictions =
                    fitted.predictor.predict_checked(&split, evaluator.candidates())?;
                HeldOut::new(part.clone(), &train.ids, predictions)
            }
            Source::Others(parts) => joined(parts, further_predictions, &train.ids),
        };
        Ok(predictions.grouped(train.named_groups().as_deref()))
    }

    /// Gathers the predictions for each fold that a reranker learns from.
    fn fold_predictions(
        &self,
        evaluator: &Evaluator,
        further_predictions: &[FurtherPredictions],
    ) -> Result<Vec<FoldPredictions>, Error> {
        let ids = &evaluator.problem.dataset.train.ids;
        let of_fold = |fold: &Fold| {
            let FurtherPredictions { predicted, left_by_fit } = &further_predictions[fold.number];
            let rest = match &fold.source {
                Source::Fit => left_by_fit.clone().ok_or_else(leaves_none)?,
                Source::Model(part) => predicted.select(part),
                Source::Others(parts) => joined(parts, further_predictions, ids),
            };
            Ok(FoldPredictions {
                fold: predicted.select(&fold.pairs),
                rest,
                fitted_predictions: predicted.select(&fold.repeated).predictions,
                fitted_pairs: fold.repeated.clone(),
            })
        };
        self.folds.iter().map(of_fold).collect()
    }
}

/// Joins the predictions of several further models, by their numbers, each for a part of the pairs.
fn joined(
    parts: &[(usize, Vec<usize>)],
    further_predictions: &[FurtherPredictions],
    ids: &[String],
) -> HeldOut {
    let predicted =
        parts.iter().map(|(number, part)| further_predictions[*number].predicted.select(part));
    HeldOut::joined(predicted, ids)
}

/// Returns the error of a fit that leaves no held-out predictions.
fn leaves_none() -> Error {
    let allowed = "Some, since Abilities::held_out says that its fit leaves them";
    Error::value("Fitted::held_out of the learner", "None", allowed)
}

/// Returns the error of a further fit, which keeps no state: a resumed run makes the fit again.
fn without_state(error: Error) -> Error {
    use dsokr_train::Error::Diverged;
    match error {
        Error::Train(Diverged { what, step, learning_rate, is_clipped, .. }) => {
            let what = format!("{what}, in a fit without a part of the pairs");
            Error::Train(Diverged { what, step, learning_rate, is_clipped, kept: None })
        }
        Error::Interrupted { .. } => dsokr_core::Error::Cancelled.into(),
        other => other,
    }
}
