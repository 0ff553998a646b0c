//! The memory that a run needs, estimated before it is taken and compared with what there is.
//!
//! Each part of a run states its own needs: data in `dsokr_data`, encoders by
//! [`PartSize`](dsokr_nn::PartSize), kernel machines and the basis next to their code. A check compares
//! what is still to be taken with what is available at that moment, so what is held already counts as
//! it is.

use dsokr_basis::features::Selected;
use dsokr_basis::features::distinct;
use dsokr_basis::{OutputKernel, RowKind, RowSource, Tempering};
use dsokr_data::{DataRoot, Dataset};
use dsokr_machines::{DOUBLE, OutputSpace as MachineSpace, eigendecomposition};
use serde::Serialize;

use crate::config::Checked;
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
    /// Creates a need of memory alone.
    pub fn memory(keys: impl Into<String>, what: &'static str, bytes: f64) -> Self {
        Self { keys: keys.into(), what, bytes, gpu: None, multiplications: 0.0, traffic: 0.0 }
    }
}

/// The share of a GPU's memory that a run takes at most.
const GPU_SHARE: f64 = 0.9;

/// The most bytes that a process addresses on any processor of today. Sizes of which nothing needs more can be multiplied and
/// added in 64 bits.
const ADDRESSABLE: f64 = (1u64 << 56) as f64;

/// The memory that a run may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Start even if the estimated memory exceeds what is available.
    pub force: bool,
}

impl Budget {
    /// Refuses needs that exceed what is available, here or on the GPU; where a run is forced, it warns instead. Needs that no
    /// process can address are refused in any case.
    ///
    /// # Errors
    /// [`Error::Memory`] with the keys of the largest need; [`dsokr_core::Error::Value`] for one that cannot be.
    pub fn afford(self, needs: &[Need]) -> Result<(), Error> {
        let here: Vec<&Need> = needs.iter().filter(|need| need.gpu.is_none()).collect();
        self.afford_within(&here, available())?;
        self.afford_on_gpu(needs)
    }

    /// Refuses needs that exceed the memory of the GPU.
    pub(crate) fn afford_on_gpu(self, needs: &[Need]) -> Result<(), Error> {
        let there: Vec<&Need> = needs.iter().filter(|need| need.gpu.is_some()).collect();
        let size = there.first().and_then(|need| need.gpu);
        let source = "memory of the GPU, less a tenth for its driver and gaps".into();
        let limit = size.map(|bytes| Limit { bytes: GPU_SHARE * bytes, source });
        self.afford_within(&there, limit)
    }

    fn afford_within(self, needs: &[&Need], limit: Option<Limit>) -> Result<(), Error> {
        let total: f64 = needs.iter().map(|need| need.bytes).sum();
        let largest = needs.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let Some(largest) = largest else { return Ok(()) };
        if total > ADDRESSABLE {
            let found = format_args!("a size that needs {}", Bytes(total));
            let most = Bytes(ADDRESSABLE);
            let allowed =
                format_args!("a size that needs at most {most}, which a process can address");
            return Err(Error::value(largest.keys.clone(), found, allowed));
        }
        let Some(limit) = limit.filter(|limit| total > limit.bytes) else { return Ok(()) };
        let error = Error::Memory {
            keys: largest.keys.clone(),
            what: largest.what,
            part: Bytes(largest.bytes),
            total: Bytes(total),
            limit,
        };
        if self.force {
            tracing::warn!("{error}");
            return Ok(());
        }
        Err(error)
    }
}

/// Returns the number of coordinates of a prediction, at most.
pub(crate) fn coordinates(config: &Checked, dataset: &Dataset) -> usize {
    let outputs = dataset.outputs.rows.as_ref();
    match (config.encoder.abilities().levels, config.sketch.full) {
        (Some(levels), _) => levels.len(),
        (None, false) => sketched_coordinates(config, dataset.train.ids.len()),
        // an encoder learns the rows themselves; a kernel machine's predictions are weights of the outputs, of which equal
        // ones are one
        (None, true) if config.encoder.abilities().weighs_outputs => {
            let trained: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
            distinct_rows(outputs, &trained)
        }
        (None, true) => outputs.width(),
    }
}

/// Returns the number of coordinates of the basis of so many outputs, at most: a sum has no more than its kernels have together.
fn sketched_coordinates(config: &Checked, outputs: usize) -> usize {
    let size = config.sketch.size.min(outputs);
    if config.output.kernels.is_empty() {
        return size;
    }
    let sizes = config.output.summands().map(|summand| summand.size.min(outputs));
    size.min(sizes.sum())
}

/// Returns the memory of targets and of so many distinct candidates; of the training pairs this process holds the targets of a
/// share, and of the candidates that so many processes place the coordinates of a part.
pub(crate) fn of_outputs(
    config: &Checked,
    dataset: &Dataset,
    distinct_candidates: usize,
    share: f64,
    processes: usize,
) -> Vec<Need> {
    let rows = dataset.outputs.rows.as_ref();
    let p = coordinates(config, dataset) as f64;
    let pairs = held_targets(config, dataset) as f64;
    let distinct_candidates = distinct_candidates as f64;
    let size = if config.sketch.full { "sketch.full" } else { "sketch.size" };
    let width = if rows.kind() == RowKind::Dense { rows.width() as f64 } else { 0.0 };
    // a training has so many evaluations, and its report about as many queries as one more
    let evaluations = if config.encoder.abilities().trains_in_steps {
        let training = &config.training;
        let per_epoch = training.steps_per_epoch(dataset.train.ids.len());
        training.evaluate_every.times(training.epochs, per_epoch)
    } else {
        1.0
    };
    let scored = (evaluations + 1.0) * dataset.validation.ids.len() as f64 * distinct_candidates;
    // every process ranks all of them where targets are learned
    let parts = if config.encoder.abilities().learns_targets { 1.0 } else { processes as f64 };
    let candidates = Need {
        multiplications: scored * p,
        ..Need::memory(size, "candidates", 12.0 * distinct_candidates * p / parts)
    };
    if config.sketch.full && config.encoder.abilities().weighs_outputs {
        // IOKR has no basis, and its targets are the places of the outputs
        return vec![candidates];
    }
    let outputs = sketched_outputs(config, dataset);
    let anchored: f64 = anchors(config, dataset, outputs, distinct_candidates)
        .into_iter()
        .map(|kernel| kernel.multiplications(pairs))
        .sum();
    let basis = Need {
        multiplications: pairs * p * width
            + anchored
            + spectra(config, dataset, outputs, pairs, distinct_candidates),
        ..Need::memory(size, "the basis", 32.0 * p * p + 4.0 * p * width)
    };
    // targets that pairs share are held by every process
    let share = if pairs < dataset.train.ids.len() as f64 { 1.0 } else { share };
    // the fingerprint of the data takes a copy of both
    let targets = Need::memory(size, "targets of the training pairs", 16.0 * share * pairs * p);
    vec![basis, targets, candidates]
}

/// Steps that a subspace iteration usually takes.
const SUBSPACE_STEPS: f64 = 8.0;

/// Returns the multiplications for Gram matrices and eigenvectors of kernels, for the covariances of those that are tempered,
/// and for the coordinates of pairs and candidates in the directions of a sum. Sketches are of so many `outputs`.
fn spectra(
    config: &Checked,
    dataset: &Dataset,
    outputs: usize,
    pairs: f64,
    candidates: f64,
) -> f64 {
    let threads = rayon::current_num_threads() as f64;
    // a kernel that is linear in features has a matrix of all their columns, whose rows are multiplied and then turned
    let turned = |size: f64, width: usize, is_linear: bool| {
        if is_linear { DOUBLE * size * size * width as f64 } else { 0.0 }
    };
    let of_kernel = |size: f64, tempering: Tempering, turned: f64| {
        let covariance = DOUBLE * 0.5 * pairs * size * size + eigendecomposition(size, threads);
        let tempered = if tempering.changes_nothing() { 0.0 } else { turned + covariance };
        2.0 * turned + eigendecomposition(size, threads) + tempered
    };
    let p = sketched_coordinates(config, outputs) as f64;
    let single = config.output.kernel.as_ref();
    let is_linear = single.is_some_and(|kernel| kernel.feature_scale(1.0).is_some());
    let turned_single = turned(p, dataset.outputs.rows.as_ref().width(), is_linear);
    let summands = || config.output.kernels.iter().zip(dataset.outputs.features.widths());
    let of_summands =
        summands().filter(|(kernel, _)| kernel.weight > 0.0).map(|(kernel, width)| {
            let size = kernel.size.min(outputs) as f64;
            let is_linear = kernel.kernel.feature_scale(1.0).is_some();
            of_kernel(size, kernel.tempering(), turned(size, width, is_linear))
        });
    let sizes = config.output.summands().map(|kernel| kernel.size.min(outputs) as f64);
    let all: f64 = sizes.sum();
    // the leading eigenvectors of the covariance of all coordinates, by some steps on a quarter more vectors than are kept
    let vectors = 1.25 * p;
    let leading = if 2.0 * vectors < all {
        DOUBLE * SUBSPACE_STEPS * all * vectors * (all + 3.0 * vectors)
    } else {
        eigendecomposition(all, threads)
    };
    // pairs for the covariance of the sum, and again with the candidates
    let of_sum = DOUBLE * (0.5 * pairs * all * all + (pairs + candidates) * all * p) + leading;
    of_kernel(p, config.output.tempering(), turned_single) + of_summands.sum::<f64>() + of_sum
}

/// Returns the number of different targets that a fit holds: one for each pair, or one for each output where most outputs of many
/// pairs repeat.
pub(crate) fn held_targets(config: &Checked, dataset: &Dataset) -> usize {
    let outputs: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    if config.encoder.abilities().trains_in_steps {
        return outputs.len();
    }
    let rows = Selected::new(dataset.outputs.rows.as_ref(), &outputs);
    // rows that cannot be read are an error of the fit
    MachineSpace::held_targets(&rows).unwrap_or(outputs.len())
}

/// Returns the number of these rows that differ.
pub(crate) fn distinct_rows(rows: &dyn RowSource, selected: &[usize]) -> usize {
    let classes = distinct(&Selected::new(rows, selected));
    // rows that cannot be read are an error of the fit
    classes.map_or(selected.len(), |distinct| distinct.representative.len())
}

/// Multiplications in single precision that take as long as one value of a kernel, apart from the product of the rows.
const KERNEL_VALUE: f64 = 60.0;

/// The anchors of a sketch under a kernel that is not linear in features.
struct Anchors {
    /// Their number a, at most.
    count: f64,
    /// The size m of the sketch.
    size: f64,
    /// The entries of R for each anchor: those that are not zero, or all m.
    mixed: f64,
    /// Columns that the product of two rows passes over.
    entries: f64,
    /// Distinct candidates, at most.
    candidates: f64,
}

impl Anchors {
    /// Returns the kernel of all pairs of anchors, its products with R from both sides, and the kernel of the outputs of so many
    /// pairs and of the candidates with the anchors, times the matrix of the basis; in double precision.
    fn multiplications(&self, pairs: f64) -> f64 {
        let Self { count: a, size: m, mixed, entries, candidates } = *self;
        let projected = pairs + candidates;
        let values = a * a + a * projected;
        // the matrix of the basis, or its factors
        let turned = (a * m).min(a * mixed + m * m) * projected;
        values * (KERNEL_VALUE + entries) + 2.0 * (a * a * mixed + turned)
    }
}

/// Returns the number of training outputs that are rows of a sketch.
fn sketched_outputs(config: &Checked, dataset: &Dataset) -> usize {
    let outputs: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    if !config.sketch.is_of_distinct(outputs.len()) {
        return outputs.len();
    }
    distinct_rows(dataset.outputs.rows.as_ref(), &outputs)
}

/// Returns the anchors of each kernel that is not linear in features, of `n` outputs.
fn anchors(config: &Checked, dataset: &Dataset, n: usize, candidates: f64) -> Vec<Anchors> {
    let rows = dataset.outputs.rows.as_ref();
    let summands = config.output.summands().map(|summand| (&summand.kernel, summand.size));
    let single = config.output.kernel.as_ref().map(|kernel| (kernel, config.sketch.size));
    let mut anchors = Vec::new();
    for (kernel, size) in single.into_iter().chain(summands) {
        if kernel.feature_scale(1.0).is_some() {
            continue;
        }
        let size = size.min(n);
        let method = config.sketch.method_for(kernel, n);
        let count = method.compared_outputs(size, n);
        let mixed = method.held_entries(size, n);
        let size = size as f64;
        let entries = match rows.kind() {
            RowKind::Dense => rows.width() as f64,
            RowKind::Bits => rows.width() as f64 / 64.0,
            // a few entries of a row; the enum may grow
            _ => 0.0,
        };
        anchors.push(Anchors { count, size, mixed, entries, candidates });
    }
    anchors
}

/// Returns the memory of drawing the data, or of reading their files.
pub(crate) fn of_data(config: &Checked, root: &DataRoot) -> Vec<Need> {
    let what = if root.folder().is_none() { "drawn data" } else { "data in files" };
    let needs = config.source().memory(root).into_iter();
    needs.map(|(keys, bytes)| Need::memory(keys, what, bytes)).collect()
}
