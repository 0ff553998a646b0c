//! The memory and time that the fit of a learner takes.

use dsokr_nn::PartSize;
use dsokr_train::{OptimizerName, TrainingConfig};

use crate::targets::memory::{Budget, Need};

/// Bytes copied in memory that take as long as one that is written to a checkpoint.
const WRITTEN: f64 = 40.0;

/// The time of a step over that of its matrix products alone: activations, norms and attention are between them.
const WHOLE_STEP: f64 = 1.9;

/// Bytes that the engine of a GPU takes for arrays of up to 64 KiB, and those that it leaves free at most behind each copy
/// of a large one: its pages have the size of the largest array and 1 MiB, in whole MiB.
const SMALL_ARRAYS: f64 = 8.0 * 1024.0 * 1024.0;
const GAP: f64 = 2.0 * 1024.0 * 1024.0;

/// Returns the memory and time of training an encoder with these parts, on so many training pairs and, in each evaluation,
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
    let training = EncoderTraining::new(config, [pairs, validation], batch);
    let Some(memory) = gpu else {
        return parts.iter().flat_map(|part| training.on_cpu(part)).collect();
    };
    let pages = SMALL_ARRAYS + training.copies_on_gpu() * GAP;
    let pages = Need { gpu, ..Need::memory("", "pages of the engine", pages) };
    parts.iter().flat_map(|part| training.on_gpu(part, memory)).chain([pages]).collect()
}

/// The numbers of a training that the memory and time of each part of an encoder go with.
struct EncoderTraining<'c> {
    config: &'c TrainingConfig,
    /// Bytes of the optimiser's moments of a parameter, and of its moving average.
    moments: f64,
    /// Numbers that a step of the optimiser reads and writes for a parameter.
    rule: f64,
    /// The inputs of a step that keeps activations for the backward pass; an evaluation keeps nothing, and its inputs
    /// count less.
    inputs: f64,
    /// Training pairs of a batch.
    batch: f64,
    steps: f64,
    /// How many checkpoints are written.
    checkpoints: f64,
    /// How often an input passes through the encoder, a backward pass counted as two.
    passes: f64,
}

impl<'c> EncoderTraining<'c> {
    /// Counts the steps and inputs of a training; `batch` is the number of inputs that an evaluation encodes at once.
    fn new(config: &'c TrainingConfig, [pairs, validation]: [usize; 2], batch: usize) -> Self {
        // the parameters of a part may be in any group; those of a frozen one have no moments
        let trained = config.groups.iter().filter(|group| group.learning_rate != Some(0.0));
        let groups = trained.filter_map(|group| group.optimizer);
        let optimizers = groups.chain([config.optimizer]);
        let (moments, rule) = optimizers.fold((0.0, 0.0), |(moments, rule), optimizer| {
            let (more_moments, more_rule) = match optimizer {
                OptimizerName::Sgd if config.momentum.unwrap_or(0.0) == 0.0 => (0.0, 4.0),
                OptimizerName::Sgd | OptimizerName::Lion | OptimizerName::Muon => (4.0, 9.0),
                OptimizerName::Adam | OptimizerName::AdamW => (8.0, 7.0),
            };
            (f64::max(moments, more_moments), f64::max(rule, more_rule))
        });
        // the moving average is read and written, and its parameter read
        let (average, averaging) = if config.ema > 0.0 { (4.0, 3.0) } else { (0.0, 0.0) };
        let per_epoch = config.steps_per_epoch(pairs);
        let epochs = config.epochs as f64;
        let evaluations = config.evaluate_every.times(config.epochs, per_epoch);
        Self {
            config,
            moments: moments + average,
            rule: rule + averaging,
            inputs: (config.at_once().min(pairs) as f64).max(batch.min(validation) as f64 / 4.0),
            batch: config.batch.min(pairs) as f64,
            steps: epochs * per_epoch as f64,
            checkpoints: evaluations,
            passes: 3.0 * epochs * pairs as f64 + evaluations * validation as f64,
        }
    }

    /// Returns the bytes of a parameter with its gradient and moments.
    fn trained(&self) -> f64 {
        8.0 + self.moments
    }

    /// Returns the bytes of the best value so far of a parameter, and of the checkpoint that is written: value and moments once as
    /// tensors, and the value once as bytes.
    fn stored(&self) -> f64 {
        12.0 + self.moments
    }

    /// Returns how many copies of each parameter a GPU holds.
    fn copies_on_gpu(&self) -> f64 {
        f64::max(3.0, self.trained() / 4.0)
    }

    fn on_cpu(&self, part: &PartSize) -> [Need; 2] {
        let keys = keys(part);
        // a gradient by rows has those of a batch, which plain descent changes only
        let read = if self.config.by_rows() {
            part.parameters.min(self.batch * part.products)
        } else {
            part.parameters
        };
        let changed = if self.moments == 0.0 { read } else { part.parameters };
        // a checkpoint's tensors are those of the model and of its optimiser
        let copied = self.stored() - 4.0 - self.moments;
        let bytes = (self.trained() + copied) * part.parameters - 4.0 * (part.parameters - read);
        let parameters = Need {
            traffic: self.steps * 4.0 * self.rule * changed
                + WRITTEN * self.checkpoints * self.stored() * part.parameters,
            ..Need::memory(&*keys, "parameters, gradients and checkpoints", bytes)
        };
        let activations = Need {
            multiplications: WHOLE_STEP * self.passes * part.products,
            ..Self::activations(&keys, 4.0 * self.inputs * part.activations)
        };
        [parameters, activations]
    }

    fn on_gpu(&self, part: &PartSize, memory: f64) -> [Need; 3] {
        let keys = keys(part);
        let gpu = Some(memory);
        let checkpoints = Need::memory(&*keys, "checkpoints", self.stored() * part.parameters);
        let bytes = 4.0 * self.copies_on_gpu() * part.parameters;
        let parameters = Need { gpu, ..Need::memory(&*keys, "parameters and gradients", bytes) };
        let bytes = part.gpu_width * (self.inputs * part.activations);
        [checkpoints, parameters, Need { gpu, ..Self::activations(&keys, bytes) }]
    }

    /// Returns what a step keeps for the backward pass.
    fn activations(keys: &str, bytes: f64) -> Need {
        Need::memory(format!("{keys} × training.batch"), "activations of a step", bytes)
    }
}

/// Returns the keys of a configuration that the size of a part goes with.
fn keys(part: &PartSize) -> String {
    part.clone().inside("encoder").keys.into_owned()
}

/// Returns the settings by which a step encodes a half of a batch at a time, a quarter, and so on, where more needs more
/// memory than the GPU has.
pub fn split_batches(
    config: &TrainingConfig,
    needs: impl Fn(&TrainingConfig) -> Vec<Need>,
) -> TrainingConfig {
    let mut split = config.clone();
    let whole = config.micro_batch == 0;
    while whole && split.at_once() > 1 && Budget::default().afford_on_gpu(&needs(&split)).is_err() {
        split.micro_batch = split.at_once().div_ceil(2);
    }
    split
}
