//! Ctrl-C in a long run: signals are looked at some times a second, with the interpreter lock, and end the run.

use bristle::{Event, Record, Recording};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
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

/// Calls `work` on a thread of its own, without the interpreter lock, while this one looks for signals: the first
/// handler that raises sets `stop`, and its exception is returned beside the result.
pub fn watched<T: Send>(py: Python<'_>, stop: &AtomicBool, work: impl FnOnce() -> T + Send) -> (T, Option<PyErr>) {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel();
            let worker = scope.spawn(move || {
                let result = work();
                // the receiver lives until the end of this call
                let _ = done.send(());
                result
            });
            let mut raised = None;
            // a panic of the worker ends this loop, too
            while is_done.recv_timeout(PERIOD) == Err(mpsc::RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(|py| py.check_signals()).err();
                    stop.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            match worker.join() {
                Ok(result) => (result, raised),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
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
