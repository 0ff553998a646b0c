use std::fmt;
use std::path::{Path, PathBuf};

/// What can go wrong when encoders are built, prepared or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting out of range.
    #[error("encoder: {key} = {found}: {allowed}")]
    Setting {
        /// Configuration key.
        key: &'static str,
        /// The value found.
        found: String,
        /// The values allowed.
        allowed: String,
    },
    /// A file that cannot be read or written, or whose content is not what its name says; a value of it that is not
    /// allowed.
    #[error("{}: {message}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Tensors whose names are not those of the model.
    #[error("{place}: {missing} missing; {unknown} unknown")]
    Names {
        /// The file and what it should hold.
        place: String,
        /// Tensors of the model that are missing, with the shapes expected.
        missing: NamedShapes,
        /// Tensors that the model does not have, with their shapes.
        unknown: NamedShapes,
    },
    /// A tensor of the wrong shape.
    #[error("{tensor} has shape {found:?}, the model has {expected:?}")]
    Shape {
        /// The tensor, with its file.
        tensor: String,
        /// Its shape.
        found: Vec<usize>,
        /// Its shape in the model.
        expected: Vec<usize>,
    },
    /// A tensor with a value that is NaN or infinite.
    #[error("{tensor} holds a value that is not finite (element {element})")]
    NotFinite {
        /// The tensor, with its file.
        tensor: String,
        /// Index of the first such element, row-major.
        element: usize,
    },
    /// The tokenizer could not be trained or applied.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// Feature rows or a file of the crate `dsokr-basis`.
    #[error(transparent)]
    Basis(dsokr_basis::Error),
}

impl Error {
    pub(crate) fn file(path: &Path, message: impl fmt::Display) -> Self {
        Self::File { path: path.to_path_buf(), message: message.to_string() }
    }
}

/// `Ok` when nothing is missing or unknown.
pub(crate) fn check_names(
    place: impl FnOnce() -> String,
    missing: impl Iterator<Item = (String, Vec<usize>)>,
    unknown: impl Iterator<Item = (String, Vec<usize>)>,
) -> Result<(), Error> {
    let (missing, unknown) = (NamedShapes(missing.collect()), NamedShapes(unknown.collect()));
    if missing.0.is_empty() && unknown.0.is_empty() {
        return Ok(());
    }
    Err(Error::Names { place: place(), missing, unknown })
}

/// `Ok` when a setting `holds`.
pub(crate) fn check(
    holds: bool,
    key: &'static str,
    found: impl fmt::Display,
    allowed: impl Into<String>,
) -> Result<(), Error> {
    if holds {
        return Ok(());
    }
    Err(Error::Setting { key, found: found.to_string(), allowed: allowed.into() })
}

/// Names and shapes of tensors; displayed as their number and the first five.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedShapes(pub Vec<(String, Vec<usize>)>);

impl fmt::Display for NamedShapes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const SHOWN: usize = 5;
        write!(f, "{}", self.0.len())?;
        if self.0.is_empty() {
            return Ok(());
        }
        let named = |(name, shape): &(String, Vec<usize>)| format!("`{name}` {shape:?}");
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(named).collect();
        let more = if self.0.len() > SHOWN { ", …" } else { "" };
        write!(f, " ({}{more})", shown.join(", "))
    }
}

impl From<dsokr_basis::Error> for Error {
    /// TF-IDF n-grams belong to the crate of bases, but their settings are an encoder's.
    fn from(error: dsokr_basis::Error) -> Self {
        match error {
            dsokr_basis::Error::Value { key, found, allowed, .. } => {
                Self::Setting { key, found, allowed }
            }
            dsokr_basis::Error::File { path, message } => Self::File { path, message },
            other => Self::Basis(other),
        }
    }
}
