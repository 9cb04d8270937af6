//! Stick and slip: the modes of contacts, their transitions at events, and the event-driven system of a stepper.
//!
//! - `machine`: the equations of motion ([`crate::dynamics`]) with the scratch of mode transitions;
//! - `system`: the interface to the steppers;
//! - `events`: event functions, and the mode transition at an event;
//! - `kinks`: loads through zero and corners of tables, events without a change of mode;
//! - `transition`: the contacts at rest, and the selection of their modes by [`crate::modes`];
//! - `enumerate`: mode selection by exhaustive enumeration;
//! - `loops_at_rest`: contacts at rest in closed loops;
//! - `impulse`: corners of prescribed motions;
//! - `stops`: joint stops, impacts, resting contact;
//! - `resolution`: bounds of the step for the resolution of bristles, at any tolerance;
//! - `sensitivity`: derivatives of a run in parameters, across its events;
//! - `fixed_step`: the method of [`crate::real_time`] instead of all these.

mod enumerate;
mod events;
mod fixed_step;
mod impulse;
mod kinks;
#[cfg(test)]
mod large_tests;
mod loop_steps;
mod loops_at_rest;
mod machine;
mod resolution;
#[cfg(feature = "scene")]
mod sensitivity;
mod stops;
mod system;
#[cfg(test)]
mod tests;
mod transition;

pub use machine::Machine;
#[cfg(feature = "scene")]
pub(crate) use sensitivity::{Refusal, Tangents, Twin};
