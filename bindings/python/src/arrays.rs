//! Arrays of NumPy with the types that the stub of the module names.

use numpy::ndarray::{self, Ix1, Ix2};
use numpy::{Element, PyArray, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::inspect::PyStaticExpr::{self, Attribute, Name, Subscript, Tuple};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Failure;

/// An object of Python whose type in the stub is more precise than `Any`.
#[derive(derive_more::Deref)]
pub struct Typed<T>(pub T);

/// Numbers that are returned.
pub type Vector<'py, T> = Typed<Bound<'py, PyArray<T, Ix1>>>;
/// A matrix that is returned.
pub type Matrix<'py, T> = Typed<Bound<'py, PyArray<T, Ix2>>>;
/// Numbers that are read.
pub type VectorView<'py, T> = Typed<PyReadonlyArray1<'py, T>>;
/// A matrix that is read.
pub type MatrixView<'py, T> = Typed<PyReadonlyArray2<'py, T>>;
/// A function that is called with each text, and the training that it is about.
pub type Listener = Typed<Py<PyAny>>;
/// Values by name.
pub type Table<'py> = Typed<Bound<'py, PyDict>>;

/// A number, as the stub names its type.
pub trait Number: Element + Copy {
    const NAME: &'static str;
}

macro_rules! numbers {
    ($($number:ty = $name:literal),*) => {
        $(impl Number for $number {
            const NAME: &'static str = $name;
        })*
    };
}
numbers!(f32 = "float32", f64 = "float64", i64 = "int64", u8 = "uint8", u64 = "uint64");

/// The type of an object, as the stub names it.
pub trait Hint {
    const TYPE: PyStaticExpr;
}

impl<T: Number, D> Hint for Bound<'_, PyArray<T, D>> {
    /// `numpy.typing.NDArray[numpy.T]`.
    const TYPE: PyStaticExpr = Subscript {
        value: &Attribute { value: &Name { id: "numpy.typing" }, attr: "NDArray" },
        slice: &Attribute { value: &Name { id: "numpy" }, attr: T::NAME },
    };
}

impl<T: Number, D: ndarray::Dimension> Hint for PyReadonlyArray<'_, T, D> {
    const TYPE: PyStaticExpr = Bound::<PyArray<T, D>>::TYPE;
}

impl Hint for Bound<'_, PyDict> {
    const TYPE: PyStaticExpr = Subscript {
        value: &Name { id: "dict" },
        slice: &Tuple {
            elts: &[Name { id: "str" }, Attribute { value: &Name { id: "typing" }, attr: "Any" }],
        },
    };
}

impl<'a, 'py, T: Hint + FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Typed<T> {
    type Error = T::Error;
    const INPUT_TYPE: PyStaticExpr = T::TYPE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, T::Error> {
        object.extract().map(Self)
    }
}

impl<'py, T: Hint + IntoPyObject<'py>> IntoPyObject<'py> for Typed<T> {
    type Target = T::Target;
    type Output = T::Output;
    type Error = T::Error;
    const OUTPUT_TYPE: PyStaticExpr = T::TYPE;

    fn into_pyobject(self, py: Python<'py>) -> Result<T::Output, T::Error> {
        self.0.into_pyobject(py)
    }
}

/// Returns numbers as an array that owns them, without a copy.
pub fn vector<T: Number>(py: Python<'_>, values: Vec<T>) -> Vector<'_, T> {
    Typed(PyArray::from_vec(py, values))
}

/// Returns rows of numbers as an array that owns them, without a copy.
pub fn matrix<T: Number>(
    py: Python<'_>,
    values: Vec<T>,
    rows: usize,
    width: usize,
) -> PyResult<Matrix<'_, T>> {
    let array = ndarray::Array2::from_shape_vec((rows, width), values)
        .map_err(|error| Failure::Other(error.to_string()))?;
    Ok(Typed(PyArray::from_owned_array(py, array)))
}

/// Returns a copy of the numbers of an array in C order, and its shape. Work reads copies, since other threads may write to an array,
/// or resize it, while the interpreter's lock is released.
pub fn numbers<T: Number>(
    array: &MatrixView<T>,
    name: &str,
) -> Result<(Vec<T>, [usize; 2]), Failure> {
    use numpy::PyUntypedArrayMethods;
    let slice = array.as_slice().map_err(|_| Failure::argument(name, "not in C order"))?;
    Ok((slice.to_vec(), [array.shape()[0], array.shape()[1]]))
}
