//! Stops with `RealTime`: order one towards the event-driven reference cases, never past a stop, rest that is exact.

use bristle::EventKind;
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stops").join(name)
}

const CASES: [&str; 14] = [
    "S1_pendulum_stop",
    "S1z_pendulum_stop_rest",
    "S2_bouncing_slider",
    "S3_slider_two_stops",
    "S4_reversing_force",
    "S4b_reversing_force_bounce",
    "S4f_reversing_force_friction",
    "S5_double_pendulum_stops",
    "S6_two_blocks",
    "S6b_two_pendulums",
    "S6c_resting_stop",
    "S7_pin_stop",
    "S7b_double_pin_stop",
    "S7s_pin_stop_stays",
];

fn real_time(scene: &Scene, step: f64) -> Scene {
    let mut scene = scene.clone();
    scene.solver.method = Some(Method::RealTime);
    scene.solver.control = Some(Control::Constant { step });
    scene
}

/// The mean error of positions falls with h; where a step meets an impact varies, so that single halvings do. The steps
/// divide the interval of rows: a row within the step of an impact has a velocity of neither side.
#[test]
fn positions_converge_with_order_one_and_stay_in_range() {
    for case in CASES {
        let scene = Scene::load(data(&format!("{case}.ron"))).unwrap();
        let reference = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
        let errors = [2e-3, 1.25e-4].map(|step| {
            let scene = real_time(&scene, step);
            let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
            let mut worst = 0.0_f64;
            for joint in &scene.joints {
                let name = format!("{}.position", joint.name);
                let pairs = reference.channel(&name).unwrap().zip(recording.channel(&name).unwrap());
                let n = pairs.len() as f64;
                worst = worst.max(pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / n);
                let range = joint.limits.map_or((f64::NEG_INFINITY, f64::INFINITY), |limits| {
                    (limits.lower.unwrap_or(f64::NEG_INFINITY), limits.upper.unwrap_or(f64::INFINITY))
                });
                let is_inside = |q: f64| q >= range.0 && q <= range.1;
                assert!(recording.channel(&name).unwrap().all(is_inside), "{case}: {name}");
            }
            // the numerical dissipation is of order h too
            let size = |name: &str| recording.channel(name).unwrap().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(size("energy.balance") < 20.0 * step * (1.0 + size("energy.kinetic")), "{case}");
            worst
        });
        // sixteen times shorter steps
        let falls = errors[1] < errors[0] / 8.0 || errors[1] < 5e-5;
        assert!(errors[0] < 1e-2 && falls && errors[1] < 5e-4, "{case}: {errors:?}");
    }
}

#[test]
fn a_joint_rests_on_its_stop_exactly() {
    for (case, joint, bound) in [("S1z_pendulum_stop_rest", "hinge", 0.3), ("S2_bouncing_slider", "slider", 0.0)] {
        let scene = real_time(&Scene::load(data(&format!("{case}.ron"))).unwrap(), 1e-3);
        let mut sim = Simulation::new(&scene).unwrap();
        let recording = sim.run_until(scene.duration).unwrap();
        let last = |what: &str| recording.last(&format!("{joint}.{what}")).unwrap();
        assert_eq!((last("position"), last("velocity"), last("acceleration")), (bound, 0.0, 0.0));
        assert!(last("stop") > 0.0);
        let rest = recording.events().iter().rfind(|event| event.kind == EventKind::Stop).unwrap();
        assert_eq!(rest.to, bristle::friction::Mode::Stuck);
        // the bounces end when a rebound is shorter than a step
        let end = if joint == "slider" { 1.354_570_922_957_193 } else { 2.448_442_490_133_463 };
        assert!((rest.t - end).abs() < 0.03, "{case}: {} {end}", rest.t);
    }
}

#[test]
fn a_snapshot_between_bounces_goes_on_bit_by_bit() {
    let scene = real_time(&Scene::load(data("S5_double_pendulum_stops.ron")).unwrap(), 1e-3);
    let mut sim = Simulation::new(&scene).unwrap();
    sim.run_until(0.858).unwrap();
    let bytes = sim.snapshot().unwrap();
    sim.run_until(3.0).unwrap();
    let mut other = Simulation::new(&scene).unwrap();
    other.restore(&bytes).unwrap();
    other.run_until(3.0).unwrap();
    assert_eq!(sim.positions(), other.positions());
    assert_eq!(sim.velocities(), other.velocities());
}

/// Machines with stops step alone in a batch, with the bits of a single run.
#[test]
fn a_batch_has_the_bits_of_single_runs() {
    let scene = real_time(&Scene::load(data("S5_double_pendulum_stops.ron")).unwrap(), 1e-3);
    let mut sim = Simulation::new(&scene).unwrap();
    let mut batch = Batch::new(&mut Simulation::new(&scene).unwrap(), 3).unwrap();
    for _ in 0..1500 {
        sim.step(1e-3).unwrap();
        batch.step(1e-3).unwrap();
    }
    let n = sim.positions().len();
    for k in 0..n {
        assert_eq!(batch.positions()[k * 3 + 1], sim.positions()[k]);
    }
}

#[test]
fn a_motion_out_of_range_is_refused() {
    let text = r#"Scene(gravity: (0.0, 0.0, 0.0),
        links: [Link(name: "rotor", mass: 1.0, inertia: Diagonal(0.1, 0.1, 0.1)),
                Link(name: "arm", mass: 1.0, inertia: Diagonal(2.0, 2.0, 2.0))],
        joints: [
            Joint(name: "motor", parent: "world", child: "rotor", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                drive: Motion(Sine(amplitude: 5.0, frequency: 1.0))),
            Joint(name: "elbow", parent: "world", child: "arm", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                limits: Limits(upper: 0.5)),
        ],
        couplings: [Gear(name: "stage", joints: ("motor", "elbow"), ratio: 5.0)],
        solver: Solver(SOLVER))"#;
    // sin t = 0.5 at π/6
    for solver in ["method: RealTime, control: Constant(step: 1e-3)", "method: Dopri5"] {
        let scene = Scene::parse(&text.replace("SOLVER", solver), "gear.ron").unwrap();
        let error = Simulation::new(&scene).unwrap().run_until(2.0).unwrap_err().to_string();
        assert!(error.contains("elbow") && error.contains("0.52") && error.contains("beyond its stop"), "{error}");
    }
}
