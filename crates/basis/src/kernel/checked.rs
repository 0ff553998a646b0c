//! What a kernel gives, checked to have the shape that it promises: a kernel may be custom code.

use dsokr_core::Error;
use faer::Mat;

use super::OutputKernel;
use crate::features::{Block, RowSource};

/// Returns [`OutputKernel::block`] of two blocks of rows, checked to have a row for each row of `a` and a column for each
/// of `b`.
///
/// # Errors
/// The errors of the kernel; [`Error::Contract`] for a matrix of another shape.
pub fn gram(kernel: &dyn OutputKernel, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
    let values = kernel.block(a, b)?;
    let found = (values.nrows(), values.ncols());
    if found == (a.len(), b.len()) {
        return Ok(values);
    }
    let breach = format_args!(
        "{} gives a {} × {} matrix for {} and {} rows",
        kernel.name(),
        found.0,
        found.1,
        a.len(),
        b.len()
    );
    Err(Error::contract("kernel", breach))
}

/// Returns [`OutputKernel::diagonal`] of a block of rows, checked to have a value for each.
///
/// # Errors
/// The errors of the kernel; [`Error::Contract`] for another number of values.
pub fn diagonal(kernel: &dyn OutputKernel, rows: &Block) -> Result<Vec<f64>, Error> {
    let values = kernel.diagonal(rows)?;
    if values.len() == rows.len() {
        return Ok(values);
    }
    let breach = format_args!(
        "the diagonal of {} has {} values for {} rows",
        kernel.name(),
        values.len(),
        rows.len()
    );
    Err(Error::contract("kernel", breach))
}
