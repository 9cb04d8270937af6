//! A run that is recorded: without the interpreter lock, ended by Ctrl-C, its rows kept where it fails.

use super::Simulation;
use crate::error::Raise;
use crate::interrupt::{Interrupt, Interruptible};
use crate::recording::Recording;
use pyo3::prelude::*;
use std::rc::Rc;
use std::time::Instant;

impl Simulation {
    /// Runs to `until`, or to the end of the scene.
    pub(super) fn record(&mut self, py: Python<'_>, until: Option<f64>) -> PyResult<Recording> {
        self.take_efforts(py)?;
        let until = until.unwrap_or_else(|| self.scene.scene().duration);
        let scene = self.present_scene()?;
        let sim = &mut self.sim;
        let (result, recording, wall, raised) = py.detach(|| {
            let interrupt = Interrupt::new();
            let mut output = Interruptible { recording: sim.recording(), interrupt: Rc::clone(&interrupt) };
            let (start, within) = (Instant::now(), Rc::clone(&interrupt));
            let result = bristle::stop::until(move || within.is_asked(), || sim.run_with(until, &mut output));
            (result, output.recording, start.elapsed(), interrupt.take_raised())
        });
        self.show(py);
        if let Some(raised) = raised {
            return Err(raised);
        }
        let failure = result.as_ref().err().map(ToString::to_string);
        let recording = Recording::new(&recording, scene, &self.sim, wall, failure)?;
        match result.raised() {
            Ok(()) => Ok(recording),
            Err(error) => {
                error.value(py).setattr("recording", recording)?;
                Err(error)
            }
        }
    }
}
