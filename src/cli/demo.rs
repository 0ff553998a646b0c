//! `dsokr demo`: trains on the quickstart data in a temporary folder, and searches a text.

use crate::error::Error;
use crate::studies::quickstart;

use crate::cli::output::{PROGRAM, print};
use crate::cli::search;
#[cfg(feature = "serve")]
use crate::cli::serve;
use dsokr_core::Processes;
use dsokr_core::store::ScratchFolder;

/// The text that is searched without one.
const EXAMPLE: &str = "A methyl ester with a chlorine atom on a benzene ring.";

/// Searches 2,000 molecules by a description, with nothing to prepare.
///
/// The data are part of the program, and the model is trained on them in about a second. Nothing is left on the disk.
#[derive(clap::Args)]
pub struct Arguments {
    /// A description of a molecule; default: an example.
    text: Option<String>,
    /// Number of molecules to show.
    #[arg(long, default_value_t = 5)]
    top: usize,
    /// Serve the page to search them, until Ctrl-C.
    #[cfg(feature = "serve")]
    #[arg(long, conflicts_with_all = ["text", "top"])]
    serve: bool,
    /// The port of the page; 0 is a free one.
    #[cfg(feature = "serve")]
    #[arg(long, default_value_t = 8080, requires = "serve")]
    port: u16,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let folder = ScratchFolder::new().map_err(Error::io(&std::env::temp_dir()))?;
    let run = quickstart::demo(folder.path())?;
    #[cfg(feature = "serve")]
    if arguments.serve {
        return serve::run(&Processes::default(), &serve::Arguments::local(run, arguments.port));
    }
    let text = arguments.text.as_deref().unwrap_or(EXAMPLE);
    if arguments.text.is_none() {
        print(&format!("{text}\n"))?;
    }
    search::run(&Processes::default(), &search::Arguments::new(run, text, arguments.top))?;
    if arguments.text.is_some() {
        return Ok(());
    }
    let program = &*PROGRAM;
    print(&format!(
        "\nnext:\n  {program} demo \"your text\"\n  {program} demo --serve\n  {program} init TABLE\n"
    ))
}
