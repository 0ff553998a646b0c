//! Exact decoding: the predicted output is the best of all label sets, or of all rankings.

use std::path::Path;

use dsokr_basis::features::LabelVocabulary;
use dsokr_basis::store::{read_text, write_atomically};
use dsokr_data::config::{OutputFeatures, RankingEmbedding};
use dsokr_data::{Outputs, Truth};
use dsokr_decode::{Encoding, ExactSearch, PreImage, Queries};
use serde::Serialize;

use crate::Error;
use crate::config::{Checked, Search};
use crate::run_files::LABELS;
use crate::targets::OutputSpace;

/// An output that is predicted without candidates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct PredictedOutput {
    /// The output as the column of outputs writes it.
    pub label: String,
    /// `⟨z, ψ̃(y)⟩ + b(y)`, as candidates are scored; with `decoding.expected_f1` the expected F1.
    pub score: f64,
}

/// Finds the output with the highest score for each prediction.
pub(crate) struct ExactDecoder<'a> {
    search: ExactSearch<'a>,
    /// μ, from where candidates count; empty for zero.
    centre: &'a [f64],
    /// `b(y)` of a ranking, the same for all.
    constant: f64,
    /// Names of the labels, in the order of their columns; empty for rankings.
    labels: Vec<String>,
    separator: char,
}

impl<'a> ExactDecoder<'a> {
    /// The decoder of a configuration; none where predictions are candidates.
    ///
    /// # Errors
    /// Outputs that cannot be searched exactly, such as rankings of too many items.
    pub fn new(
        config: &Checked,
        space: &'a OutputSpace,
        labels: &[String],
    ) -> Result<Option<Self>, Error> {
        match config.decoding.search {
            Search::Candidates => return Ok(None),
            Search::Exact => {}
        }
        let (width, kernel, centre): (_, _, &[f64]) = match space {
            OutputSpace::Basis(basis) => (basis.row_width(), basis.kernel(), &[]),
            OutputSpace::Machine(space) => (space.rows().1, space.kernel(), space.centre()),
            OutputSpace::Quantiles(_) => return Ok(None),
        };
        let wrong = |allowed| Error::value("decoding.search", "\"exact\"", allowed);
        let (encoding, norm, separator) = match &config.output.features {
            OutputFeatures::Rankings(rankings) => match rankings.embedding {
                RankingEmbedding::Kemeny => (Encoding::KemenySigns, width as f64, ' '),
                RankingEmbedding::Hamming => (Encoding::HammingOneHot, width.isqrt() as f64, ' '),
            },
            OutputFeatures::Labels(features) if labels.len() == width => {
                (Encoding::LabelBits(0..=width), 0.0, features.separator)
            }
            OutputFeatures::Labels(_) => {
                return Err(wrong("\"candidates\": the names of the labels are not known"));
            }
            OutputFeatures::File(_)
            | OutputFeatures::Ngrams(_)
            | OutputFeatures::Substructures(_)
            | OutputFeatures::Numbers(_)
            | OutputFeatures::Molecules(_)
            | OutputFeatures::Graphs(_)
            | OutputFeatures::Source(_) => {
                return Err(wrong("\"candidates\": outputs are neither label sets nor rankings"));
            }
        };
        let constant = if kernel.is_normalised() { 0.0 } else { -0.5 * norm };
        let search = match (space.basis(), space) {
            (Some(basis), _) => ExactSearch::in_basis(basis, encoding)?,
            (None, OutputSpace::Machine(space)) if let Some(outputs) = space.outputs() => {
                ExactSearch::on_outputs(kernel, outputs, encoding)?
            }
            (None, _) => return Err(wrong("\"candidates\": answers have no outputs")),
        };
        Ok(Some(Self { search, centre, constant, labels: labels.to_vec(), separator }))
    }

    /// The best output for each prediction.
    ///
    /// # Errors
    /// Predictions of another number of coordinates, or whose weights overflow.
    pub fn best(&self, queries: &Queries) -> Result<Vec<PredictedOutput>, Error> {
        let found = self.search.best(queries)?;
        let rows = queries.rows().chunks_exact(queries.dim());
        let output = |(found, z): (PreImage, &[f32])| {
            let centre: f64 = z.iter().zip(self.centre).map(|(&z, mean)| f64::from(z) * mean).sum();
            match found {
                PreImage::Ranking(ranking) => {
                    let ranks: Vec<String> =
                        ranking.ranks().iter().map(|rank| (rank + 1).to_string()).collect();
                    let score = ranking.score + self.constant - centre;
                    PredictedOutput { label: ranks.join(" "), score }
                }
                PreImage::Labels(set) => {
                    let names: Vec<&str> = set
                        .labels
                        .iter()
                        .map(|&label| self.labels[label as usize].as_str())
                        .collect();
                    let label = names.join(&self.separator.to_string());
                    PredictedOutput { label, score: set.score - centre }
                }
            }
        };
        Ok(found.into_iter().zip(rows).map(output).collect())
    }
}

/// The names of the labels of outputs, where the configuration needs them to write predicted sets.
pub(crate) fn label_names(config: &Checked, outputs: &Outputs) -> Result<Vec<String>, Error> {
    match (config.decoding.search, &outputs.truth) {
        (Search::Exact, Some(Truth::Labels(sets))) => {
            Ok(LabelVocabulary::fit(sets)?.names().map(str::to_owned).collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Writes the names of labels into the run at `run`, where there are any.
pub(crate) fn save_labels(run: &Path, labels: &[String]) -> Result<(), Error> {
    if labels.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string(labels).map_err(|e| Error::Serialise(e.to_string()))?;
    Ok(write_atomically(&run.join(LABELS), |out| out.write_all(text.as_bytes()))?)
}

/// Reads the names of labels of the run at `run`; none where they are not needed.
pub(crate) fn load_labels(run: &Path, config: &Checked) -> Result<Vec<String>, Error> {
    if config.decoding.search == Search::Candidates || !config.output.features.are_labels() {
        return Ok(Vec::new());
    }
    let file = run.join(LABELS);
    let text = read_text(&file).map_err(|e| Error::reading(&file, &e))?;
    serde_json::from_str(&text).map_err(|e| Error::Run { path: file, message: e.to_string() })
}
