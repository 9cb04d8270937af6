//! At every instant: what sticks could hold, what slides moves the way its friction opposes.

use bristle::friction::{Coulomb, Law, Stribeck};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A tree of `n` joints, each with dry friction, some driven to and fro; by joint, what it can hold and what it slides with.
fn random_world(seed: u64, n: usize) -> (World, Vec<(String, f64, f64)>) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut world = World::new();
    let mut links: Vec<Entity> = Vec::new();
    let mut levels = Vec::new();
    for k in 0..n {
        let mut v = |size: f64| [0; 3].map(|_| rng.random_range(-size..size));
        let (centre, axis, at) = (v(0.2), v(1.0), v(0.4));
        let inertia = LinkInertia::diagonal(rng.random_range(0.5..2.0), centre.into(), 0.05, 0.06, 0.07);
        let link = world.spawn_link(&format!("link {k}"), inertia);
        let name = format!("joint {k}");
        let coulomb: f64 = rng.random_range(0.2..3.0);
        let stiction = coulomb * if rng.random_bool(0.3) { 1.0 } else { rng.random_range(1.0..1.8) };
        let law: Law = if rng.random_bool(0.6) {
            Coulomb { coulomb, stiction, viscous: 0.0 }.into()
        } else {
            let stribeck_velocity = Some(0.3);
            Stribeck { coulomb, stiction, stribeck_velocity, exponent: 2.0, viscous: 0.0, peak: 1.0 }.into()
        };
        let joint = if rng.random_bool(0.7) { revolute(&name, axis) } else { prismatic(&name, axis).spring(60.0, 0.0) };
        let mut joint = joint.to(link).at(at).position(rng.random_range(-1.0..1.0)).armature(0.05).friction(law);
        if !links.is_empty() {
            joint = joint.from(links[rng.random_range(0..links.len())]);
        }
        if rng.random_bool(0.4) {
            let frequency = rng.random_range(1.0..6.0);
            let amplitude = rng.random_range(0.5..4.0);
            joint = joint.drive(Drive::Effort(Signal::Sine { amplitude, frequency, phase: 0.0, offset: 0.0 }));
        }
        world.spawn_joint(joint);
        levels.push((name, stiction, coulomb));
        links.push(link);
    }
    (world, levels)
}

#[test]
fn stuck_joints_could_hold_and_sliding_ones_are_opposed() {
    let mut n_changes = 0;
    for seed in 0..80 {
        let n = 1 + seed as usize % 12;
        for (method, control) in [
            (Method::Dopri5, Control::Error { rtol: 1e-8, atol: 1e-10 }),
            (Method::Radau5, Control::Error { rtol: 1e-6, atol: 1e-8 }),
            (Method::Rk4, Control::Constant { step: 2e-3 }),
        ] {
            let (world, levels) = random_world(1000 + seed, n);
            let settings = Settings { method, control, interval: 0.01 };
            let mut sim = Simulation::with_settings(world, settings).unwrap();
            let recording = sim.run_until(4.0).unwrap_or_else(|error| panic!("seed {seed}, {method:?}: {error}"));
            n_changes += recording.events().len();
            for (name, stiction, coulomb) in levels {
                let channel = |what: &str| {
                    let values = recording.channel(&format!("{name}.{what}")).unwrap();
                    values.collect::<Vec<f64>>().into_iter()
                };
                let rows = channel("mode").zip(channel("velocity")).zip(channel("friction")).zip(channel("position"));
                let mut held: Option<f64> = None;
                for (k, (((mode, v), friction), q)) in rows.enumerate() {
                    let place =
                        || format!("seed {seed}, {method:?}, {name}, row {k}: {mode} {v:e} {friction} {stiction}");
                    if mode == 0.0 {
                        assert_eq!(v.to_bits(), 0, "{}", place());
                        assert!(friction.abs() <= stiction * (1.0 + 1e-6), "{}", place());
                    } else {
                        assert!(mode * v > -1e-9, "{}", place());
                        assert!(
                            (coulomb * (1.0 - 1e-9)..=stiction * (1.0 + 1e-6)).contains(&(mode * friction)),
                            "{}",
                            place()
                        );
                    }
                    // from row to row of one stick, no bit moves
                    if let (Some(held), 0.0) = (held, mode)
                        && held != q
                    {
                        let (t0, t1) = (0.01 * (k as f64 - 1.0) - 1e-6, 0.01 * k as f64 + 1e-6);
                        let moved = recording.events().iter().any(|e| e.joint == name && (t0..=t1).contains(&e.t));
                        assert!(moved, "{}: {held} {q}", place());
                    }
                    held = (mode == 0.0).then_some(q);
                }
            }
        }
    }
    println!("{n_changes} changes of mode");
    assert!(n_changes > 5000, "{n_changes}");
}
