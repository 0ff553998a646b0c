//! The constants of a run's training outputs.

use std::path::Path;

use dsokr_machines::Scaling;

use super::{CONSTANTS, read_json, write_text};
use crate::error::Error;
use crate::metrics::constants::Constants;

/// Reads the constants of the run at `run`. A run of an earlier version has at most the means, by which targets are
/// standardised.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(crate) fn load_constants(
    run: &Path,
    scaling: Option<&Scaling>,
) -> Result<Option<Constants>, Error> {
    if let Some(constants) = read_json(&run.join(CONSTANTS))? {
        return Ok(Some(constants));
    }
    let means = scaling.and_then(Scaling::means);
    Ok(means.map(|means| Constants::Numbers {
        means: means.to_vec(),
        medians: means.to_vec(),
        quantiles: Vec::new(),
    }))
}

/// Writes constants into the run at `run`, if there are some.
///
/// # Errors
/// The file system's errors.
pub(crate) fn save_constants(constants: Option<&Constants>, run: &Path) -> Result<(), Error> {
    let Some(constants) = constants else { return Ok(()) };
    write_text(&run.join(CONSTANTS), &(serde_json::to_string_pretty(constants)? + "\n"))
}
