//! The library inside another program: names, links, wrenches, batches, errors.

use bristle::multibody::Placement;
use bristle::prelude::*;
use bristle::scene::{Control, Method, Solver};
use bristle::{Error, urdf};
use nalgebra::Vector3;

/// A floating body with an arm of two joints and a fixed tool.
const ROBOT: &str = r#"Scene(
    links: [
        Link(name: "body", mass: 3.0, inertia: Diagonal(0.1, 0.2, 0.15)),
        Link(name: "upper", mass: 1.0, center_of_mass: (0.2, 0.0, 0.1), inertia: Diagonal(0.01, 0.02, 0.02)),
        Link(name: "fore", mass: 0.5, center_of_mass: (0.1, 0.05, 0.0), inertia: Diagonal(0.002, 0.004, 0.004)),
        Link(name: "tool", mass: 0.2, inertia: Diagonal(0.001, 0.001, 0.001)),
    ],
    joints: [
        Joint(name: "base", parent: "world", child: "body", kind: Free,
            position: Placement(translation: (0.1, 0.2, 0.3), rotation: Rpy(0.3, -0.4, 0.5)),
            velocity: Twist(angular: (0.5, -0.3, 0.2), linear: (0.1, 0.0, -0.2))),
        Joint(name: "shoulder", parent: "body", child: "upper", kind: Revolute(axis: (0.0, 1.0, 0.0)),
            placement: Placement(translation: (0.1, 0.0, 0.2)), position: 0.4, velocity: 1.0),
        Joint(name: "slide", parent: "upper", child: "fore", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
            placement: Placement(translation: (0.4, 0.0, 0.0)), position: 0.05, velocity: -0.3),
        Joint(name: "mount", parent: "fore", child: "tool", kind: Fixed,
            placement: Placement(translation: (0.2, 0.1, 0.0), rotation: Rpy(0.0, 0.7, 0.0))),
    ],
)"#;

fn robot(text: &str) -> Simulation {
    Simulation::new(&Scene::parse(text, "robot.ron").unwrap()).unwrap()
}

#[test]
fn every_array_has_names_of_its_own_length() {
    let sim = robot(ROBOT);
    let (positions, velocities) = (sim.position_names(), sim.velocity_names());
    assert_eq!((positions.len(), velocities.len()), (sim.positions().len(), sim.velocities().len()));
    assert_eq!((sim.reaction_names().len(), sim.link_names().len()), (sim.reactions().len(), sim.poses().len()));
    assert_eq!(positions[..4], ["base.x", "base.y", "base.z", "base.qw"]);
    assert_eq!(velocities[4..], ["base.vy", "base.vz", "shoulder", "slide"]);
    assert_eq!(sim.reaction_names(), ["base", "shoulder", "slide", "mount"]);
    // entries and names agree
    for coordinate in sim.coordinates() {
        assert_eq!(sim.positions()[coordinate.q], sim.position(coordinate.name.as_str()).unwrap());
        assert_eq!((&positions[coordinate.q], &velocities[coordinate.v]), (&coordinate.name, &coordinate.name));
    }
}

#[test]
fn link_velocities_are_jacobian_times_velocities() {
    let mut sim = robot(ROBOT);
    for k in 0..5 {
        sim.step(0.03).unwrap();
        let point = [0.1 * f64::from(k), -0.2, 0.3];
        for link in ["body", "upper", "fore", "tool"] {
            let jacobian = sim.jacobian(link, point).unwrap();
            let expected = &jacobian * nalgebra::DVector::from_column_slice(sim.velocities());
            let found = sim.link_velocity(link, point).unwrap();
            let found: Vec<f64> = found.angular.iter().chain(found.linear.iter()).copied().collect();
            for (a, b) in found.iter().zip(expected.iter()) {
                assert!((a - b).abs() < 1e-13, "{link}: {found:?} {expected}");
            }
        }
    }
}

/// Differences of poses are velocities: a route without Jacobians.
#[test]
fn link_velocities_are_rates_of_poses() {
    let mut sim = robot(ROBOT);
    let h = 1e-6;
    let before: Vec<Placement> = sim.poses().to_vec();
    let velocity = sim.link_velocity("tool", [0.0; 3]).unwrap();
    sim.step(h).unwrap();
    let (a, b) = (before[3], sim.poses()[3]);
    let linear = (b.translation.vector - a.translation.vector) / h;
    let angular = (b.rotation * a.rotation.inverse()).scaled_axis() / h;
    // accelerations of some 10 m/s² over half a step
    assert!((linear - velocity.linear).norm() < 1e-4 && (angular - velocity.angular).norm() < 1e-4);
}

#[test]
fn batches_answer_like_their_simulation() {
    let mut sim = robot(ROBOT);
    sim.step(0.02).unwrap();
    let mut batch = Batch::new(&mut sim, 3).unwrap();
    let (q, mut v) = (sim.positions().to_vec(), sim.velocities().to_vec());
    v[6] = -2.0;
    batch.set_state(1, &q, &v).unwrap();
    batch.step(0.05).unwrap();
    sim.step(0.05).unwrap();
    let n = batch.len();
    let (poses, velocities) = (batch.poses().unwrap().to_vec(), batch.link_velocities().unwrap().to_vec());
    let reactions = batch.reactions().unwrap().to_vec();
    for (k, link) in sim.link_names().to_vec().iter().enumerate() {
        for copy in [0, 2] {
            assert_eq!(poses[k * n + copy], sim.pose(link).unwrap());
            assert_eq!(velocities[k * n + copy], sim.link_velocity(link, [0.0; 3]).unwrap());
            assert_eq!(reactions[k * n + copy], sim.reactions()[k]);
            let point = [0.1, 0.2, -0.3];
            assert_eq!(batch.jacobian(copy, link, point).unwrap(), sim.jacobian(link, point).unwrap());
        }
        assert!(k == 0 || velocities[k * n + 1] != velocities[k * n], "another copy moves otherwise");
    }
    assert!(batch.jacobian(0, "nose", [0.0; 3]).unwrap_err().to_string().contains("there is no link `nose`"));
    assert!(batch.jacobian(3, "tool", [0.0; 3]).is_err());
}

#[test]
fn a_wrench_in_world_axes_pushes_along_them() {
    // a free body without gravity: a = f/m in the world, whatever its attitude
    let text = r#"Scene(gravity: (0.0, 0.0, 0.0),
        links: [Link(name: "body", mass: 2.0, inertia: Diagonal(0.1, 0.1, 0.1))],
        joints: [Joint(name: "base", parent: "world", child: "body", kind: Free,
            position: Placement(rotation: Rpy(0.7, -0.2, 1.1)))])"#;
    let mut sim = robot(text);
    sim.set_world_wrench("body", [0.0, 0.0, 0.3], [4.0, 0.0, 0.0]).unwrap();
    let mut batch = Batch::new(&mut robot(text), 2).unwrap();
    batch.set_world_wrench(1, "body", [0.0, 0.0, 0.3], [4.0, 0.0, 0.0]).unwrap();
    sim.step(1e-3).unwrap();
    batch.step(1e-3).unwrap();
    let velocity = sim.link_velocity("body", [0.0; 3]).unwrap();
    // it turns by 1.5e-6 rad meanwhile
    assert!((velocity.linear - Vector3::new(2e-3, 0.0, 0.0)).norm() < 1e-8, "{velocity:?}");
    assert!((velocity.angular - Vector3::new(0.0, 0.0, 3e-3)).norm() < 1e-8, "{velocity:?}");
    let velocities = batch.link_velocities().unwrap();
    assert_eq!((velocities[0].linear.norm(), velocities[1]), (0.0, velocity));
}

const STUCK: &str = r#"Scene(
    links: [Link(name: "arm", mass: 1.0, center_of_mass: (0.3, 0.0, 0.0), inertia: Diagonal(0.01, 0.01, 0.01))],
    joints: [Joint(name: "hinge", parent: "world", child: "arm", kind: Revolute(axis: (0.0, 1.0, 0.0)),
        friction: Coulomb(coulomb: 5.0, stiction: 6.0))])"#;

#[test]
fn linearising_a_stuck_machine_is_refused() {
    let mut sim = robot(STUCK);
    let error = sim.linearize().unwrap_err();
    assert!(matches!(&error, Error::Immobile { stuck, .. } if stuck == &["hinge"]), "{error}");
    assert!(error.to_string().contains("nothing can move"), "{error}");
    sim.set_joint("hinge", 0.0, 1.0).unwrap();
    assert_eq!(sim.linearize().unwrap().unknowns, ["hinge.position", "hinge.velocity"]);
}

/// `fn main() -> Result<(), Error>` prints the Debug form.
#[test]
fn errors_read_the_same_either_way() {
    let error = robot(STUCK).position("elbow").unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().contains("there is no joint `elbow`; there is hinge"), "{error}");
}

#[test]
fn the_ledger_warns_of_steps_that_eat_energy() {
    let pid = |kp: f64, step: f64| {
        let mut scene = Scene::parse(STUCK, "arm.ron").unwrap();
        scene.joints[0].friction = None;
        scene.joints[0].drive =
            Some(bristle::scene::Drive::Pid { kp, ki: 0.0, kd: 1.0, target: bristle::scene::Signal::Constant(0.5) });
        let control = Control::Constant { step };
        scene.solver = Solver { method: Some(Method::RealTime), control: Some(control), ..Solver::default() };
        let mut sim = Simulation::new(&scene).unwrap();
        sim.run_until(1.0).unwrap();
        sim.energy().unwrap()
    };
    // ω = 316 rad/s and h ω = 0.3: an implicit step damps that by itself
    let warning = pid(1e4, 1e-3).warning().unwrap();
    assert!(warning.contains("energy balance is off"), "{warning}");
    assert_eq!(pid(10.0, 1e-4).warning(), None);
}

/// A gripper: one finger follows the other with an offset.
const GRIPPER: &str = r#"<robot name="gripper"><link name="base"/>
<link name="left"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<link name="right"><inertial><mass value="0.1"/>
<inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
<joint name="lead" type="prismatic"><parent link="base"/><child link="left"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>
<joint name="follow" type="prismatic"><parent link="base"/><child link="right"/><axis xyz="-1 0 0"/>
<limit lower="-9" upper="9" effort="9" velocity="9"/>
<mimic joint="lead" multiplier="2" offset="0.3"/></joint></robot>"#;

#[test]
fn a_mimic_starts_where_its_leader_puts_it() {
    let scene = |position: Option<&str>| {
        let set = |value: &str| ("joints.lead.position".to_owned(), value.to_owned());
        let options = urdf::Options { overrides: position.map(set).into_iter().collect(), ..Default::default() };
        urdf::read_with(GRIPPER, "gripper.urdf", &options).unwrap().scene
    };
    for (given, lead) in [(None, 0.0), (Some("0.1"), 0.1), (Some("-0.15"), -0.15)] {
        let mut sim = Simulation::new(&scene(given)).unwrap();
        assert_eq!(sim.position("lead").unwrap(), lead);
        assert!((sim.position("follow").unwrap() - (2.0 * lead + 0.3)).abs() < 1e-15, "{given:?}");
        assert_eq!(sim.freedom(), 1);
        // and goes along when a caller moves the leader
        sim.set_joint("lead", 0.2, 0.1).unwrap();
        sim.step(0.0).unwrap();
        assert!((sim.position("follow").unwrap() - 0.7).abs() < 1e-15);
        assert!((sim.velocity("follow").unwrap() - 0.2).abs() < 1e-15);
    }
    // one that is given must fit
    let wrong = urdf::Options {
        overrides: vec![("joints.follow.position".into(), "0.1".into()), ("joints.lead.position".into(), "0.1".into())],
        ..Default::default()
    };
    let scene = urdf::read_with(GRIPPER, "gripper.urdf", &wrong).unwrap().scene;
    assert!(Simulation::new(&scene).is_err());
}
