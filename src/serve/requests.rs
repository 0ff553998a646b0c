//! What requests hold.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Queries: exactly one of `texts`, `vectors` and `coordinates`.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
    /// Predicted coordinates, made by any program, for models that are no ensembles.
    pub coordinates: Option<Vec<Vec<f32>>>,
    /// The most hits for each query. With several queries it is limited further: `GET /api/models` has the most hits
    /// of all queries together.
    #[serde(default = "ten")]
    #[schema(default = 10, minimum = 1, maximum = 1000)]
    pub top: usize,
    /// Number of hits to leave out, for further pages.
    #[serde(default)]
    #[schema(default = 0, minimum = 0)]
    pub skip: usize,
    /// Which candidates are wanted.
    pub filter: Option<Filter>,
    /// Whether answers say which training texts are nearest to the query, and what hits share with their
    /// molecules.
    #[serde(default)]
    pub explain: bool,
}

fn ten() -> usize {
    10
}

/// Properties of candidates that are molecules; those that are given must all hold.
#[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    /// A formula, whose elements may be in any order. With `*` at the end: at least these atoms.
    #[schema(example = "C9H8O4")]
    pub formula: Option<String>,
    /// The least molar mass in g/mol.
    pub min_mass: Option<f64>,
    /// The largest molar mass in g/mol.
    pub max_mass: Option<f64>,
    /// Functional groups, by the names that `GET /api/models` lists.
    #[serde(default)]
    #[schema(example = json!(["carboxylic acid"]))]
    pub groups: Vec<String>,
    /// A molecule, as a SMILES.
    #[schema(example = "OC(=O)c1ccccc1Br")]
    pub similar_to: Option<String>,
    /// The least Tanimoto similarity of Morgan fingerprints (radius 2, 2,048 bits) to that molecule.
    #[serde(default = "half")]
    #[schema(default = 0.5, minimum = 0, maximum = 1)]
    pub min_similarity: f64,
}

fn half() -> f64 {
    0.5
}

/// Queries: exactly one of `texts` and `vectors`.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbedRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// The member of an ensemble, by the names that `GET /api/models` lists; an ensemble has no coordinates of
    /// its own.
    pub member: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
}

/// Queries, exactly one of `texts`, `vectors` and `coordinates`, with candidates to rank.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RankRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Texts, for models that read texts.
    #[schema(example = json!(["A carboxylic acid with a bromine atom on a benzene ring."]))]
    pub texts: Option<Vec<String>>,
    /// Vectors, for models that read vectors.
    pub vectors: Option<Vec<Vec<f32>>>,
    /// Predicted coordinates, made by any program, for models that are no ensembles.
    pub coordinates: Option<Vec<Vec<f32>>>,
    /// Ids of candidates: a list for each query. `GET /api/models` has the most ids of all lists together.
    #[schema(example = json!([["60726"]]))]
    pub ids: Vec<Vec<String>>,
}

/// Candidates by id.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CandidatesRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// Ids.
    #[schema(example = json!(["60726"]))]
    pub ids: Vec<String>,
}

/// A search of one query, for a file.
#[derive(Deserialize, Serialize, ToSchema)]
pub(super) struct ExportRequest {
    /// The form of the file.
    pub format: Format,
    /// The search.
    pub search: SearchRequest,
}

/// The form of an exported file.
#[derive(Clone, Copy, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    /// Fields separated by commas.
    Csv,
    /// Molecules with 2D coordinates.
    Sdf,
    /// A SMILES and an id a line.
    Smiles,
}

/// A candidate to draw.
#[derive(Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DrawingRequest {
    /// The name of a model; default: the first one.
    pub model: Option<String>,
    /// The id of the candidate.
    pub id: String,
}
