//! Bases, kernel matrices and leverage scores.

use std::path::PathBuf;

use dsokr_basis::kernel::{OutputKernel, gram};
use dsokr_basis::{Kernel, SketchKind, SketchOptions, Tempering, features, leverage};
use dsokr_core::{Cancellation, Processes};
use pyo3::prelude::*;

use crate::arrays::{Matrix, Vector, matrix, vector};
use crate::errors::{Failure, json, table};
use crate::rows::Rows;
use crate::work::work;

/// The name of rows in errors.
const ROWS: &str = "Y";

/// Coordinates, k(y, y) and residuals of outputs.
type Projected<'py> = (Matrix<'py, f32>, Vector<'py, f64>, Vector<'py, f64>);

/// An orthonormal basis of the space that a sketch of the training outputs spans.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Basis {
    pub inner: dsokr_basis::Basis,
}

#[pymethods]
impl Basis {
    /// Fits a basis; `kernel` and `sketch` are tables of a configuration as JSON, `tempering` is
    /// (power, centred, normalised).
    #[staticmethod]
    #[expect(clippy::too_many_arguments)]
    fn fit(
        py: Python,
        rows: &Bound<Rows>,
        kernel: &str,
        sketch: &str,
        size: usize,
        seed: u64,
        tolerance: f64,
        tempering: Option<(f64, bool, bool)>,
    ) -> PyResult<Self> {
        let kernel: Kernel = table("kernel", kernel)?;
        let kind: SketchKind = table("sketch", sketch)?;
        let options = SketchOptions::new(kind, size).with_seed(seed).with_tolerance(tolerance);
        let tempering =
            tempering.map(|(power, centred, normalised)| Tempering { power, centred, normalised });
        if let Some(tempering) = &tempering {
            tempering.validate().map_err(Failure::from)?;
        }
        let rows = rows.get();
        let inner = work(py, || {
            let rows = rows.source();
            let basis = dsokr_basis::Basis::fit(kernel, rows, &options).map_err(named)?;
            match tempering {
                Some(tempering) => basis.tempered(&tempering, rows).map_err(named),
                None => Ok(basis),
            }
        });
        Ok(Self { inner: inner? })
    }

    /// Fits the basis of a weighted sum of kernels, each on its own columns of joined rows.
    #[staticmethod]
    fn sum(
        py: Python,
        bases: Vec<Bound<Basis>>,
        weights: Vec<f64>,
        rows: &Bound<Rows>,
        size: usize,
    ) -> PyResult<Self> {
        let parts = weights.into_iter().zip(bases.iter().map(|basis| basis.get().inner.clone()));
        let parts = parts.collect();
        let rows = rows.get();
        let sum = || dsokr_basis::Basis::sum(parts, size, rows.source()).map_err(named);
        Ok(Self { inner: work(py, sum)? })
    }

    /// Returns coordinates [n × p], k(y, y) and squared distances from the span, of n outputs.
    fn project<'py>(&self, py: Python<'py>, rows: &Bound<'py, Rows>) -> PyResult<Projected<'py>> {
        let rows = rows.get();
        let projected = work(py, || self.inner.project(rows.source()).map_err(named));
        let projected = projected?;
        let n = projected.len();
        let rank = projected.dimension();
        let squared_norms = vector(py, projected.squared_norms().to_vec());
        let residuals = vector(py, projected.residuals().to_vec());
        Ok((matrix(py, projected.into_coordinates(), n, rank)?, squared_norms, residuals))
    }

    /// Writes a file.
    fn save(&self, py: Python, path: PathBuf) -> PyResult<()> {
        work(py, || self.inner.save(&path))
    }

    /// Reads a file that `save` wrote.
    #[staticmethod]
    fn load(py: Python, path: PathBuf) -> PyResult<Self> {
        Ok(Self { inner: work(py, || dsokr_basis::Basis::load(&path))? })
    }

    /// Returns p, the number of coordinates.
    #[getter]
    fn rank(&self) -> usize {
        self.inner.dimension()
    }

    /// Returns the p eigenvalues, descending.
    #[getter]
    fn spectrum<'py>(&self, py: Python<'py>) -> Vector<'py, f64> {
        vector(py, self.inner.spectrum().to_vec())
    }

    /// Returns the settings of the basis, as JSON.
    #[getter]
    fn description(&self) -> PyResult<String> {
        let basis = &self.inner;
        let kernel = self.inner.kernel();
        let SketchOptions { kind, size, seed, tolerance, .. } = basis.options();
        let rows = basis.trained_rows();
        let width = basis.width();
        let tempering = basis.tempering();
        let normalised = basis.is_normalised();
        // none of a kernel that a program has made
        let built_in = kernel.built_in();
        let name = kernel.name();
        json(&(built_in, name, kind, size, seed, tolerance, tempering, rows, width, normalised))
    }
}

/// Returns `k(a_i, b_j)` of all pairs of rows; `kernel` is a table of a configuration as JSON.
#[pyfunction]
pub fn kernel_matrix<'py>(
    py: Python<'py>,
    a: &Bound<'py, Rows>,
    b: &Bound<'py, Rows>,
    kernel: &str,
) -> PyResult<Matrix<'py, f64>> {
    let kernel: Kernel = table("kernel", kernel)?;
    let a = a.get().source();
    let b = b.get().source();
    let values = work(py, || {
        let rows = [a.len(), b.len()];
        let mut values = Vec::new();
        // one that does not fit would end the process
        if values.try_reserve_exact(rows[0].saturating_mul(rows[1])).is_err() {
            let message = format!("a kernel matrix of {} by {} numbers: ", rows[0], rows[1]);
            return Err(Failure::Other(message + "more memory than the system gives"));
        }
        let b = features::read(b, 0..b.len())?;
        let cancellation = Cancellation::current();
        kernel.validate(a.kind())?;
        kernel.check(&b)?;
        for range in features::ranges(0..a.len(), 512) {
            cancellation.check()?;
            let part = features::read(a, range)?;
            kernel.check(&part)?;
            let gram = gram(&kernel, &part, &b)?;
            for i in 0..gram.nrows() {
                values.extend((0..gram.ncols()).map(|j| gram[(i, j)]));
            }
        }
        Ok(values)
    })?;
    matrix(py, values, a.len(), b.len())
}

/// Returns approximate ridge leverage scores of rows.
#[pyfunction]
pub fn leverage_scores<'py>(
    py: Python<'py>,
    rows: &Bound<'py, Rows>,
    kernel: &str,
    lambda_: f64,
    pilot: usize,
    seed: u64,
) -> PyResult<Vector<'py, f64>> {
    let kernel: Kernel = table("kernel", kernel)?;
    let rows = rows.get();
    let scores = || {
        leverage::scores(kernel.clone(), rows.source(), lambda_, pilot, seed, &Processes::default())
    };
    let scores = work(py, || scores().map_err(named));
    Ok(vector(py, scores?))
}

/// Returns an error of rows that says whose rows they are.
fn named(error: dsokr_core::Error) -> Failure {
    use dsokr_core::Error;
    let of_rows = matches!(
        error,
        Error::NotFinite { .. }
            | Error::Row { .. }
            | Error::Shape(_)
            | Error::ZeroMatrix { .. }
            | Error::Numeric(_)
    );
    let failure = Failure::from(error);
    if of_rows { failure.of(ROWS) } else { failure }
}
