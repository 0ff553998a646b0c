use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use dsokr_core::store::ScratchFolder;
use dsokr_core::{Argument, Processes};
use dsokr_nn::Processor;

use crate::cli::meant::check_runs;
use crate::cli::output::print;
use crate::cli::signals;
use crate::cli::signals::Response;
use crate::error::Error;
use crate::run_dir::archive;
use crate::serve::{Limits, Model, Server, block_on};

/// Serves trained runs: a page to search them, and a JSON API, which GET /api describes.
///
/// Each run directory, of a model or of an ensemble, is a model of its own, as it was when the server started. The
/// archive of a run, which dsokr export --archive writes, is unpacked into a temporary folder.
/// Ctrl-C or SIGTERM stops the server after what has begun is finished.
#[derive(clap::Args)]
#[cfg_attr(
    feature = "mpi",
    doc = "\nmpirun -np P dsokr serve RUN divides the candidates among P processes. The first one listens."
)]
pub struct Arguments {
    /// Run directories, or archives of runs; the first is that of requests that name none.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The address of this machine to listen at; the default is reached only from this machine.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port; 0 is a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// A name in the address of the page that is answered, such as search.example.org of a proxy; several by
    /// repetition. localhost and loopback addresses always are. Without it, a --host that is not loopback answers
    /// to every name.
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// The folder with the shards of the run's candidates, of one run; default: shards in each run directory, for
    /// several processes.
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

impl Arguments {
    /// A run, served only to this machine.
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
        return Err(Error::value(
            Argument::new("shards"),
            folder.display(),
            "absent, for several runs",
        ));
    }
    let unpacked = ScratchFolder::new().map_err(Error::io(&std::env::temp_dir()))?;
    let runs = runs.iter().enumerate().map(|(place, run)| {
        if archive::is_archive(run) {
            // archives may hold runs of one name
            let folder = unpacked.path().join(place.to_string());
            archive::unpack(run, |name| Ok(folder.join(name)))
        } else {
            Ok(run.clone())
        }
    });
    let runs: Vec<PathBuf> = runs.collect::<Result<_, Error>>()?;
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
