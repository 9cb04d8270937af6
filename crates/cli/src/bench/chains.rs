//! What one evaluation of the equations costs on chains of pins, joint by joint.
//!
//! The right-hand side is evaluated at the seven points of a Dormand–Prince step, over and over, so that the implicit form has as
//! far to go from one evaluation to the next as in a run. A long chain is taut and quick: the step is the mean of those that error
//! control takes on the same chain. Nothing sticks.

use super::pendulum::{Pendulum, Way};
use bristle::formulation::{Machine, Snapshot};
use bristle::integrate::System;
use bristle::prelude::*;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Lengths of the chains.
pub const LENGTHS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// The ways that are compared: without friction, and two that solve for accelerations or jerks.
pub const WAYS: [Way; 3] = [Way::Crossings, Way::Implicit, Way::Jerk];

/// Nodes of the step.
const NODES: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];

/// Tolerances, relative and absolute, and the time over which the mean step is taken, s.
const TOLERANCES: (f64, f64) = (1e-8, 1e-10);
const TRIAL: f64 = 0.01;

/// A chain in motion, and the points at which it is evaluated.
pub struct Chain {
    machine: Machine,
    points: Vec<(f64, Vec<f64>)>,
    dy: Vec<f64>,
}

impl Chain {
    /// A chain of `n` pins; the trial run has the default tolerances, those above. What goes wrong comes back in words.
    pub fn new(n: usize, way: Way) -> Result<Self, String> {
        let world = Pendulum::chain_in_motion(n).world(way);
        let mut sim = Simulation::from_world(world).map_err(|error| error.to_string())?;
        let compiled = sim.compiled().clone();
        let mut start = Snapshot::rest(&compiled);
        start.mechanics.q.copy_from_slice(sim.positions());
        start.mechanics.v.copy_from_slice(sim.velocities());
        sim.step(TRIAL).map_err(|error| error.to_string())?;
        let step = TRIAL / sim.stats().n_accepted as f64;
        let mut machine = Machine::new(compiled, way.formulation(), Some(TOLERANCES));
        let mut y = vec![0.0; machine.max_dim()];
        machine.begin(&start, &mut y).map_err(|error| error.to_string())?;
        let mut dy = vec![0.0; y.len()];
        machine.rhs(0.0, &y, &mut dy).map_err(|trouble| format!("{trouble:?}"))?;
        let point = |c: f64| (c * step, y.iter().zip(&dy).map(|(y, dy)| y + c * step * dy).collect());
        let points = NODES.into_iter().map(point).collect();
        Ok(Self { machine, points, dy })
    }

    /// Evaluates at every point once, in order; something of the result.
    #[inline(never)]
    pub fn evaluate(&mut self) -> f64 {
        let mut sum = 0.0;
        for (t, y) in &self.points {
            // where it cannot be evaluated the sum tells
            sum += self.machine.rhs(*t, y, &mut self.dy).map_or(f64::NAN, |()| self.dy[0]);
        }
        sum
    }

    /// Sweeps and substitutions per evaluation.
    fn work(&mut self) -> [f64; 2] {
        let before = self.machine.counters();
        self.evaluate();
        let after = self.machine.counters();
        let sweeps = after.n_sweeps - before.n_sweeps + after.n_jerks - before.n_jerks;
        let substitutions = after.n_substitutions - before.n_substitutions + after.n_jerks - before.n_jerks;
        [sweeps, substitutions].map(|count| count as f64 / NODES.len() as f64)
    }

    /// ns per evaluation, the least of many.
    fn time(&mut self, repeats: usize) -> f64 {
        let mut time = |rounds: u32| {
            let start = Instant::now();
            for _ in 0..rounds {
                std::hint::black_box(self.evaluate());
            }
            start.elapsed()
        };
        let mut rounds = 1;
        while time(rounds) < Duration::from_micros(500) {
            rounds *= 2;
        }
        let least = (0..repeats).map(|_| time(rounds)).min().unwrap_or_default();
        least.as_secs_f64() * 1e9 / (f64::from(rounds) * NODES.len() as f64)
    }
}

/// The table, in Markdown: ns per evaluation and joint; below it sweeps and substitutions. `progress` is told what is being done.
pub fn table(repeats: usize, progress: &mut dyn FnMut(&str)) -> Result<String, String> {
    let mut text = String::from("ns per evaluation and joint\n\n| |");
    LENGTHS.iter().for_each(|n| text += &format!(" {n} |"));
    text += &format!(" 16 to 256 |\n|---|{}---|\n", "---|".repeat(LENGTHS.len()));
    for way in WAYS {
        let (mut times, mut works) = (Vec::new(), Vec::new());
        for n in LENGTHS {
            progress(&format!("{}: chain of {n}", way.name()));
            let mut chain = Chain::new(n, way)?;
            works.push(chain.work());
            times.push(chain.time(repeats) / n as f64);
        }
        let at = |n: usize| LENGTHS.iter().position(|length| *length == n).map_or(f64::NAN, |k| times[k]);
        let row: String = times.iter().map(|time| format!(" {time:.0} |")).collect();
        let _ = writeln!(text, "| {} |{row} {:+.0} % |", way.name(), 100.0 * (at(256) / at(16) - 1.0));
        for (k, what) in ["sweeps", "substitutions"].into_iter().enumerate() {
            if works[0][k] > 0.0 {
                let row: String = works.iter().map(|work| format!(" {:.1} |", work[k])).collect();
                let _ = writeln!(text, "| … {what} |{row} |");
            }
        }
    }
    Ok(text)
}
