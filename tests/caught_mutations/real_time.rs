//! Faults of `RealTime` that other tests do not detect.

use super::*;

#[test]
fn real_time_drive_work_follows_velocities() {
    // without friction h f = m (v₁ − v₀), so the work of a step is m (v₁ − v₀) v̄, by the velocities recorded
    let h = 0.01;
    for drive in [
        "Pid(kp: 40.0, ki: 300.0, kd: 2.0, target: Steps([(0.0, 0.0), (0.1, 1.0)]))",
        "Pull(stiffness: 50.0, target: Ramp(rate: 2.0))",
        "Effort(Sine(amplitude: 2.0, frequency: 9.0))",
    ] {
        let fields = format!("{}, output: Output(interval: {h:?})", slider(2.0, &format!("drive: {drive}")));
        let recording = real_time(&fields, h).run_until(1.0).unwrap();
        let v: Vec<f64> = recording.channel("slide.velocity").unwrap().collect();
        let work: f64 = v.windows(2).map(|v| 2.0 * (v[1] - v[0]) * 0.5 * (v[0] + v[1])).sum();
        assert_near(drive, recording.last("energy.input").unwrap(), work, 1e-9);
    }
}

#[test]
fn real_time_motion_has_the_velocities_of_its_signal() {
    // w₁ = ṡ(t₁): the work of moving m is Σ m (w₁ − w₀) w̄; a viscous clutch of k drags a second shaft,
    // J (u₁ − u₀) = h k (w₁ − u₁)
    let (h, n, k) = (0.02, 60, 1.5);
    let rate = |t: f64| 1.2 * (4.0 * t).cos();
    let clutch = "Clutch(name: \"k\", joints: (\"j2\", \"j1\"), friction: Coulomb(coulomb: 0.0, viscous: 1.5))";
    let joints = [(2.0, "drive: Motion(Sine(amplitude: 0.3, frequency: 4.0))"), (0.5, "")];
    let recording = real_time(&shafts(&joints, clutch), h).run_until(h * f64::from(n)).unwrap();
    let (mut w, mut u, mut angle, mut work) = (1.2, 0.0, 0.0, 0.0);
    for step in 1..=n {
        let (next, before) = (rate(h * f64::from(step)), u);
        u = (0.5 * u + h * k * next) / (0.5 + h * k);
        work += (2.0 * (next - w) + h * k * (next - u)) * 0.5 * (w + next);
        angle += h * 0.5 * (before + u);
        w = next;
    }
    assert_near("dragged", recording.last("j2.velocity").unwrap(), u, 1e-12);
    assert_near("dragged", recording.last("j2.position").unwrap(), angle, 1e-12);
    assert_near("work", recording.last("energy.input").unwrap(), work, 1e-10);
}

#[test]
fn real_time_gears_keep_offset() {
    // q₂ = 2 q₁ + ½, springs of 8 and 20 N·m/rad on both; in the velocity of j1, J = 1 + 4 · 1:
    // J (v₁ − v₀) = −h (8 x₁ + 2 · 20 (2 x₂ + ½)), x = q + h (α v₀ + β v₁) with the weights of each spring on 1 kg·m²
    let gear = "Gear(name: \"g\", joints: (\"j2\", \"j1\"), ratio: 2.0, offset: 0.5)";
    let joints = [
        (1.0, "position: 0.3, spring: Spring(stiffness: 8.0)"),
        (1.0, "position: 1.1, spring: Spring(stiffness: 20.0)"),
    ];
    let h = 0.01;
    let recording = real_time(&shafts(&joints, gear), h).run_until(1.0).unwrap();
    let (mut q, mut v) = (0.3, 0.0);
    let weights = |stiffness: f64| {
        let k = h * h * stiffness;
        let s = k / (k + 4.0);
        [0.25 * (1.0 + s), 0.25 * (1.0 + 3.0 * s)]
    };
    let ([a1, b1], [a2, b2]) = (weights(8.0), weights(20.0));
    for _ in 0..100 {
        let known = 8.0 * (q + h * a1 * v) + 40.0 * (2.0 * (q + h * a2 * v) + 0.5);
        let next = (5.0 * v - h * known) / (5.0 + h * h * (8.0 * b1 + 80.0 * b2));
        q += h * 0.5 * (v + next);
        v = next;
    }
    assert_near("j1", recording.last("j1.position").unwrap(), q, 1e-12);
    assert_near("j2", recording.last("j2.position").unwrap(), 2.0 * q + 0.5, 1e-12);
    assert_near("j1", recording.last("j1.velocity").unwrap(), v, 1e-12);
}

#[test]
fn real_time_one_way_bristles_lock_at_reversal() {
    // deflected forward by 0.01 N·m of the 0.02 that its signal permits; pushed back with 1 N·m it locks with its
    // largest load, 1e4 · 200 N·m/rad, from the first step on
    let clutch = "OneWayClutch(name: \"f\", joints: (\"j1\", \"j2\"), friction: Dahl(coulomb: 1.0, sigma0: 1e4), \
                  load: Signal(max: 2.0, signal: Constant(0.01)))";
    let joints = [
        (1.0, "drive: Effort(Steps([(0.0, 0.01), (0.5, -1.0)])), damping: 5.0"),
        (1.0, "drive: Motion(Constant(0.0))"),
    ];
    let recording = real_time(&shafts(&joints, clutch), 0.05).run_until(1.0).unwrap();
    let least = recording.channel("j1.position").unwrap().fold(f64::INFINITY, f64::min);
    assert!(least > -1e-5, "{least}");
}
