//! Streamed and stored rows are the same; a run that is stopped or cannot be written ends at its present state.

use bristle::prelude::*;
use bristle::{Event, Record};
use std::ops::ControlFlow;

/// Stores rows, and ends the run after some time or some rows.
struct Stream {
    values: Vec<f64>,
    events: Vec<Event>,
    stop: f64,
    room: usize,
    reached: f64,
}

impl Stream {
    fn new(stop: f64, room: usize) -> Self {
        Self { values: Vec::new(), events: Vec::new(), stop, room, reached: 0.0 }
    }
}

impl Record for Stream {
    fn row(&mut self, row: &[f64]) -> Result<(), Error> {
        self.values.extend_from_slice(row);
        self.room = self
            .room
            .checked_sub(1)
            .ok_or_else(|| Error::Io { path: "disk".into(), source: std::io::ErrorKind::StorageFull.into() })?;
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), Error> {
        self.events.push(event);
        Ok(())
    }

    fn step(&mut self, t: f64) -> ControlFlow<()> {
        self.reached = t;
        if t >= self.stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn pendulum() -> Simulation {
    let scene = Scene::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes/double_pendulum_coulomb.ron")).unwrap();
    Simulation::new(&scene).unwrap()
}

#[test]
fn streamed_rows_equal_recorded_rows() {
    let kept = pendulum().run_until(2.0).unwrap();
    let mut stream = Stream::new(f64::INFINITY, usize::MAX);
    pendulum().run_with(2.0, &mut stream).unwrap();
    let kept_bits: Vec<u64> = kept.rows().flatten().map(|x| x.to_bits()).collect();
    assert_eq!(stream.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), kept_bits);
    assert_eq!(stream.events, kept.events());
    assert_eq!(stream.reached, 2.0);
}

#[test]
fn stopped_run_continues() {
    let mut sim = pendulum();
    let mut stream = Stream::new(1.0, usize::MAX);
    let error = sim.run_with(2.0, &mut stream).unwrap_err();
    assert!(matches!(error, Error::Stopped { t } if t == sim.time()) && !error.is_refusal(), "{error}");
    assert!(sim.time() >= 1.0 && sim.time() < 1.2, "{}", sim.time());

    // the same path: a stop between steps changes nothing
    sim.run_until(2.0).unwrap();
    let mut whole = pendulum();
    whole.run_until(2.0).unwrap();
    assert_eq!(sim.positions(), whole.positions());
}

#[test]
fn failed_row_ends_run() {
    let mut sim = pendulum();
    let error = sim.run_with(1e6, &mut Stream::new(f64::INFINITY, 100)).unwrap_err();
    assert!(matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull), "{error}");
    assert!(sim.time() < 1.2, "{}", sim.time());
}
