use std::fmt;
use std::ops::Deref;

use dsokr_basis::random::generator;
use dsokr_decode::{CandidateBlocks, Candidates, Metrics, MultiLabelMetrics, Pool, Queries, Rank};
use dsokr_molecule::graph::Graph;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::config::Checked;
use crate::exact::{ExactDecoder, PredictedOutput};
use crate::expected_f1;
use crate::golds::{RankedGolds, missing_gold, rank_golds, truth_of};
use crate::metric::label_rows;
use crate::molecules::{Distances, MoleculeScores};
use crate::quantiles::QuantileScores;
use crate::query_texts::QueryTexts;
use crate::rankings::RankingScores;
use dsokr_data::{Split, Truth};

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
    /// Compares each predicted output with the true one.
    ///
    /// # Errors
    /// No outputs, or outputs of two kinds.
    pub fn of(truth: &Truth, predicted: &Truth) -> Result<Self, Error> {
        Ok(Self::with_queries(truth, predicted)?.0)
    }

    /// As [`of`](Self::of), with the edit distance of each query where outputs are graphs.
    fn with_queries(truth: &Truth, predicted: &Truth) -> Result<(Self, QueryValues), Error> {
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
            _ => Err(Error::Value {
                key: "outputs".into(),
                found: "outputs of two kinds".into(),
                allowed: "one kind".into(),
            }),
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
    /// Adds the metrics of the predictions `z` that do not depend on ranks; `gold` are rows of the
    /// candidates.
    pub(crate) fn with_answers(
        mut self,
        z: &[f32],
        gold: &[Option<u32>],
        (candidates, origin): (&Candidates, &Origin),
        config: &Checked,
    ) -> Result<Self, Error> {
        let errors = squared_errors(z, gold, candidates, config, origin)?;
        self.scores.squared_error =
            errors.as_ref().map(|errors| errors.iter().sum::<f64>() / gold.len() as f64);
        self.queries.squared_errors = errors;
        if let Some(levels) = config.encoder.levels()
            && let Some(found) = QuantileScores::of(levels, z, gold, candidates)?
        {
            self.scores.quantiles = Some(found.scores);
            self.queries.pinball = Some(found.pinball);
            self.queries.crossing = Some(found.crossing);
        }
        Ok(self)
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

    /// The edit distance of each query, if outputs are molecules or graphs: of graphs without labels of
    /// edges, and of graphs with them. A distance that is not proven counts with its upper bound.
    pub fn edit_distances(&self) -> Option<[&[f64]; 2]> {
        let QueryValues { distances, bond_distances, .. } = &self.queries;
        Some([distances.as_deref()?, bond_distances.as_deref()?])
    }

    /// An evaluation of outputs alone.
    #[cfg(test)]
    pub(crate) fn of_outputs(truth: Truth, predicted: Truth) -> Self {
        let ranks = vec![None; truth.len()];
        let metrics = Metrics::from_ranks(&ranks, 0, 0).unwrap();
        let (scores, queries) = OutputScores::with_queries(&truth, &predicted).unwrap();
        let scores = Scores { outputs: Some(scores), ..metrics.into() };
        let golds = vec![String::new(); truth.len()];
        Self { scores, ranks, golds, outputs: Some((truth, predicted)), named: None, queries }
    }
}

/// The origin of the candidates' coordinates.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Zero, the origin of predictions.
    Zero,
    /// A point of the basis, p numbers.
    At(Vec<f64>),
    /// None: candidates are not points of a basis.
    Unknown,
}

/// `‖z − ψ̃(y)‖² + k(y, y) − ‖ψ̃(y)‖²` of each query, y in the rows `gold` of the candidates.
///
/// `k(y, y)` is 1 for normalised kernels and comes from the constants `−½ k(y, y)` of others, unless
/// these were corrected for hubs.
fn squared_errors(
    z: &[f32],
    gold: &[Option<u32>],
    candidates: &Candidates,
    config: &Checked,
    origin: &Origin,
) -> Result<Option<Vec<f64>>, Error> {
    let normalised = config.output.is_normalised();
    let dim = candidates.dim();
    let from = match origin {
        Origin::Unknown => return Ok(None),
        _ if !normalised && config.decoding.hubs.is_some() => return Ok(None),
        Origin::Zero => vec![0.0; dim],
        Origin::At(point) => point.clone(),
    };
    let one = |(z, gold): (&[f32], &Option<u32>)| {
        let Some(row) = gold.map(|row| row as usize) else { return Ok(None) };
        let target = candidates.point(row)?;
        let (mut apart, mut length) = (0.0, 0.0);
        for ((&z, &target), from) in z.iter().zip(&*target).zip(&from) {
            let target = f64::from(target) + from;
            apart += (f64::from(z) - target).powi(2);
            length += target * target;
        }
        let norm = if normalised { 1.0 } else { -2.0 * f64::from(candidates.constants()[row]) };
        Ok(Some(apart + (norm - length).max(0.0)))
    };
    let errors = z.chunks_exact(dim).zip(gold).map(one).collect::<Result<Vec<_>, Error>>()?;
    Ok(errors.into_iter().collect())
}

/// What answers are decoded with.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    /// What is ranked.
    pub candidates: &'a Candidates,
    /// From where the candidates' coordinates count.
    pub origin: &'a Origin,
    /// Finds the predicted outputs, where they need not be candidates.
    pub exact: Option<&'a ExactDecoder<'a>>,
}

impl Decoder<'_> {
    /// The predicted output of each query where it need not be a candidate: the best of all outputs, or the
    /// label set with the largest expected F1. None where it is the first candidate.
    pub fn beyond(
        &self,
        queries: &Queries,
        pool: Pool,
        config: &Checked,
    ) -> Result<Option<Vec<PredictedOutput>>, Error> {
        let features = &config.output.features;
        match (self.exact, &config.decoding.expected_f1) {
            (Some(exact), _) => exact.best(queries).map(Some),
            (None, Some(settings)) => {
                expected_f1::best(settings, features, queries, self.candidates, pool).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    /// The predicted outputs, as the column of outputs writes them: those [beyond](Self::beyond) the
    /// candidates, or the `first` candidate of each query.
    pub fn predicted(
        &self,
        queries: &Queries,
        pool: Pool,
        config: &Checked,
        first: impl FnOnce() -> Result<Vec<usize>, Error>,
    ) -> Result<Vec<String>, Error> {
        match self.beyond(queries, pool, config)? {
            Some(found) => Ok(found.into_iter().map(|found| found.label).collect()),
            None => {
                let label = |candidate| self.candidates.label(candidate).to_owned();
                Ok(first()?.into_iter().map(label).collect())
            }
        }
    }
}

/// Ranks the right outputs of each query of a split under coordinates `z` `[queries × p]`, and compares
/// the predicted outputs with the truth where that is known.
pub(crate) fn evaluate(
    split: &Split,
    z: &[f32],
    decoder: Decoder,
    pool: Pool,
    config: &Checked,
) -> Result<Evaluation, Error> {
    let Decoder { candidates, origin, .. } = decoder;
    let z = config.decoding.scaled(z, candidates.dim())?;
    let queries = QueryTexts::of(split).queries(candidates.dim(), &z)?;
    let missing = missing_gold(split, config.evaluation.missing_gold);
    let golds = rank_golds(split, &z, candidates, pool, missing)?;
    let metrics = pool.metrics(&golds.ranks, candidates)?;
    let truth = truth_of(split, &golds.ids, candidates, &config.output.features)?;
    let predicted = match truth {
        Some(_) => decoder.predicted(&queries, pool, config, || {
            let first = pool.top_k(&queries, candidates, 1)?;
            Ok(first.iter().flatten().map(|hit| hit.candidate).collect())
        })?,
        None => Vec::new(),
    };
    let rows = golds.rows.clone();
    let found = judged(golds, metrics, &predicted, truth, config)?;
    found.with_answers(&z, &rows, (candidates, origin), config)
}

/// The evaluation with these ranks and predicted outputs.
pub(crate) fn judged(
    golds: RankedGolds,
    metrics: Metrics,
    predicted: &[String],
    truth: Option<Truth>,
    config: &Checked,
) -> Result<Evaluation, Error> {
    let RankedGolds { ranks, ids: golds, .. } = golds;
    let scores = Scores { numbers: config.output.features.are_numbers(), ..metrics.into() };
    let Some(truth) = truth else {
        let queries = QueryValues::default();
        return Ok(Evaluation { scores, ranks, golds, outputs: None, named: None, queries });
    };
    let predicted = predicted.iter().map(String::as_str);
    let outputs = Truth::of_labels(predicted, &config.output.features)?.map(|found| (truth, found));
    let compared = outputs.as_ref().map(|(truth, found)| OutputScores::with_queries(truth, found));
    let (compared, queries) = compared.transpose()?.unzip();
    let scores = Scores { outputs: compared, ..scores };
    let queries = queries.unwrap_or_default();
    Ok(Evaluation { scores, ranks, golds, outputs, named: None, queries })
}

/// The metrics of [`Evaluation::chance`]. Where outputs are compared, one candidate is drawn for each query.
pub(crate) fn chance(
    found: &Evaluation,
    candidates: &Candidates,
    config: &Checked,
) -> Result<Scores, Error> {
    let scores = found.chance()?;
    let Some((truth, _)) = &found.outputs else { return Ok(scores) };
    let mut random = generator(config.seed, "chance", 0);
    let drawn =
        (0..truth.len()).map(|_| candidates.label(random.random_range(0..candidates.len())));
    let drawn = Truth::of_labels(drawn, &config.output.features)?;
    let outputs = drawn.map(|drawn| OutputScores::of(truth, &drawn)).transpose()?;
    Ok(Scores { outputs, ..scores })
}
