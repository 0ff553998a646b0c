//! `dsokr serve`: opens runs as models of a server, and waits for the signal that stops it.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use dsokr_core::store::ScratchFolder;
use dsokr_core::{Argument, Processes};
use dsokr_nn::Processor;

use crate::cli::hints::check_runs;
use crate::cli::output::print;
use crate::cli::signals;
use crate::cli::signals::Response;
use crate::error::Error;
use crate::run::archive;
use crate::run_dir::name;
use crate::serve::{Limits, Model, Server, block_on};

/// Serves trained runs: a page to search them, and a JSON API, which GET /api describes.
///
/// Each run directory, of a model or of an ensemble, is a model of its own, as it was when the server started. The
/// archive of a run, which dsokr export --archive writes, is unpacked into a temporary folder.
/// Ctrl-C, SIGTERM or SIGHUP stops the server after what has begun is finished.
#[derive(clap::Args)]
#[cfg_attr(
    feature = "mpi",
    doc = "\nmpirun -np P dsokr serve RUN divides the candidates among P processes. The first one listens."
)]
pub struct Arguments {
    /// Run directories, or archives of runs; the first is that of requests that name none.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The address of this machine to listen at; the default, which is also called localhost, is reached only from this machine.
    #[arg(long, default_value = "127.0.0.1", value_parser = host)]
    host: IpAddr,
    /// The port; 0 is a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// A name in the address of the page that is answered, such as search.example.org of a proxy; several by
    /// repetition. localhost and loopback addresses always are. Without it, a --host that is not loopback answers
    /// to every name.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The folder with the shards of the run's candidates, of one run; default: for several processes, shards in each run
    /// directory; for one process, none.
    #[arg(long, value_name = "FOLDER")]
    shards: Option<PathBuf>,
    /// The data root of the texts that explain answers and of the queries that calibrate lists; default: the folder of the
    /// data that each run was trained on, else the environment variable DSOKR_DATA, else data/.
    #[arg(long)]
    data: Option<PathBuf>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
}

/// Returns the IP address that a text is, or that of `localhost`.
fn host(text: &str) -> Result<IpAddr, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let allowed = "an IP address of this machine, such as 127.0.0.1, or localhost";
    text.parse().map_err(|_| format!("{text:?}: expected {allowed}"))
}

impl Arguments {
    /// Creates the arguments that serve a run to this machine alone.
    pub fn local(run: PathBuf, port: u16) -> Self {
        Self {
            runs: vec![run],
            host: Ipv4Addr::LOCALHOST.into(),
            port,
            allow_host: Vec::new(),
            shards: None,
            data: None,
            device: Processor::default(),
        }
    }
}

pub fn run(processes: &Processes, arguments: &Arguments) -> Result<(), Error> {
    let device = arguments.device.open_for(processes)?;
    let Arguments { runs, shards, data, .. } = arguments;
    if let Some(folder) = shards
        && let [_, _, ..] = &runs[..]
    {
        let allowed = "absent, for several runs";
        return Err(Error::value(Argument::new("shards"), folder.display(), allowed));
    }
    // a machine that serves run directories alone may have no folder for temporary files
    let scratch = if runs.iter().any(|run| archive::is_archive(run)) {
        Some(ScratchFolder::new().map_err(|error| unpacking(&std::env::temp_dir(), &error))?)
    } else {
        None
    };
    let runs = match &scratch {
        Some(scratch) => unpacked(runs, scratch.path())?,
        None => runs.clone(),
    };
    check_runs(&runs)?;
    let open = |run: &PathBuf| {
        let model = Model::open_shared(processes, run, shards.as_deref(), &device)?;
        Ok::<_, Error>(model.with_data(data.as_deref()))
    };
    let models = runs.iter().map(open).collect::<Result<_, _>>()?;
    let limits = Limits { hosts: arguments.allow_host.clone(), ..Limits::default() };
    let server = Server::new_shared(processes, models, limits)?;
    let address = SocketAddr::new(arguments.host, arguments.port);
    if !arguments.host.is_loopback() {
        tracing::warn!(
            "--host {}: every machine that reaches this address can search the runs; there are no passwords",
            arguments.host
        );
    }
    block_on(processes, &server, address, |address| {
        signals::respond(Response::Leave);
        print(&format!("listening on http://{address}/\n"))
    })
}

/// Unpacks the archives among runs into the folder `scratch`, and returns all run directories.
fn unpacked(runs: &[PathBuf], scratch: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut folders = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        if !archive::is_archive(run) {
            folders.push(run.clone());
            continue;
        }
        let here = scratch.join(number.to_string());
        let folder =
            archive::unpack(run, |name| Ok(here.join(name))).map_err(|error| match error {
                Error::Core(dsokr_core::Error::Io { path, source })
                    if path.starts_with(scratch) =>
                {
                    unpacking(&path, &source)
                }
                other => other,
            })?;
        folders.push(folder);
    }
    rename_archives(&mut folders, runs)?;
    Ok(folders)
}

/// Renames the folders of archives, since requests tell runs apart by their names: an archive whose run has the name of another
/// run gets the name of its file, and where another one has that name too, as `v1/model.tar.zst` and `v2/model.tar.zst` have,
/// the name of the folder that is given.
fn rename_archives(folders: &mut [PathBuf], runs: &[PathBuf]) -> Result<(), Error> {
    let names: Vec<String> = folders
        .iter()
        .map(|folder| name(&folder.canonicalize().unwrap_or_else(|_| folder.clone())))
        .collect();
    let file_names: Vec<String> = runs.iter().map(|run| file_name_of_archive(run)).collect();
    let is_shared =
        |names: &[String], name: &str| names.iter().filter(|other| *other == name).count() > 1;
    for (folder, run) in folders.iter_mut().zip(runs).filter(|(_, run)| archive::is_archive(run)) {
        let run_name = name(folder);
        if !is_shared(&names, &run_name) {
            continue;
        }
        let file_name = file_name_of_archive(run);
        let folder_name = run.parent().map(name).unwrap_or_default();
        let new_name = if is_shared(&file_names, &file_name) && !folder_name.is_empty() {
            folder_name
        } else {
            file_name
        };
        if !new_name.is_empty() && new_name != run_name {
            let renamed = folder.with_file_name(new_name);
            fs::rename(&*folder, &renamed).map_err(Error::io(&renamed))?;
            *folder = renamed;
        }
    }
    Ok(())
}

/// Returns the name of the file of an archive, without `.tar.zst`.
fn file_name_of_archive(archive: &Path) -> String {
    let name = name(archive);
    let stem = name.strip_suffix(".zst").unwrap_or(&name);
    stem.strip_suffix(".tar").unwrap_or(stem).to_owned()
}

/// Returns the error of the file system where archives are unpacked.
fn unpacking(path: &Path, error: &io::Error) -> Error {
    let advice =
        "archives are unpacked there; the environment variable TMPDIR names a different folder";
    Error::io(path)(io::Error::new(error.kind(), format!("{error}: {advice}")))
}
