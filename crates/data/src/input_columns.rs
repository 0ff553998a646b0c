//! The columns of inputs that the file of the training pairs has, by which other files are read.

use serde::{Deserialize, Serialize};

/// What only the file of the training pairs tells of the columns of its inputs, in a multi-label file. A run keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputColumns {
    /// The names of the attributes of an .arff file that are inputs.
    Attributes(Vec<String>),
    /// Those of a .libsvm file.
    Numbered(Numbering),
}

impl InputColumns {
    /// Returns the names of the attributes, of an .arff file.
    pub(crate) fn attributes(&self) -> Option<&[String]> {
        match self {
            Self::Attributes(names) => Some(names),
            Self::Numbered(_) => None,
        }
    }
}

/// How a .libsvm file counts its features and writes its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbering {
    /// The number of features. Another file may name fewer: what it does not name is 0.
    pub width: usize,
    /// Whether features count from 0: the header says so, or one of them is 0.
    pub zero_based: bool,
    /// Whether a label is `-1`, so that labels are the classes of a binary problem.
    pub binary: bool,
}
