//! Loops stay closed however long a run is, and forty of them run in real time.

use bristle::prelude::*;

/// A crank-rocker, turned at a steady mean speed by a motor, with friction in every pin.
fn four_bar(drive: &str, solver: &str) -> Scene {
    let z = "Revolute(axis: (0.0, 0.0, 1.0))";
    let text = format!(
        "Scene(gravity: (0.0, -9.81, 0.0), links: [
            Link(name: \"crank\", mass: 0.8, center_of_mass: (0.125, 0.0, 0.0), inertia: Diagonal(0.003, 0.003, 0.004)),
            Link(name: \"coupler\", mass: 1.1, center_of_mass: (0.26, 0.06, 0.0), inertia: Diagonal(0.03, 0.03, 0.035)),
            Link(name: \"rocker\", mass: 0.9, center_of_mass: (0.2, 0.0, 0.0), inertia: Diagonal(0.009, 0.009, 0.012))],
         joints: [
            Joint(name: \"a\", parent: \"world\", child: \"crank\", kind: {z}, position: 1.0, {drive}),
            Joint(name: \"b\", parent: \"crank\", child: \"coupler\", kind: {z}, position: -0.5515711310945666,
                placement: Placement(translation: (0.25, 0.0, 0.0)), friction: Coulomb(coulomb: 0.02)),
            Joint(name: \"d\", parent: \"world\", child: \"rocker\", kind: {z}, position: 1.4939789636611693,
                placement: Placement(translation: (0.6, 0.05, 0.0)), friction: Coulomb(coulomb: 0.02))],
         couplings: [LoopJoint(name: \"c\", kind: {z}, links: (\"coupler\", \"rocker\"),
            placements: (Placement(translation: (0.55, 0.0, 0.0)), Placement(translation: (0.4, 0.0, 0.0))),
            friction: Coulomb(coulomb: 0.02), load: Pin(radius: 0.02))],
         solver: {solver}, output: Output(interval: 10.0))"
    );
    Scene::parse(&text, "four-bar").unwrap_or_else(|error| panic!("{error}"))
}

/// Gaps of positions, as distances and angles, and of velocities, at every row.
fn assert_closed(recording: &Recording, speed: f64) {
    let channel = |name: &str| recording.channel(name).unwrap().collect::<Vec<f64>>();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| channel(&format!("{name}.position")));
    let [va, vb, vc, vd] = ["a", "b", "c", "d"].map(|name| channel(&format!("{name}.velocity")));
    for k in 0..a.len() {
        let at = |length: f64, angle: f64| [length * angle.cos(), length * angle.sin()];
        let [crank, coupler, rocker] = [at(0.25, a[k]), at(0.55, a[k] + b[k]), at(0.4, d[k])];
        // angles of cranks that have turned n times are known to n roundings of a turn
        let turned = 4.0 * f64::EPSILON * (a[k].abs() + b[k].abs() + c[k].abs() + d[k].abs());
        let tolerance = 1e-12_f64.max(turned);
        let x = crank[0] + coupler[0] - rocker[0] - 0.6;
        let y = crank[1] + coupler[1] - rocker[1] - 0.05;
        assert!(x.abs() < tolerance && y.abs() < tolerance, "row {k}: {x:e} {y:e}");
        assert!((a[k] + b[k] + c[k] - d[k]).abs() < tolerance, "row {k}");
        let x = -crank[1] * va[k] - coupler[1] * (va[k] + vb[k]) + rocker[1] * vd[k];
        let y = crank[0] * va[k] + coupler[0] * (va[k] + vb[k]) - rocker[0] * vd[k];
        assert!(x.abs() < tolerance * speed && y.abs() < tolerance * speed, "row {k}: rates {x:e} {y:e}");
        assert!((va[k] + vb[k] + vc[k] - vd[k]).abs() < tolerance * speed, "row {k}");
    }
}

/// 1e5 s in fixed steps: a rocking motion under a slow torque that sticks and lets go again and again.
#[test]
fn loops_stay_closed_for_a_hundred_thousand_seconds() {
    let solver = "Solver(method: RealTime, control: Constant(step: 0.5))";
    let drive = "damping: 20.0, drive: Effort(Sine(amplitude: 8.0, frequency: 0.01))";
    let scene = four_bar(drive, solver);
    let mut sim = Simulation::new(&scene).unwrap();
    let recording = sim.run_until(1e5).unwrap();
    assert_eq!(recording.last("t").unwrap(), 1e5);
    assert_closed(&recording, 1.0);
    let a: Vec<f64> = recording.channel("a.position").unwrap().collect();
    let (low, high) = a.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    assert!(high - low > 0.5, "it moves: {low} {high}");
}

/// The same under error control: a crank that a motion turns 160 times in 1e5 s.
#[test]
fn loops_stay_closed_under_error_control() {
    let scene = four_bar(
        "drive: Motion(Sum([Constant(1.0), Ramp(rate: 0.01)]))",
        "Solver(control: Error(rtol: 1e-6, atol: 1e-8))",
    );
    let mut sim = Simulation::new(&scene).unwrap();
    let recording = sim.run_until(1e5).unwrap();
    assert_closed(&recording, 1.0);
    assert!((recording.last("a.position").unwrap() - 1001.0).abs() < 1e-9);
}
