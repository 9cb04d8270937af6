//! Fits of parameters to measurements: logs from files or arrays, free parameters, the solution.

use crate::columns::Columns;
use crate::error::{Raise, refused};
use crate::fitted::Fitted;
use crate::interrupt;
use crate::scene::SceneOrPath;
use crate::value;
use bristle::fit::{self, FitFile, Initial, Log, Method, Progress, Watch};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Pairs of names of a `dict`.
fn pairs(dict: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(dict) = dict else { return Ok(Vec::new()) };
    dict.iter().map(|(key, value)| Ok((key.extract()?, value.extract()?))).collect()
}

/// Numbers by name of a `dict`.
fn numbers(dict: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, f64)>> {
    let Some(dict) = dict else { return Ok(Vec::new()) };
    dict.iter().map(|(key, value)| Ok((key.extract()?, value.extract()?))).collect()
}

/// A fit of parameters of a scene to logs.
///
/// >>> import bristle, numpy as np
/// >>> scene = bristle.Scene.parse('''Scene(
/// ...     gravity: (0.0, 0.0, 0.0),
/// ...     links: [Link(name: "body", mass: 2.0)],
/// ...     joints: [Joint(name: "slide", parent: "world", child: "body",
/// ...         kind: Prismatic(axis: (1.0, 0.0, 0.0)), velocity: 3.0, friction: Coulomb(coulomb: 1.0))],
/// ... )''')
/// >>> t = np.arange(0.0, 1.0, 0.02)
/// >>> fit = bristle.Fit(scene)
/// >>> fit.log({"t": t, "x": 3.0 * t - t * t}, compare={"slide.position": "x"})    # slowed down by 4 N
/// >>> fit.free("joints.slide.friction.coulomb", 1.0, (0.1, 20.0))
/// >>> fitted = fit.solve()
/// >>> round(fitted["joints.slide.friction.coulomb"], 6)
/// 4.0
///
/// `Fit.load` reads a fit file as the command `bristle fit` does.
#[pyclass(module = "bristle")]
#[derive(Clone)]
pub struct Fit {
    fit: fit::Fit,
}

impl Fit {
    fn change(&mut self, change: impl FnOnce(fit::Fit) -> fit::Fit) {
        self.fit = change(self.fit.clone());
    }
}

#[pymethods]
impl Fit {
    /// A fit of a scene, or of the scene in a file, without logs and free parameters.
    #[new]
    fn new(scene: SceneOrPath<'_>) -> PyResult<Self> {
        Ok(Self { fit: fit::Fit::new(scene.load()?.scene()) })
    }

    /// Reads a fit file; `set` has values of its scene by path.
    #[classmethod]
    #[pyo3(signature = (path, *, set=None))]
    fn load(_class: &Bound<'_, PyType>, path: PathBuf, set: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let set = value::overrides(set)?;
        let set: Vec<(&str, &str)> = set.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
        Ok(Self { fit: FitFile::load(path, &set).raised()?.fit })
    }

    /// Adds a log: the name of a CSV file, or arrays by name.
    ///
    /// `compare` has the measured column of each channel (`NAME.drive` is the effort of a drive), `noise` standard
    /// deviations and `band` corner frequencies (Hz) of a low-pass by channel. `inputs` has the column that each
    /// signal of the scene follows, linearly between rows; `held` the same, keeping the last value. `values` are
    /// values of the scene in this run alone. The first `skip` seconds are simulated and not compared. `initial` is
    /// "Measured", "Estimated" (part of the fit) or "Scene". With `hold_out` the log judges the result and is not
    /// fitted to.
    #[pyo3(signature = (
        table, *, compare, time=None, inputs=None, held=None, values=None, noise=None, band=None, skip=0.0,
        initial="Measured", hold_out=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn log(
        &mut self,
        table: Columns<'_>,
        compare: &Bound<'_, PyDict>,
        time: Option<&str>,
        inputs: Option<&Bound<'_, PyDict>>,
        held: Option<&Bound<'_, PyDict>>,
        values: Option<&Bound<'_, PyDict>>,
        noise: Option<&Bound<'_, PyDict>>,
        band: Option<&Bound<'_, PyDict>>,
        skip: f64,
        initial: &str,
        hold_out: bool,
    ) -> PyResult<()> {
        let mut log = Log::new(table.read()?).skip(skip).initial(match initial {
            "Measured" => Initial::Measured,
            "Estimated" => Initial::Estimated,
            "Scene" => Initial::Scene,
            _ => {
                return Err(refused(format!(
                    "`initial` is {initial:?}: write \"Measured\", \"Estimated\" or \"Scene\""
                )));
            }
        });
        if let Some(time) = time {
            log = log.time(time);
        }
        for (path, column) in pairs(inputs)? {
            log = log.input(&path, &column);
        }
        for (path, column) in pairs(held)? {
            log = log.held(&path, &column);
        }
        for (path, value) in value::overrides(values)? {
            log = log.value(&path, &value);
        }
        for (channel, column) in pairs(Some(compare))? {
            log = log.compare(&channel, &column);
        }
        for (what, given) in [("noise", numbers(noise)?), ("band", numbers(band)?)] {
            for (channel, number) in given {
                let compared = log.compare.iter_mut().find(|compare| compare.channel == channel);
                let compared =
                    compared.ok_or_else(|| refused(format!("`{what}` of `{channel}`, which is not compared")))?;
                if !(number.is_finite() && number > 0.0) {
                    return Err(refused(format!("`{what}` of `{channel}` is {number:?}: it must be positive")));
                }
                *(if what == "noise" { &mut compared.noise } else { &mut compared.band }) = Some(number);
            }
        }
        log.check().raised()?;
        self.change(|fit| if hold_out { fit.hold_out(log) } else { fit.log(log) });
        Ok(())
    }

    /// Frees a number of the scene by its path, from a start, within bounds. `*` in place of a name frees one each, or
    /// with `tied` one number for all; `logs.*.delay` is the time, s, by which the inputs of a log act late. `over`
    /// names a number beside it that the value is an excess over: `over="coulomb"` for a stiction.
    #[pyo3(signature = (path, start, bounds, *, tied=false, over=None))]
    fn free(&mut self, path: &str, start: f64, bounds: (f64, f64), tied: bool, over: Option<&str>) -> PyResult<()> {
        if tied && over.is_some() {
            return Err(refused("`tied` and `over` do not go together"));
        }
        let range = bounds.0..=bounds.1;
        self.change(|fit| match over {
            Some(over) => fit.excess(path, over, start, range),
            None if tied => fit.tied(path, start, range),
            None => fit.free(path, start, range),
        });
        Ok(())
    }

    /// Prior knowledge of a parameter: mean and standard deviation.
    fn prior(&mut self, path: &str, mean: f64, deviation: f64) {
        self.change(|fit| fit.prior(path, mean, deviation));
    }

    /// Checks the logs and the identifiability of the parameters, without a fit: a list of sentences.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.fit.check()).raised()
    }

    /// Solves the fit: `starts` starts over all cores (the first one as given, the others at random within the
    /// bounds), the same result for any number of them. `method` is "OutputError" (simulations against measurements)
    /// or "InverseDynamics" (efforts of the measured motion, low-pass of corner `band` Hz). With `windows`, s, output
    /// error simulates windows of that length, each from its measured state, in place of whole logs.
    ///
    /// `progress(start, starts, iteration, error)` is called after every iteration; where it returns False, the fit
    /// ends with the best values so far. Ctrl-C raises `KeyboardInterrupt`.
    #[pyo3(signature = (*, starts=None, seed=None, method=None, band=20.0, windows=None, progress=None))]
    fn solve(
        &self,
        py: Python<'_>,
        starts: Option<usize>,
        seed: Option<u64>,
        method: Option<&str>,
        band: f64,
        windows: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Fitted> {
        let mut fit = self.fit.clone();
        if let Some(starts) = starts {
            fit = fit.starts(starts);
        }
        if let Some(seed) = seed {
            fit = fit.seed(seed);
        }
        fit = match method {
            None => fit,
            Some("OutputError") => fit.method(Method::OutputError),
            Some("InverseDynamics") => fit.method(Method::InverseDynamics { band }),
            Some(other) => {
                return Err(refused(format!("`method` is {other:?}: write \"OutputError\" or \"InverseDynamics\"")));
            }
        };
        if let Some(seconds) = windows {
            if !(seconds.is_finite() && seconds > 0.0) {
                return Err(refused(format!("`windows` is {seconds:?}: it must be a positive length, s")));
            }
            fit = fit.windows(seconds);
        }
        let stop = AtomicBool::new(false);
        let failed = Mutex::new(None);
        let told = |at: Progress| {
            let Some(progress) = &progress else { return };
            let answer = Python::attach(|py| {
                let answer = progress.call1(py, (at.start, at.starts, at.iteration, at.error))?;
                Ok(answer.bind(py).extract::<bool>().unwrap_or(true))
            });
            let goes_on = answer.unwrap_or_else(|error: PyErr| {
                if let Ok(mut failed) = failed.lock() {
                    failed.get_or_insert(error);
                }
                false
            });
            if !goes_on {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch { is_stopped: &|| stop.load(Ordering::Relaxed), progress: &told };
        let (solved, raised) = interrupt::watched(py, &stop, || fit.solve_with(&watch));
        let failed = failed.into_inner().ok().flatten();
        raised.or(failed).map_or(Ok(()), Err)?;
        Ok(Fitted::new(solved.raised()?, fit))
    }

    /// The same fit of another scene: other laws, the same logs. Free parameters that it does not have are left out.
    fn with_scene(&self, scene: SceneOrPath<'_>) -> PyResult<Self> {
        Ok(Self { fit: self.fit.clone().with_scene(scene.load()?.scene()).keep_known() })
    }

    /// A copy of its own.
    fn copy(&self) -> Self {
        self.clone()
    }

    fn __repr__(&self) -> String {
        let [logs, held] = [self.fit.logs().len(), self.fit.held_out().len()];
        format!("<Fit of {:?}: {logs} logs, {held} held out>", self.fit.scene().name)
    }
}
