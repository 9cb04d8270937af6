//! `RealTime` with stuck contacts: slip is 0.0, redundant contacts share the load by their limits, efforts at the
//! start.

use crate::real_time_couplings::{real_time, shafts};
use crate::stick_slip::{assert_near, simulation};
use bristle::prelude::*;

/// The slip of stuck contacts is 0.0, and gears are exact up to `ulps` of ratio · v_b.
fn assert_held(recording: &Recording, contacts: &[(&str, &str, Option<&str>)], gears: &[(&str, &str, f64)], ulps: f64) {
    let channel = |name: String| recording.channel(&name).unwrap().collect::<Vec<f64>>();
    let t = channel("t".to_owned());
    for &(name, a, b) in contacts {
        let (mode, slip) = (channel(format!("{name}.mode")), channel(format!("{name}.velocity")));
        let (v_a, v_b) = (channel(format!("{a}.velocity")), b.map(|b| channel(format!("{b}.velocity"))));
        for k in (0..t.len()).filter(|&k| mode[k] == 0.0) {
            assert_eq!(slip[k], 0.0, "{name} at {}", t[k]);
            assert_eq!(v_a[k] - v_b.as_ref().map_or(0.0, |v| v[k]), 0.0, "{name} at {}", t[k]);
        }
        assert!(mode.contains(&0.0), "{name} is never stuck");
    }
    for &(a, b, ratio) in gears {
        let (v_a, v_b) = (channel(format!("{a}.velocity")), channel(format!("{b}.velocity")));
        for k in 0..t.len() {
            let off = (v_a[k] - ratio * v_b[k]).abs();
            assert!(off <= ulps * f64::EPSILON * v_a[k].abs(), "{a} and {b} at {}: {off:e}", t[k]);
        }
    }
}

#[test]
fn stuck_clutches_between_gears_do_not_slip() {
    // two geared pairs with ratios that have no exact representation, a clutch across, a brake that opens and closes
    let couplings = "Gear(name: \"g1\", joints: (\"j1\", \"j2\"), ratio: 1.7), \
             Gear(name: \"g2\", joints: (\"j3\", \"j4\"), ratio: -0.3), \
             Clutch(name: \"c\", joints: (\"j1\", \"j3\"), friction: Coulomb(coulomb: 3.0)), \
             Clutch(name: \"d\", joints: (\"j2\", \"j5\"), friction: Coulomb(coulomb: 2.0, stiction: 2.5)), \
             Brake(name: \"b\", joint: \"j4\", friction: Coulomb(coulomb: 1.0), \
             load: Signal(max: 9.0, signal: Steps([(0.0, 0.0), (1.0, 1.0), (1.5, 0.0)])))";
    let drive = "drive: Effort(Sine(amplitude: 2.0, frequency: 7.0, offset: 0.5)), damping: 0.1";
    let fields = shafts(&[(0.3, drive), (0.2, ""), (0.5, ""), (0.1, "damping: 0.03"), (0.4, "")], couplings);
    let contacts = [("c", "j1", Some("j3")), ("d", "j2", Some("j5")), ("b", "j4", None)];
    // rows at ends of steps, and rows between them
    for interval in ["0.01", "0.0037"] {
        let fields = format!("{fields}, output: Output(interval: {interval})");
        let recording = real_time(&fields, 1e-3).run_until(2.0).unwrap();
        assert_held(&recording, &contacts, &[("j1", "j2", 1.7)], 0.0);
        // a stuck clutch closes the loop of both gears: one of the two ratios holds to rounding only
        assert_held(&recording, &contacts, &[("j3", "j4", -0.3)], 2.0);
    }
}

#[test]
fn stuck_clutches_to_prescribed_joint_do_not_slip() {
    let couplings = "Clutch(name: \"c\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 20.0)), \
             Gear(name: \"g\", joints: (\"j3\", \"j2\"), ratio: 2.3), \
             Clutch(name: \"d\", joints: (\"j3\", \"j4\"), friction: Coulomb(coulomb: 20.0))";
    for motion in ["Ramp(rate: 2.0)", "Sine(amplitude: 0.3, frequency: 4.0)"] {
        let drive = format!("drive: Motion({motion})");
        let fields = shafts(&[(1.0, &drive), (0.2, ""), (0.1, ""), (0.5, "")], couplings);
        let recording = real_time(&fields, 1e-3).run_until(1.0).unwrap();
        assert_held(&recording, &[("c", "j1", Some("j2")), ("d", "j3", Some("j4"))], &[("j3", "j2", 2.3)], 0.0);
    }
}

/// Brakes of 2 and 4 N·m on shafts geared together, under a torque that grows.
fn brakes_side_by_side() -> String {
    let couplings = "Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: 1.0), \
         Brake(name: \"weak\", joint: \"j1\", friction: Coulomb(coulomb: 1.0), load: Constant(2.0)), \
         Brake(name: \"strong\", joint: \"j2\", friction: Coulomb(coulomb: 1.0), load: Constant(4.0))";
    shafts(&[(1.0, "drive: Effort(Ramp(rate: 5.0))"), (2.0, "")], couplings)
}

#[test]
fn redundant_clutches_share_load_by_limit() {
    let run = |mut sim: Simulation| sim.run_until(2.0).unwrap();
    let fields = format!("{}, output: Output(interval: 0.01)", brakes_side_by_side());
    let found = run(real_time(&fields, 1e-3));
    let tight = run(simulation(&fields, "Dopri5", "Error(rtol: 1e-9, atol: 1e-11)"));
    // 6 N·m at 1.2 s: both break away, once
    assert_eq!((found.events().len(), tight.events().len()), (2, 2), "{:?}", found.events());
    for event in found.events() {
        assert_near("time of a change", event.t, 1.2, 2e-3);
    }
    let channel = |recording: &Recording, name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
    let t = channel(&found, "t");
    for (name, part) in [("weak.friction", 1.0 / 3.0), ("strong.friction", 2.0 / 3.0)] {
        for (k, (found, tight)) in channel(&found, name).iter().zip(channel(&tight, name)).enumerate() {
            let carried = |t: f64| (5.0 * t).clamp(0.0, 6.0) * part;
            // rounding: the distribution hardly affects the motion; forces of a step are those of its middle
            assert_near(name, *found, carried(t[k] - 0.5e-3), 1e-8);
            assert_near(name, tight, carried(t[k]), 1e-6);
        }
    }
}

#[test]
fn loop_of_clutches_sticks_with_one_at_limit() {
    // j1, j2 and j3 in a ring; the clutch from 1 to 3 is weak: it is at its limit, 1 N·m of 8, and the others keep it
    // stuck
    let couplings = "Clutch(name: \"a\", joints: (\"j1\", \"j2\"), friction: Coulomb(coulomb: 10.0)), \
         Clutch(name: \"b\", joints: (\"j2\", \"j3\"), friction: Coulomb(coulomb: 10.0)), \
         Clutch(name: \"weak\", joints: (\"j1\", \"j3\"), friction: Coulomb(coulomb: 1.0)), \
         Brake(name: \"brake\", joint: \"j3\", friction: Coulomb(coulomb: 50.0))";
    let fields = shafts(&[(0.1, "drive: Effort(Ramp(rate: 8.0))"), (0.1, ""), (0.1, "")], couplings);
    let fields = format!("{fields}, output: Output(interval: 0.01)");
    let recording = real_time(&fields, 1e-3).run_until(1.0).unwrap();
    assert_eq!(recording.events().len(), 0, "{:?}", recording.events());
    let last = |name: &str| recording.last(name).unwrap();
    assert_near("what the weak one gives", last("weak.friction"), 1.0, 1e-9);
    // at the middle of the last step
    let arrives = 8.0 * (1.0 - 0.5e-3);
    assert_near("what goes around it", last("a.friction"), arrives - 1.0, 1e-9);
    assert_near("what goes around it", last("b.friction"), arrives - 1.0, 1e-9);
    assert_near("what arrives", last("brake.friction"), arrives, 1e-9);
    assert!(["a", "b", "weak"].iter().all(|name| last(&format!("{name}.velocity")) == 0.0));
}

#[test]
fn constraint_forces_act_from_first_row() {
    // a motor against the inertia behind its gear: λ = τ J₂/(J₂ + r² J₁) from the start
    let fields = shafts(
        &[(0.01, "drive: Effort(Constant(1.0))"), (2.0, "")],
        "Gear(name: \"g\", joints: (\"j1\", \"j2\"), ratio: 10.0)",
    );
    for sim in [real_time(&fields, 1e-3), simulation(&fields, "Dopri5", "Error(rtol: 1e-9, atol: 1e-11)")] {
        let mut sim = sim;
        let recording = sim.run_until(0.1).unwrap();
        let first = recording.channel("g.effort").unwrap().next().unwrap();
        assert_near("effort of the gear", first, -2.0 / 3.0, 1e-9);
    }
}

#[test]
fn snapshot_keeps_stuck_contacts() {
    let fields = brakes_side_by_side();
    let mut sim = real_time(&fields, 1e-3);
    sim.run_until(0.7).unwrap();
    let bytes = sim.snapshot().unwrap();
    let mut again = real_time(&fields, 1e-3);
    again.restore(&bytes).unwrap();
    let (first, second) = (sim.run_until(1.5).unwrap(), again.run_until(1.5).unwrap());
    for name in first.names() {
        let pairs = first.channel(name).unwrap().zip(second.channel(name).unwrap());
        pairs.for_each(|(a, b)| assert_eq!(a.to_bits(), b.to_bits(), "{name}"));
    }
}
