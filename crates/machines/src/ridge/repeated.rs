//! Training outputs that repeat each other.

use dsokr_basis::RowSource;
use dsokr_basis::features::{Distinct, distinct};
use dsokr_core::{Error, RowWeights};

/// The most training outputs that have a target each. Equal outputs among more of them share the numbers of one target,
/// where most outputs repeat a different one.
const MANY: usize = 20_000;

/// Returns which of many training outputs are the same, if most repeat a different one.
pub(super) fn repeated(outputs: &dyn RowSource) -> Result<Option<Distinct>, Error> {
    if outputs.len() <= MANY {
        return Ok(None);
    }
    let classes = distinct(outputs)?;
    let most_repeat = 2 * classes.representative.len() <= outputs.len();
    Ok(most_repeat.then_some(classes))
}

/// Returns the sum of the weights of the rows of each class.
pub(super) fn sums_of_weights(class: &[u32], weights: &RowWeights) -> Result<RowWeights, Error> {
    let classes = class.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sums = vec![0.0; classes];
    for (row, &class) in class.iter().enumerate() {
        sums[class as usize] += weights.get(row);
    }
    RowWeights::new(&sums)
}
