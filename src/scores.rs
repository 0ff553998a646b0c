//! The metrics of an evaluation, and the values of each query that they are means of.

use std::fmt;
use std::ops::Deref;

use dsokr_decode::{Candidates, Metrics, MultiLabelMetrics, Rank};
use dsokr_molecule::graph::Graph;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::labels::label_rows;
use crate::molecules::{Distances, MoleculeScores};
use crate::quantiles::QuantileScores;
use crate::rankings::RankingScores;
use dsokr_data::Truth;

/// The metrics of a split: ranks, and for some kinds of outputs the distance between predicted and
/// true outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// The metrics of ranks.
    #[serde(flatten)]
    pub ranks: Metrics,
    /// Mean of `‖h(x) − ψ(y)‖²` in the kernel's feature space, where h(x) is the prediction that is
    /// scored. The part of ψ(y) outside the basis counts. For vectors under the linear kernel it is
    /// the squared error summed over their coordinates. None if it is not known: for several runs,
    /// for kernel machines without a sketch of the outputs, and if some output is not a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub squared_error: Option<f64>,
    /// Whether outputs are numbers, whose ranks carry no information: what counts is how far off a
    /// prediction is, not how many candidates lie nearer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub numbers: bool,
    /// The metrics of predicted quantiles of numbers. None for several runs, and if some output is
    /// not a candidate.
    #[serde(flatten)]
    pub quantiles: Option<QuantileScores>,
    /// The metrics of predicted molecules, graphs, sets of labels or rankings.
    #[serde(flatten)]
    pub outputs: Option<OutputScores>,
}

/// Metrics that compare predicted outputs with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OutputScores {
    /// Of molecules, or other graphs.
    Molecules(MoleculeScores),
    /// Sets of labels. The labels are those of the true and the predicted sets.
    Labels(MultiLabelMetrics),
    /// Rankings.
    Rankings(RankingScores),
}

impl OutputScores {
    /// Compares each predicted output with the true one; with the edit distance of each query where outputs are graphs.
    ///
    /// # Errors
    /// No outputs, or outputs of two kinds.
    pub(crate) fn with_queries(
        truth: &Truth,
        predicted: &Truth,
    ) -> Result<(Self, QueryValues), Error> {
        let graphs = |pairs: &[(&Graph, &Graph)]| {
            let distances = Distances::of(pairs);
            let scores = Self::Molecules(MoleculeScores::of_distances(&distances)?);
            let [distances, bond_distances] = distances.upper().map(Some);
            Ok((scores, QueryValues { distances, bond_distances, ..QueryValues::default() }))
        };
        let none = QueryValues::default();
        match (truth, predicted) {
            (Truth::Molecules(truth), Truth::Molecules(predicted)) => {
                let pairs = truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph));
                graphs(&pairs.collect::<Vec<_>>())
            }
            (Truth::Graphs(truth), Truth::Graphs(predicted)) => {
                let pairs = truth.iter().zip(predicted).map(|(a, b)| (&a.graph, &b.graph));
                graphs(&pairs.collect::<Vec<_>>())
            }
            (Truth::Labels(truth), Truth::Labels(predicted)) => {
                let [truth, predicted] = label_rows(truth, predicted)?;
                Ok((Self::Labels(MultiLabelMetrics::of(&truth, &predicted)?), none))
            }
            (Truth::Rankings(truth), Truth::Rankings(predicted)) => {
                Ok((Self::Rankings(RankingScores::of(truth, predicted)?), none))
            }
            _ => Err(Error::value("outputs", "outputs of two kinds", "one kind")),
        }
    }
}

impl From<Metrics> for Scores {
    fn from(ranks: Metrics) -> Self {
        Self { ranks, squared_error: None, numbers: false, quantiles: None, outputs: None }
    }
}

/// The most informative metrics.
impl fmt::Display for Scores {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if let Some(found) = &self.quantiles {
            return write!(out, "pinball {:.4}, crossing {:.4}", found.pinball, found.crossing);
        }
        match &self.outputs {
            Some(OutputScores::Labels(found)) => write!(out, "F1 {:.4}", found.f1),
            Some(OutputScores::Molecules(found)) => {
                if self.has_ranks() {
                    write!(out, "MRR {:.4}, ", self.mrr)?;
                }
                write!(
                    out,
                    "edit distance {:.3}, {:.3} with bonds, exact {:.3}",
                    found.ged, found.ged_bonds, found.exact
                )
            }
            Some(OutputScores::Rankings(found)) => {
                write!(out, "Kendall's tau {:.4}, exact {:.3}", found.kendall_tau, found.exact)
            }
            None if self.numbers => match self.squared_error {
                Some(error) => write!(out, "squared error {error:.6}"),
                None => Ok(()),
            },
            None => write!(out, "MRR {:.4}, Hits@10 {:.4}", self.mrr, self.hits_10),
        }
    }
}

impl Deref for Scores {
    type Target = Metrics;

    fn deref(&self) -> &Metrics {
        &self.ranks
    }
}

impl Scores {
    /// Whether the metrics of ranks carry information: some query has a gold candidate, and outputs
    /// are no numbers.
    pub fn has_ranks(&self) -> bool {
        self.missing_gold < self.queries && !self.numbers
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
    /// The true and the predicted outputs, if they are molecules, graphs, sets of labels or rankings.
    pub outputs: Option<(Truth, Truth)>,
    /// The candidates that are named, where candidates are in shards: hits are numbers of these, and not of the
    /// candidates of the run.
    pub named: Option<Candidates>,
    /// Values of each query that the metrics are means of.
    pub(crate) queries: QueryValues,
}

/// Values of each query that metrics are means of, where they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueryValues {
    /// `‖h(x) − ψ(y)‖²`.
    pub squared_errors: Option<Vec<f64>>,
    /// Pinball loss, summed over the levels.
    pub pinball: Option<Vec<f64>>,
    /// How far quantiles lie below those of the level before, summed.
    pub crossing: Option<Vec<f64>>,
    /// Graph edit distance.
    pub distances: Option<Vec<f64>>,
    /// Graph edit distance, with bonds compared.
    pub bond_distances: Option<Vec<f64>>,
}

impl Evaluation {
    /// The metrics of a random order of the candidates.
    ///
    /// # Errors
    /// An evaluation of no queries.
    pub fn chance(&self) -> Result<Scores, Error> {
        let Metrics { candidates, duplicate_candidates, .. } = self.scores.ranks;
        let ranks = Metrics::chance(&self.ranks, candidates, duplicate_candidates)?;
        Ok(Scores { numbers: self.scores.numbers, ..ranks.into() })
    }

    /// The edit distance of each query, if outputs are molecules or graphs: of graphs without labels of
    /// edges, and of graphs with them. A distance that is not proven counts with its upper bound.
    pub fn edit_distances(&self) -> Option<[&[f64]; 2]> {
        let QueryValues { distances, bond_distances, .. } = &self.queries;
        Some([distances.as_deref()?, bond_distances.as_deref()?])
    }
}
