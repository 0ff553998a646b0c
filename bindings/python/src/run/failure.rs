//! Errors of runs as the package's exceptions.

use dsokr::{Error, data};

use crate::errors::Failure;

/// A wrong request of the command is a wrong argument.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (message, is_request) = (error.to_string(), error.is_request());
        match file(error) {
            Some(path) => Self::File(path, message),
            None if is_request => Self::Argument(message),
            None => Self::Other(message),
        }
    }
}

/// The file that an error is about.
fn file(error: Error) -> Option<String> {
    let failure = match error {
        Error::Basis(error) => error.into(),
        Error::Member { source, .. } => return file(*source),
        Error::NotFound { path, .. }
        | Error::RunExists { path }
        | Error::DataChanged { path }
        | Error::Data(
            data::Error::Io { path, .. }
            | data::Error::NotFound { path, .. }
            | data::Error::Column { path, .. },
        ) => Failure::file(&path, ""),
        // arguments, what has failed, and kinds of errors to come
        _ => return None,
    };
    match failure {
        Failure::File(path, _) => Some(path),
        Failure::Argument(_) | Failure::Other(_) => None,
    }
}
