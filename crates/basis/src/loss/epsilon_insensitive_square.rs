use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BadParameter, DistanceLoss};

/// ε-insensitive ℓ2, `max(√u − ε, 0)²`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpsilonInsensitiveSquare {
    /// ε, 0 and above.
    pub epsilon: f64,
}

impl DistanceLoss for EpsilonInsensitiveSquare {
    fn validate(&self) -> Result<(), BadParameter> {
        let holds = self.epsilon >= 0.0 && self.epsilon.is_finite();
        BadParameter::unless(holds, "epsilon", self.epsilon, "finite numbers, 0 and above")
    }

    fn value(&self, distance: f64) -> f64 {
        (distance - self.epsilon).max(0.0).powi(2)
    }

    fn derivative(&self, distance: f64) -> f64 {
        2.0 * (distance - self.epsilon).max(0.0)
    }

    fn curvature(&self) -> Option<f64> {
        Some(2.0)
    }
}
