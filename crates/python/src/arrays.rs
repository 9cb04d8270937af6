//! Arrays between the library and NumPy.

use crate::error::refused;
use bristle::nalgebra::DMatrix;
use numpy::npyffi::NPY_ORDER;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods, ToPyArray};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

/// A one-dimensional array that shows numbers of the library. It belongs to Python, so that it may outlive everything
/// here; numbers are copied into it whenever they change, always with the interpreter lock.
pub struct Shown(Py<PyArray1<f64>>);

impl Shown {
    /// An array with these numbers; callers may write into it, or only read.
    pub fn new(py: Python<'_>, values: &[f64], is_writable: bool) -> Self {
        let array = PyArray1::from_slice(py, values);
        if !is_writable {
            array.readwrite().make_nonwriteable();
        }
        Self(array.unbind())
    }

    /// The array.
    pub fn array<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.bind(py).clone()
    }

    /// The numbers as callers left them.
    pub fn values(&self, py: Python<'_>) -> Vec<f64> {
        self.0.bind(py).to_vec().unwrap_or_default()
    }

    /// Whether callers left other numbers.
    pub fn differs(&self, py: Python<'_>, values: &[f64]) -> bool {
        let array = self.0.bind(py);
        // SAFETY: made by `from_slice`, so contiguous; nobody writes while the lock is held here.
        unsafe { array.as_slice() }.is_ok_and(|now| now != values)
    }

    /// Shows other numbers: in the same array, or in a new one where their count is another.
    pub fn show(&mut self, py: Python<'_>, values: &[f64], is_writable: bool) {
        let array = self.0.bind(py);
        if array.len() != values.len() {
            *self = Self::new(py, values, is_writable);
            return;
        }
        // SAFETY: a contiguous array of its own, of the same length; no reference into it lives on in Rust.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), array.data(), values.len()) }
    }
}

/// A matrix, without a copy: columns are contiguous.
pub fn matrix(py: Python<'_>, matrix: DMatrix<f64>) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [matrix.nrows(), matrix.ncols()];
    let data: Vec<f64> = matrix.data.into();
    PyArray1::from_vec(py, data).reshape_with_order(shape, NPY_ORDER::NPY_FORTRANORDER)
}

/// Rows of equal length.
pub fn rows<'py, const N: usize>(py: Python<'py>, rows: &[[f64; N]]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    rows.as_flattened().to_pyarray(py).reshape([rows.len(), N])
}

/// Numbers from an array, list or tuple of the right length.
pub fn numbers(what: &str, value: &Bound<'_, PyAny>, n: usize) -> PyResult<Vec<f64>> {
    let given: Vec<f64> = match value.extract::<PyReadonlyArray1<'_, f64>>() {
        Ok(array) => array.as_array().iter().copied().collect(),
        Err(_) => {
            let wrong = |_| wrong_shape(what, value, &format!("({n},)"));
            let array = as_floats(value).map_err(wrong)?.extract::<PyReadonlyArray1<'_, f64>>();
            array.map_err(|_| wrong_shape(what, value, &format!("({n},)")))?.as_array().iter().copied().collect()
        }
    };
    if given.len() == n { Ok(given) } else { Err(wrong_shape(what, value, &format!("({n},)"))) }
}

/// Three numbers: a point, a moment, a force.
pub fn three(what: &str, value: &Bound<'_, PyAny>) -> PyResult<[f64; 3]> {
    let given = numbers(what, value, 3)?;
    Ok([given[0], given[1], given[2]])
}

/// A point on a link, its origin if left out.
pub fn point(value: Option<&Bound<'_, PyAny>>) -> PyResult<[f64; 3]> {
    value.map_or(Ok([0.0; 3]), |value| three("point", value))
}

/// Numbers from an array, list or tuple of any length.
pub fn column(what: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let wrong = |_| wrong_shape(what, value, "(m,)");
    let floats = as_floats(value).map_err(wrong)?;
    let array = floats.extract::<PyReadonlyArray1<'_, f64>>().map_err(|_| wrong_shape(what, value, "(m,)"))?;
    Ok(array.as_array().iter().copied().collect())
}

/// A table of numbers with the right number of columns, and of rows where that is known.
pub fn table<'py>(
    what: &str,
    value: &Bound<'py, PyAny>,
    n_rows: Option<usize>,
    n: usize,
) -> PyResult<PyReadonlyArray2<'py, f64>> {
    let rows = n_rows.map_or_else(|| "m".to_owned(), |rows| rows.to_string());
    let wrong = || wrong_shape(what, value, &format!("({rows}, {n})"));
    let array = match value.extract::<PyReadonlyArray2<'_, f64>>() {
        Ok(array) => array,
        Err(_) => as_floats(value).map_err(|_| wrong())?.extract::<PyReadonlyArray2<'_, f64>>().map_err(|_| wrong())?,
    };
    let [given_rows, columns] = [array.shape()[0], array.shape()[1]];
    if columns != n || n_rows.is_some_and(|rows| rows != given_rows) { Err(wrong()) } else { Ok(array) }
}

/// A value as an array of floats, without a copy where it is one; anything but real numbers is refused.
pub fn as_floats<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let asarray = value.py().import("numpy")?.getattr("asarray")?;
    let array = asarray.call1((value,))?;
    let dtype = array.getattr("dtype")?;
    // an empty list has the dtype of floats
    if "biuf".contains(dtype.getattr("kind")?.extract::<char>()?) {
        asarray.call1((array, "float64"))
    } else {
        Err(refused(format!("an array of {dtype} is no array of real numbers")))
    }
}

/// A number of things, or of a copy. A negative one is refused like any other wrong value.
pub struct Count(pub usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<usize>() {
            Ok(count) => Ok(Self(count)),
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                Err(refused(format!("{} is out of range: it must be 0 or more", &*value)))
            }
            Err(error) => Err(error),
        }
    }
}

/// An array of another shape than was wanted.
pub fn wrong_shape(what: &str, value: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let shape = as_floats(value).and_then(|array| array.getattr("shape")).and_then(|shape| shape.str());
    match shape {
        Ok(shape) => refused(format!("`{what}` has shape {shape}; the shape wanted is {wanted}")),
        Err(_) => refused(format!("`{what}` is no array of real numbers; the shape wanted is {wanted}")),
    }
}
