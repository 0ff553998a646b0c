//! Columns by name.

use std::collections::{BTreeMap, BTreeSet};

use dsokr_basis::features::check_width;
use dsokr_core::Error;

/// Returns a column for each name, in their order.
pub(super) fn numbered(names: BTreeSet<String>) -> Result<BTreeMap<String, u32>, Error> {
    check_width(names.len())?;
    Ok(names.into_iter().zip(0..).collect())
}
