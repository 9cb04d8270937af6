//! URDF robots on the command line: imported, checked, run; friction put on; leftovers named or refused.

use super::{Temporary, bristle, root, stderr};

const GRIPPER: &str = "crates/bristle/tests/urdf/good/gripper.urdf";

/// A pendulum that is held by nothing but its hinge.
const PENDULUM: &str = r#"<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0.5 0 0"/>
<mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"#;

#[test]
fn an_imported_robot_is_a_scene() {
    let output = bristle(&["import", GRIPPER]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let scene = bristle::Scene::parse(&text, "gripper.ron").unwrap();
    assert_eq!((scene.links.len(), scene.joints.len(), scene.couplings.len()), (5, 5, 2));
    let said = stderr(&output);
    for part in [
        "joints: 1 revolute, 2 prismatic, 1 continuous",
        "2 × `limit of velocity`",
        "2 × `transmission`",
        "fixed to the world",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert!(said.lines().count() <= 5, "{said}");
    let verbose = stderr(&bristle(&["import", GRIPPER, "--verbose"]));
    for part in ["joint `shoulder`: revolute", "stops at -1 and 1.5 rad"] {
        assert!(verbose.contains(part), "no `{part}` in {verbose}");
    }
    let set = bristle(&["import", GRIPPER, "-q", "--set", "joints.shoulder.damping=0.7"]);
    assert!(String::from_utf8_lossy(&set.stdout).contains("damping: 0.7"), "{}", stderr(&set));
    let quiet = bristle(&["import", GRIPPER, "-q"]);
    assert_eq!((stderr(&quiet).as_str(), quiet.stdout), ("", output.stdout));

    let out = Temporary::with("import-gripper.ron", "");
    let written = bristle(&["import", GRIPPER, "-q", "--floating", "--out", out.path()]);
    assert!(written.status.success() && written.stdout.is_empty(), "{}", stderr(&written));
    assert!(std::fs::read_to_string(out.path()).unwrap().contains("kind: Free"));
}

#[test]
fn refusals_leave_with_two() {
    for (arguments, expected) in [
        (vec!["import", GRIPPER, "--strict"], "gripper.urdf:27:6"),
        (vec!["check", GRIPPER, "--strict"], "gripper.urdf:27:6"),
        (vec!["run", GRIPPER, "--strict"], "gripper.urdf:27:6"),
        (vec!["dynamics", GRIPPER, "--strict", "--states", "-"], "gripper.urdf:27:6"),
        (
            vec!["sweep", GRIPPER, "--strict", "--set", "joints.shoulder.damping=0:1:2", "--out", "never.csv"],
            "gripper.urdf:27:6",
        ),
        (vec!["import", "nowhere.urdf"], "nowhere.urdf"),
        (vec!["import", GRIPPER, "--friction", "nowhere.ron"], "nowhere.ron"),
        (vec!["import", "crates/bristle/tests/urdf/bad/cycle.urdf"], "the joints make a loop"),
        (vec!["check", "crates/bristle/tests/urdf/bad/mass_nan.urdf"], "mass_nan.urdf:5:20"),
        (vec!["run", "crates/bristle/tests/urdf/bad/entity_bomb.urdf"], "document type"),
        (vec!["run", "scenes/single_pendulum.ron", "--floating"], "kind: Free"),
    ] {
        let output = bristle(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_robot_runs_with_friction_from_a_file() {
    let robot = Temporary::with("import-pendulum.urdf", PENDULUM);
    let run = |options: &[&str]| {
        let mut arguments = vec!["run", robot.path(), "--until", "1", "--out", "-"];
        arguments.extend(options);
        let output = bristle(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = table.lines().next_back().unwrap().split(',').nth(1).unwrap().parse::<f64>().unwrap();
        (last, stderr(&output))
    };
    let (free, said) = run(&[]);
    assert!(free.abs() > 0.5 && said.contains("joints: 1 continuous"), "{free} {said}");

    // m g l = 9.81 N·m: 10 N·m hold it where it is, bit for bit
    let friction = Temporary::with("import-friction.ron", "{ \"hinge\": (friction: Coulomb(coulomb: 10.0)) }");
    let (held, said) = run(&["--friction", friction.path()]);
    assert!(held == 0.0 && said.contains("friction.ron: Coulomb on `hinge`"), "{held} {said}");
    let (slipped, _) = run(&["--friction", friction.path(), "--set", "joints.hinge.friction=Coulomb(coulomb: 9.0)"]);
    assert!(slipped > 0.1 && slipped < free.abs(), "{slipped} {free}");

    let output = bristle(&["check", robot.path()]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("2 joints, 1 degree of freedom"), "{text}");
    let quiet = bristle(&["check", robot.path(), "-q"]);
    assert_eq!((stderr(&quiet).as_str(), quiet.stdout), ("", output.stdout));
}

#[test]
fn strict_refuses_leftovers_and_passes_limits() {
    let robot = "crates/bristle/examples/robot.urdf";
    let text = std::fs::read_to_string(root().join(robot)).unwrap();
    let left = text.replace("</joint>", "<calibration rising=\"0.1\"/></joint>");
    let left = Temporary::with("strict-left.urdf", &left);
    let table = Temporary::new("strict-sweep.csv");
    let set = "joints.shoulder.damping=0:1:2";
    for arguments in [
        &["import", robot][..],
        &["check", robot],
        &["run", robot, "--until", "0.01", "--out", "-"],
        &["sweep", robot, "--until", "0.01", "--set", set, "--out", table.path()],
    ] {
        let output = bristle(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("1 with stops; 1 with an effort limit"), "{}", stderr(&output));
        let output = bristle(&[arguments, &["--strict"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        let output = bristle(&[arguments, &["--no-limits"]].concat());
        assert!(stderr(&output).contains("not used: 1 × `limit of velocity`, 1 × `limit`"), "{}", stderr(&output));
        let mut strict = [arguments, &["--strict"]].concat();
        strict[1] = left.path();
        let output = bristle(&strict);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("`calibration` (rising 0.1) is not used"), "{}", stderr(&output));
    }
    // a scene has nothing that is not used
    assert!(bristle(&["check", "scenes/single_pendulum.ron", "--strict"]).status.success());
}
