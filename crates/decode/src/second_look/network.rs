//! The network that maps the features of a candidate to its logit.

use dsokr_basis::eigenbasis::multiply;
use dsokr_basis::random::{generator, shuffle, unit};
use faer::{Mat, MatRef};
use rayon::prelude::*;

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

/// Places of the weights for a number of features: those of the features themselves come first, then those of the
/// hidden units' inputs, their biases, and their outputs; behind all that is trained the scale of each feature.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Places {
    input: usize,
    bias: usize,
    output: usize,
    trained: usize,
}

impl Places {
    fn of(features: usize) -> Self {
        let bias = features + features * HIDDEN;
        Self { input: features, bias, output: bias + HIDDEN, trained: bias + 2 * HIDDEN }
    }
}

/// Rows of features on their way through a network.
struct Forward {
    /// A column a row.
    scaled: Mat<f64>,
    /// The values of the hidden units, a column a row.
    hidden: Mat<f64>,
    logits: Vec<f64>,
}

/// `u(x) = ⟨a, x⟩ + ⟨v, max(0, W x + b)⟩` of features over their standard deviations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Network {
    features: usize,
    pub(super) weights: Vec<f64>,
}

impl Network {
    /// Number of weights for a number of features, scales among them.
    pub(super) fn size(features: usize) -> usize {
        Places::of(features).trained + features
    }

    /// Multiplications of a fit a row: forwards, and twice as many backwards.
    pub(super) fn multiplications(features: usize) -> usize {
        3 * EPOCHS * Places::of(features).trained
    }

    /// A network of stored weights; none for a wrong number, or one that is not finite.
    pub(super) fn of(features: usize, weights: Vec<f64>) -> Option<Self> {
        let finite = weights.iter().all(|value| value.is_finite());
        (weights.len() == Self::size(features) && finite).then_some(Self { features, weights })
    }

    fn places(&self) -> Places {
        Places::of(self.features)
    }

    /// The logits of rows of features.
    pub(super) fn logits(&self, features: &[f32]) -> Vec<f64> {
        self.forward(features).logits
    }

    fn forward(&self, features: &[f32]) -> Forward {
        let Places { input, bias, output, trained } = self.places();
        let (width, scales) = (self.features, &self.weights[trained..]);
        let scaled = Mat::from_fn(width, features.len() / width, |at, row| {
            f64::from(features[row * width + at]) * scales[at]
        });
        let product = |weights: &[f64], units: usize, values: &Mat<f64>| {
            let weights = MatRef::from_column_major_slice(weights, units, values.nrows());
            multiply(weights, values.as_ref())
        };
        let mut hidden = product(&self.weights[input..bias], HIDDEN, &scaled);
        for column in hidden.col_iter_mut() {
            for (value, bias) in column.iter_mut().zip(&self.weights[bias..output]) {
                *value = (*value + bias).max(0.0);
            }
        }
        let linear = product(&self.weights[..input], 1, &scaled);
        let logits = linear + product(&self.weights[output..trained], 1, &hidden);
        Forward { scaled, hidden, logits: logits.row(0).iter().copied().collect() }
    }

    /// The most likely network: Adam on the mean logarithm of the gold rows' softmax. Each query has
    /// the `features` of its rows, and the position of its gold row. Features that are not `used` count as 0.
    pub(super) fn fit(
        features: usize,
        used: impl Fn(usize) -> bool,
        queries: &[(Vec<f32>, usize)],
        seed: u64,
    ) -> Self {
        let mut network = Self::new(features, queries, seed);
        let trained = network.places().trained;
        // scales are behind what is trained
        let unused = (0..features).filter(|&feature| !used(feature));
        unused.for_each(|feature| network.weights[trained + feature] = 0.0);
        let (mut first, mut second) = (vec![0.0; trained], vec![0.0; trained]);
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
                for at in 0..trained {
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
    fn new(features: usize, queries: &[(Vec<f32>, usize)], seed: u64) -> Self {
        let Places { input, bias, output, trained } = Places::of(features);
        let mut squares = vec![0.0; features];
        let mut rows = 0.0;
        for row in queries.iter().flat_map(|(values, _)| values.chunks_exact(features)) {
            squares.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value).powi(2));
            rows += 1.0;
        }
        let deviations: Vec<f64> =
            squares.into_iter().map(|sum: f64| (sum / rows).sqrt()).collect();
        let scale = |&deviation: &f64| if deviation > 0.0 { 1.0 / deviation } else { 0.0 };
        let mut random = generator(seed, "second look", 0);
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

    /// The gradient of the negative log-likelihood of one query.
    fn gradient(&self, features: &[f32], gold: usize) -> Vec<f64> {
        let output = self.places().output;
        let Forward { scaled, hidden, logits } = self.forward(features);
        let best = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logits.iter().map(|logit| (logit - best).exp()).sum();
        let error = Mat::from_fn(logits.len(), 1, |at, _| {
            (logits[at] - best).exp() / total - f64::from(u8::from(at == gold))
        });
        let back = Mat::from_fn(HIDDEN, logits.len(), |unit, at| match hidden[(unit, at)] > 0.0 {
            true => error[(at, 0)] * self.weights[output + unit],
            false => 0.0,
        });
        let ones = Mat::full(logits.len(), 1, 1.0);
        // in the order of the weights
        let parts = [
            multiply(scaled.as_ref(), error.as_ref()),
            multiply(back.as_ref(), scaled.transpose()),
            multiply(back.as_ref(), ones.as_ref()),
            multiply(hidden.as_ref(), error.as_ref()),
        ];
        let columns = parts.iter().flat_map(Mat::col_iter);
        columns.flat_map(|column| column.iter()).copied().collect()
    }
}
