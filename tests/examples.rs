//! The examples run, and their assertions hold.

#[path = "../crates/bristle/examples/arm_hold.rs"]
mod arm_hold;
#[path = "../crates/bristle/examples/batch_sweep.rs"]
mod batch_sweep;
#[path = "../crates/bristle/examples/custom_components.rs"]
mod custom_components;
#[path = "../crates/bristle/examples/friction_compensation.rs"]
mod friction_compensation;
#[path = "../crates/bristle/examples/linearize_lqr.rs"]
mod linearize_lqr;
#[path = "../crates/bristle/examples/pendulum.rs"]
mod pendulum;
#[path = "../crates/bristle/examples/robot.rs"]
#[allow(dead_code, reason = "its table goes elsewhere here")]
mod robot;

#[test]
fn pendulum_comes_to_rest() {
    pendulum::main().unwrap();
}

#[test]
fn friction_holds_arm() {
    arm_hold::main().unwrap();
}

#[test]
fn friction_compensation_reduces_error() {
    friction_compensation::main().unwrap();
}

#[test]
fn friction_follows_user_component() {
    custom_components::main().unwrap();
}

#[test]
fn batch_comes_to_rest() {
    batch_sweep::main().unwrap();
}

#[test]
fn linear_controller_balances_pole() {
    linearize_lqr::main().unwrap();
}

#[test]
fn robot_torques_with_and_without_friction() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::env::temp_dir().join(format!("bristle-torques-{}.csv", std::process::id()));
    let file = |name: &str| here.join("examples").join(name).to_str().unwrap().to_owned();
    robot::compare(&file("robot.urdf"), &file("friction.ron"), &table).unwrap();
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::remove_file(&table).unwrap();
    assert_eq!(text.lines().count(), 4001);
    for line in text.lines().skip(1001).step_by(97) {
        let row: Vec<f64> = line.split(',').map(|x| x.parse().unwrap()).collect();
        // the motion is the same, so that the difference is friction: 0.8 N·m and the viscous part, with the sign of
        // the velocity
        let (v, friction) = (1.5 * (3.0 * row[0]).cos(), row[1] - row[2]);
        if v.abs() > 0.3 {
            assert!((friction - (0.8 * v.signum() + 0.2 * v)).abs() < 0.05, "{line}: {friction} {v}");
            assert!((row[3] - row[4]) * v > 0.0, "{line}: the pin brakes too");
        }
    }

    // the guide prints the same files, and the README the same loop
    let guide = include_str!("../crates/bristle/docs/robot.md");
    for part in
        [include_str!("../crates/bristle/examples/robot.urdf"), include_str!("../crates/bristle/examples/friction.ron")]
    {
        assert!(guide.contains(part));
    }
    let example = include_str!("../crates/bristle/examples/robot.rs");
    let body = |from: &str, to: &str| example.split_once(from).unwrap().1.split_once(to).unwrap().0;
    assert!(
        guide.contains(body("use std::io::Write;\n", "/// Writes the torques")),
        "the guide shows the same controller"
    );
    let readme = include_str!("../README.md");
    assert!(readme.contains("// with friction; at rest against what is wanted") && readme.contains("docs/robot.md"));
}
