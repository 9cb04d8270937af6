//! Sensitivities through impacts, resting contact and release: closed forms, and central differences of whole runs.

use bristle::Simulation;
use bristle::scene::Scene;

/// The positions and velocities of all joints at times, in a run with another value at a path.
fn run(text: &str, path: &str, value: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let scene = Scene::parse_with(text, "test.ron", &[(path, &format!("{value:?}"))]).unwrap();
    let recording = Simulation::new(&scene).unwrap().run_until(scene.duration).unwrap();
    let moves = |name: &&String| name.ends_with(".position") || name.ends_with(".velocity");
    let names: Vec<String> = recording.names().iter().filter(moves).cloned().collect();
    let columns = names.iter().map(|name| recording.channel(name).unwrap().collect()).collect();
    (columns, recording.events().iter().map(|event| event.t).collect())
}

/// Compares derivatives with differences (Richardson) at all rows without an event between the runs.
fn check(text: &str, paths: &[&str], tolerance: f64) {
    let scene = Scene::parse(text, "test.ron").unwrap();
    let all = Simulation::sensitivities(&scene, paths).unwrap();
    for path in paths {
        let at = scene.number(path).unwrap();
        let half = 2e-5 * if at == 0.0 { 1.0 } else { at.abs() };
        let sides = [half, -half, 0.5 * half, -0.5 * half].map(|by| run(text, path, at + by));
        // all runs have the same events at neighbouring times, bounces that are summed excepted
        let n_events = sides.iter().map(|side| side.1.len()).min().unwrap();
        let spans: Vec<(f64, f64)> = (0..n_events)
            .map(|k| sides.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), side| (a.min(side.1[k]), b.max(side.1[k]))))
            .collect();
        assert!(n_events > 0 && spans.iter().all(|span| span.1 - span.0 < 0.01), "{path}: {spans:?}");
        let is_kept = |t: f64| spans.iter().all(|span| t < span.0 - 1e-6 || t > span.1 + 1e-6);
        let kept: Vec<usize> = (0..all.t.len()).filter(|&i| is_kept(all.t[i])).collect();
        assert!(kept.len() * 20 > all.t.len() * 18, "{path}: {} of {}", kept.len(), all.t.len());
        let names = all.channels.iter().filter(|name| name.ends_with(".position") || name.ends_with(".velocity"));
        for (k, name) in names.enumerate() {
            let exact = all.derivative(name, path).unwrap();
            let difference = |i: usize| {
                let [a, b, c, d] = [0, 1, 2, 3].map(|side| sides[side].0[k][i]);
                (4.0 * (c - d) / half - (a - b) / (2.0 * half)) / 3.0
            };
            let largest = kept.iter().fold(0.0_f64, |most, &i| most.max(difference(i).abs()));
            for &i in &kept {
                let error = (exact[i] - difference(i)).abs();
                // differences of runs at a tolerance of 1e-12 have errors of 1e-12/half
                let noise = 1e-11 / half;
                let label = format!("d({name})/d({path}) at t = {}: {} not {}", all.t[i], exact[i], difference(i));
                assert!(error <= tolerance * largest + noise, "{label} (largest {largest:e}, noise {noise:e})");
            }
        }
    }
}

/// x = h − ½ g t² down to b, then bounces with e: everything follows in closed form.
#[test]
fn a_bouncing_block_in_closed_form() {
    let text = r#"Scene(
        gravity: (0.0, 0.0, -9.81),
        links: [Link(name: "block", mass: 2.0)],
        joints: [Joint(name: "z", parent: "world", child: "block", kind: Prismatic(axis: (0.0, 0.0, 1.0)),
            position: 1.3, limits: Limits(lower: 0.3, restitution: 0.8))],
        solver: Solver(control: Error(rtol: 1e-11, atol: 1e-12)), duration: 1.6, output: Output(interval: 0.1),
    )"#;
    let scene = Scene::parse(text, "test.ron").unwrap();
    let paths = ["joints.z.position", "joints.z.limits.lower", "joints.z.limits.restitution", "gravity.2"];
    let all = Simulation::sensitivities(&scene, &paths).unwrap();
    // after the second impact: t₁ = √(2 (h − b)/g), t₂ = t₁ (1 + 2e), z = b + e² g t₁ (t − t₂) − ½ g (t − t₂)²
    let z = |[h, b, e, a]: [f64; 4], t: f64| {
        let (g, down) = (-a, (2.0 * (h - b) / -a).sqrt());
        let since = t - down * (1.0 + 2.0 * e);
        b + e * e * g * down * since - 0.5 * g * since * since
    };
    let at = [1.3, 0.3, 0.8, -9.81];
    for (row, &t) in all.t.iter().enumerate().filter(|(_, t)| (1.25..1.6).contains(*t)) {
        for (p, path) in paths.iter().enumerate() {
            let side = |by: f64| z(std::array::from_fn(|k| at[k] + if k == p { by } else { 0.0 }), t);
            let expected = (8.0 * (side(1e-4) - side(-1e-4)) - (side(2e-4) - side(-2e-4))) / 12e-4;
            let found = all.derivative("z.position", path).unwrap()[row];
            assert!((found - expected).abs() < 1e-7, "{path} at {t}: {found} {expected}");
        }
    }
}

/// A double pendulum: impacts move both joints; friction, which an impact sets free.
#[test]
fn impacts_of_a_double_pendulum() {
    let text = r#"Scene(
        gravity: (0.0, -9.81, 0.0),
        links: [
            Link(name: "upper", mass: 1.2, center_of_mass: (0.0, -0.25, 0.0), inertia: Diagonal(0.03, 0.001, 0.03)),
            Link(name: "lower", mass: 0.8, center_of_mass: (0.0, -0.2, 0.0), inertia: Diagonal(0.015, 0.001, 0.015)),
        ],
        joints: [
            Joint(name: "shoulder", parent: "world", child: "upper", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                position: 0.9, friction: Coulomb(coulomb: 0.15), limits: Limits(lower: -0.4, restitution: 0.3)),
            Joint(name: "elbow", parent: "upper", child: "lower", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                placement: Placement(translation: (0.0, -0.5, 0.0)), position: 0.2, velocity: 0.5,
                limits: Limits(lower: -0.1, upper: 0.5, restitution: 0.6)),
        ],
        solver: Solver(control: Error(rtol: 1e-12, atol: 1e-13)), duration: 0.8, output: Output(interval: 0.01),
    )"#;
    let paths = [
        "joints.shoulder.position",
        "joints.shoulder.friction.coulomb",
        "joints.shoulder.limits.lower",
        "joints.elbow.limits.restitution",
        "joints.elbow.limits.upper",
        "links.lower.mass",
        "gravity.1",
    ];
    check(text, &paths, 1e-5);
}

/// A plastic impact, resting contact, and release when the force has turned, with friction.
#[test]
fn rest_and_release() {
    let text = r#"Scene(
        gravity: (0.0, 0.0, 0.0),
        links: [Link(name: "block", mass: 2.0)],
        joints: [Joint(name: "x", parent: "world", child: "block", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
            position: 0.1, friction: Coulomb(coulomb: 1.0, stiction: 1.5), limits: Limits(lower: -0.2, upper: 0.3),
            drive: Effort(Sine(amplitude: 10.0, frequency: 3.0)))],
        solver: Solver(control: Error(rtol: 1e-12, atol: 1e-13)), duration: 3.5, output: Output(interval: 0.01),
    )"#;
    let paths = [
        "joints.x.limits.lower",
        "joints.x.limits.upper",
        "joints.x.friction.coulomb",
        "joints.x.friction.stiction",
        "joints.x.drive.0.amplitude",
        "joints.x.drive.0.frequency",
        "links.block.mass",
    ];
    check(text, &paths, 1e-5);
}

/// Bounces that end at rest on the stop, their sum included: the rest is at the bound, whatever the bounces were.
#[test]
fn bounces_to_rest() {
    let text = r#"Scene(
        gravity: (0.0, -9.81, 0.0),
        links: [Link(name: "rod", mass: 1.0, center_of_mass: (0.0, -0.5, 0.0), inertia: Diagonal(0.08, 0.001, 0.08))],
        joints: [Joint(name: "hinge", parent: "world", child: "rod", kind: Revolute(axis: (0.0, 0.0, 1.0)),
            position: 1.4, friction: Coulomb(coulomb: 0.05), limits: Limits(lower: 0.2, restitution: 0.3))],
        solver: Solver(control: Error(rtol: 1e-12, atol: 1e-13)), duration: 2.0, output: Output(interval: 0.02),
    )"#;
    let scene = Scene::parse(text, "test.ron").unwrap();
    let paths = ["joints.hinge.limits.lower", "joints.hinge.position", "links.rod.mass"];
    let all = Simulation::sensitivities(&scene, &paths).unwrap();
    for (path, expected) in paths.iter().zip([1.0, 0.0, 0.0]) {
        let last = |what: &str| *all.derivative(what, path).unwrap().last().unwrap();
        // the slope of the event function is a difference
        assert!((last("hinge.position") - expected).abs() < 1e-7, "{path}: {}", last("hinge.position"));
        assert_eq!(last("hinge.velocity"), 0.0);
    }
}

/// A stop on a joint of a coupling, which the impulse passes.
#[test]
fn impacts_through_a_gear() {
    let text = r#"Scene(
        gravity: (0.0, 0.0, 0.0),
        links: [Link(name: "rotor", mass: 1.0, inertia: Diagonal(0.1, 0.1, 0.1)),
                Link(name: "arm", mass: 1.0, inertia: Diagonal(2.0, 2.0, 2.0))],
        joints: [
            Joint(name: "motor", parent: "world", child: "rotor", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                drive: Effort(Constant(1.0))),
            Joint(name: "elbow", parent: "world", child: "arm", kind: Revolute(axis: (0.0, 0.0, 1.0)),
                limits: Limits(upper: 1.0, restitution: 0.5)),
        ],
        couplings: [Gear(name: "stage", joints: ("motor", "elbow"), ratio: 5.0)],
        solver: Solver(control: Error(rtol: 1e-12, atol: 1e-13)), duration: 2.5, output: Output(interval: 0.01),
    )"#;
    check(text, &["joints.motor.drive.0.0", "joints.elbow.limits.upper", "couplings.stage.ratio"], 1e-5);
}

#[test]
fn nondifferentiable_runs_are_refused() {
    let two = r#"Scene(
        gravity: (0.0, 0.0, -9.81),
        links: [Link(name: "a", mass: 2.0), Link(name: "b", mass: 1.0)],
        joints: [
            Joint(name: "za", parent: "world", child: "a", kind: Prismatic(axis: (0.0, 0.0, 1.0)),
                position: 1.0, limits: Limits(lower: A, restitution: 0.8)),
            Joint(name: "zb", parent: "world", child: "b", kind: Prismatic(axis: (0.0, 0.0, 1.0)),
                position: 1.0, limits: Limits(lower: 0.0, restitution: 0.8)),
        ], duration: 1.0)"#;
    let refusal = |a: &str, path: &str| {
        let scene = Scene::parse(&two.replace("lower: A", a), "two.ron").unwrap();
        Simulation::sensitivities(&scene, &[path]).unwrap_err().to_string()
    };
    let several = refusal("lower: 0.0", "links.a.mass");
    assert!(several.contains("several impacts at one instant (t = 0.4515"), "{several}");
    let resting = refusal("lower: 1.0", "joints.za.limits.lower");
    assert!(resting.contains("a start at rest on a stop whose distance depends on a parameter"), "{resting}");
}
