//! The memory and time that the fit of a learner takes.

use dsokr_data::Dataset;
use dsokr_decode::Reranker;
use dsokr_machines::Cost;
use dsokr_nn::PartSize;
use dsokr_train::{LossConfig, OptimizerName, TrainingConfig};

use crate::config::folds::REPEATED;
use crate::config::{Checked, RerankerConfig};
use crate::targets::memory::{Budget, Need};

/// Bytes that the engine of a GPU takes for arrays of up to 64 KiB, and those that it leaves free at most behind each copy
/// of a large one: its pages have the size of the largest array and 1 MiB, in whole MiB.
const SMALL_ARRAYS: f64 = 8.0 * 1024.0 * 1024.0;
const GAP: f64 = 2.0 * 1024.0 * 1024.0;

/// The memory and time of the reranker, for p coordinates: fits without each part of the pairs (`fit` gives the
/// cost for a number of pairs), and what is found of the pairs that they answer. All is taken in addition to what the
/// fit of the machine itself needs.
pub(crate) fn of_reranker(
    settings: &RerankerConfig,
    config: &Checked,
    dataset: &Dataset,
    p: usize,
    fit: impl Fn(usize) -> Cost,
) -> Need {
    let RerankerConfig { candidates: size, neighbours, held_out_folds, refit, ref words, .. } =
        *settings;
    let n = dataset.train.ids.len();
    let rest = settings.parts().rest(n);
    let Cost { bytes, multiplications } =
        if refit { fit(rest) } else { Cost { bytes: 0.0, multiplications: 0.0 } };
    let [n, part, p, size, parts, neighbours] =
        [n, n - rest, p, size, held_out_folds, neighbours].map(|count| count as f64);
    let candidates = dataset.outputs.candidates.len() as f64;
    let rest = n - part;
    let queries = parts * (part + rest / REPEATED as f64);
    let hubs = if config.decoding.hubs.is_some() { rest * candidates * p } else { 0.0 };
    let [examples, network] = Reranker::cost(queries, size, words.is_some());
    // scores of all candidates and pairs, and those of the first ones with their neighbours' outputs
    let scoring = queries * p * (candidates + rest + size * neighbours);
    // predictions of all fits, the outputs and what is compared with them, and the candidates again
    let held = 4.0 * p * (parts * n + 4.0 * n + candidates);
    Need {
        multiplications: parts * (multiplications + hubs) + scoring + network,
        ..Need::memory("decoding.reranker", "the reranker", bytes + held + examples)
    }
}

/// The memory and time of training an encoder with these parts, on so many training pairs and, in each evaluation,
/// validation pairs. `batch` is the number of inputs that an evaluation encodes at once, and `gpu` the size of the
/// GPU's memory, if the encoder is trained there.
///
/// A GPU holds c copies of each parameter (weights, gradient and Adam's two moments; plain descent makes new weights beside
/// the old), what a step keeps for the backward pass, 8 MiB for small arrays, and c gaps of 2 MiB.
pub fn of_training(
    parts: &[PartSize],
    config: &TrainingConfig,
    [pairs, validation]: [usize; 2],
    batch: usize,
    gpu: Option<f64>,
) -> Vec<Need> {
    let (moments, rule) = match config.optimizer {
        OptimizerName::Sgd => (0.0, 4.0),
        OptimizerName::Adam | OptimizerName::AdamW => (8.0, 7.0),
    };
    // the weights, their gradients and moments
    let trained = 8.0 + moments;
    let copies = f64::max(3.0, trained / 4.0);
    // the best weights so far, and the weights and moments of the checkpoint that is written, once as tensors and, of the
    // weights, once as bytes
    let stored = 12.0 + moments;
    // an evaluation keeps nothing for a backward pass
    let inputs = (config.at_once().min(pairs) as f64).max(batch.min(validation) as f64 / 4.0);
    let epochs = config.epochs as f64;
    let per_epoch = pairs.div_ceil(config.batch.max(1));
    let steps = epochs * per_epoch as f64;
    let batch_size = config.batch.min(pairs) as f64;
    let evaluations = config.evaluate_every.times(config.epochs, per_epoch);
    let passes = 3.0 * epochs * pairs as f64 + evaluations * validation as f64;
    let needs = |part: &PartSize| {
        let keys = part.clone().inside("encoder").keys;
        let batch = format!("{keys} × training.batch");
        let kept = inputs * part.activations;
        let step = "activations of a step";
        let memory = |what, bytes: f64| Need::memory(&*keys, what, bytes * part.parameters);
        match gpu {
            None => {
                // a gradient by rows has those of a batch, which plain descent changes only
                let read = if config.by_rows() {
                    part.parameters.min(batch_size * part.products)
                } else {
                    part.parameters
                };
                let changed = if moments == 0.0 { read } else { part.parameters };
                // a checkpoint's tensors are those of the model and of its optimiser
                let copied = stored - 4.0 - moments;
                let whole = memory("parameters, gradients and checkpoints", trained + copied);
                let of_parameters = Need {
                    bytes: whole.bytes - 4.0 * (part.parameters - read),
                    traffic: steps * 4.0 * rule * changed,
                    ..whole
                };
                let multiplications = passes * part.products;
                let activations = Need::memory(batch, step, 4.0 * kept);
                vec![of_parameters, Need { multiplications, ..activations }]
            }
            Some(_) => {
                let there = Need::memory(batch, step, part.gpu_width * kept);
                let of_parameters =
                    Need { gpu, ..memory("parameters and gradients", 4.0 * copies) };
                vec![memory("checkpoints", stored), of_parameters, Need { gpu, ..there }]
            }
        }
    };
    let pages = Need::memory("", "pages of the engine", SMALL_ARRAYS + copies * GAP);
    let pages = gpu.map(|_| Need { gpu, ..pages });
    parts.iter().flat_map(needs).chain(pages).collect()
}

/// Settings by which a step encodes a half of a batch at a time, a quarter, and so on, where more needs more
/// memory than the GPU has.
pub fn split_batches(
    config: &TrainingConfig,
    needs: impl Fn(&TrainingConfig) -> Vec<Need>,
) -> TrainingConfig {
    let mut split = config.clone();
    let whole = config.micro_batch == 0 && !matches!(config.loss, LossConfig::Contrastive { .. });
    while whole && split.at_once() > 1 && Budget::default().afford_on_gpu(&needs(&split)).is_err() {
        split.micro_batch = split.at_once().div_ceil(2);
    }
    split
}
