//! The explicit Euler method.
//!
//! ```text
//!     y₁ = y + h f(t, y)
//! ```
//!
//! Order 1, stable for hλ in (−2, 0), linear interpolant. For comparison only.

use crate::rk4::evaluate;
use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Stepper, System, Tolerance};

/// Explicit Euler. See the [module](self).
#[derive(Clone, Debug)]
pub struct Euler {
    n: usize,
    h: f64,
    fresh: bool,
    y0: Vec<f64>,
    y1: Vec<f64>,
    k: Vec<f64>,
    r: Vec<f64>,
}

crate::archive::archived!(Euler { n, h, fresh, y0, y1, k, r });

impl Euler {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        let zeros = || vec![0.0; n_max];
        Euler { n: n_max, h: 0.0, fresh: false, y0: zeros(), y1: zeros(), k: zeros(), r: vec![0.0; n_quad] }
    }
}

impl Stepper for Euler {
    fn order(&self) -> usize {
        1
    }

    fn error_exponent(&self) -> Option<f64> {
        None
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
        self.fresh = false;
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
        self.h = h;
        self.y0[..n].copy_from_slice(y);
        if !self.fresh {
            evaluate(system, t, y, &mut self.k[..n], &mut self.r, stats)?;
            self.fresh = true;
        }
        for i in 0..n {
            self.y1[i] = y[i] + h * self.k[i];
        }
        check_finite(&self.y1[..n])?;
        Ok(Attempt::explicit(0.0))
    }

    fn finish<S: System>(&mut self, _system: &mut S, _stats: &mut Stats) -> Result<(), Failure> {
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

    fn accept(&mut self) {
        self.fresh = false;
    }
}
