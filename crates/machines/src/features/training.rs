//! The inputs of a kernel machine, and their Gram matrices.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use dsokr_basis::eigenbasis::leading;
use dsokr_basis::features::read;
use dsokr_basis::kernel::{self, IntoKernel};
use dsokr_basis::{OutputKernel, RowSource};
use dsokr_core::{Cancellation, Error, Misfit};
use faer::{Mat, MatRef};

use super::linear_index::LinearIndex;
use crate::linear::{Factor, Panels, Scalar, check_finite};

/// Asymmetry and negative eigenvalues that are rounding, as a share of the largest value or of the trace.
const TOLERANCE: f64 = 1e-8;

/// The training inputs of a kernel machine.
#[derive(Clone, derive_more::Debug)]
pub enum TrainingInputs<'a> {
    /// Rows, and their kernel.
    #[debug("Rows({} × {}, {})", _0.len(), _0.width(), _1.name())]
    Rows(&'a dyn RowSource, Arc<dyn OutputKernel>),
    /// The n × n matrix of a precomputed kernel. Solvers that sketch inputs hold a copy of it; the Lipschitz solver
    /// needs rows.
    #[debug("Gram({0} × {0})", _0.values.nrows())]
    Gram(&'a GramMatrix),
}

/// Values of a precomputed kernel, of inputs with the n training inputs. Those of the training inputs are their Gram
/// matrix: it is checked when it is first used, and not again.
#[derive(Clone, Debug)]
pub struct GramMatrix {
    values: Mat<f64>,
    /// Set once the matrix has been found to be one of a kernel.
    is_checked: OnceLock<()>,
}

impl GramMatrix {
    /// Creates the matrix of some values, inputs × n.
    pub fn new(values: Mat<f64>) -> Self {
        Self { values, is_checked: OnceLock::new() }
    }

    /// Returns the values, inputs × n.
    pub fn values(&self) -> MatRef<'_, f64> {
        self.values.as_ref()
    }

    /// Returns the values of some inputs with each other. Those of a matrix that has been checked need no check.
    pub(crate) fn principal(&self, inputs: &[usize]) -> Self {
        let value = |i: usize, j: usize| self.values[(inputs[i], inputs[j])];
        let values = Mat::from_fn(inputs.len(), inputs.len(), value);
        Self { values, is_checked: self.is_checked.clone() }
    }

    /// Returns the lower half, of a matrix that is checked.
    ///
    /// # Errors
    /// The errors of [`TrainingInputs::gram`] for a precomputed kernel.
    fn lower_half(&self) -> Result<Panels<f64>, Error> {
        if self.is_checked.get().is_some() {
            return lower_half(self.values());
        }
        let panels = checked(self.values())?;
        self.is_checked.get_or_init(|| ());
        Ok(panels)
    }

    /// Checks the matrix unless it has been checked.
    ///
    /// # Errors
    /// The errors of [`TrainingInputs::gram`] for a precomputed kernel.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_checked.get().is_none() {
            self.lower_half()?;
        }
        Ok(())
    }
}

impl<'a> TrainingInputs<'a> {
    /// Creates rows, and their kernel.
    pub fn rows(kernel: impl IntoKernel, rows: &'a dyn RowSource) -> Self {
        Self::Rows(rows, kernel.into_kernel())
    }

    /// Returns n, the number of inputs.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(rows, _) => rows.len(),
            Self::Gram(gram) => gram.values().nrows(),
        }
    }

    /// Returns whether there are no inputs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the lower half of the Gram matrix, of inputs that are checked.
    ///
    /// # Errors
    /// The kernel's checks; [`Error::NotFinite`] for kernel values that overflow; of a precomputed kernel
    /// [`Error::Numeric`] for a matrix of zeros, [`Error::Shape`] for asymmetry beyond 1e-8 of the largest value, and
    /// for an eigenvalue below −1e-8 of the trace.
    pub(crate) fn gram(&self) -> Result<Panels<f64>, Error> {
        match self {
            Self::Rows(rows, kernel) => {
                kernel.validate(rows.kind())?;
                kernel.check(&read(*rows, 0..rows.len())?)?;
                gram(kernel.as_ref(), *rows)
            }
            Self::Gram(gram) => gram.lower_half(),
        }
    }

    /// Returns the [Gram matrix](Self::gram) in `f32`. For a kernel that is linear in scaled sparse rows, it goes by their
    /// common columns.
    ///
    /// # Errors
    /// The errors of [`gram`](Self::gram).
    pub(crate) fn gram_single(&self) -> Result<Panels<f32>, Error> {
        match self {
            Self::Rows(rows, kernel) => single(kernel.as_ref(), *rows),
            Self::Gram(gram) => Ok(gram.lower_half()?.single()),
        }
    }
}

/// Returns the lower half of the Gram matrix of the rows.
fn gram<T: Scalar>(kernel: &dyn OutputKernel, rows: &dyn RowSource) -> Result<Panels<T>, Error> {
    by_panels(rows, |range| {
        let low = read(rows, range.clone())?;
        let high = read(rows, 0..range.end)?;
        let values = kernel::gram(kernel, &low, &high)?;
        Ok(Mat::from_fn(values.nrows(), values.ncols(), |i, j| T::from_f64(values[(i, j)])))
    })
}

/// Computes [`gram`] in `f32`.
fn single(kernel: &dyn OutputKernel, rows: &dyn RowSource) -> Result<Panels<f32>, Error> {
    let Some(index) = LinearIndex::new(kernel, &read(rows, 0..rows.len())?) else {
        return gram(kernel, rows);
    };
    by_panels(rows, |range| {
        let block = read(rows, range.clone())?;
        Ok(index.values(kernel, &block, range.end)?.transpose().to_owned())
    })
}

/// Returns a Gram matrix from its panels, whose elements are finite.
fn by_panels<T: Scalar>(
    rows: &dyn RowSource,
    panel: impl Fn(Range<usize>) -> Result<Mat<T>, Error>,
) -> Result<Panels<T>, Error> {
    let n = rows.len();
    let stage = Cancellation::current().stage(format!("kernel matrix of {n} inputs"), n * n / 2);
    let gram = Panels::try_new(n, |range| {
        stage.advance(range.len() * (range.start + range.end) / 2)?;
        panel(range)
    })?;
    gram.check_finite("kernel matrix")?;
    Ok(gram)
}

/// Returns the lower half of the mean of a matrix and its transpose.
fn lower_half(gram: MatRef<f64>) -> Result<Panels<f64>, Error> {
    Panels::try_new(gram.nrows(), |rows| {
        let element =
            |i: usize, j: usize| 0.5 * (gram[(rows.start + i, j)] + gram[(j, rows.start + i)]);
        Ok(Mat::from_fn(rows.len(), rows.end, element))
    })
}

/// Returns the lower half of a Gram matrix that is square, finite, not zero, symmetric and positive semi-definite.
pub(crate) fn checked(gram: MatRef<f64>) -> Result<Panels<f64>, Error> {
    let n = gram.nrows();
    Error::check_length("columns of the kernel matrix", gram.ncols(), n)?;
    check_finite("kernel matrix", gram, |row, column| (row, column))?;
    let values = gram.col_iter().flat_map(|column| column.iter());
    let largest = values.fold(0.0f64, |largest, value| largest.max(value.abs()));
    if n > 0 && largest == 0.0 {
        let message = "the kernel matrix is zero: no input is like any other, nor like itself";
        return Err(Error::Numeric(message.into()));
    }
    for column in 0..n {
        for row in 0..column {
            let value = gram[(row, column)];
            let mirrored = gram[(column, row)];
            if (value - mirrored).abs() > TOLERANCE * largest {
                return Err(Error::Shape(Misfit::Asymmetric { row, column, value, mirrored }));
            }
        }
    }
    let panels = lower_half(gram)?;
    // Positive definite after a small shift: a Cholesky factor says so, in a ninth of the time of
    // the eigenvalues, which are computed only to name the offending one.
    let trace = panels.trace().abs();
    let mut shifted = panels.clone();
    shifted.add_to_diagonal(TOLERANCE * trace.max(f64::MIN_POSITIVE));
    if Factor::new(shifted)?.is_err() {
        // K has the eigenvalues c − v of those of c I − K, whose largest is above 0
        let whole = panels.whole();
        let element = |i: usize, j: usize| f64::from(u8::from(i == j)) * trace - whole[(i, j)];
        let values = leading(Mat::from_fn(n, n, element), f64::NEG_INFINITY)?.values;
        let [smallest, largest] = [values[0], values[n - 1]].map(|value| trace - value);
        return Err(Error::Shape(Misfit::Indefinite { smallest, largest }));
    }
    Ok(panels)
}
