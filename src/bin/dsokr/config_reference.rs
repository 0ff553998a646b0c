use dsokr::Error;

/// Prints the configuration reference as Markdown.
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run() -> Result<(), Error> {
    crate::print(&dsokr::config::reference())
}
