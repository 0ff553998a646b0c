//! All numbers that the network has of a candidate: what the training pairs nearest to a query say of it, words and further
//! evidence.

use std::borrow::Cow;
use std::sync::Arc;

use dsokr_core::Error;

use super::FirstRow;
use super::evidence::Evidence;
use super::rows::{AGREEMENT, agreement, among_rows, largest, length, mean, product, products};
use super::words::Words;
use crate::error::{check_whole_rows, ensure_allowed};
use crate::queries::Queries;
use crate::scoring::first_by;

/// Sharpness T of the weights of neighbours, `∝ exp(T ⟨z, z_i⟩)`: from nearly equal weights to only the nearest.
const SHARPNESS: [f64; 5] = [2.0, 5.0, 10.0, 20.0, 40.0];

/// Training pairs whose predictions are compared with several queries before the next ones are read.
const BLOCK: usize = 64;

/// Equal parts of the coordinates whose cosines are features, and of neighbours how many have one of their own.
const BANDS: usize = 6;
const FIRST: usize = 3;

/// Number of features of a candidate.
const FEATURES: usize = MEANS + FIRST + 5 + BANDS + AGREEMENT;

/// Number of the first of them, which few examples suffice for: scores, similarities and means.
const MEANS: usize = 4 + 2 * SHARPNESS.len();

/// Training pairs to compare later queries with: held-out predictions z_i at unit length, and outputs ψ_i.
///
/// The neighbours of a query z are the k pairs with the largest `w_i = ⟨z, z_i⟩`. The features of a candidate c are
///
/// - its score and its constant b(c);
/// - `max_i w_i ⟨ψ_i, ψ̃(c)⟩` and `max_i ⟨ψ_i, ψ̃(c)⟩`: whether some neighbour's output is like it;
/// - `⟨Σ_i e_i ψ_i, ψ̃(c)⟩` and `⟨Σ_i e_i z_i, ψ̃(c)⟩` with `e_i ∝ exp(T w_i)`, Σ e_i = 1, for T = 2, 5, 10, 20 and 40:
///   the mean of the outputs around the query, and the mean of the predictions, whose difference is the error
///   that the model makes there;
/// - the cosines `m_i` of ψ_i and ψ̃(c): m_1, m_2 and m_3, `max_i m_i`, `max_i w_i m_i`, the largest of five, the mean
///   and the mean of twenty;
/// - `⟨z_B, ψ̃_B(c)⟩ / |ψ̃_B(c)|` for each sixth B of the coordinates, which the basis sorts from coarse to fine;
/// - how alike it is to the other first candidates by their cosines: the means with weights `∝ exp(T s)` by the scores s
///   for T = 10 and 40, the largest, and the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbourhood {
    pub(super) dim: usize,
    /// z_i, `[n × p]`.
    pub(super) predictions: Vec<f32>,
    /// ψ_i, `[n × p]`.
    pub(super) outputs: Vec<f32>,
    /// k.
    pub(super) neighbours: usize,
}

impl Neighbourhood {
    /// Takes the held-out predictions and outputs of n training pairs, `[n × p]` row-major; a query has `neighbours`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there are 1 to n neighbours; for as many outputs as predictions;
    /// for a dimension of 0; [`Error::NotFiniteAt`].
    pub fn new(
        dim: usize,
        predictions: Vec<f32>,
        outputs: Vec<f32>,
        neighbours: usize,
    ) -> Result<Self, Error> {
        for rows in [&predictions, &outputs] {
            Queries::new(dim, rows)?;
        }
        check_whole_rows("predictions", predictions.len(), dim)?;
        Error::check_length("values of outputs", outputs.len(), predictions.len())?;
        let pairs = predictions.len() / dim;
        let holds = (1..=pairs).contains(&neighbours);
        let found = format_args!("{neighbours} neighbours");
        ensure_allowed(holds, found, format_args!("1 to {pairs}, the number of pairs"))?;
        Ok(Self { dim, predictions, outputs, neighbours })
    }

    /// Returns the features of the first rows of a query with its nearest pairs, `[rows × FEATURES]`.
    fn features(&self, z: &[f32], first: &[FirstRow], nearest: &[Near]) -> Result<Vec<f32>, Error> {
        let p = self.dim;
        let mut means: Vec<Vec<f32>> = Vec::with_capacity(2 * SHARPNESS.len());
        let top = nearest.first().map_or(0.0, |near| near.similarity);
        for sharpness in SHARPNESS {
            let shares =
                nearest.iter().map(|near| (sharpness * f64::from(near.similarity - top)).exp());
            let shares: Vec<f64> = shares.collect();
            let total: f64 = shares.iter().sum();
            for rows in [&self.outputs, &self.predictions] {
                let mut mean = vec![0.0; p];
                for (near, share) in nearest.iter().zip(&shares) {
                    let share = (share / total) as f32;
                    let values = &rows[near.pair * p..][..p];
                    mean.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
                }
                means.push(mean);
            }
        }
        let points = first.iter().map(|row| row.candidates.point(row.row));
        let points: Vec<Cow<[f32]>> = points.collect::<Result<_, Error>>()?;
        let points: Vec<&[f32]> = points.iter().map(|point| &**point).collect();
        let outputs = nearest.iter().map(|near| &self.outputs[near.pair * p..][..p]);
        let outputs: Vec<&[f32]> = outputs.collect();
        let means: Vec<&[f32]> = means.iter().map(Vec::as_slice).collect();
        let like_outputs = products(&points, &outputs);
        let like_means = products(&points, &means);
        let lengths: Vec<f32> = outputs.iter().map(|output| length(output)).collect();
        let scores: Vec<f32> = first.iter().map(|row| row.score).collect();
        let mut features = Vec::with_capacity(first.len() * FEATURES);
        let rows = first.iter().zip(&points).zip(agreement(&scores, &points));
        for (at, ((&FirstRow { candidates, row, score, .. }, point), agreement)) in rows.enumerate()
        {
            let alike = &like_outputs[at * outputs.len()..][..outputs.len()];
            let weighted = nearest.iter().zip(alike).map(|(near, alike)| near.similarity * alike);
            features.extend([score, candidates.constants()[row], largest(weighted)]);
            features.push(largest(alike.iter().copied()));
            features.extend_from_slice(&like_means[at * means.len()..][..means.len()]);
            let point_length = length(point);
            let cosines: Vec<f32> = alike
                .iter()
                .zip(&lengths)
                .map(|(alike, other)| alike / (point_length * other))
                .collect();
            features.extend((0..FIRST).map(|at| cosines.get(at).copied().unwrap_or(0.0)));
            let weighted =
                nearest.iter().zip(&cosines).map(|(near, cosine)| near.similarity * cosine);
            features.extend([largest(cosines.iter().copied()), largest(weighted)]);
            features.push(largest(cosines.iter().take(5).copied()));
            features.extend([mean(&cosines), mean(&cosines[..cosines.len().min(20)])]);
            features.extend((0..BANDS).map(|band| {
                let band = band * p / BANDS..(band + 1) * p / BANDS;
                let part_of_point = &point[band.clone()];
                product(part_of_point, &z[band]) / length(part_of_point)
            }));
            features.extend(agreement);
        }
        Ok(features)
    }

    /// Returns the nearest pairs of each of some queries, the nearest first, ties by pair.
    pub(super) fn nearest(&self, queries: &[&[f32]]) -> Vec<Vec<Near>> {
        let first = |near| {
            first_by(near, self.neighbours, |a: &Near, b: &Near| {
                b.similarity.total_cmp(&a.similarity).then(a.pair.cmp(&b.pair))
            })
        };
        let mut nearest: Vec<Vec<Near>> = vec![Vec::new(); queries.len()];
        for (block, predictions) in self.predictions.chunks(BLOCK * self.dim).enumerate() {
            let predictions: Vec<&[f32]> = predictions.chunks_exact(self.dim).collect();
            let of_queries = products(queries, &predictions);
            let of_queries = of_queries.chunks_exact(predictions.len());
            for (near, values) in nearest.iter_mut().zip(of_queries) {
                let pairs = block * BLOCK..;
                near.extend(pairs.zip(values).map(|(pair, &similarity)| Near { pair, similarity }));
                // few of many pairs are kept
                if near.len() > 4 * self.neighbours + 4 * BLOCK {
                    *near = first(std::mem::take(near));
                }
            }
        }
        nearest.into_iter().map(first).collect()
    }
}

/// A training pair near to a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pair: usize,
    /// `⟨z, z_i⟩`.
    similarity: f32,
}

/// Features that tell the first candidates of a query apart.
#[derive(Clone, Debug, PartialEq)]
pub struct RerankerFeatures {
    /// The training pairs that are near.
    pub neighbourhood: Neighbourhood,
    /// The words of the query's text; then every query needs a [text](Queries::with_texts).
    pub words: Option<Words>,
    /// Further evidence in the query's text; then every query needs one too.
    pub evidence: Option<Arc<dyn Evidence>>,
}

/// How many numbers describe a candidate, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FeatureKinds {
    /// Whether there are words.
    pub words: bool,
    /// Number of further numbers, and of the first of them, which few examples suffice for.
    pub evidence: usize,
    pub first_evidence: usize,
}

impl FeatureKinds {
    /// Returns the number of features.
    pub fn features(self) -> usize {
        2 * self.values()
    }

    /// Returns whether a feature is one of those that few examples suffice for.
    pub fn is_first(self, feature: usize) -> bool {
        let words = FEATURES + usize::from(self.words);
        let is_evidence = (words..words + self.first_evidence).contains(&feature);
        feature < MEANS || (self.words && feature == FEATURES) || is_evidence
    }

    /// Returns the number of features without ranks.
    fn values(self) -> usize {
        FEATURES + usize::from(self.words) + self.evidence
    }
}

impl RerankerFeatures {
    /// Returns how many numbers describe a candidate.
    pub(super) fn kinds(&self) -> FeatureKinds {
        let evidence = self.evidence.as_ref();
        FeatureKinds {
            words: self.words.is_some(),
            evidence: evidence.map_or(0, |evidence| evidence.len()),
            first_evidence: evidence.map_or(0, |evidence| evidence.first()),
        }
    }

    /// Returns the features of the first rows of a query, `[rows × features]`: values, each less its mean over the
    /// rows, and then `ln(1 + r)` of each, where r rows have a larger value. The worth of a value depends on the values
    /// of the other rows, which the network does not see.
    pub(super) fn of(
        &self,
        queries: &Queries,
        query: usize,
        first: &[FirstRow],
    ) -> Result<Vec<f32>, Error> {
        let nearest = self.neighbourhood.nearest(&[queries.row(query)]).concat();
        self.with_nearest(queries, query, first, &nearest)
    }

    /// Returns the [features](Self::of) of a query with its nearest pairs.
    pub(super) fn with_nearest(
        &self,
        queries: &Queries,
        query: usize,
        first: &[FirstRow],
        nearest: &[Near],
    ) -> Result<Vec<f32>, Error> {
        let near = self.neighbourhood.features(queries.row(query), first, nearest)?;
        let text = || {
            queries.text(query).ok_or_else(|| {
                let query = queries.name(query);
                Error::unsupported(format_args!(
                    "query {query} has no text: the reranker compares it with candidates"
                ))
            })
        };
        let words = match &self.words {
            None => Vec::new(),
            Some(words) => words.scores(text()?, first),
        };
        let evidence = match &self.evidence {
            None => Vec::new(),
            Some(evidence) => {
                let labels: Vec<&str> = first.iter().map(FirstRow::label).collect();
                evidence.values(text()?, &labels)?
            }
        };
        let kinds = self.kinds();
        Error::check_length("values of evidence", evidence.len(), first.len() * kinds.evidence)?;
        let mut values = Vec::with_capacity(first.len() * kinds.values());
        for (row, near) in near.chunks_exact(FEATURES).enumerate() {
            values.extend_from_slice(near);
            values.extend(words.get(row));
            values.extend_from_slice(&evidence[row * kinds.evidence..][..kinds.evidence]);
        }
        Ok(among_rows(&values, kinds.values()))
    }
}
