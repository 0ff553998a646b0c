//! The metrics of ranks, and of sets of labels.

use std::collections::HashMap;

use dsokr_basis::features::BitRows;
use dsokr_core::Error;
use serde::{Deserialize, Serialize};

use crate::error::check_queries;
use crate::rank::Rank;
use crate::rank_metrics::{MRR, RankMetric, RankValues};

/// Metrics of n queries, ties averaged.
///
/// Serialised under the keys `queries`, `candidates`, the names of [`RANK_METRICS`](crate::RANK_METRICS) (`mrr`,
/// `hits@1`, …), `tied_queries`, `duplicate_candidates`, `missing_gold`, where queries have candidates of their own
/// `candidates_per_query`, and where it is known `mrr_ci95`.
///
/// ```
/// use dsokr_decode::{Metrics, Rank};
///
/// let ranks = [Some(Rank::new(0, 1, 10)?), Some(Rank::new(1, 2, 10)?)];
/// let metrics = Metrics::from_ranks(&ranks, 10, 3)?;
/// assert_eq!(metrics.mrr(), (1.0 + (1.0 / 2.0 + 1.0 / 3.0) / 2.0) / 2.0);
/// assert_eq!(metrics.value("hits@1"), Some(0.5));
/// assert_eq!(metrics.value("hits@5"), Some(1.0));
/// assert_eq!(metrics.value("mean_rank"), Some((1.0 + 2.5) / 2.0));
/// assert_eq!(metrics.tied_queries, 1);
/// # Ok::<(), dsokr_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Number of queries n.
    pub queries: usize,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// The metrics of ranks.
    #[serde(flatten)]
    pub of_ranks: RankValues,
    /// Queries whose gold candidate ties with a different one.
    pub tied_queries: usize,
    /// Candidates that are the same point as an earlier one.
    pub duplicate_candidates: usize,
    /// Queries whose gold candidate is not among their candidates, counted with rank ∞.
    pub missing_gold: usize,
    /// How many candidates a query has; none where every query has all of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidates_per_query: Option<PoolSizes>,
    /// 95 % confidence interval of `mrr`, low and high, from a bootstrap over queries.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mrr_ci95: Option<[f64; 2]>,
}

/// Numbers of candidates that queries are ranked against, those whose gold candidate is missing left
/// out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSizes {
    /// The smallest number.
    pub least: u64,
    /// The median; of an even number of queries the upper one.
    pub median: u64,
    /// The largest number.
    pub most: u64,
}

impl PoolSizes {
    /// Returns the numbers of candidates that ranks have; none where every query has all `candidates`.
    fn from_ranks(ranks: &[Option<Rank>], candidates: usize) -> Option<Self> {
        let mut sizes: Vec<u64> = ranks.iter().flatten().map(Rank::pool).collect();
        if sizes.iter().all(|&size| size == candidates as u64) {
            return None;
        }
        sizes.sort_unstable();
        Some(Self { least: sizes[0], median: sizes[sizes.len() / 2], most: sizes[sizes.len() - 1] })
    }
}

impl Metrics {
    /// Creates metrics of ranks; `None` is rank ∞.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no queries.
    pub fn from_ranks(
        ranks: &[Option<Rank>],
        candidates: usize,
        duplicate_candidates: usize,
    ) -> Result<Self, Error> {
        check_queries(ranks.len())?;
        Ok(Self {
            queries: ranks.len(),
            candidates,
            of_ranks: RankValues::from_ranks(ranks),
            tied_queries: ranks.iter().flatten().filter(|rank| rank.tied() > 1).count(),
            duplicate_candidates,
            missing_gold: ranks.iter().filter(|rank| rank.is_none()).count(),
            candidates_per_query: PoolSizes::from_ranks(ranks, candidates),
            mrr_ci95: None,
        })
    }

    /// Returns a metric of ranks by its name; none where it is infinite, or there is none of this name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.of_ranks.get(name)
    }

    /// Returns the mean reciprocal rank, `(1/n) Σ E[1/rank]`, between 0 and 1; 0 of no ranks.
    pub fn mrr(&self) -> f64 {
        self.value(MRR).unwrap_or_default()
    }

    /// Creates the expected metrics of a uniformly random order of the candidates of each query.
    ///
    /// For c candidates: `mrr = H_c / c` with the harmonic number `H_c`, `hits@K = min(K/c, 1)`, mean and median rank
    /// `(c + 1) / 2`; averaged over queries where each has its own candidates. The size of each query's pool is taken
    /// from the ranks; a missing gold candidate stays missing. A random order has no ties.
    ///
    /// `right` is the number of right candidates of each query, of which the first one counts and the others are not in
    /// its pool, as in [`GoldOutputs`](crate::GoldOutputs); none where each query has one. With m right ones and w others
    /// `hits@1 = m / (m + w)`, and the mean rank is `1 + w / (m + 1)`.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no queries; [`Error::Shape`] for another number of `right` than of ranks.
    pub fn chance(
        ranks: &[Option<Rank>],
        right: &[u64],
        candidates: usize,
        duplicate_candidates: usize,
    ) -> Result<Self, Error> {
        if !right.is_empty() {
            Error::check_length("numbers of right candidates", right.len(), ranks.len())?;
        }
        let metrics = Self::from_ranks(ranks, candidates, duplicate_candidates)?;
        let order = |(query, rank): (usize, &Option<Rank>)| {
            let right = right.get(query).copied().unwrap_or(1);
            rank.map(|rank| RandomOrder { right, pool: rank.pool() })
        };
        let orders: Vec<Option<RandomOrder>> = ranks.iter().enumerate().map(order).collect();
        let of_ranks = RankValues::from_values(|metric| {
            // most queries have the same numbers of candidates
            let mut known: HashMap<RandomOrder, f64> = HashMap::new();
            let value = |order: &Option<RandomOrder>| {
                let Some(order) = order else { return Ok(metric.missing) };
                if let Some(&value) = known.get(order) {
                    return Ok(value);
                }
                let value = order.value_of(metric)?;
                known.insert(*order, value);
                Ok(value)
            };
            orders.iter().map(value).collect()
        })?;
        Ok(Self { of_ranks, tied_queries: 0, ..metrics })
    }
}

/// A uniformly random order of the candidates of a query, in which the first right one counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RandomOrder {
    /// The number of right candidates, m ≥ 1.
    right: u64,
    /// The number of candidates without the other right ones, c − m + 1.
    pool: u64,
}

impl RandomOrder {
    /// Computes the expected value of a metric.
    ///
    /// The first right one of c candidates is behind j others with probability `m / (c − j) · Π_{i<j} (1 − m / (c − i))`.
    fn value_of(&self, metric: &RankMetric) -> Result<f64, Error> {
        let &Self { right, pool } = self;
        if right <= 1 {
            return Ok(metric.of(Some(&Rank::new(0, pool, pool)?)));
        }
        let mut value = 0.0;
        // the probability that the first j candidates are wrong
        let mut all_wrong = 1.0;
        for above in 0..pool {
            let left = (pool - 1 - above + right) as f64;
            let is_right = right as f64 / left;
            value += all_wrong * is_right * metric.of(Some(&Rank::new(above, 1, pool)?));
            all_wrong *= 1.0 - is_right;
        }
        Ok(value)
    }
}

/// How well label sets were predicted.
///
/// With t true labels, q predicted ones and c common ones, `F1 = 2c / (t + q)`, and 1 where both sets
/// are empty, as scikit-learn defines it with `zero_division=1`. Labels that are in no set are left out.
///
/// ```
/// use dsokr_basis::features::BitRows;
/// use dsokr_decode::MultiLabelMetrics;
///
/// let truth = BitRows::from_indices(3, [vec![0, 1], vec![2]])?;
/// let predicted = BitRows::from_indices(3, [vec![0], vec![2]])?;
/// let metrics = MultiLabelMetrics::from_sets(&truth, &predicted)?;
/// assert_eq!(metrics.f1, (2.0 / 3.0 + 1.0) / 2.0);
/// assert_eq!(metrics.micro_f1, 4.0 / 5.0);
/// assert_eq!((metrics.labels, metrics.macro_f1), (3, (1.0 + 0.0 + 1.0) / 3.0));
/// assert_eq!(metrics.hamming_loss, 1.0 / 6.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MultiLabelMetrics {
    /// Number of rows.
    pub rows: usize,
    /// Number of labels that are in a true or a predicted set.
    pub labels: usize,
    /// Mean over rows of the F1 of a row's label sets.
    pub f1: f64,
    /// F1 of all (row, label) pairs together.
    pub micro_f1: f64,
    /// Mean, over the labels that are in a true or a predicted set, of the F1 of a label; 1 where there are none.
    pub macro_f1: f64,
    /// Share of (row, label) pairs that differ, of all columns.
    pub hamming_loss: f64,
}

impl MultiLabelMetrics {
    /// Compares predicted with true label sets.
    ///
    /// # Errors
    /// [`Error::TooFew`] for no rows; [`Error::Shape`] for different numbers of rows or labels.
    pub fn from_sets(truth: &BitRows, predicted: &BitRows) -> Result<Self, Error> {
        Error::check_length("predicted label sets", predicted.len(), truth.len())?;
        Error::check_length("predicted labels", predicted.width(), truth.width())?;
        check_queries(truth.len())?;
        let rows = truth.len();
        let columns = truth.width();
        let mut by_label = vec![(0u64, 0u64); columns];
        let mut sum_of_f1 = 0.0;
        let mut all_common = 0;
        let mut all_sizes = 0;
        for row in 0..rows {
            let mut common = 0;
            // the sizes of both sets: a label in both counts twice
            let mut sizes = 0;
            for label in truth.ones(row).chain(predicted.ones(row)) {
                by_label[label].1 += 1;
                sizes += 1;
            }
            let is_found = |label: &usize| predicted.row(row)[label / 64] >> (label % 64) & 1 == 1;
            for label in truth.ones(row).filter(is_found) {
                by_label[label].0 += 1;
                common += 1;
            }
            sum_of_f1 += f1(common, sizes);
            all_common += common;
            all_sizes += sizes;
        }
        by_label.retain(|&(_, sizes)| sizes > 0);
        let labels = by_label.len();
        let macro_f1: f64 = by_label.into_iter().map(|(common, sizes)| f1(common, sizes)).sum();
        Ok(Self {
            rows,
            labels,
            f1: sum_of_f1 / rows as f64,
            micro_f1: f1(all_common, all_sizes),
            macro_f1: if labels == 0 { 1.0 } else { macro_f1 / labels as f64 },
            hamming_loss: (all_sizes - 2 * all_common) as f64 / (rows as f64 * columns as f64),
        })
    }
}

/// Returns the F1 of two sets, `2c / (t + q)` of c common elements, where `sizes` is the sum t + q of both sizes; 1 for two
/// empty sets.
///
/// ```
/// use dsokr_decode::f1;
///
/// assert_eq!(f1(1, 4), 0.5);
/// assert_eq!(f1(0, 0), 1.0);
/// ```
pub fn f1(common: u64, sizes: u64) -> f64 {
    if sizes == 0 { 1.0 } else { 2.0 * common as f64 / sizes as f64 }
}
