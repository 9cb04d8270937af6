//! Sensitivities against central differences of whole runs.
//!
//! A run with p ± ε has its events at other times: rows between them differ in mode, not in value, and are left out.
//! Differences are extrapolated (Richardson), (4 D(ε/2) − D(ε))/3, so that their truncation error is O(ε⁴).

use bristle::Simulation;
use bristle::scene::Scene;

/// Rows of all channels with other values at a path.
fn rows(text: &str, path: &str, value: f64) -> (Vec<String>, Vec<Vec<f64>>) {
    let scene = Scene::parse_with(text, "test.ron", &[(path, &format!("{value:?}"))]).unwrap();
    let duration = scene.duration;
    let mut sim = Simulation::new(&scene).unwrap();
    let recording = sim.run_until(duration).unwrap();
    (recording.names().to_vec(), recording.rows().map(<[f64]>::to_vec).collect())
}

/// Largest error of each channel's derivative, relative to its largest value; checks that few rows are left out.
fn check(text: &str, path: &str, width: f64, tolerance: f64) {
    let scene = Scene::parse(text, "test.ron").unwrap();
    let run = Simulation::sensitivities(&scene, &[path]).unwrap();
    let at = scene.number(path).unwrap();
    let half = width * if at == 0.0 { 1.0 } else { at.abs() };
    let sides = [half, -half, 0.5 * half, -0.5 * half].map(|by| rows(text, path, at + by));
    let names = &sides[0].0;
    let modes: Vec<usize> = (0..names.len()).filter(|&k| names[k].ends_with(".mode")).collect();
    // an event between rows of the five runs: its neighbours are left out
    let differs = |i: usize| modes.iter().any(|&m| sides.iter().any(|side| side.1[i][m] != sides[0].1[i][m]));
    let n = sides[0].1.len();
    let kept: Vec<usize> = (0..n).filter(|&i| !differs(i)).collect();
    assert!(kept.len() * 50 >= n * 48, "{} of {n} rows", kept.len());
    let mut n_moved = 0;
    for (channel, name) in run.channels.iter().enumerate() {
        let k = names.iter().position(|other| other == name).unwrap();
        let difference = |i: usize| {
            let wide = (sides[0].1[i][k] - sides[1].1[i][k]) / (2.0 * half);
            let narrow = (sides[2].1[i][k] - sides[3].1[i][k]) / half;
            (4.0 * narrow - wide) / 3.0
        };
        let largest = kept.iter().fold(0.0_f64, |most, &i| most.max(difference(i).abs()));
        // what rounding and tolerance leave of a difference of equal values
        let size = kept.iter().fold(0.0_f64, |most, &i| most.max(sides[0].1[i][k].abs()));
        let noise = 1e-10 * size / half;
        n_moved += usize::from(largest > noise);
        for &i in &kept {
            let error = (run.derivatives[0][(i, channel)] - difference(i)).abs();
            assert!(
                error <= tolerance * largest + noise,
                "d({name})/d({path}) at t = {}: {} not {} (largest {largest:e}, noise {noise:e})",
                run.t[i],
                run.derivatives[0][(i, channel)],
                difference(i),
            );
        }
    }
    assert!(n_moved > 0, "{path} moves nothing");
}

const DRIVEN: &str = r#"Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [Link(name: "body", mass: 1.3)],
    joints: [Joint(name: "x", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
        position: 0.1, damping: 0.2, spring: Spring(stiffness: 20.0, rest: 0.0),
        friction: Coulomb(coulomb: 2.0, stiction: 3.1),
        drive: Effort(Sum([Sine(amplitude: 5.0, frequency: 2.3), Sine(amplitude: 2.0, frequency: 7.1)])))],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 9.0, output: Output(interval: 0.013),
)"#;

#[test]
fn driven_stick_slip_with_stiction_above_coulomb() {
    for path in [
        "joints.x.friction.coulomb",
        "joints.x.friction.stiction",
        "links.body.mass",
        "joints.x.damping",
        "joints.x.spring.stiffness",
        "joints.x.position",
        "joints.x.drive.0.0.0.amplitude",
        "joints.x.drive.0.0.1.frequency",
    ] {
        check(DRIVEN, path, 2e-5, 1e-5);
    }
}

const STRIBECK: &str = r#"Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [Link(name: "body", mass: 1.0)],
    joints: [Joint(name: "x", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
        friction: Stribeck(coulomb: 1.0, stiction: 1.8, stribeck_velocity: 0.3, viscous: 0.4, peak: 1.1),
        drive: Pid(kp: 30.0, ki: 5.0, kd: 1.0, target: Table([(0.0, 0.0), (0.7, 0.8), (1.5, 0.2), (3.0, 0.9), (4.0,
            0.9)])))],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 5.0, output: Output(interval: 0.013),
)"#;

#[test]
fn stribeck_under_a_controller_with_an_integral() {
    for path in [
        "joints.x.friction.coulomb",
        "joints.x.friction.stiction",
        "joints.x.friction.stribeck_velocity",
        "joints.x.friction.viscous",
        "joints.x.friction.peak",
        "joints.x.drive.kp",
        "joints.x.drive.ki",
        // the time and the value of a corner
        "joints.x.drive.target.0.1.0",
        "joints.x.drive.target.0.2.1",
    ] {
        check(STRIBECK, path, 2e-5, 1e-5);
    }
}

const LUGRE: &str = r#"Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [Link(name: "body", mass: 1.0)],
    joints: [Joint(name: "x", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
        friction: LuGre(sigma0: 2.0e3, sigma1: 40.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, stribeck_velocity: 0.1),
        drive: Pull(stiffness: 30.0, target: Sine(amplitude: 0.5, frequency: 2.0)))],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 4.0, output: Output(interval: 0.013),
)"#;

#[test]
fn lugre_bristles() {
    // the noise of runs is larger than the truncation error of their differences for the first, smaller for the others
    for path in ["sigma0", "sigma1", "sigma2", "coulomb", "stiction", "stribeck_velocity"] {
        check(LUGRE, &format!("joints.x.friction.{path}"), 1e-3, 1e-5);
    }
    for path in ["links.body.mass", "joints.x.drive.stiffness"] {
        check(LUGRE, path, 1e-4, 1e-5);
    }
}

const PINS: &str = r#"Scene(
    gravity: (0.0, -9.81, 0.0),
    links: [
        Link(name: "upper", mass: 1.0, center_of_mass: (0.0, -0.5, 0.0), inertia: Diagonal(0.0833, 0.001, 0.0833)),
        Link(name: "lower", mass: 0.5, center_of_mass: (0.0, -0.4, 0.0), inertia: Diagonal(0.0267, 0.001, 0.0267)),
    ],
    joints: [
        Joint(name: "shoulder", parent: "world", child: "upper", kind: Revolute(axis: (0.0, 0.0, 1.0)), position: 1.2,
            friction: Coulomb(coulomb: 0.3, stiction: 0.45), load: Pin(radius: 0.08)),
        Joint(name: "elbow", parent: "upper", child: "lower", kind: Revolute(axis: (0.0, 0.0, 1.0)),
            placement: Placement(translation: (0.0, -1.0, 0.0)), position: 0.5,
            friction: Coulomb(coulomb: 0.35, stiction: 0.5), load: Pin(radius: 0.06),
            drive: Effort(Sine(amplitude: 0.5, frequency: 4.0, phase: 1.0))),
    ],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 4.0, output: Output(interval: 0.013),
)"#;

#[test]
fn pins_that_stick_and_slip() {
    for path in [
        "joints.shoulder.friction.coulomb",
        "joints.elbow.friction.coulomb",
        "joints.elbow.friction.stiction",
        "joints.elbow.load.radius",
        "links.lower.mass",
        "links.lower.center_of_mass.1",
        "joints.shoulder.position",
        "gravity.1",
    ] {
        check(PINS, path, 2e-5, 1e-5);
    }
}

const CLUTCH: &str = r#"Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [
        Link(name: "a", mass: 1.0, inertia: Diagonal(0.5, 0.5, 0.5)),
        Link(name: "b", mass: 1.0, inertia: Diagonal(0.3, 0.3, 0.3)),
        Link(name: "c", mass: 1.0, inertia: Diagonal(0.2, 0.2, 0.2)),
    ],
    joints: [
        Joint(name: "a", parent: "world", child: "a", kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 5.0, damping:
            0.1,
            drive: Effort(Sine(amplitude: 3.0, frequency: 3.0))),
        Joint(name: "b", parent: "world", child: "b", kind: Revolute(axis: (0.0, 0.0, 1.0)), damping: 0.3,
            spring: Spring(stiffness: 4.0, rest: 0.0)),
        Joint(name: "c", parent: "world", child: "c", kind: Revolute(axis: (0.0, 0.0, 1.0)), velocity: 0.0),
    ],
    couplings: [
        Gear(name: "stage", joints: ("c", "b"), ratio: 2.0, offset: 0.0),
        Clutch(name: "k", joints: ("a", "b"), friction: Coulomb(coulomb: 0.5, stiction: 0.6),
            load: Signal(max: 6.0, signal: Sine(amplitude: 0.6, frequency: 1.3, offset: 0.3))),
    ],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 6.0, output: Output(interval: 0.013),
)"#;

#[test]
fn a_clutch_and_a_gear() {
    for path in [
        "couplings.k.friction.coulomb",
        "couplings.k.friction.stiction",
        "couplings.k.load.max",
        "couplings.k.load.signal.offset",
        "joints.b.spring.stiffness",
        "joints.a.velocity",
        "joints.b.damping",
    ] {
        check(CLUTCH, path, 1e-4, 1e-5);
    }
}

/// Seven revolute joints, axes in turn, friction of several kinds.
fn arm() -> String {
    let (mut links, mut joints) = (String::new(), String::new());
    for k in 0..7 {
        let axis = ["(0.0, 0.0, 1.0)", "(0.0, 1.0, 0.0)"][k % 2];
        links += &format!(
            "Link(name: \"l{k}\", mass: {}, center_of_mass: (0.02, 0.01, 0.12), inertia: Diagonal(0.02, 0.02, 0.01)),",
            2.0 - 0.2 * k as f64
        );
        let parent = if k == 0 { "world".to_owned() } else { format!("l{}", k - 1) };
        let friction = [
            "friction: Coulomb(coulomb: 1.2, stiction: 1.7),",
            "friction: Stribeck(coulomb: 0.8, stiction: 1.1, stribeck_velocity: 0.2),",
            "friction: Coulomb(coulomb: 0.02), load: Pin(radius: 0.03),",
        ][k % 3];
        joints += &format!(
            "Joint(name: \"j{k}\", parent: \"{parent}\", child: \"l{k}\", kind: Revolute(axis: {axis}),
                placement: Placement(translation: (0.0, 0.0, 0.25)), position: {}, damping: 0.1, armature: 0.05,
                    {friction}
                drive: Pid(kp: 60.0, kd: 6.0, target: Sine(amplitude: 0.4, frequency: {}, phase: {}))),",
            0.1 * k as f64,
            1.5 + 0.3 * k as f64,
            0.7 * k as f64,
        );
    }
    format!(
        "Scene(links: [{links}], joints: [{joints}],
            solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)), duration: 2.0, output: Output(interval: 0.013))"
    )
}

#[test]
fn a_tree_of_seven_joints() {
    let text = arm();
    for path in [
        "joints.j0.friction.coulomb",
        "joints.j1.friction.stribeck_velocity",
        "joints.j3.friction.stiction",
        "joints.j2.load.radius",
        "links.l5.mass",
        "joints.j4.armature",
    ] {
        check(&text, path, 2e-5, 1e-5);
    }
}

/// A servo that samples every 20 ms, measures its velocity over two samples and saturates at times, on a hinge with
/// stick-slip.
const SAMPLED: &str = r#"Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [Link(name: "r", mass: 1.0, inertia: Diagonal(0.02, 0.02, 0.02))],
    joints: [Joint(name: "x", parent: "world", child: "r", kind: Revolute(axis: (0.0, 0.0, 1.0)), position: 0.05,
        armature: 0.01, friction: Coulomb(coulomb: 0.05, stiction: 0.08, viscous: 0.02),
        drive: Servo(kp: 12.0, kd: 0.4, difference: 2, period: 0.02, voltage_limit: 1.2, constant: 0.3, resistance: 1.1,
            delay: 0.004, target: Sum([Sine(amplitude: 0.4, frequency: 1.7), Sine(amplitude: 0.2, frequency: 6.3)])))],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 3.0, output: Output(interval: 0.0131),
)"#;

#[test]
fn a_servo_that_holds_its_samples() {
    // a jump of the effort breaks it away: its stiction has no derivative
    for path in [
        "joints.x.friction.coulomb",
        "joints.x.friction.viscous",
        "joints.x.armature",
        "joints.x.position",
        "joints.x.drive.kp",
        "joints.x.drive.kd",
        "joints.x.drive.constant",
        "joints.x.drive.resistance",
        "joints.x.drive.delay",
        "joints.x.drive.voltage_limit",
        "joints.x.drive.target.0.0.amplitude",
    ] {
        check(SAMPLED, path, 2e-5, 1e-5);
    }
    let scene = Scene::parse(SAMPLED, "test.ron").unwrap();
    let refused = Simulation::sensitivities(&scene, &["joints.x.drive.period"]).unwrap_err().to_string();
    assert!(refused.contains("structure"), "{refused}");
}

/// A continuous servo that saturates, with a reducer, on a pendulum.
const REDUCER: &str = r#"Scene(
    links: [Link(name: "r", mass: 0.5, center_of_mass: (0.1, 0.0, 0.0))],
    joints: [Joint(name: "x", parent: "world", child: "r", kind: Revolute(axis: (0.0, 1.0, 0.0)), position: 0.3,
        armature: 0.002, damping: 0.004, friction: Stribeck(coulomb: 1.0, stiction: 1.3, stribeck_velocity: 0.4),
        load: Transmitted(preload: 0.01, driving: 0.25, back_driving: 0.35, driving_squared: 0.1),
        drive: Servo(kp: 3.0, supply: Constant(7.4), duty_limit: 0.5, constant: 0.38, resistance: 3.6,
            target: Sum([Constant(0.5), Sine(amplitude: 0.6, frequency: 2.9)])))],
    solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    duration: 4.0, output: Output(interval: 0.013),
)"#;

#[test]
fn a_servo_with_a_reducer_on_a_pendulum() {
    for path in [
        "joints.x.load.preload",
        "joints.x.load.driving",
        "joints.x.load.back_driving",
        "joints.x.load.driving_squared",
        "joints.x.friction.stiction",
        "joints.x.armature",
        "joints.x.drive.resistance",
        "joints.x.drive.duty_limit",
        "links.r.mass",
    ] {
        check(REDUCER, path, 2e-5, 1e-5);
    }
}

/// The instant of a jump of an effort is a number of the scene too: all that follows shifts with it.
#[test]
fn an_instant_of_a_signal() {
    let text = DRIVEN.replace(
        "Sum([Sine(amplitude: 5.0, frequency: 2.3), Sine(amplitude: 2.0, frequency: 7.1)])",
        "Steps([(0.0, 4.0), (0.731, -6.0), (1.517, 5.0)])",
    );
    let text = text.replace("duration: 9.0", "duration: 2.5");
    check(&text, "joints.x.drive.0.0.1.0", 2e-5, 1e-5);
}

#[test]
fn a_drive_that_saturates() {
    // the effort is continuous at its corners: derivatives of positions and velocities do not jump there
    let text = r#"Scene(
        gravity: (0.0, 0.0, 0.0),
        links: [Link(name: "m", mass: 2.0, inertia: Diagonal(1.0, 1.0, 1.0))],
        joints: [Joint(
            name: "j", parent: "world", child: "m", kind: Prismatic(axis: (1.0, 0.0, 0.0)), damping: 0.7,
            drive: Pid(kp: 100.0, ki: 3.0, kd: 2.0, target: Constant(1.0)), effort_limit: 30.0,
        )],
        duration: 2.0, output: Output(interval: 0.05),
        solver: Solver(control: Error(rtol: 1e-11, atol: 1e-13)),
    )"#;
    let scene = Scene::parse(text, "test.ron").unwrap();
    for path in ["joints.j.effort_limit", "joints.j.drive.kp", "joints.j.drive.kd", "joints.j.damping"] {
        let run = Simulation::sensitivities(&scene, &[path]).unwrap();
        let (at, half) = (scene.number(path).unwrap(), 1e-4 * scene.number(path).unwrap());
        let sides = [half, -half].map(|by| rows(text, path, at + by));
        for channel in ["j.position", "j.velocity"] {
            let of = |names: &[String]| names.iter().position(|name| name == channel).unwrap();
            let (k, column) = (of(&sides[0].0), of(&run.channels));
            let difference = |i: usize| (sides[0].1[i][k] - sides[1].1[i][k]) / (2.0 * half);
            let n = sides[0].1.len();
            let largest = (0..n).fold(0.0_f64, |most, i| most.max(difference(i).abs()));
            for i in 0..n {
                let error = (run.derivatives[0][(i, column)] - difference(i)).abs();
                // second-order differences of a function with corners in its second derivative
                assert!(error <= 1e-4 * largest, "{path} {channel} {i}: {error:e} of {largest:e}");
            }
        }
    }
}
