//! The order of `RealTime`: two between changes of mode, against tight runs; and what stiff springs and dampers do.

use crate::stick_slip::{assert_near, simulation, slider};
use bristle::friction::Coulomb;
use bristle::prelude::*;
use bristle::scene::{Control, Method};
use bristle::signal::Signal;
use nalgebra::{Isometry3, Vector3};

fn settings(h: f64) -> Settings {
    Settings { method: Method::RealTime, control: Control::Constant { step: h }, ..Settings::default() }
}

/// Largest errors of positions, and of velocities, and the error of the energy balance after `until`, at steps of 4, 2
/// and 1 ms.
fn errors(world: impl Fn() -> World, until: f64) -> [[f64; 3]; 3] {
    let tight = Settings { control: Control::Error { rtol: 1e-11, atol: 1e-12 }, ..Settings::default() };
    let mut exact = Simulation::with_settings(world(), tight).unwrap();
    exact.run_until(until).unwrap();
    [4e-3, 2e-3, 1e-3].map(|h| {
        let mut sim = Simulation::with_settings(world(), settings(h)).unwrap();
        sim.run_until(until).unwrap();
        let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let balance = sim.energy().unwrap().balance.abs();
        [off(sim.positions(), exact.positions()), off(sim.velocities(), exact.velocities()), balance]
    })
}

/// Half the step leaves a quarter of the error.
#[track_caller]
fn assert_order_two(name: &str, world: impl Fn() -> World, until: f64, largest: f64) {
    let found = errors(world, until);
    println!("{name}: {found:?}");
    assert!(found[2][0] < largest, "{name}: {found:?}");
    for k in 0..2 {
        // errors that cancel in part have other ratios at these steps
        let ratio = found[1][k] / found[2][k];
        assert!((3.5..5.5).contains(&ratio) || found[2][k] < 2e-5 * found[0][k].max(1.0), "{name}: {found:?}");
    }
    assert!(found[2][2] < 0.3 * found[1][2] || found[2][2] < 1e-9, "{name}: {found:?}");
}

/// A scene without friction and drives.
fn bare(scene: &str) -> World {
    let mut scene = Scene::parse(scene, "scene").unwrap();
    scene.joints.iter_mut().for_each(|joint| (joint.friction, joint.drive) = (None, None));
    let mut world = World::new();
    bristle::spawn(&scene, &mut world).unwrap();
    world
}

/// Rods, hinged along alternating axes; `of` completes joint k.
pub fn chain(n: usize, of: impl Fn(usize, JointBuilder) -> JointBuilder) -> World {
    let mut world = World::new();
    let mut last = None;
    for k in 0..n {
        let link = world.spawn_link(&format!("link{k}"), LinkInertia::rod(1.0, [0.3, 0.0, 0.0].into()));
        let axis: [f64; 3] = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0]][k % 3];
        let mut joint = revolute(&format!("joint{k}"), axis).to(link).position(0.3 * k as f64);
        if let Some(parent) = last {
            joint = joint.from(parent).at([0.3, 0.0, 0.0]);
        }
        world.spawn_joint(of(k, joint.armature(0.01)));
        last = Some(link);
    }
    world
}

#[test]
fn frictionless_machines_converge_with_order_two() {
    let pendulum = || bare(include_str!("../scenes/double_pendulum.ron"));
    assert_order_two("double pendulum", pendulum, 1.0, 1e-5);
    assert_order_two("arm", || bare(include_str!("../scenes/robot_arm_6dof.ron")), 1.0, 2e-5);
    assert_order_two("chain", || chain(6, |_, joint| joint), 0.5, 1e-3);
    let sprung = |k: usize, joint: JointBuilder| match k % 3 {
        0 => joint.spring(40.0, 0.2).damping(0.3),
        1 => joint.spring(5.0, -0.4),
        _ => joint.damping(0.5),
    };
    assert_order_two("springs and dampers", || chain(6, sprung), 0.5, 1e-3);
}

#[test]
fn controlled_machines_converge_with_order_two() {
    let target = |k: usize| Signal::Sine { amplitude: 0.4, frequency: 6.0, phase: k as f64, offset: 0.1 };
    let driven = |k: usize, joint: JointBuilder| match k % 3 {
        0 => joint.drive(Drive::Pid { kp: 200.0, ki: 100.0, kd: 5.0, target: target(k) }),
        1 => joint.drive(Drive::Pull { stiffness: 30.0, target: target(k) }),
        _ => joint.drive(Drive::Effort(target(k))),
    };
    assert_order_two("drives", || chain(5, driven), 0.5, 1e-3);
    let carried = |k: usize, joint: JointBuilder| {
        if k == 1 {
            joint
                .position(0.1)
                .velocity(0.0)
                .drive(Drive::Motion(Signal::Sine { amplitude: 0.4, frequency: 6.0, phase: 0.0, offset: 0.1 }))
                .velocity(2.4)
        } else {
            joint
        }
    };
    assert_order_two("prescribed joint", || chain(4, carried), 0.5, 1e-3);
    let coupled = || {
        let mut world = chain(5, |_, joint| joint);
        let joints: Vec<Entity> = world.query_mut::<(Entity, &JointState)>().into_iter().map(|(e, _)| e).collect();
        let name = |name: &str| bristle::component::Name(name.into());
        let spring =
            Coupling::SpringDamper { joints: [joints[0], joints[2]], stiffness: 30.0, damping: 0.5, rest: 0.1 };
        world.spawn((name("spring"), spring));
        world.spawn((name("gear"), Coupling::Gear { joints: [joints[3], joints[1]], ratio: 3.0, offset: 0.0 }));
        world
    };
    assert_order_two("couplings", coupled, 0.5, 1e-3);
}

#[test]
fn floating_machines_converge_with_order_two() {
    let floating = || {
        let mut world = World::new();
        let body = LinkInertia::diagonal(2.0, [0.05, -0.1, 0.1].into(), 0.1, 0.2, 0.25);
        let links = ["a", "b", "c"].map(|name| world.spawn_link(name, body));
        let base = free("base").to(links[0]).pose(Isometry3::identity());
        world.spawn_joint(base.twist(Vector3::new(1.0, 3.0, -2.0), Vector3::new(0.5, 0.0, 1.0)));
        let first = revolute("j", [0.0, 1.0, 0.3]).from(links[0]).to(links[1]).at([0.3, 0.1, 0.0]).velocity(4.0);
        world.spawn_joint(first.spring(3.0, 0.1));
        let second = prismatic("k", [1.0, 0.0, 0.5]).from(links[1]).to(links[2]).at([0.2, 0.0, 0.1]).velocity(0.4);
        world.spawn_joint(second.spring(60.0, 0.0).damping(0.4));
        world
    };
    assert_order_two("floating", floating, 0.5, 1e-4);
}

/// Every joint slides in one direction.
#[test]
fn sliding_friction_is_of_order_two() {
    let dry = |k: usize, joint: JointBuilder| {
        let law = Coulomb { coulomb: 0.05, stiction: 0.06, viscous: 0.0 };
        joint.velocity([4.0, -3.0, 5.0][k % 3]).friction(law.into())
    };
    assert_order_two("dry", || chain(3, dry), 0.04, 1e-5);
}

/// A spring that the step does not resolve comes to rest within a few steps; one that it resolves keeps its energy.
#[test]
fn unresolved_springs_are_damped() {
    let h = 1e-3;
    for (stiffness, steps, kept) in [(1e3, 1000, 0.99..1.01), (1e9, 40, 0.0..1e-6), (1e12, 40, 0.0..1e-9)] {
        let fields = slider(1.0, &format!("position: 0.1, spring: Spring(stiffness: {stiffness:?})"));
        let mut sim = simulation(&fields, "RealTime", "Constant(step: 1e-3)");
        let start = sim.energy().unwrap().elastic;
        for _ in 0..steps {
            sim.step(h).unwrap();
        }
        let energy = sim.energy().unwrap();
        let left = (energy.elastic + energy.kinetic) / start;
        println!("{stiffness:e}: {left}");
        assert!(kept.contains(&left), "{stiffness:e}: {left}");
    }
    // a damper far beyond the step: v₁/v₀ = (6 − 2 z)/(z² + 4 z + 6)
    let mut sim = simulation(&slider(1.0, "velocity: 3.0, damping: 5e4"), "RealTime", "Constant(step: 1e-3)");
    sim.step(h).unwrap();
    assert_near("damped", sim.velocities()[0], 3.0 * (6.0 - 100.0) / (2500.0 + 200.0 + 6.0), 1e-13);
}
