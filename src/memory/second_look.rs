//! The second look at the first candidates.

use dsokr_data::Dataset;
use dsokr_decode::SecondLook;
use dsokr_machines::Cost;

use super::Need;
use crate::config::{Checked, SecondLookConfig};

/// What the second look needs, for p coordinates: fits without each part of the pairs, of which `fit` says the
/// cost for a number of pairs, and what is found of the pairs that they answer. All is taken beside what the fit
/// of the machine itself needs.
pub(crate) fn of_second_look(
    settings: &SecondLookConfig,
    config: &Checked,
    dataset: &Dataset,
    p: usize,
    fit: impl Fn(usize) -> Cost,
) -> Need {
    let SecondLookConfig { candidates: size, neighbours, folds, answered, ref words } = *settings;
    let n = dataset.train.ids.len();
    let part = n.div_ceil(folds.max(1)).min(n);
    let Cost { bytes, multiplications } = fit(n - part);
    let [n, part, p, size, parts, neighbours] =
        [n, part, p, size, answered, neighbours].map(|count| count as f64);
    let candidates = dataset.outputs.candidates.len() as f64;
    let (queries, rest) = (parts * part, n - part);
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
