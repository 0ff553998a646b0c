//! The right to write a run directory, and new ones, which are made complete or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use dsokr_basis::store::{create_folder, new_folder, remove_abandoned};

use super::place::{name, parent};
use crate::Error;

/// Creates the folder of a run, complete or not at all: `fill` fills it under a temporary name beside
/// its place, and it is renamed. Returns the right to write it.
pub(super) fn create_whole(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<Option<RunLock>, Error> {
    let parent = parent(path);
    create_folder(parent)
        .map_err(|e| Error::run(parent, format!("no run directory can be made there: {e}")))?;
    let lock = RunLock::take(path)?;
    if path.exists() {
        return Err(Error::RunExists { path: path.into() });
    }
    new_folder(path, fill)?;
    Ok(lock)
}

/// The right to write a run directory, which one process has at a time.
///
/// It is an advisory lock on the file `.NAME.lock` beside the run, which holds the number of the process.
/// The system releases the lock of a process that ends, however it ends.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
    path: PathBuf,
}

impl RunLock {
    /// Takes the lock of the run at `run`, and removes what a killed process left beside it. None where
    /// the file system has no locks or nothing may be written beside the run.
    ///
    /// # Errors
    /// [`Error::Run`] with the process that writes the run.
    pub(crate) fn take(run: &Path) -> Result<Option<Self>, Error> {
        // two names of one run have one lock
        let place = run.canonicalize().unwrap_or_else(|_| run.into());
        let (folder, name) = (parent(&place), name(&place));
        let path = folder.join(format!(".{name}.lock"));
        let without = |e: &std::io::Error| {
            tracing::warn!("{} is not locked ({e}): no second process may write it", run.display());
        };
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = match options.open(&path) {
                Ok(file) => file,
                Err(e) => {
                    without(&e);
                    return Ok(None);
                }
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = file.read_to_string(&mut holder);
                    let holder = holder.trim();
                    let holder = if holder.is_empty() { "a process" } else { holder };
                    let message =
                        format!("{holder} is writing this run; wait for its end or stop it");
                    return Err(Error::run(run, message));
                }
                Err(TryLockError::Error(e)) => {
                    without(&e);
                    return Ok(None);
                }
            }
            // the holder before may have removed the file between the two calls above
            if !is_at(&file, &path) {
                continue;
            }
            let written = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| writeln!(file, "process {}", std::process::id()));
            if let Err(e) = written {
                tracing::warn!("{}: {e}", path.display());
            }
            remove_abandoned(&place);
            return Ok(Some(Self { file, path }));
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // removed while it is locked: who opens it meanwhile finds that it is gone, and tries again
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether a path still names an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(found)) => (own.dev(), own.ino()) == (found.dev(), found.ino()),
        (_, Err(e)) if e.kind() == ErrorKind::NotFound => false,
        _ => true,
    }
}

/// Whether a path still names an open file: other systems do not remove one that is open.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    match fs::metadata(path) {
        Err(e) => e.kind() != ErrorKind::NotFound,
        Ok(_) => true,
    }
}
