//! The network that maps the features of a candidate to its logit.

use dsokr_core::random::{generator, shuffle, unit};
use dsokr_core::{Cancellation, Error};
use rayon::prelude::*;

/// The purpose of the draws. It is the reranker's former name: another one would change every fitted reranker.
const DRAWS: &str = "second look";

/// Hidden units.
const HIDDEN: usize = 24;
/// Passes over the queries, and queries of a step.
const EPOCHS: usize = 16;
const BATCH: usize = 64;
/// Adam's first rate, which decays to zero, and its weight decay.
const RATE: f64 = 1e-2;
const DECAY: f64 = 1e-4;
/// The initial weight of a candidate's score in its logit.
pub(super) const SCORE: f64 = 30.0;

/// The positions of the weights for a number of features. The weights of the features come first, then the hidden
/// units' inputs, biases and outputs. The scale of each feature follows behind all that is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WeightRanges {
    input: usize,
    bias: usize,
    output: usize,
    trained: usize,
}

impl WeightRanges {
    fn for_features(features: usize) -> Self {
        let bias = features + features * HIDDEN;
        Self { input: features, bias, output: bias + HIDDEN, trained: bias + 2 * HIDDEN }
    }
}

/// `u(x) = ⟨a, x⟩ + ⟨v, max(0, W x + b)⟩` of features over their standard deviations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Network {
    features: usize,
    pub(super) weights: Vec<f64>,
}

impl Network {
    /// Returns the number of weights for a number of features, scales among them.
    pub(super) fn size(features: usize) -> usize {
        WeightRanges::for_features(features).trained + features
    }

    /// Returns the number of multiplications of a fit for each row: forwards, and twice as many backwards.
    pub(super) fn multiplications(features: usize) -> usize {
        3 * EPOCHS * WeightRanges::for_features(features).trained
    }

    /// Creates a network of stored weights; none for a wrong number, or one that is not finite.
    pub(super) fn from_weights(features: usize, weights: Vec<f64>) -> Option<Self> {
        let finite = weights.iter().all(|value| value.is_finite());
        (weights.len() == Self::size(features) && finite).then_some(Self { features, weights })
    }

    fn ranges(&self) -> WeightRanges {
        WeightRanges::for_features(self.features)
    }

    /// Returns the logits of rows of features.
    pub(super) fn logits(&self, features: &[f32]) -> Vec<f64> {
        let rows = features.chunks_exact(self.features);
        rows.map(|row| self.logit(&self.scaled(row), &mut [0.0; HIDDEN])).collect()
    }

    fn scaled(&self, row: &[f32]) -> Vec<f64> {
        let scales = &self.weights[self.ranges().trained..];
        row.iter().zip(scales).map(|(&value, scale)| f64::from(value) * scale).collect()
    }

    /// Returns the logit of scaled features, with the values of the hidden units in `hidden`.
    #[inline(always)]
    fn logit(&self, row: &[f64], hidden: &mut [f64; HIDDEN]) -> f64 {
        let WeightRanges { input, bias, output, trained } = self.ranges();
        hidden.copy_from_slice(&self.weights[bias..output]);
        let columns = self.weights[input..bias].chunks_exact(HIDDEN);
        let mut logit = 0.0;
        for ((value, column), weight) in row.iter().zip(columns).zip(&self.weights) {
            logit += value * weight;
            hidden.iter_mut().zip(column).for_each(|(sum, weight)| *sum += value * weight);
        }
        for (value, weight) in hidden.iter_mut().zip(&self.weights[output..trained]) {
            *value = value.max(0.0);
            logit += *value * weight;
        }
        logit
    }

    /// Creates the most likely network: Adam on the mean logarithm of the gold rows' softmax. Each query has
    /// the `features` of its rows, and the position of its gold row. Features that are not `used` count as 0.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(super) fn fit(
        features: usize,
        used: impl Fn(usize) -> bool,
        queries: &[(Vec<f32>, usize)],
        seed: u64,
    ) -> Result<Self, Error> {
        let stage = Cancellation::current().stage("fit of the reranker", EPOCHS * queries.len());
        let mut network = Self::new(features, queries, seed);
        let trained = network.ranges().trained;
        // scales are behind what is trained
        let unused = (0..features).filter(|&feature| !used(feature));
        unused.for_each(|feature| network.weights[trained + feature] = 0.0);
        let mut first = vec![0.0; trained];
        let mut second = vec![0.0; trained];
        let steps = EPOCHS * queries.len().div_ceil(BATCH);
        let mut step: i32 = 0;
        for epoch in 0..EPOCHS {
            let mut order: Vec<usize> = (0..queries.len()).collect();
            shuffle(&mut order, &mut generator(seed, DRAWS, 1 + epoch as u64));
            for batch in order.chunks(BATCH) {
                stage.advance(batch.len())?;
                let gradients =
                    batch.par_iter().map(|&at| network.gradient(&queries[at].0, queries[at].1));
                let gradients: Vec<Vec<f64>> = gradients.collect();
                // in the order of the batch, whatever the threads
                let mut sums = vec![0.0; trained];
                for gradient in &gradients {
                    sums.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value);
                }
                step += 1;
                let rate = RATE * (1.0 - f64::from(step) / steps as f64);
                let corrected = |beta: f64| 1.0 - beta.powi(step);
                for (at, sum) in sums.into_iter().enumerate() {
                    let gradient = sum / batch.len() as f64;
                    first[at] = 0.9 * first[at] + 0.1 * gradient;
                    second[at] = 0.999 * second[at] + 0.001 * gradient * gradient;
                    let length = (second[at] / corrected(0.999)).sqrt() + 1e-8;
                    let weight = &mut network.weights[at];
                    *weight -= rate * (first[at] / corrected(0.9) / length + DECAY * *weight);
                }
            }
        }
        Ok(network)
    }

    /// Creates the network before its fit: it orders by score, and its scales are those of the features.
    fn new(features: usize, queries: &[(Vec<f32>, usize)], seed: u64) -> Self {
        let WeightRanges { input, bias, output, trained } = WeightRanges::for_features(features);
        let mut squares = vec![0.0; features];
        let mut rows = 0.0;
        for row in queries.iter().flat_map(|(values, _)| values.chunks_exact(features)) {
            squares.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
            rows += 1.0;
        }
        let deviations: Vec<f64> =
            squares.into_iter().map(|sum: f64| (sum / rows).sqrt()).collect();
        let scale = |&deviation: &f64| if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        let mut random = generator(seed, DRAWS, 0);
        let mut uniform = |bound: f64| bound * (2.0 * unit(&mut random) - 1.0);
        let mut weights = vec![0.0; trained];
        weights[0] = SCORE * deviations[0];
        let bound = (3.0 / features as f64).sqrt();
        weights[input..bias].fill_with(|| uniform(bound));
        let bound = 0.1 * (3.0 / HIDDEN as f64).sqrt();
        weights[output..].fill_with(|| uniform(bound));
        weights.extend(deviations.iter().map(scale));
        Self { features, weights }
    }

    /// Returns the gradient of the negative log-likelihood of one query.
    fn gradient(&self, features: &[f32], gold: usize) -> Vec<f64> {
        let network = self;
        // without fused operations all versions give the same bits
        dsokr_core::versions! {
            ["avx512f", "avx512vl", "avx2"], ["avx2"],
            (network: &Network, features: &[f32], gold: usize) -> Vec<f64> {
                let WeightRanges { input, bias, output, trained } = network.ranges();
                let mut forward: Vec<(Vec<f64>, [f64; HIDDEN], f64)> = Vec::new();
                for row in features.chunks_exact(network.features) {
                    let scaled = network.scaled(row);
                    let mut hidden = [0.0; HIDDEN];
                    let logit = network.logit(&scaled, &mut hidden);
                    forward.push((scaled, hidden, logit));
                }
                let best = forward.iter().map(|row| row.2).fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = forward.iter().map(|row| (row.2 - best).exp()).sum();
                let mut gradient = vec![0.0; trained];
                for (at, (scaled, hidden, logit)) in forward.iter().enumerate() {
                    let error = (logit - best).exp() / total - f64::from(u8::from(at == gold));
                    let mut back = [0.0; HIDDEN];
                    for (unit, value) in hidden.iter().enumerate() {
                        gradient[output + unit] += error * value;
                        let active = *value > 0.0;
                        back[unit] = if active { error * network.weights[output + unit] } else { 0.0 };
                        gradient[bias + unit] += back[unit];
                    }
                    for (feature, value) in scaled.iter().enumerate() {
                        gradient[feature] += error * value;
                        let sums = &mut gradient[input + feature * HIDDEN..][..HIDDEN];
                        sums.iter_mut().zip(&back).for_each(|(sum, back)| *sum += value * back);
                    }
                }
                gradient
            }
        }
    }
}
