//! Trained runs over HTTP: a page to search them, and a JSON API that is the library's search, coordinates and
//! ranks.
//!
//! ```no_run
//! use dsokr::serve::{self, Limits, Model, Server};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = Model::open(std::path::Path::new("runs/quickstart"), &dsokr::device::Processor::Cpu.open()?)?;
//! let server = Server::new(vec![model], Limits::default())?;
//! let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//!     // or `server.router()`, an axum router, in a program that has more to serve
//!     serve::run(listener, &server, async { drop(tokio::signal::ctrl_c().await) }).await;
//!     Ok(())
//! })
//! # }
//! ```
//!
//! | path | answers |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /api` | the OpenAPI description of all that follows |
//! | `GET /api/models` | the models, what they were trained on, and their metrics |
//! | `POST /api/search` | the best candidates of texts, vectors or coordinates |
//! | `POST /api/embed` | predicted coordinates |
//! | `POST /api/rank` | ranks and scores of chosen candidates |
//! | `POST /api/candidates` | candidates by id |
//! | `POST /api/export` | the answer to one query as CSV, SMILES or SD file |
//! | `GET /api/drawing` | a candidate that is a molecule or a graph, as SVG |
//! | `GET /metrics` | counters for Prometheus |
//!
//! Nothing in a request is a path of a file. What is computed runs outside of the threads that read and write
//! connections; requests wait in a queue of
//! [`Limits::waiting`], and further ones get the status 503 with `Retry-After`. So do those that need what is still
//! read or computed in the background. The work for a client that has gone is cancelled.

mod answer;
mod candidates;
mod connections;
mod description;
mod explanations;
mod export;
mod filter;
mod handlers;
mod metrics;
mod model;
mod queries;
mod refusal;
mod replicas;
mod search;
mod work;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use dsokr_core::Processes;

use crate::error::{Error, ensure};

use self::metrics::Counters;
use self::work::Workers;

pub use self::connections::{block_on, run};
pub use self::model::Model;

/// Limits beyond which a server refuses requests or gives up.
#[derive(Clone, Debug, smart_default::SmartDefault)]
pub struct Limits {
    /// The largest body of a request in bytes; default: 1 MiB.
    #[default(1 << 20)]
    pub body: usize,
    /// The longest text in characters; default: 50,000.
    #[default(50_000)]
    pub text: usize,
    /// The most queries of a request; default: 64.
    #[default(64)]
    pub queries: usize,
    /// The most hits for each query, and ids of a list; default: 1,000.
    #[default(1_000)]
    pub hits: usize,
    /// The most hits that a request asks for, and ids of its lists, those of all queries together; default: 10,000.
    #[default(10_000)]
    pub all_hits: usize,
    /// The most connections at once; default: 512.
    #[default(512)]
    pub connections: usize,
    /// The most requests that are computed at once; default: the number of processors.
    #[default(std::thread::available_parallelism().map_or(1, usize::from))]
    pub workers: usize,
    /// The most requests that wait for a worker; default: 128.
    #[default(128)]
    pub waiting: usize,
    /// How long the head of a request may take, and a connection may be idle; default: 15 s.
    #[default(Duration::from_secs(15))]
    pub head: Duration,
    /// How long a request waits for what is read in the background after the start; default: 5 s.
    #[default(Duration::from_secs(5))]
    pub read: Duration,
    /// How long a request may take, with its body; default: 60 s.
    #[default(Duration::from_secs(60))]
    pub request: Duration,
    /// How long the client may read nothing of an answer; default: 60 s.
    #[default(Duration::from_secs(60))]
    pub answer: Duration,
    /// How long a server that is stopped waits for what has begun; default: 60 s.
    #[default(Duration::from_secs(60))]
    pub stop: Duration,
    /// Names without ports that requests may be addressed to, in addition to `localhost` and loopback addresses;
    /// default: none. An empty list allows every name, unless [`run`] listens at a loopback address.
    pub hosts: Vec<String>,
}

impl Limits {
    /// Refuses more hits than [`all_hits`](Self::all_hits), of all queries together.
    fn check_all(&self, key: &str, hits: usize) -> Result<(), Error> {
        let allowed = format!("at most {}, those of all queries together", self.all_hits);
        ensure(hits <= self.all_hits, key, format!("{hits} hits"), allowed)
    }
}

/// Models with what answers requests for them.
#[derive(Clone, derive_more::Debug)]
#[debug("Server({:?})", _0.models)]
pub struct Server(Arc<Shared>);

struct Shared {
    models: Vec<Arc<Model>>,
    limits: Limits,
    workers: Workers,
    counters: Counters,
    openapi: String,
}

impl Server {
    /// Creates a server of this process alone; see [`new_shared`](Self::new_shared).
    ///
    /// # Errors
    /// As [`new_shared`](Self::new_shared).
    pub fn new(models: Vec<Model>, limits: Limits) -> Result<Self, Error> {
        Self::new_shared(&Processes::default(), models, limits)
    }

    /// Creates a server of at least one model; the first is that of requests that name none. A thread of its own
    /// begins to read what explains answers and what filters compare; requests that need it wait up to
    /// [`Limits::read`], others do not. Of several [`Processes`] the first listens ([`block_on`]), and all answer; they
    /// read it before.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for no models, for two of one name, and for one of [`Limits::hosts`] that is not a name.
    pub fn new_shared(
        processes: &Processes,
        models: Vec<Model>,
        limits: Limits,
    ) -> Result<Self, Error> {
        ensure(!models.is_empty(), "RUN", "none", "at least one run directory")?;
        for (at, name) in models.iter().map(Model::name).enumerate() {
            let is_new = models[..at].iter().all(|earlier| earlier.name() != name);
            let allowed = "runs of different names, which requests tell them apart by: rename the folder, or the archive, of one";
            ensure(is_new, "RUN", format_args!("{name:?}, twice"), allowed)?;
        }
        limits.hosts.iter().try_for_each(|name| connections::check_name(name))?;
        let models: Vec<Arc<Model>> = models.into_iter().map(Arc::new).collect();
        let openapi = handlers::description(&limits)?;
        let workers = Workers::new(processes, &limits);
        if !workers.are_ranks() {
            let warm = models.clone();
            std::thread::spawn(move || read(&warm));
        }
        let counters = Counters::default();
        Ok(Self(Arc::new(Shared { models, limits, workers, counters, openapi })))
    }

    /// Waits until everything that explains answers is read. Several ranks read it in [`block_on`].
    pub fn prepare(&self) {
        if !self.0.workers.are_ranks() {
            read(&self.0.models);
        }
    }

    /// Returns all that is served; `checked` is whether the names are checked that requests are addressed to.
    fn routes(&self, checked: bool) -> Router {
        let mut served = handlers::page()
            .merge(handlers::api())
            .fallback(refusal::not_found)
            .method_not_allowed_fallback(refusal::not_allowed)
            .layer(axum::extract::DefaultBodyLimit::max(self.0.limits.body))
            .with_state(self.clone());
        if checked {
            served = served
                .layer(axum::middleware::from_fn_with_state(self.clone(), connections::check_host));
        }
        served.layer(axum::middleware::from_fn_with_state(self.clone(), handlers::watch))
    }
}

/// Reads what explains answers of all models, then what chooses their candidates, and then how often they are right, for
/// which no answer waits.
fn read(models: &[Arc<Model>]) {
    models.iter().for_each(|model| model.read_texts());
    models.iter().for_each(|model| model.read_properties());
    let alone = || Processes::default();
    models.iter().for_each(|model| work::in_background(|| model.read_reliability(&alone())));
}
