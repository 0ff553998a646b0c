//! Evaluations as they are stored and sent to other processes.

use std::collections::BTreeMap;

use dsokr_data::{LabelSet, Truth};
use dsokr_decode::Rank;
use serde::{Deserialize, Serialize};

use crate::metrics::areas::ScoredLabels;
use crate::metrics::evaluation::{EvaluatedPool, Evaluation};
use crate::metrics::metric::Metric;
use crate::metrics::scores::{OutputFacts, Scores};

/// What the metrics of an evaluation, their intervals and comparisons read: everything but the outputs that only
/// reports and figures show.
#[derive(Clone, derive_more::Debug, Serialize, Deserialize)]
#[debug("StoredEvaluation({} queries)", ranks.len())]
pub struct StoredEvaluation {
    scores: Scores,
    ranks: Vec<Option<Rank>>,
    golds: Vec<String>,
    right: Vec<u64>,
    /// The true and the predicted sets of labels, from which the intervals of F1 are drawn.
    labels: Option<[Vec<Vec<String>>; 2]>,
    /// The true and the predicted numbers.
    numbers: Option<[Vec<Vec<f64>>; 2]>,
    /// The true and the predicted classes.
    classes: Option<[Vec<String>; 2]>,
    facts: OutputFacts,
    /// The scores of labels or classes, of which areas under curves are computed.
    scored: Option<ScoredLabels>,
    queries: BTreeMap<String, Vec<f64>>,
    pool: Option<EvaluatedPool>,
    /// The group of each query; empty where all are independent.
    groups: Vec<String>,
}

impl From<&Evaluation> for StoredEvaluation {
    fn from(evaluation: &Evaluation) -> Self {
        let Evaluation {
            scores,
            ranks,
            golds,
            right,
            outputs,
            facts,
            scored,
            queries,
            pool,
            groups,
            ..
        } = evaluation;
        let labels = match outputs {
            Some((Truth::Labels(truth), Truth::Labels(predicted))) => {
                let sets = |sets: &[LabelSet]| sets.iter().map(|set| set.to_vec()).collect();
                Some([sets(truth), sets(predicted)])
            }
            Some(_) | None => None,
        };
        let numbers = match outputs {
            Some((Truth::Numbers(truth), Truth::Numbers(predicted))) => {
                Some([truth.clone(), predicted.clone()])
            }
            Some(_) | None => None,
        };
        let classes = match outputs {
            Some((Truth::Classes(truth), Truth::Classes(predicted))) => {
                Some([truth.clone(), predicted.clone()])
            }
            Some(_) | None => None,
        };
        let queries = queries.iter().map(|(&name, values)| (name.to_owned(), values.clone()));
        Self {
            scores: scores.clone(),
            ranks: ranks.clone(),
            golds: golds.clone(),
            right: right.clone(),
            labels,
            numbers,
            classes,
            facts: facts.clone(),
            scored: scored.clone(),
            queries: queries.collect(),
            pool: pool.clone(),
            groups: groups.clone(),
        }
    }
}

impl From<StoredEvaluation> for Evaluation {
    /// Reads an evaluation, without the values of metrics that this version does not have.
    fn from(stored: StoredEvaluation) -> Self {
        let StoredEvaluation {
            scores,
            ranks,
            golds,
            right,
            labels,
            numbers,
            classes,
            facts,
            scored,
            queries,
            pool,
            groups,
        } = stored;
        let sets =
            |sets: Vec<Vec<String>>| Truth::Labels(sets.into_iter().map(LabelSet::from).collect());
        let labels = labels.map(|[truth, predicted]| (sets(truth), sets(predicted)));
        let numbers =
            numbers.map(|[truth, predicted]| (Truth::Numbers(truth), Truth::Numbers(predicted)));
        let classes =
            classes.map(|[truth, predicted]| (Truth::Classes(truth), Truth::Classes(predicted)));
        let outputs = labels.or(numbers).or(classes);
        let queries = queries.into_iter();
        let queries =
            queries.filter_map(|(name, values)| Some((Metric::find(&name)?.name(), values)));
        let queries = queries.collect();
        let evaluation = Self::new(scores, ranks);
        Self { golds, right, outputs, facts, scored, queries, pool, groups, ..evaluation }
    }
}
