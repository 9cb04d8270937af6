//! Couplings in flat arrays: rows on joint coordinates.
//!
//! | coupling | row | |
//! |---|---|---|
//! | `Gear` | q_a − ratio q_b = offset | constraint |
//! | `Planetary` | ω_s + ratio ω_r − (1 + ratio) ω_c = 0 | constraint; the initial positions give the offset |
//! | `Linear` | Σ c q = offset | constraint |
//! | `SpringDamper` | q_a − q_b | spring, damper |
//! | `Clutch`, `OneWayClutch` | q_a − q_b | contact |
//! | `Brake` | q_a | contact |
//!
//! Couplings are in order of their names, whatever the order in which they were spawned.

use crate::bearing::Bearing;
use crate::compile::{Contact, Index, validate_friction};
use crate::component::{
    Coupling, Damping, Drive, Effort, ExternalWrench, FreeState, Friction, JointState, Load, Name, Open, Spring,
};
use crate::error::{Error, Result};
use bristle_friction::FrictionLaw;
use bristle_multibody::{JointKind, Model};
use hecs::{Entity, World};

/// A coupling by name and entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Its entity.
    pub entity: Entity,
    /// The coupling at compilation.
    pub coupling: Coupling,
}

/// A holonomic constraint Σ cᵢ qᵢ = offset.
#[derive(Debug, Clone, PartialEq)]
pub struct ConstraintRow {
    /// Index of the element.
    pub element: usize,
    /// Velocities and their coefficients, in the order of the coupling.
    pub terms: Vec<(usize, f64)>,
    /// Right-hand side; `None` where the initial positions determine it.
    pub offset: Option<f64>,
}

/// A spring and a damper on q_a − q_b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpringDamperAt {
    /// Index of the element.
    pub element: usize,
    /// Velocities of a and b.
    pub a: usize,
    /// See `a`.
    pub b: usize,
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// N·m·s/rad or N·s/m.
    pub damping: f64,
    /// q_a − q_b at which the spring is slack.
    pub rest: f64,
}

impl SpringDamperAt {
    /// Effort on a towards b, with positions and velocities by velocity index.
    pub fn effort(&self, q: &[f64], v: &[f64]) -> f64 {
        self.stiffness * (q[self.a] - q[self.b] - self.rest) + self.damping * (v[self.a] - v[self.b])
    }
}

/// The couplings of a world.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coupled {
    /// All couplings.
    pub elements: Vec<Element>,
    /// The constraints.
    pub constraints: Vec<ConstraintRow>,
    /// Springs and dampers between joints.
    pub springs: Vec<SpringDamperAt>,
}

impl Coupled {
    /// Reads the couplings of `world`; contacts of clutches and brakes are added to `contacts`.
    pub fn read(world: &World, model: &Model, index: &Index, contacts: &mut Vec<Contact>) -> Result<Self> {
        let mut coupled = Self::default();
        for (entity, coupling, name) in &mut world.query::<(Entity, &Coupling, Option<&Name>)>() {
            let name = name.ok_or(Error::Nameless { what: "coupling", entity })?;
            coupled.elements.push(Element { name: name.0.clone(), entity, coupling: coupling.clone() });
        }
        coupled.elements.sort_by(|a, b| a.name.cmp(&b.name));
        for k in 0..coupled.elements.len() {
            coupled.refuse_name(k, model)?;
            coupled.refuse_misplaced(k, world)?;
            coupled.place(k, world, model, index, contacts)?;
        }
        Ok(coupled)
    }

    /// Whether these are still the couplings of `world`, with the same friction.
    pub fn is_current(&self, world: &World, contacts: &[Contact]) -> bool {
        let mut query = world.query::<(Entity, &Coupling)>();
        query.iter().count() == self.elements.len()
            && self.elements.iter().enumerate().all(|(k, element)| {
                let same = world.get::<&Coupling>(element.entity).is_ok_and(|now| *now == element.coupling);
                let named = world.get::<&Name>(element.entity).is_ok_and(|name| name.0 == element.name);
                let contact = contacts.iter().find(|contact| contact.element == Some(k));
                let friction = contact.is_none_or(|contact| {
                    let load = world.get::<&Load>(element.entity).ok();
                    world.get::<&Friction>(element.entity).is_ok_and(|friction| friction.0 == contact.law)
                        && load.map_or(contact.load == Load::Unit, |load| *load == contact.load)
                        && open_bristles(world, element.entity) == contact.open
                });
                same && named && friction
            })
    }

    fn refuse_name(&self, k: usize, model: &Model) -> Result<()> {
        let name = &self.elements[k].name;
        let twice = k > 0 && self.elements[k - 1].name == *name;
        if twice || model.joint(name).is_some() {
            return Err(bristle_multibody::ModelError::DuplicateName { name: name.clone(), what: "coupling" }.into());
        }
        Ok(())
    }

    /// Refuses components without effect here.
    fn refuse_misplaced(&self, k: usize, world: &World) -> Result<()> {
        let Element { name, entity, coupling } = &self.elements[k];
        let misplaced = |component, reason| Err(Error::Misplaced { name: name.clone(), component, reason });
        type OfOthers<'a> = (
            Option<&'a Effort>,
            Option<&'a Damping>,
            Option<&'a Spring>,
            Option<&'a JointState>,
            Option<&'a FreeState>,
            Option<&'a Drive>,
            Option<&'a ExternalWrench>,
        );
        let mut query = world.query_one::<OfOthers<'_>>(*entity);
        if let Ok((None, None, None, None, None, None, None)) = query.get() {
        } else {
            return misplaced("Coupling", "and what belongs on joints or links");
        }
        let has_friction = world.get::<&Friction>(*entity).is_ok();
        let is_contact =
            matches!(coupling, Coupling::Clutch { .. } | Coupling::Brake { .. } | Coupling::OneWayClutch { .. });
        match (has_friction, is_contact) {
            (true, false) => misplaced("Friction", "which belongs on joints, clutches and brakes"),
            (false, true) => misplaced("Coupling", "a clutch or brake, but no `Friction`"),
            _ => Ok(()),
        }
    }

    /// Rows, springs and contacts of element `k`.
    fn place(
        &mut self,
        k: usize,
        world: &World,
        model: &Model,
        index: &Index,
        contacts: &mut Vec<Contact>,
    ) -> Result<()> {
        let Element { name, entity, coupling } = &self.elements[k];
        let v_of = |joint: &Entity| -> Result<usize> {
            let found = index
                .joint(*joint)
                .filter(|&i| matches!(model.kinds[i], JointKind::Revolute { .. } | JointKind::Prismatic { .. }));
            let reason = "which refers to an entity that is no revolute or prismatic joint of this world";
            let i = found.ok_or(Error::Misplaced { name: name.clone(), component: "Coupling", reason })?;
            Ok(model.v_index[i])
        };
        let finite = |value: f64, what| {
            let range = "finite";
            if value.is_finite() { Ok(value) } else { Err(Error::Number { name: name.clone(), what, value, range }) }
        };
        let at_least = |value: f64, least: f64, what, range| {
            let fine = value.is_finite() && value >= least;
            if fine { Ok(value) } else { Err(Error::Number { name: name.clone(), what, value, range }) }
        };
        let distinct = |a: usize, b: usize| {
            let reason = "which couples a joint to itself";
            if a == b { Err(Error::Misplaced { name: name.clone(), component: "Coupling", reason }) } else { Ok(()) }
        };
        let mut constraint =
            |terms: Vec<(usize, f64)>, offset| self.constraints.push(ConstraintRow { element: k, terms, offset });
        match coupling {
            Coupling::Gear { joints: [a, b], ratio, offset } => {
                let (a, b) = (v_of(a)?, v_of(b)?);
                distinct(a, b)?;
                finite(*ratio, "ratio")?;
                if *ratio == 0.0 {
                    return Err(Error::number(name, "ratio", 0.0, "other than 0"));
                }
                constraint(vec![(a, 1.0), (b, -ratio)], Some(finite(*offset, "offset")?));
            }
            Coupling::Planetary { sun, ring, carrier, ratio } => {
                let (s, r, c) = (v_of(sun)?, v_of(ring)?, v_of(carrier)?);
                distinct(s, r)?;
                distinct(r, c)?;
                distinct(s, c)?;
                at_least(*ratio, f64::MIN_POSITIVE, "ratio", "finite and positive")?;
                constraint(vec![(s, 1.0), (r, *ratio), (c, -1.0 - ratio)], None);
            }
            Coupling::Linear { terms, offset } => {
                let mut row: Vec<(usize, f64)> = Vec::with_capacity(terms.len());
                for (joint, coefficient) in terms {
                    let v = v_of(joint)?;
                    finite(*coefficient, "coefficient")?;
                    match row.iter_mut().find(|(other, _)| *other == v) {
                        Some((_, sum)) => *sum += coefficient,
                        None => row.push((v, *coefficient)),
                    }
                }
                row.retain(|(_, coefficient)| *coefficient != 0.0);
                if row.is_empty() {
                    let reason = "which couples nothing: it needs a coefficient other than 0";
                    return Err(Error::Misplaced { name: name.clone(), component: "Coupling", reason });
                }
                constraint(row, Some(finite(*offset, "offset")?));
            }
            Coupling::SpringDamper { joints: [a, b], stiffness, damping, rest } => {
                let (a, b) = (v_of(a)?, v_of(b)?);
                distinct(a, b)?;
                let stiffness = at_least(*stiffness, 0.0, "stiffness", "finite and not negative")?;
                let damping = at_least(*damping, 0.0, "damping", "finite and not negative")?;
                let rest = finite(*rest, "rest")?;
                self.springs.push(SpringDamperAt { element: k, a, b, stiffness, damping, rest });
            }
            Coupling::Clutch { joints: [a, b] } | Coupling::OneWayClutch { joints: [a, b], .. } => {
                let (a, b) = (v_of(a)?, v_of(b)?);
                distinct(a, b)?;
                let reverse = if let Coupling::OneWayClutch { lock_factor, .. } = coupling {
                    Some(at_least(*lock_factor, 1.0, "lock factor", "finite and at least 1")?)
                } else {
                    None
                };
                contacts.push(contact(world, name, *entity, model, (k, a, Some(b)), reverse)?);
            }
            Coupling::Brake { joint } => {
                let a = v_of(joint)?;
                contacts.push(contact(world, name, *entity, model, (k, a, None), None)?);
            }
        }
        Ok(())
    }
}

/// Behaviour of the bristles of an element while it is open.
fn open_bristles(world: &World, entity: Entity) -> Open {
    world.get::<&Open>(entity).map_or(Open::Law, |open| *open)
}

/// Friction of element `k` between velocities `v` and `b`.
fn contact(
    world: &World,
    name: &str,
    entity: Entity,
    model: &Model,
    (k, v, b): (usize, usize, Option<usize>),
    reverse: Option<f64>,
) -> Result<Contact> {
    let missing = Error::Misplaced { name: name.into(), component: "Coupling", reason: "but no `Friction`" };
    let law = world.get::<&Friction>(entity).map_err(|_| missing)?.0.clone();
    let load = world.get::<&Load>(entity).map_or(Load::Unit, |load| (*load).clone());
    validate_friction(&law, &load, || name.to_owned())?;
    if Bearing::of(&load).is_some() {
        let reason = "a load that is a reaction; a coupling has none: use `Signal` or `Constant`";
        return Err(Error::Misplaced { name: name.into(), component: "Load", reason });
    }
    if reverse.is_some() && law.n_states() > 1 {
        let reason = "a law with two states; a one-way clutch takes any other";
        return Err(Error::Misplaced { name: name.into(), component: "Friction", reason });
    }
    let open = open_bristles(world, entity);
    if open == Open::Frozen && reverse.is_some() {
        let reason = "on a one-way clutch: with frozen bristles it would never lock again";
        return Err(Error::Misplaced { name: name.into(), component: "Open", reason });
    }
    let joint = model.joint_of_velocity(v);
    Ok(Contact { joint, v, b, element: Some(k), law, load, arm: 1.0, bearing: None, reverse, open })
}
