//! Linearly implicit Euler (Rosenbrock's method with one stage): backward Euler with one Newton step and no more.
//!
//! ```text
//!     (1/h − J) Δ = f(t + h, y),     J = ∂f/∂y (t + h, y)
//!     y₁ = y + Δ
//! ```
//!
//! Order 1, and L-stable for linear equations, with one Jacobian, one factorisation and one solution in every step.
//! Where the Jacobian changes within a step the error is unbounded, since nothing is iterated or estimated. Linear
//! interpolant. For comparison only.

use crate::linear::Lu;
use crate::linear_interpolant::{LinearInterpolant, order_one};
use crate::newton::{Linearised, matrices};
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

/// One Newton step of backward Euler. See the [module](self).
#[derive(Clone, Debug)]
pub struct LinearlyImplicitEuler {
    interpolant: LinearInterpolant,
    /// f, then Δ, then the slope.
    f: Vec<f64>,
    linear: Linearised,
    lu: Lu,
}

crate::archive::archived!(LinearlyImplicitEuler { interpolant, f, linear, lu };
    fits |it| it.linear.fits(it.interpolant.n()));

impl LinearlyImplicitEuler {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        LinearlyImplicitEuler {
            interpolant: LinearInterpolant::new(n_max, n_quad),
            f: vec![0.0; n_max],
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
        }
    }
}

impl Stepper for LinearlyImplicitEuler {
    order_one!();
    matrices!(linear, lu);

    fn restart(&mut self, n: usize) {
        self.interpolant.restart(n);
        self.linear.restart();
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, .. } = step;
        let n = self.interpolant.n();
        self.linear.set_up(system, n);
        self.interpolant.begin(t, h, y);
        stats.n_rhs += 1;
        system.rhs(t + h, y, &mut self.f[..n])?;
        check_finite(&self.f[..n])?;

        // 1/h − J
        self.linear.update(system, t + h, y, &self.f[..n], stats)?;
        self.linear.factor_block(0, n, 1.0 / h, &mut self.lu, stats)?;
        stats.n_solve += 1;
        self.lu.solve(&mut self.f[..n]);
        for (y1, (y, change)) in self.interpolant.y1.iter_mut().zip(y.iter().zip(&self.f)) {
            *y1 = y + change;
        }
        check_finite(self.interpolant.end())?;
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        self.interpolant.integrate_from_end(system, &mut self.f, stats)
    }
}
