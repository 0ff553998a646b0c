//! What the files of models and output spaces have in common: rows, and the kernel that compares them.

use std::collections::BTreeMap;

use dsokr_basis::store::Stored;
use dsokr_basis::{Features, OutputKernel, RowKind, RowSource};

use crate::Error;

/// Where a file names a kernel, and as what: a built-in one as JSON under `kernel`, another by its
/// name under `own_kernel`.
pub(super) fn kernel_entry(kernel: &dyn OutputKernel) -> (&'static str, String) {
    match kernel.built_in() {
        // names and finite numbers: serialising them cannot fail
        Some(kernel) => ("kernel", serde_json::to_string(kernel).unwrap_or_default()),
        None => ("own_kernel", kernel.name()),
    }
}

/// Adds a kernel, and what the tensors of rows do not say.
pub(super) fn put(
    kernel: &dyn OutputKernel,
    rows: &Features,
    metadata: &mut BTreeMap<String, String>,
) {
    let kind = ("row_kind", rows.kind().to_string());
    let width = ("row_width", rows.width().to_string());
    let entries = [kernel_entry(kernel), kind, width];
    metadata.extend(entries.map(|(key, value)| (key.to_owned(), value)));
}

/// Reads rows that [`put`] described, which the kernel must take; their tensors are called `name`.
pub(super) fn rows(
    stored: &Stored,
    name: &str,
    kernel: &dyn OutputKernel,
) -> Result<Features, Error> {
    let kind = match stored.metadata("row_kind")? {
        "dense" => RowKind::Dense,
        "bit" => RowKind::Bits,
        "sparse" => RowKind::Sparse,
        kind => {
            let message = format!("row_kind is {kind:?}, allowed: dense, bit, sparse");
            return Err(Error::file(stored.path(), message));
        }
    };
    kernel.validate(kind)?;
    let width = stored.parsed("row_width", "a number of columns")?;
    Ok(Features::from_stored(stored, name, kind, width)?)
}
