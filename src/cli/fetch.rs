//! `dsokr fetch`: downloads data sets and trained models.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use dsokr_core::Argument;
use dsokr_core::random::hash;
use dsokr_core::store::create_folder;
use dsokr_data::InputKind;
use dsokr_fetch::{DataSet, Fetch, FetchedFile, Network, Progress, RemoteFile, Table};
use indicatif::ProgressBar;
use serde_json::json;

use crate::cli::arguments::seconds;
use crate::cli::hints::check_archive;
use crate::cli::output::{self, PROGRAM, print, print_json};
use crate::cli::signals;
use crate::error::{Error, ensure};
use crate::run::{archive, check_output};
use crate::run_dir::{RunDir, RunLock, check_link, parent, place_of};

/// Downloads a data set to the data root, where the published configurations find it, or a trained model.
///
/// dsokr fetch model FILE|URL unpacks the archive of a run, which dsokr export --archive writes. A download that was cut
/// off goes on where it stopped. Files are checked against the checksums of the table of data sets, and every file
/// appears whole or not at all.
#[derive(clap::Args)]
pub struct Arguments {
    /// The data set, of the built-in table or of --table, or model for the archive of a run;
    /// without one, all data sets are listed.
    name: Option<String>,
    /// The archive of a run: a file, or an address of http or https.
    #[arg(value_name = "FILE|URL", conflicts_with_all = ["from", "table"])]
    archive: Option<String>,
    /// The data root, or the run directory of a model; default: the environment variable DSOKR_DATA, else data/, and
    /// runs/NAME for a model, where NAME is the name that the run had.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The SHA-256 of the archive of a run, in hexadecimal digits.
    #[arg(long, value_name = "DIGITS", requires = "archive", value_parser = digits)]
    sha256: Option<String>,
    /// A folder that has the downloads already, or the files in them; nothing is downloaded.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// A table of data sets (TOML) in addition to the built-in one; book/src/fetch.md describes its keys.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// The longest time without an answer or a byte.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30.0,
        value_parser = seconds(0.001..=86_400.0, "0.001 to 86400 seconds")
    )]
    timeout: f64,
    /// How often a download that brings nothing new is tried again.
    #[arg(long, default_value_t = 4)]
    retries: u32,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Returns the digits of a SHA-256, before which registries print `sha256:` or `SHA256:`.
fn digits(text: &str) -> Result<String, String> {
    const KIND: &str = "sha256:";
    let digits = match text.split_at_checked(KIND.len()) {
        Some((kind, digits)) if kind.eq_ignore_ascii_case(KIND) => digits,
        Some(_) | None => text,
    };
    if digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
        Ok(digits.to_owned())
    } else {
        Err(format!("{text:?}: expected 64 hexadecimal digits"))
    }
}

/// The most bytes of an archive that is downloaded.
const MOST_BYTES: u64 = 64 << 30;

/// The name that stands for the archive of a run instead of a data set.
const MODEL: &str = "model";

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    match (arguments.name.as_deref(), arguments.archive.as_deref()) {
        (None, _) => list(&Table::with(arguments.table.as_deref())?, arguments.json),
        (Some(MODEL), Some(archive)) => fetch_model(arguments, archive),
        (Some(MODEL), None) => {
            let allowed = "the file or the address of its archive behind it";
            Err(Error::value(Argument::new("name"), MODEL, allowed))
        }
        (Some(name), None) => fetch_data(arguments, name),
        (Some(name), Some(archive)) => {
            let allowed = format!("model before {archive}, the archive of a run");
            Err(Error::value(Argument::new("name"), name, allowed))
        }
    }
}

/// Fetches a data set.
fn fetch_data(arguments: &Arguments, name: &str) -> Result<(), Error> {
    let table = Table::with(arguments.table.as_deref())?;
    let set = table.get(name)?;
    let root = || std::env::var_os("DSOKR_DATA").unwrap_or_else(|| "data".into()).into();
    let out: PathBuf = arguments.out.clone().unwrap_or_else(root);
    check_output("out", &out)?;
    let network = network(arguments);
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

/// Returns how files are downloaded. A signal that ends the command says how to go on.
fn network(arguments: &Arguments) -> Network {
    let timeout = Duration::from_secs_f64(arguments.timeout);
    let advice = "what is downloaded is kept; the same command goes on";
    signals::advise(move || advice.into());
    let pause = Duration::from_secs(1).min(timeout);
    Network { timeout, retries: arguments.retries, pause, ..Network::default() }
}

/// Unpacks the archive of a run.
fn fetch_model(arguments: &Arguments, archive: &str) -> Result<(), Error> {
    if let Some(out) = &arguments.out {
        // before anything is downloaded
        check_output("out", out)?;
        check_link("out", out)?;
        let found = format_args!("{}, which exists", out.display());
        let allowed = "a new path: a run is unpacked whole, and takes the place of nothing";
        ensure(!out.exists(), Argument::new("out"), found, allowed)?;
    }
    let place = |name: &str| match &arguments.out {
        Some(out) => Ok(out.clone()),
        None => place_of(name, None, false),
    };
    let is_address = archive.starts_with("https://") || archive.starts_with("http://");
    let (run, sha256) = if is_address {
        let folder = arguments.out.as_deref().map_or(Path::new("runs"), parent);
        let download = Download::of(archive, folder, arguments.sha256.clone())?;
        let bar = bar();
        let progress = &mut |progress: Progress| show(&bar, progress);
        let sha256 = network(arguments).download(&download.remote, &download.file, progress);
        bar.finish_and_clear();
        let sha256 = sha256?;
        (download.unpack(place)?, sha256)
    } else {
        let file = Path::new(archive);
        if !file.exists() {
            let hint = ", nor an address of http or https".to_owned();
            return Err(Error::NotFound { path: file.into(), hint });
        }
        check_archive(file)?;
        let remote = RemoteFile { sha256: arguments.sha256.clone(), ..RemoteFile::default() };
        let sha256 = dsokr_fetch::check(&remote, file, archive)?;
        (archive::unpack(file, place)?, sha256)
    };
    if arguments.json {
        return print_json(&json!({"run": run, "sha256": sha256}));
    }
    let verified = if arguments.sha256.is_some() { "verified, " } else { "" };
    let shown = run.display();
    let program = &*PROGRAM;
    let path = output::shell_path(&run);
    let config = RunDir::at(&run).config()?;
    let abilities = config.encoder.abilities();
    let ask = match abilities.reads {
        InputKind::Texts if abilities.spectra => format!("predict {path} FILE.mgf"),
        // without a text, a terminal gets a prompt
        InputKind::Texts => format!("search {path}"),
        InputKind::Vectors => format!("predict {path} FILE"),
        InputKind::Kernels => format!("evaluate {path} --queries FILE"),
    };
    print(&format!(
        "{shown}: {verified}SHA-256 {sha256}\n\nnext:\n  {program} {ask}\n  {program} serve {path}\n"
    ))
}

/// An archive that is downloaded, beside the run. One process at a time downloads and unpacks it.
struct Download {
    remote: RemoteFile,
    /// The folder of the download, which a later call continues.
    folder: PathBuf,
    /// Archives of two addresses are two files, whatever their names are.
    file: PathBuf,
    /// The lock of the folder; none where the file system has no locks, and when the download is dropped.
    lock: Option<RunLock>,
}

impl Download {
    fn of(url: &str, beside: &Path, sha256: Option<String>) -> Result<Self, Error> {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let plain =
            |name: &&str| name.starts_with(char::is_alphanumeric) && name.chars().all(is_plain);
        let name = path.rsplit('/').next().filter(plain).unwrap_or(MODEL);
        let folder = beside.join(".fetch");
        create_folder(&folder).map_err(Error::io(&folder))?;
        let file = folder.join(format!("{:016x}-{name}", hash(url.as_bytes())));
        let lock = RunLock::take_of_download(&file)?;
        let most_bytes = MOST_BYTES;
        let (name, url) = (name.to_owned(), url.to_owned());
        let remote = RemoteFile { name, url, sha256, most_bytes, ..RemoteFile::default() };
        Ok(Self { remote, folder, file, lock })
    }

    /// Unpacks the run, and removes the file. The file stays where there was no room for what it holds.
    ///
    /// # Errors
    /// As [`archive::unpack`]; an error of the file is one of its address, since the file is gone.
    fn unpack(&self, place: impl FnOnce(&str) -> Result<PathBuf, Error>) -> Result<PathBuf, Error> {
        let unpacked = match archive::unpack(&self.file, place) {
            Err(Error::Core(dsokr_core::Error::File { path, message, .. }))
                if path == self.file =>
            {
                let is_page = begins_as_page(&self.file);
                let page = "a web page (HTML), not the archive of a run: the address of the file itself is needed";
                let message = if is_page { page.to_owned() } else { message };
                Err(Error::run(&self.remote.url, message))
            }
            Err(error) => return Err(error),
            Ok(run) => Ok(run),
        };
        let _ = fs::remove_file(&self.file);
        unpacked
    }
}

/// Returns whether a file begins as web pages do, which servers send in the place of files.
fn begins_as_page(file: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(file).and_then(|file| file.take(256).read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start).trim_start().to_ascii_lowercase();
    read.is_ok() && ["<!doctype html", "<html"].iter().any(|tag| start.starts_with(tag))
}

impl Drop for Download {
    /// Removes the folder if nothing is in it. The lock is a file in it.
    fn drop(&mut self) {
        drop(self.lock.take());
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Prints the data sets of a table.
fn list(table: &Table, json: bool) -> Result<(), Error> {
    if json {
        return print_json(table);
    }
    let lines = table.0.iter().map(|(name, set)| format!("{name:<14} {}\n", set.title));
    print(&lines.collect::<String>())
}

/// Returns a bar for downloads, which is hidden where only warnings are wanted.
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

/// Returns what has been fetched, as text.
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
