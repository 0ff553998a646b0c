//! The data, the basis, the targets and the candidates.

use dsokr_basis::RowKind;
use dsokr_data::{DataRoot, Dataset};

use super::Need;
use crate::config::Checked;

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

/// What targets and candidates need.
pub(crate) fn of_outputs(config: &Checked, dataset: &Dataset) -> Vec<Need> {
    let rows = dataset.outputs.rows.as_ref();
    let p = coordinates(config, dataset) as f64;
    let [pairs, candidates] =
        [dataset.train.ids.len(), dataset.outputs.candidates.len()].map(|count| count as f64);
    let size = if config.sketch.full { "sketch.full" } else { "sketch.size" };
    let width = if rows.kind() == RowKind::Dense { rows.width() as f64 } else { 0.0 };
    let candidates = Need::memory(size, "candidates", 12.0 * candidates * p);
    if config.sketch.full && config.encoder.abilities().closed_form {
        // IOKR has no basis, and its targets are the places of the outputs
        return vec![candidates];
    }
    let basis = Need {
        // the Gram matrix, its eigenvectors, and the work of finding them
        multiplications: 10.0 * p.powi(3) + p * p * width + pairs * p * (width + p),
        ..Need::memory(size, "the basis", 32.0 * p * p + 4.0 * p * width)
    };
    // the fingerprint of the data takes a copy of both
    let targets = Need::memory(size, "targets of the training pairs", 16.0 * pairs * p);
    vec![basis, targets, candidates]
}

/// What drawing the data, or reading their files, needs.
pub(crate) fn of_data(config: &Checked, root: &DataRoot) -> Vec<Need> {
    let what = if root.folder().is_none() { "drawn data" } else { "data in files" };
    let needs = config.source().memory(root).into_iter();
    needs.map(|(keys, bytes)| Need::memory(keys, what, bytes)).collect()
}
