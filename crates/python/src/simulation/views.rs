//! Between the machine and its views: efforts that callers have written are taken in before a call, results are shown
//! after it.

use super::Simulation;
use crate::arrays::Shown;
use crate::error::{Raise, refused};
use crate::scene::Scene;
use bristle::component::Load;
use bristle::friction::{Law, Mode};
use bristle::multibody::Placement;
use bristle::simulation::LinkVelocity;
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

impl Simulation {
    /// The machine of a scene.
    pub fn of_scene(py: Python<'_>, scene: Scene) -> PyResult<Self> {
        let sim = py.detach(|| bristle::Simulation::new(scene.scene())).raised()?;
        let (q, v) = (Shown::new(py, sim.positions(), false), Shown::new(py, sim.velocities(), false));
        Ok(Self { sim, scene, put_on: Vec::new(), q, v, a: None, efforts: None, friction: None, loads: None })
    }

    /// The scene with the laws and loads that callers have put on.
    pub(super) fn present_scene(&self) -> PyResult<Scene> {
        if self.put_on.is_empty() {
            return Ok(self.scene.clone());
        }
        // the default stepper goes by the laws of the scene, and this one has been chosen by those it had
        let method = ("solver.method".to_owned(), bristle_report::written(&self.scene.scene().method()));
        self.scene.with(std::iter::once(method).chain(self.put_on.iter().cloned()))
    }

    /// Calls something that computes: efforts are taken in first, results are shown after it.
    pub fn compute<T: Send>(
        &mut self,
        py: Python<'_>,
        call: impl FnOnce(&mut bristle::Simulation) -> bristle::Result<T> + Send,
    ) -> PyResult<T> {
        self.take_efforts(py)?;
        let sim = &mut self.sim;
        let result = py.detach(|| call(sim));
        self.show(py);
        result.raised()
    }

    /// Efforts that callers have written.
    pub(super) fn take_efforts(&mut self, py: Python<'_>) -> PyResult<()> {
        match &self.efforts {
            Some(efforts) if efforts.differs(py, &self.sim.compiled().inputs.effort) => {
                self.sim.set_efforts(&efforts.values(py)).raised()
            }
            _ => Ok(()),
        }
    }

    /// The state as it is now.
    pub(super) fn show(&mut self, py: Python<'_>) {
        let sim = &self.sim;
        self.q.show(py, sim.positions(), false);
        self.v.show(py, sim.velocities(), false);
        for (shown, values) in [
            (&mut self.a, sim.accelerations()),
            (&mut self.friction, sim.friction_efforts()),
            (&mut self.loads, sim.loads()),
        ] {
            if let Some(shown) = shown {
                shown.show(py, values, false);
            }
        }
    }

    /// Efforts as they are after a call that changes them.
    pub(super) fn show_efforts(&mut self, py: Python<'_>) {
        if let Some(efforts) = &mut self.efforts {
            efforts.show(py, &self.sim.compiled().inputs.effort, true);
        }
    }

    /// Where a scene has the law, load or drive of a joint or coupling.
    fn path_of(&self, of: &str, what: &str) -> String {
        let is_joint = self.scene.scene().joints.iter().any(|joint| joint.name == of);
        format!("{}.{of}.{what}", if is_joint { "joints" } else { "couplings" })
    }

    /// Why a law, load or drive cannot be read, with a caret under the place as in a scene; otherwise the `plain`
    /// reason.
    pub fn pointed_at(&self, of: &str, what: &str, text: &str, plain: PyErr) -> PyErr {
        self.with_input(of, what, text).err().unwrap_or(plain)
    }

    /// The scene with a law, load or drive on a joint or coupling.
    pub(super) fn with_input(&self, of: &str, what: &str, text: &str) -> PyResult<Scene> {
        self.scene.with([(self.path_of(of, what), text.to_owned())])
    }

    /// Remembers a law, load or drive that a caller has put on a joint or coupling, at its place in the scene.
    pub(super) fn put_on(&mut self, of: &str, what: &str, text: String) {
        let path = self.path_of(of, what);
        self.put_on.retain(|(other, _)| *other != path);
        self.put_on.push((path, text));
    }

    /// The law and load of a joint or coupling as they are now.
    pub(super) fn contact(&mut self, of: &str) -> PyResult<(Law, Load)> {
        self.sim.refresh().raised()?;
        // a joint without friction, or an unknown name, which is refused with those that are known
        let is_joint = self.sim.coordinates().iter().any(|joint| joint.name == of);
        if is_joint && self.sim.contact_names().all(|name| name != of) {
            let example = "give a whole law, such as \"Coulomb(coulomb: 0.3)\"";
            return Err(refused(format!("joint `{of}` has no friction: {example}")));
        }
        self.sim.friction_effort(of).raised()?;
        let c = self.sim.contact_names().position(|name| name == of).unwrap_or(0);
        let contact = &self.sim.compiled().inputs.contacts[c];
        Ok((contact.law.clone(), contact.load.clone()))
    }
}

/// Homogeneous transforms, child to world.
pub(super) fn transforms<'py>(py: Python<'py>, poses: &[Placement]) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let numbers: Vec<f64> = poses.iter().flat_map(homogeneous).collect();
    PyArray1::from_vec(py, numbers).reshape([poses.len(), 4, 4])
}

/// A homogeneous transform by rows.
pub fn homogeneous(pose: &Placement) -> [f64; 16] {
    let columns = pose.to_homogeneous();
    std::array::from_fn(|k| columns[(k / 4, k % 4)])
}

/// Angular, then linear velocity.
pub fn six(velocity: &LinkVelocity) -> [f64; 6] {
    let (w, v) = (velocity.angular, velocity.linear);
    [w.x, w.y, w.z, v.x, v.y, v.z]
}

/// Modes as numbers.
pub fn directions(modes: &[Mode]) -> Vec<i8> {
    modes.iter().map(|mode| mode.direction() as i8).collect()
}
