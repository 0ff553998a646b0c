//! Arrays of NumPy with the types that the stub of the module names.

use std::convert::Infallible;
use std::ops::Deref;

use numpy::ndarray::{self, Ix1, Ix2};
use numpy::{Element, PyArray, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::inspect::PyStaticExpr::{self, Attribute, List, Name, Subscript, Tuple};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Failure;

/// An object of Python, of which the stub says more than `Any`.
pub struct Typed<T>(pub T);

/// Numbers that are returned.
pub type Vector<'py, T> = Typed<Bound<'py, PyArray<T, Ix1>>>;
/// A matrix that is returned.
pub type Matrix<'py, T> = Typed<Bound<'py, PyArray<T, Ix2>>>;
/// Numbers that are read.
pub type VectorView<'py, T> = Typed<PyReadonlyArray1<'py, T>>;
/// A matrix that is read.
pub type MatrixView<'py, T> = Typed<PyReadonlyArray2<'py, T>>;
/// A function that is called with each text.
pub type Listener = Typed<Py<PyAny>>;
/// Values by name.
pub type Table<'py> = Typed<Bound<'py, PyDict>>;

impl<T> Deref for Typed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A number, as the stub names its type.
pub trait Number: Element {
    const NAME: &'static str;
}

impl Number for f32 {
    const NAME: &'static str = "float32";
}

impl Number for f64 {
    const NAME: &'static str = "float64";
}

impl Number for i64 {
    const NAME: &'static str = "int64";
}

impl Number for u8 {
    const NAME: &'static str = "uint8";
}

/// `numpy.typing.NDArray[numpy.T]`.
struct ArrayOf<T>(std::marker::PhantomData<T>);

impl<T: Number> ArrayOf<T> {
    const TYPE: PyStaticExpr = Subscript {
        value: &Attribute { value: &Name { id: "numpy.typing" }, attr: "NDArray" },
        slice: &Attribute { value: &Name { id: "numpy" }, attr: T::NAME },
    };
}

impl<'py, T: Number, D: ndarray::Dimension> IntoPyObject<'py> for Typed<Bound<'py, PyArray<T, D>>> {
    type Target = PyArray<T, D>;
    type Output = Bound<'py, Self::Target>;
    type Error = Infallible;
    const OUTPUT_TYPE: PyStaticExpr = ArrayOf::<T>::TYPE;

    fn into_pyobject(self, _: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0)
    }
}

impl<'a, 'py, T: Number, D: ndarray::Dimension + 'static> FromPyObject<'a, 'py>
    for Typed<Bound<'py, PyArray<T, D>>>
{
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = ArrayOf::<T>::TYPE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.extract()?))
    }
}

impl<'a, 'py, T: Number, D: ndarray::Dimension + 'static> FromPyObject<'a, 'py>
    for Typed<PyReadonlyArray<'py, T, D>>
{
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = ArrayOf::<T>::TYPE;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.extract()?))
    }
}

impl<'py> FromPyObject<'_, 'py> for Listener {
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = Subscript {
        value: &Attribute { value: &Name { id: "collections.abc" }, attr: "Callable" },
        slice: &Tuple { elts: &[List { elts: &[Name { id: "str" }] }, Name { id: "object" }] },
    };

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.to_owned().unbind()))
    }
}

impl<'py> IntoPyObject<'py> for Table<'py> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = Infallible;
    const OUTPUT_TYPE: PyStaticExpr = Subscript {
        value: &Name { id: "dict" },
        slice: &Tuple {
            elts: &[Name { id: "str" }, Attribute { value: &Name { id: "typing" }, attr: "Any" }],
        },
    };

    fn into_pyobject(self, _: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0)
    }
}

/// Numbers as an array that owns them, without a copy.
pub fn vector<T: Number>(py: Python<'_>, values: Vec<T>) -> Vector<'_, T> {
    Typed(PyArray::from_vec(py, values))
}

/// Rows of numbers as an array that owns them, without a copy.
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

/// The numbers of an array in C order, and its shape.
pub fn numbers<'a, T: Number>(
    array: &'a MatrixView<T>,
    name: &str,
) -> Result<(&'a [T], [usize; 2]), Failure> {
    use numpy::PyUntypedArrayMethods;
    let slice = array.as_slice().map_err(|_| Failure::argument(name, "not in C order"))?;
    Ok((slice, [array.shape()[0], array.shape()[1]]))
}
