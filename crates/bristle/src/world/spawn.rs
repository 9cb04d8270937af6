//! Scene to world: one entity per link, per joint and per coupling.

use crate::error::{Error, Result};
use crate::scene::{self, Scene, SceneError};
use crate::world::builder::{Describe, JointBuilder, loop_joint, spherical};
use crate::world::component::{BristleState, Coupling, Damping, Friction, Name, Offset, Spring};
use bristle_friction::{Coulomb, Law};
use bristle_multibody::spatial::Symmetric3;
use bristle_multibody::{JointKind, LinkInertia, ModelError, Placement};
use hecs::{Entity, World};
use nalgebra::{Quaternion, Translation3, UnitQuaternion, Vector3};
use std::collections::HashMap;

/// Puts the links, joints and couplings of a scene into a world.
pub fn spawn(scene: &Scene, world: &mut World) -> Result<()> {
    world.set_gravity(scene.gravity);

    let mut links: HashMap<&str, Entity> = HashMap::with_capacity(scene.links.len());
    for link in &scene.links {
        let entity = world.spawn_link(&link.name, inertia(link));
        if links.insert(&link.name, entity).is_some() {
            return Err(ModelError::DuplicateName { name: link.name.clone(), what: "link" }.into());
        }
    }
    let mut joints: HashMap<&String, Entity> = HashMap::with_capacity(scene.joints.len());
    for joint in &scene.joints {
        let link = |name: &String| {
            let missing = || ModelError::MissingLink { joint: joint.name.clone(), link: name.clone() };
            links.get(name.as_str()).copied().ok_or_else(missing)
        };
        let mut builder = JointBuilder::new(&joint.name, kind(&joint.kind)).placed(placement(&joint.placement));
        if joint.parent != "world" {
            builder = builder.from(link(&joint.parent)?);
        }
        builder = builder.to(link(&joint.child)?).armature(joint.armature);
        joints.insert(&joint.name, world.spawn_joint(components(builder, joint)));
    }
    // couplings may name loop joints
    let is_loop = |coupling: &&scene::Coupling| matches!(coupling, scene::Coupling::LoopJoint { .. });
    for coupling in scene.couplings.iter().filter(is_loop) {
        if let scene::Coupling::LoopJoint { name, .. } = coupling {
            joints.insert(name, close_loop(coupling, &links, world)?);
        }
    }
    for coupling in scene.couplings.iter().filter(|coupling| !is_loop(coupling)) {
        spawn_coupling(coupling, &joints, world)?;
        add_losses(scene, coupling, &joints, world);
    }
    Ok(())
}

/// A joint that closes a loop.
fn close_loop(coupling: &scene::Coupling, links: &HashMap<&str, Entity>, world: &mut World) -> Result<Entity> {
    let scene::Coupling::LoopJoint { name, kind: of, links: [first, second], placements, .. } = coupling else {
        return Err(Error::Unknown { what: "loop joint", name: coupling.name().into(), known: String::new() });
    };
    let link = |link: &String| match (link.as_str(), links.get(link.as_str())) {
        ("world", _) => Ok(None),
        (_, Some(&link)) => Ok(Some(link)),
        _ => Err(ModelError::MissingLink { joint: name.clone(), link: link.clone() }),
    };
    let (first, second) = (link(first)?, link(second)?);
    let [at_first, at_second] = placements.map(|at| placement(&at));
    let mut builder = match (of, coupling.loop_joint()) {
        (scene::LoopKind::Spherical, _) | (_, None) => spherical(name),
        (_, Some(joint)) => components(loop_joint(JointBuilder::new(name, kind(&joint.kind))), &joint),
    };
    builder = builder.placed(at_first).placed_second(at_second);
    if let Some(first) = first {
        builder = builder.from(first);
    }
    if let Some(second) = second {
        builder = builder.to(second);
    }
    Ok(world.spawn_joint(builder))
}

/// A coupling as an entity of its own.
fn spawn_coupling(coupling: &scene::Coupling, joints: &HashMap<&String, Entity>, world: &mut World) -> Result<()> {
    let joint = |name: &String| {
        let missing = || Error::Unknown { what: "joint", name: name.clone(), known: String::new() };
        joints.get(name).copied().ok_or_else(missing)
    };
    let both = |[a, b]: &[String; 2]| -> Result<[Entity; 2]> { Ok([joint(a)?, joint(b)?]) };
    let component = match coupling {
        scene::Coupling::Gear { joints, ratio, offset, .. } => {
            Coupling::Gear { joints: both(joints)?, ratio: *ratio, offset: *offset }
        }
        scene::Coupling::Planetary { sun, ring, carrier, ratio, .. } => {
            Coupling::Planetary { sun: joint(sun)?, ring: joint(ring)?, carrier: joint(carrier)?, ratio: *ratio }
        }
        scene::Coupling::Linear { terms, offset, .. } => {
            let terms: Result<Vec<(Entity, f64)>> = terms.iter().map(|(name, c)| Ok((joint(name)?, *c))).collect();
            Coupling::Linear { terms: terms?, offset: *offset }
        }
        scene::Coupling::SpringDamper { joints, stiffness, damping, rest, .. } => {
            let (stiffness, damping, rest) = (*stiffness, *damping, *rest);
            Coupling::SpringDamper { joints: both(joints)?, stiffness, damping, rest }
        }
        scene::Coupling::Clutch { joints, .. } => Coupling::Clutch { joints: both(joints)? },
        scene::Coupling::Brake { joint: name, .. } => Coupling::Brake { joint: joint(name)? },
        scene::Coupling::OneWayClutch { joints, lock_factor, .. } => {
            Coupling::OneWayClutch { joints: both(joints)?, lock_factor: *lock_factor }
        }
        scene::Coupling::LoopJoint { .. } => return Ok(()),
    };
    let entity = world.spawn((Name(coupling.name().into()), component));
    if let Some((law, load)) = coupling.friction() {
        // the entity exists since the lines above
        let _ = world.insert(entity, (Friction(law.clone()), load.clone(), coupling.open()));
    }
    Ok(())
}

/// The losses of a gear as friction of its first joint, which has none of its own.
fn add_losses(scene: &Scene, coupling: &scene::Coupling, joints: &HashMap<&String, Entity>, world: &mut World) {
    let scene::Coupling::Gear { joints: [first, _], .. } = coupling else { return };
    let Some(joint) = scene.joints.iter().find(|joint| joint.name == *first) else { return };
    let link = scene.links.iter().find(|link| link.name == joint.child);
    if let (Some(link), scene::Kind::Revolute { axis }, Some(&entity)) = (link, &joint.kind, joints.get(first))
        && let Some(load) = coupling.mesh(link, *axis)
    {
        // the entity exists since the joints were spawned
        let _ =
            world.insert(entity, (Friction(Law::Coulomb(Coulomb { coulomb: 1.0, stiction: 1.0, viscous: 0.0 })), load));
    }
}

/// Adds the components of a joint besides links and placement.
fn components(mut builder: JointBuilder, joint: &scene::Joint) -> JointBuilder {
    builder = match joint.kind {
        scene::Kind::Fixed => builder,
        scene::Kind::Free => {
            let scene::Twist { angular, linear } = joint.velocity.twist();
            builder.pose(placement(&joint.position.placement())).twist(angular, linear)
        }
        _ => builder.position(joint.position.scalar()).velocity(joint.velocity.scalar()),
    };
    if joint.damping != 0.0 {
        builder = builder.with(Damping(joint.damping));
    }
    if joint.offset != 0.0 {
        builder = builder.with(Offset(joint.offset));
    }
    if let Some(scene::Spring { stiffness, rest }) = joint.spring {
        builder = builder.with(Spring { stiffness, rest });
    }
    if let Some(law) = &joint.friction {
        builder = builder.with(Friction(law.clone())).with(joint.load.clone());
    }
    if let Some(scene::Bristle { z, w }) = joint.bristle {
        builder = builder.with(BristleState { z, w });
    }
    if let Some(drive) = &joint.drive {
        builder = builder.with(drive.clone());
    }
    if let Some(limits) = joint.limits {
        builder = builder.with(limits);
    }
    if let Some(limit) = joint.effort_limit {
        builder = builder.effort_limit(limit);
    }
    builder
}

/// Refuses unsupported features of a scene, with their places.
pub fn refuse_unsupported(scene: &Scene) -> Result<()> {
    let mut problems = Vec::new();
    for joint in &scene.joints {
        let Some(scene::Drive::Motion(signal)) = &joint.drive else { continue };
        if let Some(t) = signal.first_jump() {
            let reason = format!("joint `{}` cannot follow a position that jumps at t = {t:?} s", joint.name);
            problems.push(scene.problem(
                &format!("joints.{}.drive", joint.name),
                reason,
                "use a `Table`, which has slopes",
            ));
        }
        let (position, velocity) = (joint.position.scalar(), joint.velocity.scalar());
        for (field, given, prescribed) in
            [("position", position, signal.value(0.0)), ("velocity", velocity, signal.derivative(0.0))]
        {
            if given != 0.0 && given != prescribed {
                let path = format!("joints.{}.{field}", joint.name);
                let reason = format!(
                    "joint `{}` starts at {field} {given:?}, but its drive `Motion` starts at {prescribed:?}",
                    joint.name
                );
                problems.push(scene.problem(&path, reason, "leave it out: the drive says where the joint is"));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Scene(SceneError { problems })) }
}

fn inertia(link: &scene::Link) -> LinkInertia {
    let [[xx, xy, xz], [_, yy, yz], [_, _, zz]] = link.inertia.matrix();
    LinkInertia {
        mass: link.mass,
        center_of_mass: Vector3::from(link.center_of_mass),
        inertia: Symmetric3 { xx, xy, xz, yy, yz, zz },
    }
}

fn kind(kind: &scene::Kind) -> JointKind {
    match *kind {
        scene::Kind::Fixed => JointKind::Fixed,
        scene::Kind::Free => JointKind::Free,
        scene::Kind::Revolute { axis } => JointKind::Revolute { axis: axis.into() },
        scene::Kind::Prismatic { axis } => JointKind::Prismatic { axis: axis.into() },
    }
}

fn placement(placement: &scene::Placement) -> Placement {
    let [x, y, z] = placement.translation;
    let [w, i, j, k] = placement.rotation.quaternion();
    // already of unit length
    let rotation = UnitQuaternion::new_unchecked(Quaternion::new(w, i, j, k));
    Placement::from_parts(Translation3::new(x, y, z), rotation)
}
