use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check, value};
use crate::Error;

/// A learned output embedding: answers are projected on few directions of the output space, those that
/// predictions and outputs vary along most. Rank, c and λ are chosen together on the validation split,
/// by `evaluation.metric`; the run keeps all that was tried, as `embedding.json`.
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
    /// Values of c to choose from, 0 to 1. Below 1 the outputs without pairs count, and the basis is
    /// drawn from them too.
    #[serde(default = "supervised")]
    pub supervised: Vec<f64>,
}

fn supervised() -> Vec<f64> {
    vec![1.0]
}

impl EmbeddingConfig {
    /// Whether outputs without pairs are used.
    pub fn is_mixed(&self) -> bool {
        self.supervised.iter().any(|&c| c < 1.0)
    }

    /// The ranks to try in a basis of rank `rank`, its own the last.
    ///
    /// # Errors
    /// [`Error::Value`] for one above it.
    pub(crate) fn ranks_in(&self, rank: usize) -> Result<Vec<usize>, Error> {
        let mut ranks = self.ranks.clone();
        if let Some(found) = ranks.iter().find(|&&found| found > rank) {
            let allowed = format!("at most {rank}, the rank of the basis");
            return Err(value("encoder.answers.ranks", found, allowed));
        }
        ranks.extend((ranks.last() != Some(&rank)).then_some(rank));
        Ok(ranks)
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        let ranks = &self.ranks;
        let rising = ranks.windows(2).all(|pair| pair[0] < pair[1]);
        let holds = ranks.first().is_some_and(|&rank| rank > 0) && rising;
        let allowed = "increasing numbers of at least 1";
        check(holds, "encoder.answers.ranks", format!("{ranks:?}"), allowed)?;
        let given = &self.supervised;
        let holds = !given.is_empty() && given.iter().all(|c| (0.0..=1.0).contains(c));
        let allowed = "at least one number in [0, 1]";
        check(holds, "encoder.answers.supervised", format!("{given:?}"), allowed)
    }
}
