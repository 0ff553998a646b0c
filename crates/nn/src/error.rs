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
    /// The tokenizer could not be trained, read or applied.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// A vocabulary file could not be read.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}
