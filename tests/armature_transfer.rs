//! Joints without inertia of their own, geared to joints with inertia.

use crate::real_time_couplings::{real_time, shafts};
use crate::stick_slip::{assert_near, simulation};
use bristle::prelude::*;

const TIGHT: &str = "Error(rtol: 1e-10, atol: 1e-12)";

#[test]
fn massless_motor_turns_geared_load() {
    // 3 N·m at 2 : 1 on 1.5 kg·m², and on as much again behind a second gear of −4: ω̇ = 6/(1.5 + 1.5/16)
    let couplings = "Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: 2.0), \
             Gear(name: \"h\", joints: (\"j2\", \"j3\"), ratio: -4.0)";
    let fields = shafts(&[(0.0, "drive: Effort(Constant(3.0))"), (1.5, ""), (1.5, "")], couplings);
    let rate = 6.0 / (1.5 + 1.5 / 16.0);
    for (formulation, method) in
        [("Implicit", "Dopri5"), ("Jerk", "Dopri5"), ("Residual", "Radau5"), ("Implicit", "GeneralizedAlpha")]
    {
        let fields = format!("{fields}, formulation: {formulation}");
        let mut sim = simulation(&fields, method, TIGHT);
        let recording = sim.run_until(1.0).unwrap_or_else(|error| panic!("{error}"));
        let last = |name: &str| recording.last(name).unwrap();
        assert_near("position", last("j2.position"), 0.5 * rate, 1e-9);
        assert_near("position", last("j1.position"), rate, 1e-9);
        // the motor needs no torque itself
        assert_near("effort of its gear", last("g.effort"), -3.0, 1e-9);
        assert_near("effort of the other", last("h.effort"), -1.5 / 16.0 * rate, 1e-9);
        assert_near("energy", last("energy.kinetic"), 3.0 * rate, 1e-8);
        assert!(last("energy.balance").abs() < 1e-9);
        // its mass matrix has no transferred armature
        let mass = sim.mass_matrix().unwrap();
        assert!(mass[(0, 0)].abs() < 1e-15 && (mass[(1, 1)] - 1.5).abs() < 1e-15, "{mass}");
    }
    let recording = real_time(&fields, 1e-3).run_until(1.0).unwrap();
    assert_near("position", recording.last("j2.position").unwrap(), 0.5 * rate, 1e-9);
    assert_near("effort of its gear", recording.last("g.effort").unwrap(), -3.0, 1e-9);
}

#[test]
fn gear_trains_without_inertia_transfer_armature() {
    // the last of three has all the inertia; dry friction on the first
    let couplings = "Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: 3.0), \
             Gear(name: \"h\", joints: (\"j2\", \"j3\"), ratio: 5.0)";
    let first = "drive: Effort(Constant(1.0)), friction: Coulomb(coulomb: 0.4)";
    let fields = shafts(&[(0.0, first), (0.0, ""), (4.5, "")], couplings);
    let recording = simulation(&fields, "Dopri5", TIGHT).run_until(2.0).unwrap();
    // (1 − 0.4) · 15/4.5 = 2 rad/s²
    assert_near("position", recording.last("j3.position").unwrap(), 4.0, 1e-9);
    assert_near("effort", recording.last("h.effort").unwrap(), -0.6 * 3.0, 1e-9);
    let found = real_time(&fields, 1e-3).run_until(2.0).unwrap();
    assert_near("position", found.last("j3.position").unwrap(), 4.0, 3e-3);
}

/// A heavy forearm geared to a motor in a light upper arm that swings freely.
fn light_parent(rotor: f64) -> String {
    format!(
        "links: [Link(name: \"upper\", mass: 0.01, center_of_mass: (0.0, -0.1, 0.0), \
         inertia: Diagonal(1e-5, 1e-5, 1e-5)), Link(name: \"rotor\", mass: 0.2, \
         inertia: Diagonal({rotor:?}, {rotor:?}, {rotor:?})), \
         Link(name: \"forearm\", mass: 2.0, center_of_mass: (0.0, -0.3, 0.0), inertia: Diagonal(0.1, 0.1, 0.1))], \
         joints: [Joint(name: \"shoulder\", parent: \"world\", child: \"upper\", \
         kind: Revolute(axis: (0.0, 0.0, 1.0)), position: 0.5), \
         Joint(name: \"motor\", parent: \"world\", child: \"rotor\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
         drive: Effort(Sine(amplitude: 0.05, frequency: 3.0))), \
         Joint(name: \"elbow\", parent: \"upper\", child: \"forearm\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
         placement: Placement(translation: (0.0, -0.2, 0.0)), damping: 0.01)], gravity: (0.0, -9.81, 0.0), \
         couplings: [Gear(name: \"stage\", joints: (\"motor\", \"elbow\"), ratio: 30.0)]"
    )
}

#[test]
fn transfer_does_not_change_a_light_parent() {
    let run = |rotor: f64| simulation(&light_parent(rotor), "Dopri5", TIGHT).run_until(1.0).unwrap();
    let (found, expected) = (run(0.0), run(1e-12));
    for name in ["shoulder.position", "elbow.position", "stage.effort"] {
        // a rotor of 1e-12 kg·m² at 30 : 1 is 1e-9 kg·m² of 0.1
        assert_near(name, found.last(name).unwrap(), expected.last(name).unwrap(), 1e-6);
    }
    assert!(found.last("energy.balance").unwrap().abs() < 1e-8);
}

#[test]
fn joint_without_transferable_inertia_is_named() {
    let refused = |fields: &str, solver: &str| {
        let text = format!("Scene({fields}, {solver})");
        let scene = Scene::parse(&text, "test.ron").unwrap_or_else(|error| panic!("{error}"));
        Simulation::new(&scene).err().map(|error| error.to_string())
    };
    // a planetary set: three joints
    let set = "Planetary(name: \"set\", sun: \"j1\", ring: \"j2\", carrier: \"j3\", ratio: 2.0)";
    let fields = shafts(&[(1.0, "drive: Effort(Constant(1.0))"), (0.0, ""), (2.0, "")], set);
    let said = refused(&fields, "").unwrap();
    assert!(said.contains("`set`") && said.contains("`j2`") && said.contains("RealTime"), "{said}");
    // `RealTime` accepts it: ring and sun carry no torque except that of their own inertia
    let recording = real_time(&fields, 1e-3).run_until(1.0).unwrap();
    assert_near("sun", recording.last("j1.velocity").unwrap(), 1.0, 1e-9);
    assert_near("carrier", recording.last("j3.velocity").unwrap(), 0.0, 1e-9);
    // a clutch transfers nothing: it may open
    let clutch = "Clutch(name: \"c\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 1.0))";
    let fields = shafts(&[(0.0, "drive: Effort(Constant(0.5))"), (1.0, "")], clutch);
    for solver in ["", "solver: Solver(method: RealTime)"] {
        let said = refused(&fields, solver).unwrap();
        assert!(said.contains("joint `j1`") && said.contains("armature"), "{said}");
    }
    // two joints without inertia
    let gear = "Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: 2.0)";
    let fields = shafts(&[(0.0, "drive: Effort(Constant(0.5))"), (0.0, "")], gear);
    for solver in ["", "solver: Solver(method: RealTime)"] {
        let said = refused(&fields, solver).unwrap();
        assert!(said.contains("inertia") && said.contains("`j"), "{said}");
    }
}
