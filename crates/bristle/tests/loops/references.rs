//! Closed loops against the references of the multibody benchmark library: the N-four-bar mechanism, Andrews' squeezing
//! mechanism, the Bricard mechanism, and a slider-crank with friction in its guide. A hundred rows of each reference
//! lie in `tests/data/loops` of the workspace.

use bristle::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// Columns of a reference by name.
pub fn reference(name: &str) -> HashMap<String, Vec<f64>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/loops").join(format!("{name}.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<String> = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let mut columns: HashMap<String, Vec<f64>> = HashMap::new();
    for line in lines {
        for (name, value) in names.iter().zip(line.split(',')) {
            columns.entry(name.clone()).or_default().push(value.parse().unwrap());
        }
    }
    columns
}

fn run(scene: &Scene, duration: f64) -> Recording {
    let mut sim = Simulation::new(scene).unwrap_or_else(|error| panic!("{error}"));
    sim.run_until(duration).unwrap_or_else(|error| panic!("{error}"))
}

fn channel(recording: &Recording, name: &str) -> Vec<f64> {
    recording.channel(name).unwrap().collect()
}

/// Asserts that a quantity computed row by row follows a column of the reference; rows are matched by time.
fn assert_follows(
    recording: &Recording,
    columns: &HashMap<String, Vec<f64>>,
    column: &str,
    tolerance: f64,
    of_row: impl Fn(usize) -> f64,
) {
    let mut n_compared = 0;
    let times = &columns["t"];
    let mut next = 0;
    for (row, t) in channel(recording, "t").into_iter().enumerate() {
        while next < times.len() && times[next] < t - 1e-9 {
            next += 1;
        }
        if next < times.len() && (times[next] - t).abs() < 1e-9 {
            let (found, expected) = (of_row(row), columns[column][next]);
            assert!((found - expected).abs() < tolerance, "{column} at {t}: {found} {expected}");
            n_compared += 1;
        }
    }
    assert!(n_compared > 90, "{column}: {n_compared} rows");
}

const Z: &str = "Revolute(axis: (0.0, 0.0, 1.0))";

/// N + 1 cranks on the ground, N couplers between their tips, rods of 1 m and 1 kg; `others` are fields of every joint.
pub fn n_four_bar(n: usize, others: &str, solver: &str, duration: f64) -> Scene {
    let half = std::f64::consts::FRAC_PI_2;
    let rod = |name: String| {
        let inertia = 1.0 / 12.0;
        format!(
            "Link(name: \"{name}\", mass: 1.0, center_of_mass: (0.5, 0.0, 0.0), \
             inertia: Diagonal(0.0, {inertia:?}, {inertia:?})), "
        )
    };
    let links: String =
        (0..=n).map(|k| rod(format!("crank {k}"))).chain((0..n).map(|k| rod(format!("bar {k}")))).collect();
    let cranks = (0..=n).map(|k| {
        format!(
            "Joint(name: \"a{k}\", parent: \"world\", child: \"crank {k}\", kind: {Z}, position: {half:?}, \
             velocity: -1.0, placement: Placement(translation: ({k}.0, 0.0, 0.0)), {others}), "
        )
    });
    let bars = (0..n).map(|k| {
        format!(
            "Joint(name: \"b{k}\", parent: \"crank {k}\", child: \"bar {k}\", kind: {Z}, position: {:?}, \
             velocity: 1.0, placement: Placement(translation: (1.0, 0.0, 0.0)), {others}), ",
            -half
        )
    });
    let joints: String = cranks.chain(bars).collect();
    let tip = "Placement(translation: (1.0, 0.0, 0.0))";
    let loops: String = (0..n)
        .map(|k| {
            format!(
                "LoopJoint(name: \"c{k}\", kind: {Z}, links: (\"bar {k}\", \"crank {}\"), \
                 placements: ({tip}, {tip}), {others}), ",
                k + 1
            )
        })
        .collect();
    let text = format!(
        "Scene(gravity: (0.0, -9.81, 0.0), links: [{links}], joints: [{joints}], couplings: [{loops}], \
         solver: {solver}, duration: {duration:?}, output: Output(interval: 0.01))"
    );
    Scene::parse(&text, "n-four-bar").unwrap_or_else(|error| panic!("{error}"))
}

const TIGHT: &str = "Solver(method: Dopri5, control: Error(rtol: 1e-11, atol: 1e-13))";

/// The parallelogram passes its singular position, where the mobility is N + 1, and stays a parallelogram.
#[test]
fn n_four_bar_passes_singular_positions() {
    for n in [2, 5] {
        let columns = reference(&format!("n_four_bar_{n}"));
        let recording = run(&n_four_bar(n, "", TIGHT, 10.0), 10.0);
        let (q, v) = (channel(&recording, "a0.position"), channel(&recording, "a0.velocity"));
        assert_follows(&recording, &columns, "B0x", 1e-7, |row| q[row].cos());
        assert_follows(&recording, &columns, "B0y", 1e-7, |row| q[row].sin());
        assert_follows(&recording, &columns, "B0vx", 1e-6, |row| -v[row] * q[row].sin());
        let last = channel(&recording, &format!("a{n}.position"));
        assert!(q.iter().zip(&last).all(|(a, b)| (a - b).abs() < 1e-12), "all cranks are parallel");
    }
}

#[test]
fn andrews_mechanism_matches_the_test_set() {
    let columns = reference("andrews");
    let scene = Scene::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/andrews.ron")).unwrap();
    let recording = run(&scene, 0.03);
    for name in ["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"] {
        let (q, v) =
            (channel(&recording, &format!("{name}.position")), channel(&recording, &format!("{name}.velocity")));
        assert_follows(&recording, &columns, name, 1e-8, |row| q[row]);
        // velocities are up to 1,400 rad/s
        assert_follows(&recording, &columns, &format!("d{name}"), 1e-4, |row| v[row]);
    }
}

/// The scene without its friction.
pub fn bricard() -> Scene {
    let mut scene = Scene::load(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes/bricard.ron")).unwrap();
    scene.joints.iter_mut().for_each(|joint| joint.friction = None);
    for coupling in &mut scene.couplings {
        if let bristle::scene::Coupling::LoopJoint { friction, .. } = coupling {
            *friction = None;
        }
    }
    scene.output.interval = 0.01;
    scene
}

/// Component `k` of the tip P3 in every row.
pub fn tip_of_bricard(recording: &Recording, k: usize) -> Vec<f64> {
    let [p0, p1, p2] = ["p0", "p1", "p2"].map(|name| channel(recording, &format!("{name}.position")));
    let tip = |row: usize| {
        let turn = |axis: nalgebra::Vector3<f64>, angle: f64| nalgebra::Rotation3::new(axis * angle);
        let first = turn(nalgebra::Vector3::y(), p0[row]);
        let second = first * turn(nalgebra::Vector3::z(), p1[row]);
        let third = second * turn(nalgebra::Vector3::x(), p2[row]);
        first * nalgebra::Vector3::x() - second * nalgebra::Vector3::y() + third * nalgebra::Vector3::z()
    };
    (0..p0.len()).map(|row| tip(row)[k]).collect()
}

#[test]
fn bricard_mechanism_swings_over_constrained() {
    let columns = reference("bricard_frictionless");
    let recording = run(&bricard(), 10.0);
    for (k, name) in ["P3x", "P3y", "P3z"].into_iter().enumerate() {
        let tip = tip_of_bricard(&recording, k);
        assert_follows(&recording, &columns, name, 1e-8, |row| tip[row]);
    }
}

/// The load of the guide passes zero some 150 times, and the friction changes its sign there and at dead centres.
#[test]
fn guide_of_a_slider_crank_rubs_under_its_reaction() {
    let columns = reference("slider_crank_guide");
    let theta = 0.3_f64;
    let rod = -(0.1 * theta.sin() / 0.3).asin();
    let (b, x) = (rod - theta, 0.1 * theta.cos() + 0.3 * rod.cos());
    let text = format!(
        "Scene(gravity: (0.0, 0.0, 0.0), links: [\
         Link(name: \"crank\", mass: 0.6, center_of_mass: (0.05, 0.0, 0.0), inertia: Diagonal(0.0, 0.0005, 0.0005)), \
         Link(name: \"rod\", mass: 0.5, center_of_mass: (0.15, 0.0, 0.0), inertia: Diagonal(0.0, 0.00375, 0.00375)), \
         Link(name: \"piston\", mass: 0.9, inertia: Diagonal(0.001, 0.001, 0.001))], joints: [\
         Joint(name: \"a\", parent: \"world\", child: \"crank\", kind: {Z}, position: {theta:?}, velocity: 20.0, \
            drive: Effort(Constant(1.0))), \
         Joint(name: \"b\", parent: \"crank\", child: \"rod\", kind: {Z}, position: {b:?}, \
            placement: Placement(translation: (0.1, 0.0, 0.0))), \
         Joint(name: \"s\", parent: \"world\", child: \"piston\", kind: Prismatic(axis: (1.0, 0.0, 0.0)), \
            position: {x:?}, friction: Coulomb(coulomb: 0.15), load: Guide)], \
         couplings: [LoopJoint(name: \"c\", kind: {Z}, links: (\"rod\", \"piston\"), \
            placements: (Placement(translation: (0.3, 0.0, 0.0)), Placement()))], \
         solver: Solver(method: Dopri5, control: Error(rtol: 1e-12, atol: 1e-14)), duration: 2.0, \
         output: Output(interval: 0.005))"
    );
    let scene = Scene::parse(&text, "slider-crank").unwrap_or_else(|error| panic!("{error}"));
    let recording = run(&scene, 2.0);
    // 166 rad in all; the energy audit of the reference closes to 2.5e-8 J
    let (q, heat) = (channel(&recording, "a.position"), channel(&recording, "energy.dissipated"));
    assert_follows(&recording, &columns, "theta", 1e-7, |row| q[row]);
    assert_follows(&recording, &columns, "dissipated", 1e-6, |row| heat[row]);
}
