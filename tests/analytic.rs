//! Closed forms and published values.

use bristle::prelude::*;
use bristle::scene::{Control, Method};
use nalgebra::Vector3;
use std::f64::consts::{FRAC_PI_2, PI};

/// "Tight": rtol = atol = 1e-11.
fn tight(method: Method, interval: f64) -> Settings {
    Settings { method, control: Control::Error { rtol: 1e-11, atol: 1e-11 }, interval, ..Settings::default() }
}

/// Moment and force of a reaction, child axes.
pub fn parts(reaction: &Reaction) -> (Vector3<f64>, Vector3<f64>) {
    let [mx, my, mz, fx, fy, fz] = reaction.wrench.to_array();
    (Vector3::new(mx, my, mz), Vector3::new(fx, fy, fz))
}

/// Complete elliptic integral K of modulus k, by the arithmetic-geometric mean.
fn elliptic_k(k: f64) -> f64 {
    let (mut a, mut b) = (1.0_f64, (1.0 - k * k).sqrt());
    // each turn doubles the digits
    for _ in 0..8 {
        (a, b) = (0.5 * (a + b), (a * b).sqrt());
    }
    PI / (2.0 * a)
}

/// A01: point mass on a massless bar, from rest at the horizontal.
fn pendulum() -> World {
    let mut world = World::new();
    world.set_gravity([0.0, -9.81, 0.0]);
    let bob = world.spawn_link("bob", LinkInertia::point(1.0, [-1.0, 0.0, 0.0].into()));
    world.spawn_joint(revolute("hinge", [0.0, 0.0, 1.0]).to(bob));
    world
}

#[test]
fn pendulum_period_is_the_elliptic_integral() {
    let period = 4.0 * elliptic_k((PI / 4.0).sin()) / 9.81_f64.sqrt();
    assert!((period - 2.367841947576237).abs() < 1e-14, "BENCHMARKS A01: {period}");
    for method in [Method::Dopri5, Method::Radau5] {
        let mut sim = Simulation::with_settings(pendulum(), tight(method, 0.1)).unwrap();
        // after four periods it is back at the horizontal and at rest; a late arrival shows as −g · delay in the
        // velocity
        sim.run_until(4.0 * period).unwrap();
        let delay = sim.velocities()[0] / 9.81 / 4.0;
        assert!(delay.abs() < 1e-9, "{method:?}: period wrong by {delay:e} s");
        assert!(sim.positions()[0].abs() < 1e-9, "{method:?}: {:e}", sim.positions()[0]);
    }
}

#[test]
fn pendulum_position_after_ten_seconds() {
    // a little tighter than tight: the drift of the energy grows with every swing
    let control = Control::Error { rtol: 1e-12, atol: 1e-12 };
    let mut sim = Simulation::with_settings(pendulum(), Settings { control, ..Settings::default() }).unwrap();
    let recording = sim.run_until(10.0).unwrap();
    // BENCHMARKS A01, Jacobi elliptic functions
    for (t, x, y) in [(10.0, -0.275087462576122, -0.961419205099124), (9.99, -0.316436469913032, -0.948613704575777)] {
        let row = recording.channel("t").unwrap().position(|time| time == t).unwrap();
        let q = recording.channel("hinge.position").unwrap().nth(row).unwrap();
        assert!(
            (-q.cos() - x).abs() < 1e-9 && (-q.sin() - y).abs() < 1e-9,
            "t = {t}: {} {}",
            -q.cos() - x,
            -q.sin() - y
        );
    }
    let worst = recording.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
    assert!(worst < 1e-9, "energy drift {worst:e} J");
}

/// A08: mass 1 kg, centre of mass 2 m from a hinge about y, inertia 0.1, along +x at rest, g = 9.80665 along −z.
fn adams_pendulum() -> World {
    let mut world = World::new();
    world.set_gravity([0.0, 0.0, -9.80665]);
    let arm = world.spawn_link("arm", LinkInertia::diagonal(1.0, [2.0, 0.0, 0.0].into(), 0.1, 0.1, 0.1));
    world.spawn_joint(revolute("hinge", [0.0, 1.0, 0.0]).to(arm));
    world
}

#[test]
fn pendulum_reaction_agrees_with_a08() {
    let mut sim = Simulation::with_settings(adams_pendulum(), tight(Method::Dopri5, 0.01)).unwrap();
    let (arm, hinge) = (sim.link("arm").unwrap(), sim.joint("hinge").unwrap());
    let close = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-8, "{value} instead of {expected}");
    let center = |sim: &Simulation| {
        let pose = sim.world().get::<&Pose>(arm).unwrap().0;
        pose * nalgebra::Point3::new(2.0, 0.0, 0.0)
    };

    sim.run_until(1.0).unwrap();
    close(center(&sim).x, -0.892381485528);
    close(center(&sim).z, -1.789875773423);
    let reaction = *sim.world().get::<&Reaction>(hinge).unwrap();
    // child axes to world axes
    let force = sim.world().get::<&Pose>(arm).unwrap().0.rotation * parts(&reaction).1;
    close(force.x, 11.461237566930);
    close(force.z, 23.227327629495);
    close(reaction.radial_force, f64::hypot(11.461237566930, 23.227327629495));

    sim.run_until(5.0).unwrap();
    close(center(&sim).x, -1.999683868884);
    close(center(&sim).z, -0.035558747546);
}

#[test]
fn reaction_at_rest_is_the_weight() {
    let mut world = adams_pendulum();
    for state in world.query_mut::<&mut JointState>() {
        state.position = FRAC_PI_2; // a turn about +y takes +x to −z: hanging
    }
    let mut sim = Simulation::from_world(world).unwrap();
    let hinge = sim.joint("hinge").unwrap();
    let reaction = |sim: &Simulation| *sim.world().get::<&Reaction>(hinge).unwrap();
    // in child axes the weight pulls along +x, so the hinge pulls along −x
    for sim in [&mut sim] {
        for _ in 0..2 {
            let r = reaction(sim);
            let (moment, force) = parts(&r);
            assert!((force.x + 9.80665).abs() < 1e-12, "{r:?}");
            assert!(force.y.abs() < 1e-12 && force.z.abs() < 1e-12, "{r:?}");
            assert!(moment.norm() < 1e-12, "{r:?}");
            sim.step(0.5).unwrap();
        }
    }
}

#[test]
fn damped_slider_follows_the_linear_solution() {
    // m ẍ + d ẋ + k x = m g s along a rail that falls with slope s = 0.6
    let (m, d, k, g, s, x0) = (2.0, 0.5, 50.0, 9.81, 0.6, 0.1);
    let mut world = World::new();
    let block = world.spawn_link("block", LinkInertia::diagonal(m, [0.0; 3].into(), 0.01, 0.01, 0.01));
    world.spawn_joint(prismatic("slide", [0.8, 0.0, -0.6]).to(block).position(x0).damping(d).spring(k, 0.0));
    let mut sim = Simulation::with_settings(world, tight(Method::Dopri5, 0.05)).unwrap();
    let recording = sim.run_until(10.0).unwrap();

    let (rest, decay) = (m * g * s / k, d / (2.0 * m));
    let omega = (k / m - decay * decay).sqrt();
    let (c, b) = (x0 - rest, (x0 - rest) * decay / omega);
    for row in recording.rows() {
        let (t, x) = (row[0], row[1]);
        let exact = rest + (-decay * t).exp() * (c * (omega * t).cos() + b * (omega * t).sin());
        assert!((x - exact).abs() < 1e-9, "t = {t}: {x} instead of {exact}");
    }
    // heat: the loss of stored energy, by its closed form
    let lost = 0.5 * k * (x0 - rest).powi(2) - energy_of(&recording, m, k, rest);
    assert!((recording.last("slide.dissipated").unwrap() - lost).abs() < 1e-8);
    assert_eq!(recording.last("slide.dissipated").unwrap(), recording.last("energy.dissipated").unwrap());
}

/// Energy about the position of rest at the end.
fn energy_of(recording: &Recording, m: f64, k: f64, rest: f64) -> f64 {
    let (x, v) = (recording.last("slide.position").unwrap(), recording.last("slide.velocity").unwrap());
    0.5 * m * v * v + 0.5 * k * (x - rest).powi(2)
}

#[test]
fn thrown_body_conserves_momentum() {
    let mut world = World::new();
    let inertia = LinkInertia::diagonal(0.5, [0.0; 3].into(), 0.001, 0.002, 0.003);
    let racket = world.spawn_link("racket", inertia);
    world.spawn_joint(free("body").to(racket).twist([0.1, 6.0, 0.0], [0.5, 0.0, 5.0]));
    let mut sim = Simulation::with_settings(world, tight(Method::Dopri5, 0.1)).unwrap();
    let body = sim.joint("body").unwrap();
    let angular = |sim: &Simulation| {
        let free = *sim.world().get::<&FreeState>(body).unwrap();
        let w = free.velocity.angular;
        free.position.rotation * Vector3::new(0.001 * w.x, 0.002 * w.y, 0.003 * w.z)
    };
    let before = angular(&sim);
    let recording = sim.run_until(4.0).unwrap();
    assert!((angular(&sim) - before).norm() < 1e-11, "{:e}", (angular(&sim) - before).norm());
    for row in recording.rows() {
        let t = row[0];
        let exact = [0.5 * t, 0.0, 5.0 * t - 0.5 * 9.81 * t * t];
        for (p, exact) in row[1..4].iter().zip(exact) {
            assert!((p - exact).abs() < 1e-8, "t = {t}: {p} instead of {exact}");
        }
        let norm: f64 = row[4..8].iter().map(|q| q * q).sum();
        assert!((norm - 1.0).abs() < 1e-14);
    }
    // it has turned over many times: charts have moved
    assert!(sim.stats().n_charts > 10, "{:?}", sim.stats());
    assert!(sim.energy().unwrap().balance.abs() < 1e-8);
}

#[test]
fn work_of_efforts_drives_and_wrenches_is_booked() {
    // a slider pushed by a caller, by a drive and by a wrench on the link: the work of each is force × path
    let mut world = World::new();
    world.set_gravity([0.0; 3]);
    let block = world.spawn_link("block", LinkInertia::point(2.0, [0.0; 3].into()));
    world.insert_one(block, ExternalWrench { moment: [9.0, 9.0, 9.0].into(), force: [3.0, 7.0, 0.0].into() }).unwrap();
    let steps = bristle::signal::Signal::Steps(vec![(0.5, 4.0), (1.5, -2.0)]);
    world.spawn_joint(prismatic("slide", [1.0, 0.0, 0.0]).to(block).effort(1.0).drive(Drive::Effort(steps)));
    let mut sim = Simulation::from_world(world).unwrap();
    let recording = sim.run_until(2.0).unwrap();
    // accelerations 2, 4, 1 m/s² over 0.5, 1 and 0.5 s
    let (v1, v2, v3) = (1.0, 5.0, 5.5);
    let (x1, x2, x3) = (0.25, 3.25, 5.875);
    assert!((recording.last("slide.velocity").unwrap() - v3).abs() < 1e-9, "{v1} {v2}");
    assert!((recording.last("slide.position").unwrap() - x3).abs() < 1e-9);
    let work = 4.0 * x3 + 4.0 * (x2 - x1) - 2.0 * (x3 - x2);
    assert!((recording.last("energy.input").unwrap() - work).abs() < 1e-9);
    assert!((work - 0.5 * 2.0 * v3 * v3).abs() < 1e-12);
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-9);
    assert_eq!(sim.stats().n_time_events, 2);
}

#[test]
fn wrench_rotates_with_link() {
    // a force along the link's own y at the end of an arm is a constant torque about z
    let mut world = World::new();
    world.set_gravity([0.0; 3]);
    let arm = world.spawn_link("arm", LinkInertia::point(0.5, [2.0, 0.0, 0.0].into()));
    // at the origin of the link: force · 0 plus the moment r × f
    world.insert_one(arm, ExternalWrench { moment: [0.0, 0.0, 6.0].into(), force: [0.0, 3.0, 0.0].into() }).unwrap();
    world.spawn_joint(revolute("hinge", [0.0, 0.0, 1.0]).to(arm));
    let mut sim = Simulation::from_world(world).unwrap();
    let recording = sim.run_until(3.0).unwrap();
    let (alpha, t) = (6.0 / (0.5 * 4.0), 3.0);
    assert!((recording.last("hinge.position").unwrap() - 0.5 * alpha * t * t).abs() < 1e-9);
    assert!((recording.last("energy.input").unwrap() - 6.0 * 0.5 * alpha * t * t).abs() < 1e-8);
    // the hinge carries the arm: centripetal force minus the wrench
    let reaction = parts(&sim.world().get::<&Reaction>(sim.joint("hinge").unwrap()).unwrap()).1;
    assert!((reaction.x + 0.5 * 2.0 * (alpha * t).powi(2)).abs() < 1e-7, "{reaction}");
    assert!((reaction.y - (0.5 * 2.0 * alpha - 3.0)).abs() < 1e-9, "{reaction}");
}
