//! The constants of a run's training outputs.

use std::path::Path;

use super::{CONSTANTS, read_json, write_text};
use crate::error::Error;
use crate::metrics::constants::Constants;

/// Reads the constants of the run at `run`; none where outputs are neither numbers nor classes.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(crate) fn load_constants(run: &Path) -> Result<Option<Constants>, Error> {
    read_json(&run.join(CONSTANTS))
}

/// Writes constants into the run at `run`, if there are some.
///
/// # Errors
/// The file system's errors.
pub(crate) fn save_constants(constants: Option<&Constants>, run: &Path) -> Result<(), Error> {
    let Some(constants) = constants else { return Ok(()) };
    write_text(&run.join(CONSTANTS), &(serde_json::to_string_pretty(constants)? + "\n"))
}
