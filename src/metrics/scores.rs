//! The metrics of a split, and the values of each query that they are means of.

use std::collections::BTreeMap;
use std::fmt;

use dsokr_data::Truth;
use dsokr_decode::{Metrics, MultiLabelMetrics};
use dsokr_molecule::graph::Graph;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::metrics::areas::ScoredLabels;
use crate::metrics::classes::ClassScores;
use crate::metrics::constants::Constants;
use crate::metrics::labels::{all_labels, label_rows};
use crate::metrics::quantiles::QuantileScores;
use crate::metrics::queries::QueryValues;
use crate::metrics::rankings::RankingScores;
use crate::metrics::regression::RegressionScores;
use crate::metrics::structures::{BeyondScores, MoleculeScores};
use crate::metrics::table::places_of_error;

/// The metrics of a split: ranks, and for some kinds of outputs the distance between predicted and
/// true outputs.
///
/// In JSON each metric is a number by its name, whether it has a field here or not (`metric/further.rs`).
#[derive(Clone, Debug, Default, derive_more::Deref, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
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
    /// Whether outputs are numbers, whose ranks carry no information where another score compares them: what counts is how
    /// far off a prediction is, not how many candidates lie nearer.
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
    #[serde(flatten, skip_deserializing)]
    pub further: BTreeMap<String, f64>,
}

/// Metrics that compare predicted outputs with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum OutputScores {
    /// Scores of molecules, or of other graphs.
    Molecules(MoleculeScores),
    /// Sets of labels. The labels are those of the true and the predicted sets; of the Hamming loss also the others that the
    /// run knows.
    Labels(MultiLabelMetrics),
    /// Rankings.
    Rankings(RankingScores),
    /// Rows of numbers.
    Numbers(RegressionScores),
    /// Classes.
    Classes(ClassScores),
}

/// What metrics of numbers, classes and sets of labels need to know beside the outputs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct OutputFacts {
    /// The constants of the training outputs.
    pub constants: Option<Constants>,
    /// The names of the numbers that a row has, or of the labels that the run knows.
    pub names: Vec<String>,
    /// The class that metrics are about.
    pub positive: Option<String>,
}

impl OutputFacts {
    /// Returns the means of the training numbers.
    pub fn means(&self) -> Option<&[f64]> {
        self.constants.as_ref().and_then(Constants::means)
    }
}

impl OutputScores {
    /// Compares each predicted output with the true one, and returns the metrics with the values of each query that they are
    /// means of.
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
        let two_kinds = || Err(Truth::two_kinds().into());
        match truth {
            Truth::Molecules(truth) => {
                let Truth::Molecules(predicted) = predicted else { return two_kinds() };
                graphs(truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph)).collect())
            }
            Truth::Graphs(truth) => {
                let Truth::Graphs(predicted) = predicted else { return two_kinds() };
                graphs(truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph)).collect())
            }
            Truth::Labels(truth) => {
                let Truth::Labels(predicted) = predicted else { return two_kinds() };
                let labels = all_labels(&facts.names, [truth, predicted]).len().max(1);
                let [truth, predicted] = label_rows(truth, predicted)?;
                let mut scores = MultiLabelMetrics::from_sets(&truth, &predicted)?;
                // a label in none of these sets is decided too
                scores.hamming_loss *= truth.width() as f64 / labels as f64;
                Ok((Self::Labels(scores), QueryValues::new()))
            }
            Truth::Rankings(truth) => {
                let Truth::Rankings(predicted) = predicted else { return two_kinds() };
                let (scores, queries) = RankingScores::with_queries(truth, predicted)?;
                Ok((Self::Rankings(scores), queries))
            }
            Truth::Numbers(truth) => {
                let Truth::Numbers(predicted) = predicted else { return two_kinds() };
                let means = facts.means();
                let names = &facts.names;
                let scores = RegressionScores::from_rows(truth, predicted, means, names)?;
                Ok((Self::Numbers(scores), QueryValues::new()))
            }
            Truth::Classes(truth) => {
                let Truth::Classes(predicted) = predicted else { return two_kinds() };
                let positive = facts.positive.as_deref();
                let scores = ClassScores::from_classes(truth, predicted, positive)?;
                Ok((Self::Classes(scores), QueryValues::new()))
            }
        }
    }
}

impl From<Metrics> for Scores {
    fn from(ranks: Metrics) -> Self {
        Self { ranks, ..Self::default() }
    }
}

/// Returns an error in the unit of the outputs with as many decimal places as tables have.
fn decimal(error: f64) -> String {
    let places = places_of_error(error);
    format!("{error:.places$}")
}

/// The most informative metrics.
impl fmt::Display for Scores {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if let Some(scores) = &self.quantiles {
            let pinball = decimal(scores.pinball);
            let crossing = decimal(scores.crossing);
            write!(out, "pinball {pinball}, crossing {crossing}")?;
            if let Some(OutputScores::Numbers(scores)) = &self.outputs {
                write!(out, ", MAE {}", decimal(scores.mae))?;
            }
            return Ok(());
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
            None => match self.squared_error.filter(|_| self.numbers) {
                Some(error) => write!(out, "squared error {}", decimal(error)),
                None => write!(
                    out,
                    "MRR {:.4}, Hits@10 {:.4}",
                    self.mrr(),
                    self.value("hits@10").unwrap_or_default()
                ),
            },
        }
    }
}

impl Scores {
    /// Returns the edit distances of what a search found beyond the candidates, which have no ranks.
    pub(crate) fn beyond_candidates(&self) -> Option<Self> {
        let graphs = self.beyond.as_ref()?.graphs.clone()?;
        let ranks = Metrics { missing_gold: self.queries, ..self.ranks.clone() };
        Some(Self { outputs: Some(OutputScores::Molecules(graphs)), ..ranks.into() })
    }

    /// Returns the number of a name in their JSON, as reports have them; none where it is not known or not finite.
    pub fn number(&self, name: &str) -> Option<f64> {
        serde_json::to_value(self).ok()?.get(name)?.as_f64()
    }

    /// Returns whether the metrics of ranks carry information: some query has a gold candidate, and outputs are neither
    /// numbers that another score compares nor classes, nor label sets or rankings among which some are equal.
    pub fn has_ranks(&self) -> bool {
        let may_repeat =
            matches!(self.outputs, Some(OutputScores::Labels(_) | OutputScores::Rankings(_)));
        let repeated = may_repeat && self.duplicate_candidates > 0;
        let compared = self.outputs.is_some() || self.squared_error.is_some();
        let numbers = self.numbers && compared;
        self.missing_gold < self.queries && !numbers && !self.classes && !repeated
    }

    /// Returns the metrics with the areas under curves of scored labels.
    pub(super) fn with_areas(self, scored: &ScoredLabels) -> Self {
        let all = scored.all();
        Self { roc_auc: scored.roc_auc(&all), pr_auc: scored.pr_auc(&all), ..self }
    }
}
