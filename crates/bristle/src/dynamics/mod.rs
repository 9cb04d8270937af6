//! The equations of motion between events, as an integrator sees them: arrays only, no entities, no names.
//!
//! - `equations`: the equations and their data;
//! - `scheme`, `state`, `event_state`, `point`, `diagnostics`, `failure`, `snapshot`, `checkpoint`, `archive`: the data
//!   of a run, apart from the model and its inputs ([`crate::model`]);
//! - `unknowns`, `rates`: the unknowns, their order and their rates;
//! - `efforts`, `servos`, `contacts`: efforts in the joints, servos, limits of contacts;
//! - `implicit`, `jerk`, `residual`: three formulations for accelerations on both sides of the equations;
//! - `predictor`: the start of Newton for accelerations;
//! - `branch`: the accelerations continuous from zero friction, and jams;
//! - `closed_loops`, `loop_reactions`, `loop_derivatives`: the same with closed loops;
//! - `jacobian`: derivatives for implicit steppers;
//! - `inverse`, `linearize`: inverse dynamics, and linearisation with friction parameters;
//! - `ledger`: energy ledger.
//!
//! Mode transitions at events are those of [`crate::stick_slip`], which owns a [`Dynamics`].

pub(crate) mod archive;
mod branch;
mod checkpoint;
mod closed_loops;
mod constrained;
mod contacts;
pub(crate) mod diagnostics;
mod effort_limits;
pub(crate) mod efforts;
mod equations;
pub(crate) mod event_state;
pub(crate) mod failure;
pub(crate) mod implicit;
mod inverse;
mod jacobian;
mod jerk;
mod ledger;
mod linearize;
mod loop_derivatives;
mod loop_jerk;
mod loop_reactions;
pub(crate) mod point;
mod predictor;
mod rates;
mod residual;
pub(crate) mod scheme;
mod servos;
mod snapshot;
pub(crate) mod state;
mod unknowns;

pub use crate::model::StopChange;
pub use diagnostics::{Counters, ModeChange, NearJam, Stiff, UnconvergedLoad};
pub(crate) use efforts::show_locked_loads;
pub use equations::Dynamics;
pub(crate) use event_state::ContactEvent;
pub(crate) use failure::Failure;
pub use ledger::Energies;
pub(crate) use scheme::TIGHT;
pub use snapshot::Snapshot;
