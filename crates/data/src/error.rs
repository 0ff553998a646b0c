use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use dsokr_core::Place;
use dsokr_core::message::{list, shell_word, shorten};
use dsokr_core::store::open_input;

/// The file of candidates in a run.
pub(crate) const CANDIDATES: &str = "candidates.safetensors";

/// A file or a setting that cannot be used as it is.
///
/// Lines are counted from 1, as an editor does, and include the header; rows and columns of a
/// matrix are counted from 0, as NumPy does. Values are shortened to 60 characters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed to open or read a file.
    #[error("{}: {}", .path.display(), io_message(.source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file or folder that the request names does not exist.
    #[error("{}: not found{hint}", .path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
        /// The places where it is looked for.
        hint: String,
    },
    /// A table without a column that is read.
    #[error("{}: no column {column:?}{hint}; the file has: {available}", .path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The settings that name it, or empty.
        hint: String,
        /// The columns of the file.
        available: String,
    },
    /// A setting out of range, a file or a line that is not what its name or the configuration says, and rows that do
    /// not come from a file.
    #[error(transparent)]
    Core(#[from] dsokr_core::Error),
    /// Molecules and graphs that cannot be read, and features that do not make a vocabulary.
    #[error(transparent)]
    Molecule(dsokr_molecule::Error),
}

impl From<dsokr_molecule::Error> for Error {
    /// Wraps an error of molecules or graphs. Errors of the core, such as a cancellation, stay what they are.
    fn from(error: dsokr_molecule::Error) -> Self {
        match error {
            dsokr_molecule::Error::Core(error) => Self::Core(error),
            other => Self::Molecule(other),
        }
    }
}

impl Error {
    /// Returns the same error with what has a wrong value before its key.
    pub fn of(self, what: impl Display) -> Self {
        match self {
            Self::Core(error) => error.of(what).into(),
            other => other,
        }
    }

    /// Returns the kind of the file system's error, as [`std::io::Error::kind`] does; none for an error that is not about the
    /// file system.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            Self::NotFound { .. } => Some(io::ErrorKind::NotFound),
            Self::Core(error) => error.io_kind(),
            Self::Column { .. } | Self::Molecule(_) => None,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn file(path: &Path, message: impl Display) -> Self {
        dsokr_core::Error::file(path, message).into()
    }

    pub(crate) fn line(path: &Path, line: usize, message: impl Display) -> Self {
        dsokr_core::Error::at_line(path, line, message).into()
    }

    pub(crate) fn value(key: impl Into<Place>, found: impl Display, allowed: impl Display) -> Self {
        dsokr_core::Error::value(key, found, allowed).into()
    }

    /// Creates the error for rows of a file that `dsokr-basis` refuses, which it may name itself.
    pub(crate) fn rows(path: &Path, reason: dsokr_core::Error) -> Self {
        match reason {
            dsokr_core::Error::File { .. } | dsokr_core::Error::Missing { .. } => reason.into(),
            dsokr_core::Error::Io { path, source } => Self::Io { path, source },
            reason => Self::file(path, reason),
        }
    }

    /// Creates the error for a candidate's label that is not what labels are.
    pub(crate) fn label(label: &str, allowed: String) -> Self {
        Self::file(Path::new(CANDIDATES), format!("the label {label:?} is not {allowed}"))
    }

    /// Creates the error for an extension that is not read; `allowed` are those that are.
    pub(crate) fn extension(path: &Path, allowed: &str) -> Self {
        let unknown = format!("unknown extension {:?}; allowed: {allowed}", extension_of(path));
        Self::compressed(path).unwrap_or_else(|| Self::file(path, unknown))
    }

    /// Creates the error for a compressed file, if its extension says that it is one.
    pub(crate) fn compressed(path: &Path) -> Option<Self> {
        let extension = extension_of(path);
        let command = match extension.as_str() {
            "gz" => Some("gzip -dc"),
            "bz2" => Some("bzip2 -dc"),
            "xz" => Some("xz -dc"),
            "zst" => Some("zstd -dc"),
            // such archives may hold several files
            "tgz" | "zip" | "7z" => None,
            _ => return None,
        };
        // without the extension, by which the table would be taken for a compressed one again
        let command = match command {
            Some(command) => into_new(path, command, path.file_stem()),
            None => extraction(path, &extension),
        };
        let message = format!(
            "compressed files ({extension:?}) are not read; decompress it first: {command}"
        );
        Some(Self::file(path, message))
    }

    pub(crate) fn missing_column(path: &Path, column: &str, available: &[String]) -> Self {
        let path = path.into();
        let column = column.into();
        let available = list(available);
        Self::Column { path, column, hint: String::new(), available }
    }

    pub(crate) fn empty(path: &Path) -> Self {
        Self::file(path, "the file is empty; at least one row is needed")
    }

    pub(crate) fn duplicate_column(path: &Path, line: usize, column: &str, at: [usize; 2]) -> Self {
        let column = shorten(column);
        let [first, second] = at;
        let names = format!("{column:?} names both column {first} and column {second}");
        Self::line(path, line, names + "; names must be distinct")
    }

    pub(crate) fn empty_value(path: &Path, line: usize, column: &str) -> Self {
        Self::line(path, line, format!("empty value in column {column:?}; a value is needed"))
    }

    pub(crate) fn row_count(features: &Path, found: usize, table: &Path, expected: usize) -> Self {
        let table = table.display();
        Self::file(features, format!("{found} rows, but {table} has {expected}"))
    }
}

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    open_input(path).map_err(|source| Error::io(path, source))
}

/// Checks that a key's value is allowed, as `ok` says, and returns the error about it otherwise.
pub(crate) fn check(
    ok: bool,
    key: impl Into<Place>,
    found: impl Display,
    allowed: &str,
) -> Result<(), Error> {
    Ok(dsokr_core::Error::ensure(ok, key, found, allowed)?)
}

/// Returns the line of a shell by which a command makes `new-NAME` of a file; of a stream, such as standard input, which is no
/// file, the command alone.
pub(crate) fn into_new(path: &Path, command: &str, name: Option<&OsStr>) -> String {
    if !path.exists() {
        return command.to_owned();
    }
    let name = name.unwrap_or_default().to_string_lossy();
    let from = shell_word(&path.display().to_string());
    let to = shell_word(&format!("new-{name}"));
    format!("{command} {from} > {to}")
}

/// Returns the command that extracts all files of an archive.
fn extraction(path: &Path, extension: &str) -> String {
    let archive = shell_word(&path.display().to_string());
    match extension {
        "tgz" => format!("tar -xzf {archive}"),
        "7z" => format!("7z x {archive}"),
        _ => format!("unzip {archive}"),
    }
}

/// Returns the extension of a file name in lower case, empty if there is none.
pub(crate) fn extension_of(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn io_message(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "no such file".into(),
        io::ErrorKind::IsADirectory => "is a directory; a file is needed".into(),
        _ => format!("cannot be read: {source}"),
    }
}
