use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::combiner::{Combiner, Values};
use super::member::Member;
use crate::Error;
use crate::error::check_len;

/// How far from 1 the weights of an ensemble may sum.
const TOLERANCE: f64 = 1e-6;

/// How the members of an ensemble are combined into one score a candidate.
///
/// `s_t(q, c)` is the score of candidate c under member t = 1, …, T, and `r_t(q, c)` its rank among the
/// candidates of the query, from 1, averaged over ties. Weights `w_t` are not negative and sum to
/// one; without any, `w_t = 1/T`. A higher combined score is better.
///
/// `standardise` replaces `s_t(q, c)` by `(s_t(q, c) − μ) / σ` with the mean μ and the standard
/// deviation σ of the scores of query q under member t, over all its candidates; by 0 where σ = 0.
/// It makes scores of different kernels comparable. The rules of ranks have no such option, for
/// standardising does not change ranks.
///
/// In a configuration file, a table with the rule's `name` in kebab-case and its parameters:
///
/// ```
/// use dsokr_decode::Combination;
///
/// let read = |text| serde_json::from_str::<Combination>(text);
/// let rule = read(r#"{"name": "mean", "weights": [0.75, 0.25], "standardise": true}"#)?;
/// assert_eq!(rule, Combination::Mean { weights: Some(vec![0.75, 0.25]), standardise: true });
/// let rule = read(r#"{"name": "reciprocal-rank"}"#)?;
/// assert_eq!(rule, Combination::ReciprocalRank { weights: None, constant: 60.0 });
/// assert!(read(r#"{"name": "rank", "standardise": true}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Combination {
    /// `Σ_t w_t s_t(q, c)`: the mean, or weighted mean, of scores.
    Mean {
        /// `w_t`, one a member; the same for all where there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
        /// Whether scores are standardised.
        #[serde(default)]
        standardise: bool,
    },
    /// `max_t s_t(q, c)`.
    Max {
        /// Whether scores are standardised.
        #[serde(default)]
        standardise: bool,
    },
    /// `−Σ_t w_t r_t(q, c)`: the mean of ranks.
    Rank {
        /// `w_t`, one a member; the same for all where there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
    },
    /// `Σ_t w_t / (a + r_t(q, c))`: reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
    ReciprocalRank {
        /// `w_t`, one a member; the same for all where there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f64>>,
        /// The constant a, above 0. The larger it is, the less the first ranks weigh.
        #[serde(default = "sixty")]
        constant: f64,
    },
}

fn sixty() -> f64 {
    60.0
}

impl Default for Combination {
    /// The mean of scores as they are.
    fn default() -> Self {
        Self::Mean { weights: None, standardise: false }
    }
}

impl Combination {
    /// The name of the rule, as it is written in a configuration file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mean { .. } => "mean",
            Self::Max { .. } => "max",
            Self::Rank { .. } => "rank",
            Self::ReciprocalRank { .. } => "reciprocal-rank",
        }
    }

    /// The weights, where there are some.
    pub fn weights(&self) -> Option<&[f64]> {
        match self {
            Self::Max { .. } => None,
            Self::Mean { weights, .. }
            | Self::Rank { weights }
            | Self::ReciprocalRank { weights, .. } => weights.as_deref(),
        }
    }

    /// The rule with other weights; `None` weighs all members the same.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for [`Combination::Max`].
    pub fn with_weights(&self, new: Option<Vec<f64>>) -> Result<Self, Error> {
        let mut rule = self.clone();
        match &mut rule {
            Self::Max { .. } => {
                return Err(Error::Unsupported(format!(
                    "the rule {:?} has no weights",
                    self.name()
                )));
            }
            Self::Mean { weights, .. }
            | Self::Rank { weights }
            | Self::ReciprocalRank { weights, .. } => *weights = new,
        }
        Ok(rule)
    }

    /// The rule for members at hand.
    pub(super) fn combiner(&self, members: &[Member]) -> Result<Combiner, Error> {
        let values = match *self {
            Self::Mean { standardise: false, .. } | Self::Max { standardise: false } => {
                self.comparable(members)?;
                Values::Scores
            }
            Self::Mean { .. } | Self::Max { .. } => Values::Standardised,
            Self::Rank { .. } => Values::Ranks,
            Self::ReciprocalRank { constant, .. } if constant > 0.0 && constant.is_finite() => {
                Values::Reciprocals { constant }
            }
            Self::ReciprocalRank { constant, .. } => {
                let found = format!("reciprocal rank constant {constant}");
                return Err(Error::out_of_range(found, "above 0 and finite"));
            }
        };
        if let Some(weights) = self.weights() {
            check_weights(weights, members)?;
        }
        Ok(match self {
            Self::Max { .. } => Combiner::max(values, members.len()),
            _ => Combiner::sum(values, members.len(), self.weights()),
        })
    }

    /// Refuses to combine scores as they are unless all members' kernels are normalised.
    fn comparable(&self, members: &[Member]) -> Result<(), Error> {
        match members.iter().find(|member| !member.normalised) {
            Some(member) if members.len() > 1 => Err(Error::Unsupported(format!(
                "the rule {:?} combines scores, but the kernel of ensemble member {:?} is not \
                 normalised: standardise the scores or combine ranks",
                self.name(),
                member.name
            ))),
            _ => Ok(()),
        }
    }
}

fn check_weights(weights: &[f64], members: &[Member]) -> Result<(), Error> {
    check_len("weights of ensemble members", weights.len(), members.len())?;
    for (&value, member) in weights.iter().zip(members) {
        if !(value >= 0.0 && value.is_finite()) {
            let found = format!("weight {value} of ensemble member {:?}", member.name);
            return Err(Error::out_of_range(found, "0 and above"));
        }
    }
    let sum: f64 = weights.iter().sum();
    match (sum - 1.0).abs() <= TOLERANCE {
        true => Ok(()),
        false => Err(Error::Inconsistent(format!(
            "the weights of the ensemble sum to {sum}, expected 1 within {TOLERANCE}"
        ))),
    }
}
