//! `RealTime` with gears, clutches, brakes and springs between joints: against tight runs, at any step.

use crate::stick_slip::{assert_near, simulation};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Inertias on one axis, each on its own bearing, joints `j1`, `j2`, …: inertia and further fields of the joint.
pub(crate) fn shafts(shafts: &[(f64, &str)], couplings: &str) -> String {
    let mut text = String::from("gravity: (0.0, 0.0, 0.0), links: [");
    for (k, (j, _)) in shafts.iter().enumerate() {
        text += &format!("Link(name: \"i{}\", mass: 1.0, inertia: Diagonal({j:?}, {j:?}, {j:?})), ", k + 1);
    }
    text += "], joints: [";
    for (k, (_, rest)) in shafts.iter().enumerate() {
        text += &format!(
            "Joint(name: \"j{0}\", parent: \"world\", child: \"i{0}\", \
             kind: Revolute(axis: (0.0, 0.0, 1.0)), {rest}), ",
            k + 1
        );
    }
    format!("{text}], couplings: [{couplings}]")
}

pub(crate) fn real_time(fields: &str, h: f64) -> Simulation {
    simulation(fields, "RealTime", &format!("Constant(step: {h:?})"))
}

/// A scene file with another method.
fn scene(text: &str, method: Method, control: Control) -> Simulation {
    let scene = Scene::parse(text, "scene").unwrap_or_else(|error| panic!("{error}"));
    let solver = bristle::scene::Solver { method: Some(method), control: Some(control), ..Default::default() };
    Simulation::new(&Scene { solver, ..scene }).unwrap_or_else(|error| panic!("{error}"))
}

/// Largest difference of the channels that begin with `prefix`, at steps of `h`, from a run at 1e-9.
fn off(text: &str, method: Method, prefix: &[&str], h: &[f64], until: f64) -> Vec<f64> {
    let expected = scene(text, method, Control::Error { rtol: 1e-9, atol: 1e-11 }).run_until(until).unwrap();
    let mut found = Vec::new();
    for &h in h {
        let mut sim = scene(text, Method::RealTime, Control::Constant { step: h });
        let recording = sim.run_until(until).unwrap_or_else(|error| panic!("{error}"));
        let mut worst = 0.0_f64;
        for name in recording.names().iter().filter(|name| prefix.contains(&name.as_str())) {
            let pairs = recording.channel(name).unwrap().zip(expected.channel(name).unwrap());
            worst = pairs.map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
        }
        println!("h {h}: {worst:e}, balance {:?}, {:?}", recording.last("energy.balance"), sim.counters());
        println!("   events {:?}", recording.events().len());
        found.push(worst);
    }
    println!("   events of the tight run {:?}", expected.events().len());
    found
}

#[test]
fn coupled_clutches_follow_tight_run() {
    let text = include_str!("../scenes/coupled_clutches.ron");
    let channels = ["shaft 1.velocity", "shaft 2.velocity", "shaft 3.velocity", "shaft 4.velocity"];
    let worst = off(text, Method::Dopri5, &channels, &[4e-3, 1e-3, 2.5e-4], 1.5);
    assert!(worst[0] < 0.5 && worst[1] < 0.12 && worst[2] < 0.035, "{worst:?}");
    // the same changes in the same order, to a few steps
    let run = |method, control| scene(text, method, control).run_until(1.5).unwrap();
    let expected = run(Method::Dopri5, Control::Error { rtol: 1e-9, atol: 1e-11 });
    let found = run(Method::RealTime, Control::Constant { step: 2.5e-4 });
    let expected: Vec<_> = expected.events().iter().filter(|event| event.t > 0.5).collect();
    let found: Vec<_> = found.events().iter().filter(|event| event.t > 0.5).collect();
    println!("{found:?}\n{expected:?}");
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((&found.joint, found.from, found.to), (&expected.joint, expected.from, expected.to));
        assert_near("time of a change", found.t, expected.t, 2e-3);
    }
}

#[test]
fn gears_are_exact_with_right_forces() {
    // 50:1 with a brake on the slow side, driven by a sine: the gear's effort and positions against the tight run
    let couplings = "Gear(name: \"stage\", joints: (\"j1\", \"j2\"), ratio: 50.0, offset: 0.3), \
             Planetary(name: \"p\", sun: \"j2\", ring: \"j3\", carrier: \"j4\", ratio: 2.0), \
             Brake(name: \"b\", joint: \"j3\", friction: Coulomb(coulomb: 2.0, stiction: 3.0))";
    let drive = "drive: Effort(Sine(amplitude: 1.0, frequency: 3.0))";
    let fields = shafts(&[(1e-3, drive), (0.5, "damping: 0.2"), (0.2, ""), (0.8, "damping: 1.0")], couplings);
    let tight = simulation(&fields, "Dopri5", "Error(rtol: 1e-10, atol: 1e-12)").run_until(3.0).unwrap();
    let mut errors = Vec::new();
    for h in [4e-3, 1e-3] {
        let mut sim = real_time(&fields, h);
        let recording = sim.run_until(3.0).unwrap();
        let at = |name: &str| recording.channel(name).unwrap().collect::<Vec<_>>();
        let (q1, q2, v1, v2) = (at("j1.position"), at("j2.position"), at("j1.velocity"), at("j2.velocity"));
        for k in 0..q1.len() {
            assert_near("positions", q1[k], 50.0 * q2[k] + 0.3, 4.0 * f64::EPSILON * (1.0 + q1[k].abs()));
            assert_near("velocities", v1[k], 50.0 * v2[k], 4.0 * f64::EPSILON * (1.0 + v1[k].abs()));
        }
        let (v3, v4) = (at("j3.velocity"), at("j4.velocity"));
        for k in 0..v2.len() {
            assert_near("Willis", v2[k] + 2.0 * v3[k], 3.0 * v4[k], 1e-14 * (1.0 + v2[k].abs()));
        }
        let difference = |name: &str| {
            let pairs = recording.channel(name).unwrap().zip(tight.channel(name).unwrap());
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let worst = [difference("j2.velocity"), difference("j4.position"), difference("stage.effort")];
        println!("h {h}: {worst:?}, {:?} and {:?} events", recording.events().len(), tight.events().len());
        // a stuck brake keeps every bit
        let mode = at("b.mode");
        let q3 = at("j3.position");
        for k in 2..mode.len() {
            if mode[k] == 0.0 && mode[k - 1] == 0.0 && mode[k - 2] == 0.0 {
                assert_eq!(q3[k].to_bits(), q3[k - 1].to_bits());
                assert_eq!(v3[k], 0.0);
            }
        }
        errors.push(worst);
    }
    assert!(errors[1][0] < 0.4 * errors[0][0] && errors[1][1] < 0.4 * errors[0][1], "{errors:?}");
    assert!(errors[1][0] < 0.05 && errors[1][2] < 2.0, "{errors:?}");
}

#[test]
fn series_elastic_joint_follows_tight_run() {
    let text = include_str!("../scenes/series_elastic_joint.ron");
    let scene = Scene::parse(text, "series_elastic_joint.ron").unwrap();
    let channels: Vec<String> = scene.joints.iter().map(|joint| format!("{}.position", joint.name)).collect();
    let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
    let until = scene.duration.min(3.0);
    let worst = off(text, Method::Radau5, &channels, &[4e-3, 1e-3, 2.5e-4], until);
    assert!(worst[2] < 0.4 * worst[1], "{worst:?}");
}

#[test]
fn one_way_clutch_follows_tight_run() {
    let text = include_str!("../scenes/one_way_clutch.ron");
    let scene = Scene::parse(text, "one_way_clutch.ron").unwrap();
    let channels: Vec<String> = scene.joints.iter().map(|joint| format!("{}.velocity", joint.name)).collect();
    let channels: Vec<&str> = channels.iter().map(String::as_str).collect();
    let steps = [4e-3, 1e-3, 2.5e-4];
    let worst = off(text, Method::Radau5, &channels, &steps, scene.duration);
    for (worst, h) in worst.iter().zip(steps) {
        assert!(*worst < 5.0 * h, "{worst} at {h}");
    }
}

#[test]
fn clutches_redundant_to_gear_stick_exactly() {
    // a gear of 1, two dry clutches across it, a third to a stuck brake: all joints are at rest
    let clutch = |name: &str, a: usize, b: usize| {
        format!("Clutch(name: \"{name}\", joints: (\"j{a}\", \"j{b}\"), friction: Coulomb(coulomb: 4.0)), ")
    };
    let couplings = format!(
        "Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: 1.0), {}{}{}{} Brake(name: \"b\", joint: \"j3\", friction: \
         Coulomb(coulomb: 4.0))",
        clutch("c1", 1, 2),
        clutch("c2", 2, 1),
        clutch("c3", 2, 3),
        clutch("c4", 3, 2),
    );
    let fields = shafts(&[(1.0, "velocity: 1.0"), (2.0, "velocity: 1.0"), (0.5, "effort: 1.0")], &couplings);
    let fields = fields.replace("effort: 1.0", "drive: Effort(Constant(1.0))");
    for h in [0.1, 1e-3] {
        let mut sim = real_time(&fields, h);
        let recording = sim.run_until(3.0).unwrap();
        for joint in ["j1", "j2", "j3"] {
            assert_eq!(recording.last(&format!("{joint}.velocity")).unwrap(), 0.0);
        }
        for element in ["c1", "c2", "c3", "c4", "b"] {
            assert_eq!(recording.last(&format!("{element}.mode")).unwrap(), 0.0, "{element}");
            assert!(recording.last(&format!("{element}.friction")).unwrap().abs() <= 4.0 + 1e-12);
        }
        // brake and clutches together carry the effort of the drive
        assert_near("held", recording.last("b.friction").unwrap(), 1.0, 1e-9);
        println!("{:?}", sim.counters());
        assert!(sim.counters().max_rounds <= 20);
    }
}

#[test]
fn motion_drives_match_signals_at_step_ends() {
    // a driven slide with a pendulum on it, and a spring-damper and a clutch to a third joint
    let fields = "gravity: (0.0, 0.0, -9.81), links: [Link(name: \"cart\", mass: 2.0), \
             Link(name: \"bob\", mass: 1.0, center_of_mass: (0.0, 0.0, -0.5)), Link(name: \"block\", mass: 1.0)], \
             joints: [Joint(name: \"cart\", parent: \"world\", child: \"cart\", \
             kind: Prismatic(axis: (1.0, 0.0, 0.0)), friction: Coulomb(coulomb: 0.5), \
             drive: Motion(Sine(amplitude: 0.3, frequency: 4.0))), \
             Joint(name: \"swing\", parent: \"cart\", child: \"bob\", kind: Revolute(axis: (0.0, 1.0, 0.0)), \
             damping: 0.05), Joint(name: \"slide\", parent: \"world\", child: \"block\", \
             kind: Prismatic(axis: (1.0, 0.0, 0.0)))], \
             couplings: [SpringDamper(name: \"s\", joints: (\"slide\", \"cart\"), stiffness: 30.0, damping: 2.0)]";
    let tight = simulation(fields, "Dopri5", "Error(rtol: 1e-10, atol: 1e-12)").run_until(3.0).unwrap();
    let mut errors = Vec::new();
    for h in [4e-3, 1e-3] {
        let recording = real_time(fields, h).run_until(3.0).unwrap();
        for (t, x) in recording.channel("t").unwrap().zip(recording.channel("cart.position").unwrap()) {
            assert_near("cart", x, 0.3 * (4.0 * t).sin(), 1e-12);
        }
        let difference = |name: &str| {
            let pairs = recording.channel(name).unwrap().zip(tight.channel(name).unwrap());
            pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let input = (recording.last("energy.input").unwrap() - tight.last("energy.input").unwrap()).abs();
        println!(
            "{:?}",
            [recording.last("energy.input"), tight.last("energy.input"), recording.last("energy.balance")]
        );
        errors.push([difference("swing.position"), difference("slide.position"), input]);
    }
    println!("{errors:?}");
    for (coarse, fine) in errors[0].iter().zip(errors[1]) {
        assert!(fine < 0.4 * coarse, "{errors:?}");
    }
}

/// The two joints of a force, 0 being the ground, and its stiffness, damping and largest load.
type Force = ([usize; 2], [f64; 3]);

/// A drivetrain of up to six shafts with couplings of all kinds, moving, without input; and its forces.
fn random_drivetrain(rng: &mut Pcg64) -> (String, Vec<Force>) {
    let laws = [
        "Coulomb(coulomb: 0.8, stiction: 1.2)",
        "Stribeck(coulomb: 0.8, stiction: 1.2, stribeck_velocity: 0.1, viscous: 0.1)",
        "Tanh(coulomb: 0.8, stribeck_velocity: 1e-3)",
        "Dahl(coulomb: 0.8, sigma0: 1e5)",
        "LuGre(sigma0: 1e5, sigma1: 300.0, sigma2: 0.0, coulomb: 0.8)",
        "ElastoPlastic(sigma0: 1e4, sigma1: 3.0, sigma2: 0.1, coulomb: 0.8, breakaway: 4e-5)",
    ];
    let n = rng.random_range(2..=6);
    let mut kept: Vec<(f64, String)> = Vec::new();
    let mut forces = Vec::new();
    for _ in 0..n {
        let spring = if rng.random_bool(0.3) { "spring: Spring(stiffness: 1e4)," } else { "" };
        let velocity = if spring.is_empty() { rng.random_range(-5.0..5.0) } else { 0.0 };
        let inertia = 10_f64.powf(rng.random_range(-3.0..1.0));
        forces.push(([kept.len() + 1, 0], [if spring.is_empty() { 0.0 } else { 1e4 }, 0.0, 0.0]));
        kept.push((inertia, format!("{spring} velocity: {velocity:?}, position: 0.0")));
    }
    let mut couplings = String::new();
    for k in 0..rng.random_range(1..=8) {
        let a = rng.random_range(1..=n);
        let b = (a % n) + 1;
        let law = laws[rng.random_range(0..laws.len())];
        let load = 10_f64.powf(rng.random_range(-1.0..2.0));
        let kind = rng.random_range(0..4);
        forces.push(match kind {
            0 => ([a, 0], [0.0, 0.0, load]),
            1 => ([a, b], [100.0 * load, 0.1, 0.0]),
            2 => ([a, b], [0.0, 0.0, 10.0 * load]),
            _ => ([a, b], [0.0, 0.0, load]),
        });
        couplings += &match kind {
            0 => format!("Brake(name: \"e{k}\", joint: \"j{a}\", friction: {law}, load: Constant({load:?})), "),
            1 => format!(
                "SpringDamper(name: \"e{k}\", joints: (\"j{a}\", \"j{b}\"), stiffness: {:?}, damping: 0.1), ",
                100.0 * load
            ),
            2 => format!(
                "OneWayClutch(name: \"e{k}\", joints: (\"j{a}\", \"j{b}\"), friction: {law}, load: Constant({load:?}), \
                 lock_factor: 10.0), "
            ),
            _ => format!(
                "Clutch(name: \"e{k}\", joints: (\"j{a}\", \"j{b}\"), friction: {law}, load: Constant({load:?})), "
            ),
        };
    }
    let kept: Vec<(f64, &str)> = kept.iter().map(|(j, text)| (*j, text.as_str())).collect();
    (shafts(&kept, &couplings), forces)
}

/// A bound of what the energy lacks to the one that never grows, see `real_time`: ½ φ of friction, whose level is at
/// most 1.2 and whose viscous part at most 0.1, and as much again for bristles; ⅛ h² K v² of springs and ¼ h d v² of
/// dampers.
fn hidden_energy(sim: &Simulation, forces: &[Force], h: f64) -> f64 {
    let speed = |joint: usize| if joint == 0 { 0.0 } else { sim.velocity(format!("j{joint}").as_str()).unwrap() };
    let of_force = |&([a, b], [stiffness, damping, load]): &Force| {
        let rate = (speed(a) - speed(b)).abs();
        h * load * (1.2 + 0.05 * rate) * rate + (0.125 * h * h * stiffness + 0.25 * h * damping) * rate * rate
    };
    forces.iter().map(of_force).sum()
}

#[test]
fn drivetrains_never_gain_energy() {
    let mut most = 0;
    for seed in 0..300 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let (fields, forces) = random_drivetrain(&mut rng);
        // one-way clutches change the load of deflected bristles at once: booked as work of loads
        let h = 10_f64.powf(rng.random_range(-5.0..-0.5));
        let mut sim = real_time(&fields, h);
        let start = sim.energy().unwrap().kinetic;
        let stored = |sim: &mut Simulation| {
            let e = sim.energy().unwrap();
            (e.kinetic + e.elastic + e.bristle - e.load, e.balance)
        };
        let mut most_hidden = hidden_energy(&sim, &forces, h);
        let mut most_left = stored(&mut sim).0 + most_hidden;
        for k in 0..150 {
            sim.step(h).unwrap_or_else(|error| panic!("seed {seed}, h {h}, step {k}: {error}\n{fields}"));
            let ((now, balance), hidden) = (stored(&mut sim), hidden_energy(&sim, &forces, h));
            // many stiff contacts in parallel: velocities are accurate to 1e-8 of the effect of each alone
            assert!(
                now <= most_left + 1e-6 * start,
                "seed {seed}, h {h}, step {k}: {most_left:?} to {now:?}\n{fields}"
            );
            (most_hidden, most_left) = (most_hidden.max(hidden), most_left.min(now + hidden));
            assert!(balance <= most_hidden + 1e-6 * start, "seed {seed}, h {h}: {balance}");
        }
        most = most.max(sim.counters().max_rounds);
    }
    println!("most rounds in a step: {most}");
    // half of the bound on rounds; drivetrains without four stiff parallel contacts need ten
    assert!(most <= 100, "{most}");
}

/// Rows that fall on ends of steps, rounding aside, are of the step that ends there: load and mode are those of the
/// velocity beside them.
#[test]
fn rows_belong_to_their_step() {
    let text = "Scene(gravity: (0.0, 0.0, 0.0), links: [Link(name: \"a\", mass: 1.0, \
             inertia: Diagonal(1.0, 1.0, 1.0)), Link(name: \"b\", mass: 1.0, inertia: Diagonal(2.0, 2.0, 2.0))], \
             joints: [Joint(name: \"a\", parent: \"world\", child: \"a\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             drive: Effort(Constant(1.0))), Joint(name: \"b\", parent: \"world\", child: \"b\", \
             kind: Revolute(axis: (0.0, 0.0, 1.0)))], \
             couplings: [Clutch(name: \"k\", joints: (\"a\", \"b\"), friction: Coulomb(coulomb: 0.5), \
             load: Signal(max: 10.0, signal: Table([(0.0, 1.0), (0.5, 1.0), (0.6, 0.0), (1.2, 0.0), (1.3, 1.0)])))], \
             solver: Solver(method: RealTime, control: Constant(step: 1e-3)), duration: 2.0, \
             output: Output(interval: 0.01))";
    let scene = Scene::parse(text, "test").unwrap();
    let recording = Simulation::new(&scene).unwrap().run_until(2.0).unwrap();
    let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
    let (t, load, mode, velocity) = (channel("t"), channel("k.load"), channel("k.mode"), channel("k.velocity"));
    for k in 0..t.len() {
        let expected =
            10.0 * if t[k] < 0.9 { (6.0 - 10.0 * t[k]).clamp(0.0, 1.0) } else { (10.0 * t[k] - 12.0).clamp(0.0, 1.0) };
        assert!((load[k] - expected).abs() < 1e-9, "load {} at {}, not {expected}", load[k], t[k]);
        assert!(mode[k] != 0.0 || velocity[k].abs() < 1e-12, "stuck at {} with {}", t[k], velocity[k]);
    }
    assert!(mode.contains(&0.0) && mode.iter().any(|mode| *mode != 0.0));
}
