//! The mechanics of the machine at its present state.

use super::Simulation;
use crate::arrays::{matrix, numbers, point};
use crate::query::{self, Energy, Linearization};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Energies, matrices, counts.
#[pymethods]
impl Simulation {
    /// The energy ledger, now.
    fn energy(&mut self, py: Python<'_>) -> PyResult<Energy> {
        self.compute(py, bristle::Simulation::energy).map(Energy::from)
    }

    /// Mass matrix at the present positions, armature included; `(n_v, n_v)`.
    fn mass_matrix<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mass = self.compute(py, bristle::Simulation::mass_matrix)?;
        matrix(py, mass)
    }

    /// Efforts for the accelerations `a` at positions `q` and velocities `v` (those of now if left out), with friction,
    /// dampers, springs and drives as they act now. Friction of a joint at rest opposes the acceleration asked for;
    /// there is none where that is zero. They are not bounded by `effort_limit`, which acts on what is applied.
    ///
    /// >>> import bristle, numpy
    /// >>> arm = bristle.Simulation("scenes/arm_3dof.ron")
    /// >>> holding = arm.inverse_dynamics(numpy.zeros(3))
    /// >>> holding.shape
    /// (3,)
    #[pyo3(signature = (a, q=None, v=None))]
    fn inverse_dynamics<'py>(
        &mut self,
        py: Python<'py>,
        a: &Bound<'_, PyAny>,
        q: Option<&Bound<'_, PyAny>>,
        v: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (n_q, n_v) = (self.sim.positions().len(), self.sim.velocities().len());
        let a = numbers("a", a, n_v)?;
        let q = q.map(|q| numbers("q", q, n_q)).transpose()?;
        let v = v.map(|v| numbers("v", v, n_v)).transpose()?;
        let is_here = q.is_none() && v.is_none();
        let q = q.unwrap_or_else(|| self.sim.positions().to_vec());
        let v = v.unwrap_or_else(|| self.sim.velocities().to_vec());
        let mut tau = vec![0.0; n_v];
        self.compute(py, |sim| match is_here {
            true => sim.efforts_for(&a, &mut tau),
            false => sim.inverse_dynamics(&q, &v, &a, &mut tau),
        })?;
        Ok(PyArray1::from_vec(py, tau))
    }

    /// Jacobian of a point on a link, given in link axes: world axes, angular part first; `(6, n_v)`.
    #[pyo3(signature = (link, point=None))]
    fn jacobian<'py>(
        &mut self,
        py: Python<'py>,
        link: &str,
        point: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let point = self::point(point)?;
        let jacobian = self.compute(py, |sim| sim.jacobian(link, point))?;
        let n = jacobian.ncols();
        matrix(py, bristle::nalgebra::DMatrix::from_column_slice(6, n, jacobian.as_slice()))
    }

    /// The equations about the present state, analytic, with the columns of the friction parameters.
    fn linearize(&mut self, py: Python<'_>) -> PyResult<Linearization> {
        let linear = self.compute(py, bristle::Simulation::linearize)?;
        Linearization::new(py, linear)
    }

    /// Degrees of freedom: velocities that neither couplings nor prescribed motions determine. Stuck joints count.
    #[getter]
    fn freedom(&self) -> usize {
        self.sim.freedom()
    }

    /// Indices of the independent velocities: all of them without couplings and closed loops.
    #[getter]
    fn independent<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let independent = self.sim.independent();
        PyArray1::from_iter(py, independent.into_iter().map(|k| k as i64))
    }

    /// Mass matrix over the `independent` velocities, with couplings and closed loops, which `mass_matrix` leaves out.
    fn reduced_mass_matrix<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mass = self.compute(py, bristle::Simulation::reduced_mass_matrix)?;
        matrix(py, mass)
    }

    /// What the solver did so far: counts by name, `n_accepted` steps, `n_rejected` steps, `n_rhs` evaluations and so
    /// on.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        query::stats(py, &self.sim.stats(), &self.sim.counters())
    }
}
