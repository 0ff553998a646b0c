//! Errors of runs as the package's exceptions.

use dsokr::{Error, data, nn, train};

use crate::errors::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = with_arguments(&error.to_string());
        kind(error).saying(message)
    }
}

/// The failure without its message.
fn kind(error: Error) -> Failure {
    let argument = Failure::Argument(String::new());
    let failed = Failure::Other(String::new());
    match error {
        Error::NotFound { path, .. }
        | Error::Io { path, .. }
        | Error::RunExists { path }
        | Error::Run { path, .. }
        | Error::DataChanged { path } => Failure::file(&path, ""),
        Error::Config { .. }
        | Error::Value { .. }
        | Error::Changed { .. }
        | Error::Device { .. }
        | Error::Kernel { .. }
        | Error::Memory { .. }
        | Error::NotPretrained => argument,
        Error::Data(error) => of_data(error),
        Error::Member { source, .. } => kind(*source),
        Error::Train(error) => of_training(error),
        Error::Basis(error) => error.into(),
        Error::Decode(error) => error.into(),
        Error::Machine(error) => error.into(),
        Error::Nn(error) => of_encoder(error),
        // encoders of other programs, and kinds of errors to come
        _ => failed,
    }
}

fn of_data(error: data::Error) -> Failure {
    use data::Error;
    match error {
        Error::Io { path, .. }
        | Error::NotFound { path, .. }
        | Error::File { path, .. }
        | Error::Column { path, .. }
        | Error::Line { path, .. } => Failure::file(&path, ""),
        Error::Basis(error) => error.into(),
        Error::Molecule(error) => error.into(),
        Error::Value { .. } | Error::Rows { .. } => Failure::Argument(String::new()),
        // kinds of errors to come
        _ => Failure::Other(String::new()),
    }
}

fn of_encoder(error: nn::Error) -> Failure {
    use nn::Error;
    match error {
        Error::File { path, .. } | Error::FileValue { path, .. } => Failure::file(&path, ""),
        Error::Basis(error) => error.into(),
        Error::Setting { .. } | Error::EmptyVocabulary { .. } | Error::Tokenizer(_) => {
            Failure::Argument(String::new())
        }
        // parameters that do not fit, and kinds of errors to come
        _ => Failure::Other(String::new()),
    }
}

fn of_training(error: train::Error) -> Failure {
    use train::Error;
    match error {
        Error::Value { .. } => Failure::Argument(String::new()),
        Error::File { path, .. } => Failure::file(&path, ""),
        Error::Basis(error) => error.into(),
        Error::Nn(error) => of_encoder(error),
        // a training that diverged or was interrupted, and kinds of errors to come
        _ => Failure::Other(String::new()),
    }
}

/// The message with the arguments of Python's functions in the place of the command's flags, which have
/// the same names.
fn with_arguments(message: &str) -> String {
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
