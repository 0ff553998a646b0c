//! The training of an encoder.

use dsokr_nn::PartSize;
use dsokr_train::{OptimizerName, TrainingConfig};

use super::Need;

/// What the training of an encoder with these parts needs, on so many training pairs and, in each
/// evaluation, validation pairs. `batch` is the number of inputs that an evaluation encodes at once.
pub(crate) fn of_training(
    parts: &[PartSize],
    config: &TrainingConfig,
    [pairs, validation]: [usize; 2],
    batch: usize,
) -> Vec<Need> {
    // the weights, their gradients, the best ones so far, and those of the checkpoint that is written,
    // once as tensors and once as bytes
    let (moments, rule) = match config.optimizer {
        OptimizerName::Sgd => (0.0, 4.0),
        OptimizerName::Adam | OptimizerName::AdamW => (8.0, 7.0),
    };
    let a_parameter = 20.0 + 3.0 * moments;
    let at_once = match config.micro_batch {
        0 => config.batch,
        part => part,
    };
    // an evaluation keeps nothing for a backward pass
    let inputs = (at_once.min(pairs) as f64).max(batch.min(validation) as f64 / 4.0);
    let epochs = config.epochs as f64;
    let steps = epochs * pairs.div_ceil(config.batch.max(1)) as f64;
    let evaluations = epochs / config.evaluate_every.max(1) as f64;
    let passes = 3.0 * epochs * pairs as f64 + evaluations * validation as f64;
    parts
        .iter()
        .flat_map(|part| {
            let keys = part.keys.split(" × ").map(|key| format!("encoder.{key}"));
            let keys = keys.collect::<Vec<_>>().join(" × ");
            let parameters = part.parameters * a_parameter;
            let activations = 4.0 * inputs * part.activations;
            let of_parameters = Need {
                traffic: steps * 4.0 * rule * part.parameters,
                ..Need::memory(&keys, "parameters, gradients and checkpoints", parameters)
            };
            let batch = format!("{keys} × training.batch");
            let of_activations = Need {
                multiplications: passes * part.products,
                ..Need::memory(batch, "activations of a step", activations)
            };
            [of_parameters, of_activations]
        })
        .collect()
}
