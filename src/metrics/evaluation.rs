//! The evaluation of predictions on a split: metrics, and what intervals and comparisons draw them from.

use std::collections::{BTreeSet, HashSet};

use dsokr_core::grouped;
use dsokr_data::{Truth, connected};
use dsokr_decode::{Candidates, LEAST_GROUPS, Metrics, Rank};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::ClassScores;
use crate::metrics::constants::Constants;
use crate::metrics::labels::all_labels;
use crate::metrics::queries::QueryValues;
use crate::metrics::regression::RegressionScores;
use crate::metrics::scores::{OutputFacts, OutputScores, Scores};

/// Percentile intervals of fewer groups are too short: of eight they hold the mean in 89 % of all cases, of three in 76 %.
const FEW_GROUPS: usize = 10;

/// The evaluation of coordinates on a split.
#[derive(Clone, derive_more::Debug)]
#[debug("Evaluation({} queries)", ranks.len())]
pub struct Evaluation {
    /// The metrics.
    pub scores: Scores,
    /// The rank of each query's gold, of several right outputs of the best-ranked one; `None` if it is
    /// infinite.
    pub ranks: Vec<Option<Rank>>,
    /// Its id.
    pub golds: Vec<String>,
    /// How many right outputs of each query are among its candidates; empty where every query has one.
    pub(crate) right: Vec<u64>,
    /// The true and the predicted outputs, if they are molecules, graphs, sets of labels, classes, rankings or numbers.
    pub outputs: Option<(Truth, Truth)>,
    /// The true outputs that count in a random order of the candidates, and the first ones of that order, which are drawn; none
    /// where the predicted outputs are numbers or classes, or none are compared.
    pub(crate) drawn: Option<(Truth, Truth)>,
    /// All right classes of each query, where outputs are classes; empty where they have not been read.
    pub(crate) right_classes: Vec<BTreeSet<String>>,
    /// What metrics of these need to know.
    pub(crate) facts: OutputFacts,
    /// The scores of labels or classes.
    pub(crate) scored: Option<ScoredLabels>,
    /// The candidates that are named, where candidates are in shards: hits are numbers of these, and not of the
    /// candidates of the run.
    pub named: Option<Candidates>,
    /// Values of each query that the metrics are means of.
    pub(crate) queries: QueryValues,
    /// The candidates that queries were ranked among; none where it is not known.
    pub pool: Option<EvaluatedPool>,
    /// The group of each query, whose queries are not independent of one another; empty where all are.
    pub(crate) groups: Vec<String>,
}

/// The candidates that the queries of an evaluation were ranked among.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluatedPool {
    /// The rule that gave them, as a text; `all` where each query has all candidates.
    pub rule: String,
    /// A number that rules have in common which give each query the same candidates; none where each has all.
    pub fingerprint: Option<u64>,
    /// The candidates of all queries, where each has all of them; none where they are not known, as in shards.
    pub shared: Option<SharedCandidates>,
}

/// Fingerprints of the candidates that all queries share, in any order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedCandidates {
    /// A text that candidates of the same ids have in common.
    pub ids: String,
    /// The column of their labels; none where `output.label` names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A text that candidates of the same ids and labels have in common.
    pub labels: String,
}

impl SharedCandidates {
    /// Returns whether two sets are known to differ: in their ids, or in their labels where both are of one column.
    pub(crate) fn differ(&self, other: &Self) -> bool {
        let same_column = self.label.is_some() && self.label == other.label;
        self.ids != other.ids || (same_column && self.labels != other.labels)
    }
}

/// Returns a name for the group of each query, of the groups that several runs give the same queries, which they need not
/// divide alike: queries that one of them keeps together are not independent of one another, nor are those that several
/// connect. Empty where all are.
pub(crate) fn connected_groups<'g>(of_runs: impl Iterator<Item = &'g [String]>) -> Vec<String> {
    let divisions: Vec<&[String]> = of_runs.filter(|groups| !groups.is_empty()).collect();
    let Some(queries) = divisions.first().map(|groups| groups.len()) else { return Vec::new() };
    let divisions: Vec<Vec<Vec<usize>>> = divisions.into_iter().map(grouped).collect();
    let divisions: Vec<&[Vec<usize>]> = divisions.iter().map(Vec::as_slice).collect();
    let mut names = vec![String::new(); queries];
    for (number, group) in connected(queries, &divisions).iter().enumerate() {
        group.iter().for_each(|&query| names[query] = number.to_string());
    }
    names
}

/// Warns where queries are of few groups; `groups` is none where each query is by itself.
pub(crate) fn warn_of_few_groups(queries: usize, groups: Option<usize>) {
    match groups {
        Some(1) => tracing::warn!(
            "all {queries} queries are one group of data.splits.group: the metrics say little about other groups, and have no \
             intervals"
        ),
        Some(groups) if groups < LEAST_GROUPS => tracing::warn!(
            "the {queries} queries are {groups} groups of data.splits.group: the metrics say little about other groups, and have \
             no intervals, which need {LEAST_GROUPS}"
        ),
        Some(groups) if groups < FEW_GROUPS => tracing::warn!(
            "the {queries} queries are {groups} groups of data.splits.group, which are drawn whole: intervals of so few are too \
             short"
        ),
        Some(_) | None => {}
    }
}

impl Evaluation {
    /// Creates an evaluation of ranks, without the rest.
    pub(crate) fn new(scores: Scores, ranks: Vec<Option<Rank>>) -> Self {
        Self {
            scores,
            ranks,
            golds: Vec::new(),
            right: Vec::new(),
            outputs: None,
            drawn: None,
            right_classes: Vec::new(),
            facts: OutputFacts::default(),
            scored: None,
            named: None,
            queries: QueryValues::new(),
            pool: None,
            groups: Vec::new(),
        }
    }

    /// Returns the number of groups of queries that are not independent of one another; none where each query is by itself.
    pub fn group_count(&self) -> Option<usize> {
        let groups = self.groups.iter().collect::<HashSet<_>>().len();
        (groups < self.groups.len()).then_some(groups)
    }

    /// Warns where the queries are of few groups, of which metrics say little about others. An evaluation of a run does not warn by
    /// itself, since the queries of several runs that are compared may be fewer groups.
    pub fn warn_of_few_groups(&self) {
        warn_of_few_groups(self.ranks.len(), self.group_count());
    }

    /// Returns the metrics of a random order of the candidates, the first of which is compared with the right output where
    /// predicted outputs are; of numbers and classes those of the constants that fit the training outputs best. A
    /// [`StoredEvaluation`](crate::StoredEvaluation) does not keep what was drawn.
    ///
    /// # Errors
    /// An evaluation of no queries; outputs that cannot be compared.
    pub fn chance(&self) -> Result<Scores, Error> {
        let Scores { numbers, classes, .. } = self.scores;
        let Metrics { candidates, duplicate_candidates, .. } = self.scores.ranks;
        let ranks = Metrics::chance(&self.ranks, &self.right, candidates, duplicate_candidates)?;
        let mut scores = Scores { numbers, classes, ..ranks.into() };
        if let Some(scored) = &self.scored {
            scores.roc_auc = self.scores.roc_auc.map(|_| 0.5);
            scores.pr_auc = scored.prevalence();
        }
        if let Some((truth, drawn)) = &self.drawn {
            let (outputs, _) = OutputScores::with_queries(truth, drawn, &self.facts)?;
            scores.outputs = Some(outputs);
        }
        let Some((truth, _)) = &self.outputs else {
            return Ok(scores);
        };
        let Some(constants) = &self.facts.constants else {
            return Ok(scores);
        };
        // outputs of other kinds have no constants
        match constants {
            Constants::Numbers { means, medians, quantiles } => {
                let Truth::Numbers(truth) = truth else { return Ok(scores) };
                let numbers =
                    RegressionScores::of_constants(truth, means, medians, &self.facts.names)?;
                scores.outputs = Some(OutputScores::Numbers(numbers));
                scores.quantiles = match &self.scores.quantiles {
                    Some(model) => model.of_constants(quantiles, truth)?,
                    None => None,
                };
            }
            Constants::Classes(_) => {
                let Truth::Classes(truth) = truth else { return Ok(scores) };
                let majority = constants.majority().unwrap_or_default().to_owned();
                // where several classes are right, the model's is the one that it ranks best, and so is this one's
                let mut truth = truth.clone();
                for (counted, right) in truth.iter_mut().zip(&self.right_classes) {
                    if let Some(best) = right.get(&majority).or_else(|| right.first()) {
                        counted.clone_from(best);
                    }
                }
                let predicted = vec![majority; truth.len()];
                let positive = self.facts.positive.as_deref();
                let classes = ClassScores::from_classes(&truth, &predicted, positive)?;
                scores.outputs = Some(OutputScores::Classes(classes));
            }
        }
        Ok(scores)
    }

    /// Compares predicted outputs with the true ones, and adds the metrics of the comparison.
    pub(crate) fn compare(&mut self, (truth, predicted): (Truth, Truth)) -> Result<(), Error> {
        let (scores, queries) = OutputScores::with_queries(&truth, &predicted, &self.facts)?;
        self.scores.outputs = Some(scores);
        self.queries.extend(queries);
        self.outputs = Some((truth, predicted));
        Ok(())
    }

    /// Returns whether the outputs that are compared are classes.
    pub(super) fn compares_classes(&self) -> bool {
        matches!(self.outputs, Some((Truth::Classes(_), _)))
    }

    /// Returns the labels that decisions are about; none where outputs are not sets of labels.
    pub(crate) fn labels(&self) -> HashSet<&str> {
        match &self.outputs {
            Some((Truth::Labels(truth), Truth::Labels(predicted))) => {
                all_labels(&self.facts.names, [truth, predicted])
            }
            Some(_) | None => HashSet::new(),
        }
    }

    /// Adds the areas under curves of scores of labels.
    pub(crate) fn add_areas(&mut self, scored: ScoredLabels) {
        self.scores = std::mem::take(&mut self.scores).with_areas(&scored);
        self.scored = Some(scored);
    }

    /// Adds a value of each query by a name, and returns their mean.
    pub(crate) fn mean(&mut self, name: &'static str, values: Vec<f64>) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        self.queries.insert(name, values);
        mean
    }

    /// Returns the edit distance of each query, if outputs are molecules or graphs: of graphs without labels of
    /// edges, and of graphs with them. A distance that is not proven counts with its upper bound.
    pub fn edit_distances(&self) -> Option<[&[f64]; 2]> {
        Some([self.queries.get("ged")?, self.queries.get("ged_bonds")?])
    }
}
