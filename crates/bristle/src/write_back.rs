//! Arrays to world: states and results as components, for a user's own systems to read.

use crate::compile::{placement_of, twist_of};
use crate::component::{
    Acceleration, BristleState, CouplingEffort, Dissipated, FreeAcceleration, FreeState, FrictionEffort, JointState,
    NormalLoad, PidState, Pose, SlipMode,
};
use crate::error::{Error, Result};
use crate::formulation::{Machine, Snapshot};
use bristle_friction::FrictionLaw;
use bristle_multibody::{JointKind, Placement, Reaction};
use hecs::{Component, Entity, PreparedQuery, World};

/// Where results go in a world; made once, so that components are not looked up for every entity in every step.
#[derive(Default)]
pub struct WriteBack {
    /// Poses of all bodies, as they were put on the links last.
    pub poses: Vec<Placement>,
    pose: Places<Pose>,
    reaction: Places<Reaction>,
    joint_state: Places<JointState>,
    acceleration: Places<Acceleration>,
    free_state: Places<FreeState>,
    free_acceleration: Places<FreeAcceleration>,
    friction: Places<FrictionEffort>,
    load: Places<NormalLoad>,
    mode: Places<SlipMode>,
    bristle: Places<BristleState>,
    heat: Places<Dissipated>,
    coupling: Places<CouplingEffort>,
    pid: Places<PidState>,
}

impl WriteBack {
    /// Puts states, accelerations, friction and reactions on the joints and poses on the links.
    ///
    /// `machine` has been looked at where `at` was taken; `heat` is that of the joints of `Compiled::heated`. Components that
    /// are missing are added, which moves an entity to another archetype, once; after that nothing is allocated.
    pub fn put(&mut self, world: &mut World, machine: &mut Machine, at: &Snapshot, heat: &[f64]) -> Result<()> {
        let state = &at.mechanics;
        let (compiled, places, _) = machine.poses_and_reactions(state.t)?;
        let model = &compiled.model;
        let poses = &mut self.poses;
        poses.resize(model.n_bodies(), Placement::identity());
        for (i, pose) in poses.iter_mut().enumerate().skip(1) {
            *pose = places.link(model, i).map_err(|source| Error::Mechanics { t: state.t, source })?;
        }
        self.pose.put(world, compiled.index.links().map(|(i, entity)| (entity, Pose(poses[i]))));

        let (compiled, a, forces) = (machine.compiled(), machine.accelerations(), machine.reactions());
        let (model, index, coupled) = (&compiled.model, &compiled.index, &compiled.coupled);
        self.reaction.put(world, index.joints().map(|(i, entity)| (entity, forces[i])));
        let scalar = || {
            let is_scalar = |kind| matches!(kind, JointKind::Revolute { .. } | JointKind::Prismatic { .. });
            index.joints().filter(move |(i, _)| is_scalar(model.kinds[*i]))
        };
        let states = scalar().map(|(i, entity)| {
            (entity, JointState { position: state.q[model.q_index[i]], velocity: state.v[model.v_index[i]] })
        });
        self.joint_state.put(world, states);
        self.acceleration.put(world, scalar().map(|(i, entity)| (entity, Acceleration(a[model.v_index[i]]))));
        let free = || index.joints().filter(|(i, _)| matches!(model.kinds[*i], JointKind::Free));
        let states = free().map(|(i, entity)| {
            let (q, v) = (&state.q[model.q_range(i)], &state.v[model.v_range(i)]);
            (entity, FreeState { position: placement_of(q), velocity: twist_of(v) })
        });
        self.free_state.put(world, states);
        let of_free = free().map(|(i, entity)| (entity, FreeAcceleration(twist_of(&a[model.v_range(i)]))));
        self.free_acceleration.put(world, of_free);

        let (friction, loads, modes) = (machine.friction(), machine.loads(), machine.modes());
        let contacts =
            || (0..compiled.contacts.len()).filter_map(|c| compiled.contact_entity(c).map(|entity| (c, entity)));
        self.friction.put(world, contacts().map(|(c, entity)| (entity, FrictionEffort(friction[c]))));
        self.load.put(world, contacts().map(|(c, entity)| (entity, NormalLoad(loads[c]))));
        let dry = contacts().filter(|(c, _)| compiled.contacts[*c].is_event_driven());
        self.mode.put(world, dry.map(|(c, entity)| (entity, SlipMode(modes[c]))));
        let with_bristles = contacts().filter(|(c, _)| compiled.contacts[*c].law.n_states() > 0);
        self.bristle.put(world, with_bristles.map(|(c, entity)| (entity, at.bristles[c])));

        let of_joints = compiled.heated.iter().map(|&joint| index.joint_entity(joint));
        let of_elements = compiled.heated_elements.iter().map(|&k| Some(coupled.elements[k].entity));
        let heats = of_joints.chain(of_elements).zip(heat);
        self.heat.put(world, heats.filter_map(|(entity, &heat)| Some((entity?, Dissipated(heat)))));
        let of_ties = coupled.ties.iter().map(|tie| tie.element).zip(machine.tie_efforts().iter().copied());
        let of_springs = coupled.springs.iter().enumerate().map(|(k, s)| (s.element, machine.spring_effort(k)));
        let efforts = of_ties.chain(of_springs);
        self.coupling.put(world, efforts.map(|(k, effort)| (coupled.elements[k].entity, CouplingEffort(effort))));
        let pids = compiled.drives.iter().filter(|drive| drive.has_integral()).zip(&at.integrals);
        let integrals = pids.filter_map(|(drive, &integral)| {
            index.joint_entity(drive.joint).map(|entity| (entity, PidState { integral }))
        });
        self.pid.put(world, integrals);
        Ok(())
    }
}

/// Where components of one kind are.
struct Places<T: Component>(PreparedQuery<&'static mut T>);

// SAFETY: a prepared query keeps pointers into the world it was used on last, which is why it is neither; they are made anew from the
// world at hand, borrowed as a whole, whenever it is used, and never read before. Components are `Send` and `Sync`.
unsafe impl<T: Component> Send for Places<T> {}
// SAFETY: as above; besides, nothing can be done with a shared one.
unsafe impl<T: Component> Sync for Places<T> {}

impl<T: Component> Default for Places<T> {
    fn default() -> Self {
        Self(PreparedQuery::new())
    }
}

impl<T: Component + Copy> Places<T> {
    /// Replaces components, or adds them. Entities that have gone meanwhile are left alone.
    fn put(&mut self, world: &mut World, values: impl Iterator<Item = (Entity, T)> + Clone) {
        // nothing to put: not even a look
        if values.clone().next().is_none() {
            return;
        }
        let mut view = self.0.view_mut(world);
        let mut is_missing = false;
        for (entity, value) in values.clone() {
            match view.get_mut(entity) {
                Some(place) => *place = value,
                None => is_missing = true,
            }
        }
        if is_missing {
            for (entity, value) in values {
                let _ = world.insert_one(entity, value);
            }
        }
    }
}
