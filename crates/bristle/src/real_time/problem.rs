//! The convex problem of a step, as it is handed to the solver.

use super::impulse_law::ImpulseLaw;
use super::max_by_unit;
use super::reduced_coordinates::ReducedCoordinates;
use crate::model::Compiled;

/// (1) of `convex_solver`, but for R.
#[derive(Debug, Clone, Copy)]
pub(super) struct Problem<'a> {
    /// b.
    pub b: &'a [f64],
    /// W, the independent velocities, redundancy of the contacts.
    pub coordinates: &'a ReducedCoordinates,
    pub compiled: &'a Compiled,
    pub laws: &'a [ImpulseLaw],
    /// Bounds of ω by stops.
    pub bounds: &'a [[f64; 2]],
    /// Whether each velocity of the machine is angular.
    pub is_angular: &'a [bool],
}

impl Problem<'_> {
    /// The largest of values by independent velocity, linear and angular ones apart.
    pub fn max_by_unit(&self, values: impl Iterator<Item = f64>) -> [f64; 2] {
        max_by_unit(self.coordinates.independent.iter().copied().zip(values), self.is_angular)
    }

    /// Whether independent velocity k is angular, as an index.
    pub fn unit(&self, k: usize) -> usize {
        usize::from(self.is_angular[self.coordinates.independent[k]])
    }
}
