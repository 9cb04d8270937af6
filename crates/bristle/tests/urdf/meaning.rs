//! Scenes made from robots, and the notes on them.

use bristle::friction::{Coulomb, Law};
use bristle::multibody::{Work, aba};
use bristle::prelude::*;
use bristle::scene::{Coupling, Kind, Limits, Load, Rotation};
use bristle::urdf::{self, FrictionFile, Import, Options};
use bristle::{compile, spawn};
use nalgebra::{Matrix3, Rotation3};

const GRIPPER: &str = include_str!("good/gripper.urdf");
const FLYING: &str = include_str!("good/flying.urdf");

fn lines(import: &Import) -> Vec<String> {
    import.lines.iter().map(ToString::to_string).collect()
}

#[test]
fn every_element_is_understood_or_named() {
    let import = urdf::read(GRIPPER, "gripper.urdf").unwrap();
    assert_eq!(
        lines(&import),
        [
            "robot `gripper`: 5 links, 4 joints; gravity (0, 0, -9.81) m/s²; not used: `material`, 2 × \
             `transmission`, `gazebo`",
            "link `base`: no `inertial`: without mass; not used: 2 × `visual`, `collision`",
            "link `left`: mass 0.1 kg; `ixy`, `ixz`, `iyz` left out: 0",
            "link `right`: mass 0.1 kg; `ixy`, `ixz`, `iyz` left out: 0",
            "link `tool`: no `inertial`: without mass",
            "joint `shoulder`: revolute about (0, 0.6, 0.8), `base` to `arm`, damping 0.2 N·m·s/rad, friction 0.5 \
             N·m: Coulomb, \
             effort to 10 N·m, stops at -1 and 1.5 rad; not used: `velocity` 3 of `limit`, `safety_controller` \
             (k_velocity 1), \
             `calibration` (rising 0.1)",
            "joint `finger`: prismatic along (1, 0, 0), `arm` to `left`, friction 2 N: Coulomb, effort to 1 N; \
             not used: `velocity` 1 of `limit`",
            "joint `follower`: prismatic along (1, 0, 0), `arm` to `right`, mimics `finger`: -2 · q + 0.01 (gear \
             `follower_mimic`)",
            "joint `second_follower`: continuous about (1, 0, 0), `right` to `tool`, mimics `follower`: 3 · q + 0.5 \
             (gear `second_follower_mimic`)",
            "root `base`: fixed to the world, joint `world_to_base`",
        ]
    );

    let scene = &import.scene;
    assert_eq!((scene.name.as_str(), scene.gravity), ("gripper", [0.0, 0.0, -9.81]));
    let names: Vec<&str> = scene.joints.iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!(names, ["world_to_base", "shoulder", "finger", "follower", "second_follower"]);
    assert_eq!(scene.joints[0].kind, Kind::Fixed);
    let shoulder = &scene.joints[1];
    assert_eq!(shoulder.kind, Kind::Revolute { axis: [0.0, 0.6, 0.8] });
    assert_eq!(shoulder.placement.translation, [0.0, 0.0, 0.1]);
    assert_eq!(shoulder.placement.rotation, Rotation::Rpy(0.1, 0.2, 0.3));
    assert_eq!(shoulder.damping, 0.2);
    let limits = Limits { lower: Some(-1.0), upper: Some(1.5), restitution: 0.0 };
    assert_eq!((shoulder.limits, shoulder.effort_limit), (Some(limits), Some(10.0)));
    let free = urdf::read_with(GRIPPER, "gripper.urdf", &Options { no_limits: true, ..Options::default() }).unwrap();
    assert!(free.scene.joints.iter().all(|joint| joint.limits.is_none() && joint.effort_limit.is_none()));
    let coulomb = Coulomb { coulomb: 0.5, stiction: 0.5, viscous: 0.0 };
    assert_eq!((&shoulder.friction, &shoulder.load), (&Some(Law::Coulomb(coulomb)), &Load::Unit));

    // followers: q = multiplier · q_leader + offset, and positions that fit at the start
    let gear = |name: &str, joints: [&str; 2], ratio, offset| Coupling::Gear {
        name: name.into(),
        joints: joints.map(Into::into),
        ratio,
        offset,
        efficiency: [1.0; 2],
        friction: [0.0; 2],
    };
    assert_eq!(
        scene.couplings,
        [
            gear("follower_mimic", ["follower", "finger"], -2.0, 0.01),
            gear("second_follower_mimic", ["second_follower", "follower"], 3.0, 0.5)
        ]
    );
    // positions of followers are left to the gears, which put them there at the start
    assert_eq!((scene.joints[3].position.scalar(), scene.joints[4].position.scalar()), (0.0, 0.0));
    let sim = Simulation::new(scene).unwrap();
    assert!((sim.position("follower").unwrap() - 0.01).abs() < 1e-15);
    assert!((sim.position("second_follower").unwrap() - (0.5 + 3.0 * 0.01)).abs() < 1e-15);
}

#[test]
fn inertias_are_turned_into_link_axes() {
    let scene = urdf::read(GRIPPER, "gripper.urdf").unwrap().scene;
    // R(rpy) by multiplying the three turns
    let (x, y) = (Rotation3::from_axis_angle(&nalgebra::Vector3::y_axis(), 0.3), 1.5);
    let turn = (Rotation3::from_axis_angle(&nalgebra::Vector3::z_axis(), y) * x).into_inner();
    let written = Matrix3::new(0.02, 0.001, -0.002, 0.001, 0.021, 0.0005, -0.002, 0.0005, 0.01);
    let expected = turn * written * turn.transpose();
    let arm = scene.links.iter().find(|link| link.name == "arm").unwrap();
    let ours = arm.inertia.matrix();
    for r in 0..3 {
        for c in 0..3 {
            assert!((ours[r][c] - expected[(r, c)]).abs() < 1e-16, "{ours:?} {expected}");
        }
    }
    assert_eq!(arm.center_of_mass, [0.0, 0.0, 0.2]);
}

#[test]
fn strict_refuses_unused_contents() {
    let strict = Options { strict: true, ..Options::default() };
    let read = |text: &str| urdf::read_with(text, "robot.urdf", &strict);
    // of a bit of everything: limits and what goes with them, wiring, the settings of another simulator
    let error = read(GRIPPER).unwrap_err();
    let places: Vec<usize> = error.problems.iter().map(|p| p.position.unwrap().line).collect();
    assert_eq!(places, [27, 28, 46, 48], "{error}");
    for said in [
        "joint `shoulder`: `safety_controller` (k_velocity 1) is not used",
        "joint `shoulder`: `calibration` (rising 0.1) is not used",
        "robot `gripper`: 2 × `transmission` is not used",
        "robot `gripper`: `gazebo` is not used",
    ] {
        assert!(error.to_string().contains(said), "no `{said}` in {error}");
    }
    let import = urdf::read(GRIPPER, "gripper.urdf").unwrap();
    let shoulder = import.lines.into_iter().find(|line| line.subject == "joint `shoulder`").unwrap();
    let set_aside: Vec<&str> =
        shoulder.unused.iter().filter(|unused| !unused.matters).map(|unused| unused.group.as_str()).collect();
    assert_eq!(set_aside, ["`limit of velocity`"], "{shoulder}");

    // shapes, looks and limits without bounds are named, strict or not
    let mut known = GRIPPER.to_owned();
    for line in GRIPPER.lines() {
        let words = ["<limit", "<safety_controller", "<calibration", "<transmission", "<gazebo"];
        if words.iter().any(|word| line.contains(word)) {
            known = known.replace(line, "");
        }
    }
    assert_eq!(read(&known).unwrap(), urdf::read(&known, "robot.urdf").unwrap());
    assert!(read(&known).unwrap().lines.iter().any(|line| line.to_string().contains("2 × `visual`, `collision`")));
    let open = known.replace("<axis xyz=\"0 3 4\"/>", "<axis xyz=\"0 3 4\"/><limit lower=\"-inf\" upper=\"INF\"/>");
    assert!(read(&open).unwrap().scene.joints.iter().all(|joint| joint.limits.is_none()));
    // limits that are kept pass, and limits of velocity are named
    let kept = known.replace(
        "<axis xyz=\"0 3 4\"/>",
        "<axis xyz=\"0 3 4\"/><limit lower=\"-1\" upper=\"2\" effort=\"3\" velocity=\"4\"/>",
    );
    let import = read(&kept).unwrap();
    assert!(import.lines.iter().any(|line| line.to_string().contains("not used: `velocity` 4 of `limit`")));

    // what URDF does not have, and what a joint has no axis for
    for (what, by, reason) in [
        ("<axis xyz=\"0 3 4\"/>", "<axis xyz=\"0 3 4\"/><backlash/>", "joint `shoulder`: `backlash` is not used"),
        ("damping=\"0.2\"", "damping=\"0.2\" hysteresis=\"3\"", "attribute `hysteresis` of `dynamics` is not used"),
        ("<link name=\"tool\"/>", "<link name=\"tool\">heavy</link>", "link `tool`: text in `link` is not used"),
        ("<dynamics friction=\"2\"/>", "<payload/>", "joint `finger`: `payload` is not used"),
        ("</robot>", "<ros2_control name=\"x\"/></robot>", "`ros2_control` is not used"),
    ] {
        let robot = known.replace(what, by);
        assert!(robot != known && urdf::read(&robot, "robot.urdf").is_ok(), "{reason}");
        let error = read(&robot).unwrap_err();
        assert!(error.problems.len() == 1 && error.to_string().contains(reason), "{reason}: {error}");
    }
    let error = read(FLYING).unwrap_err();
    assert!(
        error.problems.len() == 1 && error.to_string().contains("has six coordinates, and this is for one"),
        "{error}"
    );
}

#[test]
fn a_default_namespace_is_the_robots_own() {
    let named = GRIPPER.replace("<robot name", "<robot xmlns=\"http://www.ros.org\" name");
    assert_eq!(urdf::read(&named, "g.urdf").unwrap().scene.joints, urdf::read(GRIPPER, "g.urdf").unwrap().scene.joints);
    // another one is not
    let other = GRIPPER.replace("<link name=\"tool\"/>", "<x:link xmlns:x=\"http://x\" name=\"tool\"/>");
    assert!(urdf::read(&other, "g.urdf").is_err());
}

#[test]
fn notes_agree_in_number() {
    let robot = r#"<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
        izz="1"/>
</inertial></link><joint name="j" type="continuous"><parent link="a"/><child link="b"/><dynamics damping="1e300"/>
</joint></robot>"#;
    let said = urdf::read(robot, "r.urdf").unwrap();
    assert!(lines(&said).iter().any(|line| line.contains("damping 1e300 N·m·s/rad")), "{:?}", lines(&said));
    assert!(lines(&said)[0].contains("2 links, 1 joint;"), "{}", lines(&said)[0]);
}

#[test]
fn the_world_may_be_a_link_and_joints_may_float() {
    let import = urdf::read(FLYING, "flying.urdf").unwrap();
    let scene = &import.scene;
    assert_eq!((scene.links.len(), scene.joints.len()), (1, 1));
    assert_eq!((scene.joints[0].kind, scene.joints[0].parent.as_str()), (Kind::Free, "world"));
    assert_eq!(
        lines(&import)[2..],
        [
            "joint `air`: floating, `world` to `body`; not used: `axis`, `damping` 0.5: the joint has six \
             coordinates, and this is for one",
            "root `world`: the world of the scene",
        ]
    );
    let mut sim = Simulation::new(scene).unwrap();
    sim.step(0.5).unwrap();
    assert!((sim.positions()[2] + 0.5 * 9.81 * 0.25).abs() < 1e-9, "{:?}", sim.positions());

    let floating = Options { floating: true, ..Options::default() };
    assert_eq!(urdf::read_with(FLYING, "flying.urdf", &floating).unwrap().scene, import.scene);
    let scene = urdf::read_with(&FLYING.replace("world", "ground"), "flying.urdf", &floating).unwrap().scene;
    assert_eq!((scene.joints[0].kind, scene.joints[0].name.as_str()), (Kind::Free, "world_to_ground"));
}

/// A base fixed to a root `world` floats where it was fixed: it falls as a body does, and the arm on it stays straight.
#[test]
fn a_base_fixed_to_the_world_floats() {
    let inertial =
        r#"<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"#;
    let link = |name: &str| format!(r#"<link name="{name}">{inertial}</link>"#);
    let joint = |name: &str, kind: &str, parent: &str, child: &str| {
        format!(
            r#"<joint name="{name}" type="{kind}"><origin xyz="0 0 1.5"/><parent link="{parent}"/><child
                link="{child}"/></joint>"#
        )
    };
    let robot = |kind: &str, more: &str| {
        let (base, arm) = (link("base"), link("arm"));
        let (mount, elbow) = (joint("mount", kind, "world", "base"), joint("elbow", "continuous", "base", "arm"));
        format!(r#"<robot name="r"><link name="world"/>{base}{arm}{mount}{elbow}{more}</robot>"#)
    };
    let floating = Options { floating: true, ..Options::default() };
    let import = urdf::read_with(&robot("fixed", ""), "r.urdf", &floating).unwrap();
    assert_eq!(import.scene.joints[0].kind, Kind::Free);
    assert!(lines(&import).iter().any(|line| line.contains("`base` floats")), "{:?}", lines(&import));
    let mut sim = Simulation::new(&import.scene).unwrap();
    sim.step(0.5).unwrap();
    let (base, fall) = (sim.pose("base").unwrap().translation, 0.5 * 9.81 * 0.25);
    assert!((base.z - 1.5 + fall).abs() < 1e-9 && sim.velocities()[6].abs() < 1e-12, "{base}");

    let refused = |text: &str| urdf::read_with(text, "r.urdf", &floating).unwrap_err().to_string();
    let error = refused(&robot("continuous", ""));
    assert!(error.contains("`world` carries `base` by the joint `mount`, which is not fixed"), "{error}");
    let error = refused(&robot("fixed", &(link("table") + &joint("leg", "fixed", "world", "table"))));
    assert!(error.contains("the root `world` carries 2 links: `base`, `table`"), "{error}");
}

#[test]
fn a_joint_named_like_the_root_is_renamed() {
    let text = FLYING.replace("world", "ground").replace("air", "world_to_ground");
    let scene = urdf::read(&text, "flying.urdf").unwrap().scene;
    assert_eq!(scene.joints[0].name, "world_to_ground_");
}

/// A pendulum that swings about y, hinge at the origin.
const PENDULUM: &str = r#"<robot name="pendulum"><link name="base"/><link name="bob"><inertial><origin xyz="0 0 -0.5"/>
<mass value="2"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/>
<dynamics damping="0.1" friction="0.2"/></joint></robot>"#;

#[test]
fn friction_files_override_the_robot() {
    let law = |text: &str| {
        let options = Options { friction: Some(FrictionFile::new("friction.ron", text)), ..Options::default() };
        urdf::read_with(PENDULUM, "pendulum.urdf", &options).unwrap()
    };
    let plain = urdf::read(PENDULUM, "pendulum.urdf").unwrap();
    let named = law("{ \"hinge\": (friction: Coulomb(coulomb: 0.3), load: Constant(7.0)) }");
    let joint = &named.scene.joints[1];
    assert_eq!(joint.friction, Some(Law::Coulomb(Coulomb { coulomb: 0.3, stiction: 0.3, viscous: 0.0 })));
    // what is not given stays
    assert_eq!((&joint.load, joint.damping), (&Load::Constant(7.0), 0.1));
    assert!(named.lines[2].to_string().ends_with("; from friction.ron: Coulomb, load Constant"), "{}", named.lines[2]);

    // everyone, and someone instead
    let every = law("{ \"*\": (friction: Coulomb(coulomb: 0.3), load: Constant(7.0)) }");
    assert_eq!((&every.scene, every.scene.joints[0].friction.is_none()), (&named.scene, true));
    let both = law("{ \"hinge\": (armature: 0.5), \"*\": (friction: Coulomb(coulomb: 0.3)) }");
    assert_eq!((both.scene.joints[1].armature, &both.scene.joints[1].friction), (0.5, &plain.scene.joints[1].friction));
    assert_eq!(law("{}").scene, plain.scene);
}

#[test]
fn scenes_take_friction_files_too() {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("bristle-{}-pendulum.ron", std::process::id()));
    let plain = urdf::read(PENDULUM, "pendulum.urdf").unwrap().scene;
    std::fs::write(&path, plain.to_ron().unwrap()).unwrap();
    let file = FrictionFile::new("friction.ron", "{ \"*\": (friction: Dahl(coulomb: 1.0, sigma0: 100.0)) }");
    let options =
        Options { friction: Some(file), overrides: vec![("duration".into(), "3".into())], ..Options::default() };
    let import = urdf::load_scene(&path, &options).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((import.scene.joints[1].friction.as_ref().unwrap().name(), import.scene.duration), ("Dahl", 3.0));
    assert_eq!(import.lines[0].to_string(), "joint `hinge`: from friction.ron: Dahl");

    // overrides reach into robots as well, and are refused at their own place
    let wrong = Options { overrides: vec![("joints.hinge.dampin".into(), "1".into())], ..Options::default() };
    let error = urdf::read_with(PENDULUM, "pendulum.urdf", &wrong).unwrap_err().to_string();
    assert!(error.contains("override:1:14") && error.contains("did you mean `damping`?"), "{error}");
}

#[test]
fn a_robot_swings_like_its_equation() {
    let path = std::env::temp_dir().join(format!("bristle-{}-pendulum.urdf", std::process::id()));
    std::fs::write(&path, PENDULUM.replace("friction=\"0.2\"", "")).unwrap();
    let sim = Simulation::from_urdf(&path);
    std::fs::remove_file(&path).unwrap();
    let mut sim = sim.unwrap();
    let hinge = sim.joint("hinge").unwrap();
    sim.set_effort(hinge, 3.0).unwrap();
    sim.step(0.0).unwrap();
    sim.step(1e-3).unwrap();
    // from rest at the bottom: m l² a = τ
    assert!((sim.accelerations()[0] - 3.0 / 0.5).abs() < 1e-2, "{:?}", sim.accelerations());
}

#[test]
fn entities_that_are_characters_are_read() {
    let text =
        PENDULUM.replace("\"hinge\"", "\"h&#105;nge &lt;1&gt;\"").replace("\"0 0 -0.5\"", "\"0&#32;0 &#45;0.5\"");
    let scene = urdf::read(&text, "p.urdf").unwrap().scene;
    assert_eq!(scene.joints[1].name, "hinge <1>");
    assert_eq!(scene.links[1].center_of_mass, [0.0, 0.0, -0.5]);
    // what is wrong with them is still shown
    let error = urdf::read(&text.replace("&#45;0.5", "&#45;x"), "p.urdf").unwrap_err().to_string();
    assert!(error.contains("`-x` is not a number") && error.contains("p.urdf:1:"), "{error}");
}

#[test]
fn quaternion_and_angle_origins_agree() {
    let place = |origin: &str| {
        let text = PENDULUM.replace("<axis", &format!("<origin {origin}/><axis"));
        let scene = urdf::read(&text, "p.urdf").unwrap().scene;
        let mut world = World::new();
        spawn(&scene, &mut world).unwrap();
        let model = compile(&world).unwrap().model.tree.clone();
        aba(&model, &mut Work::new(&model), &[0.3], &[0.0], &[0.0]).unwrap()[0]
    };
    // a quarter turn about x, then the hinge's axis points up: nothing falls
    let half = 0.5_f64.sqrt();
    let (angles, quaternion) =
        (place("rpy=\"1.5707963267948966 0 0\""), place(&format!("quat_xyzw=\"{half} 0 0 {half}\"")));
    assert!(angles.abs() < 1e-14 && quaternion.abs() < 1e-14, "{angles} {quaternion}");
    let (angles, quaternion) =
        (place("rpy=\"0 0 1.2\""), place(&format!("quat_xyzw=\"0 0 {} {}\"", 0.6_f64.sin(), 0.6_f64.cos())));
    assert!((angles - quaternion).abs() < 1e-14 && angles.abs() > 1.0, "{angles} {quaternion}");
}
