//! The control period of `bristle.gym`: bounded actions to efforts or targets, then a step, in one call.

use super::Batch;
use crate::arrays::{numbers, table};
use crate::error::refused;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// A value within ±bound; what is not a number stays so and is refused by the step.
fn bounded(x: f64, bound: f64) -> f64 {
    if x > bound {
        bound
    } else if x < -bound {
        -bound
    } else {
        x
    }
}

#[pymethods]
impl Batch {
    /// Acts for `dt`, s: `actions`, `(n, k)`, bounded by `bound`, are efforts, or with `is_target` targets, at the k
    /// `places`. Returns the actions as bounded, and whether a copy failed.
    #[pyo3(signature = (actions, places, bound, dt, is_target))]
    fn _act<'py>(
        this: &Bound<'py, Self>,
        actions: &Bound<'py, PyAny>,
        places: Vec<usize>,
        bound: &Bound<'py, PyAny>,
        dt: f64,
        is_target: bool,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, bool)> {
        let (py, mut batch) = (this.py(), this.try_borrow_mut()?);
        let (n, k) = (batch.batch.len(), places.len());
        let width = if is_target { batch.n_drives } else { batch.n_v };
        if let Some(place) = places.iter().find(|place| **place >= width) {
            return Err(refused(format!("there is no input {place}: there are {width}")));
        }
        let (given, bound) = (table("actions", actions, Some(n), k)?, numbers("bound", bound, k)?);
        let given = given.as_array();
        let acting = Array2::from_shape_fn((n, k), |(i, j)| bounded(given[(i, j)], bound[j]));
        if is_target {
            let targets = batch.targets(py);
            let mut targets = targets.readwrite();
            let mut targets = targets.as_array_mut();
            acting.indexed_iter().for_each(|((i, j), &x)| targets[(i, places[j])] = x);
        } else {
            let efforts = batch.batch.efforts_mut();
            acting.indexed_iter().for_each(|((i, j), &x)| efforts[places[j] * n + i] = x);
        }
        batch.take_targets(py);
        let inner = &mut batch.batch;
        let result = py.detach(|| inner.step(dt));
        let has_failed = result.is_err();
        batch.checked(result, false)?;
        Ok((acting.into_pyarray(py), has_failed))
    }
}
