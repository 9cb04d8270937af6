//! A machine in motion.

mod record;
mod views;

pub use views::directions;

use crate::arrays::{Shown, matrix, numbers, rows};
use crate::error::Raise;
use crate::event::Event;
use crate::law::{self, Template};
use crate::query::{Energy, Linearization};
use crate::recording::Recording;
use crate::scene::{Scene, SceneOrPath};
use bristle::component::Load;
use bristle::friction::Law;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::PathBuf;
use views::transforms;

/// A machine in motion: run it to a time, or step by step.
///
/// >>> import bristle
/// >>> sim = bristle.Simulation("scenes/coulomb_oscillator.ron")
/// >>> q, v = sim.q, sim.v            # views: they show every later state
/// >>> while sim.time < 5.0:
/// ...     sim.step(0.5)
/// >>> float(v[0])                    # stuck is stuck
/// 0.0
///
/// `efforts` is a view to write into: numbers act from the next step on.
#[pyclass(module = "bristle")]
pub struct Simulation {
    pub sim: bristle::Simulation,
    /// The scene it was made from, and laws and loads that callers have put on it since.
    scene: Scene,
    put_on: Vec<(String, String)>,
    q: Shown,
    v: Shown,
    a: Option<Shown>,
    efforts: Option<Shown>,
    friction: Option<Shown>,
    loads: Option<Shown>,
}

#[pymethods]
impl Simulation {
    /// A scene, or the file of a scene (RON) or robot (URDF).
    #[new]
    fn new(py: Python<'_>, scene: SceneOrPath<'_>) -> PyResult<Self> {
        Self::of_scene(py, scene.load()?)
    }

    /// A robot, with friction from a file of its own.
    ///
    /// >>> import bristle
    /// >>> robot = bristle.Simulation.from_urdf(
    /// ...     "crates/bristle/examples/robot.urdf", friction="crates/bristle/examples/friction.ron")
    /// >>> robot.contact_names
    /// ['shoulder', 'elbow']
    #[classmethod]
    #[pyo3(signature = (path, friction=None, *, floating=false, no_limits=false))]
    fn from_urdf(
        class: &Bound<'_, PyType>,
        path: PathBuf,
        friction: Option<PathBuf>,
        floating: bool,
        no_limits: bool,
    ) -> PyResult<Self> {
        let py = class.py();
        let set = PyDict::new(py);
        set.set_item("friction", friction)?;
        set.set_item("floating", floating)?;
        set.set_item("no_limits", no_limits)?;
        let scene = py.get_type::<Scene>().call_method("load", (path,), Some(&set))?;
        let scene = scene.cast::<Scene>()?.borrow().clone();
        Self::of_scene(py, scene)
    }

    /// The scene it was made from.
    #[getter]
    fn scene(&self) -> Scene {
        self.scene.clone()
    }

    /// Time, s.
    #[getter]
    fn time(&self) -> f64 {
        self.sim.time()
    }

    /// Positions, a read-only view; a free joint has x, y, z and the quaternion w, x, y, z.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.q.array(py)
    }

    /// Velocities, a read-only view; a free joint has its angular, then its linear velocity, in child axes.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.v.array(py)
    }

    /// Accelerations, a read-only view.
    #[getter]
    fn a<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.a.get_or_insert_with(|| Shown::new(py, self.sim.accelerations(), false)).array(py)
    }

    /// Efforts on the joints, N·m or N, one per velocity: a view to write into. They act from the next step on.
    ///
    /// >>> import bristle
    /// >>> arm = bristle.Simulation("scenes/arm_3dof.ron")
    /// >>> arm.efforts[0] = 2.0
    /// >>> arm.step(1e-3)
    #[getter]
    fn efforts<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.efforts.get_or_insert_with(|| Shown::new(py, &self.sim.compiled().inputs.effort, true)).array(py)
    }

    #[setter(efforts)]
    fn put_efforts(&mut self, py: Python<'_>, efforts: &Bound<'_, PyAny>) -> PyResult<()> {
        let efforts = numbers("efforts", efforts, self.sim.velocities().len())?;
        self.sim.set_efforts(&efforts).raised()?;
        self.show_efforts(py);
        Ok(())
    }

    /// Friction efforts, a read-only view in the order of `contact_names`.
    #[getter]
    fn friction_efforts<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.friction.get_or_insert_with(|| Shown::new(py, self.sim.friction_efforts(), false)).array(py)
    }

    /// Normal loads, a read-only view in the order of `contact_names`.
    #[getter]
    fn loads<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.loads.get_or_insert_with(|| Shown::new(py, self.sim.loads(), false)).array(py)
    }

    /// Modes in the order of `contact_names`: -1, 0 (stuck), 1.
    #[getter]
    fn modes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        PyArray1::from_vec(py, directions(self.sim.modes()))
    }

    /// Changes of mode in the last call of `step`.
    #[getter]
    fn events(&self) -> Vec<Event> {
        let names: Vec<&str> = self.sim.contact_names().collect();
        let event = |event: &bristle::simulation::ModeEvent| Event {
            t: event.t,
            joint: names.get(event.contact).map_or_else(String::new, |name| (*name).to_owned()),
            before: event.from.direction() as i8,
            after: event.to.direction() as i8,
            kind: bristle::record::EventKind::Mode,
        };
        self.sim.events().iter().map(event).collect()
    }

    /// Names of the entries of `q`: joints, of a free joint `NAME.x` to `NAME.qz`.
    #[getter]
    fn position_names(&self) -> Vec<String> {
        self.sim.position_names()
    }

    /// Names of the entries of `v`, `a` and `efforts`: joints, of a free joint `NAME.wx` to
    /// `NAME.vz`.
    #[getter]
    fn velocity_names(&self) -> Vec<String> {
        self.sim.velocity_names()
    }

    /// Names of the entries of `reactions`: all joints, fixed ones included.
    #[getter]
    fn reaction_names(&self) -> &[String] {
        self.sim.reaction_names()
    }

    /// Names of the links: the children of `reaction_names`.
    #[getter]
    fn link_names(&self) -> &[String] {
        self.sim.link_names()
    }

    /// Names of the joints and couplings with friction.
    #[getter]
    fn contact_names(&self) -> Vec<&str> {
        self.sim.contact_names().collect()
    }

    /// Places of revolute and prismatic joints: name to (index in `q`, index in `v`).
    #[getter]
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for joint in self.sim.coordinates() {
            dict.set_item(joint.name, (joint.q, joint.v))?;
        }
        Ok(dict)
    }

    /// Advances by exactly `dt`, s.
    fn step(&mut self, py: Python<'_>, dt: f64) -> PyResult<()> {
        self.compute(py, |sim| sim.step(dt))
    }

    /// Runs to time `until`, s (the scene's duration if left out), and records on the way.
    ///
    /// A run that fails raises `SimulationError`, whose `recording` has the rows so far. Ctrl-C ends a run.
    ///
    /// >>> import bristle
    /// >>> recording = bristle.Simulation("scenes/single_pendulum.ron").run(2.0)
    /// >>> float(recording.t[-1])
    /// 2.0
    #[pyo3(signature = (until=None))]
    fn run(&mut self, py: Python<'_>, until: Option<f64>) -> PyResult<Recording> {
        self.record(py, until)
    }

    /// Takes in what has changed, without a step: accelerations, friction, loads and modes are those of now.
    fn refresh(&mut self, py: Python<'_>) -> PyResult<()> {
        self.compute(py, bristle::Simulation::refresh)
    }

    /// Position of a revolute or prismatic joint, rad or m.
    fn position(&self, joint: &str) -> PyResult<f64> {
        self.sim.position(joint).raised()
    }

    /// Velocity of a revolute or prismatic joint, rad/s or m/s.
    fn velocity(&self, joint: &str) -> PyResult<f64> {
        self.sim.velocity(joint).raised()
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

    /// Poses in the order of `link_names`; `(n_links, 4, 4)`.
    #[getter]
    fn poses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        transforms(py, self.sim.poses())
    }

    /// Sets the effort on a revolute or prismatic joint, N·m or N.
    fn set_effort(&mut self, py: Python<'_>, joint: &str, effort: f64) -> PyResult<()> {
        self.take_efforts(py)?;
        self.sim.set_effort(joint, effort).raised()?;
        self.show_efforts(py);
        Ok(())
    }

    /// Sets what the drive of a joint follows to a constant: the position of a `Pull` or `Pid`, the effort of an
    /// `Effort`.
    fn set_target(&mut self, joint: &str, target: f64) -> PyResult<()> {
        self.sim.set_target(joint, target).raised()
    }

    /// Sets the wrench on a link: moment about its origin, N·m, and force, N, in link axes.
    fn set_wrench(&mut self, link: &str, moment: [f64; 3], force: [f64; 3]) -> PyResult<()> {
        self.sim.set_wrench(link, moment, force).raised()
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
            Some(law) => law::parse("friction", law)?,
            None => self.contact(of)?.0,
        };
        let parameters = law::parameters(parameters)?;
        let law = if parameters.is_empty() { law } else { Template::new("friction law", &law)?.with(&parameters)? };
        let text = bristle_report::written(&law);
        self.sim.set_friction(of, law).raised()?;
        self.compute(py, bristle::Simulation::refresh)?;
        self.put_on.push((self.path_of(of, "friction"), text));
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
            Some(load) => law::parse("load", load)?,
            None => self.contact(of)?.1,
        };
        let parameters = law::parameters(parameters)?;
        let load = if parameters.is_empty() { load } else { Template::new("load", &load)?.with(&parameters)? };
        let text = bristle_report::written(&load);
        self.sim.set_load(of, load).raised()?;
        self.compute(py, bristle::Simulation::refresh)?;
        self.put_on.push((self.path_of(of, "load"), text));
        Ok(())
    }

    /// The friction law of a joint or coupling, as a scene spells it.
    fn friction_law(&mut self, of: &str) -> PyResult<String> {
        Ok(bristle_report::written(&self.contact(of)?.0))
    }

    /// Internal steps that one call of `step` may take before it is an error.
    fn set_max_steps(&mut self, steps: usize) {
        self.sim.set_max_steps(steps);
    }

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
    /// dampers, springs and drives as they act now. Friction of a joint at rest opposes the acceleration asked for; there
    /// is none where that is zero.
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
    #[pyo3(signature = (link, point=[0.0, 0.0, 0.0]))]
    fn jacobian<'py>(&mut self, py: Python<'py>, link: &str, point: [f64; 3]) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let jacobian = self.compute(py, |sim| sim.jacobian(link, point))?;
        let n = jacobian.ncols();
        matrix(py, bristle::nalgebra::DMatrix::from_column_slice(6, n, jacobian.as_slice()))
    }

    /// The equations about the present state, analytic, with the columns of the friction parameters.
    fn linearize(&mut self, py: Python<'_>) -> PyResult<Linearization> {
        let linear = self.compute(py, bristle::Simulation::linearize)?;
        Linearization::new(py, linear)
    }

    /// Everything as bytes: `restore` goes on from them bit by bit.
    fn snapshot<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.compute(py, bristle::Simulation::snapshot)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Goes on from a snapshot of this machine.
    ///
    /// >>> import bristle
    /// >>> sim = bristle.Simulation("scenes/double_pendulum_lugre.ron")
    /// >>> start = sim.snapshot()
    /// >>> sim.step(0.1); end = sim.q.copy()
    /// >>> sim.restore(start); sim.step(0.1)
    /// >>> bool((sim.q == end).all())
    /// True
    pub fn restore(&mut self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        let result = self.sim.restore(snapshot).raised();
        self.show(py);
        self.show_efforts(py);
        result
    }

    /// Back to where it was made, with the inputs it had then.
    fn reset(&mut self, py: Python<'_>) -> PyResult<()> {
        let sim = &mut self.sim;
        let result = py.detach(|| sim.reset()).raised();
        self.show(py);
        self.show_efforts(py);
        result
    }

    /// Warnings about a run that goes on.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.sim.warnings()
    }

    /// A copy that goes on by itself, bit by bit the same.
    pub fn copy(&mut self, py: Python<'_>) -> PyResult<Self> {
        let snapshot = self.compute(py, bristle::Simulation::snapshot)?;
        Self::_rebuild(&py.get_type::<Self>(), self.present_scene()?.into_pyobject(py)?.borrow(), &snapshot)
    }

    fn __copy__(&mut self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&mut self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    #[expect(clippy::type_complexity, reason = "what `__reduce__` must return")]
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Scene, Bound<'py, PyBytes>))> {
        let rebuild = this.get_type().getattr("_rebuild")?;
        let mut sim = this.try_borrow_mut()?;
        Ok((rebuild, (sim.present_scene()?, sim.snapshot(this.py())?)))
    }

    #[classmethod]
    fn _rebuild(class: &Bound<'_, PyType>, scene: PyRef<'_, Scene>, snapshot: &[u8]) -> PyResult<Self> {
        let py = class.py();
        let mut sim = Self::of_scene(py, Scene::clone(&scene))?;
        sim.restore(py, snapshot)?;
        Ok(sim)
    }

    fn __repr__(&self) -> String {
        let n = self.sim.reaction_names().len();
        format!("<Simulation of {:?} at t = {:?} s, {n} joints>", self.scene.scene().name, self.sim.time())
    }
}
