use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use dsokr_fetch::{DataSet, Fetch, FetchedFile, Network, Progress, Table};
use indicatif::ProgressBar;
use serde_json::json;

use crate::cli::output::{self, print, print_json};
use crate::cli::signals;
use crate::error::Error;
use crate::run::check_output;

/// Downloads a data set to the data root, where the published configurations find it.
///
/// A download that was cut off goes on where it stopped. Files are checked against the checksums of the table of data
/// sets, and every file appears whole or not at all.
#[derive(clap::Args)]
pub struct Arguments {
    /// The data set, of the built-in table or of --table;
    /// without one, all are listed.
    name: Option<String>,
    /// The data root; default: the environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    out: Option<PathBuf>,
    /// A folder that has the downloads already, or the files in them; nothing is downloaded.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// A table of data sets (TOML) in addition to the built-in one; book/src/fetch.md describes its keys.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// The longest time without an answer or a byte.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    timeout: f64,
    /// How often a download that brings nothing new is tried again.
    #[arg(long, default_value_t = 4)]
    retries: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let allowed = |&seconds: &f64| (0.001..=86_400.0).contains(&seconds);
    let parsed = text.parse().ok().filter(allowed);
    parsed.ok_or_else(|| format!("{text:?}: expected 0.001 to 86400 seconds"))
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let table = Table::with(arguments.table.as_deref())?;
    let Some(name) = &arguments.name else { return list(&table, arguments.json) };
    let set = table.get(name)?;
    let root = || std::env::var_os("DSOKR_DATA").unwrap_or_else(|| "data".into()).into();
    let out: PathBuf = arguments.out.clone().unwrap_or_else(root);
    check_output("out", &out)?;
    let network = Network {
        timeout: Duration::from_secs_f64(arguments.timeout),
        retries: arguments.retries,
        pause: Duration::from_secs(1).min(Duration::from_secs_f64(arguments.timeout)),
    };
    let advice = "what is downloaded is kept; the same command goes on";
    signals::advise(move || advice.into());
    tracing::info!("{}; licence: {}", set.title, set.licence);
    let bar = bar();
    let fetch = Fetch { out: &out, from: arguments.from.as_deref(), network: &network };
    let fetched = fetch.run(set, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let fetched = fetched?;
    if arguments.json {
        let licence = &set.licence;
        let citation = &set.citation;
        let listing =
            json!({"root": out, "licence": licence, "citation": citation, "files": fetched});
        return print_json(&listing);
    }
    print(&summary(set, &out, &fetched))
}

/// Prints the data sets of a table.
fn list(table: &Table, json: bool) -> Result<(), Error> {
    if json {
        return print_json(table);
    }
    let lines = table.0.iter().map(|(name, set)| format!("{name:<14} {}\n", set.title));
    print(&lines.collect::<String>())
}

/// A bar for downloads, which is hidden where only warnings are wanted.
fn bar() -> ProgressBar {
    if output::QUIET.load(Ordering::Relaxed) {
        return ProgressBar::hidden();
    }
    output::bar("{bar:30} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left, {msg}")
}

/// Shows how much of a file has arrived.
fn show(bar: &ProgressBar, Progress { name, bytes, total }: Progress) {
    bar.set_length(total.unwrap_or(bytes));
    bar.set_position(bytes);
    if bar.message() != name {
        bar.reset_eta();
        bar.set_message(name.to_owned());
    }
}

/// What has been fetched, as text.
fn summary(set: &DataSet, out: &Path, fetched: &[FetchedFile]) -> String {
    let mut text = String::new();
    for file in fetched {
        text += &format!("{}: ", file.name);
        text += &match (&file.sha256, file.verified) {
            (None, _) => "taken as it is, or there already\n".to_owned(),
            (Some(sum), true) => format!("verified, SHA-256 {sum}\n"),
            (Some(sum), false) => format!(
                "NOT verified: the table has no checksum; its SHA-256 is {sum}, which a table of --table can pin\n"
            ),
        };
    }
    let root = out.display();
    text += &format!(
        "\ndata root: {root} (--data {root})\nlicence: {}\ncite: {}\n",
        set.licence, set.citation
    );
    text
}
