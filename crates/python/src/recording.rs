//! Results of a run: channels as arrays without copies, tables for other libraries, pictures and reports.

use crate::error::{Raise, refused};
use crate::event::Event;
use crate::picture::{self, Picture};
use crate::query;
use crate::scene::Scene;
use bristle::dynamics::Counters;
use bristle::integrate::Stats;
use bristle::{Model, Simulation};
use bristle_report::plot::{Selection, select};
use bristle_report::report::{self, Facts};
use bristle_report::results::{Format, ResultEvent, Results, write};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Results of a run: named channels over time, and the changes of mode on the way.
///
/// >>> import bristle
/// >>> recording = bristle.Simulation("scenes/double_pendulum_coulomb.ron").run()
/// >>> recording["elbow.velocity"][-1]
/// np.float64(0.0)
/// >>> recording.names[:3]
/// ['t', 'shoulder.position', 'shoulder.velocity']
///
/// A channel is a read-only NumPy array without a copy. A notebook shows the interactive report.
#[pyclass(frozen, mapping, module = "bristle")]
pub struct Recording {
    results: Results,
    /// Where it came from; none for a table that was read from a file or pickled.
    run: Option<Run>,
}

/// The run that was recorded.
struct Run {
    scene: Scene,
    model: Arc<Model>,
    stats: Stats,
    counters: Counters,
    wall: Duration,
    warnings: Vec<String>,
    failure: Option<String>,
}

impl Recording {
    /// The columns of a recording, and the run that made it.
    pub fn new(
        recording: &bristle::Recording,
        scene: Scene,
        sim: &Simulation,
        wall: Duration,
        failure: Option<String>,
    ) -> PyResult<Self> {
        let warnings = scene.scene().warnings().into_iter().map(|warning| warning.to_string());
        let met = sim.warnings().into_iter().skip(sim.notes().len());
        let warnings = warnings.chain(met.map(|warning| format!("warning: {warning}"))).collect();
        let (model, stats, counters) = (Arc::clone(&sim.compiled().model), sim.stats(), sim.counters());
        let run = Some(Run { scene, model, stats, counters, wall, warnings, failure });
        Ok(Self { results: Results::from_recording(recording).raised()?, run })
    }

    /// The channels of a picture, with the units of the scene.
    fn selection(&self) -> Selection {
        let Some(run) = &self.run else { return Selection::default() };
        let scene = run.scene.scene();
        Selection::of(scene)
    }

    /// A column as an array.
    fn column<'py>(this: &Bound<'py, Self>, k: usize) -> Bound<'py, PyArray1<f64>> {
        let view = ArrayView1::from(&this.get().results.columns[k]);
        // SAFETY: the class is frozen, so its columns stay where they are as long as the array keeps the object alive.
        let array = unsafe { PyArray1::borrow_from_array(&view, this.clone().into_any()) };
        array.readwrite().make_nonwriteable();
        array
    }

    fn page(&self) -> PyResult<String> {
        let Some(run) = &self.run else {
            let reason = "a table that was read from a file or pickled has no report: it does not know its scene";
            return Err(refused(reason));
        };
        let facts = Facts {
            scene: run.scene.scene(),
            model: &run.model.tree,
            results: &self.results,
            stats: &run.stats,
            wall: run.wall,
            warnings: &run.warnings,
            overrides: run.scene.overrides(),
            failure: run.failure.as_deref(),
        };
        report::html(&facts).raised()
    }
}

#[pymethods]
impl Recording {
    /// Reads a table of results: `.csv`, `.npz` or `.json`.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { results: Results::read(&path).raised()?, run: None })
    }

    /// Writes the table: `.csv`, `.npz` or `.json` by extension; every number reads back as the same float.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let format = Format::of(&path).raised()?;
        let mut content = Vec::new();
        py.detach(|| write(&self.results, format, std::io::Cursor::new(&mut content))).raised()?;
        picture::write(&path, &content)
    }

    /// Names of the channels, `t` first.
    #[getter]
    fn names(&self) -> &[String] {
        &self.results.names
    }

    /// Times of the rows, s.
    #[getter]
    fn t<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Self::__getitem__(this, "t")
    }

    /// Changes of mode, impacts on stops and releases from them, in order of time.
    #[getter]
    fn events(&self) -> Vec<Event> {
        self.results.events.iter().map(Event::from).collect()
    }

    /// Time it took, s; `None` for a table from elsewhere.
    #[getter]
    fn wall(&self) -> Option<f64> {
        self.run.as_ref().map(|run| run.wall.as_secs_f64())
    }

    /// The scene that was run, with what callers have set on the simulation; `None` for a table from elsewhere.
    #[getter]
    fn scene(&self) -> Option<Scene> {
        self.run.as_ref().map(|run| run.scene.clone())
    }

    /// Work of the solver, counts by name as in `Simulation.stats`; `None` for a table from elsewhere.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.run.as_ref().map(|run| query::stats(py, &run.stats, &run.counters)).transpose()
    }

    /// Warnings about a run that went on.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.run.as_ref().map(|run| run.warnings.clone()).unwrap_or_default()
    }

    /// Names of the channels: a recording is a mapping.
    fn keys(&self) -> &[String] {
        &self.results.names
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.results.len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.results.names.iter().any(|known| known == name)
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.getattr("names")?.call_method0("__iter__")
    }

    fn __getitem__<'py>(this: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let names = &this.get().results.names;
        match names.iter().position(|known| known == name) {
            Some(k) => Ok(Self::column(this, k)),
            None => Err(PyKeyError::new_err(select::explain(name, names))),
        }
    }

    /// Last value of a channel.
    fn last(this: &Bound<'_, Self>, name: &str) -> PyResult<f64> {
        let column = Self::__getitem__(this, name)?;
        let values = column.readonly();
        values.as_slice()?.last().copied().ok_or_else(|| refused("the recording has no rows"))
    }

    /// Channels by name, as arrays without copies.
    fn to_dict<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(this.py());
        for (k, name) in this.get().results.names.iter().enumerate() {
            dict.set_item(name, Self::column(this, k))?;
        }
        Ok(dict)
    }

    /// A `pandas.DataFrame`, one column per channel.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pandas")?.call_method1("DataFrame", (Self::to_dict(this)?,))
    }

    /// A `polars.DataFrame`, one column per channel.
    fn to_polars<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("polars")?.call_method1("DataFrame", (Self::to_dict(this)?,))
    }

    /// A `pyarrow.Table`, one column per channel.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pyarrow")?.call_method1("table", (Self::to_dict(this)?,))
    }

    /// Draws channels over time, with stick phases, by the code of `bristle plot`.
    ///
    /// `channels` has names or patterns (`"*.velocity"`); positions, velocities, friction and energies if left out.
    ///
    /// >>> import bristle
    /// >>> recording = bristle.Simulation("scenes/double_pendulum_coulomb.ron").run()
    /// >>> picture = recording.plot("elbow.velocity", "elbow.friction")
    /// >>> picture.svg[:4]
    /// '<svg'
    #[pyo3(signature = (*channels, title=None, start=None, end=None))]
    fn plot(
        &self,
        channels: Vec<String>,
        title: Option<String>,
        start: Option<f64>,
        end: Option<f64>,
    ) -> PyResult<Picture> {
        let usual = self.selection();
        let title = title.unwrap_or_else(|| usual.title.clone());
        let selection = Selection { patterns: channels, title, from: start, to: end, ..usual };
        Picture::new(self.results.clone(), selection)
    }

    /// The interactive report as HTML, by the code of `bristle run --report`: the machine in motion, the curves in step
    /// with it, the energy ledger, the work of the solver, the scene. With a `path` it is written there, too.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<String> {
        if let Some(path) = &path {
            report::check_name(path).raised()?;
        }
        let page = py.detach(|| self.page())?;
        path.map_or(Ok(()), |path| picture::write(&path, page.as_bytes()))?;
        Ok(page)
    }

    /// The report in a frame of its own; a table from elsewhere shows its curves.
    fn _repr_html_(&self) -> PyResult<String> {
        if self.run.is_none() {
            return Ok(self.plot(Vec::new(), None, None, None)?.into_svg());
        }
        let page = report::escape(&self.page()?);
        Ok(format!("<iframe srcdoc=\"{page}\" width=\"100%\" height=\"760\" style=\"border:0\"></iframe>"))
    }

    fn __repr__(&self) -> String {
        let (rows, channels) = (self.results.len(), self.results.names.len());
        format!("<Recording of {rows} rows, {channels} channels, {} events>", self.results.events.len())
    }

    #[expect(clippy::type_complexity, reason = "what `__reduce__` must return")]
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Vec<String>, Vec<Bound<'py, PyArray1<f64>>>, Vec<Event>))> {
        let rebuild = this.get_type().getattr("_rebuild")?;
        let results = &this.get().results;
        let columns = (0..results.names.len()).map(|k| Self::column(this, k)).collect();
        Ok((rebuild, (results.names.clone(), columns, this.get().events())))
    }

    #[classmethod]
    fn _rebuild(
        _class: &Bound<'_, PyType>,
        names: Vec<String>,
        columns: Vec<PyReadonlyArray1<'_, f64>>,
        events: Vec<PyRef<'_, Event>>,
    ) -> Self {
        let columns = columns.iter().map(|column| column.as_array().to_vec()).collect();
        let events = events.iter().map(|event| ResultEvent::from(&**event)).collect();
        Self { results: Results { names, columns, events }, run: None }
    }
}
