//! `RealTime` against other steppers on random machines, on one-way clutches with bristles, with stiff gains, and near
//! jamming.

use crate::real_time::arm;
use crate::stick_slip::simulation;
use bristle::friction::Coulomb;
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Shafts on one axis, `j1`, `j2`, …: inertia and further fields of the joint.
fn shafts(shafts: &[(f64, String)], couplings: &str) -> String {
    let (mut links, mut joints) = (String::new(), String::new());
    for (k, (inertia, rest)) in shafts.iter().enumerate() {
        let k = k + 1;
        links +=
            &format!("Link(name: \"i{k}\", mass: 1.0, inertia: Diagonal({inertia:?}, {inertia:?}, {inertia:?})), ");
        joints += &format!(
            "Joint(name: \"j{k}\", parent: \"world\", child: \"i{k}\", kind: Revolute(axis: (0.0, 0.0, 1.0)), {rest}), "
        );
    }
    format!(
        "gravity: (0.0, 0.0, 0.0), links: [{links}], joints: [{joints}], couplings: [{couplings}], \
         output: Output(interval: 0.01)"
    )
}

/// A box of six driven shafts: a gear, a planetary set, a spring, and clutches and brakes of every law, some of them
/// opening and closing.
fn random_box(rng: &mut Pcg64) -> String {
    let laws = [
        "Coulomb(coulomb: 0.8, stiction: 1.0)",
        "Stribeck(coulomb: 0.8, stiction: 1.0, stribeck_velocity: 0.5, viscous: 0.05)",
        "Table(points: [(0.0, 0.7), (1.0, 0.8), (10.0, 0.9)], peak: 1.1)",
        "Tanh(coulomb: 0.8, stribeck_velocity: 0.05)",
        "Dahl(coulomb: 0.8, sigma0: 2e3)",
        "LuGre(sigma0: 1e4, sigma1: 30.0, sigma2: 0.02, coulomb: 0.8, stiction: 0.9, stribeck_velocity: 0.1)",
        "ElastoPlastic(sigma0: 1e4, sigma1: 30.0, sigma2: 0.02, coulomb: 0.8, breakaway: 4e-5)",
    ];
    let mut kept = Vec::new();
    for k in 0..6 {
        let [amplitude, offset] = [rng.random_range(0.0..2.0), rng.random_range(-1.0..1.0)];
        let frequency = rng.random_range(0.5..6.0);
        let effort =
            format!("drive: Effort(Sine(amplitude: {amplitude:?}, frequency: {frequency:?}, offset: {offset:?}))");
        // geared shafts start from rest, the others in motion
        let velocity: f64 = if k < 5 { 0.0 } else { rng.random_range(-4.0..4.0) };
        kept.push((
            10_f64.powf(rng.random_range(-1.5..0.3)),
            format!("{effort}, damping: 0.02, velocity: {velocity:?}"),
        ));
    }
    let mut couplings = format!(
        "Gear(name: \"gear\", joints: (\"j1\", \"j2\"), ratio: {:?}), \
         Planetary(name: \"set\", sun: \"j2\", ring: \"j3\", carrier: \"j4\", ratio: {:?}), \
         SpringDamper(name: \"shaft\", joints: (\"j4\", \"j5\"), stiffness: {:?}, damping: 0.3), ",
        rng.random_range(-3.0..-0.5),
        rng.random_range(1.5..3.0),
        rng.random_range(20.0..200.0),
    );
    for (k, (a, b)) in [("j5", "j6"), ("j3", "j6"), ("j1", "j4")].into_iter().enumerate() {
        let law = laws[rng.random_range(0..laws.len())];
        let load = match rng.random_range(0..2) {
            0 => format!("Constant({:?})", rng.random_range(0.5..3.0)),
            _ => format!(
                "Signal(max: {:?}, signal: Table([(0.1, 1.0), (0.2, 0.0), (0.5, 0.0), (0.6, 1.0)]))",
                rng.random_range(0.5..3.0)
            ),
        };
        couplings += &match rng.random_range(0..3) {
            0 => format!("Brake(name: \"e{k}\", joint: \"{a}\", friction: {law}, load: {load}), "),
            1 => format!(
                "OneWayClutch(name: \"e{k}\", joints: (\"{a}\", \"{b}\"), friction: {law}, load: {load}, \
                 lock_factor: 5.0), "
            ),
            _ => format!("Clutch(name: \"e{k}\", joints: (\"{a}\", \"{b}\"), friction: {law}, load: {load}), "),
        };
    }
    shafts(&kept, &couplings)
}

/// Differences of a run from one at 1e-9.
#[derive(Debug, Clone, Copy)]
struct Off {
    /// Largest difference of any velocity, rad/s, and of any position, rad, in any row.
    velocity: f64,
    position: f64,
    /// Heat of all couplings together, and the error of the balance, J, at the end.
    heat: f64,
    balance: f64,
}

/// At each of the steps `h`.
fn off(fields: &str, h: &[f64; 3], until: f64) -> [Off; 3] {
    let heat = |recording: &Recording| recording.last("energy.dissipated").unwrap();
    let expected = simulation(fields, "Radau5", "Error(rtol: 1e-9, atol: 1e-11)").run_until(until);
    let expected = expected.unwrap_or_else(|error| panic!("{error}\n{fields}"));
    h.map(|h| {
        let recording = simulation(fields, "RealTime", &format!("Constant(step: {h:?})")).run_until(until);
        let recording = recording.unwrap_or_else(|error| panic!("{error}\n{fields}"));
        let worst = |ending: &str| {
            let names = recording.names().iter().filter(|name| name.ends_with(ending));
            let pairs = names.flat_map(|name| recording.channel(name).unwrap().zip(expected.channel(name).unwrap()));
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        Off {
            velocity: worst(".velocity"),
            position: worst(".position"),
            heat: (heat(&recording) - heat(&expected)).abs(),
            balance: recording.last("energy.balance").unwrap().abs(),
        }
    })
}

/// A quarter of the step leaves 1/`ratio` of the error `of` or less, in the last of three steps.
#[track_caller]
fn assert_falls(found: &[Off; 3], of: fn(&Off) -> f64, ratio: f64, what: &str) {
    let found_ratio = of(&found[1]) / of(&found[2]);
    assert!(found_ratio > ratio, "{what}: a quarter of the step leaves 1/{found_ratio}: {found:?}");
}

#[test]
fn random_gearboxes_converge() {
    for seed in 0..12 {
        let fields = random_box(&mut Pcg64::seed_from_u64(seed));
        let found = off(&fields, &[1e-3, 2.5e-4, 6.25e-5], 0.8);
        println!("seed {seed}: {found:?}");
        // speeds are of the order of 5 rad/s, paths of 2 rad
        assert!(found[0].velocity < 0.1 && found[0].position < 5e-3, "seed {seed}: {found:?}\n{fields}");
        // changes of mode, some 20 of them, are off by parts of a step
        assert_falls(&found, |off| off.position, 2.2, &format!("positions of seed {seed}"));
        assert!(found[0].heat < 3e-3 && found[2].heat < 2e-4, "heat of seed {seed}: {found:?}");
        assert_falls(&found, |off| off.balance, 12.0, &format!("balance of seed {seed}"));
        // Dahl's bristles have no damping: the method damps their ringing, at up to 500 rad/s, with ω² h/2, in 0.1 s at
        // 60 µs. The ringing is in the velocities of every row, negligible in the positions, and needs steps of 4 µs to
        // be right
        if !fields.contains("Dahl") {
            assert_falls(&found, |off| off.velocity, 3.6, &format!("velocities of seed {seed}"));
        }
    }
}

#[test]
fn one_way_clutches_follow_tight_runs() {
    // Dahl's bristles ring, at 80 rad/s and undamped: the ringing persists until the load returns only if ω² h/2 is
    // small beside 1/s, so that steps are a quarter of those of the others
    let (fine, coarse) = ([2.5e-4, 6.25e-5, 1.5625e-5], [1e-3, 2.5e-4, 6.25e-5]);
    for (law, steps) in [
        ("Dahl(coulomb: 0.8, sigma0: 50.0)", fine),
        ("Tanh(coulomb: 0.8, stribeck_velocity: 0.05)", coarse),
        ("LuGre(sigma0: 1e4, sigma1: 30.0, sigma2: 0.02, coulomb: 0.8, stiction: 0.9, stribeck_velocity: 0.1)", coarse),
        ("LuGre(sigma0: 1e5, sigma1: 300.0, sigma2: 0.0, coulomb: 0.8)", coarse),
        ("ElastoPlastic(sigma0: 1e4, sigma1: 30.0, sigma2: 0.02, coulomb: 0.8, breakaway: 4e-5)", coarse),
    ] {
        // the motor oscillates and drives the wheel in one direction: bristles deflect backward, release, deflect
        // forward, five times
        for load in
            ["Constant(1.0)", "Signal(max: 2.0, signal: Table([(0.5, 1.0), (0.7, 0.0), (1.1, 0.0), (1.3, 1.0)]))"]
        {
            let motor = "drive: Effort(Sine(amplitude: 4.0, frequency: 15.0)), damping: 0.1".to_owned();
            let fields = shafts(
                &[(0.3, "damping: 0.05".to_owned()), (0.1, motor)],
                &format!(
                    "OneWayClutch(name: \"freewheel\", joints: (\"j1\", \"j2\"), friction: {law}, load: {load}, \
                     lock_factor: 10.0)"
                ),
            );
            let found = off(&fields, &steps, 2.0);
            let what = |quantity: &str| format!("{quantity}, {law} {load}");
            println!("{}: {found:?}", what("all"));
            // 4 N·m on 0.1 kg·m² in a step of 1 ms: 0.04 rad/s; a quarter of that in one of 0.25 ms
            let [_, Off { velocity, .. }, _] = found;
            let bound = if law.starts_with("Dahl") { 0.04 } else { 0.01 };
            assert!(velocity < bound, "{}: {found:?}", what("velocity"));
            assert_falls(&found, |off| off.velocity, 2.5, &what("velocity"));
            assert_falls(&found, |off| off.balance, 12.0, &what("balance"));
            // the heat is a tenth of the work; the error of coarse steps has either sign
            assert_falls(&found, |off| off.heat, 2.8, &what("heat"));
        }
    }
}

#[test]
fn arm_with_stiff_gains_reaches_target() {
    // kp/inertia reaches 1e7/s²: 3,000 rad/s at steps of 4 ms and 1 ms
    for h in [4e-3, 1e-3] {
        let mut world = arm();
        for (_, drive) in world.query_mut::<(Entity, &mut Drive)>() {
            if let Drive::Pid { kp, ki, kd, .. } = drive {
                (*kp, *ki, *kd) = (1e6, 1e5, 1e3);
            }
        }
        let settings =
            Settings { method: Method::RealTime, control: Control::Constant { step: h }, ..Settings::default() };
        let mut sim = Simulation::with_settings(world, settings).unwrap();
        let mut worst = 0.0_f64;
        for k in 0..(3.0 / h) as usize {
            sim.step(h).unwrap();
            if sim.time() < 1.0 {
                continue;
            }
            for (joint, q) in sim.positions().iter().enumerate() {
                let f = joint as f64;
                let target = 0.1 + 0.5 * ((1.5 + 0.3 * f) * sim.time() + 0.4 * f).sin();
                worst = worst.max((q - target).abs());
                assert!((q - target).abs() < 0.01, "h {h}, step {k}, joint {joint}: {q} instead of {target}");
            }
        }
        println!("h {h}: {worst:e} from the target, {:?}", sim.counters());
    }
}

#[test]
fn unconverged_load_is_named() {
    // hinge 0.1 m from the centre of mass, J = 0.011 kg·m²: friction of the pin reduces the acceleration by μ r m l/J =
    // 9.1 μ r
    let pendulum = |radius: f64| {
        format!(
            "links: [Link(name: \"bar\", mass: 1.0, center_of_mass: (0.0, 0.0, -0.1), \
             inertia: Diagonal(1e-3, 1e-3, 1e-3))], \
             joints: [Joint(name: \"hinge\", parent: \"world\", child: \"bar\", kind: Revolute(axis: (0.0, 1.0, 0.0)), \
             position: 1.5, friction: Coulomb(coulomb: 0.5), load: Pin(radius: {radius:?}))]"
        )
    };
    for (radius, is_named) in [(0.005, false), (0.02, false), (0.19, true)] {
        let mut sim = simulation(&pendulum(radius), "RealTime", "Constant(step: 1e-3)");
        sim.run_until(1.0).unwrap();
        let (warnings, counters) = (sim.warnings(), sim.counters());
        println!("{radius}: {warnings:?} {counters:?}");
        assert_eq!(counters.n_unconverged_loads > 0, is_named, "{counters:?}");
        assert_eq!(
            warnings.iter().any(|w| w.contains("load of joint `hinge` had not converged")),
            is_named,
            "{warnings:?}"
        );
        // and is stored
        let bytes = sim.snapshot().unwrap();
        let mut again = simulation(&pendulum(radius), "RealTime", "Constant(step: 1e-3)");
        again.restore(&bytes).unwrap();
        assert_eq!(again.warnings(), warnings);
    }
}

/// A chain of rods, every hinge with dry friction, released from the stretched position.
fn chain(n: usize) -> World {
    let mut world = World::new();
    let mut last: Option<Entity> = None;
    for k in 0..n {
        let link = world.spawn_link(&format!("link{k}"), LinkInertia::rod(1.0, [0.2, 0.0, 0.0].into()));
        let axis = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]][k % 3];
        let mut joint = revolute(&format!("joint{k}"), axis).to(link);
        if let Some(parent) = last {
            joint = joint.from(parent).at([0.2, 0.0, 0.0]);
        }
        world.spawn_joint(joint.friction(Coulomb { coulomb: 0.5, stiction: 0.5, viscous: 0.01 }.into()));
        last = Some(link);
    }
    world
}

/// Inertia spans many decades and hinges break away together: the modes converge within the rounds of a step, and agree
/// with the event-driven selection.
#[test]
fn chain_of_a_hundred_hinges_breaks_away() {
    let settings =
        Settings { method: Method::RealTime, control: Control::Constant { step: 1e-3 }, ..Settings::default() };
    for n in [10, 40, 100] {
        let mut sim = Simulation::with_settings(chain(n), settings).unwrap();
        let exact = Simulation::with_settings(chain(n), Settings::default()).unwrap();
        let largest = exact.accelerations().iter().fold(0.0_f64, |most, a| most.max(a.abs()));
        let mut n_sliding = 0;
        for k in 0..n {
            let (found, expected) = (sim.accelerations()[k], exact.accelerations()[k]);
            assert!((found - expected).abs() < 1e-6 * largest, "joint {k} of {n}: {found} instead of {expected}");
            assert_eq!(found == 0.0, expected == 0.0, "joint {k} of {n}: {found} instead of {expected}");
            assert!((sim.friction_efforts()[k] - exact.friction_efforts()[k]).abs() < 1e-5, "joint {k} of {n}");
            n_sliding += usize::from(found != 0.0);
        }
        let mut before = f64::INFINITY;
        for k in 0..200 {
            sim.step(1e-3).unwrap_or_else(|error| panic!("{n} joints, step {k}: {error}"));
            let energy = sim.energy().unwrap();
            let now = energy.kinetic + energy.potential;
            // rounding, and the dissipation of first order in a chain that whips
            assert!(now <= before + 1e-3 * energy.kinetic, "{n} joints, step {k}: {before} to {now}");
            before = now;
        }
        println!("{n} joints, {n_sliding} let go: {:?}", sim.counters());
        assert!(n_sliding >= 3 && sim.counters().max_rounds <= 100, "{:?}", sim.counters());
    }
}

/// A state in motion: accelerations and friction before the first step are those of a very short step.
#[test]
fn start_accelerations_satisfy_equations() {
    let mut rng = Pcg64::seed_from_u64(5);
    for _ in 0..50 {
        let v: Vec<f64> = (0..7).map(|_| rng.random_range(-2.0..2.0)).collect();
        let moving = || {
            let mut world = arm();
            let joints: Vec<Entity> =
                world.query_mut::<(Entity, &Drive)>().into_iter().map(|(joint, _)| joint).collect();
            for (joint, v) in joints.into_iter().zip(&v) {
                world.get::<&mut JointState>(joint).unwrap().velocity = *v;
            }
            world
        };
        let radau = Settings { method: Method::Radau5, ..Settings::default() };
        let fixed =
            Settings { method: Method::RealTime, control: Control::Constant { step: 1e-3 }, ..Settings::default() };
        let exact = Simulation::with_settings(moving(), radau).unwrap();
        let found = Simulation::with_settings(moving(), fixed).unwrap();
        for (found, expected) in found.accelerations().iter().zip(exact.accelerations()) {
            assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} instead of {expected}");
        }
    }
}
