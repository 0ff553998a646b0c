//! Rows of features.

use dsokr_basis::features::{self, BitRows, DenseRows, JoinedRows, SparseRows};
use dsokr_basis::{Features, RowKind, RowSource};
use dsokr_core::Error;
use dsokr_core::rounding::{Rounding, check};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::arrays::{Matrix, MatrixView, Vector, VectorView, matrix, numbers, vector};
use crate::errors::{About, Failure};
use crate::work::work;

/// Rows of features: dense numbers, packed bits, or sparse numbers.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Rows {
    features: Features,
}

impl Rows {
    pub fn owned(rows: impl Into<Features>) -> Self {
        Self { features: rows.into() }
    }

    pub fn source(&self) -> &dyn RowSource {
        &self.features
    }
}

#[pymethods]
impl Rows {
    /// Copies an array in C order, which errors call `name`.
    #[staticmethod]
    fn dense(py: Python, array: MatrixView<f32>, name: &str) -> PyResult<Self> {
        let (values, [_, width]) = numbers(&array, name)?;
        drop(array);
        let rows = py.detach(|| DenseRows::new(width, values));
        Ok(Self::owned(rows.about(name)?))
    }

    /// Creates rows of packed bits as `numpy.packbits` makes them of each row, ⌈width/8⌉ bytes a row.
    #[staticmethod]
    fn bits(packed: VectorView<u8>, width: usize, name: &str) -> PyResult<Self> {
        let bytes = packed.as_slice().map_err(|_| Failure::argument(name, "not contiguous"))?;
        Ok(Self::owned(BitRows::from_packed(width, bytes).about(name)?))
    }

    /// Creates compressed sparse rows with increasing columns.
    #[staticmethod]
    fn sparse(
        width: usize,
        offsets: VectorView<i64>,
        columns: VectorView<i64>,
        values: VectorView<f32>,
        name: &str,
    ) -> PyResult<Self> {
        let bad = |value: &i64| Failure::argument(name, format!("index {value} out of range"));
        let offsets = offsets.as_array();
        let offsets = offsets.iter().map(|at| usize::try_from(*at).map_err(|_| bad(at)));
        let columns = columns.as_array();
        let columns = columns.iter().map(|at| u32::try_from(*at).map_err(|_| bad(at)));
        let offsets = offsets.collect::<Result<Vec<usize>, _>>()?;
        let columns = columns.collect::<Result<Vec<u32>, _>>()?;
        let rows = SparseRows::new(width, offsets, columns, values.as_array().to_vec());
        Ok(Self::owned(rows.about(name)?))
    }

    /// Returns (rows, columns).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.source().len(), self.source().width())
    }

    fn __repr__(&self) -> String {
        let rows = self.source();
        format!("Rows(shape=({}, {}), kind=\"{}\")", rows.len(), rows.width(), rows.kind())
    }

    /// Returns "dense", "bit" or "sparse".
    #[getter(kind)]
    fn kind_name(&self) -> String {
        self.source().kind().to_string()
    }

    fn __len__(&self) -> usize {
        self.source().len()
    }

    /// Returns the type of the numbers, as NumPy has it.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", ("float32",))
    }

    /// Returns all rows as a dense array, which NumPy asks for.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(Failure::argument("copy", "False, and rows are always copied").into());
        }
        let array = self.toarray(py)?.0.into_any();
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// Returns the rows as dense vectors, one after the other.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.toarray(py)?.0.call_method0("__iter__")
    }

    /// Rows side by side: the columns of each part after those of the parts before it; the rows are sparse.
    #[staticmethod]
    fn joined(py: Python, parts: Vec<Bound<Rows>>) -> PyResult<Self> {
        let parts: Vec<&Rows> = parts.iter().map(Bound::get).collect();
        let copy = |rows: &&Rows| -> Result<Box<dyn RowSource>, Error> {
            let all: Vec<usize> = (0..rows.source().len()).collect();
            Ok(Box::new(rows.source().select(&all)?))
        };
        work(py, || {
            let rows = JoinedRows::new(parts.iter().map(copy).collect::<Result<_, _>>()?)?;
            let all: Vec<usize> = (0..rows.len()).collect();
            rows.select(&all).map(Self::owned)
        })
    }

    /// Copies of the rows that an index of NumPy chooses: a number, a slice, a list of numbers, or a mask.
    fn __getitem__(&self, py: Python, index: &Bound<PyAny>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let chosen = numpy.call_method1("arange", (self.source().len(),))?.get_item(index)?;
        let chosen = numpy.call_method1("atleast_1d", (chosen,))?.call_method0("tolist")?;
        self.select(py, chosen.extract()?)
    }

    /// Returns the rows as a `scipy.sparse.csr_array`; needs SciPy.
    fn to_scipy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (offsets, columns, values) = self.csr(py)?;
        let array = py.import("scipy.sparse")?.getattr("csr_array")?;
        let keywords = [("shape", self.shape())].into_py_dict(py)?;
        array.call(((values, columns, offsets),), Some(&keywords))
    }

    /// Copies of some rows, in that order; an index may be repeated.
    fn select(&self, py: Python, indices: Vec<i64>) -> PyResult<Self> {
        let len = self.source().len();
        let index = |&at: &i64| usize::try_from(at).ok().filter(|&at| at < len);
        let chosen = indices.iter().map(|at| {
            index(at).ok_or_else(|| Failure::argument("rows", format!("{at}, allowed: 0 to {len}")))
        });
        let chosen: Vec<usize> = chosen.collect::<Result<_, _>>()?;
        work(py, || self.source().select(&chosen).map(Self::owned))
    }

    /// Returns all rows as a dense array.
    fn toarray<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py, f32>> {
        let (rows, width) = self.shape();
        let values = work(py, || {
            let block = features::read(self.source(), 0..rows)?;
            Ok::<_, Error>((0..rows).flat_map(|row| block.dense_row(row)).collect())
        })?;
        matrix(py, values, rows, width)
    }

    /// Returns all rows in compressed form: offsets, columns, values.
    fn csr<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Vector<'py, i64>, Vector<'py, i64>, Vector<'py, f32>)> {
        let (rows, width) = self.shape();
        let (offsets, columns, values) = work(py, || {
            let mut offsets = vec![0i64];
            let mut columns = Vec::new();
            let mut values = Vec::new();
            let block = features::read(self.source(), 0..rows)?;
            let dense = block.kind() == RowKind::Dense;
            for row in 0..rows {
                block.entries(row, 0..width, |column, value| {
                    if value != 0.0 || !dense {
                        columns.push(column as i64);
                        values.push(value);
                    }
                });
                offsets.push(columns.len() as i64);
            }
            Ok::<_, Error>((offsets, columns, values))
        })?;
        Ok((vector(py, offsets), vector(py, columns), vector(py, values)))
    }
}

/// Refuses columns of the array `name` whose numbers 32 bits do not tell apart, and returns warnings of those of which they
/// leave next to nothing. `extremes` has a row for each of `columns`: the least and the largest of its `count` numbers, and
/// the largest error of rounding one. `others` says whether the array has columns beside these.
#[pyfunction]
pub fn check_rounding(
    extremes: MatrixView<f64>,
    columns: VectorView<i64>,
    count: usize,
    others: bool,
    name: &str,
) -> PyResult<Vec<String>> {
    let (extremes, _) = numbers(&extremes, name)?;
    let rounding =
        |[least, most, error]: &[f64; 3]| Rounding::from_extremes(count, *least, *most, *error);
    let roundings: Vec<Rounding> = extremes.as_chunks::<3>().0.iter().map(rounding).collect();
    let columns = columns.as_array().to_vec();
    let place = |at: usize| format!("in column {}", columns[at]);
    let warnings = check(&roundings, others, place);
    Ok(warnings.map_err(|message| Failure::argument(name, message))?)
}
