//! Tensors of a file of candidates.

use dsokr_core::Error;
use dsokr_core::store::{Array, Element, Stored};

/// Returns the elements of a tensor of one dimension, in the file if it stays mapped.
pub(super) fn array<T: Element>(
    stored: &Stored,
    name: &str,
    mapped: bool,
) -> Result<Array<T>, Error> {
    let (_, values) = stored.read::<T>(name, 1)?;
    Ok(if mapped { values } else { values.to_vec().into() })
}

/// Returns the elements of a tensor of one dimension that a file may lack.
pub(super) fn optional<T: Element>(
    stored: &Stored,
    name: &str,
    mapped: bool,
) -> Result<Option<Array<T>>, Error> {
    stored.has(name).then(|| array(stored, name, mapped)).transpose()
}

/// Returns the columns of a tensor of two columns.
pub(super) fn pairs(stored: &Stored, name: &str, rows: usize) -> Result<[Vec<f32>; 2], Error> {
    let values = stored.shaped::<f32>(name, &[rows, 2])?;
    Ok([0, 1].map(|at| values.iter().skip(at).step_by(2).copied().collect()))
}
