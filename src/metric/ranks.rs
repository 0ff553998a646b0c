//! Metrics of the ranks of gold candidates.

use dsokr_decode::Rank;

use super::{Definition, Needs, Samples};
use crate::{Evaluation, Scores};

pub(super) const MRR: Definition = larger(
    ["mrr", "MRR"],
    "Mean reciprocal rank, larger is better.",
    |scores| Some(scores.mrr),
    |evaluation| mean(evaluation, 0.0, Rank::expected_reciprocal),
);

pub(super) const HITS_AT_1: Definition = larger(
    ["hits@1", "Hits@1"],
    "Share of queries whose gold is first, larger is better.",
    |scores| Some(scores.hits_1),
    |evaluation| mean(evaluation, 0.0, |rank| rank.expected_hit(1)),
);

pub(super) const HITS_AT_5: Definition = larger(
    ["hits@5", "Hits@5"],
    "Share with the gold among the first five, larger is better.",
    |scores| Some(scores.hits_5),
    |evaluation| mean(evaluation, 0.0, |rank| rank.expected_hit(5)),
);

pub(super) const HITS_AT_10: Definition = larger(
    ["hits@10", "Hits@10"],
    "Share with the gold among the first ten, larger is better.",
    |scores| Some(scores.hits_10),
    |evaluation| mean(evaluation, 0.0, |rank| rank.expected_hit(10)),
);

pub(super) const MEAN_RANK: Definition = smaller(
    ["mean_rank", "mean rank"],
    "Mean rank, smaller is better.",
    |scores| scores.mean_rank,
    |evaluation| mean(evaluation, f64::INFINITY, Rank::expected_rank),
);

pub(super) const MEDIAN_RANK: Definition = smaller(
    ["median_rank", "median rank"],
    "Median rank, smaller is better.",
    |scores| scores.median_rank,
    |evaluation| Some(Samples::Median(values(evaluation, f64::INFINITY, Rank::expected_rank))),
);

/// A value of the rank of each query, `missing` where the gold is no candidate.
fn values(evaluation: &Evaluation, missing: f64, value: impl Fn(&Rank) -> f64) -> Vec<f64> {
    evaluation.ranks.iter().map(|rank| rank.as_ref().map_or(missing, &value)).collect()
}

fn mean(evaluation: &Evaluation, missing: f64, value: impl Fn(&Rank) -> f64) -> Option<Samples> {
    Some(Samples::Mean(values(evaluation, missing, value)))
}

const fn larger(
    [name, title]: [&'static str; 2],
    meaning: &'static str,
    value: fn(&Scores) -> Option<f64>,
    samples: fn(&Evaluation) -> Option<Samples>,
) -> Definition {
    Definition { name, title, meaning, larger_is_better: true, needs: Needs::Ranks, value, samples }
}

const fn smaller(
    [name, title]: [&'static str; 2],
    meaning: &'static str,
    value: fn(&Scores) -> Option<f64>,
    samples: fn(&Evaluation) -> Option<Samples>,
) -> Definition {
    let needs = Needs::FiniteRanks;
    Definition { name, title, meaning, larger_is_better: false, needs, value, samples }
}
