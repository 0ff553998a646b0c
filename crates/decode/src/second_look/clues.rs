//! All numbers that the network has of a candidate: what the training pairs nearest to a query say of it, and words.

use super::Seen;
use super::words::Words;
use crate::error::{check_len, check_range, check_whole_rows};
use crate::scoring::first_by;
use crate::{Error, Queries};

/// Sharpness T of the weights of neighbours, `∝ exp(T ⟨z, z_i⟩)`: from nearly equal weights to only the nearest.
const SHARPNESS: [f64; 5] = [2.0, 5.0, 10.0, 20.0, 40.0];

/// Number of features of a candidate.
pub(super) const FEATURES: usize = 4 + 2 * SHARPNESS.len();

/// Training pairs as later queries are compared with them: held-out answers z_i at unit length, and outputs ψ_i.
///
/// The neighbours of a query z are the k pairs with the largest `w_i = ⟨z, z_i⟩`. The features of a candidate c are
///
/// - its score and its constant b(c);
/// - `max_i w_i ⟨ψ_i, ψ̃(c)⟩` and `max_i ⟨ψ_i, ψ̃(c)⟩`: whether some neighbour's output is like it;
/// - `⟨Σ_i e_i ψ_i, ψ̃(c)⟩` and `⟨Σ_i e_i z_i, ψ̃(c)⟩` with `e_i ∝ exp(T w_i)`, Σ e_i = 1, for T = 2, 5, 10, 20 and 40:
///   the mean of the outputs around the query, and that of the answers, whose difference is the error
///   that the model makes there.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbourhood {
    pub(super) dim: usize,
    /// z_i, `[n × p]`.
    pub(super) answers: Vec<f32>,
    /// ψ_i, `[n × p]`.
    pub(super) outputs: Vec<f32>,
    /// k.
    pub(super) neighbours: usize,
}

impl Neighbourhood {
    /// Held-out answers and outputs of n training pairs, `[n × p]` row-major; a query has `neighbours`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there are 1 to n neighbours; [`Error::Length`] for as many outputs as answers;
    /// [`Error::NotFinite`]; [`Error::TooFew`] for a dimension of 0.
    pub fn new(
        dim: usize,
        answers: Vec<f32>,
        outputs: Vec<f32>,
        neighbours: usize,
    ) -> Result<Self, Error> {
        for rows in [&answers, &outputs] {
            Queries::new(dim, rows)?;
        }
        check_whole_rows("answers", answers.len(), dim)?;
        check_len("values of outputs", outputs.len(), answers.len())?;
        let pairs = answers.len() / dim;
        let (holds, found) =
            ((1..=pairs).contains(&neighbours), format_args!("{neighbours} neighbours"));
        check_range(holds, found, format_args!("1 to {pairs}, the number of pairs"))?;
        Ok(Self { dim, answers, outputs, neighbours })
    }

    /// The features of the first rows of a query, `[rows × FEATURES]`.
    pub(super) fn features(&self, z: &[f32], first: &[Seen]) -> Result<Vec<f32>, Error> {
        let p = self.dim;
        let nearest = self.nearest(z);
        let mut means: Vec<Vec<f32>> = Vec::with_capacity(2 * SHARPNESS.len());
        let top = nearest.first().map_or(0.0, |&(_, similarity)| similarity);
        for sharpness in SHARPNESS {
            let shares: Vec<f64> =
                nearest.iter().map(|&(_, w)| (sharpness * f64::from(w - top)).exp()).collect();
            let total: f64 = shares.iter().sum();
            for rows in [&self.outputs, &self.answers] {
                let mut mean = vec![0.0; p];
                for (&(at, _), share) in nearest.iter().zip(&shares) {
                    let share = (share / total) as f32;
                    let values = &rows[at * p..][..p];
                    mean.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * value);
                }
                means.push(mean);
            }
        }
        let mut features = Vec::with_capacity(first.len() * FEATURES);
        for &Seen { of, row, score, .. } in first {
            let point = &*of.point(row)?;
            let (mut weighted, mut closest) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
            let outputs = nearest.iter().map(|&(at, _)| &self.outputs[at * p..][..p]);
            for (&(_, similarity), alike) in nearest.iter().zip(dots(point, outputs)) {
                weighted = weighted.max(similarity * alike);
                closest = closest.max(alike);
            }
            features.extend([score, of.constants()[row], weighted, closest]);
            features.extend(dots(point, means.iter().map(Vec::as_slice)));
        }
        Ok(features)
    }

    /// The nearest pairs and their similarities, the nearest first, ties by pair.
    fn nearest(&self, z: &[f32]) -> Vec<(usize, f32)> {
        let answers = self.answers.chunks_exact(self.dim);
        let all = dots(z, answers).into_iter().enumerate().collect();
        first_by(all, self.neighbours, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)))
    }
}

/// The inner products of a row with others, each in eight sums, whatever the machine. A sum waits for the one before it,
/// so several rows at a time are several times as fast.
fn dots<'r>(own: &[f32], rows: impl Iterator<Item = &'r [f32]>) -> Vec<f32> {
    const ROWS: usize = 6;
    let rows: Vec<&[f32]> = rows.collect();
    let (some, rest) = rows.as_chunks::<ROWS>();
    let products = some.iter().flat_map(|rows| several(own, rows));
    products.chain(rest.iter().flat_map(|row| several(own, &[row]))).collect()
}

fn several<const N: usize>(own: &[f32], rows: &[&[f32]; N]) -> [f32; N] {
    let mut sums = [[0.0; 8]; N];
    let (chunks, last) = own.as_chunks::<8>();
    let others = rows.map(|row| row.as_chunks::<8>());
    for (at, own) in chunks.iter().enumerate() {
        // chunks whose length the compiler knows
        for (sums, (others, _)) in sums.iter_mut().zip(&others) {
            let pairs = own.iter().zip(&others[at]);
            sums.iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum += a * b);
        }
    }
    for (sums, (_, other)) in sums.iter_mut().zip(&others) {
        sums.iter_mut().zip(last.iter().zip(*other)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.map(|sums| sums.iter().sum())
}

/// What tells the first candidates of a query apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Clues {
    /// The training pairs that are near.
    pub neighbourhood: Neighbourhood,
    /// The words of the query's text; then every query needs a [text](Queries::with_texts).
    pub words: Option<Words>,
}

impl Clues {
    /// Numbers that describe a candidate, with words or without.
    pub(super) fn features(words: bool) -> usize {
        FEATURES + usize::from(words)
    }

    /// The numbers of the first rows of a query, `[rows × features]`, each less its mean over the rows.
    pub(super) fn of(
        &self,
        queries: &Queries,
        query: usize,
        first: &[Seen],
    ) -> Result<Vec<f32>, Error> {
        let near = self.neighbourhood.features(queries.row(query), first)?;
        let mut features = match &self.words {
            None => near,
            Some(words) => {
                let text = queries.text(query).ok_or_else(|| {
                    let query = queries.name(query);
                    Error::Unsupported(format!(
                        "query {query} has no text: the second look compares its words with candidates"
                    ))
                })?;
                let says = words.scores(text, first);
                let rows = near.chunks_exact(FEATURES).zip(says);
                rows.flat_map(|(near, says)| near.iter().copied().chain([says])).collect()
            }
        };
        centre(&mut features, Self::features(self.words.is_some()));
        Ok(features)
    }
}

/// Subtracts the mean over the rows from each feature.
fn centre(values: &mut [f32], features: usize) {
    let rows = (values.len() / features).max(1) as f64;
    let mut means = vec![0.0; features];
    for row in values.chunks_exact(features) {
        means.iter_mut().zip(row).for_each(|(mean, &value)| *mean += f64::from(value) / rows);
    }
    for row in values.chunks_exact_mut(features) {
        row.iter_mut().zip(&means).for_each(|(value, mean)| *value -= *mean as f32);
    }
}
