//! The trapezoidal rule.
//!
//! ```text
//!     y₁ = y + h/2 (f(t, y) + f(t₁, y₁)),     ẏ₁ = 2 (y₁ − y)/h − ẏ
//! ```
//!
//! Order 2, A-stable, no damping of stiff components. Newton with J at the start of the step, to convergence. The
//! interpolant is the cubic Hermite polynomial through both ends. For prescribed steps, as in Do, Ferri & Bauchau
//! (2007).

use crate::hermite::{HermiteInterpolant, interpolated_by};
use crate::linear::Lu;
use crate::newton::{Iteration, Linearised, matrices};
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Step, Stepper, System};

/// Trapezoidal rule. See the [module](self).
#[derive(Clone, Debug)]
pub struct Trapezoidal {
    ends: HermiteInterpolant,
    correction: Vec<f64>,
    linear: Linearised,
    lu: Lu,
}

crate::archive::archived!(Trapezoidal { ends, correction, linear, lu }; fits |it| it.linear.fits(it.ends.n));

impl Trapezoidal {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        Trapezoidal {
            ends: HermiteInterpolant::new(n_max, n_quad),
            correction: vec![0.0; n_max],
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
        }
    }

    /// ẏ₁ of the present y₁.
    fn set_rates(&mut self) {
        let HermiteInterpolant { n, h, y0, y1, dy0, dy1, .. } = &mut self.ends;
        for i in 0..*n {
            dy1[i] = 2.0 * (y1[i] - y0[i]) / *h - dy0[i];
        }
    }
}

impl Stepper for Trapezoidal {
    matrices!(linear, lu);
    interpolated_by!(ends);

    fn order(&self) -> usize {
        2
    }

    fn restart(&mut self, n: usize) {
        self.ends.restart(n);
        self.linear.restart();
    }

    fn step<S: System>(&mut self, system: &mut S, step: Step<'_>, stats: &mut Stats) -> Result<Attempt, Failure> {
        let Step { t, h, y, tolerance } = step;
        let n = self.ends.n;
        self.linear.set_up(system, n);
        self.ends.begin(system, step, &mut self.linear, &mut self.lu, stats)?;

        // predictor: the tangent; Newton matrix 2/h M − J at the start
        self.linear.update(system, t, y, &self.ends.dy0[..n], stats)?;
        stats.n_factor += 1;
        self.linear.factor(2.0 / h, &mut self.lu)?;
        for i in 0..n {
            self.ends.y1[i] = y[i] + h * self.ends.dy0[i];
        }
        let mut iteration = Iteration::default();
        loop {
            self.set_rates();
            let HermiteInterpolant { y1, dy1, .. } = &mut self.ends;
            let correction = &mut self.correction[..n];
            self.linear.defect(system, t + h, &y1[..n], &dy1[..n], correction, stats)?;
            check_finite(correction)?;
            self.linear.solve(2.0 / h, &self.lu, correction);
            stats.n_solve += 1;
            stats.n_newton += 1;
            y1[..n].iter_mut().zip(correction.iter()).for_each(|(y, d)| *y += d);
            let norm = tolerance.norm(correction, y, &y1[..n]);
            if iteration.is_done(norm)? {
                break;
            }
            // slow: J at the present iterate
            if iteration.is_slow() {
                self.linear.update(system, t + h, &y1[..n], &dy1[..n], stats)?;
                stats.n_factor += 1;
                self.linear.factor(2.0 / h, &mut self.lu)?;
            }
        }
        self.set_rates();
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        self.ends.finish(system, stats)
    }

    fn accept(&mut self) {
        self.ends.shift();
    }
}
