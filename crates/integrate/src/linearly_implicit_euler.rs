//! Linearly implicit Euler (Rosenbrock's method with one stage): backward Euler with one Newton step and no more.
//!
//! ```text
//!     (1/h − J) Δ = f(t + h, y),     J = ∂f/∂y (t + h, y)
//!     y₁ = y + Δ
//! ```
//!
//! Order 1 and L-stable for linear equations: one Jacobian, one factorisation and one solution a step, always. What it makes of equations whose Jacobian
//! changes within a step, such as those of a bristle that begins to slide, is another matter: nothing is iterated and nothing noticed.
//! Linear interpolant. For comparison only.

use crate::linear::Lu;
use crate::newton::Linearised;
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Stepper, System, Tolerance};

/// One Newton step of backward Euler. See the [module](self).
#[derive(Clone, Debug)]
pub struct LinearlyImplicitEuler {
    n: usize,
    t: f64,
    h: f64,
    y0: Vec<f64>,
    y1: Vec<f64>,
    f: Vec<f64>,
    is_set_up: bool,
    linear: Linearised,
    lu: Lu,
    r: Vec<f64>,
}

crate::archive::archived!(LinearlyImplicitEuler { n, t, h, y0, y1, f, is_set_up, linear, lu, r });

impl LinearlyImplicitEuler {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        LinearlyImplicitEuler {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            f: zeros(),
            is_set_up: false,
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
            r: vec![0.0; n_quad],
        }
    }
}

impl Stepper for LinearlyImplicitEuler {
    fn order(&self) -> usize {
        1
    }

    fn error_exponent(&self) -> Option<f64> {
        None
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.is_set_up = false;
    }

    fn step<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        h: f64,
        y: &[f64],
        _tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<Attempt, Failure> {
        let n = self.n;
        (self.t, self.h) = (t, h);
        if !self.is_set_up {
            self.linear.restart(system, n);
            self.is_set_up = true;
        }
        self.y0[..n].copy_from_slice(y);
        stats.n_rhs += 1;
        system.rhs(t + h, y, &mut self.f[..n])?;
        check_finite(&self.f[..n])?;

        // 1/h − J
        self.linear.update(system, t + h, y, &self.f[..n], stats)?;
        stats.n_factor += 1;
        let matrix = self.lu.matrix_mut(n);
        for i in 0..n {
            for j in 0..n {
                matrix[(i, j)] = -self.linear.jac[(i, j)];
            }
            matrix[(i, i)] += 1.0 / h;
        }
        self.lu.factor()?;
        stats.n_solve += 1;
        self.lu.solve(&mut self.f[..n]);
        for (y1, (y, change)) in self.y1.iter_mut().zip(y.iter().zip(&self.f)) {
            *y1 = y + change;
        }
        check_finite(&self.y1[..n])?;
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        if !self.r.is_empty() {
            // rates at the end, where the step is implicit
            let n = self.n;
            (0..n).for_each(|i| self.f[i] = (self.y1[i] - self.y0[i]) / self.h);
            stats.n_quadrature += 1;
            system.quadratures(self.t + self.h, &self.y1[..n], &self.f[..n], &mut self.r)?;
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            *y = self.y0[i] + theta * (self.y1[i] - self.y0[i]);
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        for (i, quad) in quad.iter_mut().enumerate() {
            *quad = theta * self.h * self.r[i];
        }
    }

    fn accept(&mut self) {}
}
