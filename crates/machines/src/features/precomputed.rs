//! A Gram matrix as a kernel on the numbers of its rows: so that solvers that compare rows take precomputed kernels.

use std::sync::Arc;

use dsokr_basis::eigenbasis::{Eigen, leading};
use dsokr_basis::features::DenseRows;
use dsokr_basis::{Block, Features, OutputKernel, RowKind, RowSource};
use dsokr_core::Error;
use faer::{Accum, Mat, MatRef};

use super::training::checked;
use crate::linear::{DEPENDENT, PANEL, product, row_major};

/// Training inputs that 32-bit floats number exactly.
const MOST: usize = 1 << 24;

/// `k(i, j) = K_ij` of an n × n Gram matrix, on rows of one column that holds the number of an input.
#[derive(Debug)]
pub(crate) struct GramKernel(Mat<f64>);

impl GramKernel {
    /// Returns the kernel of a checked Gram matrix, and its training inputs.
    ///
    /// # Errors
    /// [`Error::Value`] for more than 2²⁴ inputs.
    pub(crate) fn from_gram(gram: MatRef<f64>) -> Result<(Arc<dyn OutputKernel>, Features), Error> {
        let n = gram.nrows();
        Error::check_range("number of inputs of a precomputed kernel", n, 1..=MOST)?;
        let rows = DenseRows::new(1, (0..n).map(|row| row as f32).collect::<Vec<_>>())?;
        Ok((Arc::new(Self(gram.to_owned())), rows.into()))
    }
}

/// Returns the numbers that rows hold.
pub(super) fn numbers(rows: &Block) -> Vec<usize> {
    let number = |row: usize| {
        let mut number = 0;
        rows.entries(row, 0..1, |_, value| number = value as usize);
        number
    };
    (0..rows.len()).map(number).collect()
}

impl OutputKernel for GramKernel {
    fn name(&self) -> String {
        "precomputed".into()
    }

    fn validate(&self, rows: RowKind) -> Result<(), Error> {
        if rows == RowKind::Dense { Ok(()) } else { Err(Error::kind(rows, RowKind::Dense)) }
    }

    fn block(&self, a: &Block, b: &Block) -> Result<Mat<f64>, Error> {
        let rows = numbers(a);
        let columns = numbers(b);
        Ok(Mat::from_fn(rows.len(), columns.len(), |i, j| self.0[(rows[i], columns[j])]))
    }

    fn diagonal(&self, rows: &Block) -> Result<Vec<f64>, Error> {
        Ok(numbers(rows).into_iter().map(|row| self.0[(row, row)]).collect())
    }
}

/// Returns features of inputs whose kernel values are given only with m anchors: `D^{-1/2} Uᵀ k^x` of the values k^x,
/// with `K̃ = U D Uᵀ` of the anchors themselves and the eigenvalues above 1e-12 of the largest. This is the Nyström
/// approximation (Williams and Seeger 2001): the linear kernel of the features is the kernel of the inputs projected on
/// the span of the anchors. A ridge regression on them is the one of [`fit_sketched`](crate::fit_sketched) with a
/// sketch that picks the anchors.
///
/// `values` is inputs × m, `anchors` m × m.
///
/// # Errors
/// [`Error::Shape`] for other sizes, and anchors whose matrix is not symmetric and positive semi-definite;
/// [`Error::Numeric`] for a matrix of zeros; [`Error::NotFinite`].
pub fn nystrom_features(values: MatRef<f64>, anchors: MatRef<f64>) -> Result<Features, Error> {
    Error::check_length("columns of a kernel matrix", values.ncols(), anchors.nrows())?;
    let Eigen { values: roots, vectors } = leading(checked(anchors)?.whole(), DEPENDENT)?;
    let turn = Eigen::over_roots(&roots, vectors);
    let mut rows = Mat::zeros(values.nrows(), turn.ncols());
    product(rows.as_mut(), Accum::Replace, values, turn.as_ref(), PANEL);
    let rows = row_major(rows.as_ref())?.into_iter().map(|value| value as f32);
    Ok(DenseRows::new(turn.ncols(), rows.collect::<Vec<_>>())?.into())
}
