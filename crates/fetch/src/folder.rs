use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use crate::error::Error;

/// Creates the folder of a file, and the folders above it.
pub(crate) fn create_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(Error::io(parent)),
        None => Ok(()),
    }
}

/// Creates a file and locks it until the returned one is closed; returns none where a different process, or a different
/// call of this one, has locked it.
pub(crate) fn try_lock(path: &Path) -> Result<Option<File>, Error> {
    let file = File::create(path).map_err(Error::io(path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // file systems without locks are used all the same
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Locks a file as [`try_lock`] does, and waits as long as a different process has locked it.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::io(path))?;
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // file systems without locks are used all the same
            Ok(()) | Err(_) => return Ok(file),
        }
    }
}
