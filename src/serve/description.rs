//! Descriptions of models.

use dsokr_basis::RowSource;
use dsokr_core::Processes;
use dsokr_data::config::OutputFeatures;
use dsokr_data::{Inputs, Split};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::Error;
use crate::metrics::metric::Metric;
use crate::run::Run;
use crate::run_dir::Report;

/// The model of an answer.
#[derive(Serialize, ToSchema)]
pub(super) struct About {
    /// Its name.
    pub model: String,
    /// A remark, such as that its run directory has changed since it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A model.
#[derive(Serialize, ToSchema)]
pub(super) struct ModelDescription {
    /// Its name.
    pub name: String,
    /// As of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Its inputs: `texts`, `molecules` or `spectra` as texts, `vectors` or `kernels`.
    pub inputs: &'static str,
    /// The column of its texts in its own tables, for models that read texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// How many numbers a vector has, for models that read vectors, where their validation queries are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// The kind of its candidates.
    pub outputs: Outputs,
    /// The separator of the labels of a set.
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
    /// The names of the further columns of candidates, such as a price, which hits have and filters compare.
    pub columns: Vec<String>,
    /// Whether searches go beyond the candidates where requests do not say it; absent where outputs cannot be searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<bool>,
    /// What the run was trained on: the file that its pairs are drawn from, or the folder of their files; empty for drawn data.
    pub data: String,
    /// The split that the metrics are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Number of queries that the metrics are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<usize>,
    /// Number of the groups of these queries, which intervals draw whole; absent where each query is by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// The candidates that each of these queries was ranked among, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// When the run was evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The metrics of `metrics.json`.
    pub metrics: Vec<NamedMetric>,
    /// Inputs of validation queries, to try: texts, or vectors.
    pub examples: Vec<Example>,
    /// Parts that explanations of answers lack, such as data that are gone.
    pub missing: Vec<String>,
}

/// A kind of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outputs {
    /// Molecules, whose labels are SMILES.
    Molecules,
    /// Graphs, whose labels are JSON.
    Graphs,
    /// Sets of labels.
    Labels,
    /// Classes.
    Classes,
    /// Rankings.
    Rankings,
    /// Numbers.
    Numbers,
    /// Anything else.
    Other,
}

/// A metric with its 95 % interval.
#[derive(Serialize, ToSchema)]
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
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Example {
    /// A text.
    Text(String),
    /// A vector.
    Vector(Vec<f32>),
}

/// Number of examples, and the longest text among them in characters.
const EXAMPLES: usize = 4;
const LONGEST: usize = 300;

/// Returns the kind of the candidates of runs.
pub(super) fn outputs(processes: &Processes, run: &Run) -> Result<Outputs, Error> {
    Ok(match &run.config().output.features {
        OutputFeatures::Molecules(_) => Outputs::Molecules,
        OutputFeatures::Graphs(_) => Outputs::Graphs,
        OutputFeatures::Labels(_) => Outputs::Labels,
        OutputFeatures::Classes(_) => Outputs::Classes,
        OutputFeatures::Rankings(_) => Outputs::Rankings,
        OutputFeatures::Numbers(_) => Outputs::Numbers,
        OutputFeatures::File(_)
        | OutputFeatures::Ngrams(_)
        | OutputFeatures::Substructures(_)
        | OutputFeatures::Source(_) => {
            if run.are_molecules(processes)? {
                Outputs::Molecules
            } else {
                Outputs::Other
            }
        }
    })
}

impl NamedMetric {
    /// Returns the metrics of a run's report.
    pub(super) fn all(report: &Report) -> Vec<Self> {
        let named = |(metric, value): (Metric, f64)| {
            let [low, high] =
                report.intervals.get(metric.name()).map(|ends| ends.map(Some)).unwrap_or_default();
            Self {
                name: metric.name().to_owned(),
                title: metric.title().to_owned(),
                value,
                low,
                high,
            }
        };
        Metric::measured_in(&report.metrics).map(named).collect()
    }
}

/// Returns the first inputs that are not too long to read; the first ones where all are.
pub(super) fn examples(split: &Split) -> Vec<Example> {
    match &split.inputs {
        Inputs::Texts(texts) => {
            let short = texts.iter().filter(|text| text.chars().count() <= LONGEST);
            let chosen: Vec<&String> = short.take(EXAMPLES).collect();
            let chosen = if chosen.is_empty() { texts.iter().take(1).collect() } else { chosen };
            chosen.into_iter().cloned().map(Example::Text).collect()
        }
        Inputs::Vectors(rows) => {
            let count = rows.len().min(EXAMPLES);
            let Ok(block) = rows.block(0..count) else { return Vec::new() };
            (0..count).map(|row| Example::Vector(block.dense_row(row))).collect()
        }
        Inputs::Kernels(_) => Vec::new(),
    }
}
