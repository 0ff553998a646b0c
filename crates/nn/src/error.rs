//! The errors of building, preparing and loading encoders.

use std::fmt;
use std::path::Path;

use dsokr_core::Argument;

/// How the text starts that Git leaves in the place of a file that Git LFS holds.
pub(crate) const POINTER: &str = "version https://git-lfs.github.com/spec/";
/// What such a text is, and what to do.
pub(crate) const PULL: &str =
    "a pointer of Git LFS in the place of the file: `git lfs pull` fetches it";

/// Errors of building, preparing and loading encoders.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The names of tensors differ from those of the model.
    #[error("{place}: {} missing; {} unknown", counted(missing), counted(unknown))]
    Names {
        /// The file and what it should hold.
        place: String,
        /// Tensors of the model that are missing, with the shapes expected.
        missing: Vec<(String, Vec<usize>)>,
        /// Tensors that the model does not have, with their shapes.
        unknown: Vec<(String, Vec<usize>)>,
    },
    /// The shape of a tensor differs from that of the model.
    #[error("{tensor} has shape {found:?}, the model has {expected:?}")]
    Shape {
        /// The name of the tensor, with the file that it came from.
        tensor: String,
        /// The shape of the tensor.
        found: Vec<usize>,
        /// The shape in the model.
        expected: Vec<usize>,
    },
    /// A tensor with a value that is NaN or infinite.
    #[error("{tensor} holds a value that is not finite (element {element})")]
    NotFinite {
        /// The name of the tensor, with the file that it came from.
        tensor: String,
        /// The first such element, row-major.
        element: usize,
    },
    /// The tokenizer could not be trained or applied.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// A device that this program or this machine does not have.
    #[error("{} {device}: {message}", Argument::new("device"))]
    Device {
        /// The name of the device.
        device: String,
        /// Why it cannot be used.
        message: String,
    },
    /// A setting, named as a key of `encoder`, a file, or feature rows.
    #[error(transparent)]
    Core(dsokr_core::Error),
}

impl Error {
    pub(crate) fn file(path: &Path, message: impl fmt::Display) -> Self {
        Self::Core(dsokr_core::Error::file(path, message))
    }
}

/// Refuses names that are missing or unknown.
pub(crate) fn check_names(
    place: impl FnOnce() -> String,
    missing: impl Iterator<Item = (String, Vec<usize>)>,
    unknown: impl Iterator<Item = (String, Vec<usize>)>,
) -> Result<(), Error> {
    let missing = Vec::from_iter(missing);
    let unknown = Vec::from_iter(unknown);
    if missing.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    Err(Error::Names { place: place(), missing, unknown })
}

/// Refuses a setting unless it `holds`.
pub(crate) fn check(
    holds: bool,
    key: &'static str,
    found: impl fmt::Display,
    allowed: impl fmt::Display,
) -> Result<(), Error> {
    Ok(dsokr_core::Error::ensure(holds, key, found, allowed)?)
}

/// Returns the number of tensors, and names and shapes of the first five.
fn counted(tensors: &[(String, Vec<usize>)]) -> String {
    const SHOWN: usize = 5;
    let named = |(name, shape): &(String, Vec<usize>)| format!("`{name}` {shape:?}");
    let shown: Vec<String> = tensors.iter().take(SHOWN).map(named).collect();
    match tensors.len() {
        0 => "0".into(),
        n => format!("{n} ({}{})", shown.join(", "), if n > SHOWN { ", …" } else { "" }),
    }
}

impl From<tokenizers::Error> for Error {
    fn from(error: tokenizers::Error) -> Self {
        Self::Tokenizer(error.to_string())
    }
}

impl From<dsokr_core::Error> for Error {
    /// Converts an error of the crate of bases, whose settings (those of TF-IDF n-grams, say) are settings of an
    /// encoder too.
    fn from(error: dsokr_core::Error) -> Self {
        Self::Core(error.of("encoder."))
    }
}
