//! Queries one by one.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use dsokr_core::Error;
use serde::{Deserialize, Serialize};

use crate::candidates::Candidates;
use crate::error::{check_queries, ensure_allowed};
use crate::hits::Decoded;
use crate::intervals::{IndependentQueries, wilson_interval};
use crate::rank::Rank;

/// The fewest queries, or groups of queries, of a bin, where there are several bins.
const LEAST: usize = 10;

/// How one query was decoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryRow {
    /// Id of the query.
    pub query: String,
    /// Id of its gold candidate.
    pub gold: String,
    /// `E[rank]` of the gold candidate from 1, ties averaged; none where it is missing.
    pub rank: Option<f64>,
    /// Number of other candidates with the score of the gold one, duplicates included; 0 where it is missing.
    pub tied: u64,
    /// `E[1/rank]`; 0 where the gold candidate is missing.
    pub reciprocal: f64,
    /// Id of the candidate that was ranked first, the first of those that tie.
    pub first: String,
    /// The label of the first hit.
    pub first_label: String,
    /// The score of the first hit.
    pub first_score: f32,
    /// Score of the gold candidate; none where it is missing.
    pub gold_score: Option<f32>,
}

impl QueryRow {
    /// Names of the columns of [`QueryRow::cells`].
    pub const COLUMNS: [&str; 9] = [
        "query",
        "gold",
        "rank",
        "tied",
        "reciprocal",
        "first",
        "first_label",
        "first_score",
        "gold_score",
    ];

    /// Returns the row as texts, for a table; empty where there is nothing. Ids and labels are as they are,
    /// numbers are written so that reading them gives the same number.
    pub fn cells(&self) -> [String; 9] {
        let some = |value: Option<String>| value.unwrap_or_default();
        [
            self.query.clone(),
            self.gold.clone(),
            some(self.rank.map(|rank| rank.to_string())),
            self.tied.to_string(),
            self.reciprocal.to_string(),
            self.first.clone(),
            self.first_label.clone(),
            self.first_score.to_string(),
            some(self.gold_score.map(|score| score.to_string())),
        ]
    }
}

/// Returns a row for each decoded query, in their order.
///
/// `decoded` is from [`Ensemble::decode`](crate::Ensemble::decode) with k ≥ 1 (an ensemble of one member for one
/// model), `candidates` are the candidates of the ensemble.
///
/// # Errors
/// [`Error::Shape`] unless there is one id and one gold id a query; [`Error::TooFew`] for a query without hits;
/// [`Error::OutOfRange`] for a hit that is not a candidate.
pub fn query_rows(
    queries: &[String],
    gold: &[String],
    decoded: &[Decoded],
    candidates: &Candidates,
) -> Result<Vec<QueryRow>, Error> {
    Error::check_length("query ids", queries.len(), decoded.len())?;
    Error::check_length("gold ids", gold.len(), decoded.len())?;
    let row = |((query, gold), decoded): ((&String, &String), &Decoded)| {
        let none = || Error::too_few(format!("query {query:?}: no hits"), 1);
        let first = decoded.hits.first().ok_or_else(none)?;
        ensure_allowed(
            first.candidate < candidates.len(),
            format_args!("query {query:?}: candidate {}", first.candidate),
            format_args!("0..{}, the candidates", candidates.len()),
        )?;
        Ok(QueryRow {
            query: query.clone(),
            gold: gold.clone(),
            rank: decoded.rank.map(|rank| rank.expected_rank()),
            tied: decoded.rank.map_or(0, |rank| rank.tied() - 1),
            reciprocal: decoded.rank.map_or(0.0, |rank| rank.expected_reciprocal()),
            first: candidates.id(first.candidate).to_owned(),
            first_label: candidates.label(first.candidate).to_owned(),
            first_score: first.score,
            gold_score: decoded.gold_score,
        })
    };
    queries.iter().zip(gold).zip(decoded).map(row).collect()
}

/// Returns positions of the `count` queries with the largest `E[rank]`, or of all if there are fewer; worst
/// first, missing gold candidates before all others, equal ones in their order.
pub fn worst(ranks: &[Option<Rank>], count: usize) -> Vec<usize> {
    let rank = |&query: &usize| ranks[query].map_or(f64::INFINITY, |rank| rank.expected_rank());
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(Ordering::Equal));
    order.truncate(count);
    order
}

/// Queries whose first candidates have scores next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Lowest score of a first candidate.
    pub from: f64,
    /// Highest score.
    pub to: f64,
    /// Mean score, where each group counts as one query, as in the share.
    pub mean_score: f64,
    /// Number of queries.
    pub queries: usize,
    /// Number of their groups; none where each query is by itself.
    pub groups: Option<usize>,
    /// Share of the queries whose gold candidate is first, `(1/n) Σ E[rank ≤ 1]`; of groups, the mean of their shares.
    pub right: f64,
    /// Lower end of its 95 % interval (Wilson 1927).
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ReliabilityBin {
    /// Names of the columns of [`ReliabilityBin::cells`].
    pub const COLUMNS: [&str; 8] =
        ["from", "to", "mean_score", "queries", "right", "low", "high", "groups"];

    /// Creates the bin that holds a score, else the one whose scores are nearest; of several the one with higher
    /// scores. None where there are no bins.
    pub fn nearest(bins: &[Self], score: f64) -> Option<&Self> {
        let apart = |bin: &Self| (bin.from - score).max(score - bin.to).max(0.0);
        bins.iter().rev().min_by(|a, b| apart(a).total_cmp(&apart(b)))
    }

    /// Returns the bin as texts, for a table; no groups are an empty text.
    pub fn cells(&self) -> [String; 8] {
        let Self { from, to, mean_score, queries, groups, right, low, high } = *self;
        let groups = groups.map(|groups| groups as f64);
        let [from, to, mean_score, queries] = [from, to, mean_score, queries as f64].map(Some);
        let [right, low, high] = [right, low, high].map(Some);
        [from, to, mean_score, queries, right, low, high, groups]
            .map(|value| value.map(|value| value.to_string()).unwrap_or_default())
    }
}

/// Returns how often the first candidate is right, for queries in the order of its score: at most `most` bins of
/// equally many queries, ten at least in each where there are as many. Queries with one score are in one bin, so that bins
/// are larger and fewer where many have it.
///
/// A gold candidate that ties with others for the first place counts in part; a missing one is not first.
///
/// `groups` names the group of each query, where queries are not independent of one another, and is empty where all are. Each group
/// then counts as one query, within each bin that has some of its queries: for the share, for its interval, and for the least
/// number of a bin.
///
/// # Errors
/// [`Error::TooFew`] for no queries, and for a query without hits; [`Error::OutOfRange`] for no bins; [`Error::Shape`] for another
/// number of groups than of queries.
///
/// ```
/// use dsokr_decode::{Decoded, Hit, Rank, report};
///
/// let query = |score: f32, above| {
///     let hits = vec![Hit { candidate: 0, score }];
///     Decoded { rank: Rank::new(above, 1, 100).ok(), gold_score: None, hits }
/// };
/// let queries: Vec<_> = (0..20).map(|at| query(at as f32, u64::from(at < 10))).collect();
/// let bins = report::reliability(&queries, &[], 10)?;
/// assert_eq!((bins.len(), bins[0].right, bins[1].right), (2, 0.0, 1.0));
/// assert!(bins[1].low > 0.6 && bins[1].high == 1.0);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
pub fn reliability(
    decoded: &[Decoded],
    groups: &[String],
    most: usize,
) -> Result<Vec<ReliabilityBin>, Error> {
    check_queries(decoded.len())?;
    ensure_allowed(most > 0, "0 bins of scores", "1 and above")?;
    let units = IndependentQueries::new(decoded.len(), groups)?;
    let mut unit_of: Vec<usize> = (0..decoded.len()).collect();
    if let IndependentQueries::Groups(groups) = &units {
        for (number, group) in groups.iter().enumerate() {
            group.iter().for_each(|&query| unit_of[query] = number);
        }
    }
    let first = |(query, decoded): (usize, &Decoded)| {
        let none = || Error::too_few(format!("query {query}: no hits"), 1);
        let score = f64::from(decoded.hits.first().ok_or_else(none)?.score);
        let right = decoded.rank.map_or(0.0, |rank| rank.expected_hit(1));
        Ok(FirstCandidate { score, right, unit: unit_of[query] })
    };
    let mut queries: Vec<FirstCandidate> =
        decoded.iter().enumerate().map(first).collect::<Result<_, Error>>()?;
    queries.sort_by(|a, b| a.score.total_cmp(&b.score));
    let count = (units.count() / LEAST).clamp(1, most);
    let has_enough = |queries: &[FirstCandidate]| {
        queries.iter().map(|query| query.unit).collect::<HashSet<usize>>().len() >= LEAST
    };
    let mut bins = Vec::with_capacity(count);
    let mut start = 0;
    for at in 1..count {
        let part = at * queries.len() / count;
        // within queries of one score that are in a bin already
        if part <= start {
            continue;
        }
        // the next change of the score
        let end = (part..queries.len()).find(|&end| queries[end].score != queries[end - 1].score);
        if let Some(end) =
            end.filter(|&end| has_enough(&queries[start..end]) && has_enough(&queries[end..]))
        {
            bins.push(bin(&queries[start..end]));
            start = end;
        }
    }
    bins.push(bin(&queries[start..]));
    Ok(bins)
}

/// The first candidate of a query.
struct FirstCandidate {
    score: f64,
    /// The share of it that is right.
    right: f64,
    /// The number of the query's group, or of the query where each is by itself.
    unit: usize,
}

/// Returns the bin of some queries, at least one, in ascending order of their scores.
fn bin(queries: &[FirstCandidate]) -> ReliabilityBin {
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    for query in queries {
        *sizes.entry(query.unit).or_default() += 1;
    }
    let units = sizes.len();
    let mean = |value_of: fn(&FirstCandidate) -> f64| {
        let share = |query: &FirstCandidate| value_of(query) / sizes[&query.unit] as f64;
        queries.iter().map(share).sum::<f64>() / units as f64
    };
    let mean_score = mean(|query| query.score);
    // rounding does not move the share out of its range
    let right = mean(|query| query.right).clamp(0.0, 1.0);
    let [low, high] = wilson_interval(right, units);
    ReliabilityBin {
        from: queries[0].score,
        to: queries[queries.len() - 1].score,
        mean_score,
        queries: queries.len(),
        groups: (units < queries.len()).then_some(units),
        right,
        low,
        high,
    }
}
