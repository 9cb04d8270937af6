//! A machine in motion.

mod by_name;
mod mechanics;
mod record;
mod views;

pub use views::{directions, homogeneous, six};

use crate::arrays::{Shown, numbers, rows};
use crate::error::Raise;
use crate::event::Event;
use crate::recording::Recording;
use crate::scene::{Scene, SceneOrPath};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::PathBuf;

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

    /// Bristle states in the order of `contact_names`: deflection z, and w of `LuGre2`; `(n_contacts, 2)`.
    #[getter]
    fn bristles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let states: Vec<[f64; 2]> = self.sim.bristles().iter().map(|state| [state.z, state.w]).collect();
        rows(py, &states)
    }

    /// Modes in the order of `contact_names`: -1, 0 (stuck), 1.
    #[getter]
    fn modes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i8>> {
        PyArray1::from_vec(py, directions(self.sim.modes()))
    }

    /// Changes of mode, impacts on stops and releases from them in the last call of `step`.
    #[getter]
    fn events(&self) -> Vec<Event> {
        let compiled = self.sim.compiled();
        let event = |event: &bristle::simulation::ModeEvent| Event {
            t: event.t,
            joint: compiled.contact_name(event.contact).to_owned(),
            before: event.from.direction() as i8,
            after: event.to.direction() as i8,
            kind: event.kind,
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

    /// Names of the joints with a drive.
    #[getter]
    pub fn drive_names(&self) -> Vec<&str> {
        let compiled = self.sim.compiled();
        compiled.inputs.drives.iter().map(|at| compiled.model.tree.joint_names[at.joint].as_str()).collect()
    }

    /// Names of the channels that `run` records, `t` first.
    #[getter]
    fn channel_names(&self) -> Vec<String> {
        self.sim.recording().names().to_vec()
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

    /// Internal steps that one call of `step` may take before it is an error.
    fn set_max_steps(&mut self, steps: usize) {
        self.sim.set_max_steps(steps);
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
