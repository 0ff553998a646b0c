//! Errors of runs as the package's exceptions.

use std::path::Path;

use dsokr::{Error, data};

use crate::errors::{EEXIST, ENOENT, Failure};

/// A wrong request of the command is a wrong argument.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match of_file(&error, &message) {
            Some(failure) => failure,
            None if error.is_request() => Self::Argument(message),
            None => Self::Other(message),
        }
    }
}

/// Returns the failure of an error about a file; none for arguments, what has failed, and kinds of errors to come.
fn of_file(error: &Error, message: &str) -> Option<Failure> {
    use data::Error::{Column, Io, NotFound};
    let file = |path: &Path, errno| Some(Failure::file(path, message, errno));
    match error {
        Error::Core(error) => of_core(error, message),
        Error::Member { source, .. } => of_file(source, message),
        Error::NotFound { path, .. } | Error::Data(NotFound { path, .. }) => {
            file(path, Some(ENOENT))
        }
        Error::RunExists { path } => file(path, Some(EEXIST)),
        Error::DataChanged { path, .. } | Error::Data(Column { path, .. }) => file(path, None),
        Error::Data(Io { path, source }) => Some(Failure::io(path, message, source)),
        _ => None,
    }
}

fn of_core(error: &dsokr_core::Error, message: &str) -> Option<Failure> {
    use dsokr_core::Error::{At, File, Io, Item, Missing};
    match error {
        Io { path, source } => Some(Failure::io(path, message, source)),
        Missing { path } => Some(Failure::file(path, message, Some(ENOENT))),
        File { path, .. } => Some(Failure::file(path, message, None)),
        Item { source, .. } | At { source, .. } => of_core(source, message),
        _ => None,
    }
}
