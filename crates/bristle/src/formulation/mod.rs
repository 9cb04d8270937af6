//! The equations of motion as an integrator sees them: arrays only, no entities, no names.
//!
//! Each formulation is one file headed by its equation. All are a [`System`], and all answer what a
//! [`Simulation`](crate::Simulation) asks besides, in the same words: [`Formulation`].

pub mod smooth;

pub use smooth::Smooth;

use crate::compile::Compiled;
use crate::error::Result;
use bristle_integrate::System;
use bristle_multibody::State;
use hecs::World;

/// Stored energies, J.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energies {
    /// Of motion, armature included.
    pub kinetic: f64,
    /// Of height, zero at the world origin.
    pub potential: f64,
    /// Of springs.
    pub elastic: f64,
    /// Of bristles.
    pub bristle: f64,
}

impl Energies {
    /// The sum.
    pub fn stored(&self) -> f64 {
        self.kinetic + self.potential + self.elastic + self.bristle
    }
}

/// What a simulation asks of its equations.
///
/// Quadratures are laid out the same way in all of them: the work put in, then the heat of each of
/// [`Compiled::dampers`].
pub trait Formulation: System {
    /// The machine.
    fn compiled(&self) -> &Compiled;

    /// Reads again from the world what callers may change without changing the machine.
    fn read_actions(&mut self, world: &World) -> Result<()>;

    /// Sets the effort a caller applies to velocity `k`.
    fn set_effort(&mut self, k: usize, effort: f64);

    /// Starts at a state: fills the unknowns, chooses charts, pieces of signals, modes.
    fn begin(&mut self, state: &State, y: &mut [f64]);

    /// Time, positions and velocities at (t, y).
    fn state(&self, t: f64, y: &[f64], state: &mut State) -> Result<()>;

    /// Accelerations at a state.
    fn acceleration(&mut self, state: &State) -> Result<&[f64]>;

    /// Stored energies at a state.
    fn energies(&mut self, state: &State) -> Result<Energies>;

    /// Puts a state, and what follows from it, onto the entities.
    fn write_back(&mut self, world: &mut World, state: &State, a: &[f64]) -> Result<()>;

    /// What the last failed evaluation met.
    fn take_failure(&mut self) -> Option<bristle_multibody::Error>;
}
