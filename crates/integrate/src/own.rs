//! The system's own fixed-step method, so that it can use the driver's loop, events and output.
//!
//! [`System::own_step`] makes the step; the interpolant is a straight line. An event is located on that line and landed on by a
//! shorter step, as with any other stepper.

use crate::stepper::check_finite;
use crate::{Attempt, Failure, Stats, Stepper, System, Tolerance};

/// A step made by the system itself. See the [module](self).
#[derive(Clone, Debug)]
pub struct Own {
    n: usize,
    y0: Vec<f64>,
    y1: Vec<f64>,
    /// Increments of the quadratures.
    quad: Vec<f64>,
}

crate::archive::archived!(Own { n, y0, y1, quad });

impl Own {
    /// Room for `n_max` unknowns and `n_quad` quadratures.
    pub fn new(n_max: usize, n_quad: usize) -> Self {
        Own { n: n_max, y0: vec![0.0; n_max], y1: vec![0.0; n_max], quad: vec![0.0; n_quad] }
    }
}

impl Stepper for Own {
    fn order(&self) -> usize {
        1
    }

    fn error_exponent(&self) -> Option<f64> {
        None
    }

    fn restart(&mut self, n: usize) {
        self.n = n;
    }

    fn step<S: System>(
        &mut self,
        system: &mut S,
        t: f64,
        h: f64,
        y: &[f64],
        _tolerance: &Tolerance,
        _stats: &mut Stats,
    ) -> Result<Attempt, Failure> {
        self.y0[..self.n].copy_from_slice(y);
        self.quad.fill(0.0);
        system.own_step(t, h, y, &mut self.y1[..self.n], &mut self.quad)?;
        check_finite(&self.y1[..self.n])?;
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
        quad.iter_mut().zip(&self.quad).for_each(|(out, quad)| *out = theta * quad);
    }

    fn accept(&mut self) {}
}
