//! Rows of features, borrowed from NumPy or owned.

use std::ops::Range;

use dsokr_basis::features::{self, BitRows, DenseBlock, JoinedRows, SparseRows};
use dsokr_basis::{Block, Error, Features, RowKind, RowSource};
use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::arrays::{Matrix, Vector, VectorView, matrix, vector};
use crate::errors::{About, Failure};
use crate::work::work;

/// Rows of features: dense numbers, packed bits, or sparse numbers.
#[pyclass(frozen, module = "dsokr._dsokr")]
pub struct Rows {
    held: Held,
}

enum Held {
    /// An array of NumPy, in C order.
    Borrowed(Borrowed),
    Owned(Features),
}

/// The numbers of an array that is kept alive.
struct Borrowed {
    /// Its owner, which cannot move its numbers while there are two references to it.
    _array: Py<PyArray2<f32>>,
    values: *const f32,
    rows: usize,
    width: usize,
}

// SAFETY: the numbers are only read, and live as long as the array.
unsafe impl Send for Borrowed {}
unsafe impl Sync for Borrowed {}

impl Borrowed {
    fn values(&self) -> &[f32] {
        // SAFETY: an aligned array in C order of rows × width numbers, kept alive by `_array`.
        unsafe { std::slice::from_raw_parts(self.values, self.rows * self.width) }
    }
}

/// Every block is checked as it is read: the array may have been written to.
impl RowSource for Borrowed {
    fn len(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.width
    }

    fn kind(&self) -> RowKind {
        RowKind::Dense
    }

    /// A NaN is named by its row of the array.
    fn block(&self, rows: Range<usize>) -> Result<Block<'_>, Error> {
        let Range { start, end } = rows;
        if start > end || end > self.rows {
            return Err(Error::range(start, end, self.rows));
        }
        let values = &self.values()[start * self.width..end * self.width];
        let block = DenseBlock::new(self.width, values);
        Ok(Block::Dense(block.map_err(|error| error.at_rows(|row| start + row))?))
    }
}

impl Rows {
    pub fn owned(rows: impl Into<Features>) -> Self {
        Self { held: Held::Owned(rows.into()) }
    }

    pub fn source(&self) -> &dyn RowSource {
        match &self.held {
            Held::Borrowed(array) => array,
            Held::Owned(rows) => rows,
        }
    }

    /// Reads all numbers of a borrowed array and finds them finite; owned ones are.
    pub fn all_finite(&self) -> Result<(), Error> {
        match &self.held {
            Held::Borrowed(array) => array.block(0..array.rows).map(|_| ()),
            Held::Owned(_) => Ok(()),
        }
    }
}

#[pymethods]
impl Rows {
    /// Borrows an array in C order; `name` is what errors call it. Its numbers are checked as they are
    /// read, or by `check`.
    #[staticmethod]
    fn dense(array: Matrix<f32>, name: &str) -> PyResult<Self> {
        let view = array.readonly();
        let slice = view.as_slice().map_err(|_| {
            Failure::argument(name, "not in C order: numpy.ascontiguousarray makes it so")
        })?;
        let (rows, width) = (array.shape()[0], array.shape()[1]);
        DenseBlock::new(width, &slice[..0]).about(name)?;
        let values = slice.as_ptr();
        drop(view);
        let held = Borrowed { _array: array.0.unbind(), values, rows, width };
        Ok(Self { held: Held::Borrowed(held) })
    }

    /// Refuses a NaN or an infinity in a borrowed array, which errors call `name`; owned rows have none.
    fn check(&self, py: Python, name: &str) -> PyResult<()> {
        let finite = py.detach(|| self.all_finite());
        Ok(finite.about(name)?)
    }

    /// Packed bits as `numpy.packbits` makes them of each row, ⌈width/8⌉ bytes a row.
    #[staticmethod]
    fn bits(packed: VectorView<u8>, width: usize, name: &str) -> PyResult<Self> {
        let bytes = packed.as_slice().map_err(|_| Failure::argument(name, "not contiguous"))?;
        Ok(Self::owned(BitRows::from_packed(width, bytes).about(name)?))
    }

    /// Compressed sparse rows with increasing columns.
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

    /// (rows, columns).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.source().len(), self.source().width())
    }

    fn __repr__(&self) -> String {
        let rows = self.source();
        format!("Rows(shape=({}, {}), kind=\"{}\")", rows.len(), rows.width(), rows.kind())
    }

    /// "dense", "bit" or "sparse".
    #[getter(kind)]
    fn kind_name(&self) -> String {
        self.source().kind().to_string()
    }

    /// Where the numbers of borrowed rows are; none of owned ones.
    #[getter]
    fn address(&self) -> Option<usize> {
        match &self.held {
            Held::Borrowed(array) => Some(array.values as usize),
            Held::Owned(_) => None,
        }
    }

    fn __len__(&self) -> usize {
        self.source().len()
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

    /// The rows as a `scipy.sparse.csr_array`; needs SciPy.
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

    /// All rows as a dense array.
    fn toarray<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py, f32>> {
        let (rows, width) = self.shape();
        let values = work(py, || {
            let block = features::read(self.source(), 0..rows)?;
            Ok::<_, Error>((0..rows).flat_map(|row| block.dense_row(row)).collect())
        })?;
        matrix(py, values, rows, width)
    }

    /// All rows in compressed form: offsets, columns, values.
    fn csr<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Vector<'py, i64>, Vector<'py, i64>, Vector<'py, f32>)> {
        let (rows, width) = self.shape();
        let (offsets, columns, values) = work(py, || {
            let (mut offsets, mut columns, mut values) = (vec![0i64], Vec::new(), Vec::new());
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
