//! Losses of a distance: of `√u`, `u = ‖f − y‖² + r` being the squared distance in a kernel's feature
//! space between a prediction f and a target y, with the part r ≥ 0 of the target that no prediction
//! reaches.
//!
//! [`distance_losses!`](crate::distance_losses) is their one list. A new one is a file here with a struct
//! of its parameters that implements [`DistanceLoss`], and a line there: it is then a loss of kernel
//! machines and of training.
//!
//! ```
//! use dsokr_basis::loss::{DistanceLoss, Huber};
//!
//! let loss = Huber { kappa: 1.0 };
//! assert_eq!((loss.value(0.5), loss.derivative(0.5)), (0.125, 0.5));
//! assert_eq!((loss.value(3.0), loss.derivative(3.0)), (2.5, 1.0));
//! ```

/// A parameter of a loss that is outside of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadParameter {
    /// The parameter.
    pub parameter: &'static str,
    /// Its value.
    pub value: f64,
    /// The values allowed.
    pub allowed: &'static str,
}

impl BadParameter {
    /// Unless a condition holds.
    ///
    /// # Errors
    /// The parameter, its value and what is allowed.
    pub fn unless(
        holds: bool,
        parameter: &'static str,
        value: f64,
        allowed: &'static str,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self { parameter, value, allowed }) }
    }
}

/// A convex loss ℓ of a distance `√u` that does not decrease with it.
pub trait DistanceLoss {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The parameter that is outside of its range.
    fn validate(&self) -> Result<(), BadParameter>;

    /// `ℓ(√u)`.
    fn value(&self, distance: f64) -> f64;

    /// `ℓ'(√u)`, the derivative in the distance; any slope where there is a kink.
    fn derivative(&self, distance: f64) -> f64;

    /// A bound on the second derivatives of `f ↦ ℓ(√u)`; none for a loss with a kink in f.
    fn curvature(&self) -> Option<f64>;

    /// The factor c of the penalty `c λ ‖f‖²` that goes with the loss in a kernel machine: ½, but 1 for
    /// the square loss, whose λ is that of ridge regression.
    fn penalty(&self) -> f64 {
        0.5
    }

    /// Whether the mean of numbers is the constant of least loss; of other losses the median is taken.
    fn is_fitted_by_mean(&self) -> bool {
        false
    }

    /// The minimiser t of `(t − a)²/2μ + ℓ(√(t² + r))`, 0 ≤ t ≤ a: what a solver needs of a loss with a
    /// kink. By bisection, unless a loss has a formula.
    fn prox(&self, a: f64, r: f64, mu: f64) -> f64 {
        let (mut low, mut high) = (0.0f64, a);
        for _ in 0..200 {
            let t = 0.5 * (low + high);
            let root = (t * t + r).sqrt();
            let slope = if root > 0.0 { self.derivative(root) * (t / root) } else { 0.0 };
            *(if t + mu * slope > a { &mut high } else { &mut low }) = t;
        }
        0.5 * (low + high)
    }
}

/// Calls a macro with the list of all losses of a distance, `module::Name` each. `Name` is in
/// [`loss`](crate::loss), and in kebab-case the name in configuration files.
#[macro_export]
macro_rules! distance_losses {
    ($callback:ident) => {
        $callback! {
            square::Square,
            huber::Huber,
            epsilon_insensitive::EpsilonInsensitive,
            epsilon_insensitive_square::EpsilonInsensitiveSquare,
        }
    };
}

macro_rules! modules {
    ($($module:ident::$name:ident,)*) => {
        $(mod $module; pub use $module::$name;)*
    };
}

distance_losses!(modules);
