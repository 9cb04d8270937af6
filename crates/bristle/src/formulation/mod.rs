//! The equations of motion as an integrator sees them: arrays only, no entities, no names.
//!
//! - `machine`: the equations, the unknowns and their order, what happens at events;
//! - `rest`: the joints at rest, gathered for [`crate::modes`];
//! - `jacobian`: derivatives for implicit steppers;
//! - `ledger`: where the energy is and where it goes.

mod jacobian;
mod ledger;
mod machine;
mod rest;

pub use ledger::Energies;
pub use machine::{Machine, ModeChange, Snapshot};
