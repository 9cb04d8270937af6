//! Results without the world: by name, by entity, or whole arrays; nothing is allocated.
//!
//! | array | order | length or names |
//! |---|---|---|
//! | [`Simulation::positions`] | joints from the root to the tips | [`Simulation::position_names`] |
//! | [`Simulation::velocities`], [`Simulation::accelerations`] | the same | [`Simulation::velocity_names`] |
//! | [`Simulation::friction_efforts`], [`Simulation::loads`] | contacts | [`Simulation::contact_names`] |
//! | [`Simulation::modes`], [`Simulation::bristles`] | contacts | [`Simulation::contact_names`] |
//! | [`Simulation::reactions`] | joints, fixed ones included | [`Simulation::reaction_names`] |
//! | [`Simulation::poses`] | their child links | [`Simulation::link_names`] |
//!
//! Every array has names of its own, of the same length. Positions of a free joint are x y z, then the quaternion
//! w x y z; velocities are the angular, then the linear velocity, in child axes. A fixed joint has neither. Contacts
//! are the joints with friction in the same order, then the couplings with friction. Joints are in depth-first order,
//! each directly before its subtree, branches in the order of their names, for any order of spawning. Arrays change
//! with [`Simulation::step`] and the runs; after setters as described in the [module above](super). Their order
//! changes only with the machine.

use super::Simulation;
use crate::error::{Error, Result};
use crate::model::Compiled;
use crate::record::EventKind;
use crate::run::explain::unknown;
use crate::run::inputs::no_contact;
use crate::stick_slip::Machine;
use crate::world::component::BristleState;
use bristle_friction::Mode;
use bristle_integrate::{FiredEvent, Sink};
use bristle_multibody::{JointKind, Placement, Reaction};
use hecs::Entity;

/// A joint, link or coupling: its entity, or its name.
pub trait Handle: Copy {
    /// The entity or the name.
    fn target(&self) -> Target<'_>;
}

/// An element of a machine, by entity or by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target<'a> {
    /// Its entity.
    Entity(Entity),
    /// Its name.
    Name(&'a str),
}

impl Handle for Entity {
    fn target(&self) -> Target<'_> {
        Target::Entity(*self)
    }
}

impl Handle for &str {
    fn target(&self) -> Target<'_> {
        Target::Name(self)
    }
}

impl Handle for &String {
    fn target(&self) -> Target<'_> {
        Target::Name(self)
    }
}

impl Target<'_> {
    /// The number of the joint.
    fn joint(self, compiled: &Compiled) -> Option<usize> {
        match self {
            Self::Entity(entity) => compiled.model.index.joint(entity),
            Self::Name(name) => compiled.model.tree.joint(name).filter(|&i| i > 0),
        }
    }

    /// The number of the link.
    fn link(self, compiled: &Compiled) -> Option<usize> {
        match self {
            Self::Entity(entity) => compiled.model.index.link(entity),
            Self::Name(name) => compiled.model.tree.body(name).filter(|&i| i > 0),
        }
    }

    /// The number of the contact of this joint or coupling.
    pub(super) fn contact(self, compiled: &Compiled) -> Option<usize> {
        (0..compiled.inputs.frictions().len()).find(|&c| match self {
            Self::Entity(entity) => compiled.contact_entity(c) == Some(entity),
            Self::Name(name) => compiled.contact_name(c) == name,
        })
    }
}

impl std::fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Entity(entity) => write!(f, "{entity:?}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// A change of mode of a joint or coupling (it sticks, breaks away or reverses), an impact on a stop, or the release
/// from one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModeEvent {
    /// Time, s.
    pub t: f64,
    /// The contact: index in [`Simulation::modes`]; joints with stops and without friction come after those. Its name
    /// is [`Compiled::contact_name`].
    pub contact: usize,
    /// Mode before; of a stop, the direction of motion.
    pub from: Mode,
    /// Mode after.
    pub to: Mode,
    /// What happened.
    pub kind: EventKind,
}

/// A sink that stores the events of a step.
pub(super) struct Watch(pub Vec<ModeEvent>);

impl Sink<Machine> for Watch {
    fn step(&mut self, system: &mut Machine, t: f64, y: &[f64], quad: &[f64]) {
        if system.dynamics.is_real_time() {
            // a real-time step has no events: its mode changes are recorded at its end
            self.event(system, t, y, quad, &[]);
        }
    }

    fn event(&mut self, system: &mut Machine, t: f64, _y: &[f64], _quad: &[f64], _fired: &[FiredEvent]) {
        let event = |contact, from, to, kind| ModeEvent { t, contact, from, to, kind };
        let changes = system.dynamics.changes().iter();
        self.0.extend(changes.map(|change| event(change.contact, change.from, change.to, EventKind::Mode)));
        let stops = system.dynamics.stop_changes().iter();
        self.0.extend(stops.map(|change| event(change.contact, change.from, change.to, EventKind::of_stop(change))));
    }
}

/// Whole arrays.
impl Simulation {
    /// Names of the entries of [`Simulation::positions`]: the joint, of a free joint `NAME.x`, `.y`, `.z`, `.qw`,
    /// `.qx`, `.qy`, `.qz`.
    pub fn position_names(&self) -> Vec<String> {
        self.entry_names(&["x", "y", "z", "qw", "qx", "qy", "qz"])
    }

    /// Names of the entries of [`Simulation::velocities`], [`Simulation::accelerations`] and of efforts: the joint,
    /// of a free joint `NAME.wx`, `.wy`, `.wz`, `.vx`, `.vy`, `.vz`.
    pub fn velocity_names(&self) -> Vec<String> {
        self.entry_names(&["wx", "wy", "wz", "vx", "vy", "vz"])
    }

    /// The joints, those of one coordinate by name, of free joints an entry for each of `parts`.
    fn entry_names(&self, parts: &[&str]) -> Vec<String> {
        let model = &self.compiled().model.tree;
        let names = (1..model.n_bodies()).flat_map(|i| {
            let (name, n) = (&model.joint_names[i], model.v_range(i).len());
            let of_free = parts.iter().filter(move |_| n == 6).map(move |part| format!("{name}.{part}"));
            (n == 1).then(|| name.clone()).into_iter().chain(of_free)
        });
        names.collect()
    }

    /// Names of the entries of [`Simulation::reactions`]: all joints, those without a coordinate included.
    pub fn reaction_names(&self) -> &[String] {
        &self.compiled().model.tree.joint_names[1..]
    }

    /// Names of the entries of [`Simulation::poses`]: the links, each the child of the joint at the same place in
    /// [`Simulation::reaction_names`].
    pub fn link_names(&self) -> &[String] {
        &self.compiled().model.tree.link_names[1..]
    }

    /// Names of the joints and couplings with friction, in order.
    pub fn contact_names(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.compiled().inputs.frictions().len()).map(|c| self.compiled().contact_name(c))
    }

    /// Friction efforts, N·m or N, positive with positive slip.
    pub fn friction_efforts(&self) -> &[f64] {
        self.run.system.dynamics.friction()
    }

    /// Normal loads.
    pub fn loads(&self) -> &[f64] {
        self.run.system.dynamics.loads()
    }

    /// Modes; `Stuck` where a law has none.
    pub fn modes(&self) -> &[Mode] {
        self.run.system.dynamics.modes()
    }

    /// Bristle states; 0 where a law has none.
    pub fn bristles(&self) -> &[BristleState] {
        &self.shown().bristles
    }

    /// Joint reactions: parent on child, at the joint origin, in child axes.
    pub fn reactions(&self) -> &[Reaction] {
        &self.run.system.dynamics.reactions()[1..]
    }

    /// Link frames in the world.
    pub fn poses(&self) -> &[Placement] {
        self.results.poses.get(1..).unwrap_or(&[])
    }

    /// Mode changes, impacts on stops and releases since the last call to [`Simulation::step`], in order of time.
    pub fn events(&self) -> &[ModeEvent] {
        &self.events
    }
}

/// One number, by name or entity.
impl Simulation {
    /// Position of a revolute or prismatic joint, rad or m.
    pub fn position(&self, joint: impl Handle) -> Result<f64> {
        let i = self.one_degree(joint)?;
        Ok(self.positions()[self.compiled().model.tree.q_index[i]])
    }

    /// Velocity of a revolute or prismatic joint, rad/s or m/s.
    pub fn velocity(&self, joint: impl Handle) -> Result<f64> {
        let i = self.one_degree(joint)?;
        Ok(self.velocities()[self.compiled().model.tree.v_index[i]])
    }

    /// Acceleration of a revolute or prismatic joint, rad/s² or m/s².
    pub fn acceleration(&self, joint: impl Handle) -> Result<f64> {
        let i = self.one_degree(joint)?;
        Ok(self.accelerations()[self.compiled().model.tree.v_index[i]])
    }

    /// Effort of drive and caller together that acts on a revolute or prismatic joint, N·m or N: within its
    /// [`Simulation::effort_limit`].
    pub fn effort(&self, joint: impl Handle) -> Result<f64> {
        let i = self.one_degree(joint)?;
        Ok(self.run.system.dynamics.acting_effort(self.run.t(), self.compiled().model.tree.v_index[i]))
    }

    /// Largest effort of drive and caller together on a revolute or prismatic joint, N·m or N; infinite without a
    /// limit.
    pub fn effort_limit(&self, joint: impl Handle) -> Result<f64> {
        let i = self.one_degree(joint)?;
        let mut limits = self.compiled().inputs.effort_limits.iter();
        Ok(limits.find(|limit| limit.joint == i).map_or(f64::INFINITY, |limit| limit.limit))
    }

    /// Friction effort of a joint or coupling, N·m or N, positive with positive slip.
    pub fn friction_effort(&self, of: impl Handle) -> Result<f64> {
        Ok(self.run.system.dynamics.friction()[self.contact(of)?])
    }

    /// Normal load of a joint or coupling, N; 1 where the levels of its law are efforts.
    pub fn load(&self, of: impl Handle) -> Result<f64> {
        Ok(self.run.system.dynamics.loads()[self.contact(of)?])
    }

    /// Mode of a joint or coupling; `Stuck` where its law has none.
    pub fn mode(&self, of: impl Handle) -> Result<Mode> {
        Ok(self.run.system.dynamics.modes()[self.contact(of)?])
    }

    /// Bristles of a joint or coupling; 0 where its law has none.
    pub fn bristle(&self, of: impl Handle) -> Result<BristleState> {
        Ok(self.shown().bristles[self.contact(of)?])
    }

    /// Reaction of a joint: parent on child, at the joint origin, in child axes.
    pub fn reaction(&self, joint: impl Handle) -> Result<Reaction> {
        Ok(self.run.system.dynamics.reactions()[self.joint_number(joint)?.0])
    }

    /// A link's frame in the world.
    pub fn pose(&self, link: impl Handle) -> Result<Placement> {
        Ok(self.results.poses[self.link_number(link)?.0])
    }
}

impl Simulation {
    /// Number and entity of a joint.
    pub(super) fn joint_number(&self, joint: impl Handle) -> Result<(usize, Entity)> {
        let compiled = self.compiled();
        let found = joint.target().joint(compiled).and_then(|i| Some((i, compiled.model.index.joint_entity(i)?)));
        found.ok_or_else(|| unknown("joint", joint.target(), &compiled.model.tree.joint_names))
    }

    /// Number and entity of a link.
    pub(in crate::run) fn link_number(&self, link: impl Handle) -> Result<(usize, Entity)> {
        let compiled = self.compiled();
        let found = link.target().link(compiled).and_then(|i| Some((i, compiled.model.index.link_entity(i)?)));
        found.ok_or_else(|| unknown("link", link.target(), &compiled.model.tree.link_names))
    }

    /// Number of a revolute or prismatic joint.
    pub(super) fn one_degree(&self, joint: impl Handle) -> Result<usize> {
        let (i, _) = self.joint_number(joint)?;
        let model = &self.compiled().model.tree;
        match model.kinds[i] {
            JointKind::Revolute { .. } | JointKind::Prismatic { .. } => Ok(i),
            JointKind::Fixed => {
                let (name, instead) =
                    (model.joint_names[i].clone(), ": `reaction` is what it has, `pose` where its link is");
                Err(Error::NotSingle { name, kind: "fixed", instead })
            }
            JointKind::Free => {
                let instead = ": read `positions`, `velocities` and `pose`, or its `FreeState`; set it by `set_state`";
                Err(Error::NotSingle { name: model.joint_names[i].clone(), kind: "free", instead })
            }
        }
    }

    fn contact(&self, of: impl Handle) -> Result<usize> {
        let compiled = self.compiled();
        of.target().contact(compiled).ok_or_else(|| no_contact(compiled, of.target()))
    }

    /// Mode changes from `self.modes` to the present ones.
    pub(super) fn note_changes(&mut self) {
        let t = self.run.t();
        let changed =
            self.modes.iter().zip(self.run.system.dynamics.modes()).enumerate().filter(|(_, (from, to))| from != to);
        self.events.extend(changed.map(|(contact, (&from, &to))| {
            let kind = EventKind::Mode;
            ModeEvent { t, contact, from, to, kind }
        }));
    }
}
