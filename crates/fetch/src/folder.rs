use std::fs;
use std::path::Path;

use crate::error::Error;

/// Creates the folder of a file, and the folders above it.
pub(crate) fn create_parent(path: &Path) -> Result<(), Error> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent).map_err(Error::io(parent)),
        None => Ok(()),
    }
}
