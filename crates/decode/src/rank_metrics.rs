//! The metrics of ranks: one list, from which every report takes them.

use std::collections::BTreeMap;

use dsokr_core::Error;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::rank::Rank;

/// A metric of ranks: a summary of a value that each rank has.
#[derive(Debug)]
pub struct RankMetric {
    /// The name in configurations and reports.
    pub name: &'static str,
    /// The name in figures and texts.
    pub title: &'static str,
    /// The definition of the metric.
    pub meaning: &'static str,
    /// Whether a larger figure is a better one.
    pub larger_is_better: bool,
    /// The value of a rank.
    pub value: fn(&Rank) -> f64,
    /// The value of a query whose gold candidate is missing, which counts as rank ∞.
    pub missing: f64,
    /// How the values of all queries become one.
    pub summary: RankSummary,
    /// Whether the value of a query is 0 or 1, but for ties: the metric is a share of the queries.
    pub is_share: bool,
    /// Decimal places in tables.
    pub places: usize,
    /// Whether tables of metrics for people have it.
    pub in_tables: bool,
}

/// How the values of queries become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankSummary {
    /// The mean over queries.
    Mean,
    /// The median over queries, the mean of the two in the middle for an even number.
    Median,
}

/// All metrics of ranks, in the order of reports; the first is [`MRR`].
///
/// An entry is all that a new one needs: JSON, tables, comparisons, TensorBoard, the server and Python take them from
/// here.
pub static RANK_METRICS: [RankMetric; 7] = [
    RankMetric {
        name: MRR,
        title: "MRR",
        meaning: "Mean reciprocal rank",
        value: Rank::expected_reciprocal,
        ..MEAN
    },
    RankMetric {
        name: "hits@1",
        title: "Hits@1",
        meaning: "Share of queries whose gold is first",
        value: |rank| rank.expected_hit(1),
        ..SHARE
    },
    RankMetric {
        name: "hits@5",
        title: "Hits@5",
        meaning: "Share with the gold among the first five",
        value: |rank| rank.expected_hit(5),
        ..SHARE
    },
    RankMetric {
        name: "hits@10",
        title: "Hits@10",
        meaning: "Share with the gold among the first ten",
        value: |rank| rank.expected_hit(10),
        ..SHARE
    },
    RankMetric {
        name: "hits@20",
        title: "Hits@20",
        meaning: "Share with the gold among the first twenty",
        value: |rank| rank.expected_hit(20),
        in_tables: false,
        ..SHARE
    },
    RankMetric { name: "mean_rank", title: "mean rank", meaning: "Mean rank", ..RANK },
    RankMetric {
        name: "median_rank",
        title: "median rank",
        meaning: "Median rank",
        summary: RankSummary::Median,
        ..RANK
    },
];

/// The name of the mean reciprocal rank.
pub const MRR: &str = "mrr";

/// A mean over queries of values that are larger for better ranks, and 0 where a gold candidate is missing.
const MEAN: RankMetric = RankMetric {
    name: "",
    title: "",
    meaning: "",
    larger_is_better: true,
    value: Rank::expected_reciprocal,
    missing: 0.0,
    summary: RankSummary::Mean,
    is_share: false,
    places: 4,
    in_tables: true,
};

/// A share of queries.
const SHARE: RankMetric = RankMetric { is_share: true, ..MEAN };

/// A mean of ranks, which is infinite where a gold candidate is missing.
const RANK: RankMetric = RankMetric {
    larger_is_better: false,
    value: Rank::expected_rank,
    missing: f64::INFINITY,
    places: 1,
    ..MEAN
};

impl RankMetric {
    /// Returns the value of a query.
    pub fn of(&self, rank: Option<&Rank>) -> f64 {
        rank.map_or(self.missing, self.value)
    }

    /// Returns the least and the largest value that the metric may have: of a gold candidate that is missing, and of one that
    /// is first.
    pub fn range(&self) -> [f64; 2] {
        let first = self.of(Rank::new(0, 1, 1).ok().as_ref());
        [first.min(self.missing), first.max(self.missing)]
    }

    /// Returns whether the metric of these ranks is the same wherever the gold candidates are among the others, as Hits@10 is 1
    /// of at most ten candidates.
    pub fn is_fixed(&self, ranks: &[Option<Rank>]) -> bool {
        let is_fixed_in = |pool: u64| {
            let value_below =
                |above: u64| Rank::new(above, 1, pool).ok().map(|rank| self.of(Some(&rank)));
            value_below(0) == value_below(pool - 1)
        };
        ranks.iter().all(|rank| rank.is_some_and(|rank| is_fixed_in(rank.pool())))
    }

    /// Returns the metric of values of queries, at least one.
    pub fn summarise(&self, mut values: Vec<f64>) -> f64 {
        match self.summary {
            // an empty sum of f64 is −0
            RankSummary::Mean => (0.0 + values.iter().sum::<f64>()) / values.len() as f64,
            RankSummary::Median => {
                let count = values.len();
                let mut at = |place: usize| *values.select_nth_unstable_by(place, f64::total_cmp).1;
                (at((count - 1) / 2) + at(count / 2)) / 2.0
            }
        }
    }

    /// Returns the metric of ranks, of at least one query; none where it is infinite.
    pub fn of_ranks(&self, ranks: &[Option<Rank>]) -> Option<f64> {
        self.finite(ranks.iter().map(|rank| self.of(rank.as_ref())).collect())
    }

    /// Returns the metric of values of queries, at least one; none where it is infinite.
    fn finite(&self, values: Vec<f64>) -> Option<f64> {
        Some(self.summarise(values)).filter(|value| value.is_finite())
    }
}

/// The values of [`RANK_METRICS`] by name, in their order; none of a metric that is infinite or that a report lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct RankValues([Option<f64>; RANK_METRICS.len()]);

impl Default for RankValues {
    fn default() -> Self {
        Self([None; RANK_METRICS.len()])
    }
}

impl RankValues {
    /// Creates the metrics of ranks, of at least one query.
    pub fn from_ranks(ranks: &[Option<Rank>]) -> Self {
        Self(RANK_METRICS.each_ref().map(|metric| metric.of_ranks(ranks)))
    }

    /// Creates the metrics of the values that `values` gives for each query, of at least one.
    ///
    /// # Errors
    /// The errors of `values`.
    pub(crate) fn from_values(
        mut values: impl FnMut(&RankMetric) -> Result<Vec<f64>, Error>,
    ) -> Result<Self, Error> {
        let mut metrics = Self::default();
        for (metric, value) in RANK_METRICS.iter().zip(&mut metrics.0) {
            *value = metric.finite(values(metric)?);
        }
        Ok(metrics)
    }

    /// Returns every metric with its value.
    pub fn iter(&self) -> impl Iterator<Item = (&'static RankMetric, Option<f64>)> {
        RANK_METRICS.iter().zip(self.0)
    }

    /// Returns the value of a metric by its name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.iter().find(|(metric, _)| metric.name == name).and_then(|(_, value)| value)
    }
}

impl Serialize for RankValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (metric, value) in self.iter() {
            // an infinite one is null, one that the report lacks is absent
            if value.is_some() || metric.missing.is_infinite() {
                map.serialize_entry(metric.name, &value)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RankValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // with other fields of the report
        let mut fields = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut values = Self::default();
        for (metric, value) in RANK_METRICS.iter().zip(&mut values.0) {
            if let Some(field) = fields.remove(metric.name) {
                *value = Option::deserialize(field).map_err(D::Error::custom)?;
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direction_range_and_share_of_each_metric_are_those_of_its_values() {
        let values = |metric: &RankMetric| -> Vec<f64> {
            let ranks = (0..100).map(|above| Rank::new(above, 1, 100).ok());
            ranks.chain([None]).map(|rank| metric.of(rank.as_ref())).collect()
        };
        for metric in &RANK_METRICS {
            let values = values(metric);
            let is_no_better = |pair: &[f64]| {
                if metric.larger_is_better { pair[1] <= pair[0] } else { pair[1] >= pair[0] }
            };
            assert!(values.windows(2).all(is_no_better), "{}: {values:?}", metric.name);
            let [least, most] = metric.range();
            let is_within = |value: &f64| (least..=most).contains(value);
            assert!(
                least < most && values.iter().all(is_within),
                "{}: {least} {most}",
                metric.name
            );
            let are_shares = values.iter().all(|&value| value == 0.0 || value == 1.0);
            assert_eq!(metric.is_share, are_shares, "{}", metric.name);
        }
    }
}
