//! The memory that rows of a file need.

use std::fmt::Display;
use std::path::Path;

use dsokr_core::memory::{Bytes, available};

use crate::error::Error;

/// Refuses what a file has if it needs more bytes than the process can take; `what` names it in the plural.
pub(crate) fn check_memory(path: &Path, bytes: f64, what: impl Display) -> Result<(), Error> {
    let Some(limit) = available().filter(|limit| bytes > limit.bytes) else { return Ok(()) };
    let message = format!(
        "{what} need about {}, available is {limit}; leave some out, or use a machine with more memory",
        Bytes(bytes)
    );
    Err(Error::file(path, message))
}

/// Returns the bytes of a row with a bit for each of so many labels.
pub(crate) fn bytes_of_bits(labels: usize) -> f64 {
    labels.div_ceil(64) as f64 * 8.0
}
