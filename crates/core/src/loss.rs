//! Losses of a distance `√u`, where `u = ‖f − y‖² + r` is the squared distance in a kernel's feature space between a
//! prediction f and a target y, and r ≥ 0 is the part of the target that no prediction reaches.
//!
//! A loss is a struct of its parameters here that implements [`DistanceLoss`], a variant of the losses of kernel machines,
//! and a variant of the losses of training; implementations in other crates are used by nothing. A program trains under a
//! loss of its own in a loop of its own, as `bindings/python/examples/pytorch_loop.py` does.
//!
//! ```
//! use dsokr_core::loss::{DistanceLoss, Huber};
//!
//! let loss = Huber { kappa: 1.0 }.pieces();
//! assert_eq!((loss.value(0.5), loss.derivative(0.5)), (0.125, 0.5));
//! assert_eq!((loss.value(3.0), loss.derivative(3.0)), (2.5, 1.0));
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Steps of Newton's method on a scalar equation; it takes three to six.
const NEWTON: usize = 60;

/// The loss `inner·m (d − m/2) + excess·e + excess_squared·e²` of a distance d with `m = min(d, kink)` and
/// `e = max(d − kink, 0)`: `inner·d²/2` below the kink, and beyond it the tangent and terms of the excess.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pieces {
    /// The distance at which the loss stops being quadratic; infinite where it never does.
    pub kink: f64,
    /// The factor of `m (d − m/2)`.
    pub inner: f64,
    /// The factor of e.
    pub excess: f64,
    /// The factor of e².
    pub excess_squared: f64,
}

impl Pieces {
    /// Computes `ℓ(√u)`.
    pub fn value(&self, distance: f64) -> f64 {
        let Self { kink, inner, excess, excess_squared } = *self;
        let m = distance.min(kink);
        let e = (distance - kink).max(0.0);
        inner * (m * (distance - 0.5 * m)) + excess * e + excess_squared * (e * e)
    }

    /// Computes `ℓ'(√u)`, the derivative in the distance; any slope where there is a kink.
    pub fn derivative(&self, distance: f64) -> f64 {
        let Self { kink, inner, excess, excess_squared } = *self;
        let slope = if distance > kink { excess } else { 0.0 };
        inner * distance.min(kink) + slope + 2.0 * excess_squared * (distance - kink).max(0.0)
    }

    /// Returns a bound on the second derivatives of `f ↦ ℓ(√u)`; none for a loss with a kink in f.
    pub fn curvature(&self) -> Option<f64> {
        (self.excess == 0.0).then(|| self.inner.max(2.0 * self.excess_squared))
    }

    /// Returns the factor c of the penalty `c λ ‖f‖²` that goes with the loss in a kernel machine: ½, but 1 for the
    /// square loss, whose λ has the scale of ridge regression.
    pub fn penalty(&self) -> f64 {
        if self.is_fitted_by_mean() { 1.0 } else { 0.5 }
    }

    /// Returns whether the mean of numbers is the constant of least loss, as for the square loss. For other losses the
    /// median is taken.
    pub fn is_fitted_by_mean(&self) -> bool {
        self.kink.is_infinite()
    }
}

/// A convex loss ℓ of a distance `√u` that does not decrease with the distance. Its [pieces](Self::pieces) define its
/// values and slopes, in kernel machines and in training on every device.
pub trait DistanceLoss {
    /// Returns the loss: kernel machines compute it of numbers, and training on a GPU of tensors.
    fn pieces(&self) -> Pieces;

    /// Checks the parameters, if there are any.
    ///
    /// # Errors
    /// [`Error::Value`] with the parameter that is outside of its range.
    fn validate(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the minimiser t of `(t − a)²/2μ + ℓ(√(t² + r))`, 0 ≤ t ≤ a: what a solver needs of a loss with a
    /// kink. By bisection, unless a loss has a formula.
    fn prox(&self, a: f64, r: f64, mu: f64) -> f64 {
        let pieces = self.pieces();
        let mut low = 0.0f64;
        let mut high = a;
        for _ in 0..200 {
            let t = 0.5 * (low + high);
            let root = (t * t + r).sqrt();
            let slope = if root > 0.0 { pieces.derivative(root) * (t / root) } else { 0.0 };
            *(if t + mu * slope > a { &mut high } else { &mut low }) = t;
        }
        0.5 * (low + high)
    }
}

/// `u`: kernel ridge regression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Square {}

impl DistanceLoss for Square {
    fn pieces(&self) -> Pieces {
        Pieces { kink: f64::INFINITY, inner: 2.0, ..Pieces::default() }
    }
}

/// `u/2` where `√u ≤ κ`, else `κ (√u − κ/2)`: outputs that are far off, wrong ones perhaps, pull no
/// harder than others (Huber 1964). κ-Lipschitz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Huber {
    /// κ, above 0.
    pub kappa: f64,
}

impl DistanceLoss for Huber {
    fn validate(&self) -> Result<(), Error> {
        let holds = self.kappa > 0.0 && self.kappa.is_finite();
        Error::ensure(holds, "kappa", self.kappa, "finite numbers above 0")
    }

    fn pieces(&self) -> Pieces {
        Pieces { kink: self.kappa, inner: 1.0, ..Pieces::default() }
    }
}

fn check_epsilon(epsilon: f64) -> Result<(), Error> {
    let holds = epsilon >= 0.0 && epsilon.is_finite();
    Error::ensure(holds, "epsilon", epsilon, "finite numbers, 0 and above")
}

/// ε-insensitive ℓ1, `max(√u − ε, 0)`; 1-Lipschitz. For one number it is support vector regression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpsilonInsensitive {
    /// ε, 0 and above.
    pub epsilon: f64,
}

impl DistanceLoss for EpsilonInsensitive {
    fn validate(&self) -> Result<(), Error> {
        check_epsilon(self.epsilon)
    }

    fn pieces(&self) -> Pieces {
        Pieces { kink: self.epsilon, excess: 1.0, ..Pieces::default() }
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

/// ε-insensitive ℓ2, `max(√u − ε, 0)²`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpsilonInsensitiveSquare {
    /// ε, 0 and above.
    pub epsilon: f64,
}

impl DistanceLoss for EpsilonInsensitiveSquare {
    fn validate(&self) -> Result<(), Error> {
        check_epsilon(self.epsilon)
    }

    fn pieces(&self) -> Pieces {
        Pieces { kink: self.epsilon, excess_squared: 1.0, ..Pieces::default() }
    }
}
