//! What can be wrong with what this crate is given.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a SMILES, a graph, a file of graphs or a setting was refused.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A SMILES that cannot be read, or one that is too large.
    #[error("position {position}: {message}")]
    Smiles {
        /// The place in the text that is wrong, as a byte offset from 0.
        position: usize,
        /// What is wrong.
        message: String,
    },
    /// An edge that a graph cannot have, a list that does not map the nodes of one graph to those of another, or features
    /// that make no vocabulary.
    #[error("{message}")]
    Graph {
        /// What is wrong.
        message: String,
    },
    /// A file that the operating system refuses to read, or that does not hold what it must.
    #[error("{}{place}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The place in it: `:line` or `:line:column`, from 1; empty for the whole file.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A setting out of range.
    #[error("{of}: {}{found}; allowed: {allowed}", if key.is_empty() { String::new() } else { format!("{key} = ") })]
    Parameter {
        /// What has the setting, such as `graph kernel nspd`.
        of: String,
        /// The setting, by its path below that; empty for the whole.
        key: String,
        /// The value found.
        found: String,
        /// The values allowed.
        allowed: String,
    },
    /// Rows that the features do not allow, such as those with more columns than can be numbered.
    #[error(transparent)]
    Rows(#[from] dsokr_basis::Error),
}

impl Error {
    pub(crate) fn smiles(position: usize, message: impl Into<String>) -> Self {
        Self::Smiles { position, message: message.into() }
    }

    /// A file that the operating system refuses to read.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::file(path, "no such file"),
            _ => Self::file(path, format!("cannot be read: {source}")),
        }
    }

    /// What is wrong with a whole file.
    pub(crate) fn file(path: &Path, message: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), place: String::new(), message: message.into() }
    }

    /// What is wrong with a line of a file.
    pub(crate) fn line(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), place: format!(":{line}"), message: message.into() }
    }

    pub(crate) fn parameter(
        of: impl Into<String>,
        key: &str,
        found: impl ToString,
        allowed: impl Into<String>,
    ) -> Self {
        let (key, found) = (key.to_owned(), found.to_string());
        Self::Parameter { of: of.into(), key, found, allowed: allowed.into() }
    }

    /// The same error of a setting that lies below `of`, at `parent`; other errors stay as they are.
    pub(crate) fn below(self, outer: &str, parent: &str) -> Self {
        match self {
            Self::Parameter { key, found, allowed, .. } => {
                let path = [parent, &key].into_iter().filter(|part| !part.is_empty());
                let key = path.collect::<Vec<_>>().join(".");
                Self::Parameter { of: outer.to_owned(), key, found, allowed }
            }
            other => other,
        }
    }

    /// Byte offset of the place in a SMILES that is wrong, from 0; `None` for other errors.
    pub fn position(&self) -> Option<usize> {
        if let Self::Smiles { position, .. } = self { Some(*position) } else { None }
    }
}
