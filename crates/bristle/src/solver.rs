//! Settings of the solution: formulation, method, step control, output.

pub(crate) mod control;

pub use bristle_integrate::Method;
pub use control::Control;
pub(crate) use control::Slip;
#[cfg(feature = "scene")]
use serde::{Deserialize, Serialize};

/// Treatment of loads that depend on acceleration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize))]
pub enum Formulation {
    /// Newton on the accelerations at each evaluation.
    #[default]
    Implicit,
    /// The equations differentiated once; acceleration is a state.
    Jerk,
    /// The equations handed unsolved to an implicit stepper.
    Residual,
}

/// Form in which closed loops enter the equations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize))]
pub enum Constraints {
    /// Dependent velocities are eliminated at every point: an ordinary differential equation.
    #[default]
    Reduced,
    /// Positions and velocities of all joints with multipliers, g(q) = 0: a DAE of index 3.
    Index3,
    /// The same with J(q) v = 0: a DAE of index 2; positions drift.
    Index2,
}

impl Constraints {
    #[cfg(feature = "scene")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Method and step control; the scene determines those that are left out, see `Scene::method`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub struct Solver {
    /// Integration method.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
    pub method: Option<Method>,
    /// Step control.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Option::is_none"))]
    pub control: Option<Control>,
    /// Kinks of bristle laws that are located as events under error control.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Kinks::is_default"))]
    pub kinks: Kinks,
    /// Form in which closed loops enter the equations.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "Constraints::is_default"))]
    pub constraints: Constraints,
}

/// Kinks of bristle laws that are located as events under error control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize))]
pub enum Kinks {
    /// v = 0, where |v| has its kink.
    #[default]
    Velocity,
    /// ż = 0, as Aberger & Otter (2002) hint at break-away. At rest bristles tremble about it: the more of these
    /// there are, the tighter the tolerance.
    Deflection,
    /// Nothing.
    Off,
}

impl Kinks {
    #[cfg(feature = "scene")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The rows that are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "scene", derive(Serialize, Deserialize), serde(deny_unknown_fields))]
pub struct Output {
    /// Time between recorded rows, s.
    #[cfg_attr(feature = "scene", serde(default = "interval"))]
    pub interval: f64,
    /// Rows at the end of every step of the integration instead, and nowhere else.
    #[cfg_attr(feature = "scene", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub steps: bool,
}

fn interval() -> f64 {
    0.01
}

impl Default for Output {
    fn default() -> Self {
        Self { interval: interval(), steps: false }
    }
}
