use std::path::PathBuf;

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
    #[command(flatten)]
    folds: CrossValidation,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { trainings, folds } = arguments;
    let base = trainings.base()?;
    let (shared, axes) = folds.sweep(&base)?;
    let config = base.with(&shared)?;
    let request = trainings.request(&config, &axes);
    let default = || PathBuf::from("runs").join(format!("{}-cv", base.name));
    let out = Some(request.out.clone().unwrap_or_else(default));
    let validated = train(&SweepRequest { out, ..request })?;
    if trainings.json {
        return print_json(&validated);
    }
    let mut text = validated.spreads().text();
    if let Some(chosen) = base.chosen_on_validation().filter(|_| !folds.nested) {
        text += &format!(
            "\n{chosen} chosen on the parts that are evaluated, so the metrics are too good: --nested avoids it\n"
        );
    }
    print(&format!("{text}\ntables: {}\n", validated.path.display()))
}
