//! The decoder of one model's predictions.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_basis::kernel::candidate_constant;
use dsokr_core::{Cancellation, Processes};
use dsokr_data::config::{LabelFeatures, NumberFeatures, OutputFeatures, RankingEmbedding};
use dsokr_data::{FittedFeatures, Outputs};
use dsokr_decode::{
    Candidates, DecodedOutput, Encoding, ExactSearch, Pool, Queries, Reranker, RowHit,
    best_expected_f1, top_rows_shared,
};
use dsokr_machines::{OutputSpace as MachineSpace, Scaling};
use rayon::prelude::*;
use serde::Serialize;

use crate::config::{Checked, ExpectedF1Config, Search};
use crate::decoding::beyond::{FoundMolecule, SearchFacts, SearchedModel};
use crate::error::{Error, ensure};
use crate::metrics::constants::Constants;
use crate::metrics::scores::OutputFacts;
use crate::targets::OutputSpace;

/// The parts that predictions are decoded with.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    /// The candidates that are ranked.
    pub candidates: &'a Candidates,
    /// The reranker at the first of them.
    pub reranker: Option<&'a Reranker>,
    /// The space of candidates and predictions, where it is known.
    pub space: Option<&'a OutputSpace>,
    /// The configuration of the model.
    pub config: &'a Checked,
    /// The names of the labels, where outputs are sets of labels.
    pub labels: &'a [String],
    /// How outputs are standardised.
    pub scaling: Option<&'a Scaling>,
    /// The constants that fit the training outputs best, where these are numbers or classes.
    pub constants: Option<&'a Constants>,
    /// The features of the training outputs, by which the kernel compares outputs that are shown by SMILES.
    pub fitted: Option<&'a FittedFeatures>,
    /// The outputs with their rows of features, where the kernel compares them.
    pub held: Option<&'a Outputs>,
}

impl<'a> Decoder<'a> {
    /// Returns the predicted output of each query where it need not be a candidate: the best of all outputs, or the label set
    /// with the largest expected F1. None where it is the first candidate.
    pub fn best_outputs(
        &self,
        processes: &Processes,
        queries: &Queries,
        pool: Pool,
    ) -> Result<Option<Vec<PredictedOutput>>, Error> {
        let features = &self.config.output.features;
        match (self.exact()?, &self.config.decoding.expected_f1) {
            (Some(exact), _) => exact.best(queries).map(Some),
            (None, Some(settings)) => {
                let candidates = self.candidates;
                best_f1_sets(processes, settings, features, queries, candidates, pool).map(Some)
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns what metrics of predicted numbers, classes and sets of labels need to know.
    pub fn facts(&self) -> OutputFacts {
        let (names, positive) = match &self.config.output.features {
            OutputFeatures::Numbers(numbers) => (numbers.targets(), None),
            OutputFeatures::Classes(classes) => (Vec::new(), classes.positive.clone()),
            OutputFeatures::Labels(_) => (self.labels.to_vec(), None),
            OutputFeatures::File(_)
            | OutputFeatures::Ngrams(_)
            | OutputFeatures::Substructures(_)
            | OutputFeatures::Rankings(_)
            | OutputFeatures::Molecules(_)
            | OutputFeatures::Graphs(_)
            | OutputFeatures::Source(_) => (Vec::new(), None),
        };
        OutputFacts { constants: self.constants.cloned(), names, positive }
    }

    /// Returns the search for the best of all outputs; none where predictions are candidates.
    ///
    /// # Errors
    /// Outputs that cannot be searched exactly, such as rankings of too many items.
    pub fn exact(&self) -> Result<Option<ExactDecoder<'a>>, Error> {
        let Self { config, mut labels, scaling, .. } = *self;
        let Some(space) = self.space.filter(|_| config.decoding.search == Search::Exact) else {
            return Ok(None);
        };
        let (width, kernel, machine) = match space {
            OutputSpace::Basis(basis) => (basis.width(), basis.kernel(), None),
            OutputSpace::Machine(space) => (space.rows().1, space.kernel(), Some(space)),
            OutputSpace::Quantiles(_) => return Ok(None),
        };
        let wrong = |allowed| Error::value("decoding.search", "\"exact\"", allowed);
        let (encoding, norm, cells) = match &config.output.features {
            OutputFeatures::Rankings(rankings) => {
                labels = &rankings.items;
                let (encoding, norm) = match rankings.embedding {
                    RankingEmbedding::Kemeny => (Encoding::KemenySigns, width as f64),
                    RankingEmbedding::Hamming => (Encoding::HammingOneHot, width.isqrt() as f64),
                    RankingEmbedding::Lehmer => (Encoding::LehmerCodes, 0.0),
                };
                (encoding, norm, Cells::Rankings)
            }
            OutputFeatures::Labels(features) if labels.len() == width => {
                (Encoding::LabelBits(0..=width), 0.0, Cells::Labels(features))
            }
            OutputFeatures::Labels(_) => {
                return Err(wrong("\"candidates\": the names of the labels are not known"));
            }
            OutputFeatures::Numbers(column) => (Encoding::Numbers, 0.0, Cells::Numbers(column)),
            OutputFeatures::File(_)
            | OutputFeatures::Ngrams(_)
            | OutputFeatures::Substructures(_)
            | OutputFeatures::Classes(_)
            | OutputFeatures::Molecules(_)
            | OutputFeatures::Graphs(_)
            | OutputFeatures::Source(_) => {
                let allowed =
                    "\"candidates\": outputs are neither label sets, rankings nor numbers";
                return Err(wrong(allowed));
            }
        };
        let squared_norm = if kernel.is_normalised() { 1.0 } else { norm };
        let constant = candidate_constant(squared_norm, kernel.is_normalised());
        let search = match (space.basis(), machine.and_then(MachineSpace::outputs)) {
            (Some(basis), _) => ExactSearch::in_basis(basis, encoding)?,
            (None, Some(outputs)) => ExactSearch::on_outputs(kernel, outputs, encoding)?,
            (None, None) => {
                return Err(wrong("\"candidates\": predictions are not weights of outputs"));
            }
        };
        Ok(Some(ExactDecoder { search, machine, constant, labels, cells, scaling }))
    }

    /// Returns the model that scores molecules in a search.
    ///
    /// # Errors
    /// Outputs that are points of no space.
    pub fn searched(&self) -> Result<SearchedModel<'a>, Error> {
        let allowed = "absent: outputs are points of no space";
        let none = || Error::value("decoding.beyond", "given", allowed);
        let Self { candidates, config, .. } = *self;
        Ok(SearchedModel { candidates, space: self.space.ok_or_else(none)?, config })
    }

    /// Returns the predicted outputs, as the column of outputs writes them: the [best outputs](Self::best_outputs), or
    /// the `first` candidate of each query.
    pub fn predicted(
        &self,
        processes: &Processes,
        queries: &Queries,
        pool: Pool,
        first: impl Iterator<Item = usize>,
    ) -> Result<Vec<String>, Error> {
        match self.best_outputs(processes, queries, pool)? {
            Some(outputs) => Ok(outputs.into_iter().map(|output| output.label).collect()),
            None => {
                Ok(first.map(|candidate| self.candidates.label(candidate).to_owned()).collect())
            }
        }
    }
}

impl From<FoundMolecule> for PredictedOutput {
    fn from(molecule: FoundMolecule) -> Self {
        Self { label: molecule.smiles, score: molecule.score, search: Some(molecule.facts) }
    }
}

/// An output that is predicted without candidates.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct PredictedOutput {
    /// The output as the column of outputs writes it.
    pub label: String,
    /// `⟨z, ψ̃(y)⟩ + b(y)`, as candidates are scored; with `decoding.expected_f1` the expected F1, and with
    /// `decoding.beyond` less the weighted share that the basis does not know.
    pub score: f64,
    /// Facts of the search that found it.
    #[serde(flatten)]
    pub search: Option<SearchFacts>,
}

/// Finds the output with the highest score for each prediction.
pub(crate) struct ExactDecoder<'a> {
    search: ExactSearch<'a>,
    /// The output space of a kernel machine, in which candidates count from μ.
    machine: Option<&'a MachineSpace>,
    /// `b(y)` of a ranking, the same for all.
    constant: f64,
    /// Names of the labels, in the order of their columns, or of ranked items; empty for items without names.
    labels: &'a [String],
    cells: Cells<'a>,
    /// How numbers are standardised.
    scaling: Option<&'a Scaling>,
}

/// How predictions become numbers in the units of the data: `z · matrix + means`.
pub(crate) struct NumberMap {
    /// The columns of the numbers.
    pub names: Vec<String>,
    /// A row for each coordinate and a column for each number, row-major.
    pub matrix: Vec<f32>,
    /// The means of the numbers, by which they are standardised; zeros where they are not.
    pub means: Vec<f32>,
}

/// What the cells of the column of outputs hold, and how they are written.
#[derive(Clone, Copy)]
enum Cells<'a> {
    Labels(&'a LabelFeatures),
    Rankings,
    Numbers(&'a NumberFeatures),
}

impl ExactDecoder<'_> {
    /// Returns an output as the column of outputs writes it.
    fn label(&self, output: &DecodedOutput) -> String {
        let names = || -> Vec<&str> {
            output.parts.iter().map(|&at| self.labels[at as usize].as_str()).collect()
        };
        match self.cells {
            Cells::Labels(features) => features.cell(&names()),
            Cells::Rankings if self.labels.is_empty() => {
                let ranks = output.ranks();
                let ranks: Vec<String> = ranks.iter().map(|rank| (rank + 1).to_string()).collect();
                ranks.join(" ")
            }
            Cells::Rankings => names().join(">"),
            Cells::Numbers(column) => {
                let restored = self.scaling.map(|scaling| scaling.restore(&output.numbers));
                column.cell(restored.as_ref().unwrap_or(&output.numbers))
            }
        }
    }

    /// Returns how predictions of `dim` coordinates become numbers; none where outputs are not numbers.
    ///
    /// # Errors
    /// As [`best`](Self::best).
    pub fn number_map(&self, dim: usize) -> Result<Option<NumberMap>, Error> {
        let Cells::Numbers(features) = self.cells else { return Ok(None) };
        // the best numbers are linear in the prediction: those of each axis are a row of the matrix
        let mut axes = vec![0.0f32; dim * dim];
        axes.iter_mut().step_by(dim + 1).for_each(|diagonal| *diagonal = 1.0);
        let rows = self.decoded(&Queries::new(dim, &axes)?)?;
        let numbers = rows.first().map_or(0, |row| row.numbers.len());
        let deviations = self.scaling.map_or_else(|| vec![1.0; numbers], Scaling::deviations);
        let means = self.scaling.and_then(Scaling::means);
        let means = means.map_or_else(|| vec![0.0; numbers], <[f64]>::to_vec);
        let in_their_units = |row: &DecodedOutput| -> Vec<f32> {
            let pairs = row.numbers.iter().zip(&deviations);
            pairs.map(|(&number, deviation)| (f64::from(number) * deviation) as f32).collect()
        };
        Ok(Some(NumberMap {
            names: features.column.names().map(str::to_owned).collect(),
            matrix: rows.iter().flat_map(in_their_units).collect(),
            means: means.into_iter().map(|mean| mean as f32).collect(),
        }))
    }

    /// Returns the best output for each prediction, in the features of the outputs.
    fn decoded(&self, queries: &Queries) -> Result<Vec<DecodedOutput>, Error> {
        match self.machine.and_then(|space| space.restored(queries.rows())) {
            Some((dim, rows)) => Ok(self.search.best(&Queries::new(dim, &rows)?)?),
            None => Ok(self.search.best(queries)?),
        }
    }

    /// Returns the best output for each prediction.
    ///
    /// # Errors
    /// Predictions of a different number of coordinates, or whose weights overflow.
    pub fn best(&self, queries: &Queries) -> Result<Vec<PredictedOutput>, Error> {
        let rows = queries.rows().chunks_exact(queries.dim());
        let best = self.decoded(queries)?;
        let centre = self.machine.map_or(&[][..], |space| space.centre());
        let output = |(best, z): (DecodedOutput, &[f32])| {
            let centre: f64 = z.iter().zip(centre).map(|(&z, mean)| f64::from(z) * mean).sum();
            let label = self.label(&best);
            PredictedOutput { label, score: best.score + self.constant - centre, search: None }
        };
        Ok(best.into_iter().zip(rows).map(output).collect())
    }
}

/// Returns the label set with the largest expected F1 of each query, with that F1 as its score.
///
/// # Errors
/// Lists of candidates of the queries' own; scores that are not finite.
fn best_f1_sets(
    processes: &Processes,
    settings: &ExpectedF1Config,
    features: &OutputFeatures,
    queries: &Queries,
    candidates: &Candidates,
    pool: Pool,
) -> Result<Vec<PredictedOutput>, Error> {
    let allowed = "absent: with decoding.expected_f1 queries share the candidates";
    ensure(matches!(pool, Pool::Shared), "evaluation.candidates", "given", allowed)?;
    let count = settings.candidates.min(candidates.distinct());
    let hits = top_rows_shared(processes, queries, candidates, count)?;
    let rows: BTreeSet<usize> = hits.iter().flatten().map(|hit| hit.row).collect();
    let label = |&row: &usize| {
        let first = candidates.members(row as u32).first().copied();
        first.map_or("", |candidate| candidates.label(candidate as usize))
    };
    let OutputFeatures::Labels(features) = features else {
        let allowed = "\"labels\", with decoding.expected_f1";
        return Err(Error::value("output.features.kind", "of no label sets", allowed));
    };
    let sets: Vec<Vec<String>> = rows.iter().map(|row| features.set(label(row))).collect();
    let names: BTreeSet<&str> = sets.iter().flatten().map(String::as_str).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let columns: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let columns_of = |set: &Vec<String>| -> Vec<u32> {
        let distinct: BTreeSet<u32> = set.iter().map(|label| columns[label.as_str()]).collect();
        distinct.into_iter().collect()
    };
    let sets: BTreeMap<usize, Vec<u32>> =
        rows.iter().copied().zip(sets.iter().map(columns_of)).collect();
    let cancellation = Cancellation::current();
    let one = |hits: &Vec<RowHit>| {
        cancellation.check()?;
        let most = hits.first().map_or(0.0, |hit| f64::from(hit.score));
        let weight = |score: f32| ((f64::from(score) - most) / settings.temperature).exp();
        let outcomes: Vec<(f64, &[u32])> =
            hits.iter().map(|hit| (weight(hit.score), &sets[&hit.row][..])).collect();
        let best = best_expected_f1(&outcomes)?;
        let names: Vec<&str> = best.parts.iter().map(|&label| names[label as usize]).collect();
        Ok(PredictedOutput { label: features.cell(&names), score: best.score, search: None })
    };
    hits.par_iter().map(one).collect()
}
