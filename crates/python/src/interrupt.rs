//! Ctrl-C in a long run: signals are looked at some times a second, with the interpreter lock, and end the run.

use bristle::{Event, Record, Recording};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Time between two looks.
const PERIOD: Duration = Duration::from_millis(100);

/// The request to end, and what raised it.
pub struct Interrupt {
    next: Cell<Instant>,
    raised: RefCell<Option<PyErr>>,
}

impl Interrupt {
    /// None yet.
    pub fn new() -> Rc<Self> {
        Rc::new(Self { next: Cell::new(Instant::now() + PERIOD), raised: RefCell::new(None) })
    }

    /// Whether a signal handler has raised something.
    pub fn is_asked(&self) -> bool {
        let now = Instant::now();
        if now >= self.next.get() {
            self.next.set(now + PERIOD);
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                *self.raised.borrow_mut() = Some(error);
            }
        }
        self.raised.borrow().is_some()
    }

    /// What a signal handler has raised.
    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.borrow_mut().take()
    }
}

/// A recording that an interrupt ends.
pub struct Interruptible {
    pub recording: Recording,
    pub interrupt: Rc<Interrupt>,
}

impl Record for Interruptible {
    fn row(&mut self, row: &[f64]) -> bristle::Result<()> {
        self.recording.row(row)
    }

    fn event(&mut self, event: Event) -> bristle::Result<()> {
        self.recording.event(event)
    }

    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        if self.interrupt.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    // a machine at rest has all the rows of its future in one step
    fn is_stopped(&self) -> bool {
        self.interrupt.is_asked()
    }
}
