//! Joints: kind, placement, initial state, and what acts in them.

use std::fmt;

use bristle_friction::Law;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize};

use super::{Signal, is_default, is_zero, is_zero3};

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

/// The normal force or moment N that scales a law, and the lever that turns joint rate into slip speed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Load {
    /// N = 1: the levels of the law are efforts, N·m or N.
    #[default]
    Unit,
    /// A constant N, in newtons.
    Constant(f64),
    /// Radial part of the reaction in a revolute joint.
    Pin {
        /// Radius of the pin, m.
        radius: f64,
    },
    /// Axial part of the reaction in a revolute joint.
    Thrust {
        /// Mean radius of the thrust face, m.
        radius: f64,
    },
    /// Lateral part of the reaction in a prismatic joint.
    Guide {
        /// Length of the guide, m; with it, friction acts at its two edges.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<f64>,
    },
    /// The effort that passes through a reducer, τ_t = drive effort − (armature + rotor) q̈ less the motor's own
    /// friction, at the side of the joint: N = preload + motor_friction + μ |τ_t| + ν τ_t², with its own μ and ν for
    /// driving (τ_t q̇ > 0) and for back-driving. N is an effort: the levels of the law are multiples of it.
    Transmitted {
        /// N without a transmitted effort, N·m or N.
        #[serde(default)]
        preload: f64,
        /// μ while the motor drives the joint.
        #[serde(default)]
        driving: f64,
        /// μ while the joint drives the motor.
        #[serde(default)]
        back_driving: f64,
        /// ν while the motor drives the joint, 1/(N·m) or 1/N.
        #[serde(default, skip_serializing_if = "is_zero")]
        driving_squared: f64,
        /// ν while the joint drives the motor, 1/(N·m) or 1/N.
        #[serde(default, skip_serializing_if = "is_zero")]
        back_driving_squared: f64,
        /// Friction of the motor before its effort is transmitted, N·m or N.
        #[serde(default, skip_serializing_if = "is_zero")]
        motor_friction: f64,
        /// Inertia of links of the joint that belong to the motor, besides its armature, kg·m² or kg.
        #[serde(default, skip_serializing_if = "is_zero")]
        rotor: f64,
    },
    /// A normal force that follows a signal: brakes and clutches. N = max · clamp(signal, 0, 1) · geometry.
    Signal {
        /// Largest force, N.
        max: f64,
        /// Fraction applied, over time.
        signal: Signal,
        /// Radius and number of faces, m.
        #[serde(default = "one")]
        geometry: f64,
    },
}

fn one() -> f64 {
    1.0
}

fn is_one(value: &f64) -> bool {
    *value == 1.0
}

/// The drive of a joint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "a joint has one drive, and boxes would be in the way of patterns")]
pub enum Drive {
    /// An effort, N·m or N.
    Effort(Signal),
    /// A spring whose far end moves.
    Pull {
        /// N·m/rad or N/m.
        stiffness: f64,
        /// Position of the far end, rad or m.
        target: Signal,
    },
    /// u = kp (x_d − x) + ki ∫(x_d − x) − kd v
    Pid {
        /// Proportional gain.
        #[serde(default)]
        kp: f64,
        /// Integral gain.
        #[serde(default)]
        ki: f64,
        /// Derivative gain.
        #[serde(default)]
        kd: f64,
        /// Desired position x_d, rad or m.
        target: Signal,
    },
    /// The joint follows a position over time, whatever it takes.
    Motion(Signal),
    /// A position controller with sampling, saturation and a DC motor: see `docs/drives.md`.
    Servo {
        /// Position gain, volts or duty per rad or m, times `error_gain`.
        kp: f64,
        /// Velocity gain, per rad/s or m/s, times `error_gain`.
        #[serde(default, skip_serializing_if = "is_zero")]
        kd: f64,
        /// Factor of both gains: from the numbers of a controller to volts or duty.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        error_gain: f64,
        /// Samples over which the velocity for `kd` is measured; 0: the velocity itself.
        #[serde(default, skip_serializing_if = "is_default")]
        difference: usize,
        /// Desired position, rad or m.
        target: Signal,
        /// Time by which the target arrives late, s.
        #[serde(default, skip_serializing_if = "is_zero")]
        delay: f64,
        /// Time between samples, s; 0: continuous.
        #[serde(default, skip_serializing_if = "is_zero")]
        period: f64,
        /// Supply voltage, V; with it the controller puts out a duty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        supply: Option<Signal>,
        /// Largest duty; 1 with a supply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duty_limit: Option<f64>,
        /// Largest voltage, V.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voltage_limit: Option<f64>,
        /// Torque constant at the joint, N·m/A, which is that of the back-EMF, V·s/rad; without `resistance` effort per
        /// volt.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        constant: f64,
        /// Resistance of the winding, Ω; without it there is no back-EMF.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resistance: Option<f64>,
        /// On where it is 0.5 or more; off, the motor is open and has no effort.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enable: Option<Signal>,
    },
}

/// Stops at the ends of the range of a joint, either of which may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Smallest position, rad or m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// Largest position, rad or m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Newton's restitution: speed after an impact per speed before it, from 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restitution: f64,
}

impl Drive {
    /// The signals in it, with their paths from the joint.
    pub(crate) fn signals_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut Signal)> {
        let (first, supply, enable) = match self {
            Self::Effort(signal) | Self::Motion(signal) => (("drive.0", signal), None, None),
            Self::Pull { target, .. } | Self::Pid { target, .. } => (("drive.target", target), None, None),
            Self::Servo { target, supply, enable, .. } => (("drive.target", target), supply.as_mut(), enable.as_mut()),
        };
        let supply = supply.map(|signal| ("drive.supply", signal));
        std::iter::once(first).chain(supply).chain(enable.map(|signal| ("drive.enable", signal)))
    }
}
