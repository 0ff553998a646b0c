//! Candidate sets that hold a right output with a given probability (split conformal prediction).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use dsokr_core::Argument;
use dsokr_core::random::{generator, shuffle};
use dsokr_decode::{Combination, IndependentQueries};
use serde::Serialize;

use super::Answer;
use crate::config::candidate_rule::CandidateRule;
use crate::error::{Error, ensure};
use crate::metrics::queries::groups_text;

/// The first distinct candidates of a query, which its scores are compared with.
pub(super) const FIRST: usize = 100;

/// The share of the calibrating queries that the temperature is fitted to.
const TEMPERED: usize = 5;

/// A query whose right outputs are known.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratingQuery {
    /// The scores of its first distinct candidates, descending: at most 100.
    pub first: Vec<f32>,
    /// The score of its best right output; none where none is a candidate.
    pub gold: Option<f32>,
}

impl CalibratingQuery {
    /// Returns `τ log Σ_c exp(s(c) / τ)` over the first candidates of a query.
    fn level(first: &[f32], temperature: f64) -> f64 {
        let best = f64::from(first.first().copied().unwrap_or(f32::NEG_INFINITY));
        let sum: f64 =
            first.iter().map(|&score| ((f64::from(score) - best) / temperature).exp()).sum();
        best + temperature * sum.ln()
    }

    /// Returns how far the right output's score is below `τ log Σ_c exp(s(c) / τ)` of the first candidates; ∞ where it is not a
    /// candidate.
    pub fn distance(&self, temperature: f64) -> f64 {
        self.gold
            .map_or(f64::INFINITY, |gold| Self::level(&self.first, temperature) - f64::from(gold))
    }

    /// Returns the logarithm of the right output's probability among the first candidates, and itself if it is none of them.
    fn log_likelihood(&self, temperature: f64) -> Option<f64> {
        let gold = self.gold?;
        let last = self.first.last().copied()?;
        let below = gold < last;
        let first: Vec<f32> = self.first.iter().copied().chain(below.then_some(gold)).collect();
        Some((f64::from(gold) - Self::level(&first, temperature)) / temperature)
    }
}

/// Which candidates are in the set of a query: those whose score is at most `threshold` below
/// `τ log Σ_c exp(s(c) / τ)`, the sum over the query's first 100 distinct candidates; where none is, those that share the
/// best score.
///
/// This is split conformal prediction with the probability of a softmax of temperature τ as the score (Sadinle, Lei and
/// Wasserman 2019; Angelopoulos and Bates 2023, section 1). A drawn fifth of the calibrating queries chooses τ, by maximum
/// likelihood (Guo et al. 2017). Of the other n, the threshold is the ⌈(n + 1) · coverage⌉-th smallest distance of the right
/// output. For queries that are exchangeable with these, the distance is at most the threshold with at least this
/// probability, and with at most 1/(n + 1) more where distances do not tie, on average over calibrating and new queries. The
/// best candidates of sets that would be empty add to it: no set holds less than the share of right first candidates.
///
/// Queries of one group are not independent of one another, and a new query is of another group. Then groups are drawn whole for
/// τ, and of the n others each has the weight 1/(n + 1), in equal shares of its queries, as has a distance of ∞: the threshold
/// is the quantile of this distribution, which holds as above for a query of a new group (Lee, Barber and Willett 2023).
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateSets {
    /// The temperature τ.
    pub temperature: f64,
    /// The largest distance below the level.
    pub threshold: f64,
    /// The pairs that it was calibrated on.
    pub calibration: Calibration,
}

/// The pairs that candidate sets were calibrated on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct Calibration {
    /// The probability that a set holds a right output.
    pub coverage: f64,
    /// Which queries: `validation`, `held-out predictions` for training inputs, or a file.
    pub on: String,
    /// Their number.
    pub queries: usize,
    /// The number of their groups, each of which counts as one; absent where every query is independent of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// Why their coverage may differ from that of new queries, such as that λ was chosen on them; absent where nothing
    /// is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// Queries to calibrate on, and what is known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratingQueries {
    /// The queries.
    pub queries: Vec<CalibratingQuery>,
    /// The group of each query, whose queries are not independent of one another; empty where all are.
    pub groups: Vec<String>,
    /// Which queries, as in [`Calibration::on`].
    pub on: String,
    /// Why their coverage may differ from that of new queries, as in [`Calibration::caution`].
    pub caution: Option<String>,
}

impl CalibratingQueries {
    /// Returns the sets with this coverage; `seed` draws the queries, or the groups, that the temperature is fitted to.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for a coverage that is not between 0 and 1, or that so many queries or groups, or so many
    /// whose right output is a candidate, cannot give; [`dsokr_core::Error::Shape`] for another number of groups than of queries.
    pub fn sets(&self, coverage: f64, seed: u64) -> Result<CandidateSets, Error> {
        let holds = coverage > 0.0 && coverage < 1.0;
        ensure(holds, "coverage", coverage, "a number between 0 and 1")?;
        let mut units = self.independent()?;
        shuffle(&mut units, &mut generator(seed, "coverage", 0));
        let (tempering, others) = units.split_at(units.len() / TEMPERED);
        let temperature = temperature(&tempering.concat());

        // each query with its share of the one that its group counts as
        let mut distances: Vec<(f64, f64)> = Vec::new();
        for unit in others {
            let share = 1.0 / unit.len() as f64;
            distances.extend(unit.iter().map(|query| (query.distance(temperature), share)));
        }
        distances.sort_by(|a, b| a.0.total_cmp(&b.0));
        let n = others.len();
        let needed = (n + 1) as f64 * coverage - 1e-9;
        let mut reached = 0.0;
        let mut threshold = None;
        for &(distance, share) in distances.iter().filter(|(distance, _)| distance.is_finite()) {
            reached += share;
            if threshold.is_none() && reached >= needed {
                threshold = Some(distance);
            }
        }
        let groups = (units.len() < self.queries.len()).then_some(units.len());
        let Some(threshold) = threshold else {
            let most = reached / (n + 1) as f64;
            let finite = distances.iter().filter(|(distance, _)| distance.is_finite()).count();
            let calibrate = distances.len();
            let all = self.queries.len();
            let on = &self.on;
            let tempered = match (tempering.is_empty(), groups) {
                (true, _) => "",
                (false, None) => "; a fifth of them is for the temperature",
                (false, Some(_)) => "; a fifth of the groups is for the temperature",
            };
            let (remedy, count_as, in_groups) = match groups {
                Some(groups) => {
                    let calibration = Argument::new("calibration").with("FILE");
                    (
                        format!(", or a table of more groups ({calibration})"),
                        format!(", and each of their {} counts as one", groups_text(n)),
                        format!(" in {}", groups_text(groups)),
                    )
                }
                None => (String::new(), String::new(), String::new()),
            };
            let allowed = format!(
                "at most {most:.4}{remedy}: of the {calibrate} queries that calibrate, {finite} have a right output among the \
                 candidates{count_as} ({on}, {all} queries{in_groups}{tempered})"
            );
            return Err(Error::value("coverage", coverage, allowed));
        };
        let on = self.on.clone();
        let caution = self.caution.clone();
        let queries = self.queries.len();
        let calibration = Calibration { coverage, on, queries, groups, caution };
        Ok(CandidateSets { temperature, threshold, calibration })
    }

    /// Returns the queries of each group, or each query by itself.
    fn independent(&self) -> Result<Vec<Vec<&CalibratingQuery>>, Error> {
        Ok(match IndependentQueries::new(self.queries.len(), &self.groups)? {
            IndependentQueries::Alone(_) => self.queries.iter().map(|query| vec![query]).collect(),
            IndependentQueries::Groups(groups) => {
                let of_group =
                    |group: &Vec<usize>| group.iter().map(|&at| &self.queries[at]).collect();
                groups.iter().map(of_group).collect()
            }
        })
    }
}

/// Returns the likeliest of temperatures around the mean distance of the first candidates from the best.
fn temperature(queries: &[&CalibratingQuery]) -> f64 {
    let apart = |query: &&CalibratingQuery| {
        let best = f64::from(query.first.first().copied().unwrap_or_default());
        let sum: f64 = query.first.iter().map(|&score| best - f64::from(score)).sum();
        sum / query.first.len().max(1) as f64
    };
    let scale = queries.iter().map(apart).sum::<f64>() / queries.len().max(1) as f64;
    if scale <= 0.0 || !scale.is_finite() {
        return 1.0;
    }
    let likelihood = |temperature: f64| -> f64 {
        queries.iter().filter_map(|query| query.log_likelihood(temperature)).sum()
    };
    let tried = (-12..=4).map(|half| scale * (0.5 * f64::from(half)).exp2());
    let tried = tried.map(|temperature| (likelihood(temperature), temperature));
    tried.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(scale, |(_, temperature)| temperature)
}

impl CandidateSets {
    /// Returns how many of a query's distinct candidates with these scores, descending, are in its set.
    pub fn size(&self, scores: &[f32]) -> usize {
        match self.likely(scores) {
            // candidates with one score are all in a set, or none is
            0 => scores.partition_point(|&score| score == scores[0]),
            likely => likely,
        }
    }

    /// Returns what is doubtful about the set of a query whose distinct candidates have these scores, descending. The best
    /// candidate alone, where none is within the threshold, is no doubt: a model that is right more often than `coverage` has such
    /// sets.
    pub(super) fn caution(&self, scores: &[f32]) -> Option<String> {
        let is_doubtful = self.likely(scores) == 0 && self.size(scores) > 1;
        let caution = "no candidate is likely enough for a list with this confidence: it has all that share the best score, \
                       which the model does not tell apart";
        is_doubtful.then(|| caution.to_owned())
    }

    /// Returns how many of these candidates are within the threshold; 0 where the set would be empty.
    fn likely(&self, scores: &[f32]) -> usize {
        let level = CalibratingQuery::level(&scores[..scores.len().min(FIRST)], self.temperature);
        let inside = |score: f32| level - f64::from(score) <= self.threshold;
        scores.partition_point(|&score| inside(score))
    }
}

/// A set of candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateSet {
    /// The answer, with the candidates of the set as its hits. Where no candidate is within the threshold and several share the
    /// best score, it has a caution.
    pub answer: Answer,
    /// Whether these are all.
    pub whole: bool,
}

/// The queries that candidate sets were last calibrated on, with what they depend on: the four last ones.
#[derive(Default)]
pub(super) struct Calibrations(Mutex<Vec<(Calibrated, Arc<CalibratingQueries>)>>);

impl Calibrations {
    /// Returns the queries of a calibration, if it is one of the last ones.
    pub fn find(&self, key: &Calibrated) -> Option<Arc<CalibratingQueries>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().find(|(other, _)| other == key).map(|(_, queries)| Arc::clone(queries))
    }

    /// Keeps the queries of a calibration in the place of the oldest one, unless a thread beside this one has kept the same.
    pub fn keep(&self, key: Calibrated, queries: &Arc<CalibratingQueries>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !last.iter().any(|(other, _)| *other == key) {
            last.truncate(3);
            last.insert(0, (key, Arc::clone(queries)));
        }
    }
}

/// The rule of the ensemble, the file of the queries, the rule for their candidates, and the root of the data.
pub(super) type Calibrated = (Combination, Option<CandidateRule>, [Option<PathBuf>; 2]);
