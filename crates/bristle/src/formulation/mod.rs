//! The equations of motion as an integrator sees them: arrays only, no entities, no names.
//!
//! Each formulation is one file headed by its equation.

mod smooth;

pub use smooth::{Energies, Smooth};
