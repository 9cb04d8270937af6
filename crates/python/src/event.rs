//! Changes of mode.

use bristle_report::results::ResultEvent;
use pyo3::prelude::*;

/// A joint or coupling that stuck, let go or turned round.
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
}

impl From<&ResultEvent> for Event {
    fn from(event: &ResultEvent) -> Self {
        Self { t: event.t, joint: event.joint.clone(), before: event.from, after: event.to }
    }
}

impl From<&Event> for ResultEvent {
    fn from(event: &Event) -> Self {
        Self { t: event.t, joint: event.joint.clone(), from: event.before, to: event.after }
    }
}

#[pymethods]
impl Event {
    #[new]
    fn new(t: f64, joint: String, before: i8, after: i8) -> Self {
        Self { t, joint, before, after }
    }

    fn __repr__(&self) -> String {
        format!("Event(t={:?}, joint={:?}, before={}, after={})", self.t, self.joint, self.before, self.after)
    }

    fn __getnewargs__(&self) -> (f64, &str, i8, i8) {
        (self.t, &self.joint, self.before, self.after)
    }
}
