//! Description of a machine in code.
//!
//! ```
//! use bristle::prelude::*;
//!
//! let mut world = World::new();
//! let base = world.spawn_link("base", LinkInertia::rod(4.0, [0.0, 0.0, 0.3].into()));
//! let upper = world.spawn_link("upper", LinkInertia::rod(2.0, [0.4, 0.0, 0.0].into()));
//! let fore = world.spawn_link("fore", LinkInertia::rod(1.0, [0.3, 0.0, 0.0].into()));
//!
//! world.spawn_joint(revolute("yaw", [0.0, 0.0, 1.0]).to(base));
//! world.spawn_joint(revolute("shoulder", [0.0, 1.0, 0.0]).from(base).to(upper).at([0.0, 0.0, 0.3]).damping(0.1));
//! world.spawn_joint(revolute("elbow", [0.0, 1.0, 0.0]).from(upper).to(fore).at([0.4, 0.0, 0.0]).position(0.5));
//!
//! let mut sim = Simulation::from_world(world)?;
//! let recording = sim.run_until(1.0)?;
//! assert!(recording.last("elbow.position")?.is_finite());
//! # Ok::<(), Error>(())
//! ```
//!
//! A [`loop_joint`] is built like any other joint and closes a loop; see `docs/loops.md`.

use crate::world::component::{
    Closure, Damping, Drive, Effort, EffortLimit, FreeState, Friction, Gravity, Joint, JointState, Limits, Link, Load,
    Name, Spring, Twist,
};
use bristle_multibody::{JointKind, LinkInertia, Placement};
use hecs::{Component, Entity, EntityBuilder, World};
use nalgebra::{Translation3, UnitQuaternion, Vector3};

/// Spawning links and joints, on [`World`].
pub trait Describe {
    /// A link.
    fn spawn_link(&mut self, name: &str, inertia: LinkInertia) -> Entity;
    /// A joint.
    fn spawn_joint(&mut self, joint: JointBuilder) -> Entity;
    /// Sets gravity, world axes, m/s².
    fn set_gravity(&mut self, gravity: impl Into<Vector3<f64>>);
}

impl Describe for World {
    fn spawn_link(&mut self, name: &str, inertia: LinkInertia) -> Entity {
        self.spawn((Name(name.into()), Link::from(inertia)))
    }

    fn spawn_joint(&mut self, joint: JointBuilder) -> Entity {
        joint.spawn(self)
    }

    fn set_gravity(&mut self, gravity: impl Into<Vector3<f64>>) {
        let gravity = Gravity(gravity.into());
        for old in self.query_mut::<&mut Gravity>() {
            *old = gravity;
        }
        if self.query_mut::<&Gravity>().into_iter().next().is_none() {
            self.spawn((gravity,));
        }
    }
}

/// A joint under construction: by default on the world, at its parent's origin, at rest at position 0.
pub struct JointBuilder {
    name: Name,
    joint: Joint,
    state: Option<JointState>,
    free: Option<FreeState>,
    limits: Option<Limits>,
    closing: Option<Closing>,
    others: EntityBuilder,
}

/// The end of a loop joint on its second link.
#[derive(Default)]
struct Closing {
    placement: Placement,
    is_point: bool,
}

/// A hinge about `axis`.
pub fn revolute(name: &str, axis: impl Into<Vector3<f64>>) -> JointBuilder {
    JointBuilder::new(name, JointKind::Revolute { axis: axis.into() })
}

/// A slide along `axis`.
pub fn prismatic(name: &str, axis: impl Into<Vector3<f64>>) -> JointBuilder {
    JointBuilder::new(name, JointKind::Prismatic { axis: axis.into() })
}

/// A weld.
pub fn fixed(name: &str) -> JointBuilder {
    JointBuilder::new(name, JointKind::Fixed)
}

/// A free joint: a floating base.
pub fn free(name: &str) -> JointBuilder {
    JointBuilder::new(name, JointKind::Free)
}

/// A ball joint. It has no coordinate, and closes a loop: trees have none.
pub fn spherical(name: &str) -> JointBuilder {
    let closing = Some(Closing { is_point: true, ..Closing::default() });
    JointBuilder { closing, ..fixed(name) }
}

/// Lets a joint close a loop: a [`revolute`], [`prismatic`], [`fixed`] or [`spherical`] one. It is placed on its first
/// link ([`JointBuilder::from`]) and on its second one ([`JointBuilder::to`], [`JointBuilder::at_second`]); either may
/// be the world. Its coordinate is that of the second link relative to the first, and follows from theirs.
///
/// ```
/// use bristle::prelude::*;
///
/// let mut world = World::new();
/// let [crank, coupler, rocker] = ["crank", "coupler", "rocker"]
///     .map(|name| world.spawn_link(name, LinkInertia::rod(1.0, [0.2, 0.0, 0.0].into())));
/// let z = [0.0, 0.0, 1.0];
/// world.spawn_joint(revolute("a", z).to(crank).position(1.0));
/// world.spawn_joint(revolute("b", z).from(crank).to(coupler).at([0.25, 0.0, 0.0]).position(-0.551571));
/// world.spawn_joint(revolute("d", z).to(rocker).at([0.6, 0.05, 0.0]).position(1.493979));
/// let c = loop_joint(revolute("c", z)).from(coupler).at([0.55, 0.0, 0.0]).to(rocker).at_second([0.4, 0.0, 0.0]);
/// world.spawn_joint(c.damping(0.1));
///
/// let mut sim = Simulation::from_world(world)?;
/// assert_eq!(sim.freedom(), 1);
/// let recording = sim.run_until(1.0)?;
/// assert!(recording.last("c.position")?.is_finite());
/// # Ok::<(), Error>(())
/// ```
pub fn loop_joint(mut joint: JointBuilder) -> JointBuilder {
    joint.closing.get_or_insert_default();
    joint
}

impl JointBuilder {
    /// A joint of any kind.
    pub fn new(name: &str, kind: JointKind) -> Self {
        Self {
            name: Name(name.into()),
            joint: Joint {
                parent: None,
                child: Entity::DANGLING,
                kind,
                placement: Placement::identity(),
                armature: 0.0,
            },
            state: None,
            free: None,
            limits: None,
            closing: None,
            others: EntityBuilder::new(),
        }
    }

    /// The link it is placed on; the world if never called.
    pub fn from(mut self, parent: Entity) -> Self {
        self.joint.parent = Some(parent);
        self
    }

    /// The link it carries, or the second link of a [`loop_joint`], which is the world if never called. Any other joint
    /// without one is refused when the world is compiled.
    pub fn to(mut self, child: Entity) -> Self {
        self.joint.child = child;
        self
    }

    /// Origin of the joint frame in the parent link, m.
    pub fn at(mut self, translation: impl Into<Vector3<f64>>) -> Self {
        self.joint.placement.translation = Translation3::from(translation.into());
        self
    }

    /// Orientation of the joint frame in the parent link: fixed-axis roll, pitch, yaw, rad.
    pub fn turned(mut self, roll: f64, pitch: f64, yaw: f64) -> Self {
        self.joint.placement.rotation = UnitQuaternion::from_euler_angles(roll, pitch, yaw);
        self
    }

    /// The joint frame in the parent link.
    pub fn placed(mut self, placement: Placement) -> Self {
        self.joint.placement = placement;
        self
    }

    /// Makes it a [`loop_joint`], with the origin of its frame in the second link, m.
    pub fn at_second(mut self, translation: impl Into<Vector3<f64>>) -> Self {
        self.closing.get_or_insert_default().placement.translation = Translation3::from(translation.into());
        self
    }

    /// The same with its whole frame in the second link.
    pub fn placed_second(mut self, placement: Placement) -> Self {
        self.closing.get_or_insert_default().placement = placement;
        self
    }

    /// Reflected inertia, kg·m² or kg.
    pub fn armature(mut self, armature: f64) -> Self {
        self.joint.armature = armature;
        self
    }

    /// Initial position of a revolute or prismatic joint, rad or m.
    pub fn position(mut self, position: f64) -> Self {
        self.state.get_or_insert_default().position = position;
        self
    }

    /// Initial velocity of a revolute or prismatic joint, rad/s or m/s.
    pub fn velocity(mut self, velocity: f64) -> Self {
        self.state.get_or_insert_default().velocity = velocity;
        self
    }

    /// Initial position of a free joint.
    pub fn pose(mut self, position: Placement) -> Self {
        self.free.get_or_insert_default().position = position;
        self
    }

    /// Initial velocity of a free joint, child axes: rad/s and m/s.
    pub fn twist(mut self, angular: impl Into<Vector3<f64>>, linear: impl Into<Vector3<f64>>) -> Self {
        self.free.get_or_insert_default().velocity = Twist { angular: angular.into(), linear: linear.into() };
        self
    }

    /// Viscous damping, N·m·s/rad or N·s/m.
    pub fn damping(self, damping: f64) -> Self {
        self.with(Damping(damping))
    }

    /// A spring: stiffness in N·m/rad or N/m, slack at `rest`.
    pub fn spring(self, stiffness: f64, rest: f64) -> Self {
        self.with(Spring { stiffness, rest })
    }

    /// A constant effort until changed, N·m or N.
    pub fn effort(self, effort: f64) -> Self {
        self.with(Effort(effort))
    }

    /// A friction law.
    pub fn friction(self, law: bristle_friction::Law) -> Self {
        self.with(Friction(law))
    }

    /// The load that scales the friction law.
    pub fn load(self, load: Load) -> Self {
        self.with(load)
    }

    /// A drive.
    pub fn drive(self, drive: Drive) -> Self {
        self.with(drive)
    }

    /// Stops at the ends of the range, rad or m; an infinite bound is none. See [`JointBuilder::restitution`].
    pub fn limits(mut self, lower: f64, upper: f64) -> Self {
        let given = |bound: f64, absent: f64| (bound.to_bits() != absent.to_bits()).then_some(bound);
        let limits = self.limits.get_or_insert_default();
        (limits.lower, limits.upper) = (given(lower, f64::NEG_INFINITY), given(upper, f64::INFINITY));
        self
    }

    /// Newton's restitution of the stops, from 0 to 1; 0 if never called.
    pub fn restitution(mut self, restitution: f64) -> Self {
        self.limits.get_or_insert_default().restitution = restitution;
        self
    }

    /// Largest effort of drive and caller together, either way: N·m or N.
    pub fn effort_limit(self, limit: f64) -> Self {
        self.with(EffortLimit(limit))
    }

    /// Any other component, the user's own included.
    pub fn with<T: Component>(mut self, component: T) -> Self {
        self.others.add(component);
        self
    }

    /// Spawns the joint in a world.
    pub fn spawn(mut self, world: &mut World) -> Entity {
        let second = Some(self.joint.child).filter(|&link| link != Entity::DANGLING);
        match self.closing.take() {
            None => {
                self.others.add(self.joint);
            }
            Some(Closing { placement, is_point }) if self.joint.kind == JointKind::Fixed => {
                let (links, placements) = ([self.joint.parent, second], [self.joint.placement, placement]);
                self.others.add(Closure { links, placements, is_point });
            }
            Some(Closing { placement, .. }) => {
                // a joint like any other, to a massless frame that coincides with one of the second link
                let massless = LinkInertia::point(0.0, Vector3::zeros());
                let frame = world.spawn_link(&format!("{}.frame", self.name.0), massless);
                let placements = [Placement::identity(), placement];
                self.others.add(Closure { links: [Some(frame), second], placements, is_point: false });
                return self.to(frame).spawn(world);
            }
        }
        self.others.add(self.name);
        if let Some(limits) = self.limits {
            self.others.add(limits);
        }
        // a state of the wrong kind is spawned as well, and `compile` refuses it
        let is_free = self.joint.kind == JointKind::Free;
        let has_one = !is_free && self.joint.kind != JointKind::Fixed;
        if has_one || self.state.is_some() {
            self.others.add(self.state.unwrap_or_default());
        }
        if is_free || self.free.is_some() {
            self.others.add(self.free.unwrap_or_default());
        }
        world.spawn(self.others.build())
    }
}
