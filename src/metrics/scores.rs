//! The metrics of an evaluation, and the values of each query that they are means of.

use std::collections::BTreeMap;
use std::fmt;

use dsokr_data::Truth;
use dsokr_data::featurizers::UNRANKED;
use dsokr_decode::{Candidates, Metrics, MultiLabelMetrics, Rank};
use dsokr_molecule::graph::Graph;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ensure};
use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::ClassScores;
use crate::metrics::constants::Constants;
use crate::metrics::labels::label_rows;
use crate::metrics::quantiles::QuantileScores;
use crate::metrics::regression::RegressionScores;
use crate::metrics::structures::{BeyondScores, MoleculeScores, check_queries, mean};

/// The metrics of a split: ranks, and for some kinds of outputs the distance between predicted and
/// true outputs.
#[derive(Clone, Debug, Default, derive_more::Deref, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The metrics of ranks.
    #[deref]
    #[serde(flatten)]
    pub ranks: Metrics,
    /// Mean of `‖h(x) − ψ(y)‖²` in the kernel's feature space, where h(x) is the prediction that is
    /// scored. The part of ψ(y) outside the basis counts. For vectors under the linear kernel it is
    /// the squared error summed over their coordinates. None if it is not known: for several runs,
    /// for kernel machines without a sketch of the outputs, and if some output is not a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squared_error: Option<f64>,
    /// Mean of `‖ψ(ŷ) − ψ(y)‖²` in the kernel's feature space, ŷ the output that is chosen. Known where features are computed
    /// from the SMILES that outputs are shown by, for one kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_loss: Option<f64>,
    /// Mean myopic MCES distance of the first candidates from the right outputs, MassSpecGym's MCES at 1
    /// ([`myopic_distance`](dsokr_molecule::ged::myopic_distance)), where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mces: Option<f64>,
    /// Whether outputs are numbers, whose ranks carry no information: what counts is how far off a
    /// prediction is, not how many candidates lie nearer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbers: bool,
    /// Whether outputs are classes, of which accuracy and areas under curves say more than ranks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub classes: bool,
    /// Area under the ROC curve of the scores of a label or class: the probability that a query that has it scores higher than
    /// one that has not, a tie counted as one half. The mean over labels that some queries have and some do not, or of the
    /// positive class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roc_auc: Option<f64>,
    /// Area under the precision-recall curve, as average precision `Σ_k (R_k − R_{k−1}) P_k`, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_auc: Option<f64>,
    /// The metrics of predicted quantiles of numbers. None for several runs.
    #[serde(flatten)]
    pub quantiles: Option<QuantileScores>,
    /// The metrics of predicted molecules, graphs, sets of labels, classes, rankings or numbers.
    #[serde(flatten)]
    pub outputs: Option<OutputScores>,
    /// The metrics of molecules that a search found beyond the candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<BeyondScores>,
    /// Metrics that have no field here, by name: an entry of the list of metrics, with the values of queries that it
    /// summarises, is all that one needs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub further: BTreeMap<String, f64>,
}

/// Metrics that compare predicted outputs with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OutputScores {
    /// Scores of molecules, or of other graphs.
    Molecules(MoleculeScores),
    /// Sets of labels. The labels are those of the true and the predicted sets.
    Labels(MultiLabelMetrics),
    /// Rankings.
    Rankings(RankingScores),
    /// Rows of numbers.
    Numbers(RegressionScores),
    /// Classes.
    Classes(ClassScores),
}

/// What metrics of numbers and classes need to know beside the outputs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OutputFacts {
    /// The constants of the training outputs.
    pub constants: Option<Constants>,
    /// The names of the numbers that a row has.
    pub names: Vec<String>,
    /// The class that metrics are about.
    pub positive: Option<String>,
}

impl OutputFacts {
    /// The means of the training numbers.
    pub fn means(&self) -> Option<&[f64]> {
        self.constants.as_ref().and_then(Constants::means)
    }
}

impl OutputScores {
    /// Compares each predicted output with the true one; with the values of each query that metrics are means of.
    ///
    /// # Errors
    /// No outputs, or outputs of two kinds.
    pub(crate) fn with_queries(
        truth: &Truth,
        predicted: &Truth,
        facts: &OutputFacts,
    ) -> Result<(Self, QueryValues), Error> {
        let graphs = |pairs: Vec<(&Graph, &Graph)>| {
            let (scores, [ged, bonds, exact]) = MoleculeScores::with_queries(&pairs)?;
            let queries = [("ged", ged), ("ged_bonds", bonds), ("exact", exact)];
            Ok((Self::Molecules(scores), QueryValues::from(queries)))
        };
        match (truth, predicted) {
            (Truth::Molecules(truth), Truth::Molecules(predicted)) => {
                graphs(truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph)).collect())
            }
            (Truth::Graphs(truth), Truth::Graphs(predicted)) => {
                graphs(truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph)).collect())
            }
            (Truth::Labels(truth), Truth::Labels(predicted)) => {
                let [truth, predicted] = label_rows(truth, predicted)?;
                let scores = MultiLabelMetrics::from_sets(&truth, &predicted)?;
                Ok((Self::Labels(scores), QueryValues::new()))
            }
            (Truth::Rankings(truth), Truth::Rankings(predicted)) => {
                let (scores, queries) = RankingScores::with_queries(truth, predicted)?;
                Ok((Self::Rankings(scores), queries))
            }
            (Truth::Numbers(truth), Truth::Numbers(predicted)) => {
                let means = facts.means();
                let names = &facts.names;
                let scores = RegressionScores::from_rows(truth, predicted, means, names)?;
                Ok((Self::Numbers(scores), QueryValues::new()))
            }
            (Truth::Classes(truth), Truth::Classes(predicted)) => {
                let positive = facts.positive.as_deref();
                let scores = ClassScores::from_classes(truth, predicted, positive)?;
                Ok((Self::Classes(scores), QueryValues::new()))
            }
            _ => Err(Error::value("outputs", "outputs of two kinds", "one kind")),
        }
    }
}

/// How well predicted rankings agree with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankingScores {
    /// Mean of Kendall's τ-b, from −1 to 1, of the items that both rankings rank: `(C − D) / √((P − T) (P − U))` of P pairs of
    /// these items, C of them in the same order and D in the opposite one, T tied in the true ranking and U in the predicted
    /// one. Without ties it is τ. It is 0 where one of the two factors is: where fewer than two items are ranked by both,
    /// or one ranking ties all of them; such a query counts in the mean.
    pub kendall_tau: f64,
    /// Share of rankings that are predicted with every pair of ranked items in the true order.
    pub exact: f64,
}

impl RankingScores {
    /// Scores predicted rankings against the true ones, one by one; a ranking is the rank of each item.
    ///
    /// # Errors
    /// [`dsokr_core::Error::TooFew`] for no rankings; [`dsokr_core::Error::Value`] for a predicted ranking whose
    /// number of items differs from that of the true one.
    pub fn from_rankings(truth: &[Vec<u32>], predicted: &[Vec<u32>]) -> Result<Self, Error> {
        Ok(Self::with_queries(truth, predicted)?.0)
    }

    fn with_queries(
        truth: &[Vec<u32>],
        predicted: &[Vec<u32>],
    ) -> Result<(Self, QueryValues), Error> {
        check_queries(truth)?;
        let pairs = truth.iter().zip(predicted).map(|(a, b)| Self::agreement(a, b));
        let (tau, same): (Vec<f64>, Vec<f64>) =
            pairs.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        let scores = Self { kendall_tau: mean(&tau).0, exact: mean(&same).0 };
        Ok((scores, QueryValues::from([("kendall_tau", tau), ("exact", same)])))
    }

    /// Kendall's τ of a predicted ranking, and 1 if every pair is in the true order, else 0.
    fn agreement(truth: &[u32], predicted: &[u32]) -> Result<(f64, f64), Error> {
        let ranking = format_args!("a true ranking of {} items", truth.len());
        let allowed = format_args!("{}, as predicted rankings have", predicted.len());
        ensure(truth.len() == predicted.len(), "outputs", ranking, allowed)?;
        let order = |ranks: &[u32], i: usize, j: usize| {
            (ranks[i].max(ranks[j]) != UNRANKED).then(|| ranks[i].cmp(&ranks[j]) as i64)
        };
        let pairs = (0..truth.len()).flat_map(|i| (i + 1..truth.len()).map(move |j| (i, j)));
        let mut product = 0;
        let mut ours = 0;
        let mut theirs = 0;
        let mut same = true;
        for (i, j) in pairs {
            let a = order(truth, i, j);
            let b = order(predicted, i, j);
            same &= a.is_none() || a == b;
            if let Some(a) = a
                && let Some(b) = b
            {
                (product, ours, theirs) = (product + a * b, ours + a * a, theirs + b * b);
            }
        }
        let tau = match ours * theirs {
            0 => 0.0,
            squared => product as f64 / (squared as f64).sqrt(),
        };
        Ok((tau, f64::from(same)))
    }
}

impl From<Metrics> for Scores {
    fn from(ranks: Metrics) -> Self {
        Self { ranks, ..Self::default() }
    }
}

/// The most informative metrics.
impl fmt::Display for Scores {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if let Some(scores) = &self.quantiles {
            write!(out, "pinball {:.4}, crossing {:.4}", scores.pinball, scores.crossing)?;
            return match &self.outputs {
                Some(OutputScores::Numbers(scores)) => write!(out, ", MAE {:.4}", scores.mae),
                _ => Ok(()),
            };
        }
        match &self.outputs {
            Some(OutputScores::Labels(scores)) => write!(out, "F1 {:.4}", scores.f1),
            Some(OutputScores::Molecules(scores)) => {
                if self.has_ranks() {
                    write!(out, "MRR {:.4}, ", self.mrr())?;
                }
                write!(
                    out,
                    "edit distance {:.3}, {:.3} with bonds, exact {:.3}",
                    scores.ged, scores.ged_bonds, scores.exact
                )
            }
            Some(OutputScores::Rankings(scores)) => {
                write!(out, "Kendall's tau {:.4}, exact {:.3}", scores.kendall_tau, scores.exact)
            }
            Some(OutputScores::Numbers(scores)) => {
                if let Some(rrmse) = scores.rrmse {
                    write!(out, "RRMSE {rrmse:.4}, ")?;
                }
                write!(out, "R² {:.4}", scores.r2)
            }
            Some(OutputScores::Classes(scores)) => {
                write!(out, "accuracy {:.4}", scores.accuracy)?;
                self.roc_auc.map_or(Ok(()), |area| write!(out, ", ROC AUC {area:.4}"))
            }
            None if self.numbers => match self.squared_error {
                Some(error) => write!(out, "squared error {error:.6}"),
                None => Ok(()),
            },
            None => write!(
                out,
                "MRR {:.4}, Hits@10 {:.4}",
                self.mrr(),
                self.value("hits@10").unwrap_or_default()
            ),
        }
    }
}

impl Scores {
    /// The edit distances of what a search found beyond the candidates, which have no ranks.
    pub(crate) fn beyond_candidates(&self) -> Option<Self> {
        let graphs = self.beyond.as_ref()?.graphs.clone()?;
        let ranks = Metrics { missing_gold: self.queries, ..self.ranks.clone() };
        Some(Self { outputs: Some(OutputScores::Molecules(graphs)), ..ranks.into() })
    }

    /// The number of a name in their JSON, as reports have them; none where it is not known or not finite.
    pub fn number(&self, name: &str) -> Option<f64> {
        if let Some(&value) = self.further.get(name) {
            return Some(value);
        }
        serde_json::to_value(self).ok()?.get(name)?.as_f64()
    }

    /// Whether the metrics of ranks carry information: some query has a gold candidate, and outputs are neither numbers
    /// nor classes, nor label sets among which some are equal.
    pub fn has_ranks(&self) -> bool {
        let sets = matches!(self.outputs, Some(OutputScores::Labels(_)));
        let repeated = sets && self.duplicate_candidates > 0;
        self.missing_gold < self.queries && !self.numbers && !self.classes && !repeated
    }

    /// The metrics of the areas under curves of scored labels.
    fn with_areas(self, scored: &ScoredLabels) -> Self {
        let all = scored.all();
        Self { roc_auc: scored.roc_auc(&all), pr_auc: scored.pr_auc(&all), ..self }
    }
}

/// The evaluation of coordinates on a split.
#[derive(Clone)]
pub struct Evaluation {
    /// The metrics.
    pub scores: Scores,
    /// The rank of each query's gold, of several right outputs of the best-ranked one; `None` if it is
    /// infinite.
    pub ranks: Vec<Option<Rank>>,
    /// Its id.
    pub golds: Vec<String>,
    /// The true and the predicted outputs, if they are molecules, graphs, sets of labels, classes, rankings or numbers.
    pub outputs: Option<(Truth, Truth)>,
    /// What metrics of these need to know.
    pub(crate) facts: OutputFacts,
    /// The scores of labels or classes.
    pub(crate) scored: Option<ScoredLabels>,
    /// The candidates that are named, where candidates are in shards: hits are numbers of these, and not of the
    /// candidates of the run.
    pub named: Option<Candidates>,
    /// Values of each query that the metrics are means of.
    pub(crate) queries: QueryValues,
}

/// Values of each query that a metric is the mean of, by its name, where they are known.
pub(crate) type QueryValues = BTreeMap<&'static str, Vec<f64>>;

impl Evaluation {
    /// Metrics of ranks, without the rest.
    pub(crate) fn new(scores: Scores, ranks: Vec<Option<Rank>>) -> Self {
        Self {
            scores,
            ranks,
            golds: Vec::new(),
            outputs: None,
            facts: OutputFacts::default(),
            scored: None,
            named: None,
            queries: QueryValues::new(),
        }
    }

    /// The metrics of a random order of the candidates; of numbers and classes those of the constants that fit the
    /// training outputs best.
    ///
    /// # Errors
    /// An evaluation of no queries.
    pub fn chance(&self) -> Result<Scores, Error> {
        let Scores { numbers, classes, .. } = self.scores;
        let Metrics { candidates, duplicate_candidates, .. } = self.scores.ranks;
        let ranks = Metrics::chance(&self.ranks, candidates, duplicate_candidates)?;
        let mut scores = Scores { numbers, classes, ..ranks.into() };
        if let Some(scored) = &self.scored {
            scores.roc_auc = self.scores.roc_auc.map(|_| 0.5);
            scores.pr_auc = scored.prevalence();
        }
        let Some((truth, _)) = &self.outputs else {
            return Ok(scores);
        };
        let Some(constants) = &self.facts.constants else {
            return Ok(scores);
        };
        match (truth, constants) {
            (Truth::Numbers(truth), Constants::Numbers { means, medians, quantiles }) => {
                let numbers =
                    RegressionScores::of_constants(truth, means, medians, &self.facts.names)?;
                scores.outputs = Some(OutputScores::Numbers(numbers));
                scores.quantiles = match &self.scores.quantiles {
                    Some(model) => model.of_constants(quantiles, truth)?,
                    None => None,
                };
            }
            (Truth::Classes(truth), Constants::Classes(_)) => {
                let majority = constants.majority().unwrap_or_default().to_owned();
                let predicted = vec![majority; truth.len()];
                let positive = self.facts.positive.as_deref();
                let classes = ClassScores::from_classes(truth, &predicted, positive)?;
                scores.outputs = Some(OutputScores::Classes(classes));
            }
            _ => {}
        }
        Ok(scores)
    }

    /// Compares predicted outputs with the true ones, and adds the metrics of that.
    pub(crate) fn compare(&mut self, (truth, predicted): (Truth, Truth)) -> Result<(), Error> {
        let (scores, queries) = OutputScores::with_queries(&truth, &predicted, &self.facts)?;
        self.scores.outputs = Some(scores);
        self.queries.extend(queries);
        self.outputs = Some((truth, predicted));
        Ok(())
    }

    /// Adds the areas under curves of scores of labels.
    pub(crate) fn add_areas(&mut self, scored: ScoredLabels) {
        self.scores = std::mem::take(&mut self.scores).with_areas(&scored);
        self.scored = Some(scored);
    }

    /// Adds a value of each query; their mean.
    pub(crate) fn mean(&mut self, name: &'static str, values: Vec<f64>) -> Option<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        self.queries.insert(name, values);
        Some(mean)
    }

    /// The edit distance of each query, if outputs are molecules or graphs: of graphs without labels of
    /// edges, and of graphs with them. A distance that is not proven counts with its upper bound.
    pub fn edit_distances(&self) -> Option<[&[f64]; 2]> {
        Some([self.queries.get("ged")?, self.queries.get("ged_bonds")?])
    }
}
