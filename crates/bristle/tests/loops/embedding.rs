//! Loops built in code: the builder, linearisation, batches.

use bristle::prelude::*;
use bristle::scene::{Control, Method};

const Z: [f64; 3] = [0.0, 0.0, 1.0];

/// A four-bar on a crank at `angle` that turns at `rate`, all with damping, one joint with a spring; `close` closes it.
fn four_bar(angle: f64, rate: f64, close: impl FnOnce([Entity; 3]) -> JointBuilder) -> World {
    let mut world = World::new();
    let rod = |at: [f64; 3]| LinkInertia::rod(1.0, at.into());
    let crank = world.spawn_link("crank", rod([0.125, 0.0, 0.0]));
    let coupler = world.spawn_link("coupler", rod([0.26, 0.06, 0.0]));
    let rocker = world.spawn_link("rocker", rod([0.2, 0.0, 0.0]));
    world.set_gravity([0.0, -9.81, 0.0]);
    world.spawn_joint(revolute("a", Z).to(crank).position(angle).velocity(rate).damping(0.2));
    world.spawn_joint(revolute("b", Z).from(crank).to(coupler).at([0.25, 0.0, 0.0]).spring(3.0, 0.2));
    world.spawn_joint(revolute("d", Z).to(rocker).at([0.6, 0.05, 0.0]).damping(0.1));
    world.spawn_joint(close([crank, coupler, rocker]));
    world
}

fn hinge([_, coupler, rocker]: [Entity; 3]) -> JointBuilder {
    loop_joint(revolute("c", Z)).from(coupler).at([0.55, 0.0, 0.0]).to(rocker).at_second([0.4, 0.0, 0.0])
}

fn ball([_, coupler, rocker]: [Entity; 3]) -> JointBuilder {
    loop_joint(spherical("c")).from(coupler).at([0.55, 0.0, 0.0]).to(rocker).at_second([0.4, 0.0, 0.0])
}

/// The same machine as a scene, a hinge and a ball joint move alike; what a weld cannot carry is refused.
#[test]
fn loop_joints_of_the_builder_are_those_of_scenes() {
    let link = |name: &str, x: f64, y: f64| {
        let LinkInertia { center_of_mass: com, inertia: of, .. } = LinkInertia::rod(1.0, [x, y, 0.0].into());
        format!(
            "Link(name: \"{name}\", mass: 1.0, center_of_mass: ({:?}, {:?}, 0.0), inertia: Full(ixx: {:?}, \
             iyy: {:?}, izz: {:?}, ixy: {:?})), ",
            com.x, com.y, of.xx, of.yy, of.zz, of.xy
        )
    };
    let joint = |name: &str, links: [&str; 2], x: f64, y: f64, more: &str| {
        format!(
            "Joint(name: \"{name}\", parent: \"{}\", child: \"{}\", kind: Revolute(axis: (0.0, 0.0, 1.0)), \
             placement: Placement(translation: ({x:?}, {y:?}, 0.0)), {more}), ",
            links[0], links[1]
        )
    };
    let links = link("crank", 0.125, 0.0) + &link("coupler", 0.26, 0.06) + &link("rocker", 0.2, 0.0);
    let joints = joint("a", ["world", "crank"], 0.0, 0.0, "position: 1.0, velocity: 2.0, damping: 0.2")
        + &joint("b", ["crank", "coupler"], 0.25, 0.0, "spring: Spring(stiffness: 3.0, rest: 0.2)")
        + &joint("d", ["world", "rocker"], 0.6, 0.05, "damping: 0.1");
    let text = format!(
        "Scene(gravity: (0.0, -9.81, 0.0), links: [{links}], joints: [{joints}], couplings: [LoopJoint(name: \"c\", \
         kind: Revolute(axis: (0.0, 0.0, 1.0)), links: (\"coupler\", \"rocker\"), placements: \
         (Placement(translation: (0.55, 0.0, 0.0)), Placement(translation: (0.4, 0.0, 0.0))))], solver: Solver())"
    );
    let scene = Scene::parse(&text, "four-bar").unwrap_or_else(|error| panic!("{error}"));
    let expected = Simulation::new(&scene).unwrap().run_until(1.0).unwrap();
    for (kind, close) in [("hinge", hinge as fn([Entity; 3]) -> JointBuilder), ("ball", ball)] {
        let mut sim = Simulation::from_world(four_bar(1.0, 2.0, close)).unwrap();
        assert_eq!(sim.freedom(), 1, "{kind}");
        let found = sim.run_until(1.0).unwrap();
        for joint in ["a", "b", "d"] {
            let channel = format!("{joint}.position");
            let (found, expected) = (found.last(&channel).unwrap(), expected.last(&channel).unwrap());
            assert!((found - expected).abs() < 1e-5, "{kind}, {joint}: {found} {expected}");
        }
    }
    let mut world = World::new();
    let link = world.spawn_link("link", LinkInertia::rod(1.0, [0.2, 0.0, 0.0].into()));
    world.spawn_joint(revolute("a", Z).to(link));
    world.spawn_joint(loop_joint(fixed("b")).from(link).damping(0.1));
    let error = Simulation::from_world(world).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("`b` carries `Damping`"), "{error}");
}

/// ü of the independent coordinate u, by differences of whole machines with other positions and rates of the crank,
/// and with efforts on every joint.
#[test]
fn linearisation_of_a_loop_equals_differences() {
    let state = |angle: f64, rate: f64, effort: Option<(&str, f64)>| {
        let mut sim = Simulation::from_world(four_bar(angle, rate, hinge)).unwrap();
        if let Some((joint, effort)) = effort {
            sim.set_effort(joint, effort).unwrap();
            sim.step(0.0).unwrap();
        }
        let linear = sim.linearize().unwrap();
        let u = linear.unknowns[0].strip_suffix(".position").unwrap().to_owned();
        let point = [sim.position(&*u).unwrap(), sim.velocity(&*u).unwrap(), sim.acceleration(&*u).unwrap()];
        (linear, u, point)
    };
    let (linear, u, _) = state(1.0, 2.0, None);
    assert_eq!(linear.unknowns, [format!("{u}.position"), format!("{u}.velocity")]);
    let h = 1e-5;
    let moves = [([h, 0.0], "angle"), ([0.0, h], "rate")];
    for ([angle, rate], what) in moves {
        let (plus, minus) = (state(1.0 + angle, 2.0 + rate, None), state(1.0 - angle, 2.0 - rate, None));
        assert!(plus.1 == u && minus.1 == u);
        let change: Vec<f64> = plus.2.iter().zip(minus.2).map(|(plus, minus)| (plus - minus) / (2.0 * h)).collect();
        let predicted = linear.a[(1, 0)] * change[0] + linear.a[(1, 1)] * change[1];
        assert!((predicted - change[2]).abs() < 1e-5 * (1.0 + change[2].abs()), "{what}: {predicted} {change:?}");
    }
    let sim = Simulation::from_world(four_bar(1.0, 2.0, hinge)).unwrap();
    for (v, joint) in sim.coordinates().iter().map(|coordinate| coordinate.name.clone()).enumerate() {
        let (plus, minus) = (state(1.0, 2.0, Some((&joint, 1.0))), state(1.0, 2.0, Some((&joint, -1.0))));
        let change = (plus.2[2] - minus.2[2]) / 2.0;
        let found = linear.b[(1, v)];
        assert!((found - change).abs() < 1e-7 * (1.0 + change.abs()), "{joint}: {found} {change}");
    }
}

#[test]
fn batches_of_loops_equal_simulations() {
    let cases = [
        (Method::Dopri5, Control::Error { rtol: 1e-8, atol: 1e-10 }),
        (Method::RealTime, Control::Constant { step: 1e-3 }),
    ];
    for (method, control) in cases {
        let settings = Settings { method, control, ..Settings::default() };
        let dry =
            bristle::friction::Law::from(bristle::friction::Coulomb { coulomb: 0.3, stiction: 0.4, viscous: 0.0 });
        let make = || {
            let close = |links| hinge(links).friction(dry.clone()).load(Load::Pin { radius: 0.05 });
            Simulation::with_settings(four_bar(1.0, 2.0, close), settings).unwrap()
        };
        let mut batch = Batch::new(&mut make(), 3).unwrap();
        let mut single = make();
        let n = single.velocities().len();
        for k in 0..20 {
            for copy in 0..3 {
                batch.efforts_mut()[copy] = 0.1 * (k * copy) as f64;
            }
            batch.step(0.02).unwrap();
            single.set_effort("a", 0.2 * k as f64).unwrap();
            single.step(0.02).unwrap();
        }
        for v in 0..n {
            let (found, expected) = (batch.positions()[v * 3 + 2], single.positions()[v]);
            assert!((found - expected).abs() < 1e-6, "{method:?}, {v}: {found} {expected}");
            assert_ne!(batch.positions()[v * 3], found, "{method:?}, {v}");
        }
    }
}
