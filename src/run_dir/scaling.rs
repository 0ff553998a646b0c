//! The means and standard deviations by which the features of a run's outputs are standardised.

use std::path::Path;

use dsokr_machines::Scaling;

use super::SCALING;
use crate::error::Error;

/// Reads means and deviations of the run at `run`; none where outputs are not standardised.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub(crate) fn load_scaling(run: &Path) -> Result<Option<Scaling>, Error> {
    let file = run.join(SCALING);
    if file.exists() { Ok(Some(Scaling::load(&file)?)) } else { Ok(None) }
}

/// Writes means and deviations into the run at `run`, if there are some.
///
/// # Errors
/// The file system's errors.
pub(crate) fn save_scaling(scaling: Option<&Scaling>, run: &Path) -> Result<(), Error> {
    scaling.map_or(Ok(()), |scaling| Ok(scaling.save(&run.join(SCALING))?))
}
