//! Losses of a vector: what the machines minimise on average.

use dsokr_core::Error;
use dsokr_core::loss::{self, DistanceLoss, Pieces};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quantiles: `Σ_j τ_j max(y_j − f_j, 0) + (1 − τ_j) max(f_j − y_j, 0)`; f_j estimates the τ_j-quantile
/// (Koenker and Bassett 1978). The thesis's equation 2.128 has τ and 1 − τ exchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pinball {
    /// τ_1 < … < τ_d, within (0, 1).
    pub levels: Vec<f64>,
}

/// A convex loss `ℓ(f, y)` of a prediction f and a target y, both of d numbers.
///
/// All but the pinball loss depend only on `u = ‖f − y‖² + r`, r ≥ 0 being the part of the
/// target that no prediction reaches: `r(y) = k(y, y) − ‖ψ̃(y)‖²` for coordinates in an output
/// basis, 0 for plain numbers (thesis, section 2.5 and appendix C.1). They take the norm of the
/// whole vector, so a row is an outlier as a whole.
///
/// In a configuration file, a table with the loss's `name` in kebab-case and its parameters:
///
/// ```
/// use dsokr_core::loss::Huber;
/// use dsokr_machines::Loss;
///
/// let loss: Loss = serde_json::from_str(r#"{"name": "huber", "kappa": 0.5}"#)?;
/// assert_eq!(loss, Loss::Huber(Huber { kappa: 0.5 }));
/// assert_eq!(loss.value(&[3.0], &[1.0], 0.0), 0.5 * (2.0 - 0.25));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Loss {
    Square(loss::Square),
    Huber(loss::Huber),
    EpsilonInsensitive(loss::EpsilonInsensitive),
    EpsilonInsensitiveSquare(loss::EpsilonInsensitiveSquare),
    Pinball(Pinball),
}

impl Loss {
    /// Returns the loss of a distance; none for the pinball loss.
    fn of_distance(&self) -> Option<&dyn DistanceLoss> {
        match self {
            Self::Square(loss) => Some(loss),
            Self::Huber(loss) => Some(loss),
            Self::EpsilonInsensitive(loss) => Some(loss),
            Self::EpsilonInsensitiveSquare(loss) => Some(loss),
            Self::Pinball(_) => None,
        }
    }

    /// Returns the loss of a distance in its one form.
    fn pieces(&self) -> Option<Pieces> {
        self.of_distance().map(DistanceLoss::pieces)
    }
}

impl Loss {
    /// Creates the pinball loss of the given levels.
    pub fn pinball(levels: impl Into<Vec<f64>>) -> Self {
        Self::Pinball(Pinball { levels: levels.into() })
    }

    /// Returns the name in configuration files.
    pub fn name(&self) -> String {
        tag(self)
    }

    /// Returns the levels of the pinball loss, if it is that one.
    pub fn levels(&self) -> Option<&[f64]> {
        if let Self::Pinball(Pinball { levels }) = self { Some(levels) } else { None }
    }

    /// Returns the factor c of the penalty `c λ ‖f − b‖²`: ½, but 1 for the square loss, whose λ has the scale of ridge
    /// regression.
    pub fn penalty(&self) -> f64 {
        self.pieces().map_or(0.5, |loss| loss.penalty())
    }

    /// Returns whether the mean of numbers is the constant of least loss.
    pub(crate) fn is_fitted_by_mean(&self) -> bool {
        self.pieces().is_some_and(|loss| loss.is_fitted_by_mean())
    }

    /// Checks the parameters, and that the loss is defined on d = `width` outputs.
    ///
    /// # Errors
    /// [`Error::Value`]; [`Error::Shape`] unless there is a level for each output.
    pub fn validate(&self, width: usize) -> Result<(), Error> {
        if let Some(levels) = self.levels() {
            check_levels(levels)?;
            Error::check_length("quantile levels", levels.len(), width)?;
        }
        let checked = self.of_distance().map_or(Ok(()), DistanceLoss::validate);
        checked.map_err(|error| error.of(format_args!("loss {}: ", self.name())))
    }

    /// Computes `ℓ(f, y)` with r = `residual` (not read by the pinball loss).
    pub fn value(&self, prediction: &[f64], target: &[f64], residual: f64) -> f64 {
        if let Some(loss) = self.pieces() {
            return loss.value(distance(prediction, target, residual));
        }
        let errors = prediction.iter().zip(target).map(|(f, y)| y - f);
        let levels = self.levels().unwrap_or_default();
        errors.zip(levels).map(|(e, tau)| (tau * e).max((tau - 1.0) * e)).sum()
    }

    /// Returns a bound on the second derivatives in f; none for a loss with kinks.
    pub(crate) fn curvature(&self) -> Option<f64> {
        self.pieces().and_then(|loss| loss.curvature())
    }

    /// Returns the gradient at f of the loss smoothed about the slope `centre`,
    /// `ℓ_μ(f) = max_α ⟨α, f⟩ − ℓ*(α) − (μ/2) ‖α − centre‖²`, and the conjugate
    /// `ℓ*(α) = ⟨α, f⟩ − ℓ(f)` of the maximiser α. A loss without kinks is not smoothed. `mu` is μ.
    ///
    /// With `w = f + μ centre` and `u = prox_{μℓ}(w)`, `α = (w − u)/μ`, which is a slope of ℓ at u.
    /// `scratch` holds d numbers.
    pub(crate) fn smoothed(
        &self,
        prediction: &Prediction,
        mu: f64,
        centre: &[f64],
        alpha: &mut [f64],
        scratch: &mut [f64],
    ) -> f64 {
        let Prediction { values: f, target: y, residual } = *prediction;
        match self.of_distance() {
            None => {
                let levels = self.levels().unwrap_or_default();
                let mut conjugate = 0.0;
                for j in 0..alpha.len() {
                    let slope = (f[j] - y[j]) / mu + centre[j];
                    alpha[j] = slope.clamp(-levels[j], 1.0 - levels[j]);
                    conjugate += alpha[j] * y[j];
                }
                conjugate
            }
            Some(loss) if loss.pieces().curvature().is_none() => {
                for j in 0..scratch.len() {
                    scratch[j] = f[j] + mu * centre[j];
                }
                let far = distance(scratch, y, 0.0);
                let near = loss.prox(far, residual, mu);
                // α and u lie on the line from y to w.
                let along = if far > 0.0 { (far - near) / (mu * far) } else { 0.0 };
                for j in 0..alpha.len() {
                    let from = scratch[j] - y[j];
                    alpha[j] = along * from;
                    scratch[j] = y[j] + if far > 0.0 { from * (near / far) } else { 0.0 };
                }
                dot(alpha, scratch) - loss.pieces().value(distance(scratch, y, residual))
            }
            Some(loss) => {
                let loss = loss.pieces();
                let root = distance(f, y, residual);
                let slope = if root > 0.0 { loss.derivative(root) / root } else { 0.0 };
                for ((alpha, f), y) in alpha.iter_mut().zip(f).zip(y) {
                    *alpha = slope * (f - y);
                }
                dot(alpha, f) - loss.value(root)
            }
        }
    }
}

/// A prediction f of a row, with what it is compared to.
pub(crate) struct Prediction<'a> {
    /// f, d numbers.
    pub values: &'a [f64],
    /// y, d numbers.
    pub target: &'a [f64],
    /// r, which the pinball loss does not read.
    pub residual: f64,
}

/// Returns the name by which a configuration file tells a choice from others.
pub(crate) fn tag(choice: &impl Serialize) -> String {
    let value = serde_json::to_value(choice).unwrap_or_default();
    value["name"].as_str().unwrap_or_default().to_owned()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Computes `√(‖f − y‖² + r)`.
fn distance(prediction: &[f64], target: &[f64], residual: f64) -> f64 {
    let squares = prediction.iter().zip(target).map(|(f, y)| (f - y) * (f - y));
    (squares.sum::<f64>() + residual).sqrt()
}

/// Checks that levels increase strictly within (0, 1).
pub(crate) fn check_levels(levels: &[f64]) -> Result<(), Error> {
    let mut low = 0.0;
    for (position, &value) in levels.iter().enumerate() {
        let what = format_args!("quantile level {position}");
        let holds = value > low && value < 1.0;
        Error::ensure(holds, what, value, format_args!("above {low}, below 1"))?;
        low = value;
    }
    Ok(())
}
