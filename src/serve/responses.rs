//! What answers hold.

use serde::Serialize;
use utoipa::ToSchema;

use crate::PredictedOutput;
use crate::run::{Hit, Quantile};

/// Answers to a search.
#[derive(Serialize, ToSchema)]
pub(super) struct SearchResponse {
    /// The model.
    pub model: String,
    /// What to know about the model, such as that its run directory has changed since it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// Number of candidates that the filter keeps, duplicates counted.
    pub wanted: usize,
    /// An answer for each query.
    pub answers: Vec<Answer>,
}

/// The answer to a query.
#[derive(Serialize, ToSchema)]
pub(super) struct Answer {
    /// The best candidates, best first. Duplicates are one hit.
    pub hits: Vec<ExplainedHit>,
    /// The predicted output where it need not be a candidate: the best of all outputs, or the label set with the
    /// largest expected F1, with that F1 as its score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<PredictedOutput>,
    /// Predicted quantiles, of models of numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<Quantile>,
    /// How sure the first place is; absent while validation queries are still read, or where they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The training texts nearest to the query by words, with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<Nearest>,
}

/// A candidate with its place among all.
#[derive(Serialize, ToSchema)]
pub(super) struct ExplainedHit {
    /// The candidate, its rank and its score.
    #[serde(flatten)]
    pub hit: Hit,
    /// What is known of it.
    #[serde(flatten)]
    pub properties: Properties,
    /// What it shares with the molecule of each of the nearest training texts, with `explain`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
}

/// A candidate.
#[derive(Serialize, ToSchema)]
pub(super) struct Candidate {
    /// Its id.
    pub id: String,
    /// Its label: the SMILES of a molecule, a set of labels, a ranking, a number or a graph.
    pub label: String,
    /// What is known of it.
    #[serde(flatten)]
    pub properties: Properties,
}

/// What is known of a candidate.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct Properties {
    /// Where PubChem describes it, if ids are its compound ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Properties of a molecule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub molecule: Option<MoleculeProperties>,
}

/// Properties of a molecule.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct MoleculeProperties {
    /// Its formula in Hill's order.
    pub formula: String,
    /// Its molar mass in g/mol.
    pub mass: f64,
    /// Its functional groups.
    pub groups: Vec<String>,
}

/// How often first candidates with such a gap to the next score were right, or with the nearest gaps where no query
/// has such a one.
#[derive(Serialize, ToSchema)]
pub(super) struct Confidence {
    /// The gap of this query, among all candidates.
    pub gap: f32,
    /// Share of these validation queries whose first candidate was right.
    pub right: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of these queries.
    pub queries: usize,
    /// Their smallest gap.
    pub from: f64,
    /// Their largest gap.
    pub to: f64,
}

/// A training pair whose text is near to the query.
#[derive(Serialize, ToSchema)]
pub(super) struct Nearest {
    /// The id of its output.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Cosine similarity of the TF-IDF weights of words, from 0 to 1.
    pub similarity: f64,
    /// The label of its output, where this is a candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// What a candidate shares with a training molecule.
#[derive(Serialize, ToSchema)]
pub(super) struct Shared {
    /// The id of the training molecule.
    pub id: String,
    /// Tanimoto similarity of Morgan fingerprints.
    pub similarity: f64,
    /// Functional groups that both have.
    pub groups: Vec<String>,
    /// Ring systems that both have.
    pub rings: Vec<String>,
}

/// Predicted coordinates.
#[derive(Serialize, ToSchema)]
pub(super) struct EmbedResponse {
    /// The model.
    pub model: String,
    /// As of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// The coordinates of each query, before any scaling of `decoding`.
    pub coordinates: Vec<Vec<f32>>,
}

/// Ranks of candidates.
#[derive(Serialize, ToSchema)]
pub(super) struct RankResponse {
    /// The model.
    pub model: String,
    /// As of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// The ranked candidates of each query, in the order of the request.
    pub answers: Vec<Vec<Ranked>>,
}

/// The rank of a candidate among all.
#[derive(Serialize, ToSchema)]
pub(super) struct Ranked {
    /// The candidate.
    pub id: String,
    /// Number of candidates with a higher score.
    pub above: u64,
    /// Number of candidates with the same score, itself and duplicates included.
    pub tied: u64,
    /// The mean rank over the orders of the ties.
    pub rank: f64,
    /// Its score.
    pub score: f32,
}

/// Candidates.
#[derive(Serialize, ToSchema)]
pub(super) struct CandidatesResponse {
    /// The model.
    pub model: String,
    /// As of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// The candidates, in the order of the request.
    pub candidates: Vec<Candidate>,
}

/// All models.
#[derive(Serialize, ToSchema)]
pub(super) struct ModelsResponse {
    /// The version of the program.
    pub version: String,
    /// The models; the first is the default.
    pub models: Vec<ModelDescription>,
    /// Functional groups that filters know.
    pub groups: Vec<String>,
    /// The most hits for each query.
    pub most_hits: usize,
    /// The most hits of all queries of a request together, and ids to rank.
    pub most_hits_of_all: usize,
    /// The most queries of a request.
    pub most_queries: usize,
    /// The longest text in characters.
    pub longest_text: usize,
}

/// A model.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct ModelDescription {
    /// Its name.
    pub name: String,
    /// As of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// What it reads: `texts`, `vectors` or `kernels`.
    pub inputs: &'static str,
    /// How many numbers a vector has, for models that read vectors, where their validation queries are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// What its candidates are.
    pub outputs: Outputs,
    /// What stands between the labels of a set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// The `kind` of the encoder, of each member of an ensemble.
    pub encoder: Vec<String>,
    /// Names of the members of an ensemble; empty for one model.
    pub members: Vec<String>,
    /// Number of coordinates, of each member.
    pub coordinates: Vec<usize>,
    /// Number of candidates, duplicates counted.
    pub candidates: usize,
    /// The folder of the data that the run was trained on, as its configuration names it; empty for drawn data.
    pub data: String,
    /// The split that the metrics are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Number of queries that the metrics are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<usize>,
    /// When the run was evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The metrics of `metrics.json`.
    pub metrics: Vec<NamedMetric>,
    /// Inputs of validation queries, to try: texts, or vectors.
    pub examples: Vec<Example>,
    /// What explanations of answers lack, such as data that are gone.
    pub missing: Vec<String>,
}

/// What candidates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outputs {
    /// Molecules, whose labels are SMILES.
    Molecules,
    /// Graphs, whose labels are JSON.
    Graphs,
    /// Sets of labels.
    Labels,
    /// Rankings.
    Rankings,
    /// Numbers.
    Numbers,
    /// Anything else.
    Other,
}

/// A metric with its 95 % interval.
#[derive(Clone, Serialize, ToSchema)]
pub(super) struct NamedMetric {
    /// Its name in configurations.
    pub name: String,
    /// Its name in texts.
    pub title: String,
    /// The figure.
    pub value: f64,
    /// Lower end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// An input to try.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Example {
    /// A text.
    Text(String),
    /// A vector.
    Vector(Vec<f32>),
}
