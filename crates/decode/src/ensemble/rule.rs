//! How the scores of the members become one combined score.
//!
//! Combined scores are sums in f64 in the order of the members. Two candidates that score the same
//! under every member go through the same operations, so they tie bit for bit. Ranks make more
//! candidates tie than those, such as ranks (1, 2, 3) and (3, 1, 2); so that these tie too, and so
//! that the order of the members does not matter, every term is rounded to a multiple of a quantum
//! that is coarse enough for sums to be exact and far below the gap between neighbouring ranks. Where members
//! weigh differently, sums that are some quanta apart tie.

use dsokr_core::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::member::Member;
use crate::error::{check_consistent, ensure_allowed};

/// How far from 1 the weights of an ensemble may sum.
const TOLERANCE: f64 = 1e-6;

/// The largest constant of reciprocal ranks. Neighbouring ranks differ by about one over its square, 1e-12. Larger
/// constants bring that near the quantum, below which all candidates tie.
const LARGEST_CONSTANT: f64 = 1e6;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Combination {
    /// `Σ_t w_t s_t(q, c)`: the mean, or weighted mean, of scores.
    #[default]
    Mean {
        /// `w_t`, one a member; the same for all where there are none.
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
        weights: Option<Vec<f64>>,
    },
    /// `Σ_t w_t / (a + r_t(q, c))`: reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).
    ReciprocalRank {
        /// `w_t`, one a member; the same for all where there are none.
        weights: Option<Vec<f64>>,
        /// The constant a, above 0, at most 1,000,000. The larger it is, the less the first ranks weigh.
        #[serde(default = "sixty")]
        constant: f64,
    },
}

dsokr_core::defaults!(sixty: f64 = 60.0);

impl Combination {
    /// Returns the name of the rule, as it is written in a configuration file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mean { .. } => "mean",
            Self::Max { .. } => "max",
            Self::Rank { .. } => "rank",
            Self::ReciprocalRank { .. } => "reciprocal-rank",
        }
    }

    /// Returns whether ranks are combined.
    pub fn is_of_ranks(&self) -> bool {
        matches!(self, Self::Rank { .. } | Self::ReciprocalRank { .. })
    }

    /// Returns the weights, where there are some.
    pub fn weights(&self) -> Option<&[f64]> {
        match self {
            Self::Max { .. } => None,
            Self::Mean { weights, .. }
            | Self::Rank { weights }
            | Self::ReciprocalRank { weights, .. } => weights.as_deref(),
        }
    }

    /// Returns the rule with other weights; `None` weighs all members the same.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for [`Combination::Max`].
    pub fn with_weights(&self, new: Option<Vec<f64>>) -> Result<Self, Error> {
        Ok(match *self {
            Self::Mean { standardise, .. } => Self::Mean { weights: new, standardise },
            Self::Rank { .. } => Self::Rank { weights: new },
            Self::ReciprocalRank { constant, .. } => {
                Self::ReciprocalRank { weights: new, constant }
            }
            Self::Max { .. } => {
                let message = format!("the rule {:?} has no weights", self.name());
                return Err(Error::unsupported(message));
            }
        })
    }

    /// Checks weights and constant for members with these names.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a constant that is not above 0 or is more than 1,000,000, and for a weight below 0;
    /// [`Error::Shape`] unless there is one weight a member; [`Error::Inconsistent`] for a sum of weights that is not 1.
    pub fn validate(&self, members: &[&str]) -> Result<(), Error> {
        if let Self::ReciprocalRank { constant, .. } = *self {
            let found = format_args!("reciprocal rank constant {constant}");
            let holds = constant > 0.0 && constant <= LARGEST_CONSTANT;
            ensure_allowed(holds, found, "above 0, at most 1000000")?;
        }
        let Some(weights) = self.weights() else { return Ok(()) };
        Error::check_length("weights of ensemble members", weights.len(), members.len())?;
        for (&value, name) in weights.iter().zip(members) {
            let found = format_args!("weight {value} of ensemble member {name:?}");
            ensure_allowed(value >= 0.0 && value.is_finite(), found, "0 and above")?;
        }
        // the sum of no numbers is -0
        let sum = 0.0 + weights.iter().sum::<f64>();
        check_consistent(
            (sum - 1.0).abs() <= TOLERANCE,
            format_args!("the weights of the ensemble sum to {sum}, expected 1 within {TOLERANCE}"),
        )
    }

    /// Returns the rule for members at hand.
    pub(super) fn combiner(&self, members: &[Member]) -> Result<Combiner, Error> {
        let values = match *self {
            Self::Mean { standardise: false, .. } | Self::Max { standardise: false } => {
                self.comparable(members)?;
                Values::Scores
            }
            Self::Mean { .. } | Self::Max { .. } => Values::Standardised,
            Self::Rank { .. } => Values::Ranks,
            Self::ReciprocalRank { constant, .. } => Values::Reciprocals { constant },
        };
        self.validate(&members.iter().map(|member| member.name).collect::<Vec<_>>())?;
        let combiner = Combiner::sum(values, members.len(), self.weights());
        Ok(Combiner { max: matches!(self, Self::Max { .. }), ..combiner })
    }

    /// Refuses to combine scores as they are unless all members' kernels are normalised.
    fn comparable(&self, members: &[Member]) -> Result<(), Error> {
        let other = members.iter().find(|member| members.len() > 1 && !member.normalised);
        other.map_or(Ok(()), |member| {
            Err(Error::unsupported(format_args!(
                "the rule {:?} combines scores, but the kernel of ensemble member {:?} is not \
                 normalised: standardise the scores or combine ranks",
                self.name(),
                member.name
            )))
        })
    }
}

/// The values of a member that are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Values {
    /// The scores.
    Scores,
    /// The scores less their mean over the candidates, divided by their standard deviation.
    Standardised,
    /// The ranks from 1, ties averaged, negative so that a greater value is better.
    Ranks,
    /// 1 / (constant + rank).
    Reciprocals { constant: f64 },
}

/// A rule for a number of members, checked.
#[derive(Clone, Debug)]
pub(super) struct Combiner {
    pub values: Values,
    /// Whether the largest value is taken, not the sum.
    max: bool,
    /// Whether weights differ between members.
    weighted: bool,
    /// A factor a member; 1 where all weigh the same, and the sum is divided at the end.
    weights: Vec<f64>,
}

impl Combiner {
    /// Creates the rule of the sum of the members' values. Weights that are all the same are treated like none, so that
    /// both give the same bits.
    pub(super) fn sum(values: Values, members: usize, weights: Option<&[f64]>) -> Self {
        let differ = |list: &&[f64]| list.iter().any(|weight| *weight != list[0]);
        let weights = weights.filter(differ);
        let equal = || vec![1.0; members];
        let weighted = weights.is_some();
        Self { values, max: false, weighted, weights: weights.map_or_else(equal, <[f64]>::to_vec) }
    }

    /// Returns the members that contribute, ascending; there is at least one.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.weights.len()).filter(|&member| self.weighs(member))
    }

    pub(super) fn weighs(&self, member: usize) -> bool {
        self.weights[member] != 0.0
    }

    /// Returns the initial value of combined scores.
    pub(super) fn start(&self) -> f64 {
        if self.max { f64::NEG_INFINITY } else { 0.0 }
    }

    /// Returns the quantum of terms, a power of two; 0 where terms are not rounded. `pool` is the number
    /// of candidates.
    pub(super) fn quantum(&self, pool: u64) -> f64 {
        let members = self.weights.len().next_power_of_two() as f64;
        match self.values {
            Values::Scores | Values::Standardised => 0.0,
            // Terms and sums are at most the pool, 2⁵⁰ quanta.
            Values::Ranks => pool.next_power_of_two() as f64 / (1u64 << 50) as f64,
            // Terms are below 2, sums below 2T.
            Values::Reciprocals { .. } => members / (1u64 << 50) as f64,
        }
    }

    /// Returns the difference up to which combined scores are the same. Weighted ranks, and their reciprocals, are
    /// rounded before they are quantised, so that sums that are equal in real numbers may be some quanta apart; sums
    /// that are not weighted are exact.
    pub(super) fn tolerance(&self, pool: u64) -> f64 {
        if self.weighted { 2.0 * self.weights.len() as f64 * self.quantum(pool) } else { 0.0 }
    }

    /// Returns how the values of one member enter combined scores.
    pub(super) fn step(&self, member: usize, pool: u64) -> Step {
        // Adding 1.5 · 2⁵² quanta leaves no bits below the quantum.
        let shift = 1.5 * (1u64 << 52) as f64 * self.quantum(pool);
        Step { max: self.max, weight: self.weights[member], shift }
    }

    /// Returns the score that is shown for a combined one: the mean where a sum was taken.
    pub(super) fn shown(&self, combined: f64) -> f64 {
        if self.max || self.weighted { combined } else { combined / self.weights.len() as f64 }
    }
}

/// Returns a score, or the one that it ties with.
pub(super) fn tied(score: f64, bar: f64, tolerance: f64) -> f64 {
    if (score - bar).abs() <= tolerance { bar } else { score }
}

/// How the values of one member enter combined scores.
#[derive(Clone, Copy)]
pub(super) struct Step {
    max: bool,
    weight: f64,
    shift: f64,
}

impl Step {
    /// Adds values to the combined scores, one after the other.
    #[inline(always)]
    pub(super) fn add(self, combined: &mut [f64], values: impl Iterator<Item = f64>) {
        let Self { max, weight, shift } = self;
        let pairs = combined.iter_mut().zip(values);
        if max {
            pairs.for_each(|(combined, value)| {
                *combined = if value > *combined { value } else { *combined };
            });
        } else if shift != 0.0 {
            pairs.for_each(|(combined, value)| *combined += (weight * value + shift) - shift);
        } else if weight != 1.0 {
            pairs.for_each(|(combined, value)| *combined += weight * value);
        } else {
            pairs.for_each(|(combined, value)| *combined += value);
        }
    }
}
