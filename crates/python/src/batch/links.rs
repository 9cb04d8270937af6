//! Links and joints of the copies: poses, velocities, reactions, Jacobians, wrenches in world axes.
//!
//! The library has them by link and copy, entry `k · n + i` for copy i; they are gathered when asked for.

use super::Batch;
use crate::arrays::{Count, matrix, point, table};
use crate::error::Raise;
use crate::simulation::{homogeneous, six};
use numpy::ndarray::{Array3, Array4};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyArray4};
use pyo3::prelude::*;

/// An array (n, k, N) from numbers by k and copy.
fn by_copy<'py, const N: usize>(py: Python<'py>, n: usize, values: &[[f64; N]]) -> Bound<'py, PyArray3<f64>> {
    let of = |(i, k, c): (usize, usize, usize)| values[k * n + i][c];
    Array3::from_shape_fn((n, values.len() / n, N), of).into_pyarray(py)
}

/// Links and joints.
#[pymethods]
impl Batch {
    /// Poses of the links in the world now, homogeneous transforms in the order of `link_names`; `(n, n_links, 4, 4)`.
    ///
    /// >>> import bristle
    /// >>> batch = bristle.Batch("scenes/arm_3dof.ron", 10)
    /// >>> tips = batch.poses[:, -1, :3, 3]
    /// >>> tips.shape
    /// (10, 3)
    #[getter]
    fn poses<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let n = self.batch.len();
        let poses: Vec<[f64; 16]> = self.batch.poses().raised()?.iter().map(homogeneous).collect();
        let of = |(i, k, row, column): (usize, usize, usize, usize)| poses[k * n + i][4 * row + column];
        Ok(Array4::from_shape_fn((n, poses.len() / n, 4, 4), of).into_pyarray(py))
    }

    /// Velocities of the links now: angular, rad/s, then that of the link's origin, m/s, in world axes;
    /// `(n, n_links, 6)`.
    #[getter]
    fn link_velocities<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let velocities: Vec<[f64; 6]> = self.batch.link_velocities().raised()?.iter().map(six).collect();
        Ok(by_copy(py, self.batch.len(), &velocities))
    }

    /// What the parents exert on the children now, at the joints' origins, in child axes: moment, N·m, then force, N,
    /// in the order of `reaction_names`; `(n, n_joints, 6)`.
    #[getter]
    fn reactions<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let reactions = self.batch.reactions().raised()?;
        let wrenches: Vec<[f64; 6]> = reactions.iter().map(|reaction| reaction.wrench.to_array()).collect();
        Ok(by_copy(py, self.batch.len(), &wrenches))
    }

    /// Jacobian of a point on a link of one copy, given in link axes: world axes, angular part first; `(6, n_v)`.
    #[pyo3(signature = (copy, link, point=None))]
    fn jacobian<'py>(
        &mut self,
        py: Python<'py>,
        copy: Count,
        link: &str,
        point: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let jacobian = self.batch.jacobian(copy.0, link, self::point(point)?).raised()?;
        matrix(py, bristle::nalgebra::DMatrix::from_column_slice(6, jacobian.ncols(), jacobian.as_slice()))
    }

    /// Sets the wrench on a link of copies, given in world axes: `(m, 6)`, moment, N·m, then force, N, for the `m`
    /// copies given, by number or mask, or for all of them. It turns with the link: set it before each step where a
    /// force keeps its direction in the world.
    #[pyo3(signature = (link, wrenches, copies=None))]
    fn set_world_wrench(
        &mut self,
        link: &str,
        wrenches: &Bound<'_, PyAny>,
        copies: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let copies = self.copies(copies)?;
        let wrenches = table("wrenches", wrenches, Some(copies.len()), 6)?;
        let wrenches = wrenches.as_array();
        let set = |batch: &mut bristle::Batch, k: usize| {
            let [moment, force] = [0, 3].map(|first| std::array::from_fn(|c| wrenches[(k, first + c)]));
            batch.set_world_wrench(copies[k], link, moment, force)
        };
        self.batch.change_each(&copies, set).raised()
    }
}
