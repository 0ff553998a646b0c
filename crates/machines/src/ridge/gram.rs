use dsokr_basis::features::read;
use dsokr_basis::{Cancellation, OutputKernel, RowSource};
use faer::Mat;

use super::linear_index::LinearIndex;
use crate::Error;
use crate::linear::{Panels, Scalar};

/// The lower half of the Gram matrix of the rows.
pub(super) fn gram<T: Scalar>(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
) -> Result<Panels<T>, Error> {
    let cancellation = Cancellation::current();
    let gram = Panels::try_new(rows.len(), |range| {
        cancellation.check()?;
        let values = kernel.block(&read(rows, range.clone())?, &read(rows, 0..range.end)?)?;
        Ok::<_, Error>(Mat::from_fn(values.nrows(), values.ncols(), |i, j| T::of(values[(i, j)])))
    })?;
    gram.check_finite("kernel matrix")?;
    Ok(gram)
}

/// As [`gram`] in `f32`; a kernel that is linear in scaled sparse rows by their common columns.
pub(super) fn single(
    kernel: &dyn OutputKernel,
    rows: &dyn RowSource,
) -> Result<Panels<f32>, Error> {
    let Some(index) = LinearIndex::new(kernel, &read(rows, 0..rows.len())?) else {
        return gram(kernel, rows);
    };
    let cancellation = Cancellation::current();
    let gram = Panels::try_new(rows.len(), |range| {
        cancellation.check()?;
        let block = read(rows, range.clone())?;
        Ok::<_, Error>(index.values(kernel, &block, range.end)?.transpose().to_owned())
    })?;
    gram.check_finite("kernel matrix")?;
    Ok(gram)
}
