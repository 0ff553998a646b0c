use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BadParameter, DistanceLoss};

/// `u/2` where `√u ≤ κ`, else `κ (√u − κ/2)`: outputs that are far off, wrong ones perhaps, pull no
/// harder than others (Huber 1964). κ-Lipschitz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Huber {
    /// κ, above 0.
    pub kappa: f64,
}

impl DistanceLoss for Huber {
    fn validate(&self) -> Result<(), BadParameter> {
        let holds = self.kappa > 0.0 && self.kappa.is_finite();
        BadParameter::unless(holds, "kappa", self.kappa, "finite numbers above 0")
    }

    fn value(&self, distance: f64) -> f64 {
        match distance > self.kappa {
            true => self.kappa * (distance - 0.5 * self.kappa),
            false => 0.5 * distance * distance,
        }
    }

    fn derivative(&self, distance: f64) -> f64 {
        if distance > self.kappa { self.kappa } else { distance }
    }

    fn curvature(&self) -> Option<f64> {
        Some(1.0)
    }
}
