//! The explicit Euler method.
//!
//! ```text
//!     y₁ = y + h f(t, y)
//! ```
//!
//! Order 1, stable for hλ in (−2, 0), linear interpolant. For comparison only.

use crate::linear_interpolant::{LinearInterpolant, order_one};
use crate::rk4::evaluate;
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

/// Explicit Euler. See the [module](self).
#[derive(Clone, Debug)]
pub struct Euler {
    interpolant: LinearInterpolant,
    fresh: bool,
    k: Vec<f64>,
    /// Rates of the quadratures.
    r: Vec<f64>,
}

crate::archive::archived!(Euler { interpolant, fresh, k, r });

impl Euler {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        Euler {
            interpolant: LinearInterpolant::new(n_max, n_quad),
            fresh: false,
            k: vec![0.0; n_max],
            r: vec![0.0; n_quad],
        }
    }
}

impl Stepper for Euler {
    order_one!();

    fn restart(&mut self, n: usize) {
        self.interpolant.restart(n);
        self.fresh = false;
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, .. } = step;
        let n = self.interpolant.n();
        self.interpolant.begin(t, h, y);
        if !self.fresh {
            evaluate(system, t, y, &mut self.k[..n], &mut self.r, stats)?;
            self.fresh = true;
        }
        for (y1, (y, k)) in self.interpolant.y1.iter_mut().zip(y.iter().zip(&self.k)) {
            *y1 = y + h * k;
        }
        for (rise, rate) in self.interpolant.quad.iter_mut().zip(&self.r) {
            *rise = h * rate;
        }
        check_finite(self.interpolant.end())?;
        Ok(Attempt::explicit(0.0))
    }

    fn accept(&mut self) {
        self.fresh = false;
    }
}
