//! How files name a kernel: a built-in one as JSON under `kernel`, a custom one by its name under `own_kernel`.

use dsokr_core::Error;
use dsokr_core::store::Stored;

use super::{Kernel, OutputKernel};

const BUILT_IN: &str = "kernel";
const CUSTOM: &str = "own_kernel";

/// Returns the metadata key and value of a kernel.
pub fn entry(kernel: &dyn OutputKernel) -> (&'static str, String) {
    match kernel.built_in() {
        // names and finite numbers: serialising them cannot fail
        Some(kernel) => (BUILT_IN, serde_json::to_string(kernel).unwrap_or_default()),
        None => (CUSTOM, kernel.name()),
    }
}

/// Returns the built-in kernel that a file names, under keys that start with `prefix`.
///
/// # Errors
/// [`Error::File`] for a custom kernel, and for none.
pub fn read(stored: &Stored, prefix: &str) -> Result<Kernel, Error> {
    match stored.metadata(&format!("{prefix}{CUSTOM}")) {
        Ok(kernel) => Err(Error::file(
            stored.path(),
            format!(
                "fitted with the kernel {kernel:?}, which is not built in: it is loaded with that \
                 kernel, by Basis::load_with"
            ),
        )),
        Err(_) => stored.json(&format!("{prefix}{BUILT_IN}")),
    }
}

/// Checks that a file names this kernel.
///
/// # Errors
/// [`Error::File`] for a file of a different kernel, or of none.
pub fn check(stored: &Stored, kernel: &dyn OutputKernel) -> Result<(), Error> {
    let (key, given) = entry(kernel);
    if stored.metadata(key).is_ok_and(|stored_name| stored_name == given) {
        return Ok(());
    }
    let kernel = stored.metadata(CUSTOM).or_else(|_| stored.metadata(BUILT_IN))?;
    let message = format!("fitted with the kernel {kernel}, not with {given}");
    Err(Error::file(stored.path(), message))
}
