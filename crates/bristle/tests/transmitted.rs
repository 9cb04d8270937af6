//! Friction of a reducer, which grows with the effort that it transmits: against accelerations by hand, against the
//! range in which it sticks, and by energy.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::{Recording, Simulation};

/// Mass, rotor, preload, coefficients of driving and back-driving.
const M: f64 = 2.0;
const A: f64 = 3.0;
const C: f64 = 0.7;
const MU: f64 = 0.3;
const BETA: f64 = 0.45;

/// A carriage on a slide behind a reducer; `fields` are further fields of its joint.
fn carriage(load: &str, fields: &str, duration: f64) -> Scene {
    let text = format!(
        "Scene(gravity: (0, 0, 0), links: [Link(name: \"c\", mass: {M:?})], joints: [Joint(name: \"s\", parent: \
         \"world\", child: \"c\", kind: Prismatic(axis: (1, 0, 0)), armature: {A:?}, friction: Coulomb(coulomb: 1.0), \
         load: Transmitted(preload: {C:?}, {load}), {fields})], duration: {duration:?})"
    );
    Scene::parse(&text, "carriage.ron").unwrap_or_else(|error| panic!("{error}"))
}

fn linear() -> String {
    format!("driving: {MU:?}, back_driving: {BETA:?}")
}

fn run(scene: &Scene) -> Recording {
    Simulation::new(scene).unwrap().run_until(scene.duration).unwrap()
}

/// Methods and formulations that solve the same equations.
fn ways(scene: &Scene) -> Vec<(String, Scene)> {
    let methods = [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.8 }];
    let mut ways = Vec::new();
    for method in methods {
        for formulation in [Formulation::Implicit, Formulation::Jerk, Formulation::Residual] {
            if method == Method::Dopri5 && formulation == Formulation::Residual {
                continue;
            }
            let mut scene = scene.clone();
            scene.solver.method = Some(method);
            scene.formulation = formulation;
            ways.push((format!("{method:?} {formulation:?}"), scene));
        }
    }
    ways
}

#[test]
fn accelerations_are_those_by_hand() {
    // m a = (1 ∓ μ)(F − A a) ∓ c, with μ of driving where (F − A a) q̇ > 0 and −β of back-driving elsewhere
    let by_hand = |f: f64, side: f64, slope: f64| (f * (1.0 + slope) - side * C) / (M + A * (1.0 + slope));
    for (f, v) in [(9.0, 1.0), (-9.0, -1.0), (-9.0, 1.0), (9.0, -1.0), (0.0, 1.0), (0.0, -1.0)] {
        let side = f64::signum(v);
        // the rotor drives the carriage where it coasts
        let slope = if f * v >= 0.0 { -MU } else { BETA };
        let expected = by_hand(f, side, slope);
        let scene = carriage(&linear(), &format!("velocity: {v:?}, drive: Effort(Constant({f:?}))"), 0.05);
        for (way, scene) in ways(&scene) {
            let recording = run(&scene);
            let a = recording.last("s.acceleration").unwrap();
            assert!((a - expected).abs() < 1e-9 * expected.abs(), "{way} {f} {v}: {a} {expected}");
            let load = recording.last("s.load").unwrap();
            let transmitted = f - A * expected;
            let n = C + transmitted.abs() * if slope < 0.0 { MU } else { BETA };
            assert!((load - n).abs() < 1e-9 * n, "{way}: {load} {n}");
            assert!((recording.last("s.friction").unwrap() - side * n).abs() < 1e-9 * n);
        }
        // a fixed step: constant accelerations are exact, but for the accuracy of its loads
        let mut scene = scene;
        scene.solver.method = Some(Method::RealTime);
        scene.solver.control = Some(Control::Constant { step: 1e-3 });
        let a = run(&scene).last("s.acceleration").unwrap();
        assert!((a - expected).abs() < 1e-7 * expected.abs(), "RealTime {f} {v}: {a} {expected}");
    }
}

#[test]
fn quadratic_losses_are_those_of_the_implicit_equation() {
    // m a = τ − (c + μ τ + ν τ²), τ = F − A a: by bisection
    let (f, nu) = (9.0, 0.05);
    let residual = |a: f64| {
        let tau = f - A * a;
        tau - (C + MU * tau + nu * tau * tau) - M * a
    };
    let (mut low, mut high) = (0.0, 3.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if residual(middle) > 0.0 { low = middle } else { high = middle }
    }
    let load = format!("driving: {MU:?}, driving_squared: {nu:?}");
    let scene = carriage(&load, &format!("velocity: 1.0, drive: Effort(Constant({f:?}))"), 0.05);
    for (way, scene) in ways(&scene) {
        let a = run(&scene).last("s.acceleration").unwrap();
        assert!((a - low).abs() < 1e-9 * low, "{way}: {a} {low}");
    }
    let mut scene = scene;
    scene.solver.method = Some(Method::RealTime);
    scene.solver.control = Some(Control::Constant { step: 1e-3 });
    let a = run(&scene).last("s.acceleration").unwrap();
    assert!((a - low).abs() < 1e-7 * low, "RealTime: {a} {low}");
}

#[test]
fn a_load_is_held_between_driving_and_back_driving() {
    // held while τ (1 − μ) − c ≤ L ≤ τ (1 + β) + c; exact rest, break-away at the corner
    let load = 4.0;
    let up = (load + C) / (1.0 - MU);
    let down = (load - C) / (1.0 + BETA);
    let start = 4.5;
    for (rate, leaves, mode) in [(1.0, up - start, 1.0), (-1.0, start - down, -1.0)] {
        let drive = format!("offset: {:?}, drive: Effort(Sum([Constant({start:?}), Ramp(rate: {rate:?})]))", -load);
        let scene = carriage(&linear(), &drive, leaves + 0.5);
        for (way, scene) in ways(&scene) {
            let recording = run(&scene);
            let events = recording.events();
            assert_eq!(events.len(), 1, "{way}: {events:?}");
            assert!((events[0].t - leaves).abs() < 1e-9, "{way}: {events:?} {leaves}");
            assert_eq!(recording.last("s.mode").unwrap(), mode);
            let rows = recording.channel("t").unwrap().zip(recording.channel("s.position").unwrap());
            assert!(rows.filter(|(t, _)| *t < leaves).all(|(_, q)| q == 0.0), "{way}");
        }
        let mut scene = scene;
        scene.solver.method = Some(Method::RealTime);
        scene.solver.control = Some(Control::Constant { step: 1e-3 });
        let recording = run(&scene);
        let rows = || recording.channel("t").unwrap().zip(recording.channel("s.velocity").unwrap());
        assert!(rows().filter(|(t, _)| *t < leaves - 2e-3).all(|(_, v)| v == 0.0));
        assert!(rows().filter(|(t, _)| *t > leaves + 2e-3).all(|(_, v)| v * mode > 0.0));
    }
}

#[test]
fn a_lossy_reducer_is_self_locking() {
    // μ > 1: no motor moves it, and one that moves comes to rest against it
    let load = "driving: 1.2, back_driving: 0.1";
    let recording = run(&carriage(load, "drive: Effort(Ramp(rate: 1.0e3))", 1.0));
    assert!(recording.events().is_empty());
    assert_eq!(recording.last("s.position").unwrap(), 0.0);
    let f = 50.0;
    let recording = run(&carriage(load, &format!("velocity: 1.0, drive: Effort(Constant({f:?}))"), 5.0));
    let a = (f * (1.0 - 1.2) - C) / (M + A * (1.0 - 1.2));
    assert_eq!(recording.last("s.velocity").unwrap(), 0.0);
    assert!((recording.events()[0].t + 1.0 / a).abs() < 1e-9, "{:?}", recording.events());
}

#[test]
fn work_of_the_drive_is_motion_and_heat() {
    // forth and back through both directions of power, with rest in between
    let drive = "spring: (stiffness: 12.0), drive: Effort(Sine(amplitude: 11.0, frequency: 0.37))";
    let quadratic = format!("{}, driving_squared: 0.01, back_driving_squared: 0.02", linear());
    let scene = carriage(&quadratic, drive, 12.0);
    let reference = run(&scene);
    let modes: Vec<f64> = reference.channel("s.mode").unwrap().collect();
    assert!([-1.0, 0.0, 1.0].iter().all(|mode| modes.contains(mode)));
    for (way, scene) in ways(&scene) {
        let recording = run(&scene);
        let heat = recording.last("s.dissipated").unwrap();
        assert!(heat > 2.0, "{heat}");
        let balance =
            recording.last("energy.balance").unwrap() - recording.channel("energy.balance").unwrap().next().unwrap();
        // the quadrature of generalized-α, of second order at the default tolerance, is off by 2e-6
        assert!(balance.abs() < 1e-5 * heat, "{way}: {balance:e} of {heat}");
        let distance = recording.last("s.position").unwrap() - reference.last("s.position").unwrap();
        assert!(distance.abs() < 1e-5, "{way}: {distance:e}");
    }
    // first order in the step
    let mut errors = [2e-3, 1e-3].map(|h| {
        let mut scene = scene.clone();
        scene.solver.method = Some(Method::RealTime);
        scene.solver.control = Some(Control::Constant { step: h });
        (run(&scene).last("s.position").unwrap() - reference.last("s.position").unwrap()).abs()
    });
    errors.sort_by(f64::total_cmp);
    assert!(errors[1] < 2e-2, "{errors:?}");
}

#[test]
fn inverse_dynamics_gives_back_the_accelerations() {
    let load = format!("{}, driving_squared: 0.01, back_driving_squared: 0.02", linear());
    for (v, a) in [(1.0, 0.8), (1.0, -1.5), (-1.0, 0.6), (-0.5, -2.0), (1.0, -0.1)] {
        let scene = carriage(&load, &format!("velocity: {v:?}"), 0.01);
        let mut sim = Simulation::new(&scene).unwrap();
        let mut tau = [0.0];
        sim.inverse_dynamics(&[0.0], &[v], &[a], &mut tau).unwrap();
        sim.set_effort("s", tau[0]).unwrap();
        sim.step(1e-4).unwrap();
        assert!((sim.accelerations()[0] - a).abs() < 1e-9, "{v} {a}: {}", sim.accelerations()[0]);
    }
    // no effort drives a reducer that locks itself
    let mut sim = Simulation::new(&carriage("driving: 1.2", "velocity: 1.0", 0.01)).unwrap();
    assert!(sim.inverse_dynamics(&[0.0], &[1.0], &[2.0], &mut [0.0]).is_err());
}

#[test]
fn linearisations_contain_the_reducer() {
    let drive = "velocity: 1.0, drive: Pid(kp: 30.0, kd: 2.0, target: Constant(0.4))";
    let mut sim = Simulation::new(&carriage(&linear(), drive, 0.01)).unwrap();
    let linear = sim.linearize().unwrap();
    // driving: (m + A (1 − μ)) a = (1 − μ)(kp (x − q) − kd v) − c
    let share = 1.0 - MU;
    let inertia = M + A * share;
    let expected = [-30.0 * share / inertia, -2.0 * share / inertia];
    let row = [linear.a[(1, 0)], linear.a[(1, 1)]];
    assert!((row[0] - expected[0]).abs() < 1e-9 && (row[1] - expected[1]).abs() < 1e-9, "{row:?} {expected:?}");
    assert!((linear.b[(1, 0)] - share / inertia).abs() < 1e-12);
}

#[test]
fn a_geared_motor_behind_a_reducer() {
    // motor q_m = 5 q_a; a motor with its own reducer loss on joint m, driving an arm of inertia J: by hand
    let text = "Scene(gravity: (0, 0, 0), links: [Link(name: \"m\", mass: 1.0, inertia: Diagonal(1, 1, 0.02)), \
                Link(name: \"a\", mass: 1.0, inertia: Diagonal(2, 2, 3.0))], joints: [Joint(name: \"m\", parent: \
                \"world\", child: \"m\", kind: Revolute(axis: (0, 0, 1)), velocity: 5.0, armature: 0.1, friction: \
                Coulomb(coulomb: 1.0), load: Transmitted(preload: 0.05, driving: 0.3, back_driving: 0.2), drive: \
                Effort(Constant(2.0))), Joint(name: \"a\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0, \
                0, 1)), velocity: 1.0)], couplings: [Gear(name: \"g\", joints: (\"m\", \"a\"), ratio: 5.0)], duration: \
                0.1)";
    let scene = Scene::parse(text, "geared.ron").unwrap_or_else(|error| panic!("{error}"));
    // (0.02 + 3/25 + 0.1 (1 − 0.3)) a = 0.7·2 − 0.05
    let expected = (0.7 * 2.0 - 0.05) / (0.02 + 3.0 / 25.0 + 0.07);
    for (way, scene) in ways(&scene) {
        let a = run(&scene).last("m.acceleration").unwrap();
        assert!((a - expected).abs() < 1e-8 * expected, "{way}: {a} {expected}");
    }
    let mut scene = scene;
    scene.solver.method = Some(Method::RealTime);
    scene.solver.control = Some(Control::Constant { step: 1e-3 });
    let a = run(&scene).last("m.acceleration").unwrap();
    assert!((a - expected).abs() < 1e-6 * expected, "RealTime: {a} {expected}");
}

#[test]
fn combinations_without_equations_are_refused_by_name() {
    let bad = |fields: &str, others: &str| {
        let text = format!(
            "Scene(links: [Link(name: \"c\", mass: 1.0), Link(name: \"d\", mass: 1.0)], joints: [Joint(name: \"s\", \
             parent: \"world\", child: \"c\", kind: Prismatic(axis: (1, 0, 0)), load: Transmitted(driving: 0.1), \
             {fields}), Joint(name: \"o\", parent: \"c\", child: \"d\", kind: Prismatic(axis: (1, 0, 0)), {others})], \
             duration: 1.0)"
        );
        let error = Scene::parse(&text, "bad.ron").map(|_| ()).unwrap_err();
        error.to_string()
    };
    let dry = "friction: Coulomb(coulomb: 1.0)";
    let lugre = "friction: LuGre(coulomb: 1.0, stiction: 1.2, stribeck_velocity: 0.1, sigma0: 100.0, sigma1: 1.0)";
    let refused = bad(lugre, "");
    assert!(refused.contains("law with stick and slip"), "{refused}");
    assert!(bad(dry, "drive: Motion(Constant(0.0))").contains("`Motion` of `o`"));
    assert!(bad(dry, "limits: (lower: -1.0)").contains("`limits` of `o`"));
}
