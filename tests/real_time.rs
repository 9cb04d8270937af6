//! The fixed step of `RealTime`: against tight runs and closed forms at first order, and without any limit on
//! stability.

use crate::stick_slip::{assert_near, simulation, slider};
use bristle::friction::{Coulomb, Dahl, ElastoPlastic, Law, LuGre, LuGre2, Stribeck, Table, Tanh};
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A simulation of a scene given by its fields, in fixed steps.
fn real_time(fields: &str, h: f64) -> Simulation {
    simulation(fields, "RealTime", &format!("Constant(step: {h:?})"))
}

pub fn settings(h: f64) -> Settings {
    Settings { method: Method::RealTime, control: Control::Constant { step: h }, ..Settings::default() }
}

/// Canudas de Wit, Olsson, Åström and Lischinsky (1995).
const CLASSIC: LuGre = LuGre {
    sigma0: 1e5,
    sigma1: 316.227_766_016_837_94,
    sigma2: 0.4,
    coulomb: 1.0,
    stiction: 1.5,
    stribeck_velocity: Some(1e-3),
    exponent: 2.0,
    damping_velocity: None,
};

/// The slider of Do, Ferri and Bauchau (2007).
fn lugre_slider(sigma1: f64) -> String {
    let law = format!(
        "LuGre(sigma0: 1e5, sigma1: {sigma1:?}, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 1e-3)"
    );
    slider(1.0, &format!("friction: {law}, drive: Pull(stiffness: 2.0, target: Ramp(rate: 0.1))"))
}

#[test]
fn lugre_slider_is_stable_at_any_step() {
    // the same run with Radau5 at 1e-10: tests/lugre.rs
    let (x_end, v_max) = (1.2725964123237923, 0.3698159989269699);
    let mut errors = Vec::new();
    for h in [4e-3, 1e-3, 2.5e-4, 6.25e-5] {
        let fields = format!("{}, output: Output(interval: {h:?})", lugre_slider(CLASSIC.sigma1));
        let mut sim = real_time(&fields, h);
        let recording = sim.run_until(20.0).unwrap();
        let fastest = recording.channel("slide.velocity").unwrap().fold(0.0, f64::max);
        let most = recording.channel("slide.friction").unwrap().fold(0.0, f64::max);
        let x = recording.last("slide.position").unwrap();
        println!("h {h}: x {x} off {:e}, v {fastest}, friction {most}, {:?}", x - x_end, sim.counters());
        errors.push(((x - x_end).abs(), (fastest - v_max).abs()));
        assert!(most < 1.52, "friction {most} at {h}");
        // the dissipation of the method is of first order
        let balance = recording.last("energy.balance").unwrap();
        println!("balance {balance:e} of {}", recording.last("energy.input").unwrap());
        assert!(balance.abs() < 20.0 * h, "balance {balance} at {h}");
    }
    assert!(errors[1].0 < 5e-3 && errors[1].1 < 5e-3, "{errors:?}");
    for pair in errors[1..].windows(2) {
        // a quarter of the step, a quarter of the error
        let ratio = pair[0].0 / pair[1].0;
        assert!((3.0..5.5).contains(&ratio), "{errors:?}");
    }
    // damping from zero to far beyond the stability of explicit steppers
    for sigma1 in [0.0, 0.003, 0.3, 30.0, 3e4] {
        for h in [4e-3, 1e-3] {
            let recording = real_time(&lugre_slider(sigma1), h).run_until(20.0).unwrap();
            let fastest = recording.channel("slide.velocity").unwrap().fold(0.0, f64::max);
            let x = recording.last("slide.position").unwrap();
            assert!(fastest < 0.5 && (x - x_end).abs() < 0.4, "sigma1 {sigma1}, h {h}: {fastest} {x}");
        }
    }
}

#[test]
fn coulomb_oscillator_stops_exactly() {
    // F01: stops at 0.01 m after five half periods
    let scene = include_str!("../scenes/coulomb_oscillator.ron");
    let mut errors = Vec::new();
    for h in [1e-3, 1e-4] {
        let scene = Scene::parse(scene, "coulomb_oscillator.ron").unwrap();
        let scene = Scene { solver: solver(h), ..scene };
        let recording = Simulation::new(&scene).unwrap().run_until(3.0).unwrap();
        let x: Vec<f64> = recording.channel("slide.position").unwrap().collect();
        let v: Vec<f64> = recording.channel("slide.velocity").unwrap().collect();
        let (stop, last) = (recording.events().last().unwrap(), x.len() - 1);
        println!("h {h}: {:?}, {}", stop, x[last]);
        assert_near("stop", stop.t, std::f64::consts::FRAC_PI_2, 20.0 * h);
        assert_eq!(recording.last("slide.mode").unwrap(), 0.0);
        for (k, &v) in v.iter().enumerate().filter(|(k, _)| 0.01 * *k as f64 > stop.t + h) {
            assert_eq!(v, 0.0);
            assert_eq!(x[k].to_bits(), x[last].to_bits());
        }
        assert_near("friction of rest", recording.last("slide.friction").unwrap(), -100.0 * x[last], 1e-9);
        errors.push((x[last] - 0.01).abs());
    }
    assert!(errors[0] < 1e-2 && errors[1] < 1.5e-3, "{errors:?}");
}

fn solver(h: f64) -> bristle::scene::Solver {
    bristle::scene::Solver {
        method: Some(Method::RealTime),
        control: Some(Control::Constant { step: h }),
        ..Default::default()
    }
}

#[test]
fn pendulum_on_pin_converges() {
    // P1: at rest from 5.987285102 s at −0.0370979359 rad, six turns
    let scene = Scene::parse(include_str!("../scenes/single_pendulum_pin.ron"), "single_pendulum_pin.ron").unwrap();
    let mut errors = Vec::new();
    for h in [4e-3, 1e-3, 2.5e-4] {
        let scene = Scene { solver: solver(h), ..scene.clone() };
        let mut sim = Simulation::new(&scene).unwrap();
        let recording = sim.run_until(8.0).unwrap();
        let at = |t: f64| recording.rows().find(|row| (row[0] - t).abs() < 1e-9).unwrap()[1];
        let reference = reference_angle(2.0);
        println!("h {h}: {} {} {:?}", at(2.0) - reference, recording.last("hinge.position").unwrap(), sim.counters());
        println!("{:?} {}", recording.events().last(), recording.last("energy.balance").unwrap());
        errors.push((at(2.0) - reference).abs());
        assert_eq!(recording.last("hinge.velocity").unwrap(), 0.0);
        assert_near("angle at rest", recording.last("hinge.position").unwrap(), -0.0370979359, 20.0 * h);
        // at rest the load is the weight
        assert_near("load", recording.last("hinge.load").unwrap(), 9.81, 1e-9);
    }
    for pair in errors.windows(2) {
        assert!((3.0..5.5).contains(&(pair[0] / pair[1])), "{errors:?}");
    }
}

/// Angle of P1 from the reference table.
fn reference_angle(t: f64) -> f64 {
    let rows = include_str!("data/single_pendulum_pin.csv").lines().skip(1);
    let mut rows = rows.map(|line| line.split(',').map(|x| x.parse::<f64>().unwrap()).collect::<Vec<_>>());
    rows.find(|row| (row[0] - t).abs() < 1e-9).unwrap()[1]
}

#[test]
fn stiff_controllers_are_stable() {
    // kp 1e6 on 1 kg: 1000 rad/s, and steps of 1 ms and 10 ms; the block reaches its target and stays
    for h in [1e-2, 1e-3, 1e-4] {
        for (friction, gains) in [
            ("", "kp: 1e6, ki: 0.0, kd: 100.0"),
            ("", "kp: 1e6, ki: 1e7, kd: 1e3"),
            ("friction: Coulomb(coulomb: 2.0, stiction: 3.0),", "kp: 1e6, ki: 0.0, kd: 2e3"),
        ] {
            let joint = format!("{friction} drive: Pid({gains}, target: Steps([(0.0, 0.0), (0.1, 0.05)]))");
            let recording = real_time(&slider(1.0, &joint), h).run_until(2.0).unwrap();
            let most = recording.channel("slide.position").unwrap().fold(0.0, |most: f64, x| most.max(x.abs()));
            println!("{h} {gains}: {most} {}", recording.last("slide.position").unwrap());
            assert!(most < 0.101, "{h} {gains}: {most}");
            assert_near("end", recording.last("slide.position").unwrap(), 0.05, 1e-5);
        }
    }
}

/// One of each law, with levels about 1; `beta` is LuGre2's, which is passive at 0 only.
fn laws(beta: f64) -> [Law; 8] {
    let passive = LuGre { sigma1: 0.5, ..CLASSIC };
    let stribeck =
        Stribeck { coulomb: 1.0, stiction: 1.5, stribeck_velocity: Some(0.05), exponent: 2.0, viscous: 0.2, peak: 1.1 };
    [
        Coulomb { coulomb: 1.0, stiction: 1.5, viscous: 0.1 }.into(),
        stribeck.into(),
        Table { points: vec![(0.0, 1.0), (0.1, 0.8), (1.0, 1.2)], peak: 1.2 }.into(),
        Tanh { coulomb: 1.0, stribeck_velocity: 1e-3, viscous: 0.1 }.into(),
        Dahl { coulomb: 1.0, sigma0: 1e5 }.into(),
        passive.into(),
        LuGre2 { lugre: passive, alpha: 3.0, beta }.into(),
        ElastoPlastic { lugre: passive, breakaway: 0.5e-5 }.into(),
    ]
}

#[test]
fn every_law_converges() {
    for law in laws(0.2) {
        let world = || {
            let mut world = World::new();
            world.set_gravity([0.0; 3]);
            let block = world.spawn_link("block", LinkInertia::point(1.0, [0.0; 3].into()));
            let pull = Drive::Pull {
                stiffness: 20.0,
                target: Signal::Sine { amplitude: 0.3, frequency: 2.0, phase: 0.0, offset: 0.0 },
            };
            world.spawn_joint(prismatic("slide", [1.0, 0.0, 0.0]).to(block).friction(law.clone()).drive(pull));
            world
        };
        let tight = Settings {
            method: Method::Radau5,
            control: Control::Error { rtol: 1e-9, atol: 1e-11 },
            ..Settings::default()
        };
        let expected = Simulation::with_settings(world(), tight).unwrap().run_until(4.0).unwrap();
        let off = |h: f64| {
            let recording = Simulation::with_settings(world(), settings(h)).unwrap().run_until(4.0).unwrap();
            let x = recording.channel("slide.position").unwrap().zip(expected.channel("slide.position").unwrap());
            x.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let errors = [off(4e-3), off(1e-3), off(6.25e-5)];
        println!("{}: {errors:?}", law.name());
        // a sixteenth of the step; where levels change within a millisecond first order appears late
        let is_ringing = matches!(law, Law::LuGre(_) | Law::LuGre2(_) | Law::ElastoPlastic(_));
        // bristles without much damping ring at every step down to microseconds
        let last = if is_ringing { 2.5e-4 } else { 0.15 * errors[1] };
        assert!(errors[0] < 2e-3 && errors[1] < 1e-3 && errors[2] < last, "{}: {errors:?}", law.name());
    }
}

/// A random tree of up to six joints with springs, dampers and friction, no gravity, moving; and stiffness, damping and
/// load of its joints.
pub fn random_machine(rng: &mut Pcg64, sign: f64) -> (World, Vec<[f64; 3]>) {
    let mut world = World::new();
    world.set_gravity([0.0; 3]);
    let mut links: Vec<Entity> = Vec::new();
    let mut forces = Vec::new();
    let n = rng.random_range(1..=6);
    for k in 0..n {
        let scale = 10_f64.powf(rng.random_range(-2.0..1.0));
        let inertia = LinkInertia::diagonal(scale, [0.0; 3].into(), 0.1 * scale, 0.12 * scale, 0.15 * scale);
        let link = world.spawn_link(&format!("l{k}"), inertia);
        // slides only: their mass matrix is constant, so that only forces can add energy
        let axis: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let mut joint = prismatic(&format!("j{k}"), axis).to(link);
        if !links.is_empty() && rng.random_bool(0.8) {
            joint = joint.from(links[rng.random_range(0..links.len())]);
        }
        joint = joint.position(sign * rng.random_range(-1.0..1.0)).velocity(sign * rng.random_range(-2.0..2.0));
        let mut own = [0.0; 3];
        if rng.random_bool(0.5) {
            own[0] = 10_f64.powf(rng.random_range(0.0..7.0));
            joint = joint.spring(own[0], 0.0);
        }
        if rng.random_bool(0.3) {
            own[1] = 10_f64.powf(rng.random_range(-2.0..3.0));
            joint = joint.damping(own[1]);
        }
        if rng.random_bool(0.85) {
            let law = laws(0.0)[rng.random_range(0..8)].clone();
            own[2] = 10_f64.powf(rng.random_range(-2.0..2.0));
            joint = joint.friction(law).load(Load::Constant(own[2]));
        }
        world.spawn_joint(joint);
        links.push(link);
        forces.push(own);
    }
    (world, forces)
}

/// A bound of what the energy lacks to the one that never grows: ½ h N (1.5 |v| + 0.25 v²) for friction, whose level is
/// at most 1.5 and whose viscous part at most 0.5, ⅛ h² K v² for springs and ¼ h d v² for dampers.
fn hidden_energy(sim: &Simulation, forces: &[[f64; 3]], h: f64) -> f64 {
    let of_joint = |(k, &[stiffness, damping, load]): (usize, &[f64; 3])| {
        let speed = sim.velocity(format!("j{k}").as_str()).unwrap().abs();
        let friction = 0.5 * h * load * (1.5 + 0.25 * speed) * speed;
        friction + (0.125 * h * h * stiffness + 0.25 * h * damping) * speed * speed
    };
    forces.iter().enumerate().map(of_joint).sum()
}

#[test]
fn energy_never_grows() {
    let mut most = 0;
    for seed in 0..300 {
        let mut rng = Pcg64::seed_from_u64(seed);
        let (world, forces) = random_machine(&mut rng, 1.0);
        let h = 10_f64.powf(rng.random_range(-5.0..0.0));
        let mut sim = Simulation::with_settings(world, settings(h)).unwrap();
        let energy = sim.energy().unwrap();
        let start = energy.kinetic + energy.potential + energy.elastic + energy.bristle;
        // no later energy exceeds that of a step with the part hidden in it
        let mut most_hidden = hidden_energy(&sim, &forces, h);
        let mut most_left = start + most_hidden;
        for k in 0..200 {
            sim.step(h).unwrap_or_else(|error| panic!("seed {seed}, h {h}: {error}"));
            let energy = sim.energy().unwrap();
            let now = energy.kinetic + energy.potential + energy.elastic + energy.bristle;
            // rounding of the sum
            assert!(now <= most_left + 1e-12 * start, "seed {seed}, h {h}, step {k}: {most_left:?} to {now:?}");
            let hidden = hidden_energy(&sim, &forces, h);
            (most_hidden, most_left) = (most_hidden.max(hidden), most_left.min(now + hidden));
            assert!(energy.balance <= most_hidden + 1e-12 * start, "seed {seed}, h {h}: {}", energy.balance);
        }
        most = most.max(sim.counters().max_rounds);
    }
    println!("most rounds in a step: {most}");
    assert!(most <= 40, "{most}");
}

#[test]
fn mirrored_machine_has_mirrored_steps() {
    for seed in 0..30 {
        let run = |sign: f64| {
            let mut sim =
                Simulation::with_settings(random_machine(&mut Pcg64::seed_from_u64(seed), sign).0, settings(1e-3))
                    .unwrap();
            for _ in 0..300 {
                sim.step(1e-3).unwrap();
            }
            (sim.positions().to_vec(), sim.velocities().to_vec())
        };
        let (there, back) = (run(1.0), run(-1.0));
        for (a, b) in there.0.iter().zip(&back.0).chain(there.1.iter().zip(&back.1)) {
            assert_eq!(*a, -*b, "seed {seed}");
        }
    }
}

/// An arm of seven joints with alternating axes, LuGre friction, gravity, and a controller in each joint.
pub fn arm() -> World {
    let mut world = World::new();
    let mut last: Option<Entity> = None;
    for k in 0..7 {
        let mass = 4.0 - 0.5 * k as f64;
        let link = world
            .spawn_link(&format!("link{k}"), LinkInertia::diagonal(mass, [0.0, 0.02, 0.12].into(), 0.02, 0.02, 0.01));
        let axis = if k % 2 == 0 { [0.0, 0.0, 1.0] } else { [0.0, 1.0, 0.0] };
        let mut joint = revolute(&format!("joint{k}"), axis).to(link).at([0.0, 0.0, if k == 0 { 0.1 } else { 0.22 }]);
        if let Some(parent) = last {
            joint = joint.from(parent);
        }
        let target =
            Signal::Sine { amplitude: 0.5, frequency: 1.5 + 0.3 * k as f64, phase: 0.4 * k as f64, offset: 0.1 };
        let law = LuGre {
            sigma0: 1e5,
            sigma1: 50.0,
            sigma2: 0.5,
            coulomb: 2.0,
            stiction: 3.0,
            stribeck_velocity: Some(1e-2),
            ..CLASSIC
        };
        joint = joint.armature(0.1).friction(law.into());
        joint = joint.drive(Drive::Pid { kp: 2000.0, ki: 500.0, kd: 60.0, target });
        world.spawn_joint(joint);
        last = Some(link);
    }
    world
}

#[test]
fn lugre_arm_follows_tight_run() {
    let tight =
        Settings { method: Method::Radau5, control: Control::Error { rtol: 1e-7, atol: 1e-9 }, ..Settings::default() };
    let expected = Simulation::with_settings(arm(), tight).unwrap().run_until(2.0).unwrap();
    let off = |h: f64| {
        let mut sim = Simulation::with_settings(arm(), settings(h)).unwrap();
        let recording = sim.run_until(2.0).unwrap();
        let mut worst = 0.0_f64;
        for k in 0..7 {
            let name = format!("joint{k}.position");
            let pairs = recording.channel(&name).unwrap().zip(expected.channel(&name).unwrap());
            worst = pairs.map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
        }
        println!("h {h}: {worst:e}, {:?}, balance {:?}", sim.counters(), recording.last("energy.balance"));
        worst
    };
    let errors = [off(4e-3), off(1e-3), off(2.5e-4)];
    assert!(errors[0] < 5e-2 && errors[1] < 1.5e-2 && errors[2] < 0.4 * errors[1], "{errors:?}");
}

#[test]
fn tumbling_body_conserves_energy() {
    // 10 s free fall at 6 rad/s: 100 m/s in axes that turn
    let scene = Scene::parse(include_str!("../scenes/tumbling_body.ron"), "tumbling_body.ron").unwrap();
    let recording = Simulation::new(&Scene { solver: solver(1e-3), ..scene }).unwrap().run_until(10.0).unwrap();
    let (balance, kinetic) = (recording.last("energy.balance").unwrap(), recording.last("energy.kinetic").unwrap());
    println!("{balance} of {kinetic}");
    assert!(balance.abs() < 1e-2 * kinetic, "{balance} of {kinetic}");
}
