use std::fmt;
use std::path::PathBuf;

/// What can go wrong when encoders are built, prepared or loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A size or rate that the encoder cannot have.
    #[error("encoder: {key} = {found}: {allowed}")]
    Setting {
        /// Configuration key.
        key: &'static str,
        /// The value found.
        found: String,
        /// The values allowed.
        allowed: String,
    },
    /// Parameters that a file should hold are missing.
    #[error("{missing} of the model's parameters are not in the file, the first is `{first}`")]
    MissingParameter {
        /// How many are missing.
        missing: usize,
        /// Name of the first.
        first: String,
    },
    /// A file holds parameters that the model does not have.
    #[error("the file holds `{name}`, which is no parameter of this model")]
    UnknownParameter {
        /// Its name.
        name: String,
    },
    /// A parameter's shape differs between file and model.
    #[error("parameter `{name}` has shape {found:?} in the file, the model has {expected:?}")]
    Shape {
        /// Its name.
        name: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape in the model.
        expected: Vec<usize>,
    },
    /// A parameter that is NaN or infinite.
    #[error("parameter `{name}` holds a value that is not finite (element {element})")]
    NotFinite {
        /// Its name.
        name: String,
        /// Index of the first such element.
        element: usize,
    },
    /// No n-gram or token is left to learn from.
    #[error("the {texts} training texts give no {what}: {hint}")]
    EmptyVocabulary {
        /// Number of training texts.
        texts: usize,
        /// "n-gram" or "token".
        what: &'static str,
        /// What to change.
        hint: &'static str,
    },
    /// Feature rows or a file of the crate `dsokr-basis`.
    #[error(transparent)]
    Basis(dsokr_basis::Error),
    /// The tokenizer could not be trained, read or applied.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// A file of a vocabulary, a tokenizer or pretrained weights could not be read or written.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A value in a file of a pretrained encoder that this encoder cannot have.
    #[error("{path}: {key} = {found}: {allowed}")]
    FileValue {
        /// The file.
        path: PathBuf,
        /// Key in the file.
        key: String,
        /// The value found, as JSON; "nothing" where the key is missing.
        found: String,
        /// The values allowed.
        allowed: String,
    },
    /// The tensors of a weight file are not those of the architecture.
    #[error("{path}: not the weights of this architecture: {missing} missing; {unknown} unknown")]
    OtherTensors {
        /// The file, or the index of several.
        path: PathBuf,
        /// Tensors that the architecture has and the file lacks, with the shapes expected.
        missing: NamedShapes,
        /// Tensors that the file holds and no encoder of the family has, with their shapes.
        unknown: NamedShapes,
    },
    /// A tensor's shape differs between weight file and architecture.
    #[error("{path}: `{name}` has shape {found:?}, the architecture has {expected:?}")]
    TensorShape {
        /// The file.
        path: PathBuf,
        /// The tensor's name in the file.
        name: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape in the architecture.
        expected: Vec<usize>,
    },
    /// A tensor of a type that weights do not have.
    #[error("{path}: `{name}` is {found}: F32, F16 or BF16")]
    TensorType {
        /// The file.
        path: PathBuf,
        /// The tensor's name in the file.
        name: String,
        /// Its element type.
        found: String,
    },
    /// A tensor in a weight file that is NaN or infinite somewhere.
    #[error("{path}: `{name}` holds a value that is not finite (element {element})")]
    TensorNotFinite {
        /// The file.
        path: PathBuf,
        /// The tensor's name in the file.
        name: String,
        /// Index of the first such element, row-major.
        element: usize,
    },
}

/// Names and shapes of tensors; displayed as their number and the first five.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedShapes(pub Vec<(String, Vec<usize>)>);

impl fmt::Display for NamedShapes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        const SHOWN: usize = 5;
        write!(f, "{}", self.0.len())?;
        for (i, (name, shape)) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}`{name}` {shape:?}", if i == 0 { " (" } else { ", " })?;
        }
        match self.0.len() {
            0 => Ok(()),
            n if n > SHOWN => write!(f, ", …)"),
            _ => write!(f, ")"),
        }
    }
}

impl From<dsokr_basis::Error> for Error {
    /// What TF-IDF n-grams, which are rows of the crate of bases, report; other errors as text.
    fn from(error: dsokr_basis::Error) -> Self {
        match error {
            dsokr_basis::Error::NgramSetting { key, found, allowed } => {
                Self::Setting { key, found, allowed }
            }
            dsokr_basis::Error::EmptyVocabulary { texts } => {
                let hint = "lower min_texts, or give longer texts";
                Self::EmptyVocabulary { texts, what: "n-gram", hint }
            }
            dsokr_basis::Error::BadVocabulary { path, reason } => {
                Self::File { path, message: reason }
            }
            other => Self::Basis(other),
        }
    }
}
