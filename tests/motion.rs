//! Joints with prescribed position: kinematics by the signal, efforts by inverse dynamics, work in the ledger.

use crate::stick_slip::{TIGHT, assert_near, simulation, slider};
use bristle::prelude::*;

/// A pendulum of 1 kg, 0.5 m, hanging from a carriage on a rail; the carriage follows `signal`.
fn crane(signal: &str, hinge: &str) -> String {
    format!(
        "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"carriage\", mass: 3.0), \
         Link(name: \"bob\", mass: 1.0, center_of_mass: (0.0, -0.5, 0.0), inertia: Diagonal(0.01, 0.01, 0.01))], \
         joints: [Joint(name: \"rail\", parent: \"world\", child: \"carriage\", \
         kind: Prismatic(axis: (1.0, 0.0, 0.0)), drive: Motion({signal})), \
         Joint(name: \"hinge\", parent: \"carriage\", child: \"bob\", kind: Revolute(axis: (0.0, 0.0, 1.0)), {hinge})]"
    )
}

#[test]
fn prescribed_joint_follows_signal_and_books_work() {
    for (formulation, method) in
        [("Implicit", "Dopri5"), ("Implicit", "Radau5"), ("Jerk", "Dopri5"), ("Residual", "Radau5")]
    {
        let signal = "Sine(amplitude: 0.3, frequency: 4.0, phase: 0.5)";
        let fields = format!("{}, formulation: {formulation}", crane(signal, "position: 0.4, damping: 0.05"));
        let recording = simulation(&fields, method, TIGHT).run_until(3.0).unwrap();
        for row in recording.rows() {
            let phase: f64 = 4.0 * row[0] + 0.5;
            assert_eq!(row[1], 0.3 * phase.sin(), "the very number");
            assert_near("velocity", row[2], 1.2 * phase.cos(), 1e-14);
            assert_near("acceleration", row[3], -4.8 * phase.sin(), 1e-14);
        }
        // the same pendulum in the carriage's frame: J q̈ = −d q̇ − m l (g sin q + ẍ cos q), by a program of a few
        // lines
        let (mut q, mut v) = (0.4_f64, 0.0_f64);
        let f = |t: f64, q: f64, v: f64| {
            let x = -4.8 * (4.0 * t + 0.5).sin();
            (-0.05 * v - 0.5 * (9.81 * q.sin() + x * q.cos())) / (0.01 + 0.25)
        };
        let (h, n) = (1e-4, 30_000);
        for k in 0..n {
            let t = k as f64 * h;
            let (k1q, k1v) = (v, f(t, q, v));
            let (k2q, k2v) = (v + 0.5 * h * k1v, f(t + 0.5 * h, q + 0.5 * h * k1q, v + 0.5 * h * k1v));
            let (k3q, k3v) = (v + 0.5 * h * k2v, f(t + 0.5 * h, q + 0.5 * h * k2q, v + 0.5 * h * k2v));
            let (k4q, k4v) = (v + h * k3v, f(t + h, q + h * k3q, v + h * k3v));
            q += h / 6.0 * (k1q + 2.0 * k2q + 2.0 * k3q + k4q);
            v += h / 6.0 * (k1v + 2.0 * k2v + 2.0 * k3v + k4v);
        }
        assert_near("angle", recording.last("hinge.position").unwrap(), q, 1e-9);
        assert_near("velocity", recording.last("hinge.velocity").unwrap(), v, 1e-9);
        assert!(recording.last("energy.input").unwrap().abs() > 0.01);
        assert!(
            recording.last("energy.balance").unwrap().abs() < 1e-10,
            "{formulation}: {:?}",
            recording.last("energy.balance")
        );
    }
}

#[test]
fn motion_corner_is_impulse_on_others() {
    // the carriage starts to move with 1 m/s at t = 0.5: the bob, at rest below it, gets Δv = −m l Δẋ/(J + m l²) at
    // once
    let recording = simulation(&crane("Ramp(rate: 1.0, start: 0.5)", ""), "Dopri5", TIGHT).run_until(0.51).unwrap();
    let before = recording.rows().find(|row| row[0] == 0.49).unwrap();
    assert_eq!((before[4], before[5]), (0.0, 0.0));
    let (q, v) = (recording.last("hinge.position").unwrap(), recording.last("hinge.velocity").unwrap());
    let jump = -0.5 / 0.26;
    // 0.01 s later gravity has reduced it a little
    assert_near("velocity", v, jump, 2e-2);
    assert_near("angle", q, 0.01 * jump, 1e-4);
    // ½ (m_carriage + m) ẋ² minus the part of the bob's swing
    let work = 0.5 * 4.0 + 0.5 * jump - 0.0 + 0.5 * 0.26 * jump * jump;
    assert_near("work of the blow", recording.last("energy.input").unwrap(), work, 1e-2);
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-11);
}

#[test]
fn block_on_shaken_plank_breaks_away() {
    // the plank moves back and forth; the block sticks to it within its friction limit
    let fields = "gravity: (0.0, 0.0, 0.0), links: [Link(name: \"plank\", mass: 1.0), \
             Link(name: \"block\", mass: 2.0)], joints: [Joint(name: \"rail\", parent: \"world\", child: \"plank\", \
             kind: Prismatic(axis: (1.0, 0.0, 0.0)), drive: Motion(Sine(amplitude: 0.2, frequency: 5.0))), \
             Joint(name: \"top\", parent: \"plank\", child: \"block\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
             friction: Coulomb(coulomb: 6.0))]";
    let recording = simulation(fields, "Dopri5", TIGHT).run_until(3.0).unwrap();
    // it breaks away where m ẍ = 6 N: 10 sin(5t) = 6
    let first = &recording.events()[0];
    assert_eq!(first.joint, "top");
    assert_near("break-away", first.t, 0.6_f64.asin() / 5.0, 1e-10);
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-10);
    assert!(recording.last("top.dissipated").unwrap() > 1.0);
}

#[test]
fn friction_of_prescribed_joint_reverses() {
    let motion = "drive: Motion(Sine(amplitude: 0.2, frequency: 5.0)), friction: Coulomb(coulomb: 2.0, stiction: 3.0)";
    let recording = simulation(&slider(1.0, motion), "Dopri5", TIGHT).run_until(2.0).unwrap();
    for row in recording.rows() {
        let friction = row[recording.names().iter().position(|name| name == "slide.friction").unwrap()];
        if row[2].abs() > 1e-9 {
            assert_eq!(friction, 2.0 * row[2].signum(), "at t = {}", row[0]);
        }
    }
    // heat is 2 N times the path: 0.2 ∫|cos| over 10 rad, three half turns of 2 and what is left, from 3π on
    let path = 0.2 * (1.0 + 2.0 * 2.0 + (1.0 + (10.0_f64 - 3.0 * std::f64::consts::PI).sin()));
    assert_near("heat", recording.last("slide.dissipated").unwrap(), 2.0 * path, 1e-10);
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-10);
}

#[test]
fn jumping_motions_are_refused_with_place() {
    let refused = |joint: &str| {
        let text = format!("Scene({})", slider(1.0, joint));
        let scene = Scene::parse(&text, "test.ron").unwrap();
        let error = Simulation::new(&scene).err().expect("must be refused");
        assert!(error.is_refusal());
        error.to_string()
    };
    let message = refused("drive: Motion(Steps([(0.0, 0.0), (0.5, 1.0)]))");
    assert!(message.contains("jumps at t = 0.5 s") && message.contains("test.ron:1:"), "{message}");
    let message = refused("position: 0.3, drive: Motion(Constant(1.0))");
    assert!(message.contains("position 0.3") && message.contains("starts at 1.0"), "{message}");
}

#[test]
fn work_of_rotating_motion_is_integrated() {
    // a pendulum on a pin, turned at 10 rad/s: heat is μ r ω ∫ N dt, N = m |l ω² − g cos q …| with the reaction of the
    // turning mass
    let fields = "gravity: (0.0, -9.81, 0.0), links: [Link(name: \"p\", mass: 1.0, center_of_mass: (0.0, -0.5, 0.0), \
             inertia: Diagonal(0.08, 0.08, 0.08))], \
             joints: [Joint(name: \"h\", parent: \"world\", child: \"p\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             drive: Motion(Ramp(rate: 10.0)), friction: Coulomb(coulomb: 0.3), load: Pin(radius: 0.05))]";
    let recording = simulation(fields, "Dopri5", "Error(rtol: 1e-8, atol: 1e-10)").run_until(10.0).unwrap();
    let n = 1_000_000;
    let load = |q: f64| (50.0 + 9.81 * q.cos()).hypot(9.81 * q.sin());
    let heat = (0..n).map(|k| load(100.0 * (f64::from(k) + 0.5) / f64::from(n))).sum::<f64>() * 10.0 / f64::from(n)
        * 0.3
        * 0.05
        * 10.0;
    assert_near("heat", recording.last("h.dissipated").unwrap(), heat, 1e-5 * heat);
    assert!(recording.last("energy.balance").unwrap().abs() < 1e-5, "{:?}", recording.last("energy.balance"));
}

/// A bristle of a prescribed joint starts steady at the prescribed speed: friction is that of steady sliding from the
/// first row on.
#[test]
fn bristles_start_steady_at_the_prescribed_speed() {
    let joint = "friction: LuGre(sigma0: 1e5, sigma1: 300.0, sigma2: 0.4, coulomb: 1.0, stiction: 1.5, \
             stribeck_velocity: 1e-3), drive: Motion(Ramp(rate: 0.05))";
    let mut sim = simulation(&slider(1.0, joint), "Radau5", "Error()");
    let recording = sim.run_until(0.1).unwrap();
    for friction in recording.channel("slide.friction").unwrap() {
        assert!((friction - (1.0 + 0.4 * 0.05)).abs() < 1e-12, "{friction}");
    }
}

/// Wheels of 1 kg·m²: joints a, b, …, each with further fields.
fn wheels(joints: &[&str], couplings: &str) -> String {
    let names = ["a", "b", "c", "d"];
    let (mut links, mut list) = (String::new(), String::new());
    for (name, rest) in names.iter().zip(joints) {
        links += &format!("Link(name: \"{name}\", mass: 1.0, inertia: Diagonal(1.0, 1.0, 1.0)), ");
        list += &format!(
            "Joint(name: \"{name}\", parent: \"world\", child: \"{name}\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             {rest}), "
        );
    }
    format!("gravity: (0.0, 0.0, 0.0), links: [{links}], joints: [{list}], couplings: [{couplings}]")
}

#[test]
fn clutch_between_prescribed_shafts_reverses() {
    let shafts =
        ["drive: Motion(Sine(amplitude: 0.5, frequency: 2.0))", "drive: Motion(Sine(amplitude: 0.3, frequency: 3.0))"];
    let fields = wheels(&shafts, "Clutch(name: \"k\", joints: (\"a\", \"b\"), friction: Coulomb(coulomb: 0.5))");
    // slip cos 2t − 0.9 cos 3t: its roots by bisection, its heat by Simpson's rule
    let slip = |t: f64| (2.0 * t).cos() - 0.9 * (3.0 * t).cos();
    let root = |mut low: f64, mut high: f64| {
        while high - low > 1e-14 {
            let middle = 0.5 * (low + high);
            if slip(low) * slip(middle) > 0.0 { low = middle } else { high = middle }
        }
        low
    };
    let n = 300_000;
    let weight = |k: usize| if k == 0 || k == n { 1.0 } else { [2.0, 4.0][k % 2] };
    let heat: f64 = (0..=n).map(|k| weight(k) * 0.5 * slip(3.0 * k as f64 / n as f64).abs()).sum::<f64>() / n as f64;
    for method in ["Dopri5", "Radau5"] {
        let recording = simulation(&fields, method, TIGHT).run_until(3.0).unwrap();
        let times: Vec<f64> = recording.events().iter().map(|event| event.t).collect();
        assert_eq!(times.len(), 2, "{times:?}");
        assert_near("first", times[0], root(1.0, 1.5), 1e-9);
        assert_near("second", times[1], root(2.3, 2.7), 1e-9);
        assert_near("heat", recording.last("k.dissipated").unwrap(), heat, 1e-8);
        assert!(recording.last("energy.balance").unwrap().abs() < 1e-8);
    }
    // equal speeds and accelerations at the start: they part all the same
    let alike =
        ["drive: Motion(Sine(amplitude: 0.3, frequency: 2.0))", "drive: Motion(Sine(amplitude: 0.2, frequency: 3.0))"];
    let fields = wheels(&alike, "Clutch(name: \"k\", joints: (\"a\", \"b\"), friction: Coulomb(coulomb: 0.5))");
    let recording = simulation(&fields, "Dopri5", TIGHT).run_until(0.5).unwrap();
    let slid = 0.3 * 1.0_f64.sin() - 0.2 * 1.5_f64.sin();
    assert_near("heat", recording.last("k.dissipated").unwrap(), 0.5 * slid, 1e-8);
}

#[test]
fn dependent_joint_of_prescribed_ones_is_prescribed() {
    // d − a = 3 b − 1.5 c, all prescribed
    let led = "drive: Motion(Sine(amplitude: 0.15, frequency: 3.94))";
    let other = "drive: Motion(Sine(amplitude: 0.533, frequency: 2.138))";
    let couplings = "Gear(name: \"g\", joints: (\"a\", \"d\"), ratio: 0.5), \
         Planetary(name: \"p\", sun: \"c\", ring: \"a\", carrier: \"b\", ratio: 2.0), \
         Clutch(name: \"k\", joints: (\"c\", \"a\"), friction: Coulomb(coulomb: 0.5))";
    let recording = simulation(&wheels(&["", led, "", other], couplings), "Dopri5", TIGHT).run_until(2.0).unwrap();
    let at = |name: &str| recording.names().iter().position(|n| n == name).unwrap();
    for row in recording.rows() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|joint| row[at(&format!("{joint}.velocity"))]);
        assert_near("gear", a, 0.5 * d, 1e-12);
        assert_near("set", c + 2.0 * a, 3.0 * b, 1e-12);
    }
    // a brake between a prescribed and a free joint: it sticks, 2 a − b is prescribed
    let couplings = "Linear(name: \"l\", terms: [(\"d\", 1.0), (\"a\", -2.0), (\"b\", 1.0), (\"c\", -1.0)]), \
         Brake(name: \"k\", joint: \"d\", friction: Coulomb(coulomb: 3.0))";
    let free = "drive: Effort(Sine(amplitude: 1.0, frequency: 5.0)), velocity: 0.5";
    let fields = wheels(&[free, "", "drive: Motion(Sine(amplitude: 0.1, frequency: 3.0))", ""], couplings);
    let recording = simulation(&fields, "Dopri5", TIGHT).run_until(2.0).unwrap();
    let stuck = recording.events().iter().find(|event| event.to == bristle::friction::Mode::Stuck).unwrap();
    assert_near("sticks", stuck.t, 0.5497, 1e-4);
}
