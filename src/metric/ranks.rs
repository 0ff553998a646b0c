//! Figures of the ranks of gold candidates.

use super::{Definition, Needs};
use crate::Scores;

pub(super) const MRR: Definition =
    larger("mrr", "Mean reciprocal rank, larger is better.", |scores| Some(scores.mrr));

pub(super) const HITS_AT_1: Definition =
    larger("hits@1", "Share of queries whose gold is first, larger is better.", |scores| {
        Some(scores.hits_1)
    });

pub(super) const HITS_AT_5: Definition =
    larger("hits@5", "Share with the gold among the first five, larger is better.", |scores| {
        Some(scores.hits_5)
    });

pub(super) const HITS_AT_10: Definition =
    larger("hits@10", "Share with the gold among the first ten, larger is better.", |scores| {
        Some(scores.hits_10)
    });

pub(super) const MEAN_RANK: Definition =
    smaller("mean_rank", "Mean rank, smaller is better.", |scores| scores.mean_rank);

pub(super) const MEDIAN_RANK: Definition =
    smaller("median_rank", "Median rank, smaller is better.", |scores| scores.median_rank);

const fn larger(
    name: &'static str,
    meaning: &'static str,
    value: fn(&Scores) -> Option<f64>,
) -> Definition {
    Definition { name, meaning, larger_is_better: true, needs: Needs::Ranks, value }
}

const fn smaller(
    name: &'static str,
    meaning: &'static str,
    value: fn(&Scores) -> Option<f64>,
) -> Definition {
    Definition { name, meaning, larger_is_better: false, needs: Needs::FiniteRanks, value }
}
