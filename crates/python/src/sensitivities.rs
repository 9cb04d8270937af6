//! Channels of a run and their derivatives in parameters of the scene.

use crate::arrays::matrix;
use crate::error::Raise;
use crate::interrupt;
use bristle::stop;
use numpy::ndarray::Array3;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Channels over time and their derivatives in parameters, exact through located events.
///
/// >>> import bristle
/// >>> scene = bristle.Scene.load("scenes/coulomb_oscillator.ron")
/// >>> curves = scene.sensitivities(["joints.slide.friction.coulomb"], channels=["slide.position"])
/// >>> curves.derivatives.shape == (1, len(curves.t), 1)
/// True
///
/// The last stop of the block on its spring is nearer to its start where friction is larger:
///
/// >>> round(float(curves.derivative("slide.position", "joints.slide.friction.coulomb")[-1]), 6)
/// 0.1
#[pyclass(frozen, module = "bristle")]
pub struct Sensitivities {
    /// Names of the channels: the columns of `values`.
    #[pyo3(get)]
    channels: Vec<String>,
    /// Paths of the parameters.
    #[pyo3(get)]
    parameters: Vec<String>,
    /// Times of the rows, s.
    #[pyo3(get)]
    t: Py<PyArray1<f64>>,
    /// The channels, `(rows, channels)`.
    #[pyo3(get)]
    values: Py<PyArray2<f64>>,
    /// Their derivatives, `(parameters, rows, channels)`.
    #[pyo3(get)]
    derivatives: Py<PyArray3<f64>>,
    curves: bristle::Sensitivities,
}

impl Sensitivities {
    /// The curves of a scene over its duration, or of some channels at given times.
    pub fn of(
        py: Python<'_>,
        scene: &bristle::Scene,
        paths: &[String],
        channels: Option<Vec<String>>,
        times: Option<Vec<f64>>,
    ) -> PyResult<Self> {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let work = move || {
            stop::until(
                move || asked.load(Ordering::Relaxed),
                || match (channels, times) {
                    (None, None) => bristle::Simulation::sensitivities(scene, &paths),
                    (channels, times) => {
                        let channels = channels.map_or_else(|| scene.differentiable_channels(), Ok)?;
                        scene.sensitivities_at(&paths, &channels, &times.unwrap_or_else(|| scene.output_times()))
                    }
                },
            )
        };
        let (curves, raised) = interrupt::watched(py, &stop, work);
        raised.map_or(Ok(()), Err)?;
        Self::new(py, curves.raised()?)
    }

    fn new(py: Python<'_>, curves: bristle::Sensitivities) -> PyResult<Self> {
        let (rows, columns) = curves.values.shape();
        let of = |(p, i, k): (usize, usize, usize)| curves.derivatives[p][(i, k)];
        let derivatives = Array3::from_shape_fn((curves.derivatives.len(), rows, columns), of);
        Ok(Self {
            channels: curves.channels.clone(),
            parameters: curves.parameters.clone(),
            t: PyArray1::from_slice(py, &curves.t).unbind(),
            values: matrix(py, curves.values.clone())?.unbind(),
            derivatives: derivatives.into_pyarray(py).unbind(),
            curves,
        })
    }
}

#[pymethods]
impl Sensitivities {
    /// A channel over time.
    fn channel<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.curves.channel(name).raised()?))
    }

    /// The derivative of a channel in a parameter, over time.
    fn derivative<'py>(&self, py: Python<'py>, channel: &str, parameter: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.curves.derivative(channel, parameter).raised()?))
    }

    fn __repr__(&self) -> String {
        let [channels, rows] = [self.curves.channels.len(), self.curves.t.len()];
        format!("<Sensitivities of {channels} channels in {}, {rows} rows>", self.parameters.join(", "))
    }
}
