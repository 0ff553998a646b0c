//! The metrics of a model in the three pools of candidates that are published.

use std::collections::BTreeMap;

use dsokr_decode::{IndependentQueries, Pool, RANK_METRICS, RankMetric, resampled};
use serde::Serialize;

use super::{PredictedQueries, Run};
use crate::config::candidate_rule::CandidateRule;
use crate::error::Error;
use crate::metrics::evaluation::Evaluation;
use crate::metrics::metric::{RESAMPLES, interval_of};

/// How often the candidates of a sample are drawn.
const DRAWS: u64 = 10;

/// The metrics of ranks among the candidates of a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolMetrics {
    /// The rule, as `--candidates` takes it.
    pub candidates: String,
    /// The median number of candidates of a query.
    pub candidates_per_query: u64,
    /// How often candidates were drawn; metrics are means over the draws.
    pub draws: u64,
    /// The metrics of ranks, by name; none where [`Scores::has_ranks`](crate::Scores::has_ranks) is false.
    pub metrics: BTreeMap<&'static str, f64>,
    /// Their 95 % intervals, by a bootstrap over queries, or over groups of queries that belong together; without those that
    /// reach infinity, and those of metrics that candidates are too few to change, as Hits@10 of ten.
    pub intervals: BTreeMap<&'static str, [f64; 2]>,
}

impl Run {
    /// Returns the metrics of ranks of queries among all candidates; among the right outputs of all queries; and among the right
    /// output and `others` candidates that are drawn at random, as means over ten draws. Where ranks carry no information
    /// ([`Scores::has_ranks`](crate::Scores::has_ranks)), all metrics are left out, with a warning.
    ///
    /// # Errors
    /// Queries without right outputs among the candidates; fewer candidates than `others`; errors of the evaluation.
    pub fn pools(
        &self,
        queries: &PredictedQueries,
        others: usize,
    ) -> Result<Vec<PoolMetrics>, Error> {
        let all = self.pool_metrics(queries, &CandidateRule::All, 1)?;
        let of_queries = self.pool_metrics(queries, &CandidateRule::Queries, 1)?;
        let sample = CandidateRule::Sample { others, seed: 0 };
        let mut pools = vec![all, of_queries, self.pool_metrics(queries, &sample, DRAWS)?];
        if pools.iter().any(|pool| pool.metrics.is_empty()) {
            tracing::warn!(
                "metrics of ranks are left out: they say nothing where outputs are numbers or classes, where some label sets or \
                 rankings are equal, or where no right output is a candidate"
            );
            for pool in &mut pools {
                pool.metrics.clear();
                pool.intervals.clear();
            }
        }
        Ok(pools)
    }

    /// Returns the metrics among the candidates of a rule, as means over draws with the seeds 0, 1, and so on.
    fn pool_metrics(
        &self,
        queries: &PredictedQueries,
        rule: &CandidateRule,
        draws: u64,
    ) -> Result<PoolMetrics, Error> {
        let candidates = &self.members()[0].candidates;
        let polarity = self.members()[0].polarities.assumed();
        let mut models = self.models(&queries.processes);
        models.missing_gold = queries.missing_gold;
        // ranks alone are wanted
        models.search = None;
        models.label_scores = false;
        models.chance = false;
        let mut evaluations = Vec::new();
        let mut size = 0;
        for seed in 0..draws {
            let lists =
                rule.with_seed(seed).lists(queries.split(), candidates, &self.masses, polarity)?;
            let pool = lists.as_ref().map_or(Pool::Shared, Pool::PerQuery);
            let (evaluation, _) = models.evaluate(queries.split(), &queries.predictions, pool)?;
            let metrics = &evaluation.scores.ranks;
            let sizes = metrics.candidates_per_query;
            size = sizes.map_or(metrics.candidates as u64, |sizes| sizes.median);
            evaluations.push(evaluation);
        }
        let mut metrics = BTreeMap::new();
        let mut intervals = BTreeMap::new();
        let seed = self.config().seed;
        let groups = queries.groups();
        let units = IndependentQueries::new(queries.split().ids.len(), &groups)?;
        let has_ranks = evaluations.iter().all(|evaluation| evaluation.scores.has_ranks());
        for metric in RANK_METRICS.iter().filter(|_| has_ranks) {
            let drawn = Drawn::new(metric, &evaluations);
            let all: Vec<usize> = (0..queries.split().ids.len()).collect();
            let value = drawn.mean(&all);
            metrics.insert(metric.name, value);
            let resampled = resampled(all.len(), &groups, RESAMPLES, seed, |queries| {
                drawn.mean(&queries.collect::<Vec<usize>>())
            })?;
            let interval = interval_of(value, metric.is_share, units.count(), resampled);
            let varies = evaluations.iter().any(|evaluation| !metric.is_fixed(&evaluation.ranks));
            if let Some(interval) = interval.filter(|_| units.have_intervals() && varies) {
                intervals.insert(metric.name, interval);
            }
        }
        Ok(PoolMetrics {
            candidates: rule.to_string(),
            candidates_per_query: size,
            draws,
            metrics,
            intervals,
        })
    }
}

/// A metric of ranks of the same queries in several draws of their candidates.
struct Drawn<'a> {
    metric: &'a RankMetric,
    /// The value of each query in each draw.
    values: Vec<Vec<f64>>,
}

impl<'a> Drawn<'a> {
    fn new(metric: &'a RankMetric, evaluations: &[Evaluation]) -> Self {
        let of_draw = |evaluation: &Evaluation| {
            evaluation.ranks.iter().map(|rank| metric.of(rank.as_ref())).collect()
        };
        Self { metric, values: evaluations.iter().map(of_draw).collect() }
    }

    /// Returns the metric of some queries, as the mean over the draws.
    fn mean(&self, queries: &[usize]) -> f64 {
        let of_draw = |values: &Vec<f64>| {
            self.metric.summarise(queries.iter().map(|&query| values[query]).collect())
        };
        self.values.iter().map(of_draw).sum::<f64>() / self.values.len() as f64
    }
}
