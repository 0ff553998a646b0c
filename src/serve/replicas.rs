//! A server of several ranks: rank 0 listens, and all ranks compute each answer together.
//!
//! Rank 0 passes each request to the others, which compute the same, request by request, so that
//! all meet in every exchange. Only the answer of rank 0 is used.

use std::collections::BTreeMap;
use std::fmt::Display;

use dsokr_core::Processes;
use serde::Serialize;
use serde_json::Value;

use super::Server;
use crate::error::Error;

/// A message of rank 0 to the others.
pub(super) enum Passed {
    /// A request, by its [`Endpoint::NAME`](super::queries::Endpoint::NAME).
    Request { name: String, content: Value },
    /// How often first candidates of a model are right, by the place of the model.
    Reliability(usize),
    /// The end of the work of the other ranks.
    Stop,
}

/// Names other than those of requests; the last ends the work of the other ranks.
const RELIABILITY: &str = "reliability";
pub(super) const STOP: &str = "stop";

/// Passes something to the other ranks, which wait for it. A single rank passes nothing.
pub(super) fn pass(
    processes: &Processes,
    name: &str,
    passed: &impl Serialize,
) -> Result<(), Error> {
    if processes.size() > 1 {
        let json = serde_json::to_vec(&BTreeMap::from([(name, passed)]))?;
        processes.wake()?;
        processes.broadcast(|| json)?;
    }
    Ok(())
}

/// Reads what explains answers and computes it with the other ranks, before the server listens.
pub(super) fn prepare(processes: &Processes, server: &Server) -> Result<(), Error> {
    server.0.models.iter().enumerate().try_for_each(|(at, model)| {
        model.read_texts();
        model.read_properties();
        pass(processes, RELIABILITY, &at)?;
        model.read_reliability(processes);
        Ok(())
    })
}

/// Waits for what rank 0 passes on.
pub(super) fn next(processes: &Processes) -> Result<Passed, Error> {
    processes.wait()?;
    let passed = processes.broadcast(Vec::new)?;
    let passed: BTreeMap<String, Value> = serde_json::from_slice(&passed).map_err(wrong)?;
    let Some((name, content)) = passed.into_iter().next() else {
        return Err(wrong("nothing"));
    };
    match name.as_str() {
        STOP => Ok(Passed::Stop),
        RELIABILITY => serde_json::from_value(content).map(Passed::Reliability).map_err(wrong),
        _ => Ok(Passed::Request { name, content }),
    }
}

/// Returns the error for a message of rank 0 that is none.
pub(super) fn wrong(reason: impl Display) -> Error {
    let message = format!("it passes on something other than a request: {reason}");
    dsokr_core::Error::Process { rank: 0, message }.into()
}
