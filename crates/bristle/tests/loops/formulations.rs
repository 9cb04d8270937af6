//! The three formulations in machines with loops: one motion, found by Newton at every evaluation, by integration of
//! accelerations, and by an implicit stepper that solves for them itself.

use bristle::prelude::*;
use bristle::scene::{Control, Formulation, Method};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/data/loops/{name}.ron"))
}

fn load(name: &str) -> Scene {
    Scene::load(path(name)).unwrap()
}

fn run(scene: &Scene, formulation: Formulation, method: Method, until: f64) -> Recording {
    let mut scene = scene.clone();
    scene.formulation = formulation;
    scene.solver.method = Some(method);
    scene.solver.control = Some(Control::Error { rtol: 1e-9, atol: 1e-11 });
    let mut sim = Simulation::new(&scene).unwrap_or_else(|error| panic!("{formulation:?}: {error}"));
    sim.run_until(until).unwrap_or_else(|error| panic!("{formulation:?}: {error}"))
}

/// Positions, velocities, loads and friction of every row, and the instants of events.
fn assert_same(first: &Recording, second: &Recording, label: &str) {
    for name in first.names() {
        let tolerance = match name.rsplit('.').next().unwrap() {
            "position" => 1e-6,
            "velocity" => 1e-5,
            "load" | "friction" => 1e-4,
            _ => continue,
        };
        let (a, b) = (first.channel(name).unwrap(), second.channel(name).unwrap());
        let modes = |r: &Recording| {
            let mode = name.replace(".load", ".mode").replace(".friction", ".mode");
            r.channel(&mode).map(|mode| mode.collect::<Vec<f64>>()).unwrap_or_default()
        };
        let (modes, others) = (modes(first), modes(second));
        let size = first.channel(name).unwrap().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (k, (a, b)) in a.zip(b).enumerate() {
            // how redundant stuck contacts share a load depends on rounding; rows beside a jump have either side
            let is_rest = modes.get(k).is_some_and(|mode| *mode == 0.0 || Some(mode) != others.get(k));
            let is_compared = name.ends_with("position") || name.ends_with("velocity") || !is_rest;
            assert!(!is_compared || (a - b).abs() < tolerance * size, "{label}: {name}, row {k}: {a} {b}");
        }
    }
    let times = |r: &Recording| {
        let mut times: Vec<f64> = r.events().iter().map(|event| event.t).collect();
        times.dedup_by(|a, b| (*a - *b).abs() < 1e-6);
        times
    };
    let (a, b) = (times(first), times(second));
    assert_eq!(a.len(), b.len(), "{label}: {a:?} {b:?}");
    a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-6, "{label}: {a} {b}"));
}

const CASES: [(&str, f64); 6] = [
    ("four_bar", 2.0),
    ("four_bar_pin", 2.0),
    ("slider_crank_coast", 1.0),
    ("five_bar", 2.0),
    ("bricard", 1.0),
    ("three_cranks", 1.0),
];

#[test]
fn accelerations_as_unknowns_give_the_same_motion() {
    for (name, until) in CASES {
        let scene = load(name);
        let until = until.min(scene.duration);
        let first = run(&scene, Formulation::Implicit, Method::Dopri5, until);
        let second = run(&scene, Formulation::Jerk, Method::Dopri5, until);
        assert_same(&first, &second, name);
        // (1) is an invariant: it drifts with the tolerance at most
        assert!(second.channel("energy.balance").unwrap().all(|balance| balance.abs() < 1e-6), "{name}");
    }
}

#[test]
fn a_residual_for_the_stepper_gives_the_same_motion() {
    for (name, until) in CASES {
        let scene = load(name);
        let until = until.min(scene.duration);
        let first = run(&scene, Formulation::Implicit, Method::Dopri5, until);
        let second = run(&scene, Formulation::Residual, Method::Radau5, until);
        assert_same(&first, &second, name);
    }
}

/// Bristles, gears and pins in one loop of two degrees of freedom, in motion and with reaction loads.
#[test]
fn bristles_under_reactions_agree_in_all_formulations() {
    let text = std::fs::read_to_string(path("five_bar")).unwrap();
    let law = "friction: LuGre(sigma0: 200.0, sigma1: 1.0, sigma2: 0.0, coulomb: 0.3, stiction: 0.4, \
               stribeck_velocity: 0.1), load: Pin(radius: 0.05),";
    let lines = text.lines().map(|line| if line.contains("friction: Coulomb") { law } else { line });
    let scene = Scene::parse(&lines.collect::<Vec<_>>().join("\n"), "bristles").unwrap();
    assert!(scene.joints.iter().all(|joint| joint.friction.is_some()));
    let first = run(&scene, Formulation::Implicit, Method::Radau5, 0.5);
    for formulation in [Formulation::Jerk, Formulation::Residual] {
        let second = run(&scene, formulation, Method::Radau5, 0.5);
        assert_same(&first, &second, "bristles");
    }
}

/// All joints stuck: the copy holds with every bit, and lets go at the same instant.
#[test]
fn a_snapshot_of_a_stuck_loop_lets_go_at_the_same_instant() {
    let scene = load("four_bar_sine");
    let mut sim = Simulation::new(&scene).unwrap();
    // held from 0.318 s to 0.536 s
    sim.run_until(0.45).unwrap();
    assert!(sim.velocities().iter().all(|v| *v == 0.0));
    let (snapshot, held) = (sim.snapshot().unwrap(), sim.positions().to_vec());
    let mut other = Simulation::new(&scene).unwrap();
    other.restore(&snapshot).unwrap();
    let (first, second) = (sim.run_until(0.9).unwrap(), other.run_until(0.9).unwrap());
    let at = first.events().first().unwrap().t;
    assert!((at - 0.5357472331770485).abs() < 1e-8, "{at}");
    assert_eq!(first.events(), second.events());
    assert_eq!(sim.positions(), other.positions());
    assert_eq!(sim.velocities(), other.velocities());
    assert_ne!(sim.positions(), held);
}

/// A contact passes zero velocity at a dead centre, sometimes exactly: it slides on there, whatever the step.
#[test]
fn a_stretched_dyad_goes_on() {
    let scene = load("stretched_dyad");
    for (formulation, rtol) in [1e-7, 6e-7, 8e-7, 3e-6]
        .map(|rtol| (Formulation::Residual, rtol))
        .into_iter()
        .chain([(Formulation::Jerk, 1e-7)])
    {
        let mut scene = scene.clone();
        scene.formulation = formulation;
        scene.solver.control = Some(Control::Error { rtol, atol: 1e-2 * rtol });
        let recording = Simulation::new(&scene).unwrap().run_until(1.5).unwrap();
        // of `Dopri5` at 1e-9
        let d2 = recording.last("d2.position").unwrap();
        assert!((d2 + 0.5750677).abs() < 1e-5, "{formulation:?} at {rtol}: {d2}");
        let balance = recording.channel("energy.balance").unwrap().fold(0.0_f64, |most, e| most.max(e.abs()));
        assert!(balance < 1e-3, "{formulation:?} at {rtol}: {balance} J");
        let stands = recording.channel("s.mode").unwrap().any(|mode| mode == 0.0);
        assert!(!stands, "{formulation:?} at {rtol}");
    }
}

/// What of a joint is left when all others are held may be rounding alone: it is free, and keeps its velocity.
#[test]
fn a_rod_spins_on_when_its_loop_rests() {
    let scene = load("spinning_rod");
    let methods = [(Method::Dopri5, 1e-9, 1e-6), (Method::Radau5, 1e-9, 1e-6), (Method::RealTime, 1e-4, 1e-2)];
    for (method, resolution, tolerance) in methods {
        let mut scene = scene.clone();
        scene.solver.method = Some(method);
        let is_real_time = method == Method::RealTime;
        scene.solver.control = Some(match is_real_time {
            true => Control::Constant { step: resolution },
            false => Control::Error { rtol: resolution, atol: 1e-2 * resolution },
        });
        let recording = Simulation::new(&scene).unwrap().run_until(3.0).unwrap();
        // the machine whose ball joint is 1e-7 m beside the axis ends there
        let angle = recording.last("s3.position").unwrap();
        assert!((angle - 11.46415).abs() < 1e-5 + tolerance, "{method:?}: {angle}");
        let spin: Vec<f64> = recording.channel("s3.velocity").unwrap().collect();
        let rests: Vec<f64> = recording.channel("a.velocity").unwrap().collect();
        assert_eq!(*rests.last().unwrap(), 0.0, "{method:?}");
        assert!((spin.last().unwrap() - 3.8609).abs() < 1e-3, "{method:?}: {:?}", spin.last());
    }
}
