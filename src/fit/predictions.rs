//! Predictions of a fitted model that are needed more than once.

use dsokr_data::SplitName;

use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::{Fitted, predicted};

/// Predictions of a fitted model for a split that is needed more than once.
pub(super) struct Predictions {
    /// Predictions for the validation split, where hubs, the reranker, the log or the report need them, `[pairs × p]`.
    pub validation: Option<Vec<f32>>,
}

impl Predictions {
    /// Predicts the validation split, where that is needed.
    ///
    /// # Errors
    /// Errors of the learner.
    pub fn new(evaluator: &Evaluator, fitted: &Fitted) -> Result<Self, Error> {
        let config = evaluator.config();
        let validation = &evaluator.problem.dataset.validation;
        let corrects = config.decoding.hubs.is_some() || config.decoding.reranker.is_some();
        let is_reported = config.evaluation.split == SplitName::Validation;
        let is_needed = corrects || fitted.solved_summary(config).is_some() || is_reported;
        if !is_needed || validation.ids.is_empty() {
            return Ok(Self { validation: None });
        }
        let predictions = predicted(&*fitted.predictor, validation, evaluator.candidates())?;
        Ok(Self { validation: Some(predictions) })
    }

    /// Returns the predictions for the split that is reported.
    pub fn of_report(self, evaluator: &Evaluator, fitted: &Fitted) -> Result<Vec<f32>, Error> {
        if evaluator.config().evaluation.split == SplitName::Validation
            && let Some(predictions) = self.validation
        {
            return Ok(predictions);
        }
        predicted(&*fitted.predictor, evaluator.reported(), evaluator.candidates())
    }
}
