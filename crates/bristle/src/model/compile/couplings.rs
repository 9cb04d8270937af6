//! Couplings of a world to rows, springs and contacts: see [`crate::model::coupled`].

use super::{Index, validate_friction};
use crate::error::{Error, Result};
use crate::model::bearing::Bearing;
use crate::model::coupled::{Closure, ConstraintRow, Coupled, SpringDamperAt};
use crate::model::{Compiled, Contact, Model};
use crate::world::component::{
    Closure as LoopClosure, Coupling, Damping, Drive, Effort, ExternalWrench, FreeState, Friction, JointState, Limits,
    Load, Name, Open, Spring,
};
use bristle_friction::FrictionLaw;
use bristle_multibody::{JointKind, Model as Tree};
use hecs::{Entity, World};

/// A coupling by name and entity.
struct Element {
    name: String,
    entity: Entity,
    coupling: Coupling,
}

/// Reads the couplings of `world`; contacts of clutches and brakes are added to `contacts`, entities to `index`.
pub(super) fn read(world: &World, tree: &Tree, index: &mut Index, contacts: &mut Vec<Contact>) -> Result<Coupled> {
    let mut elements = Vec::new();
    for (entity, coupling, name) in &mut world.query::<(Entity, &Coupling, Option<&Name>)>() {
        let name = name.ok_or(Error::Nameless { what: "coupling", entity })?;
        elements.push(Element { name: name.0.clone(), entity, coupling: coupling.clone() });
    }
    elements.sort_by(|a, b| a.name.cmp(&b.name));
    let mut coupled = Coupled::default();
    for (k, element) in elements.iter().enumerate() {
        let is_twice = k > 0 && elements[k - 1].name == element.name;
        if is_twice || tree.joint(&element.name).is_some() {
            let name = element.name.clone();
            return Err(bristle_multibody::ModelError::DuplicateName { name, what: "coupling" }.into());
        }
        refuse_misplaced(element, world)?;
        place(&mut coupled, (k, element), world, tree, index, contacts)?;
    }
    for Element { name, entity, coupling } in elements {
        coupled.names.push(name);
        index.couplings.push((entity, coupling));
    }
    coupled.closures = read_closures(world, tree, index)?;
    Ok(coupled)
}

/// Reads the closures of loops, by name.
fn read_closures(world: &World, tree: &Tree, index: &mut Index) -> Result<Vec<Closure>> {
    let mut closures = Vec::new();
    for (entity, closure, name) in &mut world.query::<(Entity, &LoopClosure, Option<&Name>)>() {
        let name = name.ok_or(Error::Nameless { what: "loop joint", entity })?.0.clone();
        let body = |link: Option<Entity>| match link {
            None => Ok(0),
            Some(link) => index.link(link).ok_or(Error::NotALink { joint: name.clone(), end: "link", entity: link }),
        };
        let bodies = [body(closure.links[0])?, body(closure.links[1])?];
        if bodies[0] == bodies[1] {
            let reason = "which joins a link to itself";
            return Err(Error::Misplaced { name, component: "Closure", reason });
        }
        if index.joint(entity).is_some_and(|i| tree.kinds[i] == JointKind::Free) {
            return Err(Error::Misplaced { name, component: "Closure", reason: "which a free joint cannot have" });
        }
        if index.joint(entity).is_none() && world.get::<&Limits>(entity).is_ok() {
            return Err(Error::Misplaced { name, component: "Limits", reason: super::ONE_DEGREE });
        }
        let v = index.joint(entity).filter(|&i| !tree.v_range(i).is_empty()).map(|i| tree.v_index[i]);
        let LoopClosure { placements, is_point, .. } = *closure;
        closures.push((Closure { name, bodies, placements, is_point, v }, entity, *closure));
    }
    closures.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    index.closures = closures.iter().map(|(_, entity, closure)| (*entity, *closure)).collect();
    Ok(closures.into_iter().map(|(closure, ..)| closure).collect())
}

impl Compiled {
    /// Whether the couplings of `world` are still these, with the same friction.
    pub(super) fn has_current_couplings(&self, world: &World) -> bool {
        let (Model { index, coupled, .. }, contacts) = (&*self.model, &self.inputs.contacts);
        let mut query = world.query::<(Entity, &Coupling)>();
        let mut closures = world.query::<&LoopClosure>();
        let is_closed = |&(entity, closure): &(Entity, LoopClosure)| {
            world.get::<&LoopClosure>(entity).is_ok_and(|now| *now == closure)
        };
        query.iter().count() == index.couplings.len()
            && closures.iter().count() == index.closures.len()
            && index.closures.iter().all(is_closed)
            && index.couplings.iter().enumerate().all(|(k, &(entity, ref coupling))| {
                let same = world.get::<&Coupling>(entity).is_ok_and(|now| *now == *coupling);
                let named = world.get::<&Name>(entity).is_ok_and(|name| name.0 == coupled.names[k]);
                let contact = contacts.iter().find(|contact| contact.element == Some(k));
                let friction = contact.is_none_or(|contact| {
                    let load = world.get::<&Load>(entity).ok();
                    world.get::<&Friction>(entity).is_ok_and(|friction| friction.0 == contact.law)
                        && load.map_or(contact.load == Load::Unit, |load| *load == contact.load)
                        && open_bristles(world, entity) == contact.open
                });
                same && named && friction
            })
    }
}

/// Refuses components without effect here.
fn refuse_misplaced(element: &Element, world: &World) -> Result<()> {
    let Element { name, entity, coupling } = element;
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
    coupled: &mut Coupled,
    (k, element): (usize, &Element),
    world: &World,
    tree: &Tree,
    index: &Index,
    contacts: &mut Vec<Contact>,
) -> Result<()> {
    let Element { name, entity, coupling } = element;
    let v_of = |joint: &Entity| -> Result<usize> {
        let found = index
            .joint(*joint)
            .filter(|&i| matches!(tree.kinds[i], JointKind::Revolute { .. } | JointKind::Prismatic { .. }));
        let reason = "which refers to an entity that is no revolute or prismatic joint of this world";
        let i = found.ok_or(Error::Misplaced { name: name.clone(), component: "Coupling", reason })?;
        Ok(tree.v_index[i])
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
        |terms: Vec<(usize, f64)>, offset| coupled.constraints.push(ConstraintRow { element: k, terms, offset });
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
            coupled.springs.push(SpringDamperAt { element: k, a, b, stiffness, damping, rest });
        }
        Coupling::Clutch { joints: [a, b] } | Coupling::OneWayClutch { joints: [a, b], .. } => {
            let (a, b) = (v_of(a)?, v_of(b)?);
            distinct(a, b)?;
            let reverse = if let Coupling::OneWayClutch { lock_factor, .. } = coupling {
                Some(at_least(*lock_factor, 1.0, "lock factor", "finite and at least 1")?)
            } else {
                None
            };
            contacts.push(contact(world, name, *entity, tree, (k, a, Some(b)), reverse)?);
        }
        Coupling::Brake { joint } => {
            let a = v_of(joint)?;
            contacts.push(contact(world, name, *entity, tree, (k, a, None), None)?);
        }
    }
    Ok(())
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
    tree: &Tree,
    (k, v, b): (usize, usize, Option<usize>),
    reverse: Option<f64>,
) -> Result<Contact> {
    let missing = Error::Misplaced { name: name.into(), component: "Coupling", reason: "but no `Friction`" };
    let law = world.get::<&Friction>(entity).map_err(|_| missing)?.0.clone();
    let load = world.get::<&Load>(entity).map_or(Load::Unit, |load| (*load).clone());
    validate_friction(&law, &load, || name.to_owned())?;
    if Bearing::of(&load, 0.0).is_some() {
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
    let joint = tree.joint_of_velocity(v);
    Ok(Contact { joint, v, b, element: Some(k), law, load, arm: 1.0, bearing: None, reverse, open, stops: None })
}
