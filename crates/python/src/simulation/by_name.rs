//! Results by name, and setters by name.

use super::Simulation;
use super::views::{six, transforms};
use crate::arrays::{numbers, point, rows, three};
use crate::error::{Raise, refused};
use crate::law::{self, Template};
use bristle::component::{Drive, Load};
use bristle::friction::Law;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One number or array, by name.
#[pymethods]
impl Simulation {
    /// Position of a revolute or prismatic joint, rad or m.
    fn position(&self, joint: &str) -> PyResult<f64> {
        self.sim.position(joint).raised()
    }

    /// Velocity of a revolute or prismatic joint, rad/s or m/s.
    fn velocity(&self, joint: &str) -> PyResult<f64> {
        self.sim.velocity(joint).raised()
    }

    /// Acceleration of a revolute or prismatic joint, rad/s² or m/s².
    fn acceleration(&self, joint: &str) -> PyResult<f64> {
        self.sim.acceleration(joint).raised()
    }

    /// Effort of drive and caller together that acts on a revolute or prismatic joint, N·m or N: within its
    /// `effort_limit`.
    ///
    /// >>> import bristle
    /// >>> scene = bristle.Scene.load("scenes/arm_3dof.ron")
    /// >>> scene.set("joints.yaw.effort_limit", 2.0)
    /// >>> arm = bristle.Simulation(scene)
    /// >>> arm.set_effort("yaw", 5.0)
    /// >>> arm.effort("yaw"), arm.effort_limit("yaw")
    /// (2.0, 2.0)
    fn effort(&mut self, py: Python<'_>, joint: &str) -> PyResult<f64> {
        self.compute(py, bristle::Simulation::refresh)?;
        self.sim.effort(joint).raised()
    }

    /// Largest effort of drive and caller together on a revolute or prismatic joint, N·m or N; infinite without a
    /// limit.
    fn effort_limit(&self, joint: &str) -> PyResult<f64> {
        self.sim.effort_limit(joint).raised()
    }

    /// Normal load of a joint or coupling, N; 1 where the levels of its law are efforts.
    fn load(&self, of: &str) -> PyResult<f64> {
        self.sim.load(of).raised()
    }

    /// Friction effort of a joint or coupling, N·m or N.
    fn friction_effort(&self, of: &str) -> PyResult<f64> {
        self.sim.friction_effort(of).raised()
    }

    /// Mode of a joint or coupling: -1, 0 (stuck), 1.
    fn mode(&self, of: &str) -> PyResult<i8> {
        Ok(self.sim.mode(of).raised()?.direction() as i8)
    }

    /// Bristle states of a joint or coupling: deflection z, and w of `LuGre2`.
    fn bristle(&self, of: &str) -> PyResult<(f64, f64)> {
        let state = self.sim.bristle(of).raised()?;
        Ok((state.z, state.w))
    }

    /// Reaction of a joint: what the parent exerts on the child, at the joint's origin, in child axes. Moment, N·m,
    /// then force, N.
    fn reaction<'py>(&self, py: Python<'py>, joint: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, &self.sim.reaction(joint).raised()?.wrench.to_array()))
    }

    /// Reactions in the order of `reaction_names`; `(n_joints, 6)`.
    #[getter]
    fn reactions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let wrenches: Vec<[f64; 6]> = self.sim.reactions().iter().map(|reaction| reaction.wrench.to_array()).collect();
        rows(py, &wrenches)
    }

    /// Pose of a link in the world, a homogeneous transform; `(4, 4)`.
    fn pose<'py>(&self, py: Python<'py>, link: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
        transforms(py, &[self.sim.pose(link).raised()?])?.reshape([4, 4])
    }

    /// Velocity of a link and of a point on it, given in link axes: angular, rad/s, then linear, m/s, in world axes.
    #[pyo3(signature = (link, point=None))]
    fn link_velocity<'py>(
        &mut self,
        py: Python<'py>,
        link: &str,
        point: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let point = self::point(point)?;
        let velocity = self.compute(py, |sim| sim.link_velocity(link, point))?;
        Ok(PyArray1::from_slice(py, &six(&velocity)))
    }

    /// Poses in the order of `link_names`; `(n_links, 4, 4)`.
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        transforms(py, self.sim.poses())
    }
}

/// Inputs, states and parameters, by name.
#[pymethods]
impl Simulation {
    /// Sets the effort on a revolute or prismatic joint, N·m or N.
    fn set_effort(&mut self, py: Python<'_>, joint: &str, effort: f64) -> PyResult<()> {
        self.take_efforts(py)?;
        self.sim.set_effort(joint, effort).raised()?;
        self.show_efforts(py);
        Ok(())
    }

    /// Sets what the drive of a joint follows to a constant: the position of a `Pull`, `Pid` or `Servo`, the effort of
    /// an `Effort`.
    fn set_target(&mut self, joint: &str, target: f64) -> PyResult<()> {
        self.sim.set_target(joint, target).raised()
    }

    /// Sets the wrench on a link: moment about its origin, N·m, and force, N, in link axes.
    fn set_wrench(&mut self, link: &str, moment: &Bound<'_, PyAny>, force: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sim.set_wrench(link, three("moment", moment)?, three("force", force)?).raised()
    }

    /// The same in world axes. It turns with the link: set it before each step where a force keeps its direction in the
    /// world.
    fn set_world_wrench(&mut self, link: &str, moment: &Bound<'_, PyAny>, force: &Bound<'_, PyAny>) -> PyResult<()> {
        self.sim.set_world_wrench(link, three("moment", moment)?, three("force", force)?).raised()
    }

    /// Puts a revolute or prismatic joint somewhere, with a velocity.
    #[pyo3(signature = (joint, position, velocity=0.0))]
    fn set_joint(&mut self, py: Python<'_>, joint: &str, position: f64, velocity: f64) -> PyResult<()> {
        self.sim.set_joint(joint, position, velocity).raised()?;
        self.show(py);
        Ok(())
    }

    /// Puts the whole machine somewhere; bristles start steady.
    fn set_state(&mut self, py: Python<'_>, q: &Bound<'_, PyAny>, v: &Bound<'_, PyAny>) -> PyResult<()> {
        let q = numbers("q", q, self.sim.positions().len())?;
        let v = numbers("v", v, self.sim.velocities().len())?;
        self.sim.set_state(&q, &v).raised()?;
        self.show(py);
        Ok(())
    }

    /// Sets the friction law of a joint or coupling: a whole law, or some parameters of the present one.
    ///
    /// >>> import bristle
    /// >>> sim = bristle.Simulation("scenes/double_pendulum_coulomb.ron")
    /// >>> sim.set_friction("elbow", coulomb=0.1)
    /// >>> sim.set_friction("shoulder", "Tanh(coulomb: 0.2, stribeck_velocity: 0.01)")
    #[pyo3(signature = (of, law=None, **parameters))]
    fn set_friction(
        &mut self,
        py: Python<'_>,
        of: &str,
        law: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let law: Law = match law {
            Some(law) => law::parse("friction", law).map_err(|plain| self.pointed_at(of, "friction", law, plain))?,
            None => self.contact(of)?.0,
        };
        let parameters = law::parameters(parameters)?;
        let law = if parameters.is_empty() { law } else { Template::new("friction law", &law)?.with(&parameters)? };
        let text = bristle_report::written(&law);
        self.sim.set_friction(of, law).raised()?;
        self.compute(py, bristle::Simulation::refresh)?;
        self.put_on(of, "friction", text);
        Ok(())
    }

    /// Sets the load of a joint or coupling with friction: a whole load, or some parameters of the present one.
    #[pyo3(signature = (of, load=None, **parameters))]
    fn set_load(
        &mut self,
        py: Python<'_>,
        of: &str,
        load: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let load: Load = match load {
            Some(load) => law::parse("load", load).map_err(|plain| self.pointed_at(of, "load", load, plain))?,
            None => self.contact(of)?.1,
        };
        let parameters = law::parameters(parameters)?;
        let load = if parameters.is_empty() { load } else { Template::new("load", &load)?.with(&parameters)? };
        let text = bristle_report::written(&load);
        self.sim.set_load(of, load).raised()?;
        self.compute(py, bristle::Simulation::refresh)?;
        self.put_on(of, "load", text);
        Ok(())
    }

    /// The friction law of a joint or coupling, as a scene spells it.
    fn friction_law(&mut self, of: &str) -> PyResult<String> {
        Ok(bristle_report::written(&self.contact(of)?.0))
    }

    /// The load of a joint or coupling with friction, as a scene spells it.
    fn load_law(&mut self, of: &str) -> PyResult<String> {
        Ok(bristle_report::written(&self.contact(of)?.1))
    }

    /// Sets the drive of a joint: a whole drive, or some parameters of the present one.
    ///
    /// >>> import bristle
    /// >>> arm = bristle.Simulation("scenes/arm_3dof.ron")
    /// >>> arm.set_drive("yaw", "Pid(kp: 50.0, kd: 5.0, target: Constant(0.5))")
    /// >>> arm.set_drive("yaw", kp=80.0)
    /// >>> arm.drive("yaw")
    /// 'Pid(kp: 80.0, ki: 0.0, kd: 5.0, target: Constant(0.5))'
    #[pyo3(signature = (joint, drive=None, **parameters))]
    fn set_drive(
        &mut self,
        py: Python<'_>,
        joint: &str,
        drive: Option<&str>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let drive: Drive = match drive {
            Some(drive) => law::parse("drive", drive).map_err(|plain| self.pointed_at(joint, "drive", drive, plain))?,
            None => self.present_drive(joint)?,
        };
        let parameters = law::parameters(parameters)?;
        let drive = if parameters.is_empty() { drive } else { Template::new("drive", &drive)?.with(&parameters)? };
        let text = bristle_report::written(&drive);
        // another kind of drive compiles the machine again: what a scene would refuse does not come so far
        self.with_input(joint, "drive", &text)?;
        let before = self.present_drive(joint).ok();
        self.put_drive(joint, Some(drive))?;
        if let Err(error) = self.compute(py, bristle::Simulation::refresh) {
            self.put_drive(joint, before)?;
            self.compute(py, bristle::Simulation::refresh)?;
            return Err(error);
        }
        self.put_on(joint, "drive", text);
        Ok(())
    }

    /// The drive of a joint, as a scene spells it.
    fn drive(&self, joint: &str) -> PyResult<String> {
        Ok(bristle_report::written(&self.present_drive(joint)?))
    }
}

impl Simulation {
    /// The drive of a joint as it is now.
    fn present_drive(&self, joint: &str) -> PyResult<Drive> {
        let entity = self.sim.joint(joint).raised()?;
        let drive = self.sim.world().get::<&Drive>(entity).map(|drive| Drive::clone(&drive));
        drive.map_err(|_| {
            let with: Vec<&str> = self.drive_names();
            let known =
                if with.is_empty() { "none has one".to_owned() } else { format!("those of {}", with.join(", ")) };
            refused(format!("joint `{joint}` has no drive; {known}: give a whole drive, as a scene spells it"))
        })
    }

    /// Puts a drive on a joint, or takes it away.
    fn put_drive(&mut self, joint: &str, drive: Option<Drive>) -> PyResult<()> {
        let entity = self.sim.joint(joint).raised()?;
        let world = self.sim.world_mut();
        let done = match drive {
            Some(drive) => world.insert_one(entity, drive).is_ok(),
            None => world.remove_one::<Drive>(entity).is_ok(),
        };
        if done { Ok(()) } else { Err(refused(format!("joint `{joint}` is gone"))) }
    }
}
