//! Steppers, step control, events and the driver, in one program: linking a dozen of them takes longer than running
//! them.

mod driver;
mod events;
mod failures;
mod forms;
mod generalized_alpha;
mod ivp;
mod lugre;
mod order;
mod problems;
mod robust;
mod slopes;
mod step_rules;
mod switching;
mod vocabulary;
mod witness;
