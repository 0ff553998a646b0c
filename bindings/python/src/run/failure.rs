//! Errors of runs as the package's exceptions.

use std::path::Path;

use dsokr::{Error, basis, data, decode, machines, nn, train};

use crate::errors::Failure;

/// What the command takes for a wrong request is a wrong argument.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = with_arguments(&error.to_string());
        match file(&error) {
            Some(path) => Self::file(path, message),
            None if error.is_request() => Self::Argument(message),
            None => Self::Other(message),
        }
    }
}

/// The file that an error is about.
fn file(error: &Error) -> Option<&Path> {
    use basis::Error as Basis;
    match error {
        Error::NotFound { path, .. }
        | Error::Io { path, .. }
        | Error::RunExists { path }
        | Error::Run { path, .. }
        | Error::DataChanged { path }
        | Error::Basis(Basis::Io { path, .. } | Basis::File { path, .. })
        | Error::Data(
            data::Error::Io { path, .. }
            | data::Error::NotFound { path, .. }
            | data::Error::File { path, .. }
            | data::Error::Column { path, .. }
            | data::Error::Line { path, .. }
            | data::Error::Basis(Basis::Io { path, .. } | Basis::File { path, .. }),
        )
        | Error::Decode(
            decode::Error::Io { path, .. }
            | decode::Error::File { path, .. }
            | decode::Error::Basis(Basis::Io { path, .. } | Basis::File { path, .. }),
        )
        | Error::Machine(machines::Error::Basis(
            Basis::Io { path, .. } | Basis::File { path, .. },
        ))
        | Error::Nn(nn::Error::File { path, .. })
        | Error::Train(train::Error::File { path, .. }) => Some(path),
        Error::Member { source, .. } => file(source),
        // arguments, what has failed, and kinds of errors to come
        _ => None,
    }
}

/// The message with the arguments of Python's functions in the place of those of the library and of the command's
/// flags, which have the same names.
fn with_arguments(message: &str) -> String {
    let message = message.replace("the argument ", "--");
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let flag: String =
            part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        match flag.as_str() {
            "" => text += "--",
            "resume" | "force" => text += &format!("{flag}=True"),
            other => text += &other.replace('-', "_"),
        }
        text += &part[flag.len()..];
    }
    text
}
