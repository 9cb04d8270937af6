//! Gears with losses: against accelerations and limits by hand, against published results of Modelica's `LossyGear`
//! examples, and by energy.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use bristle::{Recording, Simulation};
use std::path::Path;

/// Inertias of both shafts, ratio, efficiencies, friction of both bearings.
const J1: f64 = 1.3;
const J2: f64 = 2.1;
const RATIO: f64 = -3.0;
const ETA: [f64; 2] = [0.8, 0.6];
const C: [f64; 2] = [0.25, 0.9];

/// Two inertias and a gear between them; further fields of the joints and of the gear.
fn gear([j1, j2]: [f64; 2], ratio: f64, losses: &str, [first, second]: [&str; 2], duration: f64) -> Scene {
    let text = format!(
        "Scene(gravity: (0, 0, 0), links: [Link(name: \"one\", mass: 1.0, inertia: Diagonal({j1:?}, {j1:?}, {j1:?})), \
         Link(name: \
         \"two\", mass: 1.0, inertia: Diagonal({j2:?}, {j2:?}, {j2:?}))], joints: [Joint(name: \"a\", parent: \
         \"world\", child: \
         \"one\", kind: Revolute(axis: (0, 0, 1)), {first}), Joint(name: \"b\", parent: \"world\", child: \"two\", \
         kind: Revolute(axis: (0, 0, 1)), {second})], couplings: [Gear(name: \"g\", joints: (\"a\", \"b\"), ratio: \
         {ratio:?}, {losses})], output: (interval: 0.001), duration: {duration:?})"
    );
    Scene::parse(&text, "gear.ron").unwrap_or_else(|error| panic!("{error}"))
}

fn losses() -> String {
    format!("efficiency: ({:?}, {:?}), friction: ({:?}, {:?})", ETA[0], ETA[1], C[0], C[1])
}

fn run(scene: &Scene) -> Recording {
    Simulation::new(scene).unwrap().run_until(scene.duration).unwrap()
}

fn with(scene: &Scene, method: Method, formulation: Formulation) -> Scene {
    let mut scene = scene.clone();
    scene.solver.method = Some(method);
    scene.formulation = formulation;
    if method == Method::RealTime {
        scene.solver.control = Some(Control::Constant { step: 2e-4 });
    }
    scene
}

/// Methods and formulations that solve the same equations.
fn ways(scene: &Scene) -> Vec<(String, Scene)> {
    use Formulation::{Implicit, Jerk, Residual};
    let ways =
        [(Method::Dopri5, Implicit), (Method::Dopri5, Jerk), (Method::Radau5, Implicit), (Method::Radau5, Residual)];
    ways.into_iter().map(|(method, form)| (format!("{method:?} {form:?}"), with(scene, method, form))).collect()
}

/// The effort on the second shaft, −ratio (τ − loss), for the effort τ on the first at slip of the sign `side`:
/// −(τ_2 − c₂) = i η (τ − c₁) of the library, written out.
fn onto_second(tau: f64, side: f64) -> f64 {
    let mesh = tau - side * C[0];
    let eta = if mesh * side > 0.0 { ETA[0] } else { 1.0 / ETA[1] };
    RATIO * (eta * mesh - side * C[1] / RATIO.abs())
}

#[test]
fn accelerations_in_all_quadrants_are_those_by_hand() {
    for (motor, load, side) in
        [(4.0, 1.0, 1.0), (-4.0, 1.0, 1.0), (4.0, -2.0, -1.0), (-4.0, 3.0, -1.0), (0.3, 0.0, 1.0), (0.0, 0.0, -1.0)]
    {
        // J2 a_b = load + onto_second(motor − J1 a_a), a_a = RATIO a_b: falls with a_b, by bisection
        let residual = |a: f64| load + onto_second(motor - J1 * RATIO * a, side) - J2 * a;
        let (mut low, mut high) = (-100.0, 100.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if residual(middle) > 0.0 { low = middle } else { high = middle }
        }
        let first = format!("velocity: {:?}, drive: Effort(Constant({motor:?}))", 5.0 * side);
        let second = format!("velocity: {:?}, offset: {load:?}", 5.0 * side / RATIO);
        let scene = gear([J1, J2], RATIO, &losses(), [&first, &second], 0.05);
        for (way, scene) in ways(&scene) {
            let recording = run(&scene);
            let a = recording.last("b.acceleration").unwrap();
            assert!((a - low).abs() < 1e-9 * (1.0 + low.abs()), "{way} {motor} {load} {side}: {a} {low}");
            let tau = motor - J1 * RATIO * low;
            let loss = tau - onto_second(tau, side) / RATIO;
            assert!((recording.last("a.friction").unwrap() - loss).abs() < 1e-8, "{way}: {loss}");
        }
        let a = run(&with(&scene, Method::RealTime, Formulation::Implicit)).last("b.acceleration").unwrap();
        assert!((a - low).abs() < 1e-6 * (1.0 + low.abs()), "RealTime {motor} {load} {side}: {a} {low}");
    }
}

#[test]
fn a_gear_at_rest_holds_what_its_losses_hold() {
    // both ends of the range of motor efforts that hold a load of the second shaft
    let load = 2.0;
    let ends = [1.0, -1.0].map(|side| {
        let (mut low, mut high) = (-50.0, 50.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            // the balance falls with τ, since the ratio is negative
            if load + onto_second(middle, side) > 0.0 { low = middle } else { high = middle }
        }
        low
    });
    let start = 0.5 * (ends[0] + ends[1]);
    assert!(ends[0] > ends[1] + 0.5, "{ends:?}");
    for (end, rate) in [(ends[0], 1.0), (ends[1], -1.0)] {
        let leaves = (end - start).abs();
        let first = format!("drive: Effort(Sum([Constant({start:?}), Ramp(rate: {rate:?})]))");
        let scene = gear([J1, J2], RATIO, &losses(), [&first, &format!("offset: {load:?}")], leaves + 0.3);
        for (way, scene) in ways(&scene) {
            let recording = run(&scene);
            let events = recording.events();
            assert!((events[0].t - leaves).abs() < 1e-8, "{way}: {events:?} {leaves}");
            let rows = recording.channel("t").unwrap().zip(recording.channel("a.position").unwrap());
            assert!(rows.filter(|(t, _)| *t < leaves).all(|(_, q)| q == 0.0), "{way}");
            assert!(recording.last("a.velocity").unwrap() * rate > 0.0);
        }
        let recording = run(&with(&scene, Method::RealTime, Formulation::Implicit));
        let rows = || recording.channel("t").unwrap().zip(recording.channel("a.velocity").unwrap());
        assert!(rows().filter(|(t, _)| *t < leaves - 2e-3).all(|(_, v)| v == 0.0));
        assert!(rows().filter(|(t, _)| *t > leaves + 2e-3).all(|(_, v)| v * rate > 0.0));
    }
}

#[test]
fn work_is_motion_and_heat() {
    let first = "drive: Effort(Sine(amplitude: 9.0, frequency: 2.1))";
    let scene = gear([J1, J2], RATIO, &losses(), [first, "spring: (stiffness: 6.0), velocity: 0.0"], 9.0);
    let reference = run(&scene);
    let modes: Vec<f64> = reference.channel("a.mode").unwrap().collect();
    assert!([-1.0, 0.0, 1.0].iter().all(|mode| modes.contains(mode)));
    for (way, scene) in ways(&scene) {
        let recording = run(&scene);
        let heat = recording.last("a.dissipated").unwrap();
        assert!(heat > 5.0, "{heat}");
        let balance = recording.channel("energy.balance").unwrap();
        let worst = balance.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), e| (low.min(e), high.max(e)));
        assert!(worst.1 - worst.0 < 1e-5 * heat, "{way}: {worst:?} of {heat}");
        let off = recording.last("b.position").unwrap() - reference.last("b.position").unwrap();
        assert!(off.abs() < 1e-5, "{way}: {off:e}");
    }
}

#[test]
fn the_second_shaft_drives_against_losses() {
    // inverse dynamics moves the gear from its second joint, and gives back the accelerations
    for (v, a) in [(1.0, 0.8), (1.0, -1.5), (-1.0, 0.6), (-0.5, -2.0)] {
        let scene =
            gear([J1, J2], RATIO, &losses(), [&format!("velocity: {:?}", RATIO * v), &format!("velocity: {v:?}")], 0.1);
        let mut sim = Simulation::new(&scene).unwrap();
        let mut tau = [0.0; 2];
        sim.inverse_dynamics(&[0.0; 2], &[RATIO * v, v], &[RATIO * a, a], &mut tau).unwrap();
        sim.set_effort("a", tau[0]).unwrap();
        sim.set_effort("b", tau[1]).unwrap();
        sim.step(1e-4).unwrap();
        assert!((sim.accelerations()[1] - a).abs() < 1e-9, "{v} {a}: {:?}", sim.accelerations());
    }
}

/// One of the library's examples: ours at the end of the run, and over the run where the reference is at hand.
fn compare(scene: &Scene, file: &str, end: [f64; 2], [position, velocity]: [f64; 2]) {
    let recording = run(scene);
    let last = ["b.position", "b.velocity"].map(|channel| recording.last(channel).unwrap());
    assert!((last[0] - end[0]).abs() < position && (last[1] - end[1]).abs() < velocity, "{file}: {last:?} {end:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/modelica_ref").join(file);
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let ours: Vec<[f64; 3]> = ["t", "b.position", "b.velocity"]
        .map(|channel| recording.channel(channel).unwrap().collect::<Vec<_>>())
        .into_iter()
        .fold(vec![[0.0; 3]; recording.len()], |mut rows, column| {
            rows.iter_mut().zip(column).for_each(|(row, x)| {
                row.rotate_left(1);
                row[2] = x;
            });
            rows
        });
    let mut compared = 0;
    for line in text.lines().skip(1) {
        let row: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        let Some([_, q, v]) = ours.iter().find(|[t, ..]| (t - row[0]).abs() < 1e-9) else { continue };
        assert!((q - row[1]).abs() < position && (v - row[2]).abs() < velocity, "{file}: {row:?} {q} {v}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn modelica_lossy_gear_demo_1() {
    let first = format!("drive: Effort(Sine(amplitude: 10.0, frequency: {:?}))", 2.0 * std::f64::consts::PI);
    let second = "drive: Effort(Sum([Constant(-10.0), Ramp(rate: 2.5)]))";
    let scene = gear([1.0, 1.5], 2.0, "efficiency: (0.5, 0.5)", [&first, second], 0.5);
    // the reference is regularised: it creeps while it is stuck, at 5e-11 rad/s
    compare(&scene, "LossyGearDemo1.csv", [1.662168e-5, -0.016261924], [2e-8, 2e-7]);
}

#[test]
fn modelica_lossy_gear_demo_2() {
    // bearing friction 0.5 + 0.5 |ω| N·m before the gear: the second part as the back-EMF of a motor of 1 N·m/A and 2
    // Ω, whose voltage is 20 sin 2πt; a gain of 1e-9 makes it a source
    let first = format!(
        "drive: Servo(kp: 1e-9, target: Sine(amplitude: 2.0e10, frequency: {:?}), constant: 1.0, resistance: 2.0)",
        2.0 * std::f64::consts::PI
    );
    let second = "drive: Effort(Sum([Constant(-10.0), Ramp(rate: 2.5)]))";
    let scene = gear([1.0, 1.5], 2.0, "efficiency: (0.5, 0.5), friction: (0.5, 0.0)", [&first, second], 0.5);
    compare(&scene, "LossyGearDemo2.csv", [-5.8918332e-4, -0.0096242781], [2e-8, 2e-7]);
}

#[test]
fn modelica_lossy_gear_demo_3() {
    // the driving side is not obvious: both shafts have friction, and either may drive
    let second = "velocity: 10.0, drive: Effort(Steps([(0.5, 1.0)]))";
    let losses = "efficiency: (0.25, 0.25), friction: (0.5, 0.5)";
    let scene = gear([0.001; 2], 1.0, losses, ["velocity: 10.0", second], 1.0);
    compare(&scene, "LossyGearDemo3.csv", [0.1, 0.0], [2e-9, 2e-9]);
}

#[test]
fn other_efforts_through_the_gear_are_refused() {
    let bad = |first: &str, second: &str, more: &str| {
        let text = format!(
            "Scene(links: [Link(name: \"one\", mass: 1.0), Link(name: \"two\", mass: 1.0)], joints: [Joint(name: \
             \"a\", \
             parent: \"world\", child: \"one\", kind: Revolute(axis: (0, 0, 1)), {first}), Joint(name: \"b\", parent: \
             \"world\", child: \"two\", kind: Revolute(axis: (0, 0, 1)), {second})], couplings: [Gear(name: \"g\", \
             joints: (\"a\", \"b\"), ratio: 2.0, efficiency: (0.9, 0.8)), {more}], duration: 1.0)"
        );
        Scene::parse(&text, "bad.ron").map(|_| ()).unwrap_err().to_string()
    };
    assert!(bad("friction: Coulomb(coulomb: 1.0)", "", "").contains("has `friction`"));
    assert!(bad("damping: 0.1", "", "").contains("has `damping`"));
    assert!(bad("offset: 0.1", "", "").contains("has `offset`"));
    assert!(bad("", "limits: (lower: -1.0)", "").contains("`limits` of `b`"));
    assert!(bad("", "drive: Motion(Constant(0.0))", "").contains("`Motion` of `b`"));
    let brake = "Brake(name: \"k\", joint: \"a\", friction: Coulomb(coulomb: 1.0))";
    assert!(bad("", "", brake).contains("is coupled by `k`"));
    assert!(bad("", "", "Gear(name: \"h\", joints: (\"b\", \"a\"), ratio: 0.5)").contains("is coupled by `h`"));
    let text = "Scene(links: [], joints: [], couplings: [Gear(name: \"g\", joints: (\"a\", \"b\"), ratio: 2.0, \
                efficiency: (1.1, 0.0))], duration: 1.0)";
    let error = Scene::parse(text, "bad.ron").unwrap_err().to_string();
    assert!(error.contains("from 0") && error.contains("greater than 0"), "{error}");
}
