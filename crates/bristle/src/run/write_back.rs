//! Writes states and results from arrays to components of a world, for a user's own systems to read.

use crate::error::{Error, Result};
use crate::model::Contact;
use crate::model::compile::{placement_of, twist_of};
use crate::run::Run;
use crate::stick_slip::Machine;
use crate::world::component::{
    Acceleration, BristleState, CouplingEffort, Dissipated, FreeAcceleration, FreeState, FrictionEffort, JointState,
    NormalLoad, PidState, Pose, SlipMode,
};
use bristle_friction::FrictionLaw;
use bristle_multibody::{JointKind, Model, Placement, Poses, Reaction, State};
use hecs::{Component, DynamicBundle, Entity, PreparedQuery, Query, World};

/// Prepared queries of the components that hold results; made once, so that a step does not look up the components of
/// every entity. Components that belong together are written together.
#[derive(Default)]
pub struct WriteBack {
    /// Poses of all bodies, as last written to the links.
    pub poses: Vec<Placement>,
    links: Places<(&'static mut Pose,)>,
    joints: Places<(&'static mut JointState, &'static mut Acceleration, &'static mut Reaction)>,
    free: Places<(&'static mut FreeState, &'static mut FreeAcceleration, &'static mut Reaction)>,
    fixed: Places<(&'static mut Reaction,)>,
    smooth: Places<(&'static mut FrictionEffort, &'static mut NormalLoad)>,
    dry: Places<(&'static mut FrictionEffort, &'static mut NormalLoad, &'static mut SlipMode)>,
    bristles: Places<(&'static mut FrictionEffort, &'static mut NormalLoad, &'static mut BristleState)>,
    heat: Places<(&'static mut Dissipated,)>,
    couplings: Places<(&'static mut CouplingEffort,)>,
    pids: Places<(&'static mut PidState,)>,
}

impl WriteBack {
    /// Writes states, accelerations, friction and reactions to the joints and poses to the links.
    ///
    /// The run must be evaluated at its present state. Missing components are added, which moves an entity to another
    /// archetype, once; after that nothing is allocated.
    pub(super) fn put(&mut self, world: &mut World, run: &mut Run) -> Result<()> {
        let t = run.state.mechanics.t;
        let (compiled, places, _) = run.system.dynamics.poses_and_reactions(t)?;
        let poses = &mut self.poses;
        fill(poses, &compiled.model.tree, places).map_err(|source| Error::Mechanics { t, source })?;
        self.links.put(world, compiled.model.index.links().map(|(i, entity)| (entity, (Pose(poses[i]),))));

        let (machine, at, state) = (&run.system, &run.state, &run.state.mechanics);
        let (compiled, a, forces) =
            (machine.dynamics.compiled(), machine.dynamics.accelerations(), machine.dynamics.reactions());
        let (model, index, coupled) = (&compiled.model.tree, &compiled.model.index, &compiled.model.coupled);
        let scalar = index.joints().filter_map(|(i, entity)| {
            let (JointKind::Revolute { .. } | JointKind::Prismatic { .. }) = model.kinds[i] else { return None };
            let (q, v) = (model.q_index[i], model.v_index[i]);
            let moving = JointState { position: state.q[q], velocity: state.v[v] };
            Some((entity, (moving, Acceleration(a[v]), forces[i])))
        });
        self.joints.put(world, scalar);
        let free = index.joints().filter(|(i, _)| matches!(model.kinds[*i], JointKind::Free)).map(|(i, entity)| {
            let (q, v) = (&state.q[model.q_range(i)], model.v_range(i));
            let moving = FreeState { position: placement_of(q), velocity: twist_of(&state.v[v.clone()]) };
            (entity, (moving, FreeAcceleration(twist_of(&a[v])), forces[i]))
        });
        self.free.put(world, free);
        let fixed = index.joints().filter(|(i, _)| matches!(model.kinds[*i], JointKind::Fixed));
        self.fixed.put(world, fixed.map(|(i, entity)| (entity, (forces[i],))));

        let (friction, loads, modes) =
            (machine.dynamics.friction(), machine.dynamics.loads(), machine.dynamics.modes());
        let contacts = |wanted: Kind| {
            let of_kind = move |&c: &usize| Kind::of(&compiled.inputs.contacts[c]) == wanted;
            (0..compiled.inputs.frictions().len()).filter(of_kind).filter_map(|c| {
                let reaction_loaded = (FrictionEffort(friction[c]), NormalLoad(loads[c]));
                compiled.contact_entity(c).map(|entity| (c, entity, reaction_loaded))
            })
        };
        self.smooth.put(world, contacts(Kind::Smooth).map(|(_, entity, reaction_loaded)| (entity, reaction_loaded)));
        self.dry.put(world, contacts(Kind::Dry).map(|(c, entity, (f, n))| (entity, (f, n, SlipMode(modes[c])))));
        let bristles = contacts(Kind::Bristles).map(|(c, entity, (f, n))| (entity, (f, n, at.bristles[c])));
        self.bristles.put(world, bristles);

        let of_joints = compiled.model.heated.iter().map(|&joint| index.joint_entity(joint));
        let of_elements = compiled.model.heated_elements.iter().map(|&k| Some(index.coupling_entity(k)));
        let heats = of_joints.chain(of_elements).zip(run.heats());
        self.heat.put(world, heats.filter_map(|(entity, heat)| Some((entity?, (Dissipated(heat),)))));
        let of_ties = coupled
            .constraints
            .iter()
            .map(|constraint| constraint.element)
            .zip(machine.dynamics.constraint_forces().iter().copied());
        let of_springs =
            coupled.springs.iter().enumerate().map(|(k, s)| (s.element, machine.dynamics.spring_effort(k)));
        let efforts = of_ties.chain(of_springs);
        self.couplings.put(world, efforts.map(|(k, effort)| (index.coupling_entity(k), (CouplingEffort(effort),))));
        let pids = compiled.inputs.drives.iter().filter(|drive| drive.has_integral()).zip(&at.integrals);
        let integrals = pids.filter_map(|(drive, &integral)| {
            index.joint_entity(drive.joint).map(|entity| (entity, (PidState { integral },)))
        });
        self.pids.put(world, integrals);
        Ok(())
    }

    /// Computes the poses of the links at a state at which the machine has not been evaluated; those of the entities
    /// stay. A state without finite poses changes nothing.
    pub(super) fn place(&mut self, machine: &mut Machine, at: &State) {
        if let Ok((compiled, _, places)) = machine.dynamics.links_at(&at.q, &at.v) {
            let _ = fill(&mut self.poses, &compiled.model.tree, places);
        }
    }
}

/// Link frames; the first is the world.
fn fill(
    poses: &mut Vec<Placement>,
    model: &Model,
    places: &Poses,
) -> std::result::Result<(), bristle_multibody::Error> {
    poses.resize(model.n_bodies(), Placement::identity());
    for (i, pose) in poses.iter_mut().enumerate().skip(1) {
        *pose = places.link(model, i)?;
    }
    Ok(())
}

/// Components of a contact besides friction and load.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Smooth,
    Dry,
    Bristles,
}

impl Kind {
    fn of(contact: &Contact) -> Self {
        match contact.law.n_states() {
            0 if contact.is_event_driven() => Self::Dry,
            0 => Self::Smooth,
            _ => Self::Bristles,
        }
    }
}

/// A prepared query of components that belong together.
struct Places<Q: Query>(PreparedQuery<Q>);

// SAFETY: a prepared query keeps pointers into the world of its last use and is therefore neither `Send` nor `Sync`.
// Every use makes them anew from the world at hand, which it borrows as a whole, and never reads the old ones.
// Components are `Send` and `Sync`.
unsafe impl<Q: Query> Send for Places<Q> {}
// SAFETY: as above; a shared reference has no methods.
unsafe impl<Q: Query> Sync for Places<Q> {}

impl<Q: Query> Default for Places<Q> {
    fn default() -> Self {
        Self(PreparedQuery::new())
    }
}

/// Components that belong together.
trait Together<Q: Query>: DynamicBundle + Copy {
    fn set(self, places: Q::Item<'_>);
}

/// Assigns a tuple of components to a tuple of mutable borrows.
macro_rules! together {
    ($($kind:ident $number:tt),+) => {
        impl<$($kind: Component + Copy),+> Together<($(&'static mut $kind,)+)> for ($($kind,)+) {
            #[inline]
            fn set(self, places: <($(&'static mut $kind,)+) as Query>::Item<'_>) {
                $(*places.$number = self.$number;)+
            }
        }
    };
}
together!(A 0);
together!(A 0, B 1);
together!(A 0, B 1, C 2);

impl<Q: Query> Places<Q> {
    /// Replaces components, or adds them. Entities that no longer exist are skipped.
    fn put<B: Together<Q>>(&mut self, world: &mut World, values: impl Iterator<Item = (Entity, B)> + Clone) {
        // nothing to write
        if values.clone().next().is_none() {
            return;
        }
        let mut view = self.0.view_mut(world);
        let mut is_missing = false;
        for (entity, value) in values.clone() {
            match view.get_mut(entity) {
                Some(places) => value.set(places),
                None => is_missing = true,
            }
        }
        if is_missing {
            for (entity, value) in values {
                let _ = world.insert(entity, value);
            }
        }
    }
}
