//! Errors of the crates as the package's exceptions.

use std::fmt;
use std::path::Path;

use dsokr_basis::Argument;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Why a call failed, before there is an exception.
#[derive(Debug)]
pub enum Failure {
    /// A wrong argument: `dsokr.ConfigError`.
    Argument(String),
    /// A file: `dsokr.FileError`.
    File(String, String),
    /// Anything else: `dsokr.Error`.
    Other(String),
}

impl Failure {
    /// A wrong argument.
    pub fn argument(name: &str, message: impl std::fmt::Display) -> Self {
        Self::Argument(format!("{name}: {message}"))
    }

    pub fn file(path: &Path, message: impl ToString) -> Self {
        Self::File(path.display().to_string(), message.to_string())
    }

    /// The same kind of failure with a different message.
    pub fn saying(self, message: String) -> Self {
        match self {
            Self::Argument(_) => Self::Argument(message),
            Self::File(path, _) => Self::File(path, message),
            Self::Other(_) => Self::Other(message),
        }
    }

    /// The same with the argument that it is about, where it is about one and a file is not.
    pub fn of(self, name: &str) -> Self {
        match self {
            Self::Argument(message) => Self::argument(name, message),
            Self::Other(message) => Self::Other(format!("{name}: {message}")),
            Self::File(..) => self,
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

impl From<dsokr_basis::Error> for Failure {
    fn from(error: dsokr_basis::Error) -> Self {
        use dsokr_basis::Error::{
            At, File, Io, Kernel, NotFinite, NotFiniteAt, Row, Shape, Unsupported, Value,
        };
        let message = error.to_string();
        match error {
            Io { path, .. } | File { path, .. } => Self::file(&path, message),
            Kernel { source, .. } | At { source, .. } => Self::from(*source).saying(message),
            NotFinite { .. }
            | NotFiniteAt { .. }
            | Row { .. }
            | Value { .. }
            | Shape(_)
            | Unsupported(_) => Self::Argument(message),
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
            Error::Basis(error) => error.into(),
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
        Failure::File(path, message) => {
            PyErr::from_value(kind("FileError")?.call1((path, message))?)
        }
        Failure::Other(message) => PyErr::from_type(kind("Error")?, message),
    })
}

/// Writes an argument as a parameter of Python's functions, for [`print_arguments_as`](dsokr_basis::print_arguments_as).
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

/// A table of a configuration, such as a kernel's, from JSON.
pub fn table<T: serde::de::DeserializeOwned>(name: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| {
        // the place in JSON that the caller has not written says nothing
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Failure::argument(name, format!("{json}: {message}"))
    })
}

/// A value as JSON.
pub fn json(value: &impl serde::Serialize) -> PyResult<String> {
    Ok(serde_json::to_string(value).map_err(|error| Failure::Other(error.to_string()))?)
}
