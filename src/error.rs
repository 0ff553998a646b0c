//! The one error type of the library, and what refuses values and makes messages.

use std::path::{Path, PathBuf};

use dsokr_core::memory::{Bytes, Limit};
use dsokr_core::{Argument, Place};
use strsim::osa_distance;

/// Errors between a configuration and a trained run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration file that cannot be read as one.
    #[error("{path}: {message}", path = path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The message, with the place of the error.
        message: String,
    },
    /// Settings or a value that cannot be written as text, or read from it.
    #[error("settings or a value cannot be written as text, or read from it: {0}")]
    Serialise(String),
    /// A file or folder that the request names does not exist.
    #[error("{path}: not found{hint}", path = path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
        /// Advice, or empty.
        hint: String,
    },
    /// A table, feature file or other data file.
    #[error(transparent)]
    Data(dsokr_data::Error),
    /// A run directory that exists already.
    #[error(
        "{} exists: continue it with {}, or choose a different folder with {}",
        path.display(),
        Argument::switch("resume"),
        Argument::new("out")
    )]
    RunExists {
        /// The folder.
        path: PathBuf,
    },
    /// A resumed run whose data have changed.
    #[error(
        "{path}: the data have changed since the run was started{tables}; put the earlier ones back, or start a new run in another \
         folder ({out})",
        path = path.display(),
        tables = in_brackets(tables),
        out = Argument::new("out")
    )]
    DataChanged {
        /// The run.
        path: PathBuf,
        /// The tables that have changed, by their names in the folder of the data; none where that is not known.
        tables: Vec<String>,
    },
    /// A resumed run whose configuration has changed.
    #[error("{path}: the run was started with {key} = {found}, the configuration now says {given}{hint}", path = path.display())]
    Changed {
        /// The run's configuration.
        path: PathBuf,
        /// The key.
        key: String,
        /// Its value in the run.
        found: String,
        /// Its value now.
        given: String,
        /// Advice, or empty.
        hint: String,
    },
    /// An error of a member of an ensemble.
    #[error("member {name}: {source}")]
    Member {
        /// Its name.
        name: String,
        /// Its error.
        source: Box<Error>,
    },
    /// A training that was cancelled and has kept its state in the run directory.
    #[error(
        "interrupted at step {step}; the state is saved, continue with {}",
        Argument::switch("resume")
    )]
    Interrupted {
        /// The step.
        step: u64,
    },
    /// The training loop.
    #[error(transparent)]
    Train(dsokr_train::Error),
    /// A value out of range, a file that is missing, damaged or cannot be read as what it should be, or the file
    /// system; the basis, its kernel or its sketch; the kernel machine; candidates, ranks or metrics; a recipe or an encoder
    /// that breaks its contract.
    #[error(transparent)]
    Core(#[from] dsokr_core::Error),
    /// The encoder or its parameters.
    #[error(transparent)]
    Nn(dsokr_nn::Error),
    /// A kernel matrix of `data.inputs`, by places among the training pairs.
    #[error("{file}, of the training pairs: {source}")]
    Kernel {
        /// Its file.
        file: String,
        /// Its error.
        source: Box<dsokr_core::Error>,
    },
    /// A run that needs more memory than there is.
    #[error(
        "{keys}: the run needs {total} more memory ({what}: {part}); {limit} is available; use smaller \
         sizes, or {}",
        Argument::switch("force")
    )]
    Memory {
        /// The keys of the largest part.
        keys: String,
        /// The largest part.
        what: &'static str,
        /// Its estimate.
        part: Bytes,
        /// The estimate of all parts that are to come.
        total: Bytes,
        /// The available memory.
        limit: Limit,
    },
    /// A file that cannot be downloaded, or is not what was expected.
    #[error("{what}: {message}")]
    Fetch {
        /// The address or the file.
        what: String,
        /// The message.
        message: String,
    },
    /// Only a pretrained encoder can be exported.
    #[error(
        "this run's encoder was not read from a pretrained folder (encoder.kind = \"pretrained\"): {} writes any run as one \
         file, {} the candidates of any run, and {} a neural encoder",
        Argument::new("archive").with("FILE"),
        Argument::switch("candidates"),
        Argument::switch("onnx")
    )]
    NotPretrained,
}

/// A value that cannot be written.
macro_rules! serialise {
    ($($error:ty),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Serialise(error.to_string())
            }
        })+
    };
}
serialise!(serde_json::Error, toml::ser::Error, toml::de::Error);

impl From<dsokr_train::Error> for Error {
    /// Converts an error of a training; that of a validation or a checkpoint comes back as it was.
    fn from(error: dsokr_train::Error) -> Self {
        use dsokr_train::Error::{Caller, Core, Interrupted, Nn};
        match error {
            Interrupted { step } => Self::Interrupted { step },
            Core(error) => error.into(),
            Nn(error) => error.into(),
            Caller(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(other) => Self::Train(Caller(other)),
            },
            other => Self::Train(other),
        }
    }
}

impl From<Error> for dsokr_train::Error {
    fn from(error: Error) -> Self {
        use dsokr_core::Error::NotFiniteAt;
        match error {
            Error::Core(NotFiniteAt { .. }) => Self::NotFinite,
            other => Self::Caller(Box::new(other)),
        }
    }
}

impl From<dsokr_data::Error> for Error {
    fn from(error: dsokr_data::Error) -> Self {
        match error {
            dsokr_data::Error::NotFound { path, hint } => Self::NotFound { path, hint },
            dsokr_data::Error::Core(error) => error.into(),
            other => Self::Data(other),
        }
    }
}

#[cfg(feature = "fetch")]
impl From<dsokr_fetch::Error> for Error {
    fn from(error: dsokr_fetch::Error) -> Self {
        use dsokr_fetch::Error::{Core, Data, Download, NotFound, Table};
        match error {
            Table { path, message } => Self::Config { path, message },
            NotFound { path, hint } => Self::NotFound { path, hint },
            Download { what, message } => Self::Fetch { what, message },
            Core(error) => error.into(),
            Data(error) => error.into(),
        }
    }
}

impl From<dsokr_nn::Error> for Error {
    fn from(error: dsokr_nn::Error) -> Self {
        match error {
            dsokr_nn::Error::Core(error) => error.into(),
            other => Self::Nn(other),
        }
    }
}

/// Refuses a value unless it `holds`. Only a refusal formats what it says, so that `format_args!` costs a value that
/// holds nothing.
pub(crate) fn ensure(
    holds: bool,
    key: impl Into<Place>,
    found: impl std::fmt::Display,
    allowed: impl std::fmt::Display,
) -> Result<(), Error> {
    Ok(dsokr_core::Error::ensure(holds, key, found, allowed)?)
}

/// Refuses a run directory, or a file of one, unless what is expected of it `holds`.
pub(crate) fn ensure_run(
    holds: bool,
    path: &Path,
    message: impl std::fmt::Display,
) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::run(path, message)) }
}

impl Error {
    /// Returns the error for a value of a configuration key or an argument that is not allowed.
    pub fn value(
        key: impl Into<Place>,
        found: impl std::fmt::Display,
        allowed: impl std::fmt::Display,
    ) -> Self {
        dsokr_core::Error::value(key, found, allowed).into()
    }

    /// Returns the error for a value of a configuration key that other values rule out.
    pub(crate) fn refused(
        key: impl Into<Place>,
        value: impl std::fmt::Display,
        because: impl std::fmt::Display,
    ) -> Self {
        dsokr_core::Error::refused(key, value, because).into()
    }

    /// Returns an error of a run directory, or of a file of one.
    pub(crate) fn run(path: impl AsRef<Path>, message: impl std::fmt::Display) -> Self {
        dsokr_core::Error::file(path.as_ref(), message).into()
    }

    /// Returns an error of the file system at `path`.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self {
        move |error| dsokr_core::Error::io(path)(error).into()
    }

    /// Returns the error for a file that could not be read.
    pub(crate) fn reading(path: &Path) -> impl Fn(std::io::Error) -> Self {
        use std::io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, IsADirectory, NotFound};
        let config = |message| Self::Config { path: path.into(), message };
        move |error| match error.kind() {
            NotFound => Self::NotFound { path: path.into(), hint: String::new() },
            IsADirectory => config("a folder, where a file was expected".into()),
            InvalidInput | InvalidData | FileTooLarge => config(error.to_string()),
            _ => Self::io(path)(error),
        }
    }

    /// Returns the error itself, or that of the member of an ensemble that it is about.
    fn innermost(&self) -> &Self {
        if let Self::Member { source, .. } = self { source.innermost() } else { self }
    }

    /// Returns the error of `dsokr-core` that this one passes on; none where it passes on none.
    fn core(&self) -> Option<&dsokr_core::Error> {
        match self {
            Self::Core(error)
            | Self::Train(dsokr_train::Error::Core(error))
            | Self::Nn(dsokr_nn::Error::Core(error)) => Some(error),
            Self::Kernel { source, .. } => Some(source),
            Self::Member { source, .. } => source.core(),
            Self::Config { .. }
            | Self::Serialise(_)
            | Self::NotFound { .. }
            | Self::Data(_)
            | Self::RunExists { .. }
            | Self::DataChanged { .. }
            | Self::Changed { .. }
            | Self::Interrupted { .. }
            | Self::Train(_)
            | Self::Nn(_)
            | Self::Memory { .. }
            | Self::Fetch { .. }
            | Self::NotPretrained => None,
        }
    }

    /// Returns whether the work was ended by its [`Cancellation`](dsokr_core::Cancellation). A training that says so has kept its
    /// state, from which it goes on.
    pub fn is_cancelled(&self) -> bool {
        if let Some(error) = self.core() {
            return matches!(error, dsokr_core::Error::Cancelled);
        }
        matches!(self.innermost(), Self::Interrupted { .. })
    }

    /// Returns the kind of the file system's error, as [`std::io::Error::kind`] does; none for an error that is not about the
    /// file system. A file, a folder or a run that does not exist is [`ErrorKind::NotFound`], and a run directory that exists
    /// already is [`ErrorKind::AlreadyExists`].
    ///
    /// [`ErrorKind::NotFound`]: std::io::ErrorKind::NotFound
    /// [`ErrorKind::AlreadyExists`]: std::io::ErrorKind::AlreadyExists
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        use std::io::ErrorKind::{AlreadyExists, NotFound};
        if let Some(error) = self.core() {
            return error.io_kind();
        }
        let innermost = self.innermost();
        if let Self::Data(error) = innermost {
            return error.io_kind();
        }
        if matches!(innermost, Self::NotFound { .. }) {
            return Some(NotFound);
        }
        matches!(innermost, Self::RunExists { .. }).then_some(AlreadyExists)
    }

    /// Returns whether a file, a folder or a run does not exist.
    pub fn is_not_found(&self) -> bool {
        self.io_kind() == Some(std::io::ErrorKind::NotFound)
    }

    /// Returns whether the request was wrong (a flag, a configuration, a file), rather than the run.
    pub fn is_request(&self) -> bool {
        use dsokr_core::Error::{Cancelled, Io};
        use dsokr_train::Error::Diverged;
        if let Some(error) = self.core() {
            // memory that the system refuses for the mapping of a file is asked for by the request
            let is_refused = error.io_kind() == Some(std::io::ErrorKind::OutOfMemory);
            return is_refused || !matches!(error, Io { .. } | Cancelled);
        }
        let is_of_run = matches!(
            self.innermost(),
            Self::Train(Diverged { .. }) | Self::Interrupted { .. } | Self::Fetch { .. }
        );
        !is_of_run
    }
}

/// Returns a message of serde, with words in the place of Rust's names of types; `map` is that of values with keys.
pub(crate) fn in_words(message: String, map: &str) -> String {
    let whole = ["usize", "u64", "u32"].map(|name| (name, "a whole number from 0"));
    let real = ["f64", "f32"].map(|name| (name, "a number"));
    let other = [("a map", map), ("a sequence", "a list"), ("a string", "a text")];
    let words = |text: String, (name, words): (&str, &str)| {
        text.replace(&format!("expected {name}"), &format!("expected {words}"))
    };
    let mut text = whole.into_iter().chain(real).chain(other).fold(message, words);
    for name in ["internally tagged enum ", "struct "].map(|kind| format!("expected {kind}")) {
        if let Some((before, behind)) = text.split_once(&name) {
            let behind = behind.trim_start_matches(char::is_alphanumeric);
            text = format!("{before}expected {map}{behind}");
        }
    }
    text
}

/// Returns names in brackets, as a message adds them; nothing where there are none.
fn in_brackets(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// Returns the one of some names that a text is a slip of: in other capitals, or with a few letters more, fewer, others or
/// swapped; none of a text that is like none of them.
pub(crate) fn nearest_name<'n>(
    text: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    let text: String = text.to_lowercase().chars().take(LONGEST_NAME).collect();
    let changed = names.into_iter().map(|name| (osa_distance(&text, &name.to_lowercase()), name));
    let (changes, name) = changed.min_by_key(|&(changes, _)| changes)?;
    let is_slip = 4 * changes <= text.chars().count().max(4);
    is_slip.then_some(name)
}

/// Returns a question behind a name that is not known, with the one that is meant; nothing where it is like none of them.
pub(crate) fn did_you_mean<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest_name(text, names).map_or_else(String::new, |name| format!(" (did you mean {name:?}?)"))
}

/// The letters of a text that are compared with names.
const LONGEST_NAME: usize = 100;

/// Returns quoted names that are allowed, with commas between.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::nearest_name;

    #[test]
    fn a_slip_has_the_nearest_name() {
        for (slip, meant) in [
            ("lable", Some("label")),
            ("LABEL", Some("label")),
            ("labl", Some("label")),
            ("prices", Some("price")),
            ("cost", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(slip, ["price", "label"]), meant, "{slip:?}");
        }
    }
}
