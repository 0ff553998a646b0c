//! Predictions of a fitted model for the validation split, which several stages behind the fit need: they are made once.

use dsokr_data::SplitName;

use crate::decoding::evaluator::Evaluator;
use crate::error::Error;
use crate::learners::learner::Fitted;

/// Predictions of a fitted model for the validation split.
pub(super) struct ValidationPredictions {
    /// The predictions, `[pairs × p]`; none where neither hubs, the reranker, the log nor the report need them, and without
    /// validation pairs.
    pub z: Option<Vec<f32>>,
}

impl ValidationPredictions {
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
            return Ok(Self { z: None });
        }
        let z = fitted.predictor.predict_checked(validation, evaluator.candidates())?;
        Ok(Self { z: Some(z) })
    }

    /// Returns the predictions for the split that is reported: these, or those for the test.
    pub fn into_reported(self, evaluator: &Evaluator, fitted: &Fitted) -> Result<Vec<f32>, Error> {
        if evaluator.config().evaluation.split == SplitName::Validation
            && let Some(z) = self.z
        {
            return Ok(z);
        }
        fitted.predictor.predict_checked(evaluator.reported(), evaluator.candidates())
    }
}
