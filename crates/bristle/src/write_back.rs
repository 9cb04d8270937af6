//! Arrays to world: states and results as components, for a user's own systems to read.

use crate::compile::{placement_of, twist_of};
use crate::component::{
    Acceleration, BristleState, CouplingEffort, Dissipated, FreeAcceleration, FreeState, FrictionEffort, JointState,
    NormalLoad, PidState, Pose, SlipMode,
};
use crate::error::{Error, Result};
use crate::formulation::{Machine, Snapshot};
use bristle_friction::FrictionLaw;
use bristle_multibody::JointKind;
use hecs::{Component, Entity, World};

/// Puts states, accelerations, friction and reactions on the joints and poses on the links.
///
/// `machine` has been looked at where `at` was taken; `heat` is that of the joints of `Compiled::heated`. Components that
/// are missing are added, which moves an entity to another archetype, once; after that nothing is allocated.
pub fn write_back(world: &mut World, machine: &mut Machine, at: &Snapshot, heat: &[f64]) -> Result<()> {
    let state = &at.mechanics;
    let (compiled, places, forces) = machine.poses_and_reactions(state.t)?;
    let model = &compiled.model;
    for (i, entity) in compiled.index.joints() {
        put(world, entity, forces[i]);
    }
    for (i, entity) in compiled.index.links() {
        let pose = places.link(model, i).map_err(|source| Error::Mechanics { t: state.t, source })?;
        put(world, entity, Pose(pose));
    }

    let (compiled, a) = (machine.compiled(), machine.accelerations());
    let model = &compiled.model;
    for (i, entity) in compiled.index.joints() {
        let (q, v, a) = (&state.q[model.q_range(i)], &state.v[model.v_range(i)], &a[model.v_range(i)]);
        match model.kinds[i] {
            JointKind::Fixed => {}
            JointKind::Free => {
                put(world, entity, FreeState { position: placement_of(q), velocity: twist_of(v) });
                put(world, entity, FreeAcceleration(twist_of(a)));
            }
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                put(world, entity, JointState { position: q[0], velocity: v[0] });
                put(world, entity, Acceleration(a[0]));
            }
        }
    }
    for (c, contact) in compiled.contacts.iter().enumerate() {
        let Some(entity) = compiled.contact_entity(c) else { continue };
        put(world, entity, FrictionEffort(machine.friction()[c]));
        put(world, entity, NormalLoad(machine.loads()[c]));
        if contact.is_event_driven() {
            put(world, entity, SlipMode(machine.modes()[c]));
        }
        if contact.law.n_states() > 0 {
            put::<BristleState>(world, entity, at.bristles[c]);
        }
    }
    for (&joint, &heat) in compiled.heated.iter().zip(heat) {
        if let Some(entity) = compiled.index.joint_entity(joint) {
            put(world, entity, Dissipated(heat));
        }
    }
    for (&k, &heat) in compiled.heated_elements.iter().zip(&heat[compiled.heated.len()..]) {
        put(world, compiled.coupled.elements[k].entity, Dissipated(heat));
    }
    let coupled = &compiled.coupled;
    for (tie, &effort) in coupled.ties.iter().zip(machine.tie_efforts()) {
        put(world, coupled.elements[tie.element].entity, CouplingEffort(effort));
    }
    for (k, spring) in coupled.springs.iter().enumerate() {
        put(world, coupled.elements[spring.element].entity, CouplingEffort(machine.spring_effort(k)));
    }
    for (drive, &integral) in compiled.drives.iter().filter(|drive| drive.has_integral()).zip(&at.integrals) {
        if let Some(entity) = compiled.index.joint_entity(drive.joint) {
            put(world, entity, PidState { integral });
        }
    }
    Ok(())
}

/// Replaces a component, or adds it. An entity that has gone meanwhile is left alone.
fn put<T: Component + Copy>(world: &mut World, entity: Entity, component: T) {
    if let Ok(place) = world.query_one_mut::<&mut T>(entity) {
        *place = component;
    } else {
        let _ = world.insert_one(entity, component);
    }
}
