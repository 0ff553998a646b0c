//! The files of the preparation of inputs, whose names a learner chooses.

use std::path::Path;

use super::{ALL, write_text};
use crate::error::Error;

/// Name and text of a file that holds the preparation of inputs.
pub type PreparationFile = (&'static str, String);

/// Checks the names of the files of a preparation.
pub(super) fn check_names(files: &[PreparationFile]) -> Result<(), Error> {
    for (at, (name, _)) in files.iter().enumerate() {
        check_name(name)?;
        if files[..at].iter().any(|(other, _)| other == name) {
            return Err(Error::run(name, "a preparation has two files of this name"));
        }
    }
    Ok(())
}

/// Refuses a name that a file of a preparation or of a model cannot have.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
    if is_plain && !ALL.contains(&name) {
        return Ok(());
    }
    let reserved = ALL.join(", ");
    let message = format!(
        "files of a preparation and of a model have plain names, none of those of a run: {reserved}"
    );
    Err(Error::run(name, message))
}

/// Writes the files of a preparation into a folder.
pub(crate) fn save_files(folder: &Path, files: &[PreparationFile]) -> Result<(), Error> {
    check_names(files)?;
    files.iter().try_for_each(|(name, text)| write_text(&folder.join(name), text))
}
