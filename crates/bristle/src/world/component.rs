//! Components of the entities of a world.
//!
//! A machine is one entity per link and one per joint. [`compile`](crate::compile()) reads the description;
//! [`WriteBack`](crate::WriteBack) sets the components marked *result* after every step.
//!
//! - **link**: [`Name`], [`Link`]; acts: [`ExternalWrench`]; result: [`Pose`].
//! - **joint**: [`Name`], [`Joint`]; acts: [`Effort`], [`Offset`], [`Damping`], [`Spring`], [`Friction`], [`Load`],
//!   [`Drive`], [`Limits`], [`EffortLimit`]; state: [`JointState`] or [`FreeState`], [`BristleState`], [`PidState`];
//!   results: [`Acceleration`] or [`FreeAcceleration`], [`Reaction`], [`FrictionEffort`], [`NormalLoad`],
//!   [`SlipMode`], [`Dissipated`].
//! - **coupling**: [`Name`], [`Coupling`]; acts: [`Friction`], [`Load`] of clutches and brakes; state:
//!   [`BristleState`]; results: [`CouplingEffort`] of constraints and springs; [`FrictionEffort`], [`NormalLoad`],
//!   [`SlipMode`], [`Dissipated`].
//! - **any one entity**: [`Gravity`].
//!
//! Everything but the name and `Link` or `Joint` may be left out. A user's own components live beside these, on the
//! same entities.

use bristle_multibody::spatial::Symmetric3;
use bristle_multibody::{JointKind, LinkInertia, Placement};
use hecs::Entity;
use nalgebra::Vector3;

pub use super::drive::{Drive, Limits, Load};
pub use bristle_multibody::Reaction;

/// Name of a link or a joint; unique among its kind. Order and recorded channels follow from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(pub String);

/// Gravity, world axes, m/s². On one entity at most; without it (0, 0, −9.81).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gravity(pub Vector3<f64>);

impl Default for Gravity {
    fn default() -> Self {
        Self(Vector3::new(0.0, 0.0, -9.81))
    }
}

/// A rigid body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Mass, kg.
    pub mass: f64,
    /// Centre of mass in link axes, m.
    pub center_of_mass: Vector3<f64>,
    /// Rotational inertia about the centre of mass, link axes, kg·m².
    pub inertia: Symmetric3,
}

impl From<LinkInertia> for Link {
    fn from(inertia: LinkInertia) -> Self {
        Self { mass: inertia.mass, center_of_mass: inertia.center_of_mass, inertia: inertia.inertia }
    }
}

impl From<Link> for LinkInertia {
    fn from(link: Link) -> Self {
        Self { mass: link.mass, center_of_mass: link.center_of_mass, inertia: link.inertia }
    }
}

/// The connection of a link to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joint {
    /// Link the joint is placed on; `None` is the world.
    pub parent: Option<Entity>,
    /// Link the joint carries.
    pub child: Entity,
    /// The motion it permits.
    pub kind: JointKind,
    /// Joint frame in the parent link; the child's frame coincides with it at position 0.
    pub placement: Placement,
    /// Reflected inertia on the joint's own coordinate, kg·m² or kg.
    pub armature: f64,
}

/// State of a revolute or prismatic joint.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JointState {
    /// rad or m.
    pub position: f64,
    /// rad/s or m/s.
    pub velocity: f64,
}

/// Velocity or acceleration of a frame, in its own axes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Twist {
    /// rad/s (rad/s²).
    pub angular: Vector3<f64>,
    /// Of the frame's origin, m/s (m/s²).
    pub linear: Vector3<f64>,
}

/// State of a free joint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreeState {
    /// Child frame in the joint frame.
    pub position: Placement,
    /// Of the child, in child axes.
    pub velocity: Twist,
}

impl Default for FreeState {
    fn default() -> Self {
        Self { position: Placement::identity(), velocity: Twist::default() }
    }
}

/// Effort that a caller applies to a revolute or prismatic joint, N·m or N; constant until changed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Effort(pub f64);

/// Constant effort on a revolute or prismatic joint besides those of caller and drive, N·m or N, along positive motion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Offset(pub f64);

/// Largest effort of drive and caller together on a joint of one degree of freedom, either way: N·m or N.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffortLimit(pub f64);

/// Viscous damping of a revolute or prismatic joint: effort −damping · velocity, N·m·s/rad or N·s/m.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Damping(pub f64);

/// Spring along a revolute or prismatic joint: effort −stiffness · (position − rest).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spring {
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// Position at which it is slack, rad or m.
    pub rest: f64,
}

/// Friction law of a joint: friction per unit [`Load`].
#[derive(Debug, Clone, PartialEq)]
pub struct Friction(pub bristle_friction::Law);

/// Bristle state of a joint. Without it the bristles start at their steady value if there is slip, undeflected
/// otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BristleState {
    /// Deflection, in units of slip: rad or m.
    pub z: f64,
    /// Second state of the second-order LuGre law, in units of slip velocity.
    pub w: f64,
}

/// State of a joint's `Pid` drive: ∫ (target − position) dt, rad·s or m·s.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PidState {
    /// The integral.
    pub integral: f64,
}

/// External force and moment on a link, in link axes: they rotate with the link. Constant until changed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExternalWrench {
    /// About the link's origin, N·m.
    pub moment: Vector3<f64>,
    /// N.
    pub force: Vector3<f64>,
}

/// Closes a loop: a frame of the second link coincides with a frame of the first. Spawned with a
/// [`loop_joint`](crate::world::builder::loop_joint).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closure {
    /// The links; `None` is the world. Where the loop joint has a coordinate, the first is its massless child.
    pub links: [Option<Entity>; 2],
    /// The frames in the links.
    pub placements: [Placement; 2],
    /// Whether only the origins of the frames coincide: a ball joint.
    pub is_point: bool,
}

/// A coupling between the coordinates of revolute and prismatic joints, on an entity of its own with a [`Name`].
#[derive(Debug, Clone, PartialEq)]
pub enum Coupling {
    /// q_first = ratio · q_second + offset, without compliance.
    Gear {
        /// First and second joint.
        joints: [Entity; 2],
        /// Turns of the first per turn of the second.
        ratio: f64,
        /// Position of the first where the second is at 0.
        offset: f64,
    },
    /// ω_sun + ratio·ω_ring = (1 + ratio)·ω_carrier, without compliance.
    Planetary {
        /// Joint of the sun.
        sun: Entity,
        /// Joint of the ring.
        ring: Entity,
        /// Joint of the carrier.
        carrier: Entity,
        /// Teeth of the ring per tooth of the sun.
        ratio: f64,
    },
    /// Σ cᵢ qᵢ = offset, without compliance.
    Linear {
        /// Joints and their coefficients.
        terms: Vec<(Entity, f64)>,
        /// Right-hand side.
        offset: f64,
    },
    /// A spring and a damper on q_a − q_b.
    SpringDamper {
        /// The joints a and b.
        joints: [Entity; 2],
        /// N·m/rad or N/m.
        stiffness: f64,
        /// N·m·s/rad or N·s/m.
        damping: f64,
        /// q_a − q_b at which the spring is slack.
        rest: f64,
    },
    /// Friction on q_a − q_b, with the entity's [`Friction`] and [`Load`].
    Clutch {
        /// The joints a and b.
        joints: [Entity; 2],
    },
    /// Friction between a joint and its parent, besides the joint's own, with the entity's [`Friction`] and [`Load`].
    Brake {
        /// The joint.
        joint: Entity,
    },
    /// A clutch in parallel with a freewheel: against negative slip it acts with `lock_factor` times its largest load.
    OneWayClutch {
        /// The joints a and b.
        joints: [Entity; 2],
        /// Multiple of the largest load.
        lock_factor: f64,
    },
}

/// Behaviour of the bristles of a clutch or brake while its load is 0. Beside [`Friction`] on the entity of a
/// [`Coupling::Clutch`] or [`Coupling::Brake`]; without it, [`Open::Law`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "scene", derive(serde::Serialize, serde::Deserialize))]
pub enum Open {
    /// The bristles follow their law: the element closes with the deflection that belongs to the slip.
    #[default]
    Law,
    /// The bristles keep their deflection (Aberger, Otter 2002): the element closes with ż = v − |v| z/g(v) ≠ 0, and
    /// σ₁ż is a peak of torque.
    Frozen,
}

impl Open {
    /// Whether it is the default.
    #[cfg(feature = "scene")]
    pub(crate) fn is_law(&self) -> bool {
        *self == Self::Law
    }
}

/// *Result.* Constraint force of a coupling, or effort of a spring, N·m or N: on the first joint along its
/// coordinate, per unit of its coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CouplingEffort(pub f64);

/// *Result.* Link frame in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose(pub Placement);

/// *Result.* Acceleration of a revolute or prismatic joint, rad/s² or m/s².
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Acceleration(pub f64);

/// *Result.* Rate of change of a free joint's velocity, child axes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FreeAcceleration(pub Twist);

/// *Result.* Friction effort of a joint, positive when it opposes positive velocity, N·m or N.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FrictionEffort(pub f64);

/// *Result.* Normal load N that scales a joint's friction law.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NormalLoad(pub f64);

/// *Result.* Mode of a joint with event-driven friction: stuck, or its direction of slip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlipMode(pub bristle_friction::Mode);

/// *Result.* Heat dissipated by a joint's damper and friction so far, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Dissipated(pub f64);
