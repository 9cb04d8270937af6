//! Events: changes of mode, impacts on stops, release from stops.

use bristle::record::EventKind;
use bristle_report::results::ResultEvent;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A change of mode of a joint or coupling, an impact on a stop, or the release from one.
///
/// Modes are -1 (slips backward), 0 (stuck) and 1 (slips forward).
#[pyclass(frozen, eq, module = "bristle")]
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, s.
    #[pyo3(get)]
    pub t: f64,
    /// Name of the joint or coupling.
    #[pyo3(get)]
    pub joint: String,
    /// Mode before.
    #[pyo3(get)]
    pub before: i8,
    /// Mode after.
    #[pyo3(get)]
    pub after: i8,
    pub kind: EventKind,
}

impl From<&ResultEvent> for Event {
    fn from(event: &ResultEvent) -> Self {
        Self { t: event.t, joint: event.joint.clone(), before: event.from, after: event.to, kind: event.event }
    }
}

impl From<&Event> for ResultEvent {
    fn from(event: &Event) -> Self {
        Self { t: event.t, joint: event.joint.clone(), from: event.before, to: event.after, event: event.kind }
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (t, joint, before, after, kind = "mode"))]
    fn new(t: f64, joint: String, before: i8, after: i8, kind: &str) -> PyResult<Self> {
        let known = [EventKind::Mode, EventKind::Stop, EventKind::Open].into_iter().find(|known| known.name() == kind);
        let unknown = || PyValueError::new_err(format!("kind is \"mode\", \"stop\" or \"open\", not {kind:?}"));
        Ok(Self { t, joint, before, after, kind: known.ok_or_else(unknown)? })
    }

    /// `"mode"`, `"stop"` (an impact) or `"open"` (release from a stop).
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    fn __repr__(&self) -> String {
        let Self { t, joint, before, after, kind } = self;
        format!("Event(t={t:?}, joint={joint:?}, before={before}, after={after}, kind={:?})", kind.name())
    }

    fn __getnewargs__(&self) -> (f64, &str, i8, i8, &'static str) {
        (self.t, &self.joint, self.before, self.after, self.kind.name())
    }
}
