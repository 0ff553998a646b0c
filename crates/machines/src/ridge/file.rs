//! What the files of models and output spaces have in common: rows, and the kernel that compares them.

use std::collections::BTreeMap;

use dsokr_basis::kernel::named;
use dsokr_basis::store::Stored;
use dsokr_basis::{Features, OutputKernel, RowSource};

use crate::Error;

/// Adds a kernel, and what the tensors of rows do not say.
pub(super) fn put(
    kernel: &dyn OutputKernel,
    rows: &Features,
    metadata: &mut BTreeMap<String, String>,
) {
    let kind = ("row_kind", rows.kind().to_string());
    let width = ("row_width", rows.width().to_string());
    let entries = [named::entry(kernel), kind, width];
    metadata.extend(entries.map(|(key, value)| (key.to_owned(), value)));
}

/// Reads rows that [`put`] described, which the kernel must take; their tensors are called `name`.
pub(super) fn rows(
    stored: &Stored,
    name: &str,
    kernel: &dyn OutputKernel,
) -> Result<Features, Error> {
    let kind = stored.parsed("row_kind", "dense, bit, sparse")?;
    kernel.validate(kind)?;
    let width = stored.parsed("row_width", "a number of columns")?;
    Ok(Features::from_stored(stored, name, kind, width)?)
}
