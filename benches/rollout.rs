//! A batch of 1,024 double pendulums with dry friction in both joints, 1,000 steps of 1 ms on two threads:
//! `benches/peers/mujoco_rollout.py` runs it beside MuJoCo and prints the table. Output: one line of JSON with steps
//! per second, final positions, and those of a tight reference for every 64th pendulum.

use bristle::batch::Rollout;
use bristle::friction::Coulomb;
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use std::time::Instant;

const N: usize = 1024;
const STEPS: usize = 1000;

fn pendulum(method: Method, control: Control) -> Result<Simulation, Error> {
    let mut world = World::new();
    let link = || LinkInertia::diagonal(1.0, [0.0, 0.0, -0.25].into(), 0.02, 0.02, 0.001);
    let (upper, lower) = (world.spawn_link("upper", link()), world.spawn_link("lower", link()));
    let dry = Coulomb { coulomb: 0.1, stiction: 0.1, viscous: 0.0 };
    let axis = [0.0, 1.0, 0.0];
    world.spawn_joint(revolute("shoulder", axis).to(upper).friction(dry.into()));
    world.spawn_joint(revolute("elbow", axis).from(upper).to(lower).at([0.0, 0.0, -0.5]).friction(dry.into()));
    Simulation::with_settings(world, Settings { method, control, ..Settings::default() })
}

fn start(i: usize) -> [f64; 2] {
    [0.5 + 0.5 * i as f64 / N as f64, 0.2]
}

/// Processor time of this program so far, s; the ticks of `/proc/self/stat` are hundredths of a second.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = after_name.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn main() -> Result<(), Error> {
    let mut sim = pendulum(Method::RealTime, Control::Constant { step: 1e-3 })?;
    let mut batch = Batch::new(&mut sim, N)?.with_threads(2)?;
    for i in 0..N {
        batch.set_state(i, &start(i), &[0.0; 2])?;
    }
    // open loop with all states stored, as in MuJoCo's rollout; then with one call for every step, as in a controller
    let states: Vec<_> = (0..N).map(|i| batch.snapshot(i)).collect::<Result<_, _>>()?;
    let mut rollout = Rollout::default();
    batch.rollout(1e-3, 10, &[], &mut rollout)?;
    for (i, state) in states.iter().enumerate() {
        batch.restore(i, state)?;
    }
    let (clock, processor) = (Instant::now(), processor_time());
    batch.rollout(1e-3, STEPS, &[], &mut rollout)?;
    let rate = (N * STEPS) as f64 / clock.elapsed().as_secs_f64();
    let rate_processor = (N * STEPS) as f64 / (processor_time() - processor);
    let last_rolled = batch.positions().to_vec();
    for (i, state) in states.iter().enumerate() {
        batch.restore(i, state)?;
    }
    let (clock, processor) = (Instant::now(), processor_time());
    for _ in 0..STEPS {
        batch.step(1e-3)?;
    }
    let stepped = (N * STEPS) as f64 / clock.elapsed().as_secs_f64();
    let stepped_processor = (N * STEPS) as f64 / (processor_time() - processor);
    assert_eq!(batch.positions(), last_rolled);
    let mut reference = Vec::new();
    for i in (0..N).step_by(64) {
        let mut sim = pendulum(Method::Dopri5, Control::Error { rtol: 1e-11, atol: 1e-12 })?;
        for (name, q) in ["shoulder", "elbow"].into_iter().zip(start(i)) {
            sim.set_joint(name, q, 0.0)?;
        }
        sim.step(1e-3 * STEPS as f64)?;
        reference.push(sim.positions().to_vec());
    }
    let (shoulder, elbow) = batch.positions().split_at(N);
    let last: Vec<_> = (0..N).map(|i| [shoulder[i], elbow[i]]).collect();
    println!(
        "{{\"rate\": [{rate:?}, {rate_processor:?}], \"stepped\": [{stepped:?}, {stepped_processor:?}], \
         \"last\": {last:?}, \"reference\": {reference:?}}}"
    );
    Ok(())
}
