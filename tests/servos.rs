//! Servo drives: sampling, saturation, back-EMF, delay, enable; against closed forms, differences and each other.

use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::{Recording, Simulation};

/// A rotor of 0.02 kg·m² on a hinge with a servo.
fn rotor(joint: &str, servo: &str, duration: f64) -> Scene {
    let text = format!(
        "Scene(gravity: (0, 0, 0), links: [Link(name: \"r\", mass: 1.0, inertia: Diagonal(0.02, 0.02, 0.02))], joints: \
         [Joint(name: \"j\", parent: \"world\", child: \"r\", kind: Revolute(axis: (0, 0, 1)), {joint} drive: \
         Servo({servo}))], duration: {duration:?})"
    );
    Scene::parse(&text, "rotor.ron").unwrap_or_else(|error| panic!("{error}"))
}

fn run(scene: &Scene) -> Recording {
    let mut sim = Simulation::new(scene).unwrap();
    sim.run_until(scene.duration).unwrap()
}

const MOTOR: &str = "constant: 0.4, resistance: 4.0";

#[test]
fn a_saturated_motor_runs_up_to_its_no_load_speed() {
    // far from its target u = 6 V: J v̇ = K/R (6 − K v), v = 15 (1 − exp(−K² t/(R J)))
    let servo = format!("kp: 100.0, voltage_limit: 6.0, target: Constant(1000.0), {MOTOR}");
    for method in [Method::Dopri5, Method::Radau5, Method::GeneralizedAlpha { spectral_radius: 0.8 }] {
        let mut scene = rotor("", &servo, 2.0);
        scene.solver.method = Some(method);
        let recording = run(&scene);
        let v = 15.0 * (1.0 - f64::exp(-0.16 / 4.0 / 0.02 * 2.0));
        assert!((recording.last("j.velocity").unwrap() - v).abs() < 1e-6 * v, "{method:?}");
        let drive = 0.1 * (6.0 - 0.4 * v);
        assert!((recording.last("j.drive").unwrap() - drive).abs() < 1e-6);
    }
}

#[test]
fn saturation_is_left_at_its_corner() {
    // u = 6 V until the error is 0.06 rad, then K/R (100 (1 − q) − K v); both parts have closed forms
    let servo = format!("kp: 100.0, voltage_limit: 6.0, target: Constant(1.0), {MOTOR}");
    let (rate, gain) = (0.16 / 4.0 / 0.02, 0.1 * 100.0 / 0.02);
    let position = |t: f64| 15.0 * (t - (1.0 - f64::exp(-rate * t)) / rate);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if position(middle) < 0.94 { low = middle } else { high = middle }
    }
    let (t0, v0) = (high, 15.0 * (1.0 - f64::exp(-rate * high)));
    // ë + rate ė + gain e = 0 from e = −0.06, ė = v0
    let (decay, omega) = (0.5 * rate, (gain - 0.25 * rate * rate).sqrt());
    let error = |t: f64| {
        let (a, b) = (-0.06, (v0 - 0.06 * decay) / omega);
        f64::exp(-decay * t) * (a * f64::cos(omega * t) + b * f64::sin(omega * t))
    };
    // before it saturates the other way
    let end = t0 + 0.002;
    for (method, tolerance) in [(Method::Dopri5, 1e-8), (Method::Radau5, 1e-8)] {
        let mut scene = rotor("", &servo, end);
        scene.solver.method = Some(method);
        let q = run(&scene).last("j.position").unwrap();
        assert!((q - 1.0 - error(end - t0)).abs() < tolerance, "{method:?}: {q} {}", 1.0 + error(end - t0));
    }
}

/// A sampled controller on a rigid rotor is a linear map from sample to sample.
#[test]
fn samples_are_held_between_sample_instants() {
    let (period, kp, kd, inertia) = (0.01, 0.9, 0.12, 0.02);
    for difference in [0_usize, 2] {
        let servo =
            format!("kp: {kp:?}, kd: {kd:?}, difference: {difference}, period: {period:?}, target: Constant(1.0)");
        let (mut q, mut v, mut past) = (0.0_f64, 0.0_f64, [0.0; 2]);
        for _ in 0..150 {
            let rate = if difference == 0 { v } else { (q - past[1]) / (2.0 * period) };
            let tau = kp * (1.0 - q) - kd * rate;
            past = [q, past[0]];
            q += v * period + 0.5 * tau / inertia * period * period;
            v += tau / inertia * period;
        }
        for method in [Method::Dopri5, Method::Radau5] {
            let mut scene = rotor("", &servo, 1.5);
            scene.solver.method = Some(method);
            let recording = run(&scene);
            let (ours, velocity) = (recording.last("j.position").unwrap(), recording.last("j.velocity").unwrap());
            assert!((ours - q).abs() < 1e-9 && (velocity - v).abs() < 1e-8, "{difference} {method:?}: {ours} {q}");
        }
    }
}

/// Duty and voltage of a sampled servo are clamped, one after the other: the same map with u = clamp(2 clamp(e)).
#[test]
fn samples_are_clamped_to_duty_and_voltage() {
    let (period, kp, kd, inertia) = (0.01, 0.9, 0.12, 0.02);
    for (duty, voltage) in [(0.15, 9.0), (0.8, 0.2), (0.1, 0.15)] {
        let servo = format!(
            "kp: {kp:?}, kd: {kd:?}, period: {period:?}, target: Constant(1.0), supply: Constant(2.0), duty_limit: \
             {duty:?}, voltage_limit: {voltage:?}"
        );
        let (mut q, mut v, mut n_clamped) = (0.0_f64, 0.0_f64, 0);
        for _ in 0..150 {
            let e = kp * (1.0 - q) - kd * v;
            let tau = (2.0 * e.clamp(-duty, duty)).clamp(-voltage, voltage);
            n_clamped += usize::from(tau != 2.0 * e);
            q += v * period + 0.5 * tau / inertia * period * period;
            v += tau / inertia * period;
        }
        assert!(n_clamped > 10, "{n_clamped}");
        let recording = run(&rotor("", &servo, 1.5));
        let (ours, velocity) = (recording.last("j.position").unwrap(), recording.last("j.velocity").unwrap());
        assert!((ours - q).abs() < 1e-9 && (velocity - v).abs() < 1e-8, "{duty} {voltage}: {ours} {q}");
    }
}

#[test]
fn a_delayed_target_is_the_same_target_later() {
    let target = "Sum([Sine(amplitude: 0.3, frequency: 4.0), Table([(0.1, 0.0), (0.4, 0.5), (0.7, 0.2)])])";
    let later =
        "Sum([Sine(amplitude: 0.3, frequency: 4.0, phase: -0.2), Table([(0.15, 0.0), (0.45, 0.5), (0.75, 0.2)])])";
    let end = |servo: String| run(&rotor("friction: Coulomb(coulomb: 0.01),", &servo, 1.3)).last("j.position").unwrap();
    let delayed = end(format!("kp: 30.0, voltage_limit: 3.0, delay: 0.05, target: {target}, {MOTOR}"));
    let shifted = end(format!("kp: 30.0, voltage_limit: 3.0, target: {later}, {MOTOR}"));
    assert!((delayed - shifted).abs() < 1e-9, "{delayed} {shifted}");
}

#[test]
fn a_servo_that_is_off_has_no_effort() {
    let servo = format!(
        "kp: 100.0, voltage_limit: 6.0, target: Constant(9.0), enable: Steps([(0.0, 1.0), (0.2, 0.0)]), {MOTOR}"
    );
    let recording = run(&rotor("", &servo, 1.0));
    let v = 15.0 * (1.0 - f64::exp(-2.0 * 0.2));
    assert!((recording.last("j.velocity").unwrap() - v).abs() < 1e-8);
    assert_eq!(recording.last("j.drive").unwrap(), 0.0);
}

#[test]
fn servos_agree_in_all_formulations() {
    let joint = "friction: LuGre(sigma0: 50.0, sigma1: 0.3, sigma2: 0.01, coulomb: 0.05),";
    let target = "Sum([Sine(amplitude: 1.0, frequency: 5.0), Steps([(0.0, 0.0), (0.8, 0.5)])])";
    for sampled in ["", "period: 0.005,"] {
        let servo = format!(
            "kp: 2.0, kd: 0.01, {sampled} supply: Sine(amplitude: 0.5, frequency: 3.0, offset: 7.0), duty_limit: 0.9, \
             target: {target}, {MOTOR}"
        );
        let mut scene = rotor(joint, &servo, 2.0);
        let mut end = |method: Method, formulation: bristle::scene::Formulation, control: Option<Control>| {
            (scene.solver.method, scene.formulation, scene.solver.control) = (Some(method), formulation, control);
            let recording = run(&scene);
            let worst = recording.channel("energy.balance").unwrap().fold(0.0, |worst: f64, e| worst.max(e.abs()));
            (recording.last("j.position").unwrap(), worst)
        };
        use bristle::scene::Formulation::{Implicit, Jerk, Residual};
        let (reference, worst) = end(Method::Radau5, Implicit, None);
        assert!(worst < 1e-6, "{worst:e}");
        for (method, formulation) in [(Method::Dopri5, Implicit), (Method::Radau5, Residual), (Method::Dopri5, Jerk)] {
            let (position, worst) = end(method, formulation, None);
            assert!(
                (position - reference).abs() < 2e-6 && worst < 1e-5,
                "{sampled} {formulation:?}: {position} {reference}"
            );
        }
        let errors = [1e-3, 1e-4]
            .map(|step| (end(Method::RealTime, Implicit, Some(Control::Constant { step })).0 - reference).abs());
        // order 1
        assert!(errors[0] < 0.05 && errors[1] < 0.25 * errors[0], "{sampled} {errors:?}");
    }
}

#[test]
fn a_snapshot_holds_the_held_sample() {
    let servo = format!(
        "kp: 3.0, kd: 0.2, difference: 3, period: 0.02, voltage_limit: 6.0, target: Sine(amplitude: 1.0, frequency: \
         4.0), {MOTOR}"
    );
    for method in [Method::Dopri5, Method::RealTime] {
        let mut scene = rotor("friction: Coulomb(coulomb: 0.02),", &servo, 1.0);
        scene.solver.method = Some(method);
        let (mut sim, mut other) = (Simulation::new(&scene).unwrap(), Simulation::new(&scene).unwrap());
        for _ in 0..37 {
            sim.step(0.009).unwrap();
        }
        other.restore(&sim.snapshot().unwrap()).unwrap();
        for _ in 0..20 {
            sim.step(0.009).unwrap();
            other.step(0.009).unwrap();
        }
        assert_eq!(sim.positions(), other.positions(), "{method:?}");
    }
}

/// A of `linearize` against differences of accelerations, in every regime.
#[test]
fn linearisation_is_that_of_the_regime() {
    for (q, stiffness) in [(0.98, -0.1 * 100.0 / 0.02), (0.5, 0.0)] {
        let servo = format!("kp: 100.0, voltage_limit: 6.0, target: Constant(1.0), {MOTOR}");
        let mut sim = Simulation::new(&rotor(&format!("position: {q:?},"), &servo, 1.0)).unwrap();
        let linear = sim.linearize().unwrap();
        assert!((linear.a[(1, 0)] - stiffness).abs() < 1e-9 * (1.0 + stiffness.abs()), "{:?}", linear.a);
        assert!((linear.a[(1, 1)] + 0.04 / 0.02).abs() < 1e-12);
    }
}

#[test]
fn servos_that_make_no_sense_are_refused() {
    let refused = |servo: &str| {
        let text = format!(
            "Scene(links: [Link(name: \"r\", mass: 1.0)], joints: [Joint(name: \"j\", parent: \"world\", child: \"r\", \
             kind: Prismatic(axis: (0, 0, 1)), drive: Servo({servo}))])"
        );
        Scene::parse(&text, "bad.ron").unwrap_err().to_string()
    };
    assert!(refused("kp: 1.0").contains("target"));
    assert!(refused("kp: 1.0, target: Constant(0.0), resistance: 0.0").contains("resistance"));
    assert!(refused("kp: 1.0, target: Constant(0.0), period: -0.1").contains("period"));
    assert!(refused("kp: 1.0, target: Constant(0.0), difference: 2").contains("`period` is 0"));
    assert!(refused("kp: 1.0, target: Constant(0.0), period: 0.01, difference: 9").contains("up to 8"));
}
