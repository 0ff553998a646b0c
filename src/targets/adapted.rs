//! The configuration of a training as its pairs permit it.

use dsokr_data::Dataset;
use tracing::warn;

use super::constant::constant_kernels;
use crate::config::{Checked, Lowered};
use crate::error::Error;

/// Returns the configuration as the training pairs permit it: with sizes of at most their number, and without output
/// kernels under which all their outputs are the same, unless all kernels are such.
pub(super) fn adapted(config: &Checked, dataset: &Dataset) -> Result<Checked, Error> {
    let pairs = dataset.train.ids.len();
    let (config, lowered) = config.for_pairs(pairs)?;
    for Lowered { key, from, to } in lowered {
        warn!("{key} = {from} is lowered to {to}: there are {pairs} training pairs");
    }
    let constant = constant_kernels(&config, dataset)?;
    if constant.is_empty() || constant.len() == config.output.summands().count() {
        return Ok(config);
    }
    for place in &constant {
        let features = serde_json::json!(config.output.kernels[*place].features);
        warn!(
            "output.kernels[{place}] is left out: its features are the same for all training outputs; delete the table \
             [[output.kernels]] with the features {features}"
        );
    }
    Ok(config.without_kernels(&constant))
}
