//! Arrays to world: states and results as components, for a user's own systems to read.

use crate::compile::{Compiled, placement_of, twist_of};
use crate::component::{Acceleration, FreeAcceleration, FreeState, JointState, Pose};
use crate::error::{Error, Result};
use bristle_multibody::{JointKind, Poses, Reaction, State, Work, poses, reactions};
use hecs::{Component, Entity, World};

/// Puts states, accelerations and reactions on the joints and poses on the links.
///
/// `a` are the accelerations at `state` under what acts there; poses and reactions (`n_bodies`) are scratch. Components that are missing are added, which moves an
/// entity to another archetype, once; after that nothing is allocated.
pub fn write_back(
    world: &mut World,
    compiled: &Compiled,
    work: &mut Work,
    (places, forces): (&mut Poses, &mut [Reaction]),
    state: &State,
    a: &[f64],
) -> Result<()> {
    let model = &compiled.model;
    let failed = |source| Error::Mechanics { t: state.t, source };
    reactions(model, work, &state.q, &state.v, a, forces).map_err(failed)?;
    poses(model, work, places).map_err(failed)?;
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
        put(world, entity, forces[i]);
    }
    for (i, entity) in compiled.index.links() {
        put(world, entity, Pose(places.link(model, i).map_err(failed)?));
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
