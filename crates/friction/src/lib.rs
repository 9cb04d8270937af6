//! Scalar friction laws: how much friction a joint has, per unit load, for a slip velocity and an internal state.
//!
//! | law | file | memory |
//! |---|---|---|
//! | [`Coulomb`], [`Stribeck`], [`Table`] | `coulomb.rs`, `stribeck.rs`, `table.rs` | a [`Mode`] (`transition.rs`) |
//! | [`Tanh`] | `tanh.rs` | none |
//! | [`Dahl`], [`LuGre`], [`ElastoPlastic`] | `dahl.rs`, `lugre.rs`, `elasto_plastic.rs` | bristle deflection z |
//! | [`LuGre2`] | `lugre2.rs` | z and w |
//! | [`PowerViscous`], [`Directional`] | `power_viscous.rs`, `directional.rs` | that of the laws inside |
//! | [`Custom`] | `custom.rs` | its own |
//!
//! Every law answers the same questions in the same order, those of [`FrictionLaw`]; [`Law`] is any one of them.
//! Laws know nothing of joints, loads or time steps: they are pure functions, they do not allocate, and they do not
//! panic on any input, finite or not.
//!
//! Signs: friction is positive when it opposes positive slip, so that friction · slip velocity is power taken from
//! the motion.
//!
//! The deflection is held scaled, s = σ₀ z, in units of friction (see [`State`]). Unscaled, z sits near 1e-5 and
//! below any sensible absolute tolerance.

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

mod bristle;
mod check;
mod coulomb;
mod custom;
mod dahl;
mod directional;
mod elasto_plastic;
mod friction_law;
mod law;
#[cfg(feature = "serde")]
mod law_serde;
mod lugre;
mod lugre2;
mod parameters;
mod power_viscous;
mod stribeck;
mod table;
mod tanh;
mod transition;

pub use bristle::BristleStep;
pub use check::Finding;
pub use coulomb::Coulomb;
pub use custom::{Custom, CustomLaw};
pub use dahl::Dahl;
pub use directional::Directional;
pub use elasto_plastic::ElastoPlastic;
pub use friction_law::{Evaluation, EventDriven, FrictionLaw, ImplicitStep, State};
pub use law::Law;
pub use lugre::LuGre;
pub use lugre2::LuGre2;
pub use parameters::ParameterSlope;
pub use power_viscous::PowerViscous;
pub use stribeck::Stribeck;
pub use table::Table;
pub use tanh::Tanh;
pub use transition::{Mode, SlipEvent};

/// −1, 0 or 1. The laws are odd functions of slip, so sign(0) = 0.
#[inline]
pub(crate) fn sign(v: f64) -> f64 {
    f64::from(i8::from(v > 0.0) - i8::from(v < 0.0))
}

/// The samples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
