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
//! compile time so that the joint axis is z. Spatial vectors have the angular part first. [`Poses`] and
//! [`Reaction`] are in the user's link axes; "canonical" quantities are not.
//!
//! # Reaction-loaded joints
//!
//! Friction that scales with a joint's reaction stays outside this crate: it comes in as *rows*, one
//! [`spatial::Motion`] P_i for each joint, read off its reaction in place of its axis. One Newton step for
//! `P(f)ᵀ f = τ` is a call of [`factor_rows`] and one of [`solve_rows`], O(n), and brings the change of every reaction
//! along:
//!
//! ```
//! # use bristle_multibody::{spatial::Motion, *};
//! # use nalgebra::Vector3;
//! # let mut builder = ModelBuilder::new();
//! # builder.link("arm", LinkInertia::point(2.0, Vector3::new(0.0, 0.0, -0.5)));
//! # builder.joint(JointSpec::revolute("hinge", "world", "arm", Vector3::x()));
//! # let model = builder.build()?;
//! # let mut work = Work::new(&model);
//! // The same arm, horizontal, on a rough pin of radius r that slips forward: Sᵀ f + r μ N(f) = 0.
//! let (q, v, r_mu) = ([std::f64::consts::FRAC_PI_2], [3.0], 0.01);
//! let mut a = [0.0];
//! rnea(&model, &mut work, &q, &v, &a)?;
//! for _ in 0..6 {
//!     let f = work.reaction(1);
//!     let n_hat = Vector3::new(f.force().x, f.force().y, 0.0).normalize();
//!     let row = axis_row(&model, 1) + Motion::new(Vector3::zeros(), n_hat * r_mu);
//!     factor_rows_at(&model, &mut work, &[Motion::ZERO, row], &[false, false])?;
//!     a[0] += solve_rows(&model, &mut work, &[-row.dot(&f)])?[0];
//!     work.add_force_changes();
//! }
//! // N from the motion: the pin carries gravity and the centripetal force
//! let load = 2.0 * (9.81 + 0.5 * a[0]).hypot(0.5 * 3.0 * 3.0);
//! assert!((2.0 * 0.5 * (9.81 + 0.5 * a[0]) + r_mu * load).abs() < 1e-12);
//! # Ok::<(), bristle_multibody::Error>(())
//! ```
//!
//! The functions: [`factor_rows`] and [`solve_rows`]; [`jerk_begin`] and [`jerk_rows`]; [`mass_rows`],
//! [`rnea_inertia_rows`] and [`rnea_derivatives_rows`] for Newton matrices of one's own; [`rows_derivatives`]. A joint
//! whose load outgrows its inertia is an [`Error::Jam`].
//!
//! # Packs of machines
//!
//! [`MassOperator`] is written over a [`spatial::Scalar`]: with [`spatial::Pack4`] or [`spatial::Pack8`] in place of
//! `f64` it computes four or eight machines of one model at once, one in each lane. No operation mixes lanes, so
//! every machine has the bits that it has alone.
//!
//! ```
//! # use bristle_multibody::{spatial::{Pack8, Scalar}, *};
//! # use nalgebra::Vector3;
//! # let mut builder = ModelBuilder::new();
//! # builder.link("arm", LinkInertia::point(2.0, Vector3::new(0.0, 0.0, -0.5)));
//! # builder.joint(JointSpec::revolute("hinge", "world", "arm", Vector3::x()));
//! # let model = builder.build()?;
//! // Eight pendulums, each at another angle: accelerations −g/l sin q.
//! let mut pack = MassOperator::<Pack8>::new(&model);
//! let (q, zero, mut a) = ([Pack8::from_lanes(|k| 0.1 * k as f64)], [Pack8::ZERO], [Pack8::ZERO]);
//! pack.place(&model, &q)?;
//! pack.forward_dynamics(&model, &zero, &zero, &mut a)?;
//! (0..8).for_each(|k| assert!((a[0].lane(k) + 9.81 / 0.5 * (0.1 * k as f64).sin()).abs() < 1e-12));
//! # Ok::<(), bristle_multibody::Error>(())
//! ```
//!
//! # Cost
//!
//! Every function is O(n) except those that fill a matrix (`crba`, derivatives: O(n · depth)). Nothing allocates after
//! [`Work::new`]; matrices are the caller's.

#![warn(missing_docs)]
// Asserts are for our own mistakes; whatever comes from outside is an error.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::todo,
    clippy::unimplemented
)]

mod aba;
mod armature;
mod chart;
mod columns;
mod crba;
mod derivatives;
mod error;
mod floating;
mod jacobian;
mod jerk;
mod joint;
mod kinematics;
mod mass_operator;
mod mass_rows;
mod model;
mod momentum;
mod principal_moments;
mod reaction;
mod resistance;
mod rnea;
mod rows;
pub mod spatial;
mod symmetry;
mod tree_frame;
mod trig;
mod work;

pub use aba::{aba, aba_hybrid, factor, factor_with_armature, solve};
pub use chart::{advance, chart_point, chart_rate, configuration_difference, neutral};
pub use crba::crba;
pub use derivatives::{Row, aba_derivatives, rnea_derivatives, rnea_derivatives_rows};
pub use error::{Error, ModelError};
pub use floating::{
    FloatingTree, LinkMotion, floating_tree, floating_wrench, link_motion, set_free_pose, set_free_velocity,
};
pub use jacobian::{jacobian, jacobian_columns, jacobian_rows, point_acceleration, point_jerk, point_velocity};
pub use jerk::{jerk, jerk_begin, jerk_rows, rnea_rate};
pub use joint::JointKind;
pub use kinematics::{Poses, accelerations, kinematics, poses};
pub use mass_operator::MassOperator;
pub use mass_rows::{mass_rows, rnea_inertia_rows, rows_derivatives};
pub use model::{JointSpec, LinkInertia, Model, ModelBuilder, Placement};
pub use momentum::{Momentum, center_of_mass, kinetic_energy, momentum, potential_energy};
pub use principal_moments::{MomentDefect, moment_defect, nearest_moments, principal_axes};
pub use reaction::{Reaction, reactions};
pub use resistance::check_resistance;
pub use rnea::{bias_efforts, rnea};
pub use rows::{axis_row, factor_rows, factor_rows_at, multiply_rows, solve_rows, unloaded_rows};
pub use symmetry::{Ignorable, branches, ignorable};
pub use trig::sin_cos;
pub use work::{Outside, State, Work};

/// The samples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
