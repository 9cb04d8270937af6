//! The loops of `benches/python/calls.py` in Rust: the cost of a call from Python is their difference, in one process
//! and one build.

use crate::error::Raise;
use crate::scene::Scene;
use bristle::batch::{Batch, Rollout};
use pyo3::prelude::*;
use std::time::Instant;

/// Seconds that `n` steps of `dt` take in Rust.
#[pyfunction]
pub fn _seconds_of_steps(py: Python<'_>, scene: &Scene, dt: f64, n: usize) -> PyResult<f64> {
    py.detach(|| -> bristle::Result<f64> {
        let mut sim = bristle::Simulation::new(scene.scene())?;
        let start = Instant::now();
        for _ in 0..n {
            sim.step(dt)?;
        }
        Ok(start.elapsed().as_secs_f64())
    })
    .raised()
}

/// Seconds that each of `rounds` rollouts of `copies` takes in Rust, into the same memory.
#[pyfunction]
pub fn _seconds_of_rollouts(
    py: Python<'_>,
    scene: &Scene,
    copies: usize,
    dt: f64,
    steps: usize,
    rounds: usize,
) -> PyResult<Vec<f64>> {
    py.detach(|| -> bristle::Result<Vec<f64>> {
        let mut batch = Batch::new(&mut bristle::Simulation::new(scene.scene())?, copies)?;
        let mut rollout = Rollout::default();
        let mut seconds = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let start = Instant::now();
            batch.rollout(dt, steps, &[], &mut rollout)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(seconds)
    })
    .raised()
}
