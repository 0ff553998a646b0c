use std::path::{Path, PathBuf};

use dsokr_core::Processes;

use crate::error::Error;
use crate::studies::quickstart;

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
    let config = quickstart::write(Path::new("."))?;
    let out = arguments.out.clone();
    let json = arguments.json;
    let arguments = train::Arguments { config, out, json, ..train::Arguments::default() };
    train::run(&Processes::default(), &arguments)
}
