//! Complementarity at every instant: stuck contacts are within their limits, sliding ones move against their friction.

use bristle::friction::{Coulomb, Law, Stribeck};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A tree of `n` joints, each with dry friction, some under alternating drives; by joint, stiction and sliding level.
pub fn random_world(seed: u64, n: usize) -> (World, Vec<(String, f64, f64)>) {
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
fn modes_satisfy_complementarity() {
    let mut n_changes = 0;
    for seed in 0..80 {
        let n = 1 + seed as usize % 12;
        for (method, control) in [
            (Method::Dopri5, Control::Error { rtol: 1e-8, atol: 1e-10 }),
            (Method::Radau5, Control::Error { rtol: 1e-6, atol: 1e-8 }),
            (Method::Rk4, Control::Constant { step: 2e-3 }),
        ] {
            let (world, levels) = random_world(1000 + seed, n);
            let settings = Settings { method, control, interval: 0.01, ..Settings::default() };
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
                    // within one stick phase no bit moves
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

/// Many modes selected at once: each satisfies complementarity from the first instant on.
#[test]
fn modes_of_many_joints_satisfy_complementarity() {
    let (mut n_stuck, mut n_sliding) = (0, 0);
    for seed in 0..6 {
        let (world, levels) = random_world(2000 + seed, 60 + 20 * seed as usize);
        let mut sim = Simulation::with_settings(world, Settings::default()).unwrap();
        let start = sim.run_until(0.0).unwrap();
        for (name, stiction, coulomb) in levels {
            let value = |what: &str| start.channel(&format!("{name}.{what}")).unwrap().next().unwrap();
            let (mode, v, a, f) = (value("mode"), value("velocity"), value("acceleration"), value("friction"));
            let place =
                || format!("seed {seed}, {name}: mode {mode}, v {v:e}, a {a:e}, f {f}, {coulomb} to {stiction}");
            if v != 0.0 {
                continue;
            }
            if mode == 0.0 {
                n_stuck += 1;
                assert!(a == 0.0 && f.abs() <= stiction * (1.0 + 1e-9), "{}", place());
            } else {
                n_sliding += 1;
                let level = (coulomb * (1.0 - 1e-9))..=(stiction * (1.0 + 1e-9));
                assert!(mode * a >= -1e-9 && level.contains(&(mode * f)), "{}", place());
            }
        }
    }
    println!("{n_stuck} stuck, {n_sliding} sliding");
    assert!(n_stuck > 20 && n_sliding > 20, "{n_stuck} stuck, {n_sliding} sliding");
}

#[test]
fn inverse_dynamics_returns_applied_efforts() {
    let mut n_stuck = 0;
    for seed in 0..10 {
        let (world, _) = random_world(2000 + seed, 8);
        let mut sim = Simulation::from_world(world).unwrap();
        for _ in 0..5 {
            sim.step(0.3).unwrap();
            let compiled = sim.compiled();
            let model = &compiled.model.tree;
            let mut work = bristle::multibody::Work::new(model);
            let (q, v, a) = (sim.positions(), sim.velocities(), sim.accelerations());
            let required = bristle::multibody::rnea(model, &mut work, q, v, a).unwrap();
            for (i, entity) in compiled.model.index.joints() {
                let k = model.v_index[i];
                let world = sim.world();
                let drive = world.get::<&Drive>(entity).map_or(0.0, |drive| match &*drive {
                    Drive::Effort(signal) => signal.value(sim.time()),
                    _ => f64::NAN,
                });
                let spring = world.get::<&Spring>(entity).map_or(0.0, |spring| spring.stiffness * (q[k] - spring.rest));
                let friction = world.get::<&FrictionEffort>(entity).unwrap().0;
                let applied = required[k] + friction + spring;
                // forward dynamics loses digits with the condition of M, some 1e4 here
                assert!((applied - drive).abs() < 1e-9, "seed {seed}: {applied} {drive}");
                n_stuck += usize::from(v[k] == 0.0);
            }
        }
    }
    assert!(n_stuck > 20, "{n_stuck}");
}

#[test]
fn equal_joints_have_equal_events() {
    let mut world = World::new();
    for name in ["left", "right"] {
        let block = world.spawn_link(name, LinkInertia::point(1.0, [0.0; 3].into()));
        let law = Coulomb { coulomb: 2.0, stiction: 2.0, viscous: 0.0 };
        let rail = prismatic(name, [1.0, 0.0, 0.0]).to(block).position(0.19).spring(100.0, 0.0).friction(law.into());
        world.spawn_joint(rail);
    }
    let recording = Simulation::from_world(world).unwrap().run_until(3.0).unwrap();
    let events = recording.events();
    assert_eq!(events.len(), 10);
    for pair in events.chunks(2) {
        assert_eq!((pair[0].t, pair[0].from, pair[0].to), (pair[1].t, pair[1].from, pair[1].to));
    }
    let bits = |name: &str| recording.channel(name).unwrap().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits("left.position"), bits("right.position"));
}
