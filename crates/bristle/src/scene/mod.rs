//! Scene files: reading, checking, saving. A scene is plain data; `spawn` builds a world from it.
//!
//! ```text
//! file ─syntax─▶ values with places ─read─▶ Scene ─validate─▶ Scene
//! ```
//!
//! A file with a syntax error is refused with the first one; a file without is refused with all its errors of type
//! and meaning: unknown fields and variants, wrong types, dangling names, values out of range. A message has file,
//! line, column, the line itself, the reason and a correction. Later stages find the place of a value by its path,
//! with [`Scene::problem`].
//!
//! Files are RON: `Scene(links: […], joints: […])`; field order is free, defaults may be left out.

// sizes and places in files of others
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod coupling;
pub(crate) mod error;
mod joint;
mod link;
pub(crate) mod load;
#[cfg(feature = "urdf")]
pub(crate) mod map;
pub(crate) mod origin;
mod overrides;
mod placeholder;
pub(crate) mod read;
mod save;
pub(crate) mod span;
pub(crate) mod syntax;
pub(crate) mod unreadable;
mod validate;

use serde::Serialize;

pub use crate::signal::Signal;
pub use crate::solver::{Constraints, Control, Formulation, Kinks, Method, Output, Solver};
pub use crate::world::component::{Drive, Limits, Load, Open};
pub use coupling::{Coupling, LoopKind};
pub use error::{Advice, Help, Level, Problem, SceneError, printable};
pub use joint::{Bristle, Coordinate, Joint, Kind, Placement, Rate, Rotation, Spring, Twist};
pub use link::{Inertia, Link};
pub use origin::Origin;
pub use span::Position;

/// A machine, its initial state, and how to simulate it.
///
/// ```
/// use bristle::scene::Scene;
///
/// let text = r#"Scene(
///     links: [Link(name: "bob", mass: 1.0, center_of_mass: (0.0, 0.0, -1.0))],
///     joints: [Joint(
///         name: "hinge", parent: "world", child: "bob", kind: Revolute(axis: (0.0, 1.0, 0.0)), position: 0.5,
///     )],
/// )"#;
/// let scene = Scene::parse(text, "pendulum.ron")?;
/// assert_eq!(scene.joints[0].position.scalar(), 0.5);
///
/// // the same with another value, as `--set` does
/// let scene = Scene::parse_with(text, "pendulum.ron", &[("joints.hinge.damping", "0.1")])?;
/// assert_eq!(scene.joints[0].damping, 0.1);
///
/// // errors have a place
/// let error = Scene::parse(&text.replace(" mass:", " mas:"), "pendulum.ron").unwrap_err();
/// assert!(error.to_string().contains("pendulum.ron:2:31") && error.to_string().contains("did you mean `mass`?"));
/// # Ok::<(), bristle::scene::SceneError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scene {
    /// Version of the format: 1.
    pub version: u32,
    /// Title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Acceleration of gravity in world axes, m/s².
    pub gravity: [f64; 3],
    /// Rigid bodies.
    pub links: Vec<Link>,
    /// Joints; together they make a tree rooted at `world`.
    pub joints: Vec<Joint>,
    /// Gears, clutches and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub couplings: Vec<Coupling>,
    /// Treatment of loads that depend on acceleration.
    #[serde(skip_serializing_if = "is_default")]
    pub formulation: Formulation,
    /// Method and step control, where the scene asks for one.
    #[serde(skip_serializing_if = "is_default")]
    pub solver: Solver,
    /// Simulated time, s.
    pub duration: f64,
    /// The rows that are recorded.
    pub output: Output,
    /// The text it was read from, for messages; not part of the comparison of two scenes.
    #[serde(skip)]
    pub origin: Origin,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            version: 1,
            name: String::new(),
            gravity: [0.0, 0.0, -9.81],
            links: Vec::new(),
            joints: Vec::new(),
            couplings: Vec::new(),
            formulation: Formulation::default(),
            solver: Solver::default(),
            duration: 10.0,
            output: Output::default(),
            origin: Origin::default(),
        }
    }
}

impl Scene {
    /// The integration method: the one asked for, otherwise `Radau5` where a bristle law is present and `Dopri5`
    /// elsewhere.
    pub fn method(&self) -> Method {
        self.solver.method.unwrap_or_else(|| if self.has_bristles() { Method::Radau5 } else { Method::Dopri5 })
    }

    /// The step control: the one asked for, otherwise by error with `rtol` 1e-8 and `atol` 1e-10; for `RealTime`
    /// steps of 1 ms.
    pub fn control(&self) -> Control {
        let is_real_time = self.method() == Method::RealTime;
        let default = if is_real_time { Control::Constant { step: 1e-3 } } else { Control::default() };
        self.solver.control.unwrap_or(default)
    }

    /// Whether any friction law has a bristle state.
    pub fn has_bristles(&self) -> bool {
        self.laws().any(has_bristle)
    }

    /// The friction laws of joints and couplings.
    pub(crate) fn laws(&self) -> impl Iterator<Item = &bristle_friction::Law> {
        let joints = self.joints.iter().filter_map(|joint| joint.friction.as_ref());
        joints.chain(self.couplings.iter().filter_map(|coupling| coupling.friction().map(|f| f.0)))
    }
}

/// Whether a law has a bristle state.
pub(crate) fn has_bristle(law: &bristle_friction::Law) -> bool {
    bristle_friction::FrictionLaw::n_states(law) > 0
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(crate) fn is_zero(value: &f64) -> bool {
    value.to_bits() == 0
}

fn is_zero3(value: &[f64; 3]) -> bool {
    value.iter().all(is_zero)
}
