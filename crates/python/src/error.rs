//! Errors as exceptions: the classes are those of `bristle/errors.py`, so that they can be pickled and documented
//! there.
//!
//! | error | exception |
//! |---|---|
//! | a scene that is refused | `SceneError`, with file, line and caret in its message |
//! | any other refused input | `RefusedError`, which is a `ValueError` |
//! | a run that failed | `SimulationError`, which is a `RuntimeError` |
//! | a file | `OSError` |

use bristle::Error;
use bristle::scene::SceneError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static SCENE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static REFUSED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static SIMULATION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// An exception of a class of `bristle.errors`; where that cannot be imported, the reason.
fn exception<A: pyo3::PyErrArguments + Send + Sync + 'static>(
    py: Python<'_>,
    class: &'static PyOnceLock<Py<PyType>>,
    name: &str,
    arguments: A,
) -> PyErr {
    match class.import(py, "bristle.errors", name) {
        Ok(class) => PyErr::from_type(class.clone(), arguments),
        Err(error) => error,
    }
}

/// An input that is refused.
pub fn refused(message: impl Into<String>) -> PyErr {
    let message = message.into();
    Python::attach(|py| exception(py, &REFUSED, "RefusedError", (message,)))
}

/// A scene that is refused. Overrides go by the method that made them.
pub fn scene_error(mut error: SceneError) -> PyErr {
    for problem in &mut error.problems {
        if problem.overridden.is_some() {
            problem.file = "Scene.set".into();
        }
    }
    let problem = |problem: &bristle::scene::Problem| {
        let place = problem.position.map(|position| (position.line, position.column));
        let (line, column) = place.map_or((None, None), |(line, column)| (Some(line), Some(column)));
        let help = problem.help.to_string();
        (problem.file.clone(), line, column, problem.path.clone(), problem.reason.clone(), help)
    };
    let problems: Vec<_> = error.problems.iter().map(problem).collect();
    let message = error.to_string();
    Python::attach(|py| exception(py, &SCENE, "SceneError", (message, problems)))
}

/// Results of the library as results of a Python call.
pub trait Raise<T> {
    /// The error as an exception.
    fn raised(self) -> PyResult<T>;
}

impl<T> Raise<T> for bristle::Result<T> {
    fn raised(self) -> PyResult<T> {
        self.map_err(|error| match error {
            Error::Scene(error) => scene_error(error),
            // the subclass that Python users catch: `FileNotFoundError`, `PermissionError`, …
            Error::Io { ref source, .. } => std::io::Error::new(source.kind(), error.to_string()).into(),
            error if error.is_refusal() => refused(error.to_string()),
            error => {
                let message = error.to_string();
                Python::attach(|py| exception(py, &SIMULATION, "SimulationError", (message,)))
            }
        })
    }
}

impl<T> Raise<T> for Result<T, SceneError> {
    fn raised(self) -> PyResult<T> {
        self.map_err(scene_error)
    }
}

/// Errors of pictures, reports and tables: files are `OSError`, the rest is refused input.
impl<T> Raise<T> for anyhow::Result<T> {
    fn raised(self) -> PyResult<T> {
        self.map_err(|error| {
            let message = format!("{error:#}");
            match error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()) {
                Some(cause) => std::io::Error::new(cause.kind(), message).into(),
                None => refused(message),
            }
        })
    }
}
