//! Joints: kind, placement, initial state, and what acts in them.

use std::fmt;

use bristle_friction::Law;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::{Drive, Limits, Load, Signal, is_default, is_zero, is_zero3};

/// A joint between two links, or between the world and a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// Name, unique among joints and couplings; recorded channels are named after it.
    pub name: String,
    /// Link the joint is placed on, or `world`.
    pub parent: String,
    /// Link the joint carries; each link has exactly one joint that carries it.
    pub child: String,
    /// Kind of motion of the child.
    pub kind: Kind,
    /// Joint frame in the parent link; the child frame coincides with it at position 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub placement: Placement,
    /// Initial position: rad, m, or a placement for a free joint.
    #[serde(default, skip_serializing_if = "is_default")]
    pub position: Coordinate,
    /// Initial velocity: rad/s, m/s, or a twist for a free joint.
    #[serde(default, skip_serializing_if = "is_default")]
    pub velocity: Rate,
    /// Effort per joint rate, independent of load: N·m·s/rad or N·s/m.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub damping: f64,
    /// Reflected inertia of a rotor: kg·m² or kg.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub armature: f64,
    /// A constant effort, along positive motion: N·m or N.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset: f64,
    /// Spring between parent and child along the joint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spring: Option<Spring>,
    /// Friction per unit load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friction: Option<Law>,
    /// Normal load that scales the friction.
    #[serde(default, skip_serializing_if = "is_default")]
    pub load: Load,
    /// Initial state of the bristle, z and w together; left out, both start at their steady values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bristle: Option<Bristle>,
    /// Drive of the joint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<Drive>,
    /// Stops at the ends of its range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Largest effort of drive and caller together, either way: N·m or N.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort_limit: Option<f64>,
}

impl Joint {
    /// A joint at the origin of its parent, at rest at zero, with nothing acting in it.
    pub fn new(name: impl Into<String>, parent: impl Into<String>, child: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            parent: parent.into(),
            child: child.into(),
            kind,
            placement: Placement::default(),
            position: Coordinate::default(),
            velocity: Rate::default(),
            damping: 0.0,
            armature: 0.0,
            offset: 0.0,
            spring: None,
            friction: None,
            load: Load::default(),
            bristle: None,
            drive: None,
            limits: None,
            effort_limit: None,
        }
    }

    /// The signals in it, with their paths.
    pub(super) fn signals_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut Signal)> {
        let drive = self.drive.iter_mut().flat_map(Drive::signals_mut);
        let load = if let Load::Signal { signal, .. } = &mut self.load { Some(signal) } else { None };
        drive.chain(load.map(|signal| ("load.signal", signal)))
    }
}

/// Motion of the child of a joint relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Kind {
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
    /// Does not move.
    Fixed,
    /// Moves in all six directions.
    Free,
}

impl Kind {
    /// Whether it has one coordinate: revolute or prismatic.
    pub fn is_single(&self) -> bool {
        matches!(self, Self::Revolute { .. } | Self::Prismatic { .. })
    }

    /// The axis as written, for joints that have one.
    pub fn axis(&self) -> Option<[f64; 3]> {
        match *self {
            Self::Revolute { axis } | Self::Prismatic { axis } => Some(axis),
            Self::Fixed | Self::Free => None,
        }
    }
}

/// A frame in another: where it is and how it is turned.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// Origin, m.
    #[serde(default, skip_serializing_if = "is_zero3")]
    pub translation: [f64; 3],
    /// Orientation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rotation: Rotation,
}

/// An orientation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Rotation {
    /// Roll, pitch, yaw about the fixed axes x, y, z in this order, rad, as in URDF: R = Rz(yaw)·Ry(pitch)·Rx(roll).
    Rpy(f64, f64, f64),
    /// Quaternion of any length but zero.
    Quaternion {
        /// Real part.
        w: f64,
        /// Imaginary part.
        x: f64,
        /// Imaginary part.
        y: f64,
        /// Imaginary part.
        z: f64,
    },
}

impl Default for Rotation {
    fn default() -> Self {
        Self::Rpy(0.0, 0.0, 0.0)
    }
}

impl Rotation {
    /// The unit quaternion (w, x, y, z).
    pub fn quaternion(&self) -> [f64; 4] {
        match *self {
            Self::Rpy(roll, pitch, yaw) => {
                // q = q_z(yaw) q_y(pitch) q_x(roll)
                let ((sr, cr), (sp, cp), (sy, cy)) =
                    ((0.5 * roll).sin_cos(), (0.5 * pitch).sin_cos(), (0.5 * yaw).sin_cos());
                [
                    cy * cp * cr + sy * sp * sr,
                    cy * cp * sr - sy * sp * cr,
                    cy * sp * cr + sy * cp * sr,
                    sy * cp * cr - cy * sp * sr,
                ]
            }
            Self::Quaternion { w, x, y, z } => {
                // scaled by the largest entry first, so that the squares neither overflow nor vanish
                let largest = [w, x, y, z].iter().fold(0.0_f64, |m, c| m.max(c.abs()));
                let q = [w, x, y, z].map(|c| c / largest);
                let norm = q.iter().map(|c| c * c).sum::<f64>().sqrt();
                q.map(|c| c / norm)
            }
        }
    }
}

/// Position of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Coordinate {
    /// Of a revolute joint, rad, or a prismatic one, m. On a free joint, 0 is the identity.
    Scalar(f64),
    /// Of a free joint: child frame in the joint frame.
    Placement(Placement),
}

impl Default for Coordinate {
    fn default() -> Self {
        Self::Scalar(0.0)
    }
}

impl Coordinate {
    /// The position of a one-degree joint; 0 for a placement.
    pub fn scalar(&self) -> f64 {
        if let Self::Scalar(q) = self { *q } else { 0.0 }
    }

    /// The position of a free joint; the identity for a scalar.
    pub fn placement(&self) -> Placement {
        if let Self::Placement(placement) = self { *placement } else { Placement::default() }
    }
}

/// Velocity of a joint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Rate {
    /// Of a revolute joint, rad/s, or a prismatic one, m/s. On a free joint, 0 is rest.
    Scalar(f64),
    /// Of a free joint.
    Twist(Twist),
}

impl Default for Rate {
    fn default() -> Self {
        Self::Scalar(0.0)
    }
}

impl Rate {
    /// The velocity of a one-degree joint; 0 for a twist.
    pub fn scalar(&self) -> f64 {
        if let Self::Scalar(v) = self { *v } else { 0.0 }
    }

    /// The velocity of a free joint; rest for a scalar.
    pub fn twist(&self) -> Twist {
        if let Self::Twist(twist) = self { *twist } else { Twist::default() }
    }
}

/// Velocity of a frame, in the axes of the child.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twist {
    /// Angular velocity, rad/s.
    #[serde(default, skip_serializing_if = "is_zero3")]
    pub angular: [f64; 3],
    /// Velocity of the child's origin, m/s.
    #[serde(default, skip_serializing_if = "is_zero3")]
    pub linear: [f64; 3],
}

/// Either a number or a struct: the reader is asked for the struct and hands over a number where it finds one.
macro_rules! number_or_struct {
    ($type:ident, $variant:ident, $fields:expr, $expecting:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;
                impl<'de> Visitor<'de> for Either {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$type, E> {
                        Ok($type::Scalar(number))
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$type, A::Error> {
                        $variant::deserialize(MapAccessDeserializer::new(map)).map($type::$variant)
                    }
                }
                deserializer.deserialize_struct(stringify!($variant), $fields, Either)
            }
        }
    };
}

number_or_struct!(
    Coordinate,
    Placement,
    &["translation", "rotation"],
    "a number, or `Placement(translation: …, rotation: …)` for a free joint"
);
number_or_struct!(Rate, Twist, &["angular", "linear"], "a number, or `Twist(angular: …, linear: …)` for a free joint");

/// A linear spring: effort −stiffness·(q − rest).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spring {
    /// N·m/rad or N/m.
    pub stiffness: f64,
    /// Position at which it is slack, rad or m.
    #[serde(default)]
    pub rest: f64,
}

/// Initial state of a bristle.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bristle {
    /// Deflection z, in units of slip: rad or m.
    #[serde(default)]
    pub z: f64,
    /// Second state of the second-order LuGre law.
    #[serde(default)]
    pub w: f64,
}
