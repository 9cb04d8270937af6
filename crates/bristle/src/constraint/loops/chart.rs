//! The chart of closed loops: which velocities depend on which.

use crate::constraint::coordinates::Coordinates;
use crate::dynamics::archive::saved;
use crate::model::Compiled;

/// The dependent velocities of the loops, and the elimination before them. Part of the state.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// T₀ of (9).
    pub base: Coordinates,
    /// d of (9), in the order of their pivots.
    pub dependent: Vec<usize>,
    /// Positions, T₁ and velocities at the last accepted step: Newton starts on the tangent, and v is the direction of
    /// motion. `RealTime` has no T₁ here, and in v a 1 for each joint that was stuck when the chart was chosen.
    pub xi: Vec<f64>,
    pub slope: Vec<f64>,
    pub v: Vec<f64>,
}

impl Chart {
    /// Empty where the machine has no loops.
    pub fn new(compiled: &Compiled) -> Self {
        let n = if compiled.model.coupled.closures.is_empty() { 0 } else { compiled.model.tree.n_v };
        let base = if n > 0 { Coordinates::new(compiled) } else { Coordinates::over(0, 0, 0) };
        let slope = Vec::with_capacity(n * n);
        Self { base, dependent: Vec::with_capacity(n), xi: vec![0.0; n], slope, v: vec![0.0; n] }
    }

    /// Whether every index is in range: of a chart that was read from bytes.
    pub fn fits(&self) -> bool {
        self.base.fits()
            && (self.slope.is_empty() || self.slope.len() == self.dependent.len() * self.xi.len())
            && self.dependent.iter().all(|&v| v < self.xi.len())
    }
}

saved!(Chart { base, xi, v } lists { dependent, slope });
