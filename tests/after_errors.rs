//! After an error: a refusal has changed nothing, a failure can be recovered from, and nothing panics.

use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::{friction::Coulomb, friction::LuGre, friction::Stribeck};

const FIXED: Control = Control::Constant { step: 1e-3 };

fn link(world: &mut World, name: &str) -> Entity {
    world.spawn_link(name, LinkInertia::diagonal(1.0, [0.0, 0.0, -0.3].into(), 0.02, 0.03, 0.04))
}

/// Three joints: without friction, with bristles, with dry friction under the load of its pin.
fn arm(method: Method, control: Control) -> Simulation {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| link(&mut world, name));
    let lugre = LuGre {
        sigma0: 2e3,
        sigma1: 2.0,
        sigma2: 0.2,
        coulomb: 0.8,
        stiction: 1.1,
        stribeck_velocity: Some(0.05),
        exponent: 2.0,
        damping_velocity: None,
    };
    world.spawn_joint(revolute("yaw", [0.0, 0.0, 1.0]).to(a));
    world.spawn_joint(revolute("shoulder", [0.0, 1.0, 0.0]).from(a).to(b).friction(lugre.into()));
    let dry = Coulomb { coulomb: 0.3, stiction: 0.4, viscous: 0.0 };
    let elbow = revolute("elbow", [0.0, 1.0, 0.0]).from(b).to(c).at([0.0, 0.0, -0.6]);
    world.spawn_joint(elbow.friction(dry.into()).load(Load::Pin { radius: 0.02 }));
    Simulation::with_settings(world, Settings { method, control, ..Settings::default() }).unwrap()
}

fn methods() -> [(Method, Control); 5] {
    let tight = Control::default();
    [
        (Method::Dopri5, tight),
        (Method::Radau5, tight),
        (Method::Rk4, FIXED),
        (Method::Trapezoidal, FIXED),
        (Method::RealTime, FIXED),
    ]
}

#[test]
fn invalid_state_is_refused_until_corrected() {
    for (method, control) in methods() {
        let mut sim = arm(method, control);
        sim.step(0.01).unwrap();
        let (t, q) = (sim.time(), sim.positions().to_vec());
        sim.set_joint("yaw", 0.0, 1.0).unwrap();
        sim.set_joint("elbow", 0.0, 1e200).unwrap();
        let first = sim.step(1e-3).unwrap_err().to_string();
        // every query in between returns a result or an error
        let mut tau = [0.0; 3];
        let _ = (sim.efforts_for(&[0.0; 3], &mut tau), sim.linearize(), sim.energy());
        assert_eq!(sim.step(1e-3).unwrap_err().to_string(), first, "{method:?}");
        assert_eq!((sim.time(), sim.positions()), (t, &q[..]), "{method:?}: it has moved");
        sim.set_joint("yaw", 0.1, 0.0).unwrap();
        sim.set_joint("elbow", 0.2, 0.0).unwrap();
        sim.step(1e-3).unwrap();
        assert!((sim.position("yaw").unwrap() - 0.1).abs() < 1e-3, "{method:?}");
        sim.reset().unwrap();
        assert_eq!((sim.time(), sim.positions()), (0.0, &[0.0; 3][..]), "{method:?}");
        sim.step(1e-3).unwrap();
    }
}

#[test]
fn restore_reset_and_set_state_recover_from_divergence() {
    for (method, control) in methods() {
        for way in 0..3 {
            let mut sim = arm(method, control);
            sim.set_max_steps(200);
            let start = sim.snapshot().unwrap();
            let mut failed = false;
            for _ in 0..200 {
                let tau: Vec<f64> =
                    sim.positions().iter().zip(sim.velocities()).map(|(q, v)| 1e9 * (q - 0.5) + 1e7 * v).collect();
                failed = sim.set_efforts(&tau).and_then(|()| sim.step(1e-3)).is_err();
                if failed {
                    break;
                }
            }
            assert!(failed, "{method:?}: it did not run away");
            match way {
                0 => sim.restore(&start).unwrap(),
                1 => sim.reset().unwrap(),
                _ => {
                    sim.set_efforts(&[0.0; 3]).unwrap();
                    ["yaw", "shoulder", "elbow"].iter().for_each(|joint| sim.set_joint(*joint, 0.0, 0.0).unwrap());
                    let shoulder = sim.joint("shoulder").unwrap();
                    sim.world_mut().insert_one(shoulder, BristleState { z: 0.0, w: 0.0 }).unwrap();
                }
            }
            sim.step(1e-3).unwrap_or_else(|error| panic!("{method:?}, {way}: {error}"));
            assert!(sim.velocities().iter().all(|v| v.abs() < 1.0), "{method:?}, {way}: {:?}", sim.velocities());
            // after setting the state, former entries of the ledger remain as long as their rounding errors are small
            let (balance, most) = (sim.energy().unwrap().balance, if way == 2 { 1e-1 } else { 1e-3 });
            assert!(balance.abs() < most, "{method:?}, {way}: {balance:e}");
        }
    }
}

#[test]
fn restore_and_reset_undo_nan_in_world() {
    for way in 0..2 {
        let mut sim = arm(Method::Radau5, Control::default());
        let elbow = sim.joint("elbow").unwrap();
        let start = sim.snapshot().unwrap();
        sim.world_mut().insert_one(elbow, JointState { position: f64::NAN, velocity: 0.0 }).unwrap();
        assert!(sim.step(1e-3).is_err());
        if way == 0 { sim.restore(&start) } else { sim.reset() }.unwrap();
        sim.step(1e-3).unwrap();
        assert!(sim.position("elbow").unwrap().is_finite());
    }
}

/// A wrist without inertia: stuck it is valid, pushed beyond its limit it has no acceleration.
fn weightless(law: impl Into<bristle::friction::Law>) -> Simulation {
    let mut world = World::new();
    let arm = link(&mut world, "arm");
    let tool = world.spawn_link("tool", LinkInertia::diagonal(0.0, [0.0; 3].into(), 0.0, 0.0, 0.0));
    world.spawn_joint(revolute("shoulder", [0.0, 1.0, 0.0]).to(arm));
    world.spawn_joint(revolute("wrist", [1.0, 0.0, 0.0]).from(arm).to(tool).friction(law.into()));
    Simulation::from_world(world).unwrap()
}

#[test]
fn failing_step_fails_again() {
    let mut sim = weightless(Coulomb { coulomb: 0.2, stiction: 0.2, viscous: 0.0 });
    sim.step(1e-3).unwrap();
    sim.set_effort("wrist", 5.0).unwrap();
    for _ in 0..4 {
        let error = sim.step(1e-3).unwrap_err().to_string();
        assert!(error.contains("wrist") && error.contains("inertia"), "{error}");
        assert_eq!(sim.time(), 1e-3);
    }
    sim.set_effort("wrist", 0.1).unwrap();
    sim.step(1e-3).unwrap();

    let law =
        Stribeck { coulomb: 0.3, stiction: 0.5, stribeck_velocity: Some(0.1), exponent: 2.0, viscous: 0.0, peak: 1.0 };
    let mut sim = weightless(law);
    sim.set_joint("wrist", 0.1, 1.0).unwrap();
    let mut tau = [0.0; 2];
    for _ in 0..4 {
        assert!(sim.step(1e-3).is_err());
        let _ = (sim.linearize(), sim.efforts_for(&[0.0; 2], &mut tau));
    }
}

#[test]
fn step_budget_ends_a_call() {
    let mut sim = arm(Method::Dopri5, Control::default());
    sim.set_max_steps(3);
    let error = sim.step(10.0).unwrap_err().to_string();
    assert!(error.contains('3') && error.contains("steps"), "{error}");
    assert!(sim.time() > 0.0 && sim.time() < 10.0);
    sim.set_max_steps(100_000);
    sim.step(0.1).unwrap();
    // a run that records has no such bound
    sim.set_max_steps(1);
    sim.run_until(sim.time() + 0.5).unwrap();
}

#[test]
fn set_joint_moves_geared_joints() {
    let mut world = World::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| link(&mut world, name));
    let [j, k, l] =
        [("j", a), ("k", b), ("l", c)].map(|(name, to)| world.spawn_joint(revolute(name, [0.0, 0.0, 1.0]).to(to)));
    let mut gear = |name: &str, joints, ratio, offset| {
        world.spawn((Name(name.into()), Coupling::Gear { joints, ratio, offset }));
    };
    gear("mimic", [k, j], 2.0, 0.0);
    gear("second", [l, k], -0.5, 0.0);
    let mut sim = Simulation::from_world(world).unwrap();
    for (joint, q, v) in [("j", 0.7, 1.0), ("k", 1.4, 2.0), ("l", -0.7, -1.0)] {
        sim.set_joint("j", 0.0, 0.0).unwrap();
        sim.set_joint(joint, q, v).unwrap();
        sim.step(0.0).unwrap();
        assert_eq!(sim.positions(), [0.7, 1.4, -0.7], "{joint}");
        assert_eq!(sim.velocities(), [1.0, 2.0, -1.0], "{joint}");
    }
}

#[test]
fn reset_keeps_added_drive() {
    let mut sim = arm(Method::Radau5, Control::default());
    let elbow = sim.joint("elbow").unwrap();
    sim.step(0.1).unwrap();
    let error = sim.set_target("elbow", 0.5).unwrap_err().to_string();
    assert!(error.contains("Drive"), "{error}");
    let target = bristle::signal::Signal::Constant(0.0);
    sim.world_mut().insert_one(elbow, Drive::Pid { kp: 50.0, ki: 0.0, kd: 5.0, target }).unwrap();
    sim.step(0.1).unwrap();
    sim.set_target("elbow", 0.5).unwrap();
    sim.reset().unwrap();
    assert_eq!((sim.time(), sim.position("elbow").unwrap()), (0.0, 0.0));
    sim.set_target("elbow", 0.5).unwrap();
    sim.step(3.0).unwrap();
    assert!(sim.position("elbow").unwrap() > 0.3);
}

#[test]
fn refused_copy_does_not_stop_others() {
    let mut sim = arm(Method::Radau5, Control::default());
    let mut batch = Batch::new(&mut sim, 4).unwrap();
    assert!(batch.set_state(0, &[0.0; 3], &[1.0, 0.0, 1e200]).is_err());
    batch.step(1e-3).unwrap();
    // the elbow of copy 1
    batch.efforts_mut()[2 * 4 + 1] = f64::NAN;
    let error = batch.step(1e-3).unwrap_err().to_string();
    assert!(error.contains("copy 1") && error.contains("elbow"), "{error}");
    assert_eq!(batch.failures().map(|failure| failure.0).collect::<Vec<_>>(), [1]);
    assert_eq!([0, 1, 2, 3].map(|copy| batch.time(copy).unwrap()), [2e-3, 1e-3, 2e-3, 2e-3]);
    assert!(batch.step(1e-3).is_err(), "it is still there");
    batch.efforts_mut()[2 * 4 + 1] = 0.0;
    batch.step(1e-3).unwrap();
    assert!(Batch::new(&mut sim, 1 << 60).is_err());
    // without friction the error is detected late; the copy continues from its former state all the same
    let mut world = World::new();
    let [a, b] = ["a", "b"].map(|name| link(&mut world, name));
    world.spawn_joint(revolute("yaw", [0.0, 0.0, 1.0]).to(a).velocity(1.0));
    world.spawn_joint(revolute("elbow", [0.0, 1.0, 0.0]).from(a).to(b).at([0.0, 0.3, 0.0]));
    let mut batch = Batch::new(&mut Simulation::from_world(world).unwrap(), 2).unwrap();
    batch.step(1e-3).unwrap();
    assert!(batch.set_state(0, &[0.0; 2], &[1.0, 1e200]).is_err());
    batch.step(1e-3).unwrap();
    assert!((batch.positions()[0] - batch.positions()[1]).abs() < 1e-12);
}

#[test]
fn invalid_durations_are_refused() {
    let mut sim = arm(Method::Radau5, Control::default());
    for dt in [-1e-3, f64::NAN, f64::INFINITY] {
        let error = sim.step(dt).unwrap_err().to_string();
        assert!(error.contains("dt"), "{error}");
    }
}
