//! Errors in the arguments and files of this crate.

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
        /// The message.
        message: String,
    },
    /// A mol block that cannot be read.
    #[error("{message}")]
    MolBlock {
        /// The line of the block that is wrong, from 0.
        line: usize,
        /// The message.
        message: String,
    },
    /// An edge that a graph cannot have, or features that do not make a vocabulary.
    #[error("{message}")]
    Graph {
        /// The message.
        message: String,
    },
    /// A file of graphs, a setting out of range, and rows that the features do not allow, such as those with more
    /// columns than can be numbered.
    #[error(transparent)]
    Core(#[from] dsokr_core::Error),
}

impl Error {
    pub(crate) fn smiles(position: usize, message: impl Into<String>) -> Self {
        Self::Smiles { position, message: message.into() }
    }

    /// Returns the same error of another text, in which places are others.
    pub(crate) fn moved(self, place: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Smiles { position, message } => {
                Self::Smiles { position: place(position), message }
            }
            other @ (Self::MolBlock { .. } | Self::Graph { .. } | Self::Core(_)) => other,
        }
    }

    /// Returns the byte offset of the place in a SMILES that is wrong, from 0; `None` for other errors.
    pub fn position(&self) -> Option<usize> {
        if let Self::Smiles { position, .. } = self { Some(*position) } else { None }
    }
}
