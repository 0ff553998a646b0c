use std::fs;
use std::path::Path;

use dsokr_basis::store::{create_folder, sync_folder};

use super::RunLock;
use super::lock::{PARTIAL, RANDOM};
use super::place::{name, parent};
use crate::Error;

/// Creates the folder of a run, complete or not at all: `fill` fills it under a temporary name beside
/// its place, and it is renamed. Returns the right to write it.
pub(super) fn create_whole(
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
    fill_whole(path, "run directory", fill)?;
    Ok(lock)
}

/// Creates a folder that does not exist, complete or not at all; `what` is what it is, for the error.
pub(super) fn fill_whole(
    path: &Path,
    what: &str,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let parent = parent(path);
    let refused = |e: std::io::Error| Error::Run {
        path: parent.into(),
        message: format!("no {what} can be made there: {e}"),
    };
    create_folder(parent).map_err(refused)?;
    let mut builder = tempfile::Builder::new();
    let prefix = format!(".{}.", name(path));
    builder.prefix(&prefix).rand_bytes(RANDOM).suffix(PARTIAL);
    // temporary folders are private by default; a run is an ordinary one
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    // removed with what it holds where it is not renamed
    let here = builder.tempdir_in(parent).map_err(refused)?;
    fill(here.path())?;
    fs::rename(here.path(), path).map_err(|e| io(path, &e))?;
    let _ = here.keep();
    sync_folder(parent).map_err(|e| io(parent, &e))
}

pub(super) fn io(path: &Path, e: &std::io::Error) -> Error {
    Error::Io { path: path.into(), message: e.to_string() }
}
