//! The metrics of an evaluation, and the values of each query that they are means of.

use std::collections::BTreeMap;
use std::fmt;

use dsokr_basis::features::UNRANKED;
use dsokr_data::Truth;
use dsokr_decode::{Candidates, Metrics, MultiLabelMetrics, Rank};
use dsokr_molecule::graph::Graph;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::ensure;
use crate::labels::label_rows;
use crate::quantiles::QuantileScores;
use crate::structures::{BeyondScores, MoleculeScores, check_queries, mean};

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
    /// The metrics of predicted quantiles of numbers. None for several runs, and if some output is
    /// not a candidate.
    #[serde(flatten)]
    pub quantiles: Option<QuantileScores>,
    /// The metrics of predicted molecules, graphs, sets of labels, rankings or numbers.
    #[serde(flatten)]
    pub outputs: Option<OutputScores>,
    /// The metrics of molecules that a search found beyond the candidates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<BeyondScores>,
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
    /// Rows of numbers.
    Numbers(RegressionScores),
}

impl OutputScores {
    /// Compares each predicted output with the true one; with the edit distance of each query where outputs are graphs.
    /// None of numbers without the `means` of the training outputs.
    ///
    /// # Errors
    /// No outputs, or outputs of two kinds.
    pub(crate) fn with_queries(
        truth: &Truth,
        predicted: &Truth,
        means: Option<&[f32]>,
    ) -> Result<Option<(Self, QueryValues)>, Error> {
        let graphs = |pairs: Vec<(&Graph, &Graph)>| {
            let (scores, [ged, bonds, exact]) = MoleculeScores::with_queries(&pairs)?;
            let queries = [("ged", ged), ("ged_bonds", bonds), ("exact", exact)];
            Ok(Some((Self::Molecules(scores), QueryValues::from(queries))))
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
                Ok(Some((Self::Labels(scores), QueryValues::new())))
            }
            (Truth::Rankings(truth), Truth::Rankings(predicted)) => {
                let (scores, queries) = RankingScores::with_queries(truth, predicted)?;
                Ok(Some((Self::Rankings(scores), queries)))
            }
            (Truth::Numbers(truth), Truth::Numbers(predicted)) => {
                let scores =
                    means.map(|means| RegressionScores::from_rows(truth, predicted, means));
                let scores = scores.transpose()?.flatten();
                Ok(scores.map(|scores| (Self::Numbers(scores), QueryValues::new())))
            }
            _ => Err(Error::value("outputs", "outputs of two kinds", "one kind")),
        }
    }
}

/// How well predicted rankings agree with the true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankingScores {
    /// Mean of Kendall's τ, from −1 to 1: of the pairs of items, the share in the same order less the
    /// share in the opposite order, of the items that both rank. Where ranks tie it is τ-b, and 0 where all do.
    pub kendall_tau: f64,
    /// Share of rankings that are predicted with every pair of ranked items in the true order.
    pub exact: f64,
}

impl RankingScores {
    /// Of true and predicted rankings, one with one; a ranking is the rank of each item.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::TooFew`] for no rankings; [`dsokr_basis::Error::Value`] for a predicted ranking whose
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
        let found = format_args!("a true ranking of {} items", truth.len());
        let allowed = format_args!("{}, as predicted rankings have", predicted.len());
        ensure(truth.len() == predicted.len(), "outputs", found, allowed)?;
        let order = |ranks: &[u32], i: usize, j: usize| {
            (ranks[i].max(ranks[j]) != UNRANKED).then(|| ranks[i].cmp(&ranks[j]) as i64)
        };
        let pairs = (0..truth.len()).flat_map(|i| (i + 1..truth.len()).map(move |j| (i, j)));
        let (mut product, mut ours, mut theirs, mut same) = (0, 0, 0, true);
        for (i, j) in pairs {
            let (a, b) = (order(truth, i, j), order(predicted, i, j));
            same &= a.is_none() || a == b;
            if let (Some(a), Some(b)) = (a, b) {
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

/// How far predicted numbers are from the true ones, each target in shares of its own deviation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegressionScores {
    /// The mean over targets of `√(Σ (y − ŷ)² / Σ (y − μ)²)`, μ the mean of the training outputs: aRRMSE
    /// (Spyromitros-Xioufis et al. 2016; thesis, table 3.4). 1 for the training mean itself.
    pub rrmse: f64,
    /// That of each target; none where all numbers are the training mean.
    pub targets: Vec<Option<f64>>,
}

impl RegressionScores {
    /// Of true and predicted rows, one with one, and the means of the training outputs; none where every target is
    /// its mean.
    ///
    /// # Errors
    /// [`dsokr_basis::Error::TooFew`] for no rows; [`dsokr_basis::Error::Value`] for rows of different lengths.
    pub fn from_rows(
        truth: &[Vec<f64>],
        predicted: &[Vec<f64>],
        means: &[f32],
    ) -> Result<Option<Self>, Error> {
        check_queries(truth)?;
        let mut sums = vec![(0.0f64, 0.0f64); means.len()];
        for (truth, predicted) in truth.iter().zip(predicted) {
            let holds = truth.len() == means.len() && predicted.len() == means.len();
            let allowed = format_args!("{}, as training outputs have", means.len());
            ensure(holds, "outputs", format_args!("a row of {} numbers", truth.len()), allowed)?;
            let targets = sums.iter_mut().zip(truth.iter().zip(predicted)).zip(means);
            for (((apart, spread), (truth, predicted)), &mean) in targets {
                *apart += (truth - predicted).powi(2);
                *spread += (truth - f64::from(mean)).powi(2);
            }
        }
        let error = |(apart, spread): (f64, f64)| (spread > 0.0).then(|| (apart / spread).sqrt());
        let targets: Vec<Option<f64>> = sums.into_iter().map(error).collect();
        let known: Vec<f64> = targets.iter().flatten().copied().collect();
        Ok((!known.is_empty()).then(|| Self { rrmse: mean(&known).0, targets }))
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
            Some(OutputScores::Numbers(found)) => write!(out, "RRMSE {:.4}", found.rrmse),
            None if self.numbers => match self.squared_error {
                Some(error) => write!(out, "squared error {error:.6}"),
                None => Ok(()),
            },
            None => write!(out, "MRR {:.4}, Hits@10 {:.4}", self.mrr, self.hits_10),
        }
    }
}

impl Scores {
    /// The edit distances of what a search found beyond the candidates, which have no ranks.
    pub(crate) fn found(&self) -> Option<Self> {
        let graphs = self.beyond.as_ref()?.graphs.clone()?;
        let ranks = Metrics { missing_gold: self.queries, ..self.ranks.clone() };
        Some(Self { outputs: Some(OutputScores::Molecules(graphs)), ..ranks.into() })
    }

    /// The number of a name in their JSON, as reports have them; none where it is not known or not finite.
    pub fn number(&self, name: &str) -> Option<f64> {
        serde_json::to_value(self).ok()?.get(name)?.as_f64()
    }

    /// Whether the metrics of ranks carry information: some query has a gold candidate, and outputs
    /// are not numbers.
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
    /// The true and the predicted outputs, if they are molecules, graphs, sets of labels, rankings or numbers.
    pub outputs: Option<(Truth, Truth)>,
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
        let (golds, queries) = (Vec::new(), QueryValues::new());
        Self { scores, ranks, golds, outputs: None, named: None, queries }
    }

    /// The metrics of a random order of the candidates.
    ///
    /// # Errors
    /// An evaluation of no queries.
    pub fn chance(&self) -> Result<Scores, Error> {
        let Metrics { candidates, duplicate_candidates, .. } = self.scores.ranks;
        let ranks = Metrics::chance(&self.ranks, candidates, duplicate_candidates)?;
        Ok(Scores { numbers: self.scores.numbers, ..ranks.into() })
    }

    /// Compares predicted outputs with the true ones, and adds the metrics of that; none of numbers without the `means` of
    /// the training outputs.
    pub(crate) fn compare(
        &mut self,
        (truth, predicted): (Truth, Truth),
        means: Option<&[f32]>,
    ) -> Result<(), Error> {
        if let Some((scores, queries)) = OutputScores::with_queries(&truth, &predicted, means)? {
            self.scores.outputs = Some(scores);
            self.queries.extend(queries);
            self.outputs = Some((truth, predicted));
        }
        Ok(())
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
