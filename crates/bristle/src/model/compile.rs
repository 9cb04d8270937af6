//! World to flat arrays.
//!
//! [`compile`] reads every link and joint of a world, once, and orders them parent before child, siblings by name.
//! Names and topology alone determine the order, not spawn order or archetype. Numerical code does not access the
//! world afterwards; the [`Index`] maps entities to numbers.
//!
//! States are not compiled: they belong to the entities ([`JointState`], [`FreeState`]), and [`read_state`] reads
//! them, so that a world edited and compiled again continues from its state.

mod couplings;
mod effort_limits;
mod reducers;
mod state;
mod stops;
#[cfg(test)]
mod tests;

pub(crate) use state::{check_length, check_state, placement_of, twist_of};
pub use state::{read_bristles, read_integrals, read_state};

use crate::error::{Error, Result};
use crate::model::bearing::Bearing;
use crate::model::{Compiled, Contact, Damper, DriveAt, Inputs, Model, SpringAt, WrenchAt, signal_of};
use crate::world::component::{
    BristleState, Closure, Coupling, Damping, Drive, Effort, EffortLimit, ExternalWrench, FreeState, Friction, Gravity,
    Joint, JointState, Link, Load, Name, Offset, Open, Spring,
};
use bristle_friction::{FrictionLaw, Law};
use bristle_multibody::spatial::Force;
use bristle_multibody::{JointKind, JointSpec, Model as Tree, ModelBuilder};
use hecs::{Entity, World};
use std::collections::HashMap;
use std::sync::Arc;

/// Map between entities and numbers, both ways. Body and joint 0 are the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    joints: Vec<Entity>,
    links: Vec<Entity>,
    joint_of: HashMap<Entity, usize>,
    link_of: HashMap<Entity, usize>,
    couplings: Vec<(Entity, Coupling)>,
    closures: Vec<(Entity, Closure)>,
    /// Links and joints at compilation.
    described: (Vec<Link>, Vec<Joint>),
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

    /// Entity of coupling `k`.
    pub fn coupling_entity(&self, k: usize) -> Entity {
        self.couplings[k].0
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
    let tree = builder.build()?;
    let found_links = tree.link_names.iter().skip(1).filter_map(|name| link_named.get(name.as_str()));
    let (link_entities, links): (Vec<_>, Vec<_>) = found_links.copied().unzip();
    let found_joints = tree.joint_names.iter().skip(1).filter_map(|name| joint_named.get(name.as_str()));
    let (joint_entities, joints): (Vec<_>, Vec<_>) = found_joints.copied().unzip();
    let number = |entities: &[Entity]| entities.iter().enumerate().map(|(k, &e)| (e, k + 1)).collect();
    let mut index = Index {
        joint_of: number(&joint_entities),
        link_of: number(&link_entities),
        joints: joint_entities,
        links: link_entities,
        couplings: Vec::new(),
        closures: Vec::new(),
        described: (links, joints),
    };

    let mut inputs = Inputs {
        effort: vec![0.0; tree.n_v],
        offset: vec![0.0; tree.n_v],
        wrenches: Vec::new(),
        dampers: Vec::new(),
        springs: Vec::new(),
        drives: Arc::default(),
        effort_limits: Arc::default(),
        contacts: Arc::default(),
    };
    read_inputs(world, &tree, &index, &mut inputs)?;
    inputs.drives = read_drives(world, &tree, &index)?.into();
    inputs.effort_limits = effort_limits::read_effort_limits(world, &tree, &index, &inputs.drives)?.into();
    let mut contacts = read_friction(world, &tree, &index)?;
    let coupled = couplings::read(world, &tree, &mut index, &mut contacts)?;
    stops::read(world, &tree, &index, &mut contacts)?;
    reducers::refuse(&tree, &coupled, &inputs.drives, &contacts)?;
    inputs.contacts = contacts.into();
    Ok(Compiled { model: Arc::new(Model::new(tree, index, coupled, &inputs)), inputs })
}

/// Reads efforts, dampers, springs and wrenches again. Allocates only if their number grows; changes nothing if it
/// refuses.
pub fn read_actions(world: &World, model: &Model, inputs: &mut Inputs) -> Result<()> {
    read_inputs(world, &model.tree, &model.index, inputs)
}

impl Compiled {
    /// Entity of a contact.
    pub fn contact_entity(&self, c: usize) -> Option<Entity> {
        let (contact, index) = (&self.inputs.contacts[c], &self.model.index);
        match contact.element {
            Some(k) => Some(index.coupling_entity(k)),
            None => index.joint_entity(contact.joint),
        }
    }

    /// Whether links, joints, gravity, drives and the set of dampers are still those of `world`; if not, compile again.
    /// O(n), no allocation.
    pub fn is_current(&self, world: &World) -> bool {
        let (Model { tree, index, .. }, inputs) = (&*self.model, &self.inputs);
        let (links_then, joints_then) = &index.described;
        let mut n = (0, 0);
        let links = world.query::<(Entity, &Link, Option<&Name>)>().iter().all(|(entity, link, name)| {
            n.0 += 1;
            let Some(i) = index.link(entity) else { return false };
            links_then[i - 1] == *link && name.is_some_and(|name| name.0 == tree.link_names[i])
        });
        let joints = world.query::<(Entity, &Joint, Option<&Name>)>().iter().all(|(entity, joint, name)| {
            n.1 += 1;
            let Some(i) = index.joint(entity) else { return false };
            joints_then[i - 1] == *joint && name.is_some_and(|name| name.0 == tree.joint_names[i])
        });
        let mut dampers = inputs.dampers.iter();
        let same_dampers = index.joints().all(|(i, entity)| {
            let is_damped = world.get::<&Damping>(entity).is_ok_and(|d| d.0 != 0.0);
            !is_damped || dampers.next().is_some_and(|damper| damper.joint == i)
        }) && dampers.next().is_none();
        let mut drives = inputs.drives.iter();
        let same_drives = index.joints().all(|(i, entity)| {
            let drive = world.get::<&Drive>(entity).ok();
            drive.is_none_or(|drive| drives.next().is_some_and(|d| d.joint == i && *drive == d.drive))
        }) && drives.next().is_none();
        let mut contacts = inputs.frictions().iter().filter(|contact| contact.element.is_none());
        let same_friction = index.joints().all(|(i, entity)| {
            let Ok(friction) = world.get::<&Friction>(entity) else { return true };
            let load = world.get::<&Load>(entity).ok();
            contacts.next().is_some_and(|c| {
                c.joint == i && c.law == friction.0 && load.map_or(c.load == Load::Unit, |load| *load == c.load)
            })
        }) && contacts.next().is_none();
        let same_gravity = gravity(world).is_ok_and(|gravity| gravity.0 == tree.gravity);
        let same_couplings = self.has_current_couplings(world);
        let same_stops = stops::are_current(world, self);
        let mut limits = inputs.effort_limits.iter();
        let same_limits = index.joints().all(|(i, entity)| {
            let Ok(limit) = world.get::<&EffortLimit>(entity) else { return true };
            limits.next().is_some_and(|at| at.joint == i && at.limit == limit.0)
        }) && limits.next().is_none();
        let same_drives = same_drives && same_limits;
        let same_actions = same_dampers && same_drives && same_friction && same_gravity && same_couplings && same_stops;
        links && joints && same_actions && n == (links_then.len(), joints_then.len())
    }
}

/// Reads efforts, dampers, springs and wrenches. Allocates only if their number grows; changes nothing if it refuses.
fn read_inputs(world: &World, tree: &Tree, index: &Index, inputs: &mut Inputs) -> Result<()> {
    refuse_misplaced(world, tree, index)?;
    refuse_bad_numbers(world, tree, index)?;
    inputs.dampers.clear();
    inputs.springs.clear();
    inputs.wrenches.clear();
    for (joint, entity) in index.joints() {
        let mut query = world.query_one::<Actions<'_>>(entity);
        let Ok((effort, damping, spring, offset)) = query.get() else { continue };
        let (q, v) = (tree.q_index[joint], tree.v_index[joint]);
        if is_one_degree(&tree.kinds[joint]) {
            inputs.effort[v] = effort.map_or(0.0, |effort| effort.0);
            inputs.offset[v] = offset.map_or(0.0, |offset| offset.0);
        }
        if let Some(&Damping(damping)) = damping
            && damping > 0.0
        {
            inputs.dampers.push(Damper { joint, v, damping });
        }
        if let Some(&Spring { stiffness, rest }) = spring {
            inputs.springs.push(SpringAt { q, v, stiffness, rest });
        }
    }
    for (body, entity) in index.links() {
        if let Ok(wrench) = world.get::<&ExternalWrench>(entity) {
            inputs.wrenches.push(WrenchAt { body, wrench: Force::new(wrench.moment, wrench.force) });
        }
    }
    Ok(())
}

/// Refuses efforts, dampers, springs and wrenches with unusable numbers.
fn refuse_bad_numbers(world: &World, tree: &Tree, index: &Index) -> Result<()> {
    for (joint, entity) in index.joints() {
        let mut query = world.query_one::<Actions<'_>>(entity);
        let Ok((effort, damping, spring, offset)) = query.get() else { continue };
        let name = || tree.joint_names[joint].clone();
        if let Some(effort) = effort {
            finite(effort.0, "effort", name)?;
        }
        if let Some(offset) = offset {
            finite(offset.0, "offset", name)?;
        }
        if let Some(damping) = damping {
            not_negative(damping.0, "damping", name)?;
        }
        if let Some(spring) = spring {
            not_negative(spring.stiffness, "stiffness", name)?;
            finite(spring.rest, "rest", name)?;
        }
    }
    for (body, entity) in index.links() {
        let Ok(wrench) = world.get::<&ExternalWrench>(entity) else { continue };
        for &x in wrench.moment.iter().chain(wrench.force.iter()) {
            finite(x, "external wrench", || tree.link_names[body].clone())?;
        }
    }
    Ok(())
}

/// Reads the drives.
fn read_drives(world: &World, tree: &Tree, index: &Index) -> Result<Vec<DriveAt>> {
    let mut drives = Vec::new();
    for (joint, entity) in index.joints() {
        let Ok(drive) = world.get::<&Drive>(entity) else { continue };
        check_drive(tree, joint, &drive)?;
        let (q, v) = (tree.q_index[joint], tree.v_index[joint]);
        drives.push(DriveAt::new(joint, q, v, Drive::clone(&drive)));
    }
    Ok(drives)
}

/// Refuses a drive that no joint can follow.
pub(crate) fn check_drive(tree: &Tree, joint: usize, drive: &Drive) -> Result<()> {
    let name = || tree.joint_names[joint].clone();
    let of_servo = if let Drive::Servo { supply, enable, .. } = drive { [supply, enable] } else { [&None, &None] };
    let mut signals = [signal_of(drive)].into_iter().chain(of_servo.into_iter().flatten());
    if let Some(finding) = signals.find_map(|signal| signal.validate().into_iter().next()) {
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
        Drive::Servo { kp, kd, error_gain, delay, period, constant, resistance, duty_limit, voltage_limit, .. } => {
            for (what, value) in
                [("kp", kp), ("kd", kd), ("error_gain", error_gain), ("delay", delay), ("period", period)]
            {
                not_negative(*value, what, name)?;
            }
            let limits = [("resistance", resistance), ("duty_limit", duty_limit), ("voltage_limit", voltage_limit)];
            let limits = limits.into_iter().filter_map(|(what, value)| Some((what, value.as_ref()?)));
            [("constant", constant)]
                .into_iter()
                .chain(limits)
                .try_for_each(|(what, value)| positive(*value, what, name))
        }
        Drive::Effort(_) => Ok(()),
    }
}

/// Reads laws and loads.
fn read_friction(world: &World, tree: &Tree, index: &Index) -> Result<Vec<Contact>> {
    let mut contacts = Vec::new();
    for (joint, entity) in index.joints() {
        let Ok(friction) = world.get::<&Friction>(entity) else { continue };
        let name = || tree.joint_names[joint].clone();
        let load = world.get::<&Load>(entity).map_or(Load::Unit, |load| (*load).clone());
        validate_friction(&friction.0, &load, name)?;
        let turns = matches!(tree.kinds[joint], JointKind::Revolute { .. });
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
        let v = tree.v_index[joint];
        let (bearing, arm) =
            Bearing::of(&load, tree.armature()[v]).map_or((None, 1.0), |(bearing, arm)| (Some(bearing), arm));
        let law = friction.0.clone();
        contacts.push(Contact {
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
            stops: None,
        });
    }
    Ok(contacts)
}

/// Refuses components without effect: they must never be ignored.
fn refuse_misplaced(world: &World, tree: &Tree, index: &Index) -> Result<()> {
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
        Option<&'a Offset>,
        Option<&'a EffortLimit>,
    );
    let mut refused = Vec::new();
    for (entity, of_joint, wrench, name) in
        &mut world.query::<(Entity, OfJoints<'_>, Option<&ExternalWrench>, Option<&Name>)>()
    {
        let (effort, damping, spring, state, free, friction, load, drive, bristle, offset, effort_limit) = of_joint;
        let name = || name.map_or_else(|| format!("{entity:?}"), |name| name.0.clone());
        let mut refuse = |component, reason| refused.push((name(), component, reason));
        let kind = index.joint(entity).map(|i| tree.kinds[i]);
        for (component, is_there) in [
            ("Effort", effort.is_some()),
            ("Offset", offset.is_some()),
            ("Damping", damping.is_some()),
            ("Spring", spring.is_some()),
            ("JointState", state.is_some()),
            ("Friction", friction.is_some()),
            ("Load", load.is_some()),
            ("Drive", drive.is_some()),
            ("BristleState", bristle.is_some()),
            ("EffortLimit", effort_limit.is_some()),
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
        if wrench.is_some() && index.link(entity).is_none() {
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

/// The actions in a joint.
type Actions<'a> = (Option<&'a Effort>, Option<&'a Damping>, Option<&'a Spring>, Option<&'a Offset>);

const ONE_DEGREE: &str = "which belongs on revolute and prismatic joints";

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
        return Err(Error::Friction { joint: name(), law: law.name().to_owned(), reason: finding.to_string() });
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
        Load::Transmitted { .. } => reducers::check(law, load, name),
    }
}

fn positive(value: f64, what: &'static str, name: impl Fn() -> String) -> Result<()> {
    let range = "finite and positive";
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(Error::Number { name: name(), what, value, range }) }
}
