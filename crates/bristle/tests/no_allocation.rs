//! Steps of robots with mimics and of laws of one's own do not allocate.

#[path = "../../../tests/counting.rs"]
mod counting;

use bristle::friction::Custom;
use bristle::prelude::*;
use bristle::scene::{Control, Method, Solver};
use bristle::urdf::{self, FrictionFile, Options};
use counting::allocations;

/// A gripper whose fingers follow one another; the knuckle of the last one is massless.
fn gripper() -> String {
    let inertial = r#"<inertial><origin xyz="0.05 0 0.02"/><mass value="0.2"/>
        <inertia ixx="2e-4" ixy="0" ixz="0" iyy="3e-4" iyz="0" izz="3e-4"/></inertial>"#;
    let mut text = format!(r#"<robot name="gripper"><link name="base"/><link name="arm">{inertial}</link>"#);
    let joint = |name: &str, parent: &str, child: &str, mimic: &str| {
        format!(
            r#"<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
            <origin xyz="0.1 0 0.03" rpy="0 0.2 0"/><axis xyz="0 1 0"/>{mimic}</joint>"#
        )
    };
    text += &joint("shoulder", "base", "arm", "");
    for (k, mass) in [inertial, inertial, ""].into_iter().enumerate() {
        text += &format!(r#"<link name="finger{k}">{mass}</link>"#);
        let mimic =
            if k == 0 { String::new() } else { r#"<mimic joint="finger0" multiplier="-0.7" offset="0.1"/>"#.into() };
        text += &joint(&format!("finger{k}"), "arm", &format!("finger{k}"), &mimic);
    }
    text + "</robot>"
}

#[test]
fn mimics_under_error_control_do_not_allocate() {
    for friction in [
        r#"{ "*": (friction: Coulomb(coulomb: 0.02, stiction: 0.03)) }"#,
        r#"{ "*": (friction: Coulomb(coulomb: 0.1, stiction: 0.15), load: Pin(radius: 0.02)) }"#,
        r#"{ "*": (friction: LuGre(sigma0: 300.0, sigma1: 0.3, coulomb: 0.02)) }"#,
    ] {
        let friction = Some(FrictionFile::new("friction.ron", friction));
        let scene = urdf::read_with(&gripper(), "gripper.urdf", &Options { friction, ..Options::default() });
        for method in [Method::Dopri5, Method::Radau5, Method::RealTime] {
            let mut scene = scene.clone().unwrap().scene;
            let is_fixed = method == Method::RealTime;
            let control = if is_fixed { Control::Constant { step: 1e-3 } } else { Control::default() };
            scene.solver = Solver { method: Some(method), control: Some(control), ..Solver::default() };
            let mut sim = Simulation::new(&scene).unwrap();
            let mut steps = |n: usize| {
                for k in 0..n {
                    sim.set_effort("finger0", if k % 10 < 5 { 0.3 } else { -0.3 }).unwrap();
                    sim.step(5e-3).unwrap();
                }
            };
            // every event has happened once
            steps(60);
            let count = allocations(|| steps(100));
            assert_eq!(count, 0, "{method:?} {:?}", scene.joints[1].friction);
        }
    }
}

#[test]
fn laws_of_ones_own_do_not_allocate() {
    let text = r#"Scene(gravity: (0.0, 0.0, 0.0), links: [Link(name: "block", mass: 1.0)],
        joints: [Joint(name: "slide", parent: "world", child: "block", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
            friction: Coulomb(coulomb: 1.0), drive: Pull(stiffness: 40.0, target: Ramp(rate: 0.4)))])"#;
    let mut scene = Scene::parse(text, "block.ron").unwrap();
    scene.joints[0].friction = Some(Custom::dry("own", 1.6, 0.05, |v| 1.0 + 0.6 * (-v / 0.05).exp()).into());
    for (method, control) in [
        (Method::Dopri5, Control::default()),
        (Method::Radau5, Control::default()),
        (Method::RealTime, Control::Constant { step: 1e-3 }),
    ] {
        scene.solver = Solver { method: Some(method), control: Some(control), ..Solver::default() };
        let mut sim = Simulation::new(&scene).unwrap();
        sim.step(1.0).unwrap();
        let before = sim.stats().n_events;
        let count = allocations(|| (0..200).for_each(|_| sim.step(0.01).unwrap()));
        assert_eq!(count, 0, "{method:?}");
        assert!(sim.stats().n_events > before || sim.stats().n_events == 0, "it sticks and slips");
    }
}
