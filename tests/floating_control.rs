//! Control of a robot on a floating base: the joints follow, and the base reacts.

use bristle::prelude::*;
use bristle::urdf::{self, Options};

const ROBOT: &str = r#"<robot name="swimmer">
<link name="body"><inertial><origin xyz="0.02 0 0.05"/><mass value="5"/>
<inertia ixx="0.2" ixy="0.01" ixz="0" iyy="0.25" iyz="0" izz="0.3"/></inertial></link>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.002" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.15 0.01 0"/><mass value="1"/>
<inertia ixx="0.001" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="body"/><child link="upper"/><origin xyz="0.1 0.1 0"/>
<axis xyz="0 1 0"/><dynamics damping="0.3" friction="0.4"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/>
<axis xyz="0 0 1"/></joint></robot>"#;

fn swimmer(overrides: &[(&str, &str)]) -> Simulation {
    let overrides = overrides.iter().map(|&(path, value)| (path.to_owned(), value.to_owned())).collect();
    let import = urdf::read_with(ROBOT, "swimmer.urdf", &Options { floating: true, overrides, ..Options::default() });
    Simulation::new(&import.unwrap().scene).unwrap()
}

/// With the efforts of `efforts_for`, forward dynamics gives the required accelerations of the joints, and no effort
/// acts on the base.
#[test]
fn floating_base_reaches_given_accelerations() {
    let mut sim = swimmer(&[("solver.control", "Error(rtol: 1e-10, atol: 1e-10)")]);
    let joints = sim.coordinates();
    let names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!(names, ["shoulder", "elbow"]);
    assert_eq!((sim.positions().len(), sim.velocities().len()), (9, 8));
    let (mut wanted, mut torque) = (vec![f64::NAN; 8], vec![0.0; 8]);
    for k in 0..50 {
        wanted.fill(0.0);
        for (joint, target) in joints.iter().zip([1.0, -0.7]) {
            wanted[joint.v] = 40.0 * (target - sim.positions()[joint.q]) - 9.0 * sim.velocities()[joint.v];
        }
        sim.efforts_for(&wanted, &mut torque).unwrap();
        sim.set_efforts(&torque).unwrap();
        assert!(torque[..6].iter().all(|&x| x == 0.0), "{torque:?}");
        // a step of length 0 applies the efforts
        sim.refresh().unwrap();
        if k > 0 {
            for joint in &joints {
                let (a, w) = (sim.accelerations()[joint.v], wanted[joint.v]);
                assert!((a - w).abs() < 1e-9 * (1.0 + w.abs()), "{k} {}: {a} {w}", joint.name);
            }
        }
        sim.step(0.01).unwrap();
    }
}

/// The momentum of a floating robot in free fall does not depend on its motors.
#[test]
fn motors_do_not_move_centre_of_mass() {
    for method in ["Dopri5", "RealTime"] {
        let control = if method == "Dopri5" { "Error(rtol: 1e-9, atol: 1e-9)" } else { "Constant(step: 1e-3)" };
        let mut sim = swimmer(&[("solver.method", method), ("solver.control", control), ("gravity", "(0, 0, 0)")]);
        let joints = sim.coordinates();
        let (mut wanted, mut torque) = (vec![0.0; 8], vec![0.0; 8]);
        for _ in 0..300 {
            for (joint, target) in joints.iter().zip([1.0, -0.7]) {
                wanted[joint.v] = 100.0 * (target - sim.positions()[joint.q]) - 20.0 * sim.velocities()[joint.v];
            }
            sim.efforts_for(&wanted, &mut torque).unwrap();
            sim.set_efforts(&torque).unwrap();
            sim.step(1e-3).unwrap();
        }
        let reached = joints.iter().zip([1.0, -0.7]).map(|(joint, target)| (sim.positions()[joint.q] - target).abs());
        assert!(reached.fold(0.0, f64::max) < 0.3, "{method}: {:?}", sim.positions());
        // by Newton: Σ m ċ = 0 in the axes of the body
        let (q, v) = (sim.positions().to_vec(), sim.velocities().to_vec());
        let model = &sim.compiled().model.tree;
        let mut work = bristle::multibody::Work::new(model);
        let momentum = bristle::multibody::momentum(model, &mut work, &q, &v).unwrap();
        assert!(momentum.linear.norm() < 1e-6, "{method}: {:?}", momentum.linear);
    }
}
