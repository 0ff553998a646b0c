use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::error::check_len;
use crate::{Candidates, Decoded, Error, Rank};

/// How one query was decoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryRow {
    /// Id of the query.
    pub query: String,
    /// Id of its gold candidate.
    pub gold: String,
    /// `E[rank]` of the gold candidate from 1, ties averaged; none where it is missing.
    pub rank: Option<f64>,
    /// Other candidates that tie with the gold one.
    pub ties: u64,
    /// `E[1/rank]`; 0 where the gold candidate is missing.
    pub reciprocal: f64,
    /// Id of the candidate that was ranked first, the first of those that tie.
    pub first: String,
    /// Its label.
    pub first_label: String,
    /// Its score.
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
        "ties",
        "reciprocal",
        "first",
        "first_label",
        "first_score",
        "gold_score",
    ];

    /// The row as texts, for a table; empty where there is nothing. Ids and labels are as they are,
    /// numbers are written so that reading them gives the same number.
    pub fn cells(&self) -> [String; 9] {
        let some = |value: Option<String>| value.unwrap_or_default();
        [
            self.query.clone(),
            self.gold.clone(),
            some(self.rank.map(|rank| rank.to_string())),
            self.ties.to_string(),
            self.reciprocal.to_string(),
            self.first.clone(),
            self.first_label.clone(),
            self.first_score.to_string(),
            some(self.gold_score.map(|score| score.to_string())),
        ]
    }
}

/// A row for each decoded query, in their order.
///
/// `decoded` is from [`Ensemble::decode`](crate::Ensemble::decode) with k ≥ 1 (an ensemble of one
/// member for one model), `candidates` are those of the ensemble.
///
/// # Errors
/// [`Error::Length`] unless there is one id and one gold id a query; [`Error::TooFew`] for a query
/// without hits; [`Error::OutOfRange`] for a hit that is not a candidate.
pub fn query_rows(
    queries: &[String],
    gold: &[String],
    decoded: &[Decoded],
    candidates: &Candidates,
) -> Result<Vec<QueryRow>, Error> {
    check_len("query ids", queries.len(), decoded.len())?;
    check_len("gold ids", gold.len(), decoded.len())?;
    let row = |((query, gold), decoded): ((&String, &String), &Decoded)| {
        let none = || Error::too_few(format!("query {query:?}: no hits"), 1);
        let first = decoded.hits.first().ok_or_else(none)?;
        if first.candidate >= candidates.len() {
            return Err(Error::out_of_range(
                format!("query {query:?}: candidate {}", first.candidate),
                format!("0..{}, the candidates", candidates.len()),
            ));
        }
        Ok(QueryRow {
            query: query.clone(),
            gold: gold.clone(),
            rank: decoded.rank.map(|rank| rank.expected_rank()),
            ties: decoded.rank.map_or(0, |rank| rank.tied() - 1),
            reciprocal: decoded.rank.map_or(0.0, |rank| rank.expected_reciprocal()),
            first: candidates.id(first.candidate).to_owned(),
            first_label: candidates.label(first.candidate).to_owned(),
            first_score: first.score,
            gold_score: decoded.gold_score,
        })
    };
    queries.iter().zip(gold).zip(decoded).map(row).collect()
}

/// Positions of the `count` queries with the largest `E[rank]`, or of all if there are fewer; worst
/// first, missing gold candidates before all others, equal ones in their order.
pub fn worst(ranks: &[Option<Rank>], count: usize) -> Vec<usize> {
    let rank = |&query: &usize| ranks[query].map_or(f64::INFINITY, |rank| rank.expected_rank());
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(Ordering::Equal));
    order.truncate(count);
    order
}
