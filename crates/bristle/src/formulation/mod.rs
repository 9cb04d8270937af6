//! The equations of motion as an integrator sees them: arrays only, no entities, no names.
//!
//! - `machine`: the equations, what holds them, where they start;
//! - `unknowns`: their order, and who is among them;
//! - `ties`: coordinates that depend on others;
//! - `efforts`: what acts in the joints;
//! - `implicit`, `jerk`, `residual`: three ways with accelerations that stand on both sides;
//! - `branch`: the accelerations continuous from zero friction, and jams;
//! - `warm`: where Newton for accelerations starts;
//! - `events`: when modes change, and what happens then;
//! - `kinks`: loads through zero and corners of tables, events that change no mode;
//! - `impulse`: corners of prescribed motions;
//! - `turning`: whose turning a stuck joint feels;
//! - `rest`: the joints at rest, gathered for [`crate::modes`];
//! - `resolution`: what bristles ask of a step, however loose its tolerance;
//! - `jacobian`: derivatives for implicit steppers;
//! - `fixed_step`: the method of [`crate::real_time`] in place of all these;
//! - `inverse`: the efforts that a motion takes;
//! - `linearize`: the equations in small, friction parameters included;
//! - `ledger`: where the energy is and where it goes;
//! - `archive`: what of it lasts from step to step, as bytes;
//! - `system`: all of it as a stepper asks for it.

mod archive;
mod branch;
mod efforts;
mod enumerate;
mod events;
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
mod machine;

mod constraints;
mod predictor;
mod residual;
mod resolution;
mod system;
#[cfg(test)]
mod tests;
mod transition;
mod turning;
mod unknowns;

pub use ledger::Energies;
pub use machine::{Counters, Machine, ModeChange, NearJam, Snapshot, Stiff, UnconvergedLoad};
