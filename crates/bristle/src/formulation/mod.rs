//! The equations of motion as an integrator sees them: arrays only, no entities, no names.
//!
//! - `machine`: the equations, their data, their start;
//! - `state`, `point`, `diagnostics`, `failure`: the data of a run, apart from the model and its inputs ([`crate::model`]);
//! - `unknowns`: the unknowns and their order;
//! - `closed_loops`: the equations of motion with closed loops;
//! - `loop_derivatives`: linearisation and inverse dynamics of closed loops;
//! - `loop_reactions`: friction under reactions in closed loops;
//! - `efforts`: efforts in the joints;
//! - `implicit`, `jerk`, `residual`: three formulations for accelerations on both sides of the equations;
//! - `branch`: the accelerations continuous from zero friction, and jams;
//! - `predictor`: the start of Newton for accelerations;
//! - `events`: event functions, and the mode transition at an event;
//! - `kinks`: loads through zero and corners of tables, events without a change of mode;
//! - `impulse`: corners of prescribed motions;
//! - `stops`: joint stops, impacts, resting contact;
//! - `transition`: the contacts at rest, and the selection of their modes by [`crate::modes`];
//! - `enumerate`: mode selection by exhaustive enumeration;
//! - `resolution`: bounds of the step for the resolution of bristles, at any tolerance;
//! - `jacobian`: derivatives for implicit steppers;
//! - `fixed_step`: the method of [`crate::real_time`] instead of all these;
//! - `inverse`: inverse dynamics;
//! - `linearize`: linearisation, friction parameters included;
//! - `sensitivity`: derivatives of a run in parameters, across its events;
//! - `ledger`: energy ledger;
//! - `archive`: the state between steps as bytes, and checkpoints;
//! - `system`: the interface to the steppers.

pub(crate) mod archive;
mod branch;
mod closed_loops;
mod diagnostics;
mod efforts;
mod enumerate;
mod events;
mod failure;
mod fixed_step;
mod implicit;
mod impulse;
mod inverse;
mod jacobian;
mod jerk;
mod kinks;
#[cfg(test)]
mod large_tests;
mod ledger;
mod linearize;
mod loop_derivatives;
mod loop_reactions;
pub(crate) mod machine;

pub(crate) mod point;
mod predictor;
mod residual;
mod resolution;
mod sensitivity;
pub(crate) mod state;
pub(crate) mod stops;
mod system;
#[cfg(test)]
mod tests;
mod transition;
mod unknowns;

pub use diagnostics::{Counters, ModeChange, NearJam, Stiff, UnconvergedLoad};
pub use ledger::Energies;
pub use machine::{Machine, Snapshot};
pub(crate) use sensitivity::{Refusal, Tangents, Twin};
pub use stops::StopChange;
