use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use dsokr_core::Place;

/// Errors of fetching data sets and pretrained weights.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A table of data sets that cannot be read as one.
    #[error("{}: {message}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        message: String,
    },
    /// A file or folder that does not exist.
    #[error("{}: not found{hint}", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
        /// The other places where it was looked for, or empty.
        hint: String,
    },
    /// A file that cannot be downloaded, or is not what was expected.
    #[error("{what}: {message}")]
    Download {
        /// The address or the file.
        what: String,
        /// What is wrong, and what to do.
        message: String,
    },
    /// A value out of range, or the file system.
    #[error(transparent)]
    Core(#[from] dsokr_core::Error),
    /// A downloaded file that cannot be converted.
    #[error(transparent)]
    Data(#[from] dsokr_data::Error),
}

impl Error {
    /// Creates a download that has failed.
    pub(crate) fn download(what: impl Display, message: impl Into<String>) -> Self {
        Self::Download { what: what.to_string(), message: message.into() }
    }

    /// Creates a value that is not allowed.
    pub(crate) fn value(key: impl Into<Place>, found: impl Display, allowed: impl Display) -> Self {
        dsokr_core::Error::value(key, found, allowed).into()
    }

    /// Creates an error of the file system at `path`.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| dsokr_core::Error::io(path)(error).into()
    }

    /// Creates the error for a text file that could not be read.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, IsADirectory, NotFound};
        let table = |message| Self::Table { path: path.into(), message };
        move |error| match error.kind() {
            NotFound => Self::NotFound { path: path.into(), hint: String::new() },
            IsADirectory => table("a folder, where a file was expected".into()),
            InvalidInput | InvalidData | FileTooLarge => table(error.to_string()),
            _ => Self::io(path)(error),
        }
    }
}
