//! World to flat arrays.
//!
//! [`compile`] reads every link and joint of a world, once, and orders them parent before child, siblings by name.
//! Names and topology alone determine the order, not spawn order or archetype. Numerical code does not access the
//! world afterwards; the [`Index`] maps entities to numbers.
//!
//! States are not compiled: they belong to the entities ([`JointState`], [`FreeState`]), and [`read_state`] reads
//! them, so that a world edited and compiled again continues from its state.

pub use crate::armature_transfer::ArmatureTransfer;
use crate::bearing::Bearing;
use crate::component::{
    BristleState, Coupling, Damping, Drive, Effort, ExternalWrench, FreeState, Friction, Gravity, Joint, JointState,
    Link, Load, Name, Open, PidState, Spring, Twist,
};
use crate::coupled::Coupled;
use crate::error::{Error, Result};
use crate::signal::{Piece, Sample, Signal};
use bristle_friction::{FrictionLaw, Law, Mode};
use bristle_multibody::spatial::Force;
use bristle_multibody::{JointKind, JointSpec, Model, ModelBuilder, Placement, State};
use hecs::{Entity, World};
use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};
use std::collections::HashMap;

/// Map between entities and numbers, both ways. Body and joint 0 are the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    joints: Vec<Entity>,
    links: Vec<Entity>,
    joint_of: HashMap<Entity, usize>,
    link_of: HashMap<Entity, usize>,
}

impl Index {
    /// Entity of joint `i`, 1 ≤ i ≤ number of joints.
    pub fn joint_entity(&self, i: usize) -> Option<Entity> {
        self.joints.get(i.wrapping_sub(1)).copied()
    }

    /// Entity of link `i`, 1 ≤ i ≤ number of links.
    pub fn link_entity(&self, i: usize) -> Option<Entity> {
        self.links.get(i.wrapping_sub(1)).copied()
    }

    /// Number of a joint.
    pub fn joint(&self, entity: Entity) -> Option<usize> {
        self.joint_of.get(&entity).copied()
    }

    /// Number of a link.
    pub fn link(&self, entity: Entity) -> Option<usize> {
        self.link_of.get(&entity).copied()
    }

    /// Joints with their numbers, in order.
    pub fn joints(&self) -> impl ExactSizeIterator<Item = (usize, Entity)> + Clone + '_ {
        self.joints.iter().enumerate().map(|(k, &e)| (k + 1, e))
    }

    /// Links with their numbers, in order.
    pub fn links(&self) -> impl ExactSizeIterator<Item = (usize, Entity)> + Clone + '_ {
        self.links.iter().enumerate().map(|(k, &e)| (k + 1, e))
    }
}

/// A damper on one velocity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Damper {
    /// Joint it belongs to.
    pub joint: usize,
    /// Its velocity.
    pub v: usize,
    /// N·m·s/rad or N·s/m.
    pub damping: f64,
}

/// A spring on one coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringAt {
    /// Its position.
    pub q: usize,
    /// Its velocity.
    pub v: usize,
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// Position at which it is slack, rad or m.
    pub rest: f64,
}

/// A drive on one coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveAt {
    /// Joint it belongs to.
    pub joint: usize,
    /// Its position.
    pub q: usize,
    /// Its velocity.
    pub v: usize,
    /// Kind and parameters.
    pub drive: Drive,
}

/// The signal of a drive.
fn signal_of(drive: &Drive) -> &Signal {
    match drive {
        Drive::Effort(signal) | Drive::Motion(signal) => signal,
        Drive::Pull { target, .. } | Drive::Pid { target, .. } => target,
    }
}

impl DriveAt {
    /// The signal, an effort or a position.
    pub fn signal(&self) -> &Signal {
        signal_of(&self.drive)
    }

    /// Whether it has an integral of its error as a state.
    pub fn has_integral(&self) -> bool {
        matches!(self.drive, Drive::Pid { .. })
    }

    /// Effort, N·m or N, for the sample `signal` of the signal.
    pub fn effort(&self, signal: &Sample, q: f64, v: f64, integral: f64) -> f64 {
        match self.drive {
            Drive::Effort(_) => signal.value,
            Drive::Pull { stiffness, .. } => stiffness * (signal.value - q),
            Drive::Pid { kp, ki, kd, .. } => kp * (signal.value - q) + ki * integral - kd * v,
            // equilibrium determines it
            Drive::Motion(_) => 0.0,
        }
    }

    /// Derivatives of the effort in position, velocity and integral.
    pub fn slopes(&self) -> [f64; 3] {
        match self.drive {
            Drive::Effort(_) | Drive::Motion(_) => [0.0; 3],
            Drive::Pull { stiffness, .. } => [-stiffness, 0.0, 0.0],
            Drive::Pid { kp, ki, kd, .. } => [-kp, -kd, ki],
        }
    }
}

/// Friction in one joint or coupling: law × load. Its coordinate is that of the joint, or q_a − q_b of a clutch.
#[derive(Debug, Clone, PartialEq)]
pub struct Contact {
    /// Joint it belongs to; for a clutch, joint a.
    pub joint: usize,
    /// Its velocity.
    pub v: usize,
    /// Velocity of the other joint of a clutch, b.
    pub b: Option<usize>,
    /// Index of the coupling, if it belongs to one.
    pub element: Option<usize>,
    /// Friction per unit load.
    pub law: Law,
    /// Source of the normal load.
    pub load: Load,
    /// Lever, m: slip velocity = arm · joint velocity, effort = arm · N · law; 1 where slip is the joint velocity.
    pub arm: f64,
    /// Bearing that turns the joint's reaction into the load; `None` where the load is given.
    pub bearing: Option<Bearing>,
    /// For a one-way clutch: its load against negative slip, as a multiple of its largest load.
    pub reverse: Option<f64>,
    /// Behaviour of its bristles while the load is 0.
    pub open: Open,
}

impl Contact {
    /// Normal load and its rate, for the clamped sample `signal` of its signal; 0 where the load is a reaction.
    pub fn normal(&self, signal: &Sample) -> (f64, f64) {
        match self.load {
            Load::Unit => (1.0, 0.0),
            Load::Constant(n) => (n, 0.0),
            Load::Signal { max, geometry, .. } => (max * geometry * signal.value, max * geometry * signal.derivative),
            Load::Pin { .. } | Load::Thrust { .. } | Load::Guide { .. } => (0.0, 0.0),
        }
    }

    /// The same in one direction: against negative slip the load of a one-way clutch is a multiple of its largest load.
    pub fn normal_towards(&self, is_backward: bool, signal: &Sample) -> (f64, f64) {
        match self.reverse {
            Some(factor) if is_backward => (factor * self.largest(), 0.0),
            _ => self.normal(signal),
        }
    }

    /// The largest possible normal load; 0 where the load is a reaction.
    pub fn largest(&self) -> f64 {
        match self.load {
            Load::Unit => 1.0,
            Load::Constant(n) => n,
            Load::Signal { max, geometry, .. } => max * geometry,
            Load::Pin { .. } | Load::Thrust { .. } | Load::Guide { .. } => 0.0,
        }
    }

    /// Whether its load is 0 just after `t`, in both directions, and up to the next corner of its signal.
    pub fn is_open(&self, t: f64) -> bool {
        if self.bearing.is_some() || self.reverse.is_some() && self.largest() > 0.0 {
            return false;
        }
        // between corners a signal is monotone, and a clamped one is zero nowhere or everywhere
        let Some(signal) = self.signal() else { return self.largest() == 0.0 };
        let middle = signal.next_corner_clamped(t).map_or(t + 1.0, |corner| 0.5 * (t + corner));
        self.normal(&signal.sample_clamped(middle, Piece::After(t))).0 == 0.0
    }

    /// Whether its bristles keep their deflection under a load `n` of rate `n_rate`. A load that just leaves or
    /// reaches 0 counts as zero.
    #[inline]
    pub fn is_frozen(&self, n: f64, n_rate: f64) -> bool {
        self.open == Open::Frozen && n == 0.0 && n_rate == 0.0
    }

    /// Whether its law has no dry part, so that it cannot stick.
    pub fn never_sticks(&self) -> bool {
        self.law.event_driven().is_some_and(|law| law.stiction_level() == 0.0)
    }

    /// Whether it acts against negative slip: by its mode, or by the sign of its deflection or of the slip of a
    /// smooth law.
    #[inline]
    pub fn acts_backward(&self, mode: Mode, is_bent_backward: bool) -> bool {
        if self.is_event_driven() { mode == Mode::Backward } else { is_bent_backward }
    }

    /// Rate of its coordinate.
    #[inline]
    pub fn rate(&self, v: &[f64]) -> f64 {
        match self.b {
            None => v[self.v],
            Some(b) => v[self.v] - v[b],
        }
    }

    /// Whether this rate is a rounding error of the difference of two velocities.
    pub fn is_rounding(&self, v: &[f64]) -> bool {
        self.b.is_some_and(|b| self.rate(v).abs() <= 4.0 * f64::EPSILON * (v[self.v].abs() + v[b].abs()))
    }

    /// Subtracts a friction effort from the efforts on its joints.
    #[inline]
    pub fn take(&self, tau: &mut [f64], effort: f64) {
        tau[self.v] -= effort;
        if let Some(b) = self.b {
            tau[b] += effort;
        }
    }

    /// Signal of the load.
    pub fn signal(&self) -> Option<&Signal> {
        if let Load::Signal { signal, .. } = &self.load { Some(signal) } else { None }
    }

    /// Whether its load depends on a sign other than that of its mode: of its deflection, or of the slip of a smooth
    /// law.
    pub fn has_two_sides(&self) -> bool {
        self.reverse.is_some() && !self.is_event_driven()
    }

    /// Whether its load depends on the sign of its deflection.
    pub fn bends_two_ways(&self) -> bool {
        self.reverse.is_some() && self.law.n_states() > 0
    }

    /// Whether its modes change by events.
    pub fn is_event_driven(&self) -> bool {
        self.law.event_driven().is_some()
    }
}

/// An external wrench on one body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrenchAt {
    /// The body.
    pub body: usize,
    /// Moment about the link's origin and force, link axes.
    pub wrench: Force,
}

/// A machine in flat arrays, with everything that acts in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    /// Links and joints.
    pub model: Model,
    /// Map between entities and numbers.
    pub index: Index,
    /// Dampers, in joint order; none of them zero.
    pub dampers: Vec<Damper>,
    /// Springs, in joint order.
    pub springs: Vec<SpringAt>,
    /// Efforts of callers; `n_v`.
    pub effort: Vec<f64>,
    /// Wrenches of callers, in link order.
    pub wrenches: Vec<WrenchAt>,
    /// Drives, in joint order.
    pub drives: Vec<DriveAt>,
    /// Friction, in joint order; then that of couplings, in their order.
    pub contacts: Vec<Contact>,
    /// Couplings between coordinates.
    pub coupled: Coupled,
    /// Armature transfers to joints without inertia from joints coupled to them.
    pub armature_transfers: Vec<ArmatureTransfer>,
    /// Joints with a damper or friction, in order: each has an entry of heat in the ledger.
    pub heated: Vec<usize>,
    /// Couplings with a damper or friction, in order: their entries follow those of the joints.
    pub heated_elements: Vec<usize>,
    /// Links at compilation; `n_joints`.
    links: Vec<Link>,
    /// Joints at compilation; `n_joints`.
    joints: Vec<Joint>,
}

/// Compiles the machine that a world describes into flat arrays. O(n log n).
pub fn compile(world: &World) -> Result<Compiled> {
    let mut builder = ModelBuilder::new();
    builder.gravity(gravity(world)?.0);

    // links, by name
    let mut links = Vec::new();
    for (entity, link, name) in &mut world.query::<(Entity, &Link, Option<&Name>)>() {
        let name = name.ok_or(Error::Nameless { what: "link", entity })?;
        links.push((name.0.clone(), entity, *link));
    }
    links.sort_by(|a, b| a.0.cmp(&b.0));
    let mut name_of = HashMap::with_capacity(links.len());
    let mut link_named = HashMap::with_capacity(links.len());
    for (name, entity, link) in &links {
        builder.link(name, (*link).into());
        name_of.insert(*entity, name.as_str());
        link_named.insert(name.as_str(), (*entity, *link));
    }

    // joints, by name
    let mut joints = Vec::new();
    for (entity, joint, name) in &mut world.query::<(Entity, &Joint, Option<&Name>)>() {
        let name = name.ok_or(Error::Nameless { what: "joint", entity })?;
        joints.push((name.0.clone(), entity, *joint));
    }
    joints.sort_by(|a, b| a.0.cmp(&b.0));
    let mut joint_named = HashMap::with_capacity(joints.len());
    for (name, entity, joint) in &joints {
        let not_a_link = |end, entity| Error::NotALink { joint: name.clone(), end, entity };
        let parent = match joint.parent {
            None => "world",
            Some(parent) => name_of.get(&parent).ok_or_else(|| not_a_link("parent", parent))?,
        };
        let child = name_of.get(&joint.child).ok_or_else(|| not_a_link("child", joint.child))?;
        let mut spec = JointSpec::new(name, parent, child, joint.kind);
        spec.placement = joint.placement;
        spec.armature = joint.armature;
        builder.joint(spec);
        joint_named.insert(name.as_str(), (*entity, *joint));
    }

    // numbers to entities
    let model = builder.build()?;
    let found_links = model.link_names.iter().skip(1).filter_map(|name| link_named.get(name.as_str()));
    let (link_entities, links): (Vec<_>, Vec<_>) = found_links.copied().unzip();
    let found_joints = model.joint_names.iter().skip(1).filter_map(|name| joint_named.get(name.as_str()));
    let (joint_entities, joints): (Vec<_>, Vec<_>) = found_joints.copied().unzip();
    let number = |entities: &[Entity]| entities.iter().enumerate().map(|(k, &e)| (e, k + 1)).collect();
    let index = Index {
        joint_of: number(&joint_entities),
        link_of: number(&link_entities),
        joints: joint_entities,
        links: link_entities,
    };

    let effort = vec![0.0; model.n_v];
    let mut compiled = Compiled {
        model,
        index,
        dampers: Vec::new(),
        springs: Vec::new(),
        effort,
        wrenches: Vec::new(),
        drives: Vec::new(),
        contacts: Vec::new(),
        coupled: Coupled::default(),
        armature_transfers: Vec::new(),
        heated: Vec::new(),
        heated_elements: Vec::new(),
        links,
        joints,
    };
    compiled.read_actions(world)?;
    compiled.read_drives(world)?;
    compiled.read_friction(world)?;
    let dampers = compiled.dampers.iter().map(|damper| damper.joint);
    compiled.heated = dampers.chain(compiled.contacts.iter().map(|contact| contact.joint)).collect();
    compiled.heated.sort_unstable();
    compiled.heated.dedup();
    compiled.coupled = Coupled::read(world, &compiled.model, &compiled.index, &mut compiled.contacts)?;
    let springs = compiled.coupled.springs.iter().map(|spring| spring.element);
    compiled.heated_elements = springs.chain(compiled.contacts.iter().filter_map(|contact| contact.element)).collect();
    compiled.heated_elements.sort_unstable();
    compiled.transfer_armature();
    Ok(compiled)
}

impl Compiled {
    /// Name of a contact: its joint's, or its coupling's.
    pub fn contact_name(&self, c: usize) -> &str {
        let contact = &self.contacts[c];
        match contact.element {
            Some(k) => &self.coupled.elements[k].name,
            None => &self.model.joint_names[contact.joint],
        }
    }

    /// Entity of a contact.
    pub fn contact_entity(&self, c: usize) -> Option<Entity> {
        let contact = &self.contacts[c];
        match contact.element {
            Some(k) => Some(self.coupled.elements[k].entity),
            None => self.index.joint_entity(contact.joint),
        }
    }

    /// Steady bristle state of a contact at the velocities `v`, or those of prescribed motions at `t`; 0 if its law
    /// has none.
    pub(crate) fn steady_bristle(&self, c: usize, t: f64, v: &[f64]) -> BristleState {
        let contact = &self.contacts[c];
        if contact.law.n_states() == 0 {
            return BristleState::default();
        }
        let velocity = |k: usize| {
            let motion = self.drives.iter().find(|at| at.v == k && matches!(at.drive, Drive::Motion(_)));
            motion.map_or(v[k], |at| at.signal().derivative(t))
        };
        let rate = contact.b.map_or_else(|| velocity(contact.v), |b| velocity(contact.v) - velocity(b));
        let state = contact.law.initial_state(contact.arm * rate);
        BristleState { z: contact.law.deflection(state), w: state[1] }
    }

    /// Index of the heat of a contact among those of `heated` and `heated_elements`.
    pub(crate) fn heat_of(&self, contact: &Contact) -> usize {
        match contact.element {
            Some(k) => self.heat_of_element(k),
            None => self.heat_of_joint(contact.joint),
        }
    }

    /// The same for a joint with a damper or friction.
    #[expect(clippy::expect_used, reason = "`compile` lists every joint that dissipates")]
    pub(crate) fn heat_of_joint(&self, joint: usize) -> usize {
        self.heated.binary_search(&joint).expect("`heated` holds every joint with a damper or friction: see `compile`")
    }

    /// The same for an element.
    #[expect(clippy::expect_used, reason = "`compile` lists every coupling that dissipates")]
    pub(crate) fn heat_of_element(&self, k: usize) -> usize {
        let found = self.heated_elements.binary_search(&k);
        self.heated.len() + found.expect("`heated_elements` holds every coupling that dissipates: see `compile`")
    }

    /// Reads efforts, dampers, springs and wrenches again. Allocates only if their number grows; changes nothing if it
    /// refuses.
    pub fn read_actions(&mut self, world: &World) -> Result<()> {
        self.refuse_misplaced(world)?;
        self.refuse_bad_numbers(world)?;
        self.dampers.clear();
        self.springs.clear();
        self.wrenches.clear();
        let (model, index) = (&self.model, &self.index);
        for (joint, entity) in index.joints() {
            let mut query = world.query_one::<Actions<'_>>(entity);
            let Ok((effort, damping, spring)) = query.get() else { continue };
            let (q, v) = (model.q_index[joint], model.v_index[joint]);
            if is_one_degree(&model.kinds[joint]) {
                self.effort[v] = effort.map_or(0.0, |effort| effort.0);
            }
            if let Some(&Damping(damping)) = damping
                && damping > 0.0
            {
                self.dampers.push(Damper { joint, v, damping });
            }
            if let Some(&Spring { stiffness, rest }) = spring {
                self.springs.push(SpringAt { q, v, stiffness, rest });
            }
        }
        for (body, entity) in index.links() {
            if let Ok(wrench) = world.get::<&ExternalWrench>(entity) {
                self.wrenches.push(WrenchAt { body, wrench: Force::new(wrench.moment, wrench.force) });
            }
        }
        Ok(())
    }

    /// Refuses efforts, dampers, springs and wrenches with unusable numbers.
    fn refuse_bad_numbers(&self, world: &World) -> Result<()> {
        for (joint, entity) in self.index.joints() {
            let mut query = world.query_one::<Actions<'_>>(entity);
            let Ok((effort, damping, spring)) = query.get() else { continue };
            let name = || self.model.joint_names[joint].clone();
            if let Some(effort) = effort {
                finite(effort.0, "effort", name)?;
            }
            if let Some(damping) = damping {
                not_negative(damping.0, "damping", name)?;
            }
            if let Some(spring) = spring {
                not_negative(spring.stiffness, "stiffness", name)?;
                finite(spring.rest, "rest", name)?;
            }
        }
        for (body, entity) in self.index.links() {
            let Ok(wrench) = world.get::<&ExternalWrench>(entity) else { continue };
            for &x in wrench.moment.iter().chain(wrench.force.iter()) {
                finite(x, "external wrench", || self.model.link_names[body].clone())?;
            }
        }
        Ok(())
    }

    /// Reads the drives.
    fn read_drives(&mut self, world: &World) -> Result<()> {
        let model = &self.model;
        for (joint, entity) in self.index.joints() {
            let Ok(drive) = world.get::<&Drive>(entity) else { continue };
            self.check_drive(joint, &drive)?;
            let (q, v) = (model.q_index[joint], model.v_index[joint]);
            let at = DriveAt { joint, q, v, drive: Drive::clone(&drive) };
            self.drives.push(at);
        }
        Ok(())
    }

    /// Refuses a drive that no joint can follow.
    pub(crate) fn check_drive(&self, joint: usize, drive: &Drive) -> Result<()> {
        let name = || self.model.joint_names[joint].clone();
        if let Some(finding) = signal_of(drive).validate().into_iter().next() {
            return Err(Error::Signal { joint: name(), path: finding.path, reason: finding.reason });
        }
        match drive {
            Drive::Pull { stiffness, .. } => not_negative(*stiffness, "stiffness", name),
            Drive::Pid { kp, ki, kd, .. } => {
                [(kp, "kp"), (ki, "ki"), (kd, "kd")].into_iter().try_for_each(|(gain, what)| finite(*gain, what, name))
            }
            Drive::Motion(signal) => match signal.first_jump() {
                Some(t) => {
                    let reason = format!("the position jumps at t = {t} s; a joint cannot follow: make it a `Table`");
                    Err(Error::Signal { joint: name(), path: "Motion".into(), reason })
                }
                None => Ok(()),
            },
            Drive::Effort(_) => Ok(()),
        }
    }

    /// Reads laws and loads.
    fn read_friction(&mut self, world: &World) -> Result<()> {
        let model = &self.model;
        for (joint, entity) in self.index.joints() {
            let Ok(friction) = world.get::<&Friction>(entity) else { continue };
            let name = || model.joint_names[joint].clone();
            let load = world.get::<&Load>(entity).map_or(Load::Unit, |load| (*load).clone());
            validate_friction(&friction.0, &load, name)?;
            let turns = matches!(model.kinds[joint], JointKind::Revolute { .. });
            let reason = match load {
                Load::Pin { .. } | Load::Thrust { .. } if !turns => {
                    Some("a pin or thrust load, which belongs on revolute joints")
                }
                Load::Guide { .. } if turns => Some("a guide load, which belongs on prismatic joints"),
                _ => None,
            };
            if let Some(reason) = reason {
                return Err(Error::Misplaced { name: name(), component: "Load", reason });
            }
            let v = model.v_index[joint];
            let (bearing, arm) = Bearing::of(&load).map_or((None, 1.0), |(bearing, arm)| (Some(bearing), arm));
            let law = friction.0.clone();
            self.contacts.push(Contact {
                joint,
                v,
                b: None,
                element: None,
                law,
                load,
                arm,
                bearing,
                reverse: None,
                open: Open::Law,
            });
        }
        Ok(())
    }

    /// Whether links, joints, gravity, drives and the set of dampers are still those of `world`; if not, compile again.
    /// O(n), no allocation.
    pub fn is_current(&self, world: &World) -> bool {
        let model = &self.model;
        let mut n = (0, 0);
        let links = world.query::<(Entity, &Link, Option<&Name>)>().iter().all(|(entity, link, name)| {
            n.0 += 1;
            let Some(i) = self.index.link(entity) else { return false };
            self.links[i - 1] == *link && name.is_some_and(|name| name.0 == model.link_names[i])
        });
        let joints = world.query::<(Entity, &Joint, Option<&Name>)>().iter().all(|(entity, joint, name)| {
            n.1 += 1;
            let Some(i) = self.index.joint(entity) else { return false };
            self.joints[i - 1] == *joint && name.is_some_and(|name| name.0 == model.joint_names[i])
        });
        let mut dampers = self.dampers.iter();
        let same_dampers = self.index.joints().all(|(i, entity)| {
            let is_damped = world.get::<&Damping>(entity).is_ok_and(|d| d.0 != 0.0);
            !is_damped || dampers.next().is_some_and(|damper| damper.joint == i)
        }) && dampers.next().is_none();
        let mut drives = self.drives.iter();
        let same_drives = self.index.joints().all(|(i, entity)| {
            let drive = world.get::<&Drive>(entity).ok();
            drive.is_none_or(|drive| drives.next().is_some_and(|d| d.joint == i && *drive == d.drive))
        }) && drives.next().is_none();
        let mut contacts = self.contacts.iter().filter(|contact| contact.element.is_none());
        let same_friction = self.index.joints().all(|(i, entity)| {
            let Ok(friction) = world.get::<&Friction>(entity) else { return true };
            let load = world.get::<&Load>(entity).ok();
            contacts.next().is_some_and(|c| {
                c.joint == i && c.law == friction.0 && load.map_or(c.load == Load::Unit, |load| *load == c.load)
            })
        }) && contacts.next().is_none();
        let same_gravity = gravity(world).is_ok_and(|gravity| gravity.0 == model.gravity);
        let same_couplings = self.coupled.is_current(world, &self.contacts);
        let same_actions = same_dampers && same_drives && same_friction && same_gravity && same_couplings;
        links && joints && same_actions && n == (self.links.len(), self.joints.len())
    }

    /// Refuses components without effect: they must never be ignored.
    fn refuse_misplaced(&self, world: &World) -> Result<()> {
        type OfJoints<'a> = (
            Option<&'a Effort>,
            Option<&'a Damping>,
            Option<&'a Spring>,
            Option<&'a JointState>,
            Option<&'a FreeState>,
            Option<&'a Friction>,
            Option<&'a Load>,
            Option<&'a Drive>,
            Option<&'a BristleState>,
        );
        let mut refused = Vec::new();
        for (entity, of_joint, wrench, name) in
            &mut world.query::<(Entity, OfJoints<'_>, Option<&ExternalWrench>, Option<&Name>)>()
        {
            let (effort, damping, spring, state, free, friction, load, drive, bristle) = of_joint;
            let name = || name.map_or_else(|| format!("{entity:?}"), |name| name.0.clone());
            let mut refuse = |component, reason| refused.push((name(), component, reason));
            let kind = self.index.joint(entity).map(|i| self.model.kinds[i]);
            for (component, is_there) in [
                ("Effort", effort.is_some()),
                ("Damping", damping.is_some()),
                ("Spring", spring.is_some()),
                ("JointState", state.is_some()),
                ("Friction", friction.is_some()),
                ("Load", load.is_some()),
                ("Drive", drive.is_some()),
                ("BristleState", bristle.is_some()),
            ] {
                // the friction of couplings is checked with them
                let is_coupling = world.get::<&Coupling>(entity).is_ok();
                if is_there && !is_coupling && !kind.is_some_and(|kind| is_one_degree(&kind)) {
                    refuse(component, ONE_DEGREE);
                }
            }
            if free.is_some() && kind != Some(JointKind::Free) {
                refuse("FreeState", "which belongs on free joints");
            }
            if load.is_some() && friction.is_none() {
                refuse("Load", "but no `Friction` for it to scale");
            }
            if wrench.is_some() && self.index.link(entity).is_none() {
                refuse("ExternalWrench", "which belongs on links");
            }
        }
        // the same message for any order of the query
        refused.sort();
        match refused.into_iter().next() {
            Some((name, component, reason)) => Err(Error::Misplaced { name, component, reason }),
            None => Ok(()),
        }
    }
}

/// The actions in a joint.
type Actions<'a> = (Option<&'a Effort>, Option<&'a Damping>, Option<&'a Spring>);

const ONE_DEGREE: &str = "which belongs on revolute and prismatic joints";

/// Reads positions and velocities from the entities into `state`; joints without a state are at 0 and at rest.
pub fn read_state(world: &World, compiled: &Compiled, state: &mut State) -> Result<()> {
    let model = &compiled.model;
    for (i, entity) in compiled.index.joints() {
        let name = || model.joint_names[i].clone();
        let (q, v) = (&mut state.q[model.q_range(i)], &mut state.v[model.v_range(i)]);
        match model.kinds[i] {
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
pub(crate) fn check_state(model: &Model, q: &[f64], v: &[f64]) -> Result<()> {
    check_length("q", q.len(), model.n_q)?;
    check_length("v", v.len(), model.n_v)?;
    (1..model.n_bodies())
        .try_for_each(|i| check_joint(&q[model.q_range(i)], &v[model.v_range(i)], || model.joint_names[i].clone()))
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
    for (c, (contact, bristle)) in compiled.contacts.iter().zip(bristles).enumerate() {
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
    let pids = compiled.drives.iter().filter(|drive| drive.has_integral());
    for (drive, integral) in pids.zip(integrals) {
        let name = || compiled.model.joint_names[drive.joint].clone();
        let entity = compiled.index.joint_entity(drive.joint);
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

fn gravity(world: &World) -> Result<Gravity> {
    let mut query = world.query::<&Gravity>();
    let mut all = query.iter();
    match (all.next(), all.count()) {
        (None, _) => Ok(Gravity::default()),
        (Some(gravity), 0) => Ok(*gravity),
        (Some(_), others) => Err(Error::ManyGravities { count: others + 1 }),
    }
}

fn is_one_degree(kind: &JointKind) -> bool {
    matches!(kind, JointKind::Revolute { .. } | JointKind::Prismatic { .. })
}

fn finite(value: f64, what: &'static str, name: impl Fn() -> String) -> Result<()> {
    if value.is_finite() { Ok(()) } else { Err(Error::Number { name: name(), what, value, range: "finite" }) }
}

fn not_negative(value: f64, what: &'static str, name: impl Fn() -> String) -> Result<()> {
    let range = "finite and not negative";
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(Error::Number { name: name(), what, value, range }) }
}

/// Refuses laws and loads with unusable numbers.
pub(crate) fn validate_friction(law: &Law, load: &Load, name: impl Fn() -> String + Copy) -> Result<()> {
    if let Some(finding) = law.validate().into_iter().next() {
        return Err(Error::Friction { joint: name(), law: law.name(), reason: finding.to_string() });
    }
    match load {
        Load::Unit => Ok(()),
        Load::Constant(n) => not_negative(*n, "load", name),
        Load::Signal { max, signal, geometry } => {
            not_negative(*max, "largest load", name)?;
            not_negative(*geometry, "geometry of the load", name)?;
            match signal.validate().into_iter().next() {
                Some(finding) => Err(Error::Signal { joint: name(), path: finding.path, reason: finding.reason }),
                None => Ok(()),
            }
        }
        Load::Pin { radius } | Load::Thrust { radius } => not_negative(*radius, "radius of the load", name),
        Load::Guide { length } => positive(length.unwrap_or(1.0), "length of the guide", name),
    }
}

fn positive(value: f64, what: &'static str, name: impl Fn() -> String) -> Result<()> {
    let range = "finite and positive";
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(Error::Number { name: name(), what, value, range }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::{Describe, free, revolute};
    use crate::signal::Signal;
    use bristle_multibody::LinkInertia;

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
        assert_eq!(compiled.model.joint_names, ["world", "float", "hinge"]);
        assert_eq!((compiled.index.joint(float), compiled.index.joint(hinge)), (Some(1), Some(2)));
        assert_eq!((compiled.index.link(b), compiled.index.link(a)), (Some(1), Some(2)));
        assert_eq!(compiled.dampers, [Damper { joint: 2, v: 6, damping: 0.5 }]);
        assert_eq!(compiled.effort.len(), 7);
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
        let mut state = State::rest(&compiled.model);
        read_state(&world, &compiled, &mut state).unwrap();
        let twice = UnitQuaternion::new_unchecked(Quaternion::new(2.0, 0.0, 0.0, 0.0));
        world.get::<&mut FreeState>(joints[1]).unwrap().position.rotation = twice;
        let error = read_state(&world, &compiled, &mut state).unwrap_err().to_string();
        assert!(error.contains("norm of the quaternion of `float` is 2"), "{error}");
    }
}
