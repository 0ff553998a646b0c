//! `dsokr config-reference`: prints the page of the book on the configuration.

use crate::error::Error;

/// Prints the configuration reference as Markdown.
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<(), Error> {
    crate::cli::output::print(&crate::config::reference())
}
