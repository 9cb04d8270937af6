//! `RealTime` by the clock, and the largest fixed step of each stepper on one LuGre slider.
//!
//! ```text
//! cargo bench -p bristle --bench real_time
//! ```
//!
//! The arm has seven joints with LuGre friction, gravity, and a controller in each joint: 4 s in steps of 1 ms, every call of
//! `Simulation::step` timed, results on the entities included. The slider is that of Do, Ferri and Bauchau (2007), 20 s; a step is stable if
//! the run ends with speeds below twice the true largest, 0.3698 m/s, and friction below 1.6 N (it is 1.4766 N), at that step and at all
//! smaller ones of the list.

use bristle::friction::LuGre;
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use std::time::Instant;

const STEPS: [f64; 14] = [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 9e-4, 1e-3, 2e-3, 4e-3, 1e-2, 2e-2, 5e-2, 0.1];

fn main() -> Result<(), Error> {
    // `cargo test` runs benches for a moment only
    let is_quick = !std::env::args().any(|argument| argument == "--bench");
    time_of_a_step(if is_quick { 10 } else { 4000 })?;
    largest_steps(if is_quick { &STEPS[9..10] } else { &STEPS });
    Ok(())
}

/// An arm with alternating axes.
fn arm() -> World {
    let mut world = World::new();
    let mut last: Option<Entity> = None;
    for k in 0..7 {
        let f = f64::from(k);
        let inertia = LinkInertia::diagonal(4.0 - 0.5 * f, [0.0, 0.02, 0.12].into(), 0.02, 0.02, 0.01);
        let link = world.spawn_link(&format!("link{k}"), inertia);
        let axis = if k % 2 == 0 { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 0.0] };
        let mut joint = revolute(&format!("joint{k}"), axis).to(link).at([0.0, 0.0, if k == 0 { 0.1 } else { 0.22 }]);
        if let Some(parent) = last {
            joint = joint.from(parent);
        }
        let target = Signal::Sine { amplitude: 0.5, frequency: 1.5 + 0.3 * f, phase: 0.4 * f, offset: 0.1 };
        let law = LuGre {
            sigma0: 1e5,
            sigma1: 50.0,
            sigma2: 0.5,
            coulomb: 2.0,
            stiction: 3.0,
            stribeck_velocity: Some(1e-2),
            exponent: 2.0,
            damping_velocity: None,
        };
        joint = joint.armature(0.1).friction(law.into());
        world.spawn_joint(joint.drive(Drive::Pid { kp: 2000.0, ki: 500.0, kd: 60.0, target }));
        last = Some(link);
    }
    world
}

fn time_of_a_step(n: usize) -> Result<(), Error> {
    let control = Control::Constant { step: 1e-3 };
    let settings = Settings { method: Method::RealTime, control, ..Settings::default() };
    let mut sim = Simulation::with_settings(arm(), settings)?;
    let mut times = Vec::with_capacity(n);
    for _ in 0..n {
        let start = Instant::now();
        sim.step(1e-3)?;
        times.push(start.elapsed().as_secs_f64());
    }
    let sum: f64 = times.iter().sum();
    times.sort_by(f64::total_cmp);
    let [median, most, worst] = [n / 2, 99 * n / 100, n - 1].map(|k| 1e6 * times[k]);
    let (factor, rounds) = (1e-3 * n as f64 / sum, sim.counters());
    println!(
        "seven-joint LuGre arm at 1 ms: median {median:.1} µs a step, 99 % below {most:.1} µs, worst {worst:.1} µs, {factor:.0} × real time"
    );
    println!("rounds of balance: {:.2} a step, {} at most", rounds.n_rounds as f64 / n as f64, rounds.most_rounds);
    Ok(())
}

fn largest_steps(steps: &[f64]) {
    println!("\nlargest stable fixed step on the LuGre slider, s");
    for (method, published) in [
        ("Euler", "0.9e-3"),
        ("MixedEuler", "2e-3"),
        ("Rk4", "1e-3"),
        ("Trapezoidal", ""),
        ("Radau3", ""),
        ("GeneralizedAlpha(spectral_radius: 0.8)", ""),
        ("RealTime", ""),
    ] {
        let stable = steps.iter().take_while(|&&h| is_stable(method, h)).last();
        let stable = stable.map_or("none".to_owned(), |h| format!("{h:e}"));
        println!("{method:40} {stable:>8}   in aberger2002: {published}");
    }
}

fn is_stable(method: &str, h: f64) -> bool {
    let interval = h.max(1e-3);
    let text = format!(
        "Scene(links: [Link(name: \"block\", mass: 1.0)], gravity: (0.0, 0.0, 0.0), joints: [Joint(name: \"slide\", parent: \"world\", \
         child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: LuGre(sigma0: 1e5, sigma1: 316.22776601683796, sigma2: 0.4, \
         coulomb: 1.0, stiction: 1.5, stribeck_velocity: 1e-3), drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1)))], solver: \
         Solver(method: {method}, control: Constant(step: {h:?})), output: Output(interval: {interval:?}))"
    );
    let run = || -> Result<[f64; 2], Error> {
        let recording = Simulation::new(&Scene::parse(&text, "slider")?)?.run_until(20.0)?;
        let largest = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(0.0, |most: f64, x| if x.is_nan() { f64::INFINITY } else { most.max(x.abs()) })
        };
        let speed = largest(&mut recording.channel("slide.velocity")?);
        Ok([speed, largest(&mut recording.channel("slide.friction")?)])
    };
    run().is_ok_and(|[speed, friction]| speed < 2.0 * 0.3698 && friction < 1.6)
}
