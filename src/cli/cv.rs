//! `dsokr cv`: a sweep over the parts of a cross-validation.

use std::path::PathBuf;

use dsokr_core::{Argument, Place};

use crate::error::Error;
use crate::studies::sweep::{CrossValidation, SweepRequest};

use crate::cli::output::{print, print_json};
use crate::cli::sweep::{Trainings, train};

/// Cross-validates a configuration: divides its training and validation pairs into parts, and trains a run without each.
///
/// Prints the mean and the standard deviation of every metric over the runs. It is a sweep over the parts: finished runs
/// are not trained again, so the same command goes on where it was interrupted, and more repeats extend it. The folder
/// gets a table of all runs (sweep.csv, sweep.md, sweep.json); dsokr compare FOLDER FOLDER compares two of them. Test pairs
/// of the configuration take no part.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    trainings: Trainings,
    /// Number of parts of the pairs, k; each is held out once.
    #[arg(long, value_name = "K", default_value_t = 5)]
    folds: usize,
    /// Number of times that the pairs are divided anew.
    #[arg(long, value_name = "R", default_value_t = 1)]
    repeats: usize,
    /// Draw validation pairs from the other parts, on which checkpoints, λ and the like are chosen. Without it the part
    /// that is held out is the validation split: what is chosen on it makes its metrics too good.
    #[arg(long)]
    nested: bool,
    /// The groups that parts do not share: the values of a column of the tables of pairs, or skeleton, the skeletons of molecules.
    #[arg(long, value_name = "COLUMN|skeleton")]
    group: Option<String>,
    /// The seed that draws the parts first; repeats have those after it. That of trainings is the configuration's.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { trainings, folds, repeats, nested, group, seed } = arguments;
    let validation = CrossValidation {
        folds: *folds,
        repeats: *repeats,
        nested: *nested,
        group: group.clone(),
        seed: *seed,
    };
    let base = trainings.base()?;
    let (shared, axes) = validation.sweep(&base)?;
    let config = base.with(&shared).map_err(in_arguments)?;
    let request = trainings.request(&config, &axes);
    let default = || PathBuf::from("runs").join(format!("{}-cv", base.name));
    let out = Some(request.out.clone().unwrap_or_else(default));
    let validated = train(&SweepRequest { out, ..request }).map_err(in_arguments)?;
    if trainings.json {
        return print_json(&validated);
    }
    let mut text = validated.spreads().text();
    if let Some(chosen) = base.chosen_on_validation().filter(|_| !nested) {
        text += &format!(
            "\n{chosen} chosen on the parts that are evaluated, so the metrics are too good: --nested avoids it\n"
        );
    }
    print(&format!("{text}\ntables: {}\n", validated.path.display()))
}

/// The keys that arguments of this command set, and these arguments.
const KEYS: [(&str, &str); 2] = [("data.fold.count", "folds"), ("data.fold.group", "group")];

/// Returns the error with the arguments of this command in the place of the keys that they set, which no file of the user has.
fn in_arguments(error: Error) -> Error {
    use dsokr_core::Error::Value;
    use dsokr_data::Error::Column;
    match error {
        Error::Core(Value { key: Place::Key(key), found, allowed }) => {
            Error::Core(Value { key: place(key), found, allowed })
        }
        Error::Config { path, message } => {
            Error::Config { path, message: text_in_arguments(&message) }
        }
        Error::Changed { path, key, found, given, hint } => {
            Error::Changed { path, key: text_in_arguments(&key), found, given, hint }
        }
        Error::Data(Column { path, column, hint, available }) => {
            Error::Data(Column { path, column, hint: text_in_arguments(&hint), available })
        }
        Error::Member { name, source } => {
            Error::Member { name, source: Box::new(in_arguments(*source)) }
        }
        other => other,
    }
}

/// Returns the argument that sets a key, or the key, which no argument sets.
fn place(key: String) -> Place {
    match KEYS.iter().find(|(name, _)| *name == key) {
        Some(&(_, argument)) => Argument::new(argument).into(),
        None => Place::Key(key),
    }
}

/// Returns a text with the arguments in the place of the keys that they set.
fn text_in_arguments(text: &str) -> String {
    KEYS.iter().fold(text.to_owned(), |text, &(key, argument)| {
        text.replace(key, &Argument::new(argument).to_string())
    })
}
