//! Tree dynamics on flat arrays, after Featherstone, *Rigid Body Dynamics Algorithms* (2008).
//!
//! A [`Model`] is the machine: links and joints in parent-before-child order. A [`Work`] is the scratch of one
//! caller. Algorithms are free functions over the two and over plain slices:
//!
//! ```
//! use bristle_multibody::*;
//! use nalgebra::Vector3;
//!
//! let mut builder = ModelBuilder::new();
//! builder.link("arm", LinkInertia::point(2.0, Vector3::new(0.0, 0.0, -0.5)));
//! builder.joint(JointSpec::revolute("hinge", "world", "arm", Vector3::x()));
//! let model = builder.build()?;
//! let mut work = Work::new(&model);
//!
//! // Horizontal and at rest, a point mass 0.5 m from the hinge falls with g / l.
//! let q = [std::f64::consts::FRAC_PI_2];
//! let a = aba(&model, &mut work, &q, &[0.0], &[0.0])?;
//! assert!((a[0] + 9.81 / 0.5).abs() < 1e-12);
//! # Ok::<(), bristle_multibody::Error>(())
//! ```
//!
//! # Indices and frames
//!
//! Body 0 is the world; body `i ≥ 1` hangs on joint `i`, whose parent body is `model.parent[i] < i`. Arrays per body
//! have `n_bodies = n_joints + 1` entries. Positions of joint `i` start at `model.q_index[i]`, velocities at
//! `model.v_index[i]`; a free joint has seven of the former (x, y, z, then quaternion w, x, y, z) and six of the
//! latter (angular, then linear, in child axes).
//!
//! Inside the recursions every link carries a *canonical* frame: its origin is the user's, its axes are turned at
//! compile time so that the joint axis is z. Spatial vectors have the angular part first. What leaves the crate
//! through [`Poses`] and [`Reaction`] is in the user's link axes; what is called "canonical" in the docs is not.
//!
//! # What costs what
//!
//! Every function is O(n) except those that fill a matrix (`crba`, derivatives: O(n · depth)). Nothing allocates after
//! [`Work::new`]; matrices are the caller's.

#![warn(missing_docs)]

mod aba;
mod chart;
mod columns;
mod crba;
mod derivatives;
mod error;
mod jacobian;
mod jerk;
mod joint;
mod kinematics;
mod mass_rows;
mod model;
mod momentum;
mod reaction;
mod rnea;
mod rows;
pub mod spatial;
mod trig;
mod work;

pub use aba::{aba, aba_hybrid, factor, solve};
pub use chart::{advance, chart_point, chart_rate, configuration_difference, neutral};
pub use crba::crba;
pub use derivatives::{Row, aba_derivatives, rnea_derivatives, rnea_derivatives_rows};
pub use error::{Error, ModelError};
pub use jacobian::{jacobian, point_acceleration, point_velocity};
pub use jerk::{jerk, jerk_begin, jerk_rows, rnea_rate};
pub use joint::JointKind;
pub use kinematics::{Poses, accelerations, kinematics, poses};
pub use mass_rows::{mass_rows, rnea_inertia_rows, rows_derivatives};
pub use model::{JointSpec, LinkInertia, Model, ModelBuilder, Placement};
pub use momentum::{Momentum, center_of_mass, kinetic_energy, momentum, potential_energy};
pub use reaction::{Reaction, reactions};
pub use rnea::{bias_efforts, rnea};
pub use rows::{axis_row, factor_rows, factor_rows_at, solve_rows, unloaded_rows};
pub use trig::sin_cos;
pub use work::{Outside, State, Work};
