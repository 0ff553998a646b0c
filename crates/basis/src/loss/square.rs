use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BadParameter, DistanceLoss};

/// `u`: kernel ridge regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Square {}

impl DistanceLoss for Square {
    fn validate(&self) -> Result<(), BadParameter> {
        Ok(())
    }

    fn value(&self, distance: f64) -> f64 {
        distance * distance
    }

    fn derivative(&self, distance: f64) -> f64 {
        2.0 * distance
    }

    fn curvature(&self) -> Option<f64> {
        Some(2.0)
    }

    fn is_fitted_by_mean(&self) -> bool {
        true
    }

    fn penalty(&self) -> f64 {
        1.0
    }
}
