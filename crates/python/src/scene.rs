//! Scenes: read, changed by path, saved.

use crate::error::Raise;
use crate::sensitivities::Sensitivities;
use crate::value;
use bristle::urdf::{FrictionFile, Import, Options, load_scene, read_scene};
use bristle_report::written;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;

/// A machine with its solver settings, read from RON or URDF and checked.
///
/// >>> import bristle
/// >>> scene = bristle.Scene.load("scenes/double_pendulum_coulomb.ron")
/// >>> scene.set("joints.elbow.friction.coulomb", 0.1)
/// >>> scene.set("solver.method", "Radau5")
/// >>> scene.joint_names
/// ['shoulder', 'elbow']
///
/// A scene that cannot be is refused with file, line and a caret under the place:
///
/// >>> bristle.Scene.parse("Scene(links: [], joints: [], duration: -1.0)")
/// Traceback (most recent call last):
///   ...
/// bristle.errors.SceneError: ...
#[pyclass(module = "bristle")]
#[derive(Clone)]
pub struct Scene {
    /// The text and the name of its file, and what is put on top of it.
    text: String,
    file: String,
    options: Options,
    /// The machine, and what was understood of a robot.
    pub import: Import,
}

impl Scene {
    fn read(text: String, file: String, options: Options) -> PyResult<Self> {
        let import = read_scene(&text, &file, &options).raised()?;
        Ok(Self { text, file, options, import })
    }

    /// A scene from a text; `file` is the name it goes by in messages.
    pub fn of_text(text: String, file: &str) -> PyResult<Self> {
        Self::read(text, file.to_owned(), Options::default())
    }

    /// The scene.
    pub fn scene(&self) -> &bristle::Scene {
        &self.import.scene
    }

    /// Values put in place of those of the text, by path.
    pub fn overrides(&self) -> &[(String, String)] {
        &self.options.overrides
    }

    /// The same with more values in their places.
    pub fn with(&self, overrides: impl IntoIterator<Item = (String, String)>) -> PyResult<Self> {
        let mut options = self.options.clone();
        options.overrides.extend(overrides);
        Self::read(self.text.clone(), self.file.clone(), options)
    }

    /// The same for a problem that is reported by a row of a table.
    pub fn at_point(&self, overrides: &[(String, String)]) -> Result<bristle::Scene, bristle::scene::SceneError> {
        let mut options = self.options.clone();
        options.overrides.extend_from_slice(overrides);
        read_scene(&self.text, &self.file, &options).map(|import| import.scene)
    }
}

/// A scene, or the file of one.
pub enum SceneOrPath<'py> {
    Scene(PyRef<'py, Scene>),
    Path(PathBuf),
}

impl<'py> FromPyObject<'_, 'py> for SceneOrPath<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(scene) = value.cast::<Scene>() {
            return Ok(Self::Scene(scene.try_borrow()?));
        }
        let given = || PyTypeError::new_err(format!("a `Scene` is wanted, or the name of its file, not {}", &*value));
        value.extract().map(Self::Path).map_err(|_| given())
    }
}

impl SceneOrPath<'_> {
    /// The scene.
    pub fn load(self) -> PyResult<Scene> {
        match self {
            Self::Scene(scene) => Ok(Scene::clone(&scene)),
            Self::Path(path) => Scene::load_file(path, Options::default()),
        }
    }
}

impl Scene {
    fn load_file(path: PathBuf, options: Options) -> PyResult<Self> {
        let import = load_scene(&path, &options).raised()?;
        let text = import.scene.origin.text().unwrap_or_default().to_owned();
        let file = import.scene.origin.file().unwrap_or_default().to_owned();
        Ok(Self { text, file, options, import })
    }
}

/// Friction to put on: a file, as `FrictionFile` reads it.
fn friction_file(path: Option<PathBuf>) -> PyResult<Option<FrictionFile>> {
    path.map(FrictionFile::load).transpose().raised()
}

#[pymethods]
impl Scene {
    /// Reads a scene (RON) or a robot (URDF), whichever the file holds.
    ///
    /// `friction` is a file with laws and loads by joint name, `floating` frees the root of a robot, `strict` refuses
    /// whatever of a robot is left over, `no_limits` leaves out its stops and largest efforts, `set` has values by
    /// path, as in `Scene.set`.
    ///
    /// >>> import bristle
    /// >>> robot = bristle.Scene.load(
    /// ...     "crates/bristle/examples/robot.urdf", friction="crates/bristle/examples/friction.ron")
    /// >>> robot.joint_names
    /// ['world_to_base', 'shoulder', 'elbow']
    #[classmethod]
    #[pyo3(signature = (path, *, friction=None, floating=false, strict=false, no_limits=false, set=None))]
    fn load(
        _class: &Bound<'_, PyType>,
        path: PathBuf,
        friction: Option<PathBuf>,
        floating: bool,
        strict: bool,
        no_limits: bool,
        set: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (friction, overrides) = (friction_file(friction)?, value::overrides(set)?);
        let options = Options { floating, strict, no_limits, friction, overrides };
        Self::load_file(path, options)
    }

    /// Reads the text of a scene or robot; `file` is the name it goes by in messages.
    ///
    /// >>> import bristle
    /// >>> scene = bristle.Scene.parse('''Scene(
    /// ...     links: [Link(name: "block", mass: 1.0, inertia: Diagonal(0.1, 0.1, 0.1))],
    /// ...     joints: [Joint(name: "slide", parent: "world", child: "block",
    /// ...                    kind: Prismatic(axis: (1.0, 0.0, 0.0)), velocity: 1.0,
    /// ...                    friction: Coulomb(coulomb: 2.0))],
    /// ...     duration: 1.0,
    /// ... )''')
    /// >>> scene.duration
    /// 1.0
    #[classmethod]
    #[pyo3(signature = (text, file="text", *, set=None))]
    fn parse(_class: &Bound<'_, PyType>, text: String, file: &str, set: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = Options { overrides: value::overrides(set)?, ..Options::default() };
        Self::read(text, file.to_owned(), options)
    }

    /// Puts a value in the place of the one that a path names, such as `"joints.elbow.friction.coulomb"`.
    ///
    /// Numbers, bools, tuples and lists are written as they are; a `str` stands for itself: `"Radau5"`,
    /// `"Coulomb(coulomb: 0.3)"`; text that has spaces is quoted, `'"my robot"'`. A refused value changes nothing.
    ///
    /// >>> import bristle
    /// >>> scene = bristle.Scene.load("scenes/double_pendulum.ron")
    /// >>> scene.set("duration", 2)
    /// >>> scene.set("gravity", (0, 0, -1.62))
    /// >>> scene.duration, scene.gravity
    /// (2.0, (0.0, 0.0, -1.62))
    fn set(&mut self, path: String, value: &Bound<'_, PyAny>) -> PyResult<()> {
        *self = self.with([(path, value::ron(value)?)])?;
        Ok(())
    }

    /// Puts several values in their places at once: `{path: value}`, for those that only go together.
    ///
    /// >>> import bristle
    /// >>> scene = bristle.Scene.load("scenes/double_pendulum.ron")
    /// >>> scene.update({"solver.method": "Rk4", "solver.control": "Constant(step: 1e-3)"})
    /// >>> scene.method
    /// 'Rk4'
    fn update(&mut self, values: &Bound<'_, PyDict>) -> PyResult<()> {
        *self = self.with(value::overrides(Some(values))?)?;
        Ok(())
    }

    /// The number at a path, such as `"joints.elbow.friction.coulomb"`.
    ///
    /// >>> import bristle
    /// >>> bristle.Scene.load("scenes/double_pendulum_coulomb.ron").number("joints.elbow.friction.coulomb")
    /// 0.25
    fn number(&self, path: &str) -> PyResult<f64> {
        self.scene().number(path).raised()
    }

    /// Channels of a run of the scene and their derivatives in the parameters at `paths`, exact through located events.
    ///
    /// `channels` and `times` choose rows and columns; all channels that have derivatives, at the output instants, if
    /// left out. See `Sensitivities`.
    #[pyo3(signature = (paths, *, channels=None, times=None))]
    fn sensitivities(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        channels: Option<Vec<String>>,
        times: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sensitivities> {
        let times = times.map(|times| crate::arrays::column("times", times)).transpose()?;
        Sensitivities::of(py, self.scene(), &paths, channels, times)
    }

    /// A copy of its own.
    fn copy(&self) -> Self {
        self.clone()
    }

    fn __copy__(&self) -> Self {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    /// The scene as RON, with the values that were set; reading it gives the same scene.
    fn to_ron(&self) -> PyResult<String> {
        self.scene().to_ron().raised()
    }

    /// Writes `to_ron()` into a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let text = self.to_ron()?;
        crate::picture::write(&path, text.as_bytes())
    }

    /// The title.
    #[getter]
    fn name(&self) -> &str {
        &self.scene().name
    }

    /// Simulated time, s.
    #[getter]
    fn duration(&self) -> f64 {
        self.scene().duration
    }

    /// Time between two rows of a recording, s.
    #[getter]
    fn interval(&self) -> f64 {
        self.scene().output.interval
    }

    /// Acceleration of gravity in world axes, m/s².
    #[getter]
    fn gravity(&self) -> (f64, f64, f64) {
        self.scene().gravity.into()
    }

    /// The stepper, as a scene spells it.
    #[getter]
    fn method(&self) -> String {
        written(&self.scene().method())
    }

    /// The step control, as a scene spells it.
    #[getter]
    fn control(&self) -> String {
        written(&self.scene().control())
    }

    /// Names of the joints, in the order of the scene.
    #[getter]
    fn joint_names(&self) -> Vec<&str> {
        self.scene().joints.iter().map(|joint| joint.name.as_str()).collect()
    }

    /// Names of the couplings and loop joints, in the order of the scene.
    #[getter]
    fn coupling_names(&self) -> Vec<&str> {
        self.scene().couplings.iter().map(bristle::scene::Coupling::name).collect()
    }

    /// Names of the links, in the order of the scene.
    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.scene().links.iter().map(|link| link.name.as_str()).collect()
    }

    /// Warnings: values with a probably unintended meaning, each with file, line and caret.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.scene().warnings().iter().map(ToString::to_string).collect()
    }

    /// Repairs of a robot, and its unused parts.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.import.notes.clone()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.scene() == other.scene()
    }

    fn __repr__(&self) -> String {
        let scene = self.scene();
        let (links, joints) = (scene.links.len(), scene.joints.len());
        format!("<Scene {:?} from {:?}: {links} links, {joints} joints>", scene.name, self.file)
    }

    fn _repr_html_(&self) -> PyResult<String> {
        Ok(format!("<pre>{}</pre>", bristle_report::report::escape(&self.to_ron()?)))
    }

    #[expect(clippy::type_complexity, reason = "what `__reduce__` must return")]
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, String, Option<(String, String)>, [bool; 3], Vec<(String, String)>))>
    {
        let rebuild = this.get_type().getattr("_rebuild")?;
        let this = this.borrow();
        let Options { floating, strict, no_limits, friction, overrides } = this.options.clone();
        let friction = friction.map(|file| (file.file, file.text));
        Ok((rebuild, (this.text.clone(), this.file.clone(), friction, [floating, strict, no_limits], overrides)))
    }

    #[classmethod]
    fn _rebuild(
        _class: &Bound<'_, PyType>,
        text: String,
        file: String,
        friction: Option<(String, String)>,
        flags: [bool; 3],
        overrides: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let friction = friction.map(|(file, text)| FrictionFile::new(file, text));
        let [floating, strict, no_limits] = flags;
        Self::read(text, file, Options { floating, strict, no_limits, friction, overrides })
    }
}
