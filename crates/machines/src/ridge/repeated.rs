//! Training outputs that repeat each other.

use dsokr_basis::RowSource;
use dsokr_basis::features::{Distinct, distinct};
use dsokr_core::{Error, RowWeights};

/// Of more training outputs than these, equal ones share the numbers of one target where most are not the only one.
const MANY: usize = 20_000;

/// Returns which of many training outputs are the same, if most repeat a different one.
pub(super) fn repeated(outputs: &dyn RowSource) -> Result<Option<Distinct>, Error> {
    if outputs.len() <= MANY {
        return Ok(None);
    }
    let found = distinct(outputs)?;
    Ok((2 * found.representative.len() <= outputs.len()).then_some(found))
}

/// The sum of the weights of the rows of each class.
pub(super) fn sums_of_weights(class: &[u32], weights: &RowWeights) -> Result<RowWeights, Error> {
    let classes = class.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sums = vec![0.0; classes];
    for (row, &class) in class.iter().enumerate() {
        sums[class as usize] += weights.get(row);
    }
    RowWeights::new(&sums)
}
