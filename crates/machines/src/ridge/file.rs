//! What the files of this crate have in common: kernels and row kinds by name.

use dsokr_basis::store::Stored;
use dsokr_basis::{OutputKernel, RowKind};

use crate::Error;

/// Where a file names a kernel, and as what: a built-in one as JSON under `kernel`, another by its
/// name under `own_kernel`.
pub(crate) fn kernel_entry(kernel: &dyn OutputKernel) -> (&'static str, String) {
    match kernel.built_in() {
        // names and finite numbers: serialising them cannot fail
        Some(kernel) => ("kernel", serde_json::to_string(kernel).unwrap_or_default()),
        None => ("own_kernel", kernel.name()),
    }
}

/// The kind of rows that a file names.
pub(crate) fn row_kind(stored: &Stored) -> Result<RowKind, Error> {
    match stored.metadata("row_kind")? {
        "dense" => Ok(RowKind::Dense),
        "bit" => Ok(RowKind::Bits),
        "sparse" => Ok(RowKind::Sparse),
        kind => {
            let message = format!("row_kind is {kind:?}, allowed: dense, bit, sparse");
            Err(Error::file(stored.path(), message))
        }
    }
}
