//! Errors of the crates as the package's exceptions.

use std::fmt;
use std::io;
use std::path::Path;

use dsokr_core::Argument;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// "No such file or directory", on all systems.
pub const ENOENT: i32 = 2;

/// "File exists", on all systems.
#[cfg(feature = "run")]
pub const EEXIST: i32 = 17;

/// Why a call failed, before there is an exception.
#[derive(Debug)]
pub enum Failure {
    /// A wrong argument: `dsokr.ConfigError`.
    Argument(String),
    /// A file: `dsokr.FileError`.
    File {
        /// Its path.
        path: String,
        /// The message.
        message: String,
        /// The number of the operating system's error.
        errno: Option<i32>,
    },
    /// Anything else: `dsokr.Error`.
    Other(String),
}

impl Failure {
    /// Creates the failure of a wrong argument.
    pub fn argument(name: &str, message: impl std::fmt::Display) -> Self {
        Self::Argument(format!("{name}: {message}"))
    }

    /// Creates the failure of a file that cannot be read or written, or does not hold what it must.
    pub fn file(path: &Path, message: impl ToString, errno: Option<i32>) -> Self {
        Self::File { path: path.display().to_string(), message: message.to_string(), errno }
    }

    /// Creates the failure of a file that the operating system has refused.
    pub fn io(path: &Path, message: impl ToString, source: &io::Error) -> Self {
        let missing = (source.kind() == io::ErrorKind::NotFound).then_some(ENOENT);
        Self::file(path, message, source.raw_os_error().or(missing))
    }

    /// Replaces the message, and keeps the kind of the failure.
    pub fn saying(self, message: String) -> Self {
        match self {
            Self::Argument(_) => Self::Argument(message),
            Self::File { path, errno, .. } => Self::File { path, message, errno },
            Self::Other(_) => Self::Other(message),
        }
    }

    /// Adds the name of the argument that the failure is about, unless it is about a file.
    pub fn of(self, name: &str) -> Self {
        match self {
            Self::Argument(message) => Self::argument(name, message),
            Self::Other(message) => Self::Other(format!("{name}: {message}")),
            Self::File { .. } => self,
        }
    }
}

/// A result whose error is about an argument, where it is about one and a file is not.
pub trait About<T> {
    fn about(self, argument: &str) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> About<T> for Result<T, E> {
    fn about(self, argument: &str) -> Result<T, Failure> {
        self.map_err(|error| error.into().of(argument))
    }
}

impl From<dsokr_core::Error> for Failure {
    fn from(error: dsokr_core::Error) -> Self {
        use dsokr_core::Error::{
            At, Contract, File, Inconsistent, Io, Item, Missing, NotFinite, NotFiniteAt,
            OutOfRange, Refused, Row, Shape, TooFew, Unsupported, Value,
        };
        let message = error.to_string();
        match error {
            Io { path, source } => Self::io(&path, message, &source),
            Missing { path } => Self::file(&path, message, Some(ENOENT)),
            File { path, .. } => Self::file(&path, message, None),
            Item { source, .. } | At { source, .. } => Self::from(*source).saying(message),
            NotFinite { .. }
            | NotFiniteAt { .. }
            | Row { .. }
            | Value { .. }
            | Refused { .. }
            | Shape(_)
            | TooFew { .. }
            | OutOfRange { .. }
            | Inconsistent(_)
            | Unsupported(_)
            | Contract { .. } => Self::Argument(message),
            // numeric failures, and kinds of errors to come
            _ => Self::Other(message),
        }
    }
}

impl From<dsokr_molecule::Error> for Failure {
    fn from(error: dsokr_molecule::Error) -> Self {
        use dsokr_molecule::Error;
        let message = error.to_string();
        match error {
            Error::Core(error) => error.into(),
            // SMILES, edges and labels
            _ => Self::Argument(message),
        }
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| match exception(py, failure) {
            Ok(error) | Err(error) => error,
        })
    }
}

fn exception(py: Python, failure: Failure) -> PyResult<PyErr> {
    let kind = |name| {
        py.import("dsokr._errors")?.getattr(name)?.cast_into::<PyType>().map_err(PyErr::from)
    };
    Ok(match failure {
        Failure::Argument(message) => PyErr::from_type(kind("ConfigError")?, message),
        Failure::File { path, message, errno } => {
            let error = py.import("dsokr._errors")?.getattr("file_error")?;
            PyErr::from_value(error.call1((message, path, errno))?)
        }
        Failure::Other(message) => PyErr::from_type(kind("Error")?, message),
    })
}

/// Writes an argument as a parameter of Python's functions, for [`print_arguments_as`](dsokr_core::print_arguments_as).
pub fn write_parameter(argument: &Argument, f: &mut fmt::Formatter) -> fmt::Result {
    write!(f, "{}", argument.name().replace('-', "_"))?;
    match argument.value() {
        Some(value) => match value.split_once('=') {
            // a change of the configuration
            Some((key, value)) => write!(f, "={{\"{key}\": {value}}}"),
            None => write!(f, "={value}"),
        },
        None if argument.is_switch() => f.write_str("=True"),
        None => Ok(()),
    }
}

/// Reads a table of a configuration, such as a kernel's, from JSON.
pub fn table<T: serde::de::DeserializeOwned>(name: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| {
        // the place in JSON that the caller has not written says nothing
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Failure::argument(name, format!("{json}: {message}"))
    })
}

/// Returns a value as JSON.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    Ok(serde_json::to_string(value).map_err(|error| Failure::Other(error.to_string()))?)
}
