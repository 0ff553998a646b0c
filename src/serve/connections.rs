//! Connections, from the first to the last, and the names that their requests may be addressed to.

use std::future::Future;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use dsokr_core::{Argument, Processes};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use super::refusal::Refusal;
use super::{Server, handlers, replicas};
use crate::error::{Error, ensure};
#[cfg(unix)]
use crate::nohup::is_ignored;

/// How long to wait after a connection that could not be accepted, such as for lack of file handles.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves at an address until the process gets SIGINT (Ctrl-C), SIGTERM or SIGHUP. `listening` is called with the address
/// once connections are accepted, where the port is known that took the place of 0. Of several [`Processes`], those
/// that the server was created for, which all call this, the first listens and is the one to stop.
///
/// # Errors
/// [`dsokr_core::Error::Value`] of the argument `port` or `host` for an address that cannot be listened at; errors of `listening`;
/// [`dsokr_core::Error::Process`] for a rank that cannot be reached.
pub fn block_on(
    processes: &Processes,
    server: &Server,
    address: SocketAddr,
    listening: impl FnOnce(SocketAddr) -> Result<(), Error> + Send + 'static,
) -> Result<(), Error> {
    let workers = &server.0.workers;
    match (workers.are_ranks(), processes.is_first()) {
        (false, _) => listen(server, address, listening),
        (true, false) => handlers::run_replica(processes, server),
        (true, true) => {
            replicas::prepare(processes, server)?;
            // the exchanges of ranks are those of this thread
            let listener = server.clone();
            let served = std::thread::spawn(move || {
                let served = listen(&listener, address, listening);
                listener.0.workers.end();
                served
            });
            workers.work(processes);
            replicas::pass(processes, replicas::STOP, &())?;
            served.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    }
}

/// Serves as [`block_on`] does, on this process alone.
fn listen(
    server: &Server,
    address: SocketAddr,
    listening: impl FnOnce(SocketAddr) -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |e| Error::io("the server".as_ref())(e);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(|e| {
            let ip = address.ip();
            let port = address.port();
            let (argument, found, allowed) = match e.kind() {
                ErrorKind::AddrInUse => (
                    "port",
                    format!("{port} of {ip}, in use"),
                    "a free port, or 0, which finds one",
                ),
                ErrorKind::PermissionDenied => {
                    ("port", format!("{port} ({e})"), "1024 to 65535, or 0, which finds a free one")
                }
                _ => ("host", format!("{ip} ({e})"), "an address of this machine"),
            };
            Error::value(Argument::new(argument), found, allowed)
        })?;
        check_clock()?;
        let stop = signals().map_err(failed)?;
        listening(listener.local_addr().map_err(failed)?)?;
        run(listener, server, stop).await;
        Ok(())
    })
}

/// Refuses a clock whose time the date of an answer cannot be: hyper panics there.
fn check_clock() -> Result<(), Error> {
    const YEAR_10000: u64 = 253_402_300_800;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let holds = now.is_ok_and(|now| now.as_secs() < YEAR_10000);
    let allowed = "a time from 1970 to 9999, as answers have it";
    ensure(holds, "the clock", "a time before 1970 or after 9999", allowed)
}

/// Returns a future that is ready at the first signal to stop. Under nohup SIGHUP stays ignored.
#[cfg(unix)]
fn signals() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = None;
    if !is_ignored(libc::SIGHUP) {
        hangup = Some(signal(SignalKind::hangup())?);
    }
    Ok(async move {
        let hung_up = async {
            match &mut hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    })
}

#[cfg(not(unix))]
fn signals() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}

/// Serves connections by HTTP/1.1 until `stop` is ready; then what has begun is finished, and idle connections
/// are closed.
pub async fn run(listener: TcpListener, server: &Server, stop: impl Future<Output = ()>) {
    let limits = &server.0.limits;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections.max(1)));
    let loopback = listener.local_addr().is_ok_and(|address| is_loopback(address.ip()));
    let router = server.routes(loopback || !limits.hosts.is_empty());
    let mut stop = pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        let accepted = accepted.map_err(Error::io("the server".as_ref()));
        let stream = match check_clock().and(accepted) {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("a connection is not served: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // answers are small, and wait for nothing
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        // a client that reads nothing of an answer is given up
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.answer));
        let stream = TokioIo::new(Box::pin(stream));
        let served = graceful.watch(http.serve_connection(stream, service));
        tokio::spawn(async move {
            // what a client breaks off or sends in a wrong form is not logged
            let _ = served.await;
            drop(place);
        });
    }
    drop(listener);
    tracing::info!("stopping: what has begun is finished");
    if tokio::time::timeout(limits.stop, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were still open after {:?}", limits.stop);
    }
}

/// Refuses everything but a name without a port, as [`Limits::hosts`](super::Limits::hosts) has them.
///
/// # Errors
/// [`dsokr_core::Error::Value`] for everything else.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let plain = |parsed: Authority| parsed.host() == name && !name.is_empty();
    let allowed = "a name or an address without a port, such as search.example.org";
    let holds = name.parse().is_ok_and(plain);
    let found = format_args!("{name:?}");
    ensure(holds, Argument::new("allow-host"), found, allowed)
}

/// Returns whether an address is only reached from this machine, also as `::ffff:127.0.0.1`.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Refuses requests to other names than those of this machine and of [`Limits::hosts`](super::Limits::hosts). The
/// owner of any site can let its name lead to 127.0.0.1, where its page would read the answers (DNS rebinding).
pub(super) async fn check_host(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Response {
    let requested = host(&request);
    let allowed = requested.as_deref().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        address.is_ok_and(is_loopback)
            || host.eq_ignore_ascii_case("localhost")
            || server.0.limits.hosts.iter().any(|name| host.eq_ignore_ascii_case(name))
    });
    if allowed {
        return next.run(request).await;
    }
    let found = requested.map_or("no single name".into(), |host| format!("{host:?}"));
    let names = server.0.limits.hosts.iter().map(|name| format!(", {name}"));
    let allowed = format!(
        "localhost, 127.0.0.1, [::1]{}; {} of the server adds a name",
        names.collect::<String>(),
        Argument::new("allow-host")
    );
    let error = Error::value("Host", found, allowed);
    Refusal::new(StatusCode::MISDIRECTED_REQUEST, error).into_response()
}

/// Returns the name that a request is addressed to, without the port.
fn host(request: &Request) -> Option<String> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.host().to_owned());
    }
    let mut all = request.headers().get_all(header::HOST).iter();
    let authority = Authority::try_from(all.next()?.as_bytes()).ok()?;
    all.next().is_none().then(|| authority.host().to_owned())
}
