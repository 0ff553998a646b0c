//! The first candidates of a query scored anew, by what the nearest training predictions and the words of its text say of
//! them.

mod features;
mod network;
mod rows;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use dsokr_core::store::{Contents, Stored, Tensor};
use rayon::prelude::*;

pub use features::{Neighbourhood, RerankerFeatures};
use network::Network;
pub use words::{Lexicon, Words};

use dsokr_core::Error;

use crate::blocks::CandidateBlocks;
use crate::candidates::Candidates;
use crate::error::{check_consistent, check_least};
use crate::hits::{RowHit, top_rows};
use crate::queries::Queries;
use crate::scoring::first_by;

const KIND: &str = "reranker";
const VERSION: u32 = 2;
/// The number of examples below which only the first features are used: all of them overfit (notes/accuracy.md).
const FEW: usize = 1000;
/// Metadata keys.
const SIZE: &str = "candidates";
const NEIGHBOURS: &str = "neighbours";

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

/// One of the first rows of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'c> {
    /// The candidates that it is a row of.
    pub candidates: &'c Candidates,
    pub row: usize,
    pub score: f32,
    /// Whether it is a row of the candidates, not of further outputs.
    pub is_candidate: bool,
}

impl<'c> Seen<'c> {
    pub fn candidate(candidates: &'c Candidates, row: usize, score: f32) -> Self {
        Self { candidates, row, score, is_candidate: true }
    }
}

/// Queries whose gold is known, with the features of their first candidates.
#[derive(Clone, Debug)]
pub struct RerankerExamples {
    size: usize,
    /// Whether the features include those of words; none where there are no queries yet.
    words: Option<bool>,
    /// The features of the first rows of each query, row by row, and the position of the gold row.
    queries: Vec<(Vec<f32>, usize)>,
}

impl RerankerExamples {
    /// Creates no queries yet. The first `size` rows of each will count.
    pub fn new(size: usize) -> Self {
        Self { size, words: None, queries: Vec::new() }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Returns the examples behind the first `count`.
    pub fn without_first(&self, count: usize) -> Self {
        let queries = self.queries[count.min(self.len())..].to_vec();
        Self { size: self.size, words: self.words, queries }
    }

    /// Adds the queries whose gold row is among their first rows. Neither the features nor the hubs of the candidates
    /// may have seen the queries' gold outputs.
    ///
    /// # Errors
    /// The errors of [`top_rows`]; [`Error::Inconsistent`] where some examples have words and others do not, unless
    /// there is a gold entry a query, and unless words are for the rows of the candidates; [`Error::Unsupported`] for a
    /// query without text where there are words.
    pub fn add(
        &mut self,
        queries: &Queries,
        gold: &[Option<u32>],
        candidates: &Candidates,
        reranker_features: &RerankerFeatures,
    ) -> Result<(), Error> {
        Error::check_length("gold entries", gold.len(), queries.len())?;
        same_words(self.words, reranker_features)?;
        if let Some(words) = &reranker_features.words {
            Error::check_length("rows of the words", words.rows(), candidates.distinct())?;
        }
        let size = self.size.min(candidates.distinct());
        let lists = top_rows(queries, candidates, size)?;
        let one = |(query, (list, gold)): (usize, (Vec<RowHit>, &Option<u32>))| {
            let place = list.iter().position(|hit| Some(hit.row) == gold.map(|gold| gold as usize));
            let seen = list.iter().map(|hit| Seen::candidate(candidates, hit.row, hit.score));
            let seen: Vec<Seen> = seen.collect();
            let examples_of_query =
                |place| Ok((reranker_features.of(queries, query, &seen)?, place));
            place.map(examples_of_query).transpose()
        };
        let lists = lists.into_par_iter().zip(gold).enumerate();
        let added = lists.map(one).collect::<Result<Vec<_>, Error>>()?;
        self.queries.extend(added.into_iter().flatten());
        self.words = Some(reranker_features.words.is_some());
        Ok(())
    }
}

/// Refuses clues with words for examples without, and the reverse: their features are not the same.
fn same_words(examples: Option<bool>, reranker_features: &RerankerFeatures) -> Result<(), Error> {
    let with = |words| if words { "with" } else { "without" };
    let reranker_features = reranker_features.words.is_some();
    let [with_words, others] = [examples.unwrap_or(reranker_features), reranker_features].map(with);
    let message =
        format_args!("a reranker has examples {with_words} words and features {others} words");
    check_consistent(with_words == others, message)
}

impl Reranker {
    /// The key of the lexicon in the metadata of a file.
    pub const LEXICON: &'static str = "lexicon";

    /// Fits the network to examples. `reranker_features` are for later queries, with words if the examples have words.
    ///
    /// # Errors
    /// [`Error::Inconsistent`] where only one of features and examples has words, for no examples, and for fewer than
    /// two candidates.
    pub fn fit(
        examples: &RerankerExamples,
        reranker_features: RerankerFeatures,
        seed: u64,
    ) -> Result<Self, Error> {
        check_least(examples.size, 2, format_args!("a reranker of {}", examples.size))?;
        check_least(examples.len(), 1, "no query whose gold is among its first candidates")?;
        same_words(examples.words, &reranker_features)?;
        let words = reranker_features.words.is_some();
        let few = examples.len() < FEW;
        let used = |feature| !few || RerankerFeatures::is_first(feature, words);
        let network =
            Network::fit(RerankerFeatures::features(words), used, &examples.queries, seed);
        Ok(Self { size: examples.size, reranker_features, network })
    }

    /// Returns bytes of the examples, and multiplications of [`fit`](Self::fit), with so many queries whose first
    /// `size` rows are scored anew, with words or without.
    pub fn cost(queries: f64, size: f64, words: bool) -> [f64; 2] {
        let rows = queries * size;
        let features = RerankerFeatures::features(words);
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
        first: &[Seen],
        is_single: bool,
    ) -> Result<Vec<f64>, Error> {
        let logits = self.network.logits(&self.reranker_features.of(queries, query, first)?);
        let lowest = first.iter().map(|seen| f64::from(seen.score)).fold(f64::INFINITY, f64::min);
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
        let seen = places.iter().map(|&at| Seen::candidate(candidates, row(at), scores[at]));
        let anew = self.scores(queries, query, &seen.collect::<Vec<_>>(), is_single)?;
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
        Ok(Self { reranker_features: RerankerFeatures { neighbourhood, words }, ..self.clone() })
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
        Contents::new(KIND, VERSION, &metadata, &tensors).write(path)
    }

    /// Opens a file that [`save`](Self::save) wrote, for callers that need its metadata too.
    ///
    /// # Errors
    /// [`Error::File`] for a file that is missing, damaged, or of a different kind or version.
    pub fn open(path: &Path) -> Result<Stored, Error> {
        Stored::open(path, KIND, VERSION)
    }

    /// Reads an open file; see [`open`](Self::open). `lexicon` is read from the [text](Self::LEXICON) in its metadata,
    /// where there is one.
    ///
    /// # Errors
    /// [`Error::File`] when its tensors contradict one another or the lexicon.
    pub fn read(stored: &Stored, lexicon: Option<Arc<dyn Lexicon>>) -> Result<Self, Error> {
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
        let features = RerankerFeatures::features(words.is_some());
        let network = Network::from_weights(features, weights.to_vec()).ok_or_else(|| {
            bad(format!("{count} weights, expected {} finite numbers", Network::size(features)))
        })?;
        Ok(Self { size, reranker_features: RerankerFeatures { neighbourhood, words }, network })
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
