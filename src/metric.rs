//! The figures that a configuration can choose by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MoleculeScores, OutputScores, Scores};

/// A figure of the validation split; it says itself whether larger is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Metric {
    /// Mean reciprocal rank, larger is better.
    #[serde(rename = "mrr")]
    Mrr,
    /// Share of queries whose gold is first, larger is better.
    #[serde(rename = "hits@1")]
    HitsAt1,
    /// Share with the gold among the first five, larger is better.
    #[serde(rename = "hits@5")]
    HitsAt5,
    /// Share with the gold among the first ten, larger is better.
    #[serde(rename = "hits@10")]
    HitsAt10,
    /// Mean rank, smaller is better.
    #[serde(rename = "mean_rank")]
    MeanRank,
    /// Median rank, smaller is better.
    #[serde(rename = "median_rank")]
    MedianRank,
    /// Mean graph edit distance of predicted molecules, smaller is better.
    #[serde(rename = "ged")]
    Ged,
    /// The same with bonds compared, smaller is better.
    #[serde(rename = "ged_bonds")]
    GedBonds,
    /// Mean F1 of predicted label sets, larger is better.
    #[serde(rename = "f1")]
    F1,
    /// Mean squared distance of answers from the outputs in the kernel's feature space, smaller is
    /// better.
    #[serde(rename = "squared_error")]
    SquaredError,
    /// Mean pinball loss of predicted quantiles, smaller is better.
    #[serde(rename = "pinball")]
    Pinball,
}

impl Metric {
    /// Whether a query without gold makes it infinite.
    pub fn is_a_rank(self) -> bool {
        matches!(self, Self::MeanRank | Self::MedianRank)
    }

    /// Whether a larger figure is a better one.
    pub fn larger_is_better(self) -> bool {
        matches!(self, Self::Mrr | Self::HitsAt1 | Self::HitsAt5 | Self::HitsAt10 | Self::F1)
    }

    /// The figure.
    pub fn value(self, metrics: &Scores) -> f64 {
        let score = self.score(metrics);
        if self.larger_is_better() { score } else { -score }
    }

    /// Whether it is an edit distance of molecules.
    pub fn is_a_distance(self) -> bool {
        matches!(self, Self::Ged | Self::GedBonds)
    }

    /// The figure, negated where smaller is better, so that larger always is.
    pub fn score(self, metrics: &Scores) -> f64 {
        let molecules = |distance: fn(&MoleculeScores) -> f64| match &metrics.outputs {
            Some(OutputScores::Molecules(found)) => -distance(found),
            _ => f64::NEG_INFINITY,
        };
        match self {
            Self::Mrr => metrics.mrr,
            Self::HitsAt1 => metrics.hits_1,
            Self::HitsAt5 => metrics.hits_5,
            Self::HitsAt10 => metrics.hits_10,
            Self::MeanRank => -metrics.mean_rank.unwrap_or(f64::INFINITY),
            Self::MedianRank => -metrics.median_rank.unwrap_or(f64::INFINITY),
            Self::Ged => molecules(|scores| scores.ged),
            Self::GedBonds => molecules(|scores| scores.ged_bonds),
            Self::F1 => match &metrics.outputs {
                Some(OutputScores::Labels(found)) => found.f1,
                _ => f64::NEG_INFINITY,
            },
            Self::SquaredError => -metrics.squared_error.unwrap_or(f64::INFINITY),
            Self::Pinball => -metrics.quantiles.as_ref().map_or(f64::INFINITY, |q| q.pinball),
        }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Mrr => "mrr",
            Self::HitsAt1 => "hits@1",
            Self::HitsAt5 => "hits@5",
            Self::HitsAt10 => "hits@10",
            Self::MeanRank => "mean_rank",
            Self::MedianRank => "median_rank",
            Self::Ged => "ged",
            Self::GedBonds => "ged_bonds",
            Self::F1 => "f1",
            Self::SquaredError => "squared_error",
            Self::Pinball => "pinball",
        })
    }
}
