use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BadParameter, DistanceLoss};

/// Steps of Newton's method on a scalar equation; it takes three to six.
const NEWTON: usize = 60;

/// ε-insensitive ℓ1, `max(√u − ε, 0)`; 1-Lipschitz. Of one number, support vector regression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpsilonInsensitive {
    /// ε, 0 and above.
    pub epsilon: f64,
}

impl DistanceLoss for EpsilonInsensitive {
    fn validate(&self) -> Result<(), BadParameter> {
        let holds = self.epsilon >= 0.0 && self.epsilon.is_finite();
        BadParameter::unless(holds, "epsilon", self.epsilon, "finite numbers, 0 and above")
    }

    fn value(&self, distance: f64) -> f64 {
        (distance - self.epsilon).max(0.0)
    }

    fn derivative(&self, distance: f64) -> f64 {
        if distance > self.epsilon { 1.0 } else { 0.0 }
    }

    fn curvature(&self) -> Option<f64> {
        None
    }

    fn prox(&self, a: f64, r: f64, mu: f64) -> f64 {
        let epsilon = self.epsilon;
        if a * a + r <= epsilon * epsilon {
            return a;
        }
        // t (1 + μ/√(t² + r)) = a; the left side is concave and rises, so Newton's method climbs to the root.
        let mut t = (a - mu).max(0.0);
        if r > 0.0 {
            for _ in 0..NEWTON {
                let root = (t * t + r).sqrt();
                let excess = t * (1.0 + mu / root) - a;
                let step = -excess / (1.0 + mu * r / (root * root * root));
                t += step;
                if step <= 1e-15 * a {
                    break;
                }
            }
        }
        // Within the insensitive ball the slope is 0: the minimiser is on its surface.
        t.max((epsilon * epsilon - r).max(0.0).sqrt())
    }
}
