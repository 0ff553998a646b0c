//! The table `[encoder.predictions]` of kernel machines, and their λ: in which coordinates a machine predicts.

use dsokr_machines::LARGEST_LAMBDA;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::error::{Error, ensure};

/// The coordinates of predictions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PredictionsConfig {
    /// All coordinates of the basis.
    // with braces: serde ignores unknown keys next to a unit variant
    #[default]
    All {},
    /// The leading coordinates of the basis. With a sketch of every output this is Kernel Dependency
    /// Estimation: a regression for each principal component.
    Leading {
        /// Number of coordinates.
        rank: usize,
    },
    /// A learned embedding of the outputs.
    Embedded(EmbeddingConfig),
}

/// A learned output embedding: predictions are projected on few directions of the output space, those that
/// predictions and outputs vary along most, and predictions and candidates are coordinates along these. Rank, c and λ are
/// chosen together on the validation split, by `evaluation.metric`; the run keeps all that was tried, as `embedding.json`.
///
/// The directions minimise
/// `(c/n) Σ_i ‖P ĥ(x_i) − ĥ(x_i)‖² + ((1−c)/m) Σ_j ‖P ψ̃(y_j) − ψ̃(y_j)‖²` over projections P of a
/// rank, with the predictions of the training inputs and outputs that belong to no pair of any split
/// (output embedding learning, equation 7). c = 1 is reduced rank regression (reduced rank paper,
/// algorithms 1 and 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingConfig {
    /// Ranks to choose from; the rank of the basis, which changes nothing, is always one of them.
    pub ranks: Vec<usize>,
    /// Values of c to choose from, 0 to 1. Below 1 the outputs without pairs count. The basis is then drawn from them
    /// too, and `output.centred` and `output.power` go by them, for all values of the list: one below 1 changes the
    /// results of the others.
    #[serde(default = "supervised")]
    pub supervised: Vec<f64>,
    /// λ₁, of the regression whose predictions the directions are learned from, one number or several to choose from;
    /// `encoder.lambda` is then λ₂, of the predictions that are projected (reduced rank paper, equation 8). If left out,
    /// λ₁ = λ₂.
    pub lambda: Option<Lambda>,
}

dsokr_core::defaults!(supervised: Vec<f64> = vec![1.0]);

impl EmbeddingConfig {
    /// Returns whether outputs without pairs are used.
    pub fn is_mixed(&self) -> bool {
        self.supervised.iter().any(|&c| c < 1.0)
    }

    /// Returns the ranks to try in a basis of rank `rank`, its own the last.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for one above it.
    pub(crate) fn ranks_in(&self, rank: usize) -> Result<Vec<usize>, Error> {
        let mut ranks = self.ranks.clone();
        let most = ranks.last().copied();
        let allowed = format!("at most {rank}, the rank of the basis");
        // ranks increase
        ensure(most <= Some(rank), "encoder.predictions.ranks", most.unwrap_or_default(), allowed)?;
        ranks.extend((ranks.last() != Some(&rank)).then_some(rank));
        Ok(ranks)
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let ranks = &self.ranks;
        let rising = ranks.windows(2).all(|pair| pair[0] < pair[1]);
        let holds = ranks.first().is_some_and(|&rank| rank > 0) && rising;
        let allowed = "increasing numbers of at least 1";
        ensure(holds, "encoder.predictions.ranks", format!("{ranks:?}"), allowed)?;
        let given = &self.supervised;
        let holds = !given.is_empty() && given.iter().all(|c| (0.0..=1.0).contains(c));
        let allowed = "at least one number in [0, 1]";
        ensure(holds, "encoder.predictions.supervised", format!("{given:?}"), allowed)?;
        self.lambda.iter().try_for_each(|lambda| lambda.validate("encoder.predictions.lambda"))
    }
}

/// λ of a kernel machine: one number, or several to choose from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "lambda: expected a number, or a list of numbers")]
pub enum Lambda {
    /// One.
    One(f64),
    /// The best, as `lambda_by` says.
    Several(Vec<f64>),
}

/// The way in which one of several λ is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LambdaChoice {
    /// The leave-one-out error on the training pairs: of the solvers `closed-form` and `sketched` without a learned embedding.
    LeaveOneOut,
    /// `evaluation.metric` on the validation split, of one fit for each λ.
    Validation,
}

impl Lambda {
    /// Returns every value.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::One(lambda) => std::slice::from_ref(lambda),
            Self::Several(lambdas) => lambdas,
        }
    }

    /// Checks the values of a key.
    pub(super) fn validate(&self, key: &str) -> Result<(), Error> {
        let lambdas = self.values();
        ensure(!lambdas.is_empty(), key, "[]", "at least one number above 0")?;
        lambdas.iter().try_for_each(|&lambda| {
            let holds = lambda > 0.0 && lambda <= LARGEST_LAMBDA;
            ensure(holds, key, lambda, "numbers above 0, at most 1e100")
        })
    }
}
