//! Answers about a machine: energies, and the equations about a state.

use crate::arrays::matrix;
use bristle::dynamics::Counters;
use bristle::integrate::Stats;
use bristle::simulation::{self, Ledger};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Where the energy is and where it went, J.
#[pyclass(frozen, get_all, module = "bristle")]
#[derive(Debug, Clone)]
pub struct Energy {
    /// Of motion, armature included.
    kinetic: f64,
    /// Of height, zero at the world origin.
    potential: f64,
    /// Of springs.
    elastic: f64,
    /// Of bristles.
    bristle: f64,
    /// Put into bristles by changing loads.
    load: f64,
    /// Work of efforts, drives and external wrenches.
    input: f64,
    /// Heat of dampers and friction.
    dissipated: f64,
    /// Residual of the ledger: 0 but for errors of integration.
    balance: f64,
}

impl From<Ledger> for Energy {
    fn from(ledger: Ledger) -> Self {
        let Ledger { kinetic, potential, elastic, bristle, load, input, dissipated, balance } = ledger;
        Self { kinetic, potential, elastic, bristle, load, input, dissipated, balance }
    }
}

#[pymethods]
impl Energy {
    fn __repr__(&self) -> String {
        format!(
            "Energy(kinetic={:?}, potential={:?}, elastic={:?}, bristle={:?}, load={:?}, input={:?}, dissipated={:?}, \
             balance={:?})",
            self.kinetic,
            self.potential,
            self.elastic,
            self.bristle,
            self.load,
            self.input,
            self.dissipated,
            self.balance
        )
    }
}

/// The equations about a state, ẏ = A y + B τ + P p.
#[pyclass(frozen, get_all, module = "bristle")]
pub struct Linearization {
    /// Names of the unknowns y: positions, velocities, bristle states, integrals of controllers.
    unknowns: Vec<String>,
    /// Names of the friction parameters p.
    parameters: Vec<String>,
    /// ∂ẏ/∂y.
    a: Py<PyArray2<f64>>,
    /// ∂ẏ/∂τ, one column per velocity.
    b: Py<PyArray2<f64>>,
    /// ∂ẏ/∂p, one column per parameter.
    p: Py<PyArray2<f64>>,
}

impl Linearization {
    /// Its matrices as arrays.
    pub fn new(py: Python<'_>, linear: simulation::Linearization) -> PyResult<Self> {
        Ok(Self {
            unknowns: linear.unknowns,
            parameters: linear.parameters,
            a: matrix(py, linear.a)?.unbind(),
            b: matrix(py, linear.b)?.unbind(),
            p: matrix(py, linear.p)?.unbind(),
        })
    }
}

#[pymethods]
impl Linearization {
    fn __repr__(&self) -> String {
        format!("<Linearization in {}>", self.unknowns.join(", "))
    }
}

/// Counts of the solver, by the names of `bristle run --json`.
pub fn stats<'py>(py: Python<'py>, stats: &Stats, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    macro_rules! put {
        ($of:ident: $($name:ident),*) => { $(dict.set_item(stringify!($name), $of.$name)?;)* };
    }
    put!(stats: n_accepted, n_rejected, n_failed, n_rhs, n_residual, n_jacobian, n_difference_columns, n_factor,
        n_solve, n_newton, n_quadrature, n_events, n_time_events, n_event_evaluations, n_landings, n_charts, n_stiff);
    put!(counters: n_acceleration_solves, n_sweeps, n_substitutions, n_jerks, n_projections, n_rounds, max_rounds,
        n_unconverged_loads);
    Ok(dict)
}
