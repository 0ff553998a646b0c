use std::path::Path;

use dsokr_basis::store::{create_folder, new_folder};

use super::RunLock;
use super::place::parent;
use crate::Error;

/// Creates the folder of a run, complete or not at all: `fill` fills it under a temporary name beside
/// its place, and it is renamed. Returns the right to write it.
pub(crate) fn create_whole(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<Option<RunLock>, Error> {
    let parent = parent(path);
    let refused = |e: std::io::Error| Error::Run {
        path: parent.into(),
        message: format!("no run directory can be made there: {e}"),
    };
    create_folder(parent).map_err(refused)?;
    let lock = RunLock::take(path)?;
    if path.exists() {
        return Err(Error::RunExists { path: path.into() });
    }
    new_folder(path, fill)?;
    Ok(lock)
}

pub(crate) fn io(path: &Path, e: &std::io::Error) -> Error {
    Error::Io { path: path.into(), message: e.to_string() }
}
