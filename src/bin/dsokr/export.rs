use std::path::PathBuf;

use dsokr::Error;
use dsokr::run::Run;

use crate::print;

/// Writes a fine-tuned encoder as a folder that the Python library transformers loads.
///
/// For runs with encoder.kind = "pretrained". The head, which maps to the eigenbasis, is not part of that
/// layout and stays in the run.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory.
    run: PathBuf,
    /// The folder. It is created if it does not exist; files with the same names are replaced.
    folder: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let run: Run = Run::open(&arguments.run)?;
    run.export(&arguments.folder)?;
    let folder = arguments.folder.display();
    print(&format!("{folder}: AutoModel.from_pretrained({:?}) loads it\n", arguments.folder))
}
