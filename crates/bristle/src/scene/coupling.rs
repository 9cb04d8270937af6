//! Couplings: constraints and elements between joints, besides the links.

use bristle_friction::Law;
use serde::{Deserialize, Serialize};

use super::{Bristle, Drive, Joint, Kind, Link, Load, Placement, Spring, is_default, is_zero};
use crate::world::component::Open;

/// An element between joints. The relative coordinate of a two-joint element is q_a − q_b.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "a scene has few couplings, and each is read once")]
pub enum Coupling {
    /// q_first = ratio · q_second + offset
    Gear {
        /// Name, unique among joints and couplings.
        name: String,
        /// First and second joint.
        joints: [String; 2],
        /// Turns of the first per turn of the second.
        ratio: f64,
        /// Position of the first where the second is at 0.
        #[serde(default)]
        offset: f64,
        /// Efficiency of the mesh while the first drives the second, and while the second drives the first.
        #[serde(default = "lossless", skip_serializing_if = "is_lossless")]
        efficiency: [f64; 2],
        /// Friction in the bearings of the first and of the second shaft, N·m, each at its own shaft.
        #[serde(default, skip_serializing_if = "is_default")]
        friction: [f64; 2],
    },
    /// ω_sun + ratio·ω_ring = (1 + ratio)·ω_carrier
    Planetary {
        /// Name, unique among joints and couplings.
        name: String,
        /// Joint of the sun.
        sun: String,
        /// Joint of the ring.
        ring: String,
        /// Joint of the carrier.
        carrier: String,
        /// Teeth of the ring per tooth of the sun.
        ratio: f64,
    },
    /// Σ cᵢ qᵢ = offset
    Linear {
        /// Name, unique among joints and couplings.
        name: String,
        /// Joints and their coefficients.
        terms: Vec<(String, f64)>,
        /// Right-hand side.
        #[serde(default)]
        offset: f64,
    },
    /// A spring and a damper between two joints.
    SpringDamper {
        /// Name, unique among joints and couplings.
        name: String,
        /// The two joints.
        joints: [String; 2],
        /// N·m/rad or N/m.
        #[serde(default)]
        stiffness: f64,
        /// N·m·s/rad or N·s/m.
        #[serde(default)]
        damping: f64,
        /// Relative position at which the spring is slack.
        #[serde(default)]
        rest: f64,
    },
    /// Friction between two joints.
    Clutch {
        /// Name, unique among joints and couplings.
        name: String,
        /// The two joints.
        joints: [String; 2],
        /// Friction per unit load.
        friction: Law,
        /// Normal load.
        #[serde(default)]
        load: Load,
        /// Bristles while the load is 0.
        #[serde(default, skip_serializing_if = "Open::is_law")]
        open: Open,
    },
    /// Friction between a joint and its parent, besides the joint's own.
    Brake {
        /// Name, unique among joints and couplings.
        name: String,
        /// The joint it acts on.
        joint: String,
        /// Friction per unit load.
        friction: Law,
        /// Normal load.
        #[serde(default)]
        load: Load,
        /// Bristles while the load is 0.
        #[serde(default, skip_serializing_if = "Open::is_law")]
        open: Open,
    },
    /// A clutch that slips in one direction and locks in the other.
    OneWayClutch {
        /// Name, unique among joints and couplings.
        name: String,
        /// The two joints.
        joints: [String; 2],
        /// Friction per unit load.
        friction: Law,
        /// Normal load.
        #[serde(default)]
        load: Load,
        /// Factor of the friction in the locking direction.
        #[serde(default = "hundred")]
        lock_factor: f64,
    },
    /// A joint that closes a chain of links: of the second link relative to the first.
    LoopJoint {
        /// Name, unique among joints and couplings; recorded channels are named after it.
        name: String,
        /// The motion that it leaves to the second link.
        kind: LoopKind,
        /// First and second link; either may be `world`.
        links: [String; 2],
        /// The joint frame in each of them.
        #[serde(default, skip_serializing_if = "is_default")]
        placements: [Placement; 2],
        /// Effort per joint rate: N·m·s/rad or N·s/m.
        #[serde(default, skip_serializing_if = "is_zero")]
        damping: f64,
        /// Spring along the joint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spring: Option<Spring>,
        /// Friction per unit load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        friction: Option<Law>,
        /// Normal load that scales the friction.
        #[serde(default, skip_serializing_if = "is_default")]
        load: Load,
        /// Initial state of the bristle.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bristle: Option<Bristle>,
        /// Drive of the joint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<Drive>,
    },
}

/// Motion that a loop joint leaves to its second link, relative to the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum LoopKind {
    /// Turns about an axis through the joint origin.
    Revolute {
        /// Direction in the joint frame; any length but zero.
        axis: [f64; 3],
    },
    /// Slides along an axis.
    Prismatic {
        /// Direction in the joint frame; any length but zero.
        axis: [f64; 3],
    },
    /// Turns about any axis.
    Spherical,
    /// Does not move.
    Fixed,
}

fn hundred() -> f64 {
    100.0
}

fn lossless() -> [f64; 2] {
    [1.0; 2]
}

fn is_lossless(efficiency: &[f64; 2]) -> bool {
    *efficiency == lossless()
}

impl Coupling {
    /// Whether it is a constraint on the position of a joint.
    pub(crate) fn constrains(&self, joint: &str) -> bool {
        match self {
            Self::Gear { joints, .. } => joints.iter().any(|name| name == joint),
            Self::Planetary { sun, ring, carrier, .. } => [sun, ring, carrier].into_iter().any(|name| name == joint),
            Self::Linear { terms, .. } => terms.iter().any(|term| term.0 == joint),
            _ => false,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Gear { name, .. }
            | Self::Planetary { name, .. }
            | Self::Linear { name, .. }
            | Self::SpringDamper { name, .. }
            | Self::Clutch { name, .. }
            | Self::Brake { name, .. }
            | Self::OneWayClutch { name, .. }
            | Self::LoopJoint { name, .. } => name,
        }
    }

    /// Its kind, as spelled in a scene: `Gear`, `Clutch`, …
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gear { .. } => "Gear",
            Self::Planetary { .. } => "Planetary",
            Self::Linear { .. } => "Linear",
            Self::SpringDamper { .. } => "SpringDamper",
            Self::Clutch { .. } => "Clutch",
            Self::Brake { .. } => "Brake",
            Self::OneWayClutch { .. } => "OneWayClutch",
            Self::LoopJoint { .. } => "LoopJoint",
        }
    }

    /// A loop joint as a joint from its first link to a frame at its second one; `Fixed` stands for kinds without a
    /// coordinate. `None` for other couplings.
    pub(crate) fn loop_joint(&self) -> Option<Joint> {
        let Self::LoopJoint { name, kind, links, damping, spring, friction, load, bristle, drive, .. } = self else {
            return None;
        };
        let kind = match *kind {
            LoopKind::Revolute { axis } => Kind::Revolute { axis },
            LoopKind::Prismatic { axis } => Kind::Prismatic { axis },
            LoopKind::Spherical | LoopKind::Fixed => Kind::Fixed,
        };
        let mut joint = Joint::new(name, &links[0], format!("{name}.frame"), kind);
        (joint.damping, joint.spring, joint.bristle) = (*damping, *spring, *bristle);
        joint.friction.clone_from(friction);
        joint.load.clone_from(load);
        joint.drive.clone_from(drive);
        Some(joint)
    }

    /// The losses of a gear that has some, as the load of its first joint, whose child is `rotor` and turns about
    /// `axis`:
    ///
    /// ```text
    /// τ_2 = −ratio τ_1 of an ideal gear        loss at the first shaft = c₁ + c₂/|ratio| + μ |τ_1 ∓ c₁|
    /// μ = 1 − η₁ where the first drives        μ = 1/η₂ − 1 where the second drives
    /// ```
    pub(crate) fn mesh(&self, rotor: &Link, axis: [f64; 3]) -> Option<Load> {
        let Self::Gear { ratio, efficiency, friction, .. } = self else { return None };
        if is_lossless(efficiency) && *friction == [0.0; 2] {
            return None;
        }
        let (square, inertia) = (axis.iter().map(|x| x * x).sum::<f64>(), rotor.inertia.matrix());
        let moment = axis.iter().zip(inertia).map(|(x, row)| x * row.iter().zip(axis).map(|(i, y)| i * y).sum::<f64>());
        Some(Load::Transmitted {
            preload: friction[1] / ratio.abs(),
            driving: 1.0 - efficiency[0],
            back_driving: 1.0 / efficiency[1] - 1.0,
            driving_squared: 0.0,
            back_driving_squared: 0.0,
            motor_friction: friction[0],
            rotor: moment.sum::<f64>() / square,
        })
    }

    /// Bristles of a clutch or brake that is open.
    pub fn open(&self) -> Open {
        match self {
            Self::Clutch { open, .. } | Self::Brake { open, .. } => *open,
            _ => Open::Law,
        }
    }

    /// Friction and load of clutches, brakes and loop joints.
    pub fn friction(&self) -> Option<(&Law, &Load)> {
        match self {
            Self::Clutch { friction, load, .. }
            | Self::Brake { friction, load, .. }
            | Self::OneWayClutch { friction, load, .. } => Some((friction, load)),
            Self::LoopJoint { friction, load, .. } => friction.as_ref().map(|friction| (friction, load)),
            _ => None,
        }
    }

    /// Load of clutches and brakes.
    pub(super) fn load_mut(&mut self) -> Option<&mut Load> {
        match self {
            Self::Clutch { load, .. } | Self::Brake { load, .. } | Self::OneWayClutch { load, .. } => Some(load),
            _ => None,
        }
    }
}
