//! States of the entities of a world, and their numbers.

use super::finite;
use crate::error::{Error, Result};
use crate::model::Compiled;
use crate::world::component::{BristleState, FreeState, JointState, PidState, Twist};
use bristle_friction::FrictionLaw;
use bristle_multibody::{JointKind, Model as Tree, Placement, State};
use hecs::World;
use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};

/// Reads positions and velocities from the entities into `state`; joints without a state are at 0 and at rest.
pub fn read_state(world: &World, compiled: &Compiled, state: &mut State) -> Result<()> {
    let tree = &compiled.model.tree;
    for (i, entity) in compiled.model.index.joints() {
        let name = || tree.joint_names[i].clone();
        let (q, v) = (&mut state.q[tree.q_range(i)], &mut state.v[tree.v_range(i)]);
        match tree.kinds[i] {
            JointKind::Fixed => {}
            JointKind::Free => {
                let free = world.get::<&FreeState>(entity).map_or_else(|_| FreeState::default(), |free| *free);
                position_of(&free.position, q);
                v[..3].copy_from_slice(free.velocity.angular.as_slice());
                v[3..].copy_from_slice(free.velocity.linear.as_slice());
            }
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => {
                let one = world.get::<&JointState>(entity).map_or_else(|_| JointState::default(), |one| *one);
                (q[0], v[0]) = (one.position, one.velocity);
            }
        }
        check_joint(q, v, name)?;
    }
    Ok(())
}

/// Refuses positions and velocities of a joint that are not finite, and quaternions that are no rotation.
fn check_joint(q: &[f64], v: &[f64], name: impl Fn() -> String + Copy) -> Result<()> {
    q.iter().try_for_each(|&q| finite(q, "position", name))?;
    v.iter().try_for_each(|&v| finite(v, "velocity", name))?;
    if let [_, _, _, w, x, y, z] = *q {
        let norm = (w * w + x * x + y * y + z * z).sqrt();
        // rounded data are accepted, anything else is an error
        if (norm - 1.0).abs() > 1e-6 {
            return Err(Error::number(name(), "norm of the quaternion", norm, "1, for a rotation"));
        }
    }
    Ok(())
}

/// Refuses an array of another length.
pub(crate) fn check_length(what: &str, length: usize, n: usize) -> Result<()> {
    if length == n {
        return Ok(());
    }
    Err(Error::number(what, "length", length as f64, "the number of coordinates of the machine"))
}

/// Refuses an invalid state, with the name of the joint.
pub(crate) fn check_state(tree: &Tree, q: &[f64], v: &[f64]) -> Result<()> {
    check_length("q", q.len(), tree.n_q)?;
    check_length("v", v.len(), tree.n_v)?;
    (1..tree.n_bodies())
        .try_for_each(|i| check_joint(&q[tree.q_range(i)], &v[tree.v_range(i)], || tree.joint_names[i].clone()))
}

/// Reads the bristle state of each contact from the entities; contacts without one start steady at the velocities
/// `v`, or those of prescribed motions at `t`.
pub fn read_bristles(
    world: &World,
    compiled: &Compiled,
    t: f64,
    v: &[f64],
    bristles: &mut [BristleState],
) -> Result<()> {
    for (c, (contact, bristle)) in compiled.inputs.contacts.iter().zip(bristles).enumerate() {
        let name = || compiled.contact_name(c).to_owned();
        let found = compiled.contact_entity(c).map(|entity| world.get::<&BristleState>(entity));
        *bristle = match found {
            _ if contact.law.n_states() == 0 => BristleState::default(),
            Some(Ok(found)) => *found,
            _ => compiled.steady_bristle(c, t, v),
        };
        finite(bristle.z, "bristle z", name)?;
        finite(bristle.w, "bristle w", name)?;
    }
    Ok(())
}

/// Reads the integrals of the `Pid` drives, in order, from the entities; 0 without a state.
pub fn read_integrals(world: &World, compiled: &Compiled, integrals: &mut [f64]) -> Result<()> {
    let pids = compiled.inputs.drives.iter().filter(|drive| drive.has_integral());
    for (drive, integral) in pids.zip(integrals) {
        let name = || compiled.model.tree.joint_names[drive.joint].clone();
        let entity = compiled.model.index.joint_entity(drive.joint);
        let found = entity.and_then(|entity| world.get::<&PidState>(entity).ok());
        *integral = found.map_or(0.0, |state| state.integral);
        finite(*integral, "integral", name)?;
    }
    Ok(())
}

/// Position of a free joint, as the seven numbers x, y, z, then quaternion w, x, y, z.
fn position_of(placement: &Placement, q: &mut [f64]) {
    let (p, r) = (&placement.translation, &placement.rotation);
    q.copy_from_slice(&[p.x, p.y, p.z, r.w, r.i, r.j, r.k]);
}

/// The inverse of `position_of`, bit for bit.
pub(crate) fn placement_of(q: &[f64]) -> Placement {
    let rotation = UnitQuaternion::new_unchecked(Quaternion::new(q[3], q[4], q[5], q[6]));
    Placement::from_parts(Translation3::new(q[0], q[1], q[2]), rotation)
}

/// Six numbers, angular part first, as a twist.
pub(crate) fn twist_of(v: &[f64]) -> Twist {
    Twist { angular: Vector3::new(v[0], v[1], v[2]), linear: Vector3::new(v[3], v[4], v[5]) }
}
