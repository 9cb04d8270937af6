//! Cost of one evaluation of the equations on chains of pins, per joint.
//!
//! The right-hand side is evaluated at the points of a run, in their order, so that the start values of the implicit
//! form are as good as in that run. A long chain is taut and fast, and needs shorter steps. No joint sticks, and modes
//! do not change.

use super::pendulum::{Pendulum, Way};
use bristle::compile::{compile, read_state};
use bristle::dynamics::Snapshot;
use bristle::integrate::{Control, Driver, EvalError, Method, Options, System};
use bristle::stick_slip::Machine;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Lengths of the chains.
pub const LENGTHS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// The formulations compared: without friction, implicit and jerk.
pub const WAYS: [Way; 3] = [Way::Crossings, Way::Implicit, Way::Jerk];

/// Tolerances of the run, relative and absolute.
const TOLERANCES: (f64, f64) = (1e-8, 1e-10);

/// Evaluations that are used: ten steps, after as many for the adaptation of the step size.
const SKIPPED: usize = 60;
pub const KEPT: usize = 60;

/// A chain in motion, and the points at which it is evaluated.
pub struct Chain {
    machine: Machine,
    points: Vec<(f64, Vec<f64>)>,
    dy: Vec<f64>,
}

/// Right-hand sides alone, each point noted.
struct Noted<'m> {
    machine: &'m mut Machine,
    points: Vec<(f64, Vec<f64>)>,
}

impl System for Noted<'_> {
    fn dim(&self) -> usize {
        self.machine.dim()
    }

    fn rhs(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), EvalError> {
        self.points.push((t, y.to_vec()));
        self.machine.rhs(t, y, dy)
    }
}

impl Chain {
    /// A chain of `n` pins; errors are text.
    pub fn new(n: usize, way: Way) -> Result<Self, String> {
        let world = Pendulum::chain_in_motion(n).world(way).map_err(|error| error.to_string())?;
        let compiled = compile(&world).map_err(|error| error.to_string())?;
        let mut start = Snapshot::rest(&compiled);
        read_state(&world, &compiled, &mut start.mechanics).map_err(|error| error.to_string())?;
        let mut machine = Machine::new(compiled, way.formulation(), Some(TOLERANCES));
        let mut y = vec![0.0; machine.max_dim()];
        machine.begin(&start, &mut y).map_err(|error| error.to_string())?;

        let mut noted = Noted { machine: &mut machine, points: Vec::new() };
        let options = Options::new(Method::Dopri5, Control::error(TOLERANCES.0, TOLERANCES.1));
        let mut driver = Driver::new(&mut noted, 0.0, &y, options).map_err(|error| error.to_string())?;
        while noted.points.len() < SKIPPED + KEPT {
            driver.step(&mut noted, 1.0, &mut ()).map_err(|error| error.to_string())?;
        }
        let points = noted.points.drain(SKIPPED..SKIPPED + KEPT).collect();
        Ok(Self { machine, points, dy: vec![0.0; y.len()] })
    }

    /// Evaluates at every point once, in order; returns a part of the result.
    #[inline(never)]
    pub fn evaluate(&mut self) -> f64 {
        let mut sum = 0.0;
        for (t, y) in &self.points {
            // a failed evaluation makes the sum NaN
            sum += self.machine.rhs(*t, y, &mut self.dy).map_or(f64::NAN, |()| self.dy[0]);
        }
        sum
    }

    /// Sweeps and substitutions per evaluation.
    fn work(&mut self) -> [f64; 2] {
        let before = self.machine.dynamics.counters();
        self.evaluate();
        let after = self.machine.dynamics.counters();
        let sweeps = after.n_sweeps - before.n_sweeps + after.n_jerks - before.n_jerks;
        let substitutions = after.n_substitutions - before.n_substitutions + after.n_jerks - before.n_jerks;
        [sweeps, substitutions].map(|count| count as f64 / KEPT as f64)
    }

    /// ns per evaluation, the minimum of many.
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
        least.as_secs_f64() * 1e9 / (f64::from(rounds) * KEPT as f64)
    }
}

/// Cost of evaluations on chains of all lengths.
pub struct Cost {
    /// The formulation.
    pub way: Way,
    /// ns per evaluation and joint, for each of [`LENGTHS`].
    pub times: Vec<f64>,
    /// Sweeps and substitutions per evaluation.
    works: Vec<[f64; 2]>,
}

/// All formulations on all lengths. `progress` receives the present task.
pub fn measure(repeats: usize, progress: &mut dyn FnMut(&str)) -> Result<Vec<Cost>, String> {
    let mut costs = Vec::new();
    for way in WAYS {
        let mut cost = Cost { way, times: Vec::new(), works: Vec::new() };
        for n in LENGTHS {
            progress(&format!("{}: chain of {n}", way.name()));
            let mut chain = Chain::new(n, way)?;
            cost.works.push(chain.work());
            cost.times.push(chain.time(repeats) / n as f64);
        }
        costs.push(cost);
    }
    Ok(costs)
}

/// The table, in Markdown: ns per evaluation and joint; below it sweeps and substitutions. `progress` receives the
/// present task.
pub fn table(repeats: usize, progress: &mut dyn FnMut(&str)) -> Result<String, String> {
    let mut text = String::from("ns per evaluation and joint\n\n| |");
    LENGTHS.iter().for_each(|n| text += &format!(" {n} |"));
    text += &format!(" 16 to 256 |\n|---|{}---|\n", "---|".repeat(LENGTHS.len()));
    for Cost { way, times, works } in measure(repeats, progress)? {
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
