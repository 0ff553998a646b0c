//! `dsokr quickstart`: writes the quickstart data and configuration, and trains on them.

use std::path::{Path, PathBuf};

use dsokr_core::{Argument, Processes};

use crate::error::{Error, ensure};
use crate::studies::quickstart;

use crate::cli::output::{PROGRAM, shell_path};
use crate::cli::train;

/// Writes the quickstart data and configuration into the current folder, and trains on them.
///
/// 1,600 descriptions of molecules train a model in seconds; it then ranks 2,000 molecules for each of
/// 200 test descriptions.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory; default: runs/quickstart, or the first free one of runs/quickstart-2, -3, …
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    if let Some(out) = &arguments.out {
        let program = &*PROGRAM;
        let config = shell_path(Path::new(quickstart::CONFIG));
        let run = shell_path(out);
        let found = format_args!("{}, which exists", out.display());
        let allowed = format_args!(
            "a new path; `{program} train {config} --out {run} --resume` continues the run that is there"
        );
        ensure(!out.exists(), Argument::new("out"), found, allowed)?;
    }
    let config = quickstart::write(Path::new("."))?;
    let out = arguments.out.clone();
    let json = arguments.json;
    let arguments = train::Arguments { config, out, json, ..train::Arguments::default() };
    train::run(&Processes::default(), &arguments)
}
