//! The network that maps the features of a candidate to its logit.

use dsokr_basis::random::{generator, shuffle, unit};
use rayon::prelude::*;

use super::neighbourhood::FEATURES;

/// Hidden units.
const HIDDEN: usize = 24;
/// Passes over the queries, and queries of a step.
const EPOCHS: usize = 16;
const BATCH: usize = 64;
/// Adam's first rate, which decays to zero, and what it multiplies weights by beside it.
const RATE: f64 = 1e-2;
const DECAY: f64 = 1e-4;
/// What the logit of a candidate grows by at first with its score.
pub(super) const SCORE: f64 = 30.0;

/// Places of the weights: of the features themselves, of the hidden units' inputs and biases, and of
/// their outputs; behind them the scale of each feature.
const INPUT: usize = FEATURES;
const BIAS: usize = INPUT + FEATURES * HIDDEN;
const OUTPUT: usize = BIAS + HIDDEN;
const TRAINED: usize = OUTPUT + HIDDEN;

/// `u(x) = ⟨a, x⟩ + ⟨v, max(0, W x + b)⟩` of features over their standard deviations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Network {
    weights: Vec<f64>,
}

impl Network {
    /// Number of weights, scales among them.
    pub(super) const WEIGHTS: usize = TRAINED + FEATURES;

    /// Multiplications of a fit a row: forwards, and twice as many backwards.
    pub(super) const MULTIPLICATIONS: usize = 3 * EPOCHS * TRAINED;

    /// A network of stored weights; none for a wrong number, or one that is not finite.
    pub(super) fn of(weights: Vec<f64>) -> Option<Self> {
        let whole = weights.len() == Self::WEIGHTS && weights.iter().all(|value| value.is_finite());
        whole.then_some(Self { weights })
    }

    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The logits of rows of features.
    pub(super) fn logits(&self, features: &[f32]) -> Vec<f64> {
        let rows = features.chunks_exact(FEATURES);
        rows.map(|row| self.logit(&self.scaled(row), &mut [0.0; HIDDEN])).collect()
    }

    fn scaled(&self, row: &[f32]) -> [f64; FEATURES] {
        let mut scaled = [0.0; FEATURES];
        let scales = &self.weights[TRAINED..];
        for ((scaled, &value), scale) in scaled.iter_mut().zip(row).zip(scales) {
            *scaled = f64::from(value) * scale;
        }
        scaled
    }

    /// The logit of scaled features, with the values of the hidden units in `hidden`.
    fn logit(&self, row: &[f64; FEATURES], hidden: &mut [f64; HIDDEN]) -> f64 {
        hidden.copy_from_slice(&self.weights[BIAS..OUTPUT]);
        let columns = self.weights[INPUT..BIAS].chunks_exact(HIDDEN);
        let mut logit = 0.0;
        for ((value, column), weight) in row.iter().zip(columns).zip(&self.weights) {
            logit += value * weight;
            hidden.iter_mut().zip(column).for_each(|(sum, weight)| *sum += value * weight);
        }
        for (value, weight) in hidden.iter_mut().zip(&self.weights[OUTPUT..TRAINED]) {
            *value = value.max(0.0);
            logit += *value * weight;
        }
        logit
    }

    /// The most likely network: Adam on the mean logarithm of the gold rows' softmax. Each query has
    /// the features of its rows, and the position of its gold row.
    pub(super) fn fit(queries: &[(Vec<f32>, usize)], seed: u64) -> Self {
        let mut network = Self::new(queries, seed);
        let (mut first, mut second) = (vec![0.0; TRAINED], vec![0.0; TRAINED]);
        let steps = EPOCHS * queries.len().div_ceil(BATCH);
        let mut step: i32 = 0;
        for epoch in 0..EPOCHS {
            let mut order: Vec<usize> = (0..queries.len()).collect();
            shuffle(&mut order, &mut generator(seed, "second look", 1 + epoch as u64));
            for batch in order.chunks(BATCH) {
                let own =
                    batch.par_iter().map(|&at| network.gradient(&queries[at].0, queries[at].1));
                // summed in the order of the batch, whatever the threads
                let own: Vec<Vec<f64>> = own.collect();
                step += 1;
                let rate = RATE * (1.0 - f64::from(step) / steps as f64);
                let corrected = |beta: f64| 1.0 - beta.powi(step);
                for at in 0..TRAINED {
                    let gradient = own.iter().map(|own| own[at]).sum::<f64>() / batch.len() as f64;
                    first[at] = 0.9 * first[at] + 0.1 * gradient;
                    second[at] = 0.999 * second[at] + 0.001 * gradient * gradient;
                    let length = (second[at] / corrected(0.999)).sqrt() + 1e-8;
                    let weight = &mut network.weights[at];
                    *weight -= rate * (first[at] / corrected(0.9) / length + DECAY * *weight);
                }
            }
        }
        network
    }

    /// The network before its fit: it orders by score, and the scales are those of the features.
    fn new(queries: &[(Vec<f32>, usize)], seed: u64) -> Self {
        let mut squares = [0.0; FEATURES];
        let mut rows = 0.0;
        for row in queries.iter().flat_map(|(features, _)| features.chunks_exact(FEATURES)) {
            squares.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
            rows += 1.0;
        }
        let deviations = squares.map(|sum: f64| (sum / rows).sqrt());
        let scales =
            deviations.map(|deviation| if deviation > 0.0 { 1.0 / deviation } else { 0.0 });
        let mut random = generator(seed, "second look", 0);
        let mut uniform = |bound: f64| bound * (2.0 * unit(&mut random) - 1.0);
        let mut weights = vec![0.0; TRAINED];
        weights[0] = SCORE * deviations[0];
        let bound = (3.0 / FEATURES as f64).sqrt();
        weights[INPUT..BIAS].fill_with(|| uniform(bound));
        let bound = 0.1 * (3.0 / HIDDEN as f64).sqrt();
        weights[OUTPUT..].fill_with(|| uniform(bound));
        weights.extend(scales);
        Self { weights }
    }

    /// The gradient of the negative log-likelihood of one query.
    fn gradient(&self, features: &[f32], gold: usize) -> Vec<f64> {
        let mut forward: Vec<([f64; FEATURES], [f64; HIDDEN], f64)> = Vec::new();
        for row in features.chunks_exact(FEATURES) {
            let (scaled, mut hidden) = (self.scaled(row), [0.0; HIDDEN]);
            let logit = self.logit(&scaled, &mut hidden);
            forward.push((scaled, hidden, logit));
        }
        let best = forward.iter().map(|row| row.2).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = forward.iter().map(|row| (row.2 - best).exp()).sum();
        let mut gradient = vec![0.0; TRAINED];
        for (at, (scaled, hidden, logit)) in forward.iter().enumerate() {
            let error = (logit - best).exp() / total - f64::from(u8::from(at == gold));
            let mut back = [0.0; HIDDEN];
            for (unit, value) in hidden.iter().enumerate() {
                gradient[OUTPUT + unit] += error * value;
                let active = *value > 0.0;
                back[unit] = if active { error * self.weights[OUTPUT + unit] } else { 0.0 };
                gradient[BIAS + unit] += back[unit];
            }
            for (feature, value) in scaled.iter().enumerate() {
                gradient[feature] += error * value;
                let own = &mut gradient[INPUT + feature * HIDDEN..][..HIDDEN];
                own.iter_mut().zip(&back).for_each(|(sum, back)| *sum += value * back);
            }
        }
        gradient
    }
}
