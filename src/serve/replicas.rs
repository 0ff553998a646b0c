//! A server of several ranks: rank 0 listens, and all ranks compute each answer together.
//!
//! Rank 0 passes each request to the others, which compute the same, request by request, so that
//! all meet in every exchange. Only the answer of rank 0 is used.

use std::collections::BTreeMap;

use dsokr_core::Processes;
use serde::{Deserialize, Serialize};

use super::Server;
use super::candidates::{CandidatesRequest, DrawingRequest, EmbedRequest, RankRequest};
use super::export::ExportRequest;
use super::queries::Endpoint;
use super::search::SearchRequest;
use crate::error::Error;

/// A message of rank 0 to the others; requests by their [`Endpoint::NAME`].
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Passed {
    Search(SearchRequest),
    Embed(EmbedRequest),
    Rank(RankRequest),
    Candidates(CandidatesRequest),
    Export(ExportRequest),
    Drawing(DrawingRequest),
    /// How often first candidates of a model are right, by the place of the model.
    Reliability(usize),
    Stop(()),
}

/// Names other than those of requests; the last ends the work of the other ranks.
const RELIABILITY: &str = "reliability";
pub(super) const STOP: &str = "stop";

/// Passes something to the other ranks, which wait for it. A single rank passes nothing.
pub(super) fn pass(name: &str, passed: &impl Serialize) -> Result<(), Error> {
    let ranks = Processes::current();
    if ranks.size() > 1 {
        let json = serde_json::to_vec(&BTreeMap::from([(name, passed)]))?;
        ranks.wake()?;
        ranks.broadcast(|| json)?;
    }
    Ok(())
}

/// Reads what explains answers and computes it with the other ranks, before the server listens.
pub(super) fn prepare(server: &Server) -> Result<(), Error> {
    server.0.models.iter().enumerate().try_for_each(|(at, model)| {
        model.read_explanations();
        pass(RELIABILITY, &at)?;
        model.read_reliability();
        Ok(())
    })
}

/// Computes with rank 0 what it passes on, until it stops. Signals to stop are rank 0's to obey.
pub(super) fn run_replica(server: &Server) -> Result<(), Error> {
    #[cfg(unix)]
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: signal(2) with valid arguments; no other thread sets the actions of these signals
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let ranks = Processes::current();
    loop {
        ranks.wait()?;
        let passed = ranks.broadcast(Vec::new)?;
        let passed = serde_json::from_slice(&passed).map_err(|e| {
            let message = format!("it passes on something other than a request: {e}");
            Error::from(dsokr_core::Error::Process { rank: 0, message })
        })?;
        match passed {
            Passed::Search(request) => compute(server, &request),
            Passed::Embed(request) => compute(server, &request),
            Passed::Rank(request) => compute(server, &request),
            Passed::Candidates(request) => compute(server, &request),
            Passed::Export(request) => compute(server, &request),
            Passed::Drawing(request) => compute(server, &request),
            Passed::Reliability(at) => {
                server.0.models.get(at).into_iter().for_each(|model| model.read_reliability());
            }
            Passed::Stop(()) => return Ok(()),
        }
    }
}

/// Computes an answer that rank 0 gives; its problems are rank 0's too.
fn compute(server: &Server, request: &impl Endpoint) {
    if let Ok(model) = server.model(request.asked().model) {
        let _ = request.answer(&model, &server.0.limits);
    }
}
