//! Trajectories of a batch: arrays without copies over the memory of the library.

use bristle::batch;
use numpy::ndarray::ArrayView3;
use numpy::{PyArray3, PyArrayMethods};
use pyo3::prelude::*;

/// Trajectories of a batch: `q` is `(n, steps, n_q)`, `v` is `(n, steps, n_v)`; NaN from where a copy failed.
#[pyclass(module = "bristle")]
pub struct Rollout {
    pub rollout: batch::Rollout,
    pub n: usize,
    pub steps: usize,
    /// Positions and velocities of a copy.
    pub widths: [usize; 2],
}

impl Rollout {
    /// A view of one of its arrays. Their memory stays where it is: a rollout that is used again has the same size.
    fn view<'py>(
        this: &Bound<'py, Self>,
        which: usize,
        of: fn(&batch::Rollout) -> &[f64],
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let rollout = this.try_borrow()?;
        let values = of(&rollout.rollout);
        let view = ArrayView3::from_shape((rollout.n, rollout.steps, rollout.widths[which]), values);
        let view = view.map_err(|error| crate::error::refused(error.to_string()))?;
        // SAFETY: the array keeps the object alive, and its memory is never moved: see `Batch::rollout`.
        let array = unsafe { PyArray3::borrow_from_array(&view, this.clone().into_any()) };
        array.readwrite().make_nonwriteable();
        Ok(array)
    }
}

#[pymethods]
impl Rollout {
    /// Positions after each step; `(n, steps, n_q)`.
    #[getter]
    fn q<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Self::view(this, 0, |rollout| &rollout.position)
    }

    /// Velocities after each step; `(n, steps, n_v)`.
    #[getter]
    fn v<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Self::view(this, 1, |rollout| &rollout.velocity)
    }

    fn __repr__(&self) -> String {
        format!("<Rollout of {} copies, {} steps>", self.n, self.steps)
    }
}
