//! The memory that a run needs, estimated before it is taken and compared with what there is.
//!
//! Each part of a run states its own needs: data in `dsokr_data`, encoders by
//! [`PartSize`], kernel machines and the basis next to their code. A check compares
//! what is still to be taken with what is available at that moment, so what is held already counts as
//! it is.

use dsokr_basis::features::{Selected, distinct};
use dsokr_basis::{OutputKernel, RowKind, SketchKind};
use dsokr_data::{DataRoot, Dataset};
use dsokr_decode::SecondLook;
use dsokr_machines::Cost;
use dsokr_nn::PartSize;
use dsokr_train::{LossConfig, OptimizerName, TrainingConfig};
use serde::Serialize;

use crate::config::folds::REPEATED;
use crate::config::{Checked, SecondLookConfig};
use crate::error::Error;

pub use dsokr_core::memory::{Bytes, Limit, available};

/// A part of what a run needs. Numbers are `f64`, because configured sizes may overflow an integer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Need {
    /// The keys of the configuration that determine its size.
    pub keys: String,
    /// Its name.
    pub what: &'static str,
    /// Bytes of memory.
    pub bytes: f64,
    /// The size of the GPU's memory, if it is taken there; infinite where its driver does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<f64>,
    /// Multiplications of the whole run.
    pub multiplications: f64,
    /// Bytes that the whole run reads and writes apart from products.
    pub traffic: f64,
}

impl Need {
    /// Only memory.
    pub fn memory(keys: impl Into<String>, what: &'static str, bytes: f64) -> Self {
        Self { keys: keys.into(), what, bytes, gpu: None, multiplications: 0.0, traffic: 0.0 }
    }
}

/// The share of a GPU's memory that a run takes at most.
const GPU_SHARE: f64 = 0.9;

/// Bytes that the engine of a GPU takes for arrays of up to 64 KiB, and those that it leaves free at most behind each copy
/// of a large one: its pages have the size of the largest array and 1 MiB, in whole MiB.
const SMALL_ARRAYS: f64 = 8.0 * 1024.0 * 1024.0;
const GAP: f64 = 2.0 * 1024.0 * 1024.0;

/// Refuses needs that exceed what is available, here or on the GPU; `force` warns instead.
///
/// # Errors
/// [`Error::Memory`] with the keys of the largest need.
pub fn check(needs: &[Need], force: bool) -> Result<(), Error> {
    let here: Vec<&Need> = needs.iter().filter(|need| need.gpu.is_none()).collect();
    check_against(&here, available(), force)?;
    check_gpu(needs, force)
}

/// The same of the needs of a GPU.
fn check_gpu(needs: &[Need], force: bool) -> Result<(), Error> {
    let there: Vec<&Need> = needs.iter().filter(|need| need.gpu.is_some()).collect();
    let size = there.first().and_then(|need| need.gpu);
    let source = "memory of the GPU, less a tenth for its driver and gaps".into();
    check_against(&there, size.map(|bytes| Limit { bytes: GPU_SHARE * bytes, source }), force)
}

fn check_against(needs: &[&Need], limit: Option<Limit>, force: bool) -> Result<(), Error> {
    let Some(limit) = limit else { return Ok(()) };
    let total: f64 = needs.iter().map(|need| need.bytes).sum();
    let largest = needs.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let Some(largest) = largest.filter(|_| total > limit.bytes) else { return Ok(()) };
    let error = Error::Memory {
        keys: largest.keys.clone(),
        what: largest.what,
        part: Bytes(largest.bytes),
        total: Bytes(total),
        limit,
    };
    if force {
        tracing::warn!("{error}");
        return Ok(());
    }
    Err(error)
}

/// Number of coordinates of a prediction, at most.
pub(crate) fn coordinates(config: &Checked, dataset: &Dataset) -> usize {
    let outputs = dataset.outputs.rows.as_ref();
    match (config.encoder.abilities().levels, config.sketch.full) {
        (Some(levels), _) => levels.len(),
        (None, false) => config.sketch.size.min(dataset.train.ids.len()),
        // an encoder learns the rows themselves; a kernel machine's answers are weights of the outputs
        (None, true) if config.encoder.abilities().closed_form => dataset.train.ids.len(),
        (None, true) => outputs.width(),
    }
}

/// The memory of targets and candidates.
pub(crate) fn of_outputs(config: &Checked, dataset: &Dataset) -> Vec<Need> {
    let rows = dataset.outputs.rows.as_ref();
    let p = coordinates(config, dataset) as f64;
    let [pairs, candidates] =
        [dataset.train.ids.len(), dataset.outputs.candidates.len()].map(|count| count as f64);
    let size = if config.sketch.full { "sketch.full" } else { "sketch.size" };
    let width = if rows.kind() == RowKind::Dense { rows.width() as f64 } else { 0.0 };
    // those of a training, and the report of about as many queries
    let evaluations = if config.encoder.abilities().closed_form {
        1.0
    } else {
        config.training.epochs as f64 / config.training.evaluate_every.max(1) as f64
    };
    let scored = (evaluations + 1.0) * dataset.validation.ids.len() as f64 * candidates;
    let candidates = Need {
        multiplications: scored * p,
        ..Need::memory(size, "candidates", 12.0 * candidates * p)
    };
    if config.sketch.full && config.encoder.abilities().closed_form {
        // IOKR has no basis, and its targets are the places of the outputs
        return vec![candidates];
    }
    let anchored: f64 =
        anchors(config, dataset).into_iter().map(|kernel| kernel.multiplications(pairs)).sum();
    let basis = Need {
        // the Gram matrix, its eigenvectors, and the work of finding them
        multiplications: 10.0 * p.powi(3) + p * p * width + pairs * p * (width + p) + anchored,
        ..Need::memory(size, "the basis", 32.0 * p * p + 4.0 * p * width)
    };
    // the fingerprint of the data takes a copy of both
    let targets = Need::memory(size, "targets of the training pairs", 16.0 * pairs * p);
    vec![basis, targets, candidates]
}

/// Multiplications in single precision that take as long as one value of a kernel, apart from the product of the rows.
const KERNEL_VALUE: f64 = 60.0;

/// The anchors of a sketch under a kernel that is not linear in features.
struct Anchors {
    /// Their number a, at most.
    count: f64,
    /// The size m of the sketch.
    size: f64,
    /// Columns that the product of two rows passes over.
    entries: f64,
    /// Distinct candidates, at most.
    candidates: f64,
}

impl Anchors {
    /// The kernel of all pairs of anchors, its products with R from both sides, and the kernel of the outputs of so many
    /// pairs and of the candidates with the anchors, times the matrix of the basis; in double precision.
    fn multiplications(&self, pairs: f64) -> f64 {
        let Self { count: a, size: m, entries, candidates } = *self;
        let values = a * a + a * (pairs + candidates);
        values * (KERNEL_VALUE + entries) + 2.0 * m * values
    }
}

/// The number of training outputs that are rows of a sketch.
fn sketched_outputs(config: &Checked, dataset: &Dataset) -> usize {
    let outputs: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    if !config.sketch.is_of_distinct(outputs.len()) {
        return outputs.len();
    }
    let rows = Selected::new(dataset.outputs.rows.as_ref(), &outputs);
    // rows that cannot be read are an error of the fit
    distinct(&rows).map_or(outputs.len(), |found| found.representative.len())
}

/// The anchors of each kernel that is not linear in features.
fn anchors(config: &Checked, dataset: &Dataset) -> Vec<Anchors> {
    let rows = dataset.outputs.rows.as_ref();
    let n = sketched_outputs(config, dataset);
    let summands = config.output.summands().map(|summand| (&summand.kernel, summand.size));
    let single = config.output.kernel.as_ref().map(|kernel| (kernel, config.sketch.size));
    let mut found = Vec::new();
    for (kernel, size) in single.into_iter().chain(summands) {
        if kernel.feature_scale(1.0).is_some() {
            continue;
        }
        let size = size.min(n) as f64;
        let method = config.sketch.method_for(kernel, n);
        let n = n as f64;
        let count = match method {
            SketchKind::Subsampling { .. } => size,
            SketchKind::Leverage { pilot, .. } => size + pilot as f64,
            SketchKind::Accumulation { terms } => n.min(size * terms as f64),
            SketchKind::SparsifiedRademacher { density }
            | SketchKind::SparsifiedGaussian { density } => n * (1.0 - (1.0 - density).powf(size)),
            // every output has an entry; the enum may grow
            _ => n,
        };
        let entries = match rows.kind() {
            RowKind::Dense => rows.width() as f64,
            RowKind::Bits => rows.width() as f64 / 64.0,
            // a few entries of a row
            _ => 0.0,
        };
        found.push(Anchors {
            count,
            size,
            entries,
            candidates: dataset.outputs.candidates.len() as f64,
        });
    }
    found
}

/// The memory of drawing the data, or of reading their files.
pub(crate) fn of_data(config: &Checked, root: &DataRoot) -> Vec<Need> {
    let what = if root.folder().is_none() { "drawn data" } else { "data in files" };
    let needs = config.source().memory(root).into_iter();
    needs.map(|(keys, bytes)| Need::memory(keys, what, bytes)).collect()
}

/// The memory and time of the second look, for p coordinates: fits without each part of the pairs (`fit` gives the
/// cost for a number of pairs), and what is found of the pairs that they answer. All is taken in addition to what the
/// fit of the machine itself needs.
pub(crate) fn of_second_look(
    settings: &SecondLookConfig,
    config: &Checked,
    dataset: &Dataset,
    p: usize,
    fit: impl Fn(usize) -> Cost,
) -> Need {
    let SecondLookConfig { candidates: size, neighbours, answered, refit, ref words, .. } =
        *settings;
    let n = dataset.train.ids.len();
    let rest = settings.parts().rest(n);
    let Cost { bytes, multiplications } =
        if refit { fit(rest) } else { Cost { bytes: 0.0, multiplications: 0.0 } };
    let [n, part, p, size, parts, neighbours] =
        [n, n - rest, p, size, answered, neighbours].map(|count| count as f64);
    let candidates = dataset.outputs.candidates.len() as f64;
    let rest = n - part;
    let queries = parts * (part + rest / REPEATED as f64);
    let hubs = if config.decoding.hubs.is_some() { rest * candidates * p } else { 0.0 };
    let [examples, network] = SecondLook::cost(queries, size, words.is_some());
    // scores of all candidates and pairs, and those of the first ones with their neighbours' outputs
    let found = queries * p * (candidates + rest + size * neighbours);
    // answers of all fits, the outputs and what is compared with them, and the candidates again
    let held = 4.0 * p * (parts * n + 4.0 * n + candidates);
    Need {
        multiplications: parts * (multiplications + hubs) + found + network,
        ..Need::memory("decoding.second_look", "the second look", bytes + held + examples)
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
    let steps = epochs * pairs.div_ceil(config.batch.max(1)) as f64;
    let batch_size = config.batch.min(pairs) as f64;
    let evaluations = epochs / config.evaluate_every.max(1) as f64;
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

/// The same settings, but a step encodes a half of a batch at a time, a quarter, and so on, where more needs more
/// memory than the GPU has.
pub fn split_batches(
    config: &TrainingConfig,
    needs: impl Fn(&TrainingConfig) -> Vec<Need>,
) -> TrainingConfig {
    let mut split = config.clone();
    let whole = config.micro_batch == 0 && !matches!(config.loss, LossConfig::Contrastive { .. });
    while whole && split.at_once() > 1 && check_gpu(&needs(&split), false).is_err() {
        split.micro_batch = split.at_once().div_ceil(2);
    }
    split
}
