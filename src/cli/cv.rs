use std::path::PathBuf;

use crate::Error;
use crate::config::{Config, Override};
use crate::device::Processor;
use crate::run::check_output;
use crate::sweep::{CrossValidation, SweepRequest};

use crate::cli::output::{self, print, print_json};

/// Cross-validates a configuration: divides its training and validation pairs into parts, and trains a run without each.
///
/// Prints the mean and the standard deviation of every metric over the runs. It is a sweep over the parts: finished runs
/// are not trained again, so the same command goes on where it was interrupted, and more repeats extend it. The folder
/// gets a table of all runs (sweep.csv, sweep.md, sweep.json); dsokr compare FOLDER FOLDER compares two of them. Test pairs
/// of the configuration take no part.
#[derive(clap::Args)]
pub struct Arguments {
    /// The configuration (TOML); see the book's page on the configuration.
    config: PathBuf,
    #[command(flatten)]
    folds: CrossValidation,
    /// The folder of the runs; default: runs/NAME-cv.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Change a value of the configuration for all runs; can be repeated.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    overrides: Vec<Override>,
    /// The data root; default: the environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
    /// Train although the estimate of the memory is more than there is.
    #[arg(long)]
    force: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    check_output("--out", &arguments.out)?;
    let base = Config::load_with(&arguments.config, &arguments.overrides)?;
    let (shared, axes) = arguments.folds.sweep(&base)?;
    let default = || PathBuf::from("runs").join(format!("{}-cv", base.name));
    let request = SweepRequest {
        config: &arguments.config,
        overrides: &[arguments.overrides.clone(), shared].concat(),
        axes: &axes,
        random: None,
        out: Some(arguments.out.clone().unwrap_or_else(default)),
        data: arguments.data.as_deref(),
        processor: arguments.device,
        force: arguments.force,
    };
    let found = request.run(&mut output::Progress::new())?;
    output::clear();
    if arguments.json {
        return print_json(&found);
    }
    let mut text = found.spreads().text();
    if let Some(chosen) = base.chosen_on_validation().filter(|_| !arguments.folds.nested) {
        text += &format!(
            "\n{chosen} chosen on the parts that are evaluated, so the metrics are too good: --nested avoids it\n"
        );
    }
    print(&format!("{text}\ntables: {}\n", found.path.display()))
}
