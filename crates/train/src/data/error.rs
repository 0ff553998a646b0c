//! What can be wrong with a data file, with the place and the value.

use std::io;
use std::path::{Path, PathBuf};

/// Characters of an offending value that a message shows.
const SHOWN: usize = 60;

/// A data file that cannot be used as it is.
///
/// Lines are counted from 1, as an editor does, and include the header; rows and columns of a
/// matrix are counted from 0, as NumPy does. Values are shortened to 60 characters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// There is no such file.
    #[error("{}: no such file", .path.display())]
    NotFound {
        /// The file asked for.
        path: PathBuf,
    },
    /// The path names a directory.
    #[error("{}: is a directory; a file is needed", .path.display())]
    Directory {
        /// The path asked for.
        path: PathBuf,
    },
    /// The operating system failed to open or read the file.
    #[error("{}: cannot be read: {source}", .path.display())]
    Io {
        /// The file being read.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file name's extension names no format that can be read here.
    #[error("{}: unknown extension {found:?}; allowed: {allowed}", .path.display())]
    Extension {
        /// The file asked for.
        path: PathBuf,
        /// Its extension, empty if it has none.
        found: String,
        /// The extensions that are read, and what to do about others.
        allowed: &'static str,
    },
    /// The file is compressed.
    #[error("{}: compressed files ({found:?}) are not read; decompress it first", .path.display())]
    Compressed {
        /// The file asked for.
        path: PathBuf,
        /// Its extension.
        found: String,
    },
    /// A text file holds bytes that are not UTF-8.
    #[error("{}:{line}: byte {found:#04x} at position {position} of the line is not UTF-8; tables must be UTF-8 text", .path.display())]
    NotUtf8 {
        /// The table.
        path: PathBuf,
        /// Line of the first such byte.
        line: usize,
        /// Its position in that line, in bytes from 1.
        position: usize,
        /// The byte.
        found: u8,
    },
    /// The file holds nothing but blank lines.
    #[error("{}: the file is empty; at least one row is needed", .path.display())]
    Empty {
        /// The table.
        path: PathBuf,
    },
    /// The file has a header and no rows.
    #[error("{}: zero rows after the header (columns: {}); at least one is needed", .path.display(), list(.columns))]
    NoRows {
        /// The table.
        path: PathBuf,
        /// The columns that its header names.
        columns: Vec<String>,
    },
    /// A column that was asked for is not in the header.
    #[error("{}: no column {column:?}; the file has: {}", .path.display(), list(.available))]
    MissingColumn {
        /// The table.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The columns there are.
        available: Vec<String>,
    },
    /// Two columns, or two keys of one JSON object, have the same name.
    #[error("{}:{line}: {column:?} names both column {first} and column {second}; names must be distinct", .path.display())]
    DuplicateColumn {
        /// The table.
        path: PathBuf,
        /// The line of the header or of the JSON object.
        line: usize,
        /// The name.
        column: String,
        /// The first place with this name, from 1.
        first: usize,
        /// The second.
        second: usize,
    },
    /// A row has more or fewer fields than there are columns.
    #[error("{}:{line}: {found} fields; expected {expected} ({})", .path.display(), list(.columns))]
    Ragged {
        /// The table.
        path: PathBuf,
        /// The row's line.
        line: usize,
        /// Fields found.
        found: usize,
        /// Fields expected.
        expected: usize,
        /// The columns' names.
        columns: Vec<String>,
    },
    /// A blank line with rows after it.
    #[error("{}:{line}: blank line inside the table; blank lines are allowed only at the end", .path.display())]
    BlankLine {
        /// The table.
        path: PathBuf,
        /// The blank line.
        line: usize,
    },
    /// A CSV record with an odd number of quotation marks.
    #[error("{}:{line}: the record that starts here has a quotation mark without a partner ({value:?}); quote a field on both sides and double the marks inside it (RFC 4180)", .path.display())]
    Quote {
        /// The table.
        path: PathBuf,
        /// The line on which the record starts.
        line: usize,
        /// The start of the record.
        value: String,
    },
    /// A field that must not be empty is empty or only white space.
    #[error("{}:{line}: empty value in column {column:?}; a value is needed", .path.display())]
    EmptyValue {
        /// The table.
        path: PathBuf,
        /// The row's line.
        line: usize,
        /// The column.
        column: String,
    },
    /// An id that occurs twice.
    #[error("{}:{second}: id {id:?} in column {column:?} is already on line {first}; ids must be unique", .path.display())]
    DuplicateId {
        /// The table.
        path: PathBuf,
        /// The column of ids.
        column: String,
        /// The id.
        id: String,
        /// The line that has it first.
        first: usize,
        /// The line that has it again.
        second: usize,
    },
    /// A line of a JSON-lines file is not JSON.
    #[error("{}:{line}: not JSON at position {position}: {message}; each line must be one JSON object", .path.display())]
    JsonSyntax {
        /// The table.
        path: PathBuf,
        /// The line.
        line: usize,
        /// Position in the line, in bytes from 1.
        position: usize,
        /// What the parser says.
        message: String,
    },
    /// A line of a JSON-lines file is JSON, but not an object.
    #[error("{}:{line}: found {found}; each line must be one JSON object", .path.display())]
    JsonNotObject {
        /// The table.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What it holds.
        found: String,
    },
    /// A line of a JSON-lines file lacks a key.
    #[error("{}:{line}: no key {key:?}; this line has: {}", .path.display(), list(.available))]
    MissingKey {
        /// The table.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key asked for.
        key: String,
        /// The keys there are.
        available: Vec<String>,
    },
    /// A value in a JSON-lines file is neither a string nor a number.
    #[error("{}:{line}: key {key:?} holds {found}; a string or a number is needed", .path.display())]
    JsonType {
        /// The table.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The key.
        key: String,
        /// The value.
        found: String,
    },
    /// A component of a vector in a text file is not a finite number.
    #[error("{}:{line}: component {component} of column {column:?} is {value:?}; a finite 32-bit number is needed", .path.display())]
    Number {
        /// The table.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: String,
        /// Which component, from 0.
        component: usize,
        /// What it holds.
        value: String,
    },
    /// A vector in a text file is longer or shorter than the first one.
    #[error("{}:{line}: {found} numbers in column {column:?}; expected {expected}, as on line {first}", .path.display())]
    Width {
        /// The table.
        path: PathBuf,
        /// The line.
        line: usize,
        /// The column.
        column: String,
        /// Numbers found.
        found: usize,
        /// Numbers expected.
        expected: usize,
        /// The line that set the width.
        first: usize,
    },
    /// A feature matrix holds NaN, an infinity, or a number too large for 32 bits.
    #[error("{}: row {row}, column {column} is {value}; features must be finite 32-bit numbers", .path.display())]
    NotFinite {
        /// The feature file.
        path: PathBuf,
        /// Row from 0.
        row: usize,
        /// Column from 0.
        column: usize,
        /// The value as stored.
        value: f64,
    },
    /// A feature file holds several tensors and none was named.
    #[error("{}: the file holds {} tensors; name one with a key: {}", .path.display(), .keys.len(), list(.keys))]
    KeyNeeded {
        /// The feature file.
        path: PathBuf,
        /// The tensors there are.
        keys: Vec<String>,
    },
    /// A key was given for a format that holds a single nameless array.
    #[error("{}: key {key:?} given, but a .npy file holds one array without a name; leave the key out", .path.display())]
    KeyNotAllowed {
        /// The feature file.
        path: PathBuf,
        /// The key given.
        key: String,
    },
    /// An array of features is not a matrix with at least one row and one column.
    #[error("{}: {} has shape {shape:?}; features must be a matrix [rows, columns] without a zero", .path.display(), tensor(.key))]
    Shape {
        /// The feature file.
        path: PathBuf,
        /// The tensor, if the format has names.
        key: Option<String>,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// An array of features has elements of a type that is not read.
    #[error("{}: {} has elements of type {found}; allowed: {allowed}", .path.display(), tensor(.key))]
    ElementType {
        /// The feature file.
        path: PathBuf,
        /// The tensor, if the format has names.
        key: Option<String>,
        /// The type found.
        found: String,
        /// The types that are read.
        allowed: &'static str,
    },
    /// The rows of a feature file are refused by dsokr-basis.
    #[error("{}", with_path(.path, .reason))]
    Rows {
        /// The feature file.
        path: PathBuf,
        /// What is wrong: tensor, row, column and value where there are any.
        reason: Box<dsokr_basis::Error>,
    },
    /// The header of a feature file cannot be understood.
    #[error("{}: not a valid {format} file: {message}", .path.display())]
    Format {
        /// The feature file.
        path: PathBuf,
        /// The format that its extension promises.
        format: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A feature file is shorter or longer than its header says.
    #[error("{}: {found} bytes; its header promises {expected}, so the file is {}", .path.display(), if .found < .expected { "truncated" } else { "followed by something else" })]
    Length {
        /// The feature file.
        path: PathBuf,
        /// Bytes there are.
        found: u64,
        /// Bytes there should be.
        expected: u64,
    },
}

impl DataError {
    /// Names the file in a failure to open or read it.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => DataError::NotFound { path },
            io::ErrorKind::IsADirectory => DataError::Directory { path },
            _ => DataError::Io { path, source },
        }
    }

    /// Names the file in a refusal of its rows.
    pub(super) fn rows(path: &Path, reason: dsokr_basis::Error) -> Self {
        DataError::Rows { path: path.to_path_buf(), reason: Box::new(reason) }
    }

    /// Tells an unknown extension from that of a compressed file.
    pub(super) fn extension(path: &Path, found: &str, allowed: &'static str) -> Self {
        let (path, found) = (path.to_path_buf(), found.to_owned());
        match found.as_str() {
            "gz" | "tgz" | "bz2" | "xz" | "zst" | "zip" | "npz" | "7z" => {
                DataError::Compressed { path, found }
            }
            _ => DataError::Extension { path, found, allowed },
        }
    }
}

/// The extension of a file name in lower case, empty if there is none.
pub(crate) fn extension_of(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// At most [`SHOWN`] characters of a value from a file.
pub(super) fn shorten(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn list(names: &[String]) -> String {
    // A table of ten thousand columns should not fill the screen.
    const MOST: usize = 30;
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> =
        names.iter().take(MOST).map(|name| format!("{:?}", shorten(name))).collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    shown.join(", ") + &more
}

/// Names the file in a reason that does not.
fn with_path(path: &Path, reason: &dsokr_basis::Error) -> String {
    let (path, reason) = (path.display().to_string(), reason.to_string());
    if reason.starts_with(&path) { reason } else { format!("{path}: {reason}") }
}

fn tensor(key: &Option<String>) -> String {
    match key {
        Some(key) => format!("tensor {key:?}"),
        None => "the array".to_owned(),
    }
}
