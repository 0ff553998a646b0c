use dsokr::Error;

/// Prints the configuration reference as Markdown.
#[derive(clap::Args)]
pub struct Arguments {}

pub fn run(_: &Arguments) -> Result<(), Error> {
    crate::print(&dsokr::config::reference())
}
