use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::error::Error;

/// Creates the folder of a file, and the folders above it.
pub(crate) fn create_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(Error::io(parent)),
        None => Ok(()),
    }
}

/// Opens a file that is locked, and creates it where there is none. The file may be that of a different user, so that it is
/// opened to be read where it may not be written into; file systems of networks lock only what is opened to be written.
fn open_lock(path: &Path) -> io::Result<File> {
    let opened = File::options().write(true).create(true).truncate(false).open(path);
    opened.or_else(|error| File::open(path).map_err(|_| error))
}

/// Creates a file where there is none and locks it until the returned one is closed; returns none where a different process, or a different
/// call of this one, has locked it.
pub(crate) fn try_lock(path: &Path) -> Result<Option<File>, Error> {
    let file = open_lock(path).map_err(Error::io(path))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // file systems without locks are used all the same
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Locks a file as [`try_lock`] does, and waits as long as a different process has locked it.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    let file = open_lock(path).map_err(Error::io(path))?;
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // file systems without locks are used all the same
            Ok(()) | Err(_) => return Ok(file),
        }
    }
}
