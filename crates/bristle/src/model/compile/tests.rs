//! Worlds to arrays: order, edits, refusals.

use super::*;
use crate::signal::Signal;
use crate::world::builder::{Describe, free, revolute};
use bristle_multibody::{LinkInertia, State};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

fn two() -> (World, [Entity; 2], [Entity; 2]) {
    let mut world = World::new();
    let a = world.spawn_link("a", LinkInertia::point(1.0, Vector3::x()));
    let b = world.spawn_link("b", LinkInertia::diagonal(2.0, Vector3::y(), 0.1, 0.1, 0.1));
    let hinge = world.spawn_joint(revolute("hinge", [0.0, 0.0, 1.0]).to(a).damping(0.5));
    let float = world.spawn_joint(free("float").to(b));
    (world, [a, b], [hinge, float])
}

#[test]
fn order_is_by_name_and_arrays_follow_it() {
    let (world, [a, b], [hinge, float]) = two();
    let compiled = compile(&world).unwrap();
    assert_eq!(compiled.model.tree.joint_names, ["world", "float", "hinge"]);
    assert_eq!((compiled.model.index.joint(float), compiled.model.index.joint(hinge)), (Some(1), Some(2)));
    assert_eq!((compiled.model.index.link(b), compiled.model.index.link(a)), (Some(1), Some(2)));
    assert_eq!(compiled.inputs.dampers, [Damper { joint: 2, v: 6, damping: 0.5 }]);
    assert_eq!(compiled.inputs.effort.len(), 7);
}

#[test]
fn every_edit_of_the_machine_is_noticed() {
    type Edit = fn(&mut World, [Entity; 2], [Entity; 2]);
    let edits: [(Edit, bool); 14] = [
        (|_, _, _| {}, true),
        (|w, _, j| w.insert_one(j[0], Effort(1.0)).unwrap(), true),
        (|w, _, j| w.get::<&mut Damping>(j[0]).unwrap().0 = 0.7, true),
        (|w, _, j| w.get::<&mut JointState>(j[0]).unwrap().position = 1.0, true),
        (|w, _, _| _ = w.spawn((1_u8,)), true),
        (|w, _, j| w.get::<&mut Damping>(j[0]).unwrap().0 = 0.0, false),
        (|w, l, _| w.get::<&mut Link>(l[0]).unwrap().mass = 3.0, false),
        (|w, l, _| w.get::<&mut Name>(l[0]).unwrap().0 = "c".into(), false),
        (|w, _, j| w.get::<&mut Joint>(j[1]).unwrap().placement.translation.x = 1.0, false),
        (|w, _, j| w.despawn(j[1]).unwrap(), false),
        (|w, l, _| w.despawn(l[1]).unwrap(), false),
        (|w, _, _| w.set_gravity([0.0; 3]), false),
        (|w, _, j| w.insert_one(j[0], Drive::Effort(Signal::Constant(1.0))).unwrap(), false),
        (|w, _, _| _ = w.spawn_link("c", LinkInertia::point(1.0, Vector3::x())), false),
    ];
    for (k, (edit, is_current)) in edits.into_iter().enumerate() {
        let (mut world, links, joints) = two();
        let compiled = compile(&world).unwrap();
        edit(&mut world, links, joints);
        assert_eq!(compiled.is_current(&world), is_current, "edit {k}");
    }
}

#[test]
fn rotations_that_are_none_are_refused() {
    let (world, _, joints) = two();
    let compiled = compile(&world).unwrap();
    let mut state = State::rest(&compiled.model.tree);
    read_state(&world, &compiled, &mut state).unwrap();
    let twice = UnitQuaternion::new_unchecked(Quaternion::new(2.0, 0.0, 0.0, 0.0));
    world.get::<&mut FreeState>(joints[1]).unwrap().position.rotation = twice;
    let error = read_state(&world, &compiled, &mut state).unwrap_err().to_string();
    assert!(error.contains("norm of the quaternion of `float` is 2"), "{error}");
}
