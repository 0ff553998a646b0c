//! The first candidates of a query scored anew, by what the nearest training predictions, the words of its text and further
//! evidence in it say of them.

mod evidence;
mod examples;
mod features;
mod network;
mod rows;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::store::{Contents, Stored, Tensor};
pub use evidence::Evidence;
pub use examples::RerankerExamples;
use examples::same_kinds;
use features::FeatureKinds;
pub use features::{Neighbourhood, RerankerFeatures};
use network::Network;
pub use words::{Lexicon, Words};

use dsokr_core::Error;

use crate::blocks::CandidateBlocks;
use crate::candidates::Candidates;
use crate::error::{check_consistent, check_least};
use crate::queries::Queries;
use crate::scoring::first_by;

const KIND: &str = "reranker";
const VERSION: u32 = 2;
/// The number of examples below which only the first features are used: all of them overfit (notes/accuracy.md).
const FEW: usize = 1000;
/// Metadata keys.
const SIZE: &str = "candidates";
const NEIGHBOURS: &str = "neighbours";
/// The tensor with the text of the evidence.
const EVIDENCE: &str = "evidence";

/// Scores the first candidates of each query anew.
///
/// A ridge regression weighs all training pairs alike. The reranker compares a query with the training pairs whose
/// held-out predictions lie nearest to the prediction of the query: [`Neighbourhood`] has the features of a candidate,
/// to which [`Words`] add what the query's text says about it. The mean over the first candidates of a query is
/// subtracted from each feature, and the rank of a feature among them is a feature too. A network of one hidden layer,
/// the same for every candidate, maps the features to u(c). It is fitted by maximum likelihood, the softmax of u over
/// the first candidates of a query ([`Reranker::fit`]).
///
/// The first `size` distinct rows of a query are ordered by u and have the scores `s₀ + 1 / (1 + max u − u(c))`, where
/// s₀ is the lowest score among them before. All others keep score and rank, and so does a query's set of first rows.
/// [`Ensemble::with_rerankers`](crate::Ensemble::with_rerankers) applies it. In an ensemble of several members
/// the first rows of a member have the scores `s₀ + (u(c) − min u) / 30` instead, which are on the scale of its other
/// rows: a logit of an unseen query grows by about 30 with each unit of a score.
#[derive(Clone, Debug, PartialEq)]
pub struct Reranker {
    size: usize,
    reranker_features: RerankerFeatures,
    network: Network,
}

/// One of the first rows of a query, which a reranker scores anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstRow<'c> {
    /// The candidates that it is a row of.
    pub candidates: &'c Candidates,
    pub row: usize,
    pub score: f32,
    /// Whether it is a row of the candidates, not of further outputs.
    pub is_candidate: bool,
}

impl<'c> FirstRow<'c> {
    pub fn candidate(candidates: &'c Candidates, row: usize, score: f32) -> Self {
        Self { candidates, row, score, is_candidate: true }
    }

    /// Returns the label of the first candidate of the row.
    pub fn label(&self) -> &'c str {
        self.candidates.label(self.candidates.members(self.row as u32)[0] as usize)
    }
}

impl Reranker {
    /// The key of the lexicon in the metadata of a file.
    pub const LEXICON: &'static str = "lexicon";

    /// Fits the network to examples. `reranker_features` are for later queries, with words and evidence if the examples
    /// have them.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] where only one of features and examples has words or evidence; [`Error::TooFew`] for no
    /// examples, and for fewer than two candidates; [`Error::Cancelled`].
    pub fn fit(
        examples: &RerankerExamples,
        reranker_features: RerankerFeatures,
        seed: u64,
    ) -> Result<Self, Error> {
        check_least(examples.size, 2, format_args!("a reranker of {}", examples.size))?;
        check_least(examples.len(), 1, "no query whose gold is among its first candidates")?;
        same_kinds(examples.kinds, &reranker_features)?;
        let kinds = reranker_features.kinds();
        let few = examples.len() < FEW;
        let used = |feature| !few || kinds.is_first(feature);
        let network = Network::fit(kinds.features(), used, &examples.queries, seed)?;
        Ok(Self { size: examples.size, reranker_features, network })
    }

    /// Returns bytes of the examples, and multiplications of [`fit`](Self::fit), with so many queries whose first
    /// `size` rows are scored anew, with words or without, and with so many numbers of evidence.
    pub fn cost(queries: f64, size: f64, words: bool, evidence: usize) -> [f64; 2] {
        let rows = queries * size;
        let features = FeatureKinds { words, evidence, first_evidence: 0 }.features();
        [4.0 * rows * features as f64, rows * Network::multiplications(features) as f64]
    }

    /// Returns how many distinct rows of a query are scored anew.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the dimension p of queries.
    pub fn dim(&self) -> usize {
        self.reranker_features.neighbourhood.dim
    }

    /// Returns the words that texts of queries are compared with candidates by.
    pub fn words(&self) -> Option<&Words> {
        self.reranker_features.words.as_ref()
    }

    /// Returns the further evidence in texts of queries.
    pub fn evidence(&self) -> Option<&dyn Evidence> {
        self.reranker_features.evidence.as_deref()
    }

    /// Returns whether queries need a text, by which candidates are compared.
    pub fn reads_texts(&self) -> bool {
        self.words().is_some() || self.evidence().is_some()
    }

    /// Sets the candidates, whose labels are compared with words.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] for candidates of a different dimension.
    pub fn among(mut self, candidates: &Candidates) -> Result<Self, Error> {
        let rows = candidates.distinct();
        let fit = |words: Words| if words.rows() == rows { words } else { words.for_rows(rows) };
        self.reranker_features.words = self.reranker_features.words.map(fit);
        self.check(candidates)?;
        Ok(self)
    }

    /// Refuses candidates of a different dimension, and others than its words are compared with.
    pub(crate) fn check(&self, candidates: &Candidates) -> Result<(), Error> {
        let dim = self.dim();
        let expected = candidates.dim();
        let queries = format_args!("a reranker of queries of dimension {dim}");
        let message = format_args!("{queries}, candidates of dimension {expected}");
        check_consistent(dim == expected, message)?;
        let rows = self.words().map_or(candidates.distinct(), Words::rows);
        Error::check_length("rows of the words", rows, candidates.distinct())
    }

    /// Scores the first rows of a query anew; they are given best first. The scores of a single model only order its
    /// rows. The scores of a member of an ensemble are on the scale of its other rows, so that members can be combined.
    pub(crate) fn scores(
        &self,
        queries: &Queries,
        query: usize,
        first: &[FirstRow],
        is_single: bool,
    ) -> Result<Vec<f64>, Error> {
        let logits = self.network.logits(&self.reranker_features.of(queries, query, first)?);
        let lowest = first.iter().map(|row| f64::from(row.score)).fold(f64::INFINITY, f64::min);
        let best = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = logits.iter().copied().fold(f64::INFINITY, f64::min);
        let score = |logit| {
            if is_single {
                lowest + 1.0 / (1.0 + best - logit)
            } else {
                lowest + (logit - least) / network::SCORE
            }
        };
        Ok(logits.into_iter().map(score).collect())
    }

    /// Replaces the scores of the first rows of a query among those of more rows; `row` gives the row of a score.
    pub(crate) fn rescore(
        &self,
        queries: &Queries,
        query: usize,
        row: impl Fn(usize) -> usize,
        scores: &mut [f32],
        candidates: &Candidates,
        is_single: bool,
    ) -> Result<(), Error> {
        let places = first_by((0..scores.len()).collect(), self.size, |&a: &usize, &b| {
            scores[b].total_cmp(&scores[a]).then(a.cmp(&b))
        });
        let Some(&last) = places.last() else { return Ok(()) };
        let lowest = scores[last];
        let first_rows =
            places.iter().map(|&at| FirstRow::candidate(candidates, row(at), scores[at]));
        let anew = self.scores(queries, query, &first_rows.collect::<Vec<_>>(), is_single)?;
        for (at, score) in places.into_iter().zip(in_single_precision(&anew, lowest)) {
            scores[at] = score;
        }
        Ok(())
    }

    /// Returns the same for other candidates, in coordinates with a different origin, which are larger by `by`: outputs
    /// are moved, and predictions are moved and scaled to unit length again.
    ///
    /// # Errors
    /// [`Error::Shape`] for a different number of coordinates; the errors of [`Queries::new`].
    pub fn moved(&self, by: &[f32]) -> Result<Self, Error> {
        let Neighbourhood { dim, predictions, outputs, neighbours } =
            &self.reranker_features.neighbourhood;
        Error::check_length("coordinates of the origin", by.len(), *dim)?;
        let moved = |rows: &[f32]| -> Vec<f32> {
            rows.iter().zip(by.iter().cycle()).map(|(value, by)| value + by).collect()
        };
        let predictions = Queries::new(*dim, &moved(predictions))?.normalised();
        let neighbourhood = Neighbourhood::new(*dim, predictions, moved(outputs), *neighbours)?;
        let words = self.reranker_features.words.clone().map(|words| words.for_rows(0));
        let evidence = self.reranker_features.evidence.clone();
        let reranker_features = RerankerFeatures { neighbourhood, words, evidence };
        Ok(Self { reranker_features, ..self.clone() })
    }

    /// Returns the held-out predictions that queries are compared with, at unit length, `[n × p]`.
    pub fn predictions(&self) -> &[f32] {
        &self.reranker_features.neighbourhood.predictions
    }

    /// Writes a file with `metadata`: versioned, checksummed, replaced atomically.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: &Path, metadata: &BTreeMap<String, String>) -> Result<(), Error> {
        let Neighbourhood { dim, predictions, outputs, neighbours } =
            &self.reranker_features.neighbourhood;
        let shape = [predictions.len() / dim, *dim];
        let weights = &self.network.weights;
        let mut tensors = vec![
            Tensor::f32("answers", &shape, predictions),
            Tensor::f32("outputs", &shape, outputs),
            Tensor::f64("weights", &[weights.len()], weights),
        ];
        let mut metadata = metadata.clone();
        metadata.insert(SIZE.to_owned(), self.size.to_string());
        metadata.insert(NEIGHBOURS.to_owned(), neighbours.to_string());
        if let Some(words) = self.words() {
            let weights = words.weights.as_flattened();
            metadata.insert(Self::LEXICON.to_owned(), words.lexicon().text().to_owned());
            tensors.push(Tensor::f64("words", &[weights.len() / 4, 4], weights));
        }
        let evidence = self.evidence().map(Evidence::text);
        if let Some(evidence) = &evidence {
            tensors.push(Tensor::u8(EVIDENCE, &[evidence.len()], evidence.as_bytes()));
        }
        Contents::new(KIND, VERSION, &metadata, &tensors).write(path)
    }

    /// Opens a file that [`save`](Self::save) wrote, for callers that need its metadata too.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is missing, damaged, or of a different kind or version.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        Stored::open(path, KIND, VERSION)
    }

    /// Returns the [text](Evidence::text) of the evidence of an open file; none where it has none.
    ///
    /// # Errors
    /// [`Error::File`] for bytes that are no text.
    pub fn evidence_text(stored: &Stored) -> Result<Option<String>, Error> {
        if !stored.has(EVIDENCE) {
            return Ok(None);
        }
        let (_, bytes) = stored.read::<u8>(EVIDENCE, 1)?;
        let text = String::from_utf8(bytes.to_vec());
        Ok(Some(text.map_err(|error| Error::file(stored.path(), error.to_string()))?))
    }

    /// Reads an open file; see [`open`](Self::open). `lexicon` is read from the [text](Self::LEXICON) in its metadata,
    /// where there is one, and `evidence` from [its text](Self::evidence_text).
    ///
    /// # Errors
    /// [`Error::File`] when its tensors contradict one another, the lexicon or the evidence.
    pub fn read(
        stored: &Stored,
        lexicon: Option<Arc<dyn Lexicon>>,
        evidence: Option<Arc<dyn Evidence>>,
    ) -> Result<Self, Error> {
        let bad = |reason: String| Error::file(stored.path(), reason);
        let (shape, predictions) = stored.read::<f32>("answers", 2)?;
        let (_, outputs) = stored.read::<f32>("outputs", 2)?;
        let (_, weights) = stored.read::<f64>("weights", 1)?;
        let size = stored.parsed(SIZE, "a number")?;
        let neighbours = stored.parsed(NEIGHBOURS, "a number")?;
        let predictions = predictions.to_vec();
        let outputs = outputs.to_vec();
        let neighbourhood = Neighbourhood::new(shape[1], predictions, outputs, neighbours)
            .map_err(|error| bad(error.to_string()))?;
        let words = match lexicon {
            None => None,
            Some(lexicon) => {
                let (shape, values) = stored.read::<f64>("words", 2)?;
                let expected = lexicon.len();
                Some(Words::from_weights(lexicon, &values).ok_or_else(|| {
                    bad(format!(
                        "weights of words {shape:?}, expected finite numbers [{expected}, 4]"
                    ))
                })?)
            }
        };
        let count = weights.len();
        let reranker_features = RerankerFeatures { neighbourhood, words, evidence };
        let features = reranker_features.kinds().features();
        let network = Network::from_weights(features, weights.to_vec()).ok_or_else(|| {
            bad(format!("{count} weights, expected {} finite numbers", Network::size(features)))
        })?;
        Ok(Self { size, reranker_features, network })
    }
}

/// Rounds new scores of a query's first rows to f32, in the same order: where rounding would make two of them equal, the
/// higher one is the next number above. So it is with `lowest`, the score that rows behind the first ones may have: a
/// new score above it stays above it.
fn in_single_precision(scores: &[f64], lowest: f32) -> Vec<f32> {
    let mut ascending: Vec<usize> = (0..scores.len()).collect();
    ascending.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut single = vec![0.0f32; scores.len()];
    let mut score_below = f64::from(lowest);
    let mut single_below = lowest;
    for at in ascending {
        if scores[at] > score_below {
            single_below = (scores[at] as f32).max(single_below.next_up());
            score_below = scores[at];
        }
        single[at] = single_below;
    }
    single
}
