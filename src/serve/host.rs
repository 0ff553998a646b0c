//! The names that requests may be addressed to.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Server;
use super::problem::Problem;
use crate::Error;

/// A name without a port, as [`Limits::hosts`](super::Limits::hosts) has them.
///
/// # Errors
/// [`Error::Value`] for everything else.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    match name.parse::<Authority>().is_ok_and(|parsed| parsed.host() == name && !name.is_empty()) {
        true => Ok(()),
        false => {
            let allowed = "a name or an address without a port, such as search.example.org";
            Err(Error::value("the argument allow-host", format!("{name:?}"), allowed))
        }
    }
}

/// Whether an address is one of this machine alone, also as `::ffff:127.0.0.1`.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Refuses requests to other names than those of this machine and of [`Limits::hosts`](super::Limits::hosts). The
/// owner of any site can let its name lead to 127.0.0.1, where its page would read the answers (DNS rebinding).
pub(super) async fn check(State(server): State<Server>, request: Request, next: Next) -> Response {
    let found = host(&request);
    let allowed = found.as_deref().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        address.is_ok_and(is_loopback)
            || host.eq_ignore_ascii_case("localhost")
            || server.0.limits.hosts.iter().any(|name| host.eq_ignore_ascii_case(name))
    });
    if allowed {
        return next.run(request).await;
    }
    let found = found.map_or("no single name".into(), |host| format!("{host:?}"));
    let names = server.0.limits.hosts.iter().map(|name| format!(", {name}"));
    let allowed = format!(
        "localhost, 127.0.0.1, [::1]{}; the argument allow-host of the server adds a name",
        names.collect::<String>()
    );
    let error = Error::value("Host", found, allowed);
    Problem::new(StatusCode::MISDIRECTED_REQUEST, error).into_response()
}

/// The name that a request is addressed to, without the port.
fn host(request: &Request) -> Option<String> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.host().to_owned());
    }
    let mut all = request.headers().get_all(header::HOST).iter();
    let authority = Authority::try_from(all.next()?.as_bytes()).ok()?;
    all.next().is_none().then(|| authority.host().to_owned())
}
