//! Paths and arguments of another kind than a command reads: the error hints at the command that reads them.

use std::path::{Path, PathBuf};

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use dsokr_core::message::first_of;
use dsokr_data::table::TextFormat;

use crate::cli::output::{PROGRAM, quoted, shell_path};
use crate::error::Error;
use crate::run::archive::is_archive;
use crate::run_dir::is_run;

/// Refuses a path that is a table or a run, and no configuration.
///
/// # Errors
/// [`Error`] with the command that reads the path.
pub fn check_configuration(path: &Path) -> Result<(), Error> {
    let program = PROGRAM.as_str();
    let shown = shell_path(path);
    if path.is_dir() {
        let message = format!(
            "a folder; a configuration (.toml) is needed. If it is a run, `{program} evaluate {shown}` and `{program} \
             search {shown} \"…\"` read it"
        );
        return Err(Error::run(path, message));
    }
    if is_table(path) {
        let message = format!(
            "a table; a configuration (.toml) is needed, which `{program} init {shown}` writes for it"
        );
        return Err(Error::run(path, message));
    }
    Ok(())
}

/// Refuses paths that are tables or configurations, and no runs.
///
/// # Errors
/// [`Error`] with the command that reads the path.
pub fn check_runs(paths: &[PathBuf]) -> Result<(), Error> {
    paths.iter().try_for_each(|path| check_run(path))
}

fn check_run(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return check_folder(path);
    }
    if !path.is_file() {
        return Ok(());
    }
    let program = PROGRAM.as_str();
    let shown = shell_path(path);
    let is_configuration = path.extension().is_some_and(|extension| extension == "toml");
    let message = if is_configuration {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        format!(
            "a configuration; a run directory is needed, which `{program} train {shown}` makes (runs/{name}, unless --out \
             names another one)"
        )
    } else if is_archive(path) {
        format!(
            "the archive of a run; `{program} fetch model {shown}` unpacks it, and `{program} serve {shown}` opens it as it is"
        )
    } else if is_table(path) {
        format!(
            "a table; a run directory is needed: `{program} init {shown}` writes a configuration, which `{program} train` \
             reads"
        )
    } else {
        "a file; a run directory is needed".to_owned()
    };
    Err(Error::run(path, message))
}

/// Refuses a folder that is no run and has some.
fn check_folder(path: &Path) -> Result<(), Error> {
    if is_run(path) {
        return Ok(());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|folder| is_run(folder)).collect();
    if runs.is_empty() {
        return Ok(());
    }
    runs.sort();
    let names = first_of(runs.iter().map(|run| shell_path(run)));
    let message = format!("a folder of runs, and no run itself: name one of them, {names}");
    Err(Error::run(path, message))
}

/// Refuses a folder where the archive of a run is needed.
///
/// # Errors
/// [`Error`] with the command that reads the folder.
#[cfg(feature = "fetch")]
pub fn check_archive(path: &Path) -> Result<(), Error> {
    if !path.is_dir() {
        return Ok(());
    }
    let program = PROGRAM.as_str();
    let shown = shell_path(path);
    let message = format!(
        "a folder; the archive of a run is needed, which `{program} export RUN --archive FILE` writes. If the folder is a run, \
         `{program} serve {shown}` opens it as it is"
    );
    Err(Error::run(path, message))
}

/// Adds to the error about an argument that a command does not have how a text of several words is written, or which other
/// commands have the argument.
pub fn with_hint(mut error: clap::Error, command: &Command) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let advice = match argument.strip_prefix("--") {
        Some(name) => {
            let has_argument = |command: &&Command| {
                command.get_arguments().any(|argument| argument.get_long() == Some(name))
            };
            let others: Vec<&str> =
                command.get_subcommands().filter(has_argument).map(Command::get_name).collect();
            if others.is_empty() {
                return error;
            }
            format!("{argument} is an argument of: {}", others.join(", "))
        }
        // the text of a search ends at a blank
        None if !argument.starts_with('-') && reads_a_text(command) => {
            "put a text of several words in quotation marks".to_owned()
        }
        None => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

/// Returns whether the subcommand that the process was started with has an argument `text`.
fn reads_a_text(command: &Command) -> bool {
    let mut words = std::env::args_os().skip(1);
    let subcommand = words.find_map(|word| command.find_subcommand(word));
    subcommand.is_some_and(|subcommand| {
        subcommand.get_positionals().any(|argument| argument.get_id() == "text")
    })
}

/// Refuses a text that is a run where the run is none: the arguments are in the wrong order.
///
/// # Errors
/// [`Error`] with the right order.
pub fn check_order(run: &Path, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text.map(Path::new) else { return Ok(()) };
    if run.exists() || !is_run(text) {
        return Ok(());
    }
    let message = format!(
        "no run directory; the run comes first: `{} search {} {}`",
        PROGRAM.as_str(),
        shell_path(text),
        quoted(&run.display().to_string())
    );
    Err(Error::run(run, message))
}

/// Refuses a file of queries that is a run behind a path that is a file: the arguments are in the wrong order.
///
/// # Errors
/// [`Error`] with the right order.
pub fn check_queries_last(runs: &[PathBuf], queries: &Path) -> Result<(), Error> {
    let Some(first) = runs.first().filter(|first| first.is_file() && is_run(queries)) else {
        return Ok(());
    };
    let message = format!(
        "no run directory; runs come first: `{} predict {} {}`",
        PROGRAM.as_str(),
        shell_path(queries),
        shell_path(first)
    );
    Err(Error::run(first, message))
}

/// Refuses a path that is a configuration or a run, and no table.
///
/// # Errors
/// [`Error`] with the command that reads the path.
pub fn check_table(path: &Path) -> Result<(), Error> {
    let program = PROGRAM.as_str();
    let shown = shell_path(path);
    if path.is_dir() {
        let message = "a folder; a table or a file of mass spectra is needed";
        return Err(Error::run(path, message));
    }
    if path.extension().is_some_and(|extension| extension == "toml") {
        let message = format!(
            "a configuration; a table or a file of mass spectra is needed. `{program} train {shown}` trains the configuration"
        );
        return Err(Error::run(path, message));
    }
    Ok(())
}

/// Returns whether the name of a file is that of a table or of spectra.
fn is_table(path: &Path) -> bool {
    TextFormat::from_path(path) != TextFormat::Lines
}
