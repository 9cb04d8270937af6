//! An arm of seven joints, each with friction and a controller, advanced by 1 ms per call.
//!
//! Every call of `Simulation::step` is timed, write-back to the entities included. The same run is made several times:
//! the minimum time of a step over the runs is its own, the rest comes from the scheduler. An error is the largest
//! difference of any angle at any millisecond from a tight run of the same equations.

use bristle::friction::{Coulomb, Law, LuGre};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use std::fmt::Write;
use std::time::Instant;

const N_JOINTS: usize = 7;

/// Length of a call, s.
const PERIOD: f64 = 1e-3;

/// A law on all joints, a stepper, and their name.
struct Way {
    name: &'static str,
    law: fn() -> Law,
    method: Method,
    control: Control,
}

fn lugre() -> Law {
    LuGre {
        sigma0: 1e5,
        sigma1: 50.0,
        sigma2: 0.5,
        coulomb: 2.0,
        stiction: 3.0,
        stribeck_velocity: Some(1e-2),
        exponent: 2.0,
        damping_velocity: None,
    }
    .into()
}

fn coulomb() -> Law {
    Coulomb { coulomb: 2.0, stiction: 3.0, viscous: 0.5 }.into()
}

fn ways() -> [Way; 6] {
    let fixed = Control::Constant { step: PERIOD };
    let error = |rtol: f64| Control::Error { rtol, atol: 1e-2 * rtol };
    [
        Way { name: "LuGre, `RealTime`", law: lugre, method: Method::RealTime, control: fixed },
        Way { name: "LuGre, `Radau5`, rtol 1e-5", law: lugre, method: Method::Radau5, control: error(1e-5) },
        Way { name: "Coulomb, `RealTime`", law: coulomb, method: Method::RealTime, control: fixed },
        Way { name: "Coulomb, `Rk4`, events located", law: coulomb, method: Method::Rk4, control: fixed },
        Way { name: "Coulomb, `Dopri5`, rtol 1e-5", law: coulomb, method: Method::Dopri5, control: error(1e-5) },
        Way { name: "Coulomb, `Dopri5`, rtol 1e-8", law: coulomb, method: Method::Dopri5, control: error(1e-8) },
    ]
}

/// An arm with alternating axes.
fn arm(law: &Law) -> World {
    let mut world = World::new();
    let mut last: Option<Entity> = None;
    for k in 0..N_JOINTS {
        let f = k as f64;
        let inertia = LinkInertia::diagonal(4.0 - 0.5 * f, [0.0, 0.02, 0.12].into(), 0.02, 0.02, 0.01);
        let link = world.spawn_link(&format!("link{k}"), inertia);
        let axis = if k % 2 == 0 { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 0.0] };
        let mut joint = revolute(&format!("joint{k}"), axis).to(link).at([0.0, 0.0, if k == 0 { 0.1 } else { 0.22 }]);
        if let Some(parent) = last {
            joint = joint.from(parent);
        }
        let target = Signal::Sine { amplitude: 0.5, frequency: 1.5 + 0.3 * f, phase: 0.4 * f, offset: 0.1 };
        joint = joint.armature(0.1).friction(law.clone());
        world.spawn_joint(joint.drive(Drive::Pid { kp: 2000.0, ki: 500.0, kd: 60.0, target }));
        last = Some(link);
    }
    world
}

/// One run: the time of each call, s, and the angles after it.
struct Run {
    times: Vec<f64>,
    angles: Vec<f64>,
    counters: bristle::dynamics::Counters,
    n_events: usize,
}

fn run(way: &Way, n: usize) -> bristle::Result<Run> {
    let settings = Settings { method: way.method, control: way.control, ..Settings::default() };
    let mut sim = Simulation::with_settings(arm(&(way.law)()), settings)?;
    let (mut times, mut angles) = (Vec::with_capacity(n), Vec::with_capacity(n * N_JOINTS));
    let mut n_events = 0;
    for _ in 0..n {
        let start = Instant::now();
        sim.step(PERIOD)?;
        times.push(start.elapsed().as_secs_f64());
        angles.extend_from_slice(sim.positions());
        n_events += sim.events().len();
    }
    Ok(Run { times, angles, counters: sim.counters(), n_events })
}

/// Median, worst and how many times faster than real time, of the times of calls in s.
fn measure(times: &[f64]) -> (f64, f64, f64) {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let factor = PERIOD * times.len() as f64 / times.iter().sum::<f64>();
    (1e6 * sorted[times.len() / 2], 1e6 * sorted[times.len() - 1], factor)
}

/// The table, and the rounds of the convex solver.
pub fn table(is_quick: bool, progress: &mut impl FnMut(&str)) -> Result<String, String> {
    let (n, runs) = if is_quick { (100, 2) } else { (4000, 20) };
    let mut text = format!(
        "{n} calls of `step(1e-3)`. µs of a call in the median and at worst, and times faster than real time: first \
         with the least time of {runs} runs for each call, then as the first run went\n\n| | median | worst | × real \
         time | first run: median | worst | × real time | largest error, rad | changes of mode \
         |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    let mut rounds = String::new();
    let mut tight: Option<(String, Vec<f64>)> = None;
    for way in &ways() {
        progress(&format!("arm, {}", way.name));
        let failed = |error: Error| format!("{}: {error}", way.name);
        let first = run(way, n).map_err(failed)?;
        let mut least = first.times.clone();
        for _ in 1..runs {
            let again = run(way, n).map_err(failed)?;
            least.iter_mut().zip(&again.times).for_each(|(least, time)| *least = least.min(*time));
        }
        let name = (way.law)().name().to_owned();
        if tight.as_ref().is_none_or(|(law, _)| *law != name) {
            progress(&format!("arm, {name}, tight"));
            let method = if name == "LuGre" { Method::Radau5 } else { Method::Dopri5 };
            let control = Control::Error { rtol: 1e-10, atol: 1e-12 };
            tight = Some((name, run(&Way { name: "tight", law: way.law, method, control }, n).map_err(failed)?.angles));
        }
        let errors = tight.iter().flat_map(|(_, tight)| first.angles.iter().zip(tight).map(|(a, b)| (a - b).abs()));
        let error = errors.fold(0.0_f64, f64::max);
        let (median, worst, factor) = measure(&least);
        let (median_1, worst_1, factor_1) = measure(&first.times);
        let _ = writeln!(
            text,
            "| {} | {median:.1} | {worst:.1} | {factor:.0} | {median_1:.1} | {worst_1:.0} | {factor_1:.0} | \
             {error:.1e} | {} |",
            way.name, first.n_events
        );
        if way.method == Method::RealTime {
            let (mean, most) = (first.counters.n_rounds as f64 / n as f64, first.counters.max_rounds);
            let _ =
                writeln!(rounds, "{}: {mean:.2} rounds of balance a step, {most} at most in one solution", way.name);
        }
    }
    Ok(format!("{text}\n{rounds}"))
}
