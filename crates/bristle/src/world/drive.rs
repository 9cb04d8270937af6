//! Drives, loads and limits of joints.

use crate::signal::Signal;
#[cfg(feature = "scene")]
use {
    crate::scene::{is_default, is_zero},
    serde::{Deserialize, Serialize},
};

/// The normal force or moment N that scales a law, and the lever that turns joint rate into slip speed.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
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
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
        length: Option<f64>,
    },
    /// The effort that passes through a reducer, τ_t = drive effort − (armature + rotor) q̈ less the motor's own
    /// friction, at the side of the joint: N = preload + motor_friction + μ |τ_t| + ν τ_t², with its own μ and ν for
    /// driving (τ_t q̇ > 0) and for back-driving. N is an effort: the levels of the law are multiples of it.
    Transmitted {
        /// N without a transmitted effort, N·m or N.
        #[cfg_attr(feature = "scene", serde(default))]
        preload: f64,
        /// μ while the motor drives the joint.
        #[cfg_attr(feature = "scene", serde(default))]
        driving: f64,
        /// μ while the joint drives the motor.
        #[cfg_attr(feature = "scene", serde(default))]
        back_driving: f64,
        /// ν while the motor drives the joint, 1/(N·m) or 1/N.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        driving_squared: f64,
        /// ν while the joint drives the motor, 1/(N·m) or 1/N.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        back_driving_squared: f64,
        /// Friction of the motor before its effort is transmitted, N·m or N.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        motor_friction: f64,
        /// Inertia of links of the joint that belong to the motor, besides its armature, kg·m² or kg.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        rotor: f64,
    },
    /// A normal force that follows a signal: brakes and clutches. N = max · clamp(signal, 0, 1) · geometry.
    Signal {
        /// Largest force, N.
        max: f64,
        /// Fraction applied, over time.
        signal: Signal,
        /// Radius and number of faces, m.
        #[cfg_attr(feature = "scene", serde(default = "one"))]
        geometry: f64,
    },
}

impl Load {
    /// Names and values of the coefficients of a reducer, none of which may be negative; `None` for other loads.
    pub(crate) fn coefficients(&self) -> Option<[(&'static str, f64); 7]> {
        let &Self::Transmitted {
            preload,
            driving,
            back_driving,
            driving_squared,
            back_driving_squared,
            motor_friction,
            rotor,
        } = self
        else {
            return None;
        };
        Some([
            ("preload", preload),
            ("driving", driving),
            ("back_driving", back_driving),
            ("driving_squared", driving_squared),
            ("back_driving_squared", back_driving_squared),
            ("motor_friction", motor_friction),
            ("rotor", rotor),
        ])
    }
}

#[cfg(feature = "scene")]
fn one() -> f64 {
    1.0
}

#[cfg(feature = "scene")]
fn is_one(value: &f64) -> bool {
    *value == 1.0
}

/// The drive of a joint.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
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
        #[cfg_attr(feature = "scene", serde(default))]
        kp: f64,
        /// Integral gain.
        #[cfg_attr(feature = "scene", serde(default))]
        ki: f64,
        /// Derivative gain.
        #[cfg_attr(feature = "scene", serde(default))]
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
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        kd: f64,
        /// Factor of both gains: from the numbers of a controller to volts or duty.
        #[cfg_attr(feature = "scene", serde(default = "one", skip_serializing_if = "is_one"))]
        error_gain: f64,
        /// Samples over which the velocity for `kd` is measured; 0: the velocity itself.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_default"))]
        difference: usize,
        /// Desired position, rad or m.
        target: Signal,
        /// Time by which the target arrives late, s.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        delay: f64,
        /// Time between samples, s; 0: continuous.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
        period: f64,
        /// Supply voltage, V; with it the controller puts out a duty.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
        supply: Option<Signal>,
        /// Largest duty; 1 with a supply.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
        duty_limit: Option<f64>,
        /// Largest voltage, V.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
        voltage_limit: Option<f64>,
        /// Torque constant at the joint, N·m/A, which is that of the back-EMF, V·s/rad; without `resistance` effort per
        /// volt.
        #[cfg_attr(feature = "scene", serde(default = "one", skip_serializing_if = "is_one"))]
        constant: f64,
        /// Resistance of the winding, Ω; without it there is no back-EMF.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
        resistance: Option<f64>,
        /// On where it is 0.5 or more; off, the motor is open and has no effort.
        #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
        enable: Option<Signal>,
    },
}

/// Stops at the ends of the range of a joint, either of which may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub struct Limits {
    /// Smallest position, rad or m.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
    pub lower: Option<f64>,
    /// Largest position, rad or m.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
    pub upper: Option<f64>,
    /// Newton's restitution: speed after an impact per speed before it, from 0 to 1.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "is_zero"))]
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
