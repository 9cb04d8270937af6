//! A one-step map that the system supplies, with the driver's clock, output, statistics and budgets.
//!
//! ```text
//!     (y₁, ΔQ) = Φ(t, h, y)          [`System::system_step`]
//! ```
//!
//! The interpolant is a straight line. An event is located on that line and
//! landed on by a shorter step, as with any other stepper.

use crate::linear_interpolant::{LinearInterpolant, order_one};
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

/// A step made by the system itself. See the [module](self).
#[derive(Clone, Debug)]
pub struct SystemStep {
    interpolant: LinearInterpolant,
}

crate::archive::archived!(SystemStep { interpolant });

impl SystemStep {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        SystemStep { interpolant: LinearInterpolant::new(n_max, n_quad) }
    }
}

impl Stepper for SystemStep {
    order_one!();

    fn has_dense_output(&self) -> bool {
        false
    }

    fn restart(&mut self, n: usize) {
        self.interpolant.restart(n);
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, _stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, .. } = step;
        let n = self.interpolant.n();
        self.interpolant.begin(t, h, y);
        self.interpolant.quad.fill(0.0);
        system.system_step(t, h, y, &mut self.interpolant.y1[..n], &mut self.interpolant.quad)?;
        check_finite(self.interpolant.end())?;
        Ok(Attempt::explicit(0.0))
    }
}
