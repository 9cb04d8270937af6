//! The trapezoidal rule.
//!
//! ```text
//!     y₁ = y + h/2 (f(t, y) + f(t₁, y₁)),     ẏ₁ = 2 (y₁ − y)/h − ẏ
//! ```
//!
//! Order 2, A-stable, no damping of stiff components. Newton with J at the start of the step, to convergence. The interpolant is the
//! cubic Hermite polynomial through both ends. For fixed or rule-driven steps, as in Do, Ferri & Bauchau (2007).

use crate::linear::{Lu, Shortage};
use crate::newton::{Iteration, Linearised};
use crate::rk4::hermite;
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Stepper, System, Tolerance};

/// Trapezoidal rule. See the [module](self).
#[derive(Clone, Debug)]
pub struct Trapezoidal {
    n: usize,
    t: f64,
    h: f64,
    y0: Vec<f64>,
    y1: Vec<f64>,
    /// y' at both ends.
    d0: Vec<f64>,
    d1: Vec<f64>,
    /// `d0` belongs to the point the next step starts from.
    fresh: bool,
    is_set_up: bool,
    correction: Vec<f64>,
    linear: Linearised,
    lu: Lu,
    /// Quadrature rates at both ends.
    r0: Vec<f64>,
    r1: Vec<f64>,
}

crate::archive::archived!(Trapezoidal { n, t, h, y0, y1, d0, d1, fresh, is_set_up, correction, linear, lu, r0, r1 }; fits |it| it.n <= it.y0.len() && (!it.is_set_up || it.linear.is_for(it.n)));

impl Trapezoidal {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        Trapezoidal {
            n: n_max,
            t: 0.0,
            h: 0.0,
            y0: zeros(),
            y1: zeros(),
            d0: zeros(),
            d1: zeros(),
            fresh: false,
            is_set_up: false,
            correction: zeros(),
            linear: Linearised::new(n_max),
            lu: Lu::new(n_max),
            r0: vec![0.0; n_quad],
            r1: vec![0.0; n_quad],
        }
    }
}

impl Stepper for Trapezoidal {
    fn order(&self) -> usize {
        2
    }

    fn error_exponent(&self) -> Option<f64> {
        None
    }

    fn matrix_bytes(&self) -> u64 {
        [self.linear.bytes(), self.lu.bytes()].into_iter().fold(0, u64::saturating_add)
    }

    fn reserve(&mut self) -> Result<(), Shortage> {
        self.linear.reserve()?;
        self.lu.reserve()
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.fresh = false;
        self.is_set_up = false;
    }

    fn step<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        h: f64,
        y: &[f64],
        tolerance: &Tolerance,
        stats: &mut Stats,
    ) -> Result<Attempt, Failure> {
        let n = self.n;
        (self.t, self.h) = (t, h);
        self.y0[..n].copy_from_slice(y);
        if !self.is_set_up {
            self.linear.restart(system, n);
            self.is_set_up = true;
        }
        if !self.fresh {
            self.linear.initial_rates(system, t, y, &mut self.d0[..n], &mut self.lu, stats)?;
            if !self.r0.is_empty() {
                stats.n_quadrature += 1;
                system.quadratures(t, y, &self.d0[..n], &mut self.r0)?;
            }
            self.fresh = true;
        }

        // predictor: the tangent; Newton matrix 2/h M − J at the start
        self.linear.update(system, t, y, &self.d0[..n], stats)?;
        stats.n_factor += 1;
        self.linear.factor(2.0 / h, &mut self.lu)?;
        for i in 0..n {
            self.y1[i] = y[i] + h * self.d0[i];
        }
        let mut iteration = Iteration::default();
        loop {
            for i in 0..n {
                self.d1[i] = 2.0 * (self.y1[i] - y[i]) / h - self.d0[i];
            }
            let correction = &mut self.correction[..n];
            self.linear.defect(system, t + h, &self.y1[..n], &self.d1[..n], correction, stats)?;
            check_finite(correction)?;
            self.linear.solve(2.0 / h, &self.lu, correction);
            stats.n_solve += 1;
            stats.n_newton += 1;
            self.y1[..n].iter_mut().zip(correction.iter()).for_each(|(y, d)| *y += d);
            let norm = tolerance.norm(correction, y, &self.y1[..n]);
            if iteration.is_done(norm)? {
                break;
            }
            // slow: J where the iteration is now
            if iteration.is_slow() {
                self.linear.update(system, t + h, &self.y1[..n], &self.d1[..n], stats)?;
                stats.n_factor += 1;
                self.linear.factor(2.0 / h, &mut self.lu)?;
            }
        }
        for i in 0..n {
            self.d1[i] = 2.0 * (self.y1[i] - y[i]) / h - self.d0[i];
        }
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, system: &mut S, stats: &mut Stats) -> Result<(), Failure> {
        if !self.r0.is_empty() {
            stats.n_quadrature += 1;
            system.quadratures(self.t + self.h, &self.y1[..self.n], &self.d1[..self.n], &mut self.r1)?;
        }
        Ok(())
    }

    fn y_new(&self) -> &[f64] {
        &self.y1[..self.n]
    }

    fn interpolate(&self, theta: f64, y: &mut [f64]) {
        for (i, y) in y.iter_mut().enumerate() {
            let rise = self.y1[i] - self.y0[i];
            *y = self.y0[i] + hermite(theta, rise, self.h * self.d0[i], self.h * self.d1[i]);
        }
    }

    fn interpolate_quadratures(&self, theta: f64, quad: &mut [f64]) {
        for (i, quad) in quad.iter_mut().enumerate() {
            let (r0, r1) = (self.r0[i], self.r1[i]);
            *quad = self.h * theta * (r0 + 0.5 * theta * (r1 - r0));
        }
    }

    fn accept(&mut self) {
        std::mem::swap(&mut self.d0, &mut self.d1);
        std::mem::swap(&mut self.r0, &mut self.r1);
        self.fresh = true;
    }
}
