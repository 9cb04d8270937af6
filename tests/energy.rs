//! Energy balance of random machines with every law: stored energy, input and heat.

use bristle::friction::{Coulomb, Dahl, ElastoPlastic, Law, LuGre, LuGre2, Stribeck, Table, Tanh};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A law with random parameters; the flag says whether it is passive.
fn random_law(rng: &mut Pcg64) -> (Law, bool) {
    let coulomb: f64 = rng.random_range(0.05..0.5);
    let stiction = coulomb * rng.random_range(1.0..1.6);
    let viscous = rng.random_range(0.0..0.1);
    let stribeck_velocity = Some(rng.random_range(0.05..0.5));
    // passive: σ₁ ≤ f_c σ₂/(f_s − f_c)
    let sigma2 = rng.random_range(0.05..0.1);
    let lugre = LuGre {
        sigma0: 10.0_f64.powf(rng.random_range(2.0..3.5)),
        sigma1: (0.9 * coulomb * sigma2 / (stiction - coulomb).max(1e-3)).min(1.0),
        sigma2,
        coulomb,
        stiction,
        stribeck_velocity,
        exponent: 2.0,
        damping_velocity: None,
    };
    match rng.random_range(0..8) {
        0 => (Coulomb { coulomb, stiction, viscous }.into(), true),
        1 => (Stribeck { coulomb, stiction, stribeck_velocity, exponent: 2.0, viscous, peak: 1.1 }.into(), true),
        2 => (Table { points: vec![(0.0, stiction), (0.3, coulomb), (2.0, 1.5 * coulomb)], peak: 1.2 }.into(), true),
        3 => (Tanh { coulomb, stribeck_velocity: 0.1, viscous }.into(), true),
        4 => (Dahl { coulomb, sigma0: lugre.sigma0 }.into(), true),
        5 => (LuGre2 { lugre, alpha: 3.0, beta: 1.0 }.into(), false),
        6 => (ElastoPlastic { lugre, breakaway: 0.7 * coulomb / lugre.sigma0 }.into(), true),
        _ => (lugre.into(), true),
    }
}

/// A tree of 1 to 10 joints with random axes, masses, springs, drives, loads and laws; the names of the joints with
/// passive ones.
fn random_world(seed: u64) -> (World, Vec<String>) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut world = World::new();
    let mut links: Vec<Entity> = Vec::new();
    let mut passive = Vec::new();
    for k in 0..rng.random_range(1..=10) {
        let mut v = |size: f64| [0; 3].map(|_| rng.random_range(-size..size));
        let (centre, axis, at) = (v(0.2), v(1.0), v(0.4));
        let inertia = LinkInertia::diagonal(rng.random_range(0.5..2.0), centre.into(), 0.05, 0.06, 0.07);
        let link = world.spawn_link(&format!("link {k}"), inertia);
        let name = format!("joint {k}");
        let mut joint =
            if rng.random_bool(0.7) { revolute(&name, axis) } else { prismatic(&name, axis).spring(40.0, 0.0) };
        joint = joint.to(link).at(at).position(rng.random_range(-1.0..1.0)).armature(0.02);
        // half of them start at rest
        joint = joint.velocity(if rng.random_bool(0.5) { rng.random_range(-1.0..1.0) } else { 0.0 });
        if !links.is_empty() {
            joint = joint.from(links[rng.random_range(0..links.len())]);
        }
        if rng.random_bool(0.8) {
            let (law, is_passive) = random_law(&mut rng);
            joint = joint.friction(law);
            match rng.random_range(0..3) {
                0 => joint = joint.load(Load::Constant(rng.random_range(0.5..3.0))),
                1 => {
                    let signal =
                        Signal::Sine { amplitude: 0.5, frequency: rng.random_range(1.0..8.0), phase: 0.3, offset: 0.5 };
                    joint = joint.load(Load::Signal { max: 2.0, signal, geometry: 1.0 });
                }
                _ => {}
            }
            if is_passive {
                passive.push(name);
            }
        }
        joint = match rng.random_range(0..5) {
            0 => joint.drive(Drive::Effort(Signal::Sine { amplitude: 0.5, frequency: 5.0, phase: 0.0, offset: 0.2 })),
            1 => joint.drive(Drive::Pull { stiffness: 10.0, target: Signal::Steps(vec![(0.2, 0.3), (0.6, -0.2)]) }),
            2 => joint.drive(Drive::Pid { kp: 5.0, ki: 2.0, kd: 0.3, target: Signal::Constant(0.2) }),
            3 => joint.damping(0.1),
            _ => joint,
        };
        world.spawn_joint(joint);
        links.push(link);
    }
    (world, passive)
}

/// Largest |balance| relative to the energy exchanged, and the number of mode changes.
fn imbalance(seed: u64, method: Method, rtol: f64, atol: f64) -> (f64, usize) {
    let (world, passive) = random_world(seed);
    let settings = Settings { method, control: Control::Error { rtol, atol }, interval: 0.02, ..Settings::default() };
    let mut sim = Simulation::with_settings(world, settings).unwrap();
    let recording = sim.run_until(1.0).unwrap_or_else(|error| panic!("seed {seed}, {method:?}: {error}"));
    let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
    let (kinetic, balance) = (channel("energy.kinetic"), channel("energy.balance"));
    let range = kinetic.iter().fold(0.0_f64, |most, k| most.max((k - kinetic[0]).abs()));
    let turnover = range
        + kinetic[0]
        + channel("energy.dissipated").last().unwrap()
        + channel("energy.input").last().unwrap().abs();
    for name in passive {
        let heat = channel(&format!("{name}.dissipated"));
        assert!(
            heat.windows(2).all(|w| w[1] >= w[0] - 1e-12 * turnover),
            "seed {seed}, {method:?}: heat of {name} falls"
        );
    }
    let worst = balance.iter().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    (worst / turnover.max(1e-3), recording.events().len())
}

#[test]
fn energy_balance_of_random_machines() {
    let mut worst = [(0.0, 0); 2];
    let mut n_changes = 0;
    for seed in 0..100 {
        for method in [Method::Dopri5, Method::Radau5] {
            for (k, (rtol, atol)) in [(1e-8, 1e-10), (1e-11, 1e-12)].into_iter().enumerate() {
                let (found, changes) = imbalance(seed, method, rtol, atol);
                n_changes += changes;
                if found > worst[k].0 {
                    worst[k] = (found, seed);
                }
            }
        }
    }
    assert!(n_changes > 1000, "stick-slip takes part: {n_changes}");
    println!("worst of default and tight, with their seeds: {worst:?}; {n_changes} changes of mode");
    assert!(worst[0].0 < 1e-6 && worst[1].0 < 1e-9, "worst of default and tight, with their seeds: {worst:?}");
}

/// Largest imbalance of a run in the scale of `turnover`.
fn worst_balance(scene: &str, method: &str) -> f64 {
    let text = format!("Scene({scene}, solver: Solver(method: {method}, control: Error(rtol: 1e-8, atol: 1e-10)))");
    let scene = Scene::parse(&text, "test").unwrap();
    let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
    recording.channel("energy.balance").unwrap().fold(0.0, |worst, balance| f64::max(worst, balance.abs()))
}

#[test]
fn energy_balance_closes_within_steps() {
    // polynomial motion: steps grow to their limit, and the rows between them come from dense output
    let block = |joint: &str| crate::stick_slip::slider(1.0, joint) + ", duration: 2.0";
    for joint in [
        "drive: Effort(Ramp(rate: 1.0))",
        "velocity: 1.0, friction: Coulomb(coulomb: 1.0), load: Signal(max: 1.0, signal: Ramp(rate: 0.5))",
    ] {
        for method in ["Dopri5", "Radau5"] {
            let worst = worst_balance(&block(joint), method);
            assert!(worst < 1e-9, "{joint} {method}: {worst:e} J");
        }
    }
}

#[test]
fn load_work_at_corners_of_signals() {
    let block = |joint: &str| crate::stick_slip::slider(1.0, joint) + ", duration: 3.0";
    for signal in ["Table([(0.0, 0.0), (1.0, 1.0), (2.0, 0.2)])", "Sine(amplitude: 2.0, frequency: 3.0)"] {
        let joint = format!(
            "velocity: 1.0, friction: Dahl(coulomb: 1.0, sigma0: 1e3), load: Signal(max: 1.0, signal: {signal})"
        );
        for method in ["Dopri5", "Radau5"] {
            let worst = worst_balance(&block(&joint), method);
            assert!(worst < 5e-7, "{signal} {method}: {worst:e} J");
        }
    }
}
