//! Output kernels under which the training outputs are all the same, so that nothing can be learned of them.

use dsokr_basis::RowSource;
use dsokr_basis::features::{PartRows, Selected};
use dsokr_data::Dataset;

use super::BLOCK;
use crate::config::Config;
use crate::error::Error;

/// Returns the places in `output.kernels`, of those that are summed, whose rows are equal for all training outputs, or zero
/// where outputs are not centred.
///
/// # Errors
/// Rows that cannot be read.
pub(crate) fn constant_kernels(config: &Config, dataset: &Dataset) -> Result<Vec<usize>, Error> {
    let kernels = config.output.kernels.iter().enumerate();
    let summands: Vec<_> = kernels.filter(|(_, kernel)| kernel.weight > 0.0).collect();
    if summands.is_empty() {
        return Ok(Vec::new());
    }
    let trained: Vec<usize> = dataset.train.outputs.iter().flatten().copied().collect();
    let rows = Selected::new(dataset.outputs.rows.as_ref(), &trained);
    let mut varies = vec![false; summands.len()];
    for ((varies, part), (_, kernel)) in varies.iter_mut().zip(PartRows::all(&rows)).zip(&summands)
    {
        *varies = part.width() > 0 && !is_constant(&part, kernel.tempering().centred)?;
    }
    let constant = summands.iter().zip(varies).filter(|(_, varies)| !varies);
    Ok(constant.map(|((place, _), _)| *place).collect())
}

/// Returns whether all rows are equal, and zero too unless they are centred.
fn is_constant(rows: &dyn RowSource, centred: bool) -> Result<bool, Error> {
    let mut first = None;
    for start in (0..rows.len()).step_by(BLOCK) {
        let block = rows.block(start..rows.len().min(start + BLOCK))?;
        for row in 0..block.len() {
            let mut entries = Vec::new();
            block.entries(row, 0..block.width(), |column, value| {
                if value != 0.0 {
                    entries.push((column, value));
                }
            });
            let first = first.get_or_insert_with(|| entries.clone());
            if *first != entries || (!centred && !entries.is_empty()) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
