//! Bristles of clutches and brakes that are open: they follow their law, or keep their deflection (`open: Frozen`).
//!
//! A disc turns freely at ω₀; at t = ½ s its brake closes with load N. With z = 0 frozen in, the model starts at N σ₁ω₀
//! and
//!
//! ```text
//! J ω̇ = −N (σ₀z + σ₁ż),    ż = ω − σ₀|ω|z/g
//! ```
//!
//! which is integrated here by hand, from the moment of closing. Bristles that followed their law have z = g/σ₀ there,
//! and no peak.

use bristle::hecs;
use bristle::prelude::*;

const J: f64 = 0.1;
const N: f64 = 10.0;
const SIGMA: [f64; 2] = [1e4, 3.0];
const G: f64 = 0.5;

fn scene(open: &str, signal: &str) -> Scene {
    let text = format!(
        "Scene(
            gravity: (0.0, 0.0, 0.0),
            links: [Link(name: \"disc\", mass: 1.0, inertia: Diagonal({J:?}, {J:?}, {J:?}))],
            joints: [Joint(name: \"shaft\", parent: \"world\", child: \"disc\", \
                kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 1.0)],
            couplings: [Brake(
                name: \"brake\", joint: \"shaft\", {open}
                friction: LuGre(sigma0: {:?}, sigma1: {:?}, coulomb: {G:?}),
                load: Signal(max: {N:?}, signal: {signal}),
            )],
            solver: Solver(method: Radau5, control: Error(rtol: 1e-10, atol: 1e-12)),
            duration: 1.0, output: Output(interval: 0.001),
        )",
        SIGMA[0], SIGMA[1]
    );
    Scene::parse(&text, "open brake").unwrap()
}

const STEP: &str = "Steps([(0.0, 0.0), (0.5, 1.0)])";

/// ω and z at `end` after closing, by classical Runge–Kutta.
fn by_hand(mut z: f64, end: f64) -> (f64, f64) {
    let rates = |w: f64, z: f64| {
        let z_rate = w - SIGMA[0] * w.abs() * z / G;
        (-N * (SIGMA[0] * z + SIGMA[1] * z_rate) / J, z_rate)
    };
    let (mut w, n) = (1.0, 200_000);
    let h = end / f64::from(n);
    for _ in 0..n {
        let a = rates(w, z);
        let b = rates(w + 0.5 * h * a.0, z + 0.5 * h * a.1);
        let c = rates(w + 0.5 * h * b.0, z + 0.5 * h * b.1);
        let d = rates(w + h * c.0, z + h * c.1);
        w += h / 6.0 * (a.0 + 2.0 * b.0 + 2.0 * c.0 + d.0);
        z += h / 6.0 * (a.1 + 2.0 * b.1 + 2.0 * c.1 + d.1);
    }
    (w, z)
}

/// The entity of a coupling.
fn entity(sim: &mut Simulation, name: &str) -> hecs::Entity {
    let mut query = sim.world_mut().query::<(hecs::Entity, &Name)>();
    query.iter().find(|(_, named)| named.0 == name).unwrap().0
}

/// Set z of the brake to `z`, run to `end`: speed, z, and torque there.
fn run(open: &str, z: f64, end: f64, settings: &[(&str, &str)]) -> (f64, f64, f64) {
    let mut scene = scene(open, STEP);
    if let [(_, method), (_, control)] = settings {
        let text = scene.to_ron().unwrap();
        scene =
            Scene::parse_with(&text, "open brake", &[("solver.method", method), ("solver.control", control)]).unwrap();
    }
    let mut sim = Simulation::new(&scene).unwrap();
    let brake = entity(&mut sim, "brake");
    sim.world_mut().get::<&mut BristleState>(brake).unwrap().z = z;
    sim.run_until(end).unwrap();
    let world = sim.world_mut();
    let (z, torque) = (world.get::<&BristleState>(brake).unwrap().z, world.get::<&FrictionEffort>(brake).unwrap().0);
    (sim.velocity("shaft").unwrap(), z, torque)
}

#[test]
fn frozen_bristles_keep_every_bit_while_open() {
    for z in [0.0, 1.234e-5, -3.3e-5] {
        for settings in
            [&[][..], &[("", "RealTime"), ("", "Constant(step: 1e-3)")], &[("", "Rk4"), ("", "Constant(step: 1e-4)")]]
        {
            let (speed, now, torque) = run("open: Frozen,", z, 0.4, settings);
            assert_eq!((now.to_bits(), torque), (z.to_bits(), 0.0), "{settings:?}");
            assert!((speed - 1.0).abs() < 1e-14);
            // by the law: deflection follows the slip, from any start value
            let (_, now, _) = run("", z, 0.4, settings);
            assert!((now * SIGMA[0] / G - 1.0).abs() < 1e-6, "{settings:?}: {now}");
        }
    }
}

#[test]
fn frozen_brake_closes_by_its_equations() {
    for z in [0.0, -2e-5] {
        for after in [2e-5, 1e-4, 3e-3] {
            let (speed, bent, torque) = run("open: Frozen,", z, 0.5 + after, &[]);
            let (w, s) = by_hand(z, after);
            let expected = N * (SIGMA[0] * s + SIGMA[1] * (w - SIGMA[0] * w.abs() * s / G));
            assert!((speed - w).abs() < 1e-8 && (bent - s).abs() < 1e-11, "{z} {after}: {speed} {w}, {bent} {s}");
            assert!((torque - expected).abs() < 1e-5 * N, "{z} {after}: {torque} {expected}");
        }
    }
    // a peak of six times the torque of sliding at first, and none where bristles followed the slip
    let peak = N * SIGMA[1] / (N * G);
    assert!(peak > 5.9 && run("open: Frozen,", 0.0, 0.5 + 1e-9, &[]).2 > 0.99 * peak * N * G);
    assert!((run("", 0.0, 0.5 + 1e-9, &[]).2 - N * G).abs() < 1e-6);
}

#[test]
fn peak_momentum_is_independent_of_step() {
    // beyond the friction of sliding: N σ₁ g/σ₀ of the peak, less N g · g/(σ₀ω) while the bristles bend; RealTime
    let lost = |open: &str| {
        let (speed, ..) = run(open, 0.0, 0.51, &[("", "RealTime"), ("", "Constant(step: 1e-3)")]);
        J * (1.0 - speed)
    };
    let (frozen, law) = (lost("open: Frozen,"), lost(""));
    assert!((law - N * G * 0.01).abs() < 1e-9, "{law}");
    let expected = N * (SIGMA[1] * G - G * G) / SIGMA[0];
    // ω falls by a twentieth in one step
    assert!(((frozen - law) / expected - 1.0).abs() < 0.05, "{frozen} {law} {expected}");
}

#[test]
fn frozen_state_has_no_derivatives() {
    let mut sim = Simulation::new(&scene("open: Frozen,", STEP)).unwrap();
    sim.run_until(0.25).unwrap();
    let open = sim.linearize().unwrap().a;
    sim.run_until(0.75).unwrap();
    let closed = sim.linearize().unwrap().a;
    let last = open.nrows() - 1;
    assert!(open.row(last).iter().all(|x| *x == 0.0), "{open}");
    assert!(closed.row(last).iter().any(|x| *x != 0.0), "{closed}");
}

#[test]
fn ramp_from_zero_is_not_open() {
    // rate of the bristle just after the ramp begins: the law's, not 0, whatever the method
    for method in ["Radau5", "Dopri5"] {
        let text = scene("open: Frozen,", "Table([(0.5, 0.0), (0.6, 1.0)])").to_ron().unwrap();
        let set = [("solver.method", method)];
        let mut sim = Simulation::new(&Scene::parse_with(&text, "ramp", &set).unwrap()).unwrap();
        let brake = entity(&mut sim, "brake");
        sim.world_mut().get::<&mut BristleState>(brake).unwrap().z = 0.0;
        sim.run_until(0.5 + 1e-6).unwrap();
        let z = sim.world_mut().get::<&BristleState>(brake).unwrap().z;
        // z = g/σ₀ (1 − exp(−σ₀ωt/g)): the load is negligible
        let expected = G / SIGMA[0] * (1.0 - (-SIGMA[0] * 1e-6 / G).exp());
        assert!((z / expected - 1.0).abs() < 1e-6, "{method}: {z} {expected}");
    }
}

#[test]
fn one_way_clutch_is_not_frozen() {
    let text = "Scene(links: [Link(name: \"a\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), \
            Link(name: \"b\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0))],
        joints: [Joint(name: \"i\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0.0, 0.0, 1.0))),
            Joint(name: \"o\", parent: \"world\", child: \"b\", kind: Revolute(axis: (0.0, 0.0, 1.0)))],
        couplings: [OneWayClutch(name: \"f\", joints: (\"i\", \"o\"), \
            friction: LuGre(sigma0: 1e5, sigma1: 300.0, coulomb: 0.5), \
            load: Signal(max: 10.0, signal: Constant(0.0)))])";
    let frozen = text.replace("OneWayClutch(", "OneWayClutch(open: Frozen, ");
    assert!(Scene::parse(&frozen, "one-way").unwrap_err().to_string().contains("open"));
    // nor through the world
    let mut sim = Simulation::new(&Scene::parse(text, "one-way").unwrap()).unwrap();
    let clutch = entity(&mut sim, "f");
    sim.world_mut().insert_one(clutch, Open::Frozen).unwrap();
    assert!(sim.step(0.01).unwrap_err().to_string().contains("one-way clutch"));
}
