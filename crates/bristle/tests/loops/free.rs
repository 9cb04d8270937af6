//! Free links that loops hold: their coordinates depend on others.

use bristle::prelude::*;

const ROD: &str =
    "Link(name: \"rod\", mass: 1.3, center_of_mass: (0.3, 0.02, 0.0), inertia: Diagonal(0.01, 0.05, 0.05))";

fn scene(joints: &str, couplings: &str) -> Scene {
    let text = format!(
        "Scene(gravity: (0.0, -9.81, 0.0), links: [{ROD}], joints: [{joints}], couplings: [{couplings}], \
         solver: Solver(control: Error(rtol: 1e-10, atol: 1e-12)), duration: 3.0, output: Output(interval: 0.02))"
    );
    Scene::parse(&text, "rod").unwrap_or_else(|error| panic!("{error}"))
}

fn run(scene: &Scene) -> Recording {
    let mut sim = Simulation::new(scene).unwrap_or_else(|error| panic!("{error}"));
    sim.run_until(scene.duration).unwrap_or_else(|error| panic!("{error}"))
}

/// A free rod on a loop joint is a pendulum, with the friction of its hinge; it sticks and stays.
#[test]
fn a_free_link_on_a_loop_joint_is_a_pendulum() {
    let hinge = "kind: Revolute(axis: (0.0, 0.0, 1.0))";
    for friction in
        ["friction: Coulomb(coulomb: 0.6, stiction: 0.8)", "friction: Coulomb(coulomb: 0.4), load: Pin(radius: 0.1)"]
    {
        let tree = scene(&format!("Joint(name: \"h\", parent: \"world\", child: \"rod\", {hinge}, {friction})"), "");
        let free = scene(
            "Joint(name: \"f\", parent: \"world\", child: \"rod\", kind: Free)",
            &format!("LoopJoint(name: \"h\", {hinge}, links: (\"world\", \"rod\"), {friction})"),
        );
        let (tree, free) = (run(&tree), run(&free));
        for (what, tolerance) in [("position", 1e-7), ("velocity", 1e-6), ("load", 1e-5), ("mode", 1e-9)] {
            let name = format!("h.{what}");
            let Ok(expected) = tree.channel(&name) else { continue };
            let found = free.channel(&name).unwrap();
            let worst = expected.zip(found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < tolerance, "{friction}, {name}: {worst:e}");
        }
        assert_eq!(free.last("h.velocity").unwrap(), 0.0);
        assert!(free.channel("energy.balance").unwrap().all(|balance| balance.abs() < 1e-7));
        // the pivot of the rod stays in place
        for axis in ["x", "y", "z"] {
            let name = format!("f.position.{axis}");
            assert!(free.channel(&name).unwrap().all(|x| x.abs() < 1e-12), "{name}");
        }
    }
}

/// A ball joint leaves three rotations: angular momentum about the vertical through the ball is kept.
#[test]
fn a_free_link_on_a_ball_conserves_momentum() {
    let free = scene(
        "Joint(name: \"f\", parent: \"world\", child: \"rod\", kind: Free, \
         velocity: Twist(angular: (1.0, 2.0, 0.5)))",
        "LoopJoint(name: \"b\", kind: Spherical, links: (\"world\", \"rod\"))",
    );
    let recording = run(&free);
    let channel = |name: &str| recording.channel(&format!("f.{name}")).unwrap().collect::<Vec<f64>>();
    let [w, x, y, z] = ["qw", "qx", "qy", "qz"].map(|name| channel(&format!("position.{name}")));
    let omega = ["wx", "wy", "wz"].map(|name| channel(&format!("velocity.{name}")));
    let center = nalgebra::Vector3::new(0.3, 0.02, 0.0);
    let inertia = nalgebra::Matrix3::from_diagonal(&nalgebra::Vector3::new(0.01, 0.05, 0.05));
    // about the ball: I + m (c² 1 − c cᵀ)
    let inertia = inertia + 1.3 * (nalgebra::Matrix3::identity() * center.norm_squared() - center * center.transpose());
    let vertical = |k: usize| {
        let turn = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w[k], x[k], y[k], z[k]));
        let spin: nalgebra::Vector3<f64> =
            turn * (inertia * nalgebra::Vector3::new(omega[0][k], omega[1][k], omega[2][k]));
        spin.y
    };
    let first = vertical(0);
    assert!(first.abs() > 0.1);
    for k in 0..w.len() {
        assert!((vertical(k) - first).abs() < 1e-8, "row {k}: {} {first}", vertical(k));
    }
    assert!(recording.channel("energy.balance").unwrap().all(|balance| balance.abs() < 1e-7));
}
